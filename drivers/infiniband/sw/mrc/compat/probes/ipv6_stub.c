// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <net/ipv6_stubs.h>

struct dst_entry *probe(struct net *net, struct sock *sk, struct flowi6 *fl6);
struct dst_entry *probe(struct net *net, struct sock *sk, struct flowi6 *fl6)
{
	return ipv6_stub->ipv6_dst_lookup_flow(net, sk, fl6, NULL);
}

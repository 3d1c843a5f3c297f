// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <net/udp.h>

void probe(struct net *net);
void probe(struct net *net)
{
	__UDP_INC_STATS(net, UDP_MIB_INDATAGRAMS, 0);
}

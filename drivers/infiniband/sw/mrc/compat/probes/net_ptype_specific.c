// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <net/net_namespace.h>

bool probe(struct net *net);
bool probe(struct net *net)
{
	return list_empty(&net->ptype_specific);
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <net/ip.h>

int probe(struct net *net);
int probe(struct net *net)
{
	return IPSTATS_MIB_OUTREQUESTS;
}

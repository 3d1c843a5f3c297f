// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The invariant CRC, MRC 1.0 §2.4: a CRC-32 over the packet from the inner IP
 * header on, with everything that the network may rewrite replaced by ones.
 */
#include "mrc_wire.h"

#define IPV4_LEN		20
#define IPV6_LEN		40
#define BTH_LEN			12

#define UDP_CHECK		6	/* offset of the checksum, 2 bytes */
#define BTH_VAR_RES		4	/* offset of the variant byte */

/* Set all bits of the fields that routers rewrite. */
static void mask_ip(u8 *ip)
{
	if (ip[0] >> 4 == 6) {
		/* traffic class and flow label: all but the version */
		ip[0] |= 0x0F;
		memset(ip + 1, 0xFF, 3);
		ip[7] = 0xFF;		/* hop limit */
	} else {
		ip[1] = 0xFF;		/* ToS */
		ip[8] = 0xFF;		/* TTL */
		memset(ip + 10, 0xFF, 2);	/* header checksum */
	}
}

/* With a constant @ip_len the compiler copies with a few moves. */
static __always_inline u32 icrc_start(const u8 *ip, u32 ip_len)
{
	u32 len = ip_len + MRC_UDP_HLEN + BTH_LEN;
	u8 buf[IPV6_LEN + MRC_UDP_HLEN + BTH_LEN];

	memcpy(buf, ip, len);
	mask_ip(buf);
	memset(buf + ip_len + UDP_CHECK, 0xFF, 2);
	buf[ip_len + MRC_UDP_HLEN + BTH_VAR_RES] = 0xFF;
	return mrc_crc32(MRC_ICRC_SEED, buf, len);
}

u32 mrc_icrc_start(const u8 *ip)
{
	if (ip[0] >> 4 == 6)
		return icrc_start(ip, IPV6_LEN);
	return icrc_start(ip, IPV4_LEN);
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the kernel says in /proc/net. */
#include <gtest/gtest.h>

#include "counters.hpp"
#include "error.hpp"

namespace mrclab
{
namespace
{
const char *const tcp =
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when "
	"retrnsmt   uid  timeout inode\n"
	"   0: 00000000:4853 00000000:0000 0A 00000000:00000000 00:00000000 "
	"00000000     0        0 1234 1 0000000000000000 100 0 0 10 0\n"
	"   1: 030200C0:4854 010200C0:8F2E 01 00000000:00000000 00:00000000 "
	"00000000     0        0 1235 1 0000000000000000 20 4 30 10 -1\n"
	"  10: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 "
	"00000000     0        0 1236 1 0000000000000000 100 0 0 10 0\n";

const char *const tcp6 =
	"  sl  local_address                         remote_address            "
	" "
	"           st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
	"   0: 00000000000000000000000000000000:4855 "
	"00000000000000000000000000000000:0000 0A 00000000:00000000 "
	"00:00000000 00000000     0        0 1 1 0000000000000000 100 0 0 10\n";
} // namespace

TEST(Counters, FindListeners)
{
	EXPECT_TRUE(has_listener(tcp, 18515)); /* 0x4853 */
	EXPECT_TRUE(has_listener(tcp, 22));
	EXPECT_TRUE(has_listener(tcp6, 18517));
	/* One is connected, and one is the other end's. */
	EXPECT_FALSE(has_listener(tcp, 18516));
	EXPECT_FALSE(has_listener(tcp, 0x8f2e));
	EXPECT_FALSE(has_listener(tcp, 0));
	/* Digits of 18515 elsewhere. */
	EXPECT_FALSE(has_listener(tcp, 0x53));
	EXPECT_FALSE(has_listener(tcp6, 18515));
	EXPECT_FALSE(has_listener("", 18515));
	EXPECT_FALSE(has_listener("0: 00000000:4853 x\n", 18515));
	EXPECT_TRUE(has_listener("0: 0:4853 x 0A", 18515));
}

TEST(Counters, ReadNetdevs)
{
	const auto all = parse_net_dev(
		"Inter-|   Receive                |  Transmit\n"
		" face |bytes    packets errs drop fifo frame compressed "
		"multicast|bytes    packets errs drop fifo colls carrier "
		"compressed\n"
		"    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
		"p1:18446744073709551615 20 0 0 0 0 0 0 21 22 0 0 0 0 0 0\n");

	ASSERT_EQ(all.size(), 2u);
	EXPECT_EQ(all.at("lo").rx_bytes, 1u);
	EXPECT_EQ(all.at("lo").rx_packets, 2u);
	EXPECT_EQ(all.at("lo").tx_bytes, 9u);
	EXPECT_EQ(all.at("lo").tx_packets, 10u);
	EXPECT_EQ(all.at("p1").rx_bytes, UINT64_MAX);
	EXPECT_EQ(all.at("p1").tx_packets, 22u);
	EXPECT_TRUE(parse_net_dev("a\nb\n").empty());
	EXPECT_THROW(parse_net_dev("a\nb\nc\n"), SystemError);
	EXPECT_THROW(parse_net_dev("a\nb\nlo: 1 2 3\n"), SystemError);
	EXPECT_THROW(parse_net_dev("a\nb\nlo: 1 2 x 4 5 6 7 8 9 10\n"),
		     SystemError);
}
} // namespace mrclab

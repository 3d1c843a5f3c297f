// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The counter list, and the port's storage of counters.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine.hpp"

namespace
{

const char *const kNames[] = {
#define X(id, name) name,
	MRC_COUNTER_LIST(X)
#undef X
};

const char *const kIds[] = {
#define X(id, name) #id,
	MRC_COUNTER_LIST(X)
#undef X
};

TEST(Counters, ListAndEnumAgree)
{
	EXPECT_EQ(std::size(kNames), static_cast<std::size_t>(MRC_CTR_MAX));
	EXPECT_EQ(std::size(kIds), static_cast<std::size_t>(MRC_CTR_MAX));
	EXPECT_STREQ(kNames[MRC_CTR_TX_DATA], "tx_data_pkts");
	EXPECT_STREQ(kNames[MRC_CTR_PORT_UP], "port_up_events");
	EXPECT_EQ(MRC_CTR_TX_DATA, 0);
	// Append only: what programs know keeps its place.
	EXPECT_EQ(MRC_CTR_PORT_UP, 62);
	EXPECT_LT(MRC_CTR_PORT_UP, MRC_CTR_MAX);
}

// "rdma statistic" users parse these: unique, and one word of [a-z0-9_].
TEST(Counters, NamesAreUniqueWords)
{
	std::set<std::string> seen;

	for (const char *name : kNames) {
		EXPECT_TRUE(seen.insert(name).second) << name;
		EXPECT_NE(*name, '\0');
		EXPECT_EQ(std::string(name).find_first_not_of(
				  "abcdefghijklmnopqrstuvwxyz0123456789_"),
			  std::string::npos)
			<< name;
	}
}

TEST(Counters, AddPerPort)
{
	mrc_counters c{};

	c.n_ports = 4;
	mrc_ctr_add(&c, 1, MRC_CTR_TX_DATA, 1);
	mrc_ctr_add(&c, 4, MRC_CTR_TX_DATA, 5);
	mrc_ctr_add(&c, 4, MRC_CTR_TX_DATA, 2);
	mrc_ctr_add(&c, 4, MRC_CTR_PORT_UP, 9);
	EXPECT_EQ(c.v[1][MRC_CTR_TX_DATA], 1u);
	EXPECT_EQ(c.v[4][MRC_CTR_TX_DATA], 7u);
	EXPECT_EQ(c.v[4][MRC_CTR_PORT_UP], 9u);
	EXPECT_EQ(c.v[2][MRC_CTR_TX_DATA], 0u);
	EXPECT_EQ(c.v[3][MRC_CTR_TX_DATA], 0u);
}

// Ports that the device does not have are counted on port 1.
TEST(Counters, UnknownPorts)
{
	mrc_counters c{};

	c.n_ports = 2;
	for (unsigned port : {0u, 3u, 16u, 17u, ~0u})
		mrc_ctr_add(&c, port, MRC_CTR_RX_SACK, 1);
	EXPECT_EQ(c.v[1][MRC_CTR_RX_SACK], 5u);
	EXPECT_EQ(c.v[0][MRC_CTR_RX_SACK], 0u);
	EXPECT_EQ(c.v[2][MRC_CTR_RX_SACK], 0u);
}

TEST(Counters, AllSixteenPorts)
{
	mrc_counters c{};

	c.n_ports = MRC_MAX_PORTS;
	for (unsigned port = 1; port <= MRC_MAX_PORTS; port++)
		mrc_ctr_add(&c, port, MRC_CTR_RTO, port);
	for (unsigned port = 1; port <= MRC_MAX_PORTS; port++)
		EXPECT_EQ(c.v[port][MRC_CTR_RTO], port);
}

// No storage, no counting, no crash.
TEST(Counters, MayBeAbsent)
{
	mrc_ctr_add(nullptr, 1, MRC_CTR_TX_DATA, 1);
}

} // namespace

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Fabric files that are right: every key, every default, every limit. */
#include "fabric_file.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "error.hpp"

namespace mrclab
{
namespace
{
const std::string smallest = "name: x\nplanes: 1\nt0: 1\nt1: 0\nhosts: 1\n";

Fabric parse(const std::string &text)
{
	return parse_fabric(text, "f.yaml");
}

/* A fabric of 2 planes, 2 T0s, 2 T1s and 2 hosts with @more. */
Fabric with(const std::string &more)
{
	return parse("name: x\nplanes: 2\nt0: 2\nt1: 2\nhosts: 2\n" + more);
}

LinkProps props(const std::string &key, const std::string &value)
{
	LinkProps p;

	set_link_prop(p, key, value);
	return p;
}
} // namespace

TEST(FabricFile, HasDefaults)
{
	const Fabric f = parse(smallest);

	EXPECT_EQ(f.file, "f.yaml");
	EXPECT_EQ(f.name, "x");
	EXPECT_EQ(f.prefix, "x-");
	EXPECT_EQ(f.planes, 1u);
	EXPECT_EQ(f.t0, 1u);
	EXPECT_EQ(f.t1, 0u);
	EXPECT_EQ(f.hosts, 1u);
	EXPECT_EQ(f.forwarding, Forwarding::srv6);
	EXPECT_EQ(f.mtu, 4500u);
	EXPECT_EQ(f.block, 0xfcbb);
	EXPECT_EQ(f.block4, 10 << 8 | 1);
	EXPECT_EQ(f.devices, Devices::mrc);
	EXPECT_EQ(f.device, "mrc");
	EXPECT_TRUE(f.host_links.empty());
	EXPECT_TRUE(f.fabric_links.empty());
	EXPECT_TRUE(f.rules.empty());
	EXPECT_TRUE(f.profiles.evs);
	EXPECT_EQ(f.profiles.cc, "");
	EXPECT_TRUE(f.profiles.cc_params.empty());
	EXPECT_EQ(f.line_of("hosts"), 5);
	EXPECT_EQ(f.line_of("mtu"), 0);
}

TEST(FabricFile, HasEveryKey)
{
	const Fabric f = parse("name: a-b_9\n"
			       "prefix: zz\n"
			       "planes: 3\n"
			       "t0: 4\n"
			       "t1: 5\n"
			       "hosts: 6\n"
			       "forwarding: srv6+ecmp\n"
			       "mtu: 9000\n"
			       "block: FD01\n"
			       "block4: 192.168\n"
			       "devices: mrc\n"
			       "device: rdma\n"
			       "links:\n"
			       "  host: {rate: 1gbit}\n"
			       "  fabric: {delay: 5us}\n"
			       "  h1:*: {loss: 1%}\n"
			       "  \"*:h1\": {loss: 2%, queue: 1m}\n"
			       "profiles:\n"
			       "  evs: true\n"
			       "  cc:\n"
			       "    algorithm: uet-1.0-nscc\n"
			       "    base_rtt: 20000000\n"
			       "    gamma: 0.8\n");

	EXPECT_EQ(f.name, "a-b_9");
	EXPECT_EQ(f.prefix, "zz");
	EXPECT_EQ(f.planes, 3u);
	EXPECT_EQ(f.t0, 4u);
	EXPECT_EQ(f.t1, 5u);
	EXPECT_EQ(f.hosts, 6u);
	EXPECT_EQ(f.all_hosts(), 24u);
	EXPECT_EQ(f.forwarding, Forwarding::both);
	EXPECT_TRUE(f.srv6() && f.ecmp());
	EXPECT_EQ(f.mtu, 9000u);
	EXPECT_EQ(f.block, 0xfd01);
	EXPECT_EQ(f.block4, 192 << 8 | 168);
	EXPECT_EQ(f.devices, Devices::mrc);
	EXPECT_EQ(f.device, "rdma");
	EXPECT_EQ(f.host_links, props("rate", "1gbit"));
	EXPECT_EQ(f.fabric_links, props("delay", "5us"));
	ASSERT_EQ(f.rules.size(), 2u);
	EXPECT_EQ(f.rules[0].pattern, "h1:*");
	EXPECT_EQ(f.rules[0].props, props("loss", "1%"));
	EXPECT_EQ(f.rules[0].line, 16);
	EXPECT_EQ(f.rules[1].pattern, "*:h1");
	EXPECT_EQ(f.rules[1].props.queue, 1u << 20);
	EXPECT_EQ(f.rules[1].line, 17);
	EXPECT_TRUE(f.profiles.evs);
	EXPECT_EQ(f.profiles.cc, "uet-1.0-nscc");
	EXPECT_EQ(f.profiles.cc_params,
		  (std::vector<std::pair<std::string, std::string>>{
			  {"base_rtt", "20000000"}, {"gamma", "0.8"}}));
}

/* Which key stands first makes no difference. */
TEST(FabricFile, TakesKeysInAnyOrder)
{
	const Fabric f = parse("links: {h2:p1: {loss: 1%}}\nhosts: 2\nt1: 0\n"
			       "prefix: \"\"\nt0: 1\nplanes: 1\nname: x\n");

	EXPECT_EQ(f.prefix, "");
	EXPECT_EQ(f.hosts, 2u);
	EXPECT_EQ(f.rules.size(), 1u);
}

TEST(FabricFile, TakesJson)
{
	const Fabric f = parse(R"({"name": "x", "planes": 2, "t0": "2",
		"t1": 1, "hosts": 3, "block4": "10.10",
		"links": {"host": {"rate": 9600, "loss": 0.5}},
		"profiles": {"evs": true}})");

	EXPECT_EQ(f.all_hosts(), 6u);
	EXPECT_EQ(f.block4, 10 << 8 | 10);
	EXPECT_EQ(f.host_links.rate, 9600u);
	EXPECT_EQ(f.host_links.loss, 0.005);
	EXPECT_TRUE(f.profiles.evs);
}

TEST(FabricFile, TakesAnchors)
{
	const Fabric f = with("links:\n"
			      "  host: &slow {rate: 1mbit}\n"
			      "  fabric: *slow\n"
			      "  p1l1:s1: *slow\n");

	EXPECT_EQ(f.fabric_links, props("rate", "1mbit"));
	EXPECT_EQ(f.rules.at(0).props, f.host_links);
}

TEST(FabricFile, KeepsLimitsOfNumbers)
{
	const struct {
		const char *key;
		uint32_t Fabric::*member;
		uint32_t min, max;
	} all[] = {
		{"planes", &Fabric::planes, 1, 16},
		{"t0", &Fabric::t0, 1, 4096},
		{"t1", &Fabric::t1, 1, 4096},
		{"hosts", &Fabric::hosts, 1, 4096},
		{"mtu", &Fabric::mtu, 1280, 9216},
	};

	for (const auto &n : all) {
		const auto text = [&n](uint64_t value) {
			std::string s = "name: x\n";

			for (const char *key :
			     {"planes", "t0", "t1", "hosts", "mtu"})
				s += fmt::format(
					"{}: {}\n", key,
					key == std::string(n.key)   ? value
					: key == std::string("mtu") ? 4500
								    : 1);
			return s;
		};

		EXPECT_EQ(parse(text(n.min)).*n.member, n.min) << n.key;
		EXPECT_EQ(parse(text(n.max)).*n.member, n.max) << n.key;
		/* A t1 of 0 is allowed with a single T0. */
		if (std::string(n.key) != "t1") {
			EXPECT_THROW(parse(text(n.min - 1)), FileError)
				<< n.key;
		}
		EXPECT_THROW(parse(text(n.max + 1)), FileError) << n.key;
	}
	EXPECT_EQ(parse(smallest).t1, 0u);
}

TEST(FabricFile, TakesNames)
{
	for (const char *w : {"a", "z9", "a-", "a_b-c", "abcdefghijklmnop"}) {
		const Fabric f = parse(std::string("name: ") + w + "\n" +
				       smallest.substr(8) + "device: " + w +
				       "\nprefix: " + w + w + "\n");

		EXPECT_EQ(f.name, w);
		EXPECT_EQ(f.device, w);
		EXPECT_EQ(f.prefix, std::string(w) + w);
	}
}

/* Where nothing else is forwarded, queue pairs have EVs if the file is silent.
 */
TEST(FabricFile, HasEvsWhereQueuePairsNeedThem)
{
	const std::pair<const char *, bool> all[] = {
		{"forwarding: srv6\n", true},
		{"forwarding: srv6\ndevices: mrc\n", true},
		{"profiles: {}\n", true},
		{"profiles: {cc: {algorithm: a}}\n", true},
		{"profiles: {evs: off}\n", false},
		{"forwarding: srv6+ecmp\n", false},
		{"forwarding: srv6+ecmp\nprofiles: {evs: on}\n", true},
		{"forwarding: ecmp\n", false},
		{"devices: rxe\n", false},
		{"devices: none\n", false},
		{"devices: none\nprofiles: {evs: off}\n", false},
	};

	for (const auto &[more, evs] : all)
		EXPECT_EQ(with(more).profiles.evs, evs) << more;
}

TEST(FabricFile, TakesBlocks)
{
	const std::pair<const char *, uint16_t> all[] = {
		{"fc00", 0xfc00},
		{"fdff", 0xfdff},
		{"FcBb", 0xfcbb},
		{"00fcbb", 0xfcbb},
	};

	for (const auto &[word, block] : all)
		EXPECT_EQ(with(fmt::format("block: {}\n", word)).block, block);
}

TEST(FabricFile, TakesPrivateBlocksOfIpv4)
{
	for (const auto &[a, b] : std::vector<std::pair<int, int>>{{10, 0},
								   {10, 255},
								   {172, 16},
								   {172, 31},
								   {192, 168},
								   {198, 18},
								   {198, 19}})
		EXPECT_EQ(with(fmt::format("block4: {}.{}\n", a, b)).block4,
			  a << 8 | b);
}

TEST(FabricFile, TakesEveryForwardingAndDevice)
{
	EXPECT_EQ(with("forwarding: srv6\n").forwarding, Forwarding::srv6);
	EXPECT_EQ(with("forwarding: ecmp\n").forwarding, Forwarding::ecmp);
	EXPECT_EQ(with("forwarding: srv6+ecmp\n").forwarding, Forwarding::both);
	EXPECT_EQ(with("devices: mrc\n").devices, Devices::mrc);
	EXPECT_EQ(with("devices: rxe\n").devices, Devices::rxe);
	EXPECT_EQ(with("devices: none\n").devices, Devices::none);
	EXPECT_FALSE(with("forwarding: ecmp\n").srv6());
	EXPECT_FALSE(with("forwarding: srv6\n").ecmp());
}
} // namespace mrclab

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The plan of addresses: well-formed, and each one once where it counts. */
#include "address.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include <gtest/gtest.h>

#include "error.hpp"
#include "random_fabric.hpp"
#include "routes.hpp"

namespace mrclab
{
namespace
{
/* Takes well-formed values that must differ. */
class Once
{
public:
	void add(const std::string &what)
	{
		EXPECT_TRUE(seen_.insert(text_of(address(what))).second)
			<< what;
	}

private:
	std::set<std::string> seen_;
};

std::string refusal(const Fabric &f)
{
	try {
		check_addresses(f);
	} catch (const FileError &e) {
		return e.what();
	}
	return "";
}
} // namespace

TEST(Address, IsTheOneOfThePlan)
{
	Fabric f = fabric_of(16, 20, 30, 12);

	f.block = 0xfd0a;
	f.block4 = 172 << 8 | 16;

	const Topology t(f);

	EXPECT_EQ(usid(t.t0(1, 11)), 0x10b);
	EXPECT_EQ(usid(t.t1(1, 30)), 0x21e);
	EXPECT_EQ(usid(t.host(240)), 0x3f0);
	EXPECT_EQ(usid(t.t0(16, 11)), usid(t.t0(1, 11)));
	EXPECT_EQ(usid_prefix(f, t.t0(3, 11)), "fd0a:0:10b::/48");
	EXPECT_EQ(usid_block(f), "fd0a:0::/32");
	EXPECT_EQ(host6(t, 240), "fd0a:1:14::f0");
	EXPECT_EQ(host4(t, 240), "172.16.20.240");
	EXPECT_EQ(port6(t, 240, 16), "fd0a:2:10:14::f0");
	EXPECT_EQ(mgmt4(240), "192.0.2.240");
	EXPECT_EQ(hosts6(f), "fd0a:1::/32");
	EXPECT_EQ(hosts4(f), "172.16.0.0/16");
	EXPECT_EQ(hosts6_of(f, 20), "fd0a:1:14::/48");
	EXPECT_EQ(hosts4_of(f, 20), "172.16.20.0/24");
	EXPECT_EQ(link_local(t.t0(1, 11)), "fe80::1:b");
	EXPECT_EQ(link_local(t.t1(1, 30)), "fe80::2:1e");
	EXPECT_EQ(link_local(t.host(240)), "fe80::3:f0");
	EXPECT_EQ(mac(t, t.direction("h240:p16")), "02:f0:10:13:f0:14");
	EXPECT_EQ(mac(t, t.direction("p16l20:h240")), "02:f0:10:31:14:f0");
	EXPECT_EQ(mac(t, t.direction("p16l20:s30")), "02:f0:10:21:14:1e");
	EXPECT_EQ(mac(t, t.direction("p16s30:l20")), "02:f0:10:12:1e:14");
	EXPECT_EQ(usid_path(t, 1, 30, 240), "fd0a:0:101:21e:114:3f0::");
	EXPECT_EQ(usid_path(t, 1, 30, 12), "fd0a:0:101:30c::");
}

TEST(Address, DiffersBetweenHosts)
{
	on_topologies(true, [](const Topology &t, Random &) {
		Once one, mgmt;

		for (uint32_t h = 1; h <= t.fabric().all_hosts(); h++) {
			one.add(host6(t, h));
			one.add(host4(t, h));
			for (uint32_t p = 1; p <= t.fabric().planes; p++)
				one.add(port6(t, h, p));
			mgmt.add(mgmt4(h));
		}
	});
}

TEST(Address, DiffersBetweenNodesOfAPlane)
{
	on_topologies(true, [](const Topology &t, Random &) {
		for (uint32_t p = 1; p <= t.fabric().planes; p++) {
			std::set<uint16_t> usids;
			Once one;

			for (const Node &n : t.nodes()) {
				if (n.kind != Kind::host && n.plane != p)
					continue;
				EXPECT_TRUE(usids.insert(usid(n)).second)
					<< n.name;
				one.add(link_local(n));
			}
		}
	});
}

TEST(Address, IsInItsPrefix)
{
	on_topologies(true, [](const Topology &t, Random &) {
		const Fabric &f = t.fabric();

		for (uint32_t h = 1; h <= f.all_hosts(); h++) {
			const uint32_t l = t.t0_of(h);
			const Address six = address(host6(t, h));
			const Address four = address(host4(t, h));

			EXPECT_TRUE(prefix(hosts6(f)).has(six));
			EXPECT_TRUE(prefix(hosts4(f)).has(four));
			/* Of all T0s' prefixes in its own alone. */
			for (uint32_t o = 1; o <= f.t0; o++) {
				EXPECT_EQ(prefix(hosts6_of(f, o)).has(six),
					  o == l);
				EXPECT_EQ(prefix(hosts4_of(f, o)).has(four),
					  o == l);
			}
			EXPECT_FALSE(prefix(usid_block(f)).has(six));
			EXPECT_FALSE(prefix(usid_block(f))
					     .has(address(port6(t, h, 1))));
		}
		for (const Node &n : t.nodes()) {
			const Prefix p = prefix(usid_prefix(f, n));

			EXPECT_EQ(p.length, 48u);
			EXPECT_TRUE(prefix(usid_block(f)).has(p.bits));
		}
	});
}

TEST(Address, OfHardwareDiffersEverywhere)
{
	on_topologies(true, [](const Topology &t, Random &) {
		std::set<std::string> seen;

		for (uint32_t l = 0; l < t.links().size(); l++)
			for (const bool up : {true, false}) {
				const std::string m = mac(t, {l, up});
				unsigned int b[6];
				int end = 0;

				EXPECT_TRUE(seen.insert(m).second) << m;
				ASSERT_EQ(sscanf(m.c_str(),
						 "%2x:%2x:%2x:%2x:%2x:%2x%n",
						 &b[0], &b[1], &b[2], &b[3],
						 &b[4], &b[5], &end),
					  6)
					<< m;
				EXPECT_EQ(end, 17) << m;
				EXPECT_EQ(m.size(), 17u) << m;
				/* Of one station, and locally assigned. */
				EXPECT_EQ(b[0] & 3, 2u) << m;
			}
	});
}

/* The uSIDs of a path, one behind the other in an address. */
TEST(Address, OfAPathHasItsUsids)
{
	Random r(2);

	for (int i = 0; i < 200; i++) {
		const Topology t(random_fabric(r));
		const Fabric &f = t.fabric();
		const auto n = [&r](uint32_t max) {
			return static_cast<uint32_t>(draw(r, 1, max));
		};
		const uint32_t a = n(f.all_hosts()), b = n(f.all_hosts());
		const uint32_t p = n(f.planes), s = f.t1 ? n(f.t1) : 0;
		std::vector<uint16_t> want = {f.block, 0};

		for (const Direction d : t.path(a, p, s, b))
			want.push_back(usid(t.nodes()[t.to(d).node]));
		want.resize(8);

		const Address bytes = address(usid_path(t, a, s, b));

		for (std::size_t k = 0; k < 8; k++)
			EXPECT_EQ(bytes[2 * k] << 8 | bytes[2 * k + 1], want[k])
				<< usid_path(t, a, s, b);
	}
}

TEST(Address, IsEnoughForTheLargestFabrics)
{
	for (const Fabric &f : largest_fabrics())
		EXPECT_EQ(refusal(f), "") << testing::PrintToString(f);
	EXPECT_EQ(refusal(fabric_of(255, 1, 255, 254)), "");
}

TEST(Address, IsMissingForLargerFabrics)
{
	Fabric f = fabric_of(1, 256, 1, 1);

	f.lines["t0"] = 7;
	EXPECT_EQ(refusal(f),
		  "test.yaml:7: 256 T0 switches: there are addresses for 255");
	EXPECT_EQ(refusal(fabric_of(1, 1, 256, 1)),
		  "test.yaml: 256 T1 switches: there are addresses for 255");
	EXPECT_EQ(refusal(fabric_of(256, 1, 1, 1)),
		  "test.yaml: 256 planes: there are addresses for 255");
	EXPECT_EQ(refusal(fabric_of(1, 1, 1, 255)),
		  "test.yaml: 255 hosts in all: there are addresses for 254");
	EXPECT_EQ(refusal(fabric_of(1, 51, 1, 5)),
		  "test.yaml: 255 hosts in all: there are addresses for 254");
}
} // namespace mrclab

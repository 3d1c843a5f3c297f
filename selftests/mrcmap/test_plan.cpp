// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Every link is probed, by several agents, in time. */
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "address.hpp"
#include "error.hpp"
#include "fabric_file.hpp"
#include "sim.hpp"

namespace mrcmap
{
namespace
{
using mrclab::Direction;

/* The switches and hosts of a path, by its outer destination alone. */
std::vector<uint32_t> usids(const Address &a)
{
	std::vector<uint32_t> out;

	for (std::size_t i = 4; i < a.size(); i += 2)
		if (const uint32_t u = a[i] << 8 | a[i + 1])
			out.push_back(u);
	return out;
}

void check_path(const mrclab::Topology &t, const ProbePath &p)
{
	std::vector<uint32_t> via;
	uint32_t at = t.index(t.host(p.host));

	for (const Direction &d : p.hops) {
		ASSERT_EQ(t.from(d).node, at);
		ASSERT_EQ(t.links()[d.link].plane, p.plane);
		at = t.to(d).node;
		via.push_back(mrclab::usid(t.nodes()[at]));
	}
	EXPECT_EQ(at, t.index(t.host(p.receiver)));
	EXPECT_EQ(usids(address(p.outer)), via) << p.outer;
	EXPECT_LE(via.size(), 6u);
	EXPECT_GT(p.interval, 0u);
}

void check_coverage(const mrclab::Topology &t, const Plan &plan,
		    const Config &config)
{
	const mrclab::Fabric &f = t.fabric();
	std::map<Direction, std::set<uint32_t>> agents, paths;
	std::map<uint32_t, double> rate;

	for (const ProbePath &p : plan.paths()) {
		std::set<uint32_t> links;

		check_path(t, p);
		for (const Direction &d : p.hops) {
			agents[d].insert({p.host, p.receiver});
			paths[d].insert(p.id);
			links.insert(d.link);
		}
		for (const uint32_t l : links)
			rate[l] += static_cast<double>(config.period) /
				   static_cast<double>(p.interval);
	}
	for (uint32_t l = 0; l < t.links().size(); l++) {
		EXPECT_GE(rate[l], 0.999);
		for (const bool up : {true, false}) {
			const Direction d{l, up};

			EXPECT_FALSE(paths[d].empty()) << t.name(d);
			if (f.all_hosts() > 1 && (f.t0 > 1 || f.hosts > 1)) {
				EXPECT_GE(agents[d].size(), 2u) << t.name(d);
				EXPECT_GE(paths[d].size(), 2u) << t.name(d);
			}
		}
	}
}

TEST(Plan, EveryDirectionByTwoAgents)
{
	const Config config;
	Random r(1);

	for (int i = 0; i < 40; i++) {
		const mrclab::Topology t(random_fabric(r));

		check_coverage(t, Plan(t, config), config);
	}
}

TEST(Plan, Examples)
{
	const Config config;

	for (const char *name : {"small", "paper"}) {
		const mrclab::Topology t(mrclab::read_fabric(
			std::string(FABRICS_DIR "/") + name + ".yaml"));

		check_coverage(t, Plan(t, config), config);
	}
}

TEST(Plan, NeedsSrv6)
{
	const mrclab::Topology t(mrclab::read_fabric(FABRICS_DIR "/pair.yaml"));

	EXPECT_THROW(Plan(t, Config()), mrclab::FileError);
}

TEST(Plan, SameForAll)
{
	const mrclab::Topology t(fabric_of(2, 3, 2, 2));
	const mrclab::Topology other(fabric_of(2, 3, 3, 2));
	Config config;
	const Plan a(t, config), b(t, config), c(other, config);

	config.window *= 2;
	EXPECT_EQ(a.digest(), b.digest());
	EXPECT_NE(a.digest(), c.digest());
	EXPECT_NE(a.digest(), Plan(t, config).digest());
	for (uint32_t h = 1; h <= t.fabric().all_hosts(); h++)
		for (const uint32_t id : a.sent_by(h))
			EXPECT_EQ(a.paths()[id].host, h);
}

TEST(Config, WordsAndRanges)
{
	Config c;

	for (const Setting &s : settings()) {
		const std::string value = get_config(c, s.name);

		EXPECT_NO_THROW(set_config(c, s.name, value)) << s.name;
		EXPECT_EQ(get_config(c, s.name), value);
		for (const char *bad : {"", "x", "-1", "nan", "1e99", "1h"})
			EXPECT_THROW(set_config(c, s.name, bad),
				     mrclab::UsageError)
				<< s.name << " " << bad;
	}
	EXPECT_THROW(set_config(c, "perod", "1ms"), mrclab::UsageError);
	set_config(c, "loss-alarm", "1%");
	EXPECT_DOUBLE_EQ(c.loss_alarm, 0.01);
	set_config(c, "window", "1s");
	EXPECT_THROW(check_config(c), mrclab::UsageError);
	EXPECT_NO_THROW(check_config(Config()));
}
} // namespace
} // namespace mrcmap

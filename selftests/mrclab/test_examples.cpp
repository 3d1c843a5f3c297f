// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The examples that are installed, and what newcomers read in them. */
#include <algorithm>
#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

#include "address.hpp"
#include "fabric_file.hpp"
#include "golden.hpp"
#include "profiles.hpp"
#include "routes.hpp"
#include "tc_commands.hpp"

namespace mrclab
{
namespace
{
namespace fs = std::filesystem;

const fs::path dir = MRCLAB_DIR "/fabrics";

Fabric example(const std::string &name)
{
	return read_fabric(dir / (name + ".yaml"));
}
} // namespace

TEST(Examples, AreFabrics)
{
	std::size_t n = 0;

	for (const auto &entry : fs::directory_iterator(dir)) {
		const fs::path &path = entry.path();

		SCOPED_TRACE(path);
		ASSERT_EQ(path.extension(), ".yaml");
		const Fabric f = read_fabric(path);

		EXPECT_EQ(f.name, path.stem());
		EXPECT_NO_THROW(check_addresses(f));
		EXPECT_NO_THROW(check_profiles(f));
		n++;
	}
	EXPECT_EQ(n, 3u);
}

/* All can be up at once but for the names of devices. */
TEST(Examples, HaveNamesOfTheirOwn)
{
	EXPECT_EQ(example("pair").prefix, "pair-");
	EXPECT_EQ(example("small").prefix, "small-");
	EXPECT_EQ(example("paper").prefix, "paper-");
}

TEST(Examples, HaveTheSizesOfTheirComments)
{
	const Topology pair(example("pair")), small(example("small")),
		paper(example("paper"));

	EXPECT_EQ(pair.nodes().size(), 2u + 4);
	EXPECT_EQ(small.nodes().size(), 4u + 8);
	EXPECT_EQ(paper.fabric().all_hosts(), 16u);
	EXPECT_EQ(paper.nodes().size(), 16u + 32);
	EXPECT_EQ(paper.links().size(), 128u);
}

/* Each comment that could be a setting is one. */
TEST(Examples, HaveCommentsThatAreSettings)
{
	std::istringstream lines(file_text(dir / "small.yaml"));
	std::string line, text;
	int opened = 0;

	while (std::getline(lines, line)) {
		if (line.starts_with("  # ") && line.ends_with("}")) {
			line.erase(2, 2);
			opened++;
		}
		text += line + "\n";
	}
	EXPECT_EQ(opened, 2);

	const Fabric f = parse_fabric(text, "small.yaml");

	EXPECT_EQ(f.rules.size(), 2u);
}

/* Packets find their way, by the kind of forwarding that each one has. */
TEST(Examples, Forward)
{
	for (const char *name : {"pair", "small", "paper"}) {
		const Topology t(example(name));
		const Network net(t);
		const Fabric &f = t.fabric();
		const uint32_t last = f.all_hosts();
		std::vector<std::string> to;

		SCOPED_TRACE(name);
		if (f.srv6())
			to.push_back(usid_path(t, 1, f.t1, last));
		if (f.ecmp())
			to.push_back(host6(t, last));
		for (const std::string &word : to) {
			Address dst = address(word);
			const auto choose = [](std::size_t n) { return n - 1; };
			std::vector<std::string> way, want;

			for (const Direction d :
			     t.path(1, f.planes, f.t1, last))
				want.push_back(t.name(d));
			ASSERT_NO_THROW(
				way = net.follow("h1",
						 "p" + std::to_string(f.planes),
						 dst, choose));
			EXPECT_EQ(way, want);
		}
		EXPECT_EQ(f.profiles.evs, f.srv6());
	}
}

TEST(Examples, OfThePaperMarkInsideAndNotOnTheLastHop)
{
	const Topology t(example("paper"));

	for (uint32_t l = 0; l < t.links().size(); l++)
		for (const bool up : {true, false}) {
			const Direction d{l, up};
			const Queues q = queues_of(t.from(d).netdev, t.props(d),
						   t.last_hop(d));
			const bool by_host =
				t.nodes()[t.from(d).node].kind == Kind::host;

			SCOPED_TRACE(t.name(d));
			EXPECT_EQ(t.props(d).rate, 40000000u);
			ASSERT_EQ(q.port.has_value(), !by_host);
			if (by_host)
				continue;
			EXPECT_EQ(q.port->ecn_max != 0, !t.last_hop(d));
			EXPECT_NE(q.port->trim_bytes, 0u);
			EXPECT_EQ(q.port_command.ends_with("mrcsw_last\n"),
				  t.last_hop(d));
			EXPECT_LT(q.port->trim_bytes, q.port->data_limit);
			/* A full frame fits into the bucket. */
			EXPECT_GE(t.props(d).burst, t.fabric().mtu + 14);
		}
}
} // namespace mrclab

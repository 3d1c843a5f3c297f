// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The scripts of selftests/net have the same names and addresses. */
#include <cstdio>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "address.hpp"
#include "random_fabric.hpp"
#include "routes.hpp"
#include "text.hpp"

namespace mrclab
{
namespace
{
using Words = std::vector<std::string>;

/* The lines that lib_fabric_plan.sh prints for a fabric. */
std::vector<Words> plan(const Fabric &f)
{
	const std::string command =
		fmt::format("bash '{}/lib_fabric_plan.sh' '{}' {} {} {} {}",
			    TEST_DIR, NET_DIR, f.planes, f.t0, f.t1, f.hosts);
	std::vector<Words> lines;
	std::string text;
	char buffer[4096];
	FILE *out = popen(command.c_str(), "r");

	if (!out) {
		ADD_FAILURE() << command;
		return {};
	}
	while (const std::size_t n = fread(buffer, 1, sizeof(buffer), out))
		text.append(buffer, n);
	EXPECT_EQ(pclose(out), 0) << command;

	for (const std::string &line : lines_of(text))
		lines.push_back(words_of(line));
	return lines;
}

std::string same(const std::string &text)
{
	return text_of(address(text));
}

uint32_t number(const std::string &w)
{
	return static_cast<uint32_t>(std::stoul(w));
}

void compare(const Fabric &f)
{
	const Topology t(f);
	std::size_t links = 0, hosts = 0, paths = 0;

	for (const Words &w : plan(f)) {
		if (w[0] == "nodes") {
			Words all = {"nodes"};

			for (const Node &n : t.nodes())
				all.push_back(n.name);
			EXPECT_EQ(w, all);
		} else if (w[0] == "link") {
			const Direction d = t.direction(w.at(1));

			EXPECT_EQ(w.at(2), t.name({d.link, !d.up}));
			links++;
		} else if (w[0] == "host") {
			const uint32_t h = number(w.at(1));

			EXPECT_EQ(same(w.at(2)), same(host6(t, h)));
			EXPECT_EQ(w.at(3), host4(t, h));
			EXPECT_EQ(w.at(4), mgmt4(h));
			hosts++;
		} else if (w[0] == "port") {
			EXPECT_EQ(same(w.at(3)), same(port6(t, number(w.at(1)),
							    number(w.at(2)))));
		} else if (w[0] == "path") {
			const uint32_t a = number(w.at(1)), s = number(w.at(2)),
				       b = number(w.at(3));
			Words names;

			EXPECT_EQ(same(w.at(4)), same(usid_path(t, a, s, b)));
			for (const Direction d : t.path(a, f.planes, s, b))
				names.push_back(t.name(d));
			EXPECT_EQ(Words(w.begin() + 5, w.end()), names);
			paths++;
		} else {
			ADD_FAILURE() << w[0];
		}
	}
	EXPECT_EQ(links, 2 * t.links().size());
	EXPECT_EQ(hosts, f.all_hosts());
	EXPECT_EQ(paths, 6 * f.all_hosts());
}
} // namespace

TEST(LibFabric, HasTheSamePlan)
{
	compare(fabric_of(2, 2, 2, 2));
	compare(fabric_of(3, 3, 9, 3));
}

/* From 10 on decimal and hexadecimal digits differ. */
TEST(LibFabric, HasTheSamePlanBeyondNine)
{
	compare(fabric_of(11, 1, 1, 2));
	compare(fabric_of(1, 10, 17, 2));
}
} // namespace mrclab

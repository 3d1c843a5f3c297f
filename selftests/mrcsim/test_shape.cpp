// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Numbers and names of links. */
#include <gtest/gtest.h>

#include "fabric_file.hpp"
#include "fabric_shape.hpp"
#include "fabrics.hpp"
#include "topology.hpp"

namespace mrcsim
{
namespace
{
Shape three_tiers()
{
	Shape s = plain_clos(2, 2, 3, 2);

	s.tiers = 3;
	s.pods = 3;
	s.t1_uplinks = 2;
	return s;
}

TEST(Shape, namesAndNumbersAreOneToOne)
{
	Shape bundled = plain_clos(2, 3, 2, 2);

	bundled.bundle = 2;
	for (const Shape &s : {plain_clos(1, 1, 0, 3), plain_clos(4, 3, 2, 2),
			       three_tiers(), bundled})
		for (u32 id = 0; id < s.links(); id++) {
			const std::vector<u32> found = s.named(s.name(id));
			const Kind k = s.kind_of(id);
			const bool parallel =
				k == Kind::t0_up || k == Kind::t1_down;

			ASSERT_EQ(found.size(), parallel ? s.bundle : 1)
				<< s.name(id);
			ASSERT_NE(std::find(found.begin(), found.end(), id),
				  found.end())
				<< s.name(id);
			ASSERT_EQ(s.reverse(s.reverse(id)), id);
			ASSERT_EQ(s.plane_of(id), id / s.links_of_plane());
		}
}

TEST(Shape, refusesOtherNames)
{
	const Shape s = three_tiers();

	for (const char *name :
	     {"", "h0:p1", "h13:p1", "h1:p3", "h1", "p1l1:h3", "p1l1:s4",
	      "p1s1:c3", "p1c7:s1", "p1l1:s1x", "p1l1s1", "p1l1:", "x"})
		EXPECT_TRUE(s.named(name).empty()) << name;
}

/* The same names as mrclab, and links between the same nodes. */
TEST(Shape, agreesWithMrclab)
{
	for (const char *file : {"pair", "paper", "small"}) {
		const std::string path =
			std::string(FABRICS_DIR "/") + file + ".yaml";
		mrclab::Fabric f = mrclab::read_fabric(path);

		f.host_links.rate = f.fabric_links.rate = 1'000'000'000;

		const mrclab::Topology t(f);
		const Shape s = shape_of(f, 0);

		ASSERT_EQ(s.links(), 2 * t.links().size());
		for (u32 l = 0; l < t.links().size(); l++)
			for (const bool up : {true, false})
				EXPECT_EQ(s.named(t.name({l, up})).size(), 1U)
					<< t.name({l, up});
	}
}

TEST(Shape, takesLinksFromFabricFiles)
{
	const Shape s =
		shape_of(mrclab::read_fabric(FABRICS_DIR "/paper.yaml"), 2000);
	const auto of = [&s](const char *name) {
		const u32 id = s.named(name).at(0);

		for (const LinkException &e : s.exceptions)
			if (e.link == id)
				return e.spec;
		return s.of(s.kind_of(id));
	};

	EXPECT_EQ(of("p1l1:s1").rate, 40'000'000U);
	EXPECT_EQ(of("p1l1:s1").trim, 50'000U);
	EXPECT_EQ(of("p1l1:s1").mark_min, 10'000U);
	EXPECT_EQ(of("p1l1:s1").delay, 2000U);
	EXPECT_EQ(of("p1l1:h1").trim, 75'000U);
	EXPECT_EQ(of("p1l1:h1").mark_max, 0U);
	EXPECT_EQ(of("h1:p1").trim, 0U);
}

TEST(Shape, refusesWhatIsNotSimulated)
{
	const auto wrong = [](const std::string &links) {
		const std::string text = "name: x\nplanes: 1\nt0: 1\nt1: 0\n"
					 "hosts: 2\nlinks:\n  host: {" +
					 links + "}\n";

		return message_of([&] {
			shape_of(mrclab::parse_fabric(text, "f.yaml"), 0);
		});
	};

	EXPECT_EQ(wrong("rate: 1gbit"), "");
	EXPECT_EQ(wrong("delay: 1us"),
		  "f.yaml:7: a link without a rate cannot be simulated");
	EXPECT_EQ(wrong("rate: 1gbit, delay: 5us, jitter: 1us"),
		  "f.yaml:7: links with \"jitter\" are not simulated");
}

TEST(Shape, checksRatesAndQueues)
{
	Shape s = plain_clos(1, 2, 2, 2);
	const auto wrong = [&s] {
		return message_of([&s] { check_shape(s, 4222); });
	};

	EXPECT_EQ(wrong(), "");
	s.of(Kind::t0_up).rate = 0;
	EXPECT_NE(wrong().find("need a rate"), std::string::npos);
	s.of(Kind::t0_up).rate = 1'000'000'000;
	s.of(Kind::t0_up).queue = 4000;
	EXPECT_NE(wrong().find("too small for a packet"), std::string::npos);
	s.of(Kind::t0_up).queue = 0;
	s.hosts = 1 << 20;
	EXPECT_NE(wrong().find("hosts"), std::string::npos);
}
} // namespace
} // namespace mrcsim

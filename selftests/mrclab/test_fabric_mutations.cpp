// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Files with random bytes wrong are read or refused, and nothing else. What is
 * read can be used. MRCLAB_MUTATIONS is how many files there are.
 */
#include <cstdlib>

#include <gtest/gtest.h>

#include "error.hpp"
#include "fabric_file.hpp"
#include "golden.hpp"
#include "mutate.hpp"
#include "tc_commands.hpp"
#include "topology.hpp"

namespace mrclab
{
namespace
{
const std::string good = "# A fabric\n"
			 "name: good\n"
			 "prefix: \"\"\n"
			 "planes: 2\n"
			 "t0: 2\n"
			 "t1: 2\n"
			 "hosts: 2\n"
			 "forwarding: srv6+ecmp\n"
			 "mtu: 4500\n"
			 "block: fd01\n"
			 "block4: 10.10\n"
			 "devices: mrc\n"
			 "device: mrc\n"
			 "links:\n"
			 "  host: &slow {rate: 40mbit, queue: 1m}\n"
			 "  fabric: {rate: 20mbit, mark: 64k..128k, trim: "
			 "256k}\n"
			 "  h1:p1: *slow\n"
			 "  \"p1*:h?\": {delay: 1ms, reorder: 0.5%}\n"
			 "profiles:\n"
			 "  evs: on\n"
			 "  cc: {algorithm: uet-1.0-nscc, base_rtt: 20000}\n";

/* Whether it is a fabric. Anything but a FileError gets through. */
bool is_fabric(const std::string &text)
{
	try {
		const Fabric f = parse_fabric(text, "f");

		if (f.planes * (uint64_t{f.t0} * f.t1 + f.all_hosts()) > 1000)
			return true;

		const Topology t(f);

		for (uint32_t l = 0; l < t.links().size(); l++)
			for (const bool up : {true, false})
				queues_of("p1", t.props({l, up}), up);
		return true;
	} catch (const FileError &e) {
		const std::string what = e.what();

		EXPECT_EQ(what.substr(0, 1), "f");
		EXPECT_GT(what.size(), 5u);
		EXPECT_LE(e.line, last_line(text)) << what;
		return false;
	}
}
} // namespace

TEST(FabricMutations, AreReadOrRefused)
{
	const char *env = std::getenv("MRCLAB_MUTATIONS");
	const uint64_t files = env ? std::strtoull(env, nullptr, 10) : 3000;
	uint64_t read = 0;

	ASSERT_TRUE(is_fabric(good));
	for (uint64_t i = 0; i < files; i++) {
		Random r(i);
		std::string text = good;

		for (uint64_t n = draw(r, 1, 8); n > 0; n--)
			mutate(text, r, yaml_words);
		SCOPED_TRACE("file " + std::to_string(i) + ":\n" + text);
		ASSERT_NO_THROW(read += is_fabric(text));
		if (testing::Test::HasFailure())
			return;
	}
	/* Both happened. */
	EXPECT_GT(read, files / 100);
	EXPECT_LT(read, files / 2);
}

TEST(FabricMutations, WithoutTheirEndAreReadOrRefused)
{
	std::size_t read = 0;

	for (std::size_t n = 0; n <= good.size(); n++) {
		SCOPED_TRACE(n);
		ASSERT_NO_THROW(read += is_fabric(good.substr(0, n)));
	}
	EXPECT_GT(read, 1u);
}

TEST(FabricMutations, OfBytesAloneAreRefused)
{
	for (uint64_t i = 0; i < 1000; i++) {
		Random r(i);
		std::string text(draw(r, 1, 2000), '\0');

		for (char &c : text)
			c = static_cast<char>(draw(r, 0, 255));
		SCOPED_TRACE(i);
		bool is = true;

		ASSERT_NO_THROW(is = is_fabric(text));
		EXPECT_FALSE(is);
	}
}
} // namespace mrclab

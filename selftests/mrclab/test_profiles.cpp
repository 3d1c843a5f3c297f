// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Profiles for the paths between hosts, expanded as a device does it. */
#include <bit>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "address.hpp"
#include "error.hpp"
#include "export_files.hpp"
#include "profiles.hpp"
#include "routes.hpp"

namespace mrclab
{
namespace
{
struct Field {
	uint32_t width, init, mask, min, max;
};

/* WIDTH/INIT/MASK[/MIN/MAX], all but the width hexadecimal. */
std::vector<Field> fields(const std::string &list)
{
	std::vector<Field> all;

	for (const std::string &word : split_at(list, ',')) {
		std::vector<uint32_t> n;

		for (const std::string &part : split_at(word, '/'))
			n.push_back(static_cast<uint32_t>(std::stoul(
				part, nullptr, n.empty() ? 10 : 16)));
		if (n.size() == 3)
			n.resize(5);
		EXPECT_EQ(n.size(), 5u) << word;
		n.resize(5);
		all.push_back({n[0], n[1], n[2], n[3], n[4]});
	}
	return all;
}

/* A device refuses fields that break these rules. */
void check(const std::vector<Field> &all)
{
	EXPECT_EQ(all.size(), 8u);
	for (const Field &f : all) {
		EXPECT_EQ(f.width, 16u);
		EXPECT_LE(f.init | f.mask, 0xffffu);
		EXPECT_LE(f.min, f.max);
		EXPECT_LT(f.max, 1u << std::popcount(f.mask));
	}
}

/* Every address that the fields can make; at most one of them has a mask. */
std::set<Address> expand(const std::vector<Field> &all)
{
	std::set<Address> made;
	Field any{0, 0, 0, 0, 0};

	for (const Field &f : all)
		if (f.mask) {
			EXPECT_EQ(any.mask, 0u);
			/* The bits are in place without being spread. */
			EXPECT_EQ(f.mask & (f.mask + 1), 0u);
			any = f;
		}
	for (uint32_t v = any.min; v <= any.max; v++) {
		Address a;

		for (const Field &f : all) {
			const uint32_t x =
				f.mask ? (f.init & ~f.mask) | v : f.init;

			a.push_back(static_cast<uint8_t>(x >> 8));
			a.push_back(static_cast<uint8_t>(x));
		}
		made.insert(a);
	}
	return made;
}

std::string after(const std::vector<std::string> &words, const std::string &key)
{
	for (std::size_t i = 0; i + 1 < words.size(); i++)
		if (words[i] == key)
			return words[i + 1];
	ADD_FAILURE() << "no " << key;
	return {};
}

/* All paths between two hosts by usid_path(). */
std::set<Address> paths(const Topology &t, uint32_t a, uint32_t b)
{
	std::set<Address> all;

	if (t.t0_of(a) == t.t0_of(b))
		return {address(usid_path(t, a, 0, b))};
	for (uint32_t s = 1; s <= t.fabric().t1; s++)
		all.insert(address(usid_path(t, a, s, b)));
	return all;
}

void check_host(const Topology &t, uint32_t host)
{
	const auto lines = lines_of(profile_commands(t, host));
	std::size_t at = 1;
	const std::string cc = t.fabric().profiles.cc.empty() ? "" : " cc 1";

	if (!cc.empty()) {
		EXPECT_TRUE(lines[0].starts_with("cc add 1 algorithm "));
		at++;
	}
	EXPECT_EQ(lines[at - 1],
		  "fmt add 1 mode srv6 fields 16,16,16,16,16,16,16,16");
	for (uint32_t to = 1; to <= t.fabric().all_hosts(); to++) {
		if (to == host)
			continue;
		ASSERT_LE(at + 3, lines.size());
		const auto words = words_of(lines[at++]);
		const auto f = fields(after(words, "fields"));
		const auto want = paths(t, host, to);
		const std::size_t all = want.size() * t.fabric().planes;
		const std::size_t count = std::stoul(after(words, "count"));

		EXPECT_EQ(after(words, "add"), std::to_string(to));
		check(f);
		EXPECT_EQ(expand(f), want);
		EXPECT_EQ(count % t.fabric().planes, 0u);
		EXPECT_LE(count, 1024u);
		EXPECT_TRUE(count == all || count + t.fabric().planes > 1024);
		EXPECT_EQ(lines[at++], fmt::format("default set {}/128 ev {}{}",
						   host6(t, to), to, cc));
		EXPECT_EQ(lines[at++], fmt::format("default set {}/32 ev {}{}",
						   host4(t, to), to, cc));
	}
	EXPECT_EQ(at, lines.size());
}

Fabric with_evs(Fabric f)
{
	f.profiles.evs = true;
	return f;
}
} // namespace

TEST(Profiles, MakeThePathsOfRandomFabrics)
{
	Random r(6);

	for (int i = 0; i < 100; i++) {
		Fabric f = with_evs(random_fabric(r));

		f.forwarding = Forwarding::srv6;
		const Topology t(f);

		SCOPED_TRACE(testing::PrintToString(f));
		for (uint32_t h = 1; h <= f.all_hosts(); h++)
			check_host(t, h);
	}
}

TEST(Profiles, MakeThePathsOverManyT1s)
{
	for (const uint32_t t1 : {9u, 10u, 15u, 16u, 17u, 100u, 254u, 255u})
		for (const uint32_t planes : {1u, 3u, 4u, 5u, 16u})
			check_host(
				Topology(with_evs(fabric_of(planes, 2, t1, 1))),
				2);
}

TEST(Profiles, HaveHexadecimalNumbers)
{
	const Topology t(with_evs(fabric_of(2, 20, 40, 1)));
	const std::string all = profile_commands(t, 17);

	EXPECT_NE(all.find("ev add 18 mode generated fmt 1 count 80 fields "
			   "16/fcbb/0,16/0/0,16/111/0,16/200/ff/1/28,"
			   "16/112/0,16/312/0,16/0/0,16/0/0\n"),
		  std::string::npos)
		<< all;
}

TEST(Profiles, OnlyCongestionControl)
{
	Fabric f = fabric_of(2, 2, 2, 100);

	f.profiles.cc = "uet-1.0-nscc";
	f.profiles.cc_params = {{"base_rtt", "20000"}, {"gamma", "0.8"}};
	EXPECT_EQ(profile_commands(Topology(f), 1),
		  "cc add 1 algorithm uet-1.0-nscc base_rtt 20000 gamma 0.8\n"
		  "default set fcbb:1::/32 cc 1\n"
		  "default set 10.1.0.0/16 cc 1\n");
}

TEST(Profiles, NoneWithoutBoth)
{
	const Topology t(fabric_of(2, 2, 2, 1));

	EXPECT_EQ(profile_commands(t, 1), "");
	EXPECT_THROW(export_fabric("profiles", t), UsageError);
}

TEST(Profiles, RefusesMoreHostsThanADeviceHasDefaults)
{
	Fabric f = with_evs(fabric_of(1, 1, 0, 33));

	EXPECT_NO_THROW(profile_commands(Topology(f), 1));
	f.hosts = 34;
	f.file = "f";
	f.lines["hosts"] = 5;

	const auto error = [&f] {
		try {
			profile_commands(Topology(f), 1);
		} catch (const FileError &e) {
			return std::string(e.what());
		}
		return std::string();
	};
	const std::string why =
		"profiles with EVs for 34 hosts: a device has 64 defaults, two "
		"for each peer, which is enough for 33 hosts";

	EXPECT_EQ(error(), "f:5: " + why +
				   "; srv6 without ecmp needs them, or "
				   "\"profiles: {evs: off}\" and profiles of "
				   "your own");
	f.lines["profiles/evs"] = 7;
	EXPECT_EQ(error(), "f:7: " + why);
}
} // namespace mrclab

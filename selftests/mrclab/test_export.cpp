// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* All formats: golden files, and that they agree with each other. */
#include "export_files.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "address.hpp"
#include "error.hpp"
#include "golden.hpp"

namespace mrclab
{
namespace
{
constexpr int random_fabrics = 25;

/* All files in one text. */
std::string together(const ExportFiles &files)
{
	std::string s;

	for (const ExportFile &f : files)
		s += fmt::format("==== {}{}\n{}", f.path,
				 f.executable ? " (executable)" : "", f.text);
	return s;
}

int syntax_of_shell(const std::string &script)
{
	FILE *const sh = popen("sh -n", "w");

	std::fwrite(script.data(), 1, script.size(), sh);
	return pclose(sh);
}

bool starts_with_usid(const Fabric &f, const std::string &prefix)
{
	return prefix.starts_with(fmt::format("{:x}:0:", f.block));
}
} // namespace

TEST(Export, Golden)
{
	const Topology t(small_fabric());

	for (const Exporter &e : exporters())
		golden(fmt::format("export/{}.txt", e.name),
		       together(e.files(t, {})));
}

TEST(Export, TellsTheFormats)
{
	const Topology t(small_fabric());

	try {
		export_fabric("junos", t);
		FAIL();
	} catch (const UsageError &e) {
		EXPECT_STREQ(e.what(),
			     "\"junos\" is none of the formats sonic, frr, "
			     "containerlab, linux, profiles");
	}
}

TEST(Export, RefusesMoreNodesThanAddresses)
{
	for (const Exporter &e : exporters())
		EXPECT_THROW(export_fabric(e.name,
					   Topology(fabric_of(1, 1, 0, 255))),
			     FileError);
}

TEST(Export, PathsAreRelativeAndScriptsExecutable)
{
	Random r(1);

	for (int i = 0; i < random_fabrics; i++) {
		const Topology t(random_exported(r));

		for (const Exporter &e : exporters())
			for (const ExportFile &f : export_fabric(e.name, t)) {
				EXPECT_NE(f.path.front(), '/');
				EXPECT_EQ(f.path.find(".."), std::string::npos);
				EXPECT_EQ(f.executable,
					  f.text.starts_with("#!/bin/sh\n"))
					<< f.path;
				EXPECT_EQ(f.executable, f.path.ends_with(".sh"))
					<< f.path;
				EXPECT_TRUE(f.text.ends_with("\n")) << f.path;
			}
	}
}

TEST(Export, OneDirectoryHoldsAllFormats)
{
	Random r(2);

	for (int i = 0; i < random_fabrics; i++) {
		const Topology t(random_exported(r));
		std::map<std::string, std::string> all;

		for (const Exporter &e : exporters())
			for (const auto &[path, text] : exported(e.name, t))
				EXPECT_EQ(all.emplace(path, text).first->second,
					  text)
					<< path;
	}
}

TEST(Export, ScriptsAreShell)
{
	const Topology t(small_fabric());

	for (const Exporter &e : exporters())
		for (const ExportFile &f : export_fabric(e.name, t))
			if (f.executable) {
				EXPECT_EQ(syntax_of_shell(f.text), 0) << f.path;
			}
}

/* Every prefix of a switch, in every format. */
TEST(Export, SwitchesHaveTheSamePrefixesInAllFormats)
{
	Random r(3);

	for (int i = 0; i < random_fabrics; i++) {
		const Topology t(random_exported(r));
		const Fabric &f = t.fabric();
		auto sonic = exported("sonic", t), frr = exported("frr", t),
		     clab = exported("containerlab", t),
		     box = exported("linux", t);

		SCOPED_TRACE(testing::PrintToString(f));
		for (const Node &n : t.nodes()) {
			if (n.kind == Kind::host)
				continue;
			const auto want =
				prefixes_in(f, box[n.name + "/setup.sh"]);

			EXPECT_FALSE(want.empty());
			EXPECT_EQ(want.contains(usid_prefix(f, n)), f.srv6());
			EXPECT_EQ(prefixes_in(f, frr[n.name + "/frr.conf"]),
				  want);
			EXPECT_EQ(prefixes_in(f, clab[n.name + "/frr.conf"]),
				  want);
			EXPECT_EQ(prefixes_in(
					  f, sonic[n.name + "/config_db.json"]),
				  want);
		}
	}
}

TEST(Export, HostsHaveTheSamePrefixesInAllFormats)
{
	Random r(4);

	for (int i = 0; i < random_fabrics; i++) {
		const Topology t(random_exported(r));
		const Fabric &f = t.fabric();
		auto sonic = exported("sonic", t), box = exported("linux", t);
		const YAML::Node clab = YAML::Load(
			exported("containerlab", t)["topology.clab.yml"]);

		for (uint32_t h = 1; h <= f.all_hosts(); h++) {
			const std::string &name = t.host(h).name;
			const auto want =
				prefixes_in(f, box[name + "/setup.sh"]);
			std::string exec;

			for (const YAML::Node &line :
			     clab["topology"]["nodes"][name]["exec"])
				exec += line.as<std::string>() + "\n";
			EXPECT_TRUE(want.contains(host6(t, h) + "/128"));
			EXPECT_TRUE(want.contains(port6(t, h, 1) + "/128"));
			EXPECT_EQ(prefixes_in(f, exec), want);
			EXPECT_EQ(prefixes_in(f, sonic[name + "/addresses.sh"]),
				  want);
		}
	}
}

/* The uSIDs of whole formats: what one has, all have. */
TEST(Export, UsidsAreThoseOfTheNodes)
{
	Random r(5);

	for (int i = 0; i < random_fabrics; i++) {
		const Topology t(random_exported(r));
		const Fabric &f = t.fabric();
		std::set<std::string> want;

		if (!f.srv6())
			continue;
		for (const Node &n : t.nodes())
			want.insert(usid_prefix(f, n));
		for (const char *format :
		     {"sonic", "frr", "containerlab", "linux"}) {
			std::set<std::string> have;

			for (const auto &[path, text] : exported(format, t))
				for (const std::string &p :
				     prefixes_in(f, text))
					if (starts_with_usid(f, p) &&
					    p.ends_with("/48"))
						have.insert(p);
			EXPECT_EQ(have, want) << format;
		}
	}
}

TEST(Export, LargestFabrics)
{
	for (const Fabric &f : largest_fabrics()) {
		const Topology t(f);

		for (const char *format :
		     {"sonic", "frr", "containerlab", "linux"})
			EXPECT_FALSE(export_fabric(format, t).empty());
	}
}
} // namespace mrclab

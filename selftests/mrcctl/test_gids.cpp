// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* show-gids. */
#include "fake_planes.hpp"
#include "gids.hpp"

namespace mrcctl
{
TEST_F(DoctorTest, ShowsGids)
{
	add_gid(2, 12, "fd00:0001:0000:0000:0000:0000:0000:0001", "eth1");
	golden_both("gids", "show-gids");
	EXPECT_EQ(run("show-gids mrc0").out, run("show-gids").out);
	EXPECT_EQ(run("-d mrc0 show-gids").out, run("show-gids").out);
}

TEST_F(DoctorTest, ShowsNoGids)
{
	host_.files.clear();
	EXPECT_EQ(run("show-gids").status, 0);
	EXPECT_EQ(run("-j show-gids").out, "[]\n");
	const Result r = run("show-gids mrc0");

	EXPECT_EQ(r.status, exit_device);
	EXPECT_EQ(r.err, "mrcctl: no MRC device mrc0\n");
	EXPECT_EQ(run("show-gids a b").status, exit_usage);
}

/* Devices of other drivers are not shown. */
TEST_F(DoctorTest, ShowsGidsOfMrcOnly)
{
	host_.files["/sys/class/infiniband/mlx5_0/hca_type"] = "MT4129\n";
	host_.files["/sys/class/infiniband/mlx5_0/ports/1/gids/0"] =
		"fe80:0000:0000:0000:0000:0000:0000:0001\n";
	EXPECT_FALSE(has(run("show-gids").out, "mlx5"));
	EXPECT_EQ(run("show-gids mlx5_0").status, exit_device);
}

/* The address of an entry is removed while it is read. */
TEST_F(DoctorTest, ShowsGidsThatVanish)
{
	host_.errors[std::string(sys) + "ports/1/gid_attrs/types/3"] = EINVAL;
	host_.errors[std::string(sys) + "ports/1/gid_attrs/ndevs/3"] = EINVAL;
	const Json j = Json::parse(run("-j show-gids").out);

	EXPECT_EQ(j[1]["index"], 3u);
	EXPECT_EQ(j[1]["type"], "");
	EXPECT_EQ(j[1]["ipv4"], "10.1.0.1");
	EXPECT_TRUE(has(run("show-gids").out, " -    -\n"));
}

TEST_F(DoctorTest, IgnoresNamesThatAreNoPortsOrEntries)
{
	const std::string before = run("show-gids").out;

	for (const char *name : {"x", "999", "99999999999", "-1", "1x"})
		host_.files[std::string(sys) + "ports/" + name + "/gids/0"] =
			"fe80:0000:0000:0000:0000:0000:0000:0001\n";
	for (const char *name : {"x", "99999", "4097"})
		host_.files[std::string(sys) + "ports/1/gids/" + name] =
			"fe80:0000:0000:0000:0000:0000:0000:0001\n";
	EXPECT_EQ(run("show-gids").out, before);
}

TEST(Gids, AreParsed)
{
	std::array<uint8_t, 16> a{};

	EXPECT_TRUE(parse_gid("FE80:0000:0000:0000:0000:0000:0000:000a", a));
	EXPECT_TRUE(is_link_local(a));
	EXPECT_FALSE(is_ipv4(a));
	EXPECT_TRUE(parse_gid("0000:0000:0000:0000:0000:ffff:0a01:0001", a));
	EXPECT_TRUE(is_ipv4(a));
	EXPECT_FALSE(parse_gid("0000:0000:0000:0000:0000:0000:0000:0000", a));
	EXPECT_FALSE(parse_gid("", a));
	EXPECT_FALSE(parse_gid("fe80::1", a));
	EXPECT_FALSE(parse_gid("fe80:0000:0000:0000:0000:0000:0000:000g", a));
	EXPECT_FALSE(parse_gid("fe80-0000:0000:0000:0000:0000:0000:000a", a));
}
} // namespace mrcctl

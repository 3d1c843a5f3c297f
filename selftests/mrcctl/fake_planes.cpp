// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "fake_planes.hpp"

#include <fmt/format.h>

namespace mrcctl
{
DoctorTest::DoctorTest()
{
	host_.files = {
		{"/sys/module/mrc/parameters/udp_port", "4791\n"},
		{"/sys/class/infiniband_verbs/abi_version", "6\n"},
		{"/sys/class/infiniband_verbs/uverbs0/ibdev", "mrc0\n"},
		{"/dev/infiniband/uverbs0", ""},
		{"/etc/libibverbs.d/mlx5.driver", "driver mlx5\n"},
		{"/etc/libibverbs.d/mrc.driver", "driver mrc\n"},
		{"/proc/self/status",
		 "Name:\tmrcctl\nCapEff:\t000001ffffffffff\n"},
		{"/proc/self/limits",
		 "Limit                     Soft Limit           Hard Limit\n"
		 "Max locked memory         8388608              8388608   "
		 "           bytes\n"},
		{std::string(sys) + "hca_type", "MRC\n"},
	};
	for (uint32_t port = 1; port <= 2; port++) {
		const std::string netdev = fmt::format("eth{}", port - 1);
		const std::string net = "/sys/class/net/" + netdev;
		const std::string conf =
			"/proc/sys/net/ipv4/conf/" + netdev + "/";

		host_.files[fmt::format("{}ports/{}/state", sys, port)] =
			"4: ACTIVE\n";
		add_gid(port, 0, "fe80:0000:0000:0000:0000:0000:0000:000a",
			netdev);
		add_gid(port, 3, "0000:0000:0000:0000:0000:ffff:0a01:0001",
			netdev);
		/* An empty entry. */
		host_.files[fmt::format("{}ports/{}/gids/1", sys, port)] =
			"0000:0000:0000:0000:0000:0000:0000:0000\n";
		host_.files[net + "/mtu"] = "4500\n";
		host_.files[net + "/flags"] = "0x1003\n";
		host_.files[net + "/carrier"] = "1\n";
		host_.files[conf + "rp_filter"] = "0\n";
		host_.files[conf + "arp_ignore"] = "0\n";
		host_.files[conf + "arp_filter"] = "0\n";
		host_.files["/proc/sys/net/ipv6/conf/" + netdev +
			    "/disable_ipv6"] = "0\n";
		host_.prints(
			route_question(netdev),
			fmt::format(R"([{{"dst":"10.1.0.2","dev":"{}",)"
				    R"("scope":"link",)"
				    R"("prefsrc":"10.1.0.1","flags":[]}}])",
				    netdev));
		host_.prints(fmt::format("ip -j neigh show to 10.1.0.2 dev {}",
					 netdev),
			     R"([{"dst":"10.1.0.2","state":["REACHABLE"]}])");
		answer_probes(port, evs_per_port);
	}
	host_.files["/proc/sys/net/ipv4/conf/all/rp_filter"] = "2\n";
	host_.files["/proc/sys/net/ipv4/conf/all/arp_ignore"] = "1\n";
	host_.files["/proc/sys/net/ipv4/conf/all/arp_filter"] = "0\n";
	host_.prints("nft -j list ruleset", R"({"nftables":[]})");
	links(R"([{"ifname":"mrc0","port":1,"netdev":"eth0"},)"
	      R"({"ifname":"mrc0","port":2,"netdev":"eth1"}])");
	dev().ports[1] = dev().ports[0];
	dev().ports[1].num = 2;
	dev().ports[1].netdev = "eth1";
}

void DoctorTest::add_gid(uint32_t port, uint32_t index, const std::string &gid,
			 const std::string &netdev)
{
	const std::string dir = fmt::format("{}ports/{}/", sys, port);

	host_.files[fmt::format("{}gids/{}", dir, index)] = gid + "\n";
	host_.files[fmt::format("{}gid_attrs/types/{}", dir, index)] =
		"RoCE v2\n";
	host_.files[fmt::format("{}gid_attrs/ndevs/{}", dir, index)] =
		netdev + "\n";
}

void DoctorTest::drop_gid(uint32_t port, uint32_t index)
{
	for (const char *of : {"gids", "gid_attrs/types", "gid_attrs/ndevs"})
		host_.files.erase(
			fmt::format("{}ports/{}/{}/{}", sys, port, of, index));
}

void DoctorTest::links(const std::string &json)
{
	host_.prints("rdma -j link show", json);
}

std::string DoctorTest::route_question(const std::string &netdev) const
{
	return fmt::format(
		"ip -4 -j route get fibmatch {} from 10.1.0.1 oif {}", peer,
		netdev);
}

void DoctorTest::answer_probes(uint32_t port, uint32_t answers)
{
	std::vector<EpResponse> &all = dev().responses;

	std::erase_if(all, [&](const EpResponse &r) { return r.port == port; });
	for (uint32_t i = 0; i < answers; i++)
		/* The two ports take turns. */
		all.push_back({.request = 2 * i + port - 1,
			       .port = port,
			       .rtt_ns = 12000 + i});
}

Json DoctorTest::findings(const std::string &words)
{
	const Result r = run("-j doctor " + words);

	EXPECT_EQ(r.err, "");
	status_ = r.status;
	return Json::parse(r.out);
}

std::string DoctorTest::said(const std::string &level, const std::string &check,
			     const std::string &words)
{
	const Json all = findings(words)["findings"];
	std::string s;

	for (const Json &f : all)
		if (f["level"] == level && f["check"] == check)
			s += fmt::format(
				"{} {} | {}\n",
				f["port"].is_null() ? 0 : f["port"].get<int>(),
				f["text"].get<std::string>(),
				f["fix"].is_null()
					? ""
					: f["fix"].get<std::string>());
	return s;
}

::testing::AssertionResult has(const std::string &text, const std::string &part)
{
	if (text.find(part) != std::string::npos)
		return ::testing::AssertionSuccess();
	return ::testing::AssertionFailure()
	       << "\"" << part << "\" is not in \"" << text << "\"";
}
} // namespace mrcctl

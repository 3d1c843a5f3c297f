// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* doctor: the ways to peers, and firewalls in front of ports. */
#include <cerrno>

#include <fmt/format.h>

#include "fake_planes.hpp"

namespace mrcctl
{
namespace
{
constexpr const char *to_peer = "--peer 10.1.0.2";

/* The peers get a profile with so many EVs, c000 and those after it. */
template <typename PortOf>
void use_profile(FakeDevice &dev, uint32_t count, PortOf port_of)
{
	EvProfile &p = dev.evs[3];

	dev.fmts[1] = {.id = 1,
		       .state = State::online,
		       .mode = FmtMode::udp,
		       .fields = {16}};
	p = {.id = 3,
	     .state = State::online,
	     .mode = EvMode::explicit_list,
	     .fmt = 1,
	     .count = count,
	     .fields = {},
	     .evs = {}};
	for (uint32_t i = 0; i < count; i++)
		p.evs.push_back({parse_ev(fmt::format("{:04x}@{}", 0xc000 + i,
						      port_of(i))),
				 EvState::good});
	dev.defaults = {{parse_prefix("10.1.0.0/16"), 3, no_profile}};
}
} // namespace

TEST_F(DoctorTest, ProbesEveryPlane)
{
	EXPECT_EQ(
		said("ok", "probe", to_peer),
		"1 10.1.0.2 answers on all 32 EVs through eth0, rtt 12.0us. | "
		"\n2 10.1.0.2 answers on all 32 EVs through eth1, rtt 12.0us. "
		"| \n");
	ASSERT_TRUE(dev().request);
	EXPECT_EQ(dev().request->evs.size(), 64u);
	EXPECT_EQ(show_address(dev().request->src), "10.1.0.1");
	EXPECT_EQ(dev().request->timeout_ns, 1000000000u);
	/* The ports take turns. */
	EXPECT_EQ(dev().request->evs[0], parse_ev("c000@1"));
	EXPECT_EQ(dev().request->evs[1], parse_ev("c000@2"));
	EXPECT_EQ(dev().request->evs[63], parse_ev("c01f@2"));
}

TEST_F(DoctorTest, ProbesTheEvsOfTheDefaultProfile)
{
	dev().fmts[1] = {.id = 1,
			 .state = State::online,
			 .mode = FmtMode::udp,
			 .fields = {16}};
	dev().evs[3] = {.id = 3,
			.state = State::online,
			.mode = EvMode::explicit_list,
			.fmt = 1,
			.count = 3,
			.fields = {},
			.evs = {{parse_ev("d001@1"), EvState::good},
				{parse_ev("d002@2"), EvState::good},
				{parse_ev("d003@2"), EvState::denied}}};
	dev().defaults = {{parse_prefix("10.0.0.0/8"), 9, no_profile},
			  {parse_prefix("10.1.0.0/16"), 3, no_profile},
			  {parse_prefix("10.2.0.0/16"), 9, no_profile}};
	dev().responses = {{.request = 0, .port = 1, .rtt_ns = 5}};
	EXPECT_TRUE(
		has(said("ok", "probe", to_peer), "all 1 EVs through eth0"));
	EXPECT_EQ(dev().request->evs,
		  (std::vector<Ev>{parse_ev("d001@1"), parse_ev("d002@2")}));
	/* Without fields, values are as on the wire in any format. */
	dev().fmts[1].fields = {8, 8};
	findings(to_peer);
	EXPECT_EQ(dev().request->evs,
		  (std::vector<Ev>{parse_ev("d001@1"), parse_ev("d002@2")}));
	/* Of a profile whose EVs the device makes, they are not known. */
	dev().evs[3] = {.id = 3,
			.state = State::online,
			.mode = EvMode::automatic,
			.fmt = {},
			.count = 4,
			.fields = {},
			.evs = {}};
	findings(to_peer);
	EXPECT_EQ(dev().request->evs.size(), 64u);
	EXPECT_EQ(dev().request->mode, FmtMode::udp);
}

/* What goes on the wire is the expanded EV, in the format of the profile. */
TEST_F(DoctorTest, ProbesEvsInTheirFormat)
{
	dev().fmts[1] = {.id = 1,
			 .state = State::online,
			 .mode = FmtMode::srv6,
			 .fields = {16, 16, 16, 16}};
	dev().evs[3] = {.id = 3,
			.state = State::online,
			.mode = EvMode::generated,
			.fmt = 1,
			.count = 4,
			.fields = {{16, 0xfcbb, 0, 0, 0},
				   {16, 0x0101, 0, 0, 0},
				   {16, 0x0200, 0xf, 1, 2},
				   {16, 0x0302, 0, 0, 0}},
			.evs = {{parse_ev("10@1"), EvState::good},
				{parse_ev("20@1"), EvState::assumed_bad},
				{parse_ev("10@2"), EvState::good},
				{parse_ev("10@2"), EvState::good},
				{parse_ev("20@2"), EvState::denied}}};
	dev().defaults = {{parse_prefix("10.1.0.2/32"), 3, no_profile}};
	dev().answers = [](const EpRequest &r, const Ev &ev) {
		return r.mode == FmtMode::srv6 &&
		       ev != parse_ev("fcbb010102020302@1");
	};
	/* One of two has no answer; one that is there twice is probed once. */
	EXPECT_TRUE(has(said("warning", "probe", to_peer),
			"1 10.1.0.2 answers on 1 of 2 SRv6 EVs through eth0: "
			"some paths of the plane lose packets. Silent: "
			"20@1. | on the peer"));
	EXPECT_EQ(dev().request->evs,
		  (std::vector<Ev>{parse_ev("fcbb010102010302@1"),
				   parse_ev("fcbb010102010302@2"),
				   parse_ev("fcbb010102020302@1")}));
	EXPECT_TRUE(has(said("ok", "probe", to_peer),
			"2 10.1.0.2 answers on all 1 SRv6 EVs through eth1"));
	/* A peer without such a profile answers on none. */
	dev().answers = [](const EpRequest &, const Ev &) { return false; };
	EXPECT_TRUE(has(said("error", "probe", to_peer),
			"no SRv6 profile that is ONLINE"));
	EXPECT_EQ(status_, 1);
	/* Structured ones: a flow label and a source port. */
	dev().fmts[1].mode = FmtMode::stev;
	dev().fmts[1].fields = {16, 16};
	dev().evs[3].fields = {{16, 0x0100, 0xf, 0, 0},
			       {16, 0x0200, 0xf1, 0, 0}};
	dev().evs[3].evs = {{parse_ev("3e80@1"), EvState::good},
			    {parse_ev("3e81@1"), EvState::good},
			    {{}, EvState::good}};
	dev().answers = [](const EpRequest &r, const Ev &) {
		return r.mode == FmtMode::stev;
	};
	EXPECT_TRUE(has(said("ok", "probe", to_peer),
			"1 10.1.0.2 answers on all 1 structured EVs through "));
	EXPECT_EQ(dev().request->evs,
		  (std::vector<Ev>{parse_ev("010302e1@1")}));
}

/* Many EVs go in parts. Where answers are missing, an end is made of it. */
TEST_F(DoctorTest, EndsProbesOfManyEvs)
{
	use_profile(dev(), 4096, [](uint32_t i) { return 1 + i % 2; });
	dev().answers = [](const EpRequest &, const Ev &) { return true; };
	EXPECT_TRUE(
		has(said("ok", "probe", to_peer), "all 2048 EVs through eth1"));
	EXPECT_EQ(dev().requests.size(), 16u);
	EXPECT_EQ(said("note", "probe", to_peer), "");
	/* One of each part: 10 parts of 256 fit into 10 s. */
	dev().requests.clear();
	dev().answers = [](const EpRequest &r, const Ev &ev) {
		return ev != r.evs[1];
	};
	EXPECT_TRUE(has(said("warning", "probe", to_peer),
			"2 10.1.0.2 answers on 1270 of 1280 EVs through eth1: "
			"some paths of the plane lose packets. Silent: "
			"c001@2, c101@2, c201@2, ... |"));
	EXPECT_EQ(dev().requests.size(), 10u);
	EXPECT_EQ(said("note", "probe", to_peer),
		  "1 768 more EVs through eth0 were not probed within 10 s. | "
		  "\n2 768 more EVs through eth1 were not probed within 10 s. "
		  "| \n");
}

/* Probes through it are not sent; through plane 2 all are answered. */
void plane_1_is_down(FakeDevice &dev)
{
	dev.answers = [](const EpRequest &, const Ev &ev) {
		return ev.port == 2;
	};
	dev.unsent = [](const EpRequest &r) {
		for (const Ev &ev : r.evs)
			if (ev.port != 1)
				return 0;
		return EIO;
	};
}

/* Probes cannot be sent through it: the good plane is probed all the same. */
TEST_F(DoctorTest, ProbesTheOtherPlanesOfOneThatIsDown)
{
	dev().device.qp->num_evs = 1024;
	plane_1_is_down(dev());
	EXPECT_TRUE(has(said("error", "probe", to_peer),
			"1 10.1.0.2 answers on none of 512 EVs through eth0: "
			"the plane is cut"));
	EXPECT_EQ(dev().requests.size(), 4u);
	EXPECT_TRUE(has(said("ok", "probe", to_peer),
			"2 10.1.0.2 answers on all 512 EVs through eth1"));
}

/* Then some batches have only EVs of the plane that is down. */
TEST_F(DoctorTest, CountsBatchesThatCannotBeSent)
{
	use_profile(dev(), 604, [](uint32_t i) { return i < 600 ? 1u : 2u; });
	plane_1_is_down(dev());
	EXPECT_TRUE(has(said("error", "probe", to_peer),
			"1 10.1.0.2 answers on none of 600 EVs through eth0"));
	EXPECT_EQ(dev().requests.size(), 3u);
	EXPECT_TRUE(has(said("ok", "probe", to_peer),
			"2 10.1.0.2 answers on all 4 EVs through eth1"));
	/* EVs are shown as they are in the profile. */
	dev().unsent = nullptr;
	dev().answers = [](const EpRequest &, const Ev &ev) {
		return ev != parse_ev("c004@1") && ev != parse_ev("c25a@2");
	};
	EXPECT_TRUE(has(said("warning", "probe", to_peer),
			"on 599 of 600 EVs through eth0: some paths of the "
			"plane lose packets. Silent: c004@1. |"));
	EXPECT_TRUE(has(said("warning", "probe", to_peer), "Silent: c25a@2."));
}

/* Of which plane that says something is not known. */
TEST_F(DoctorTest, SaysThatNoBatchCouldBeSent)
{
	dev().device.qp->num_evs = 1024;
	dev().unsent = [](const EpRequest &) { return EIO; };
	EXPECT_TRUE(has(said("error", "probe", to_peer),
			"10.1.0.2 was not probed: endpoint: Input/output"));
	EXPECT_FALSE(has(said("error", "probe", to_peer), "answers on none"));
	/* The line of progress goes also when the third batch fails. */
	dev().answers = [](const EpRequest &, const Ev &) { return true; };
	dev().requests.clear();
	dev().unsent = [&](const EpRequest &) {
		return dev().requests.size() < 3 ? 0 : EPERM;
	};
	tty_ = true;
	EXPECT_EQ(run("doctor mrc0 --peer 10.1.0.2").err,
		  "\rprobing 10.1.0.2: 256 of 1024 EVs"
		  "\rprobing 10.1.0.2: 512 of 1024 EVs\r\x1b[K");
}

/* Whoever waits at a terminal sees how far the probes are. */
TEST_F(DoctorTest, ShowsProgressAtATerminal)
{
	dev().device.qp->num_evs = 1024;
	dev().answers = [](const EpRequest &, const Ev &) { return true; };
	EXPECT_EQ(run("doctor mrc0 --peer 10.1.0.2").err, "");
	tty_ = true;
	EXPECT_EQ(run("doctor mrc0 --peer 10.1.0.2").err,
		  "\rprobing 10.1.0.2: 256 of 1024 EVs"
		  "\rprobing 10.1.0.2: 512 of 1024 EVs"
		  "\rprobing 10.1.0.2: 768 of 1024 EVs\r\x1b[K");
	dev().device.qp->num_evs = 64;
	EXPECT_EQ(run("doctor mrc0 --peer 10.1.0.2").err, "");
}

TEST_F(DoctorTest, FindsAPlaneWithoutRoute)
{
	host_.fails(route_question("eth1"), 2,
		    "RTNETLINK answers: No route to host\n");
	answer_probes(2, 0);
	EXPECT_EQ(said("error", "route", to_peer),
		  "2 There is no route to 10.1.0.2 through eth1: the plane is "
		  "not used. | ip route add 10.1.0.2/32 dev eth1 src 10.1.0.1 "
		  "metric 102\n");
	EXPECT_EQ(said("error", "probe", to_peer), "");
	EXPECT_EQ(status_, 1);
	/* A route through another netdev is none. */
	host_.prints(route_question("eth1"),
		     R"([{"dst":"10.1.0.0/16","dev":"eth0"}])");
	EXPECT_TRUE(has(said("error", "route", to_peer), "2 There is no"));
	host_.prints(route_question("eth1"),
		     R"([{"type":"unreachable","dev":"eth1"}])");
	EXPECT_TRUE(has(said("error", "route", to_peer), "2 There is no"));
	/* With routers, as on the other plane. */
	host_.prints(route_question("eth0"),
		     R"([{"dev":"eth0","gateway":"10.2.0.1"}])");
	EXPECT_TRUE(has(said("error", "route", to_peer),
			"| ip route add 10.1.0.2/32 via ROUTER dev eth1"));
}

TEST_F(DoctorTest, ReadsRoutesOfSeveralHops)
{
	host_.prints(route_question("eth1"),
		     R"([{"dst":"default","nexthops":[{"dev":"eth0",)"
		     R"("gateway":"10.9.0.1"},{"dev":"eth1",)"
		     R"("via":{"family":"inet6","host":"fe80::1"}}]}])");
	host_.prints("ip -j neigh show to fe80::1 dev eth1",
		     R"([{"dst":"fe80::1","state":["FAILED"]}])");
	EXPECT_EQ(said("error", "route", to_peer), "");
	EXPECT_TRUE(has(said("error", "neighbour", to_peer),
			"2 fe80::1 does not answer neighbour solicitations "
			"through eth1"));
}

TEST_F(DoctorTest, FindsARouteOfAWrongKind)
{
	host_.prints(route_question("eth0"),
		     R"([{"dev":"eth0","prefsrc":"192.0.2.9",)"
		     R"("metrics":[{"advmss":1000},{"mtu":1400}]}])");
	EXPECT_TRUE(has(said("error", "route", to_peer),
			"1 The route to 10.1.0.2 through eth0 has MTU 1400: "
			"queue pairs with a path MTU of 4096 do not use"));
	EXPECT_TRUE(has(said("warning", "route", to_peer),
			"1 The route to 10.1.0.2 through eth0 has the source "
			"address 192.0.2.9, the GID of all planes is 10.1.0.1. "
			"| ip route replace 10.1.0.2/32 dev eth0 src 10.1.0.1 "
			"metric 101"));
}

TEST_F(DoctorTest, FindsANeighbourThatDoesNotAnswer)
{
	host_.prints("ip -j neigh show to 10.1.0.2 dev eth1",
		     R"([{"dst":"10.1.0.2","state":["INCOMPLETE"]}])");
	answer_probes(2, 0);
	EXPECT_TRUE(
		has(said("error", "neighbour", to_peer),
		    "2 10.1.0.2 does not answer ARP requests through eth1"));
	EXPECT_EQ(said("error", "probe", to_peer), "");
}

TEST_F(DoctorTest, TellsACutPlaneFromASilentPeer)
{
	answer_probes(2, 0);
	EXPECT_TRUE(
		has(said("error", "probe", to_peer),
		    "2 10.1.0.2 answers on none of 32 EVs through eth1: the "
		    "plane is cut"));
	answer_probes(2, 12);
	EXPECT_TRUE(
		has(said("warning", "probe", to_peer),
		    "2 10.1.0.2 answers on 12 of 32 EVs through eth1: some "
		    "paths of the plane lose packets. | on the peer: mrcctl "
		    "doctor --peer 10.1.0.1"));
	EXPECT_EQ(status_, 0);
	dev().responses.clear();
	EXPECT_TRUE(
		has(said("error", "probe", to_peer),
		    "1 10.1.0.2 answers on none of 32 EVs through eth0, nor "
		    "through another plane"));
	EXPECT_EQ(status_, 1);
}

TEST_F(DoctorTest, SaysWhyAPeerWasNotProbed)
{
	EXPECT_TRUE(has(said("error", "probe", "--peer fd00::2"),
			"fd00::2 was not probed: the device has no IPv6 "
			"address. | mrcctl show-gids mrc0"));
	dev().fail["endpoint"] = EIO;
	EXPECT_TRUE(has(said("error", "probe", to_peer),
			"10.1.0.2 was not probed: endpoint: Input/output"));
	dev().fail = {{"open", ENODEV}};
	EXPECT_TRUE(has(said("error", "probe", to_peer),
			"the device cannot be opened"));
	host_.programs.erase(route_question("eth0"));
	EXPECT_FALSE(has(said("error", "route", to_peer), "1 "));
}

TEST_F(DoctorTest, FindsThatIpv6IsDisabled)
{
	for (const uint32_t port : {1, 2})
		add_gid(port, 5, "fd00:0001:0000:0000:0000:0000:0000:0001",
			port == 1 ? "eth0" : "eth1");
	host_.files["/proc/sys/net/ipv6/conf/eth1/disable_ipv6"] = "1\n";
	host_.fails("ip -6 -j route get fibmatch fd00:1::2 from fd00:1::1 oif "
		    "eth0",
		    2, "RTNETLINK answers: Network is unreachable\n");
	EXPECT_TRUE(has(said("error", "route", "--peer fd00:1::2"),
			"2 IPv6 is disabled on eth1. | sysctl -w "
			"net.ipv6.conf.eth1.disable_ipv6=0"));
	EXPECT_TRUE(
		has(said("error", "route", "--peer fd00:1::2"),
		    "1 There is no route to fd00:1::2 through eth0: the "
		    "plane is not used. | ip -6 route add fd00:1::2/128 dev "
		    "eth0 src fd00:1::1 metric 101"));
}

TEST_F(DoctorTest, FindsAFirewall)
{
	host_.prints(
		"nft -j list ruleset",
		R"({"nftables":[{"chain":{"family":"inet","table":"filter",)"
		R"("name":"input","hook":"input","policy":"drop"}},)"
		R"({"chain":{"family":"inet","table":"filter","name":"out",)"
		R"("hook":"output","policy":"accept"}},)"
		R"({"rule":{"family":"inet","table":"filter","chain":"out",)"
		R"("expr":[{"limit":{}},{"drop":null}]}}]})");
	/* Both ports, in one line. */
	EXPECT_EQ(
		said("error", "firewall"),
		"1 The chain input of table inet filter drops incoming packets "
		"to UDP ports 4791 and 4971. | nft insert rule inet filter "
		"input udp dport { 4791, 4971 } accept\n");
	EXPECT_TRUE(
		has(said("warning", "firewall"),
		    "The chain out of table inet filter may drop outgoing"));
	EXPECT_EQ(status_, 1);
	/* Another port is the only one. */
	host_.files["/sys/module/mrc/parameters/udp_port"] = "4971\n";
	EXPECT_TRUE(has(said("error", "firewall"),
			"to UDP port 4971. | nft insert rule inet filter input "
			"udp dport 4971 accept"));
	host_.prints("nft -j list ruleset", R"({"nftables":[]})");
	EXPECT_EQ(said("ok", "firewall"),
		  "0 No rule of nftables drops UDP port 4971. | \n");
}

TEST_F(DoctorTest, FindsAFirewallForTheOtherPort)
{
	const auto accept = [&](const std::string &ports) {
		host_.prints(
			"nft -j list ruleset",
			R"({"nftables":[{"chain":{"family":"inet",)"
			R"("table":"filter","name":"input","hook":"input",)"
			R"("policy":"drop"}},{"rule":{"family":"inet",)"
			R"("table":"filter","chain":"input","expr":[{"match":)"
			R"({"op":"==","left":{"payload":{"protocol":"udp",)"
			R"("field":"dport"}},"right":{"set":[)" +
				ports + R"(]}}},{"accept":null}]}}]})");
	};

	accept("4791");
	EXPECT_EQ(said("error", "firewall"), "");
	EXPECT_EQ(status_, 0);
	EXPECT_EQ(
		said("note", "firewall"),
		"1 The chain input of table inet filter drops incoming packets "
		"to UDP port 4971. Some peers may send to it. | nft insert "
		"rule inet filter input udp dport 4971 accept\n");
	EXPECT_EQ(said("ok", "firewall"), "");
	accept("4971");
	EXPECT_TRUE(has(said("error", "firewall"), "to UDP port 4791. |"));
	accept("4791,4971");
	EXPECT_EQ(said("ok", "firewall"),
		  "0 No rule of nftables drops UDP ports 4791 and 4971. | \n");
	EXPECT_EQ(said("note", "firewall"), "");
}

/* Ports that the controller has named for peers are sent to. */
TEST_F(DoctorTest, FindsAFirewallForPortsOfPeers)
{
	const std::string drop_out =
		R"({"nftables":[{"chain":{"family":"ip","table":"t",)"
		R"("name":"out","hook":"output","policy":"accept"}},)"
		R"({"rule":{"family":"ip","table":"t","chain":"out",)"
		R"("expr":[{"match":{"op":"==","left":{"payload":)"
		R"({"protocol":"udp","field":"dport"}},"right":{"range":)"
		R"([5000,5999]}}},{"drop":null}]}}]})";

	host_.prints("nft -j list ruleset", drop_out);
	EXPECT_EQ(said("error", "firewall"), "");
	dev().defaults = {
		{.prefix = parse_prefix("10.1.0.0/16"), .udp_port = 5001},
		{.prefix = parse_prefix("10.2.0.0/16"), .ev_profile = 7},
		{.prefix = parse_prefix("fd00::/64"), .udp_port = 5000},
		{.prefix = parse_prefix("10.3.0.0/16"), .udp_port = 5001},
		{.prefix = parse_prefix("10.4.0.0/16"), .udp_port = 4791}};
	EXPECT_EQ(said("error", "firewall"),
		  "1 The chain out of table ip t drops outgoing packets to UDP "
		  "ports 5000 and 5001. | nft insert rule ip t out udp dport "
		  "{ 5000, 5001 } accept\n");
	host_.prints("nft -j list ruleset", R"({"nftables":[]})");
	EXPECT_EQ(said("ok", "firewall"),
		  "0 No rule of nftables drops UDP ports 4791, 4971, 5000 and "
		  "5001. | \n");
}

TEST_F(DoctorTest, SaysThatAFirewallCannotBeTold)
{
	host_.fails("nft -j list ruleset", 1, "cache: Operation not supported");
	EXPECT_TRUE(has(said("note", "firewall"),
			"nft says: cache: Operation not supported"));
	host_.prints("nft -j list ruleset", "[]");
	EXPECT_TRUE(has(said("note", "firewall"), "was not understood"));
	host_.programs.erase("nft -j list ruleset");
	EXPECT_TRUE(has(said("note", "firewall"), "there is no program nft"));
	host_.prints("nft -j list ruleset", R"({"nftables":[]})");
	host_.files["/proc/net/ip_tables_names"] = "filter\n";
	EXPECT_TRUE(has(said("note", "firewall"),
			"| iptables-legacy -I INPUT -p udp -m multiport "
			"--dports 4791,4971 -j ACCEPT"));
}
} // namespace mrcctl

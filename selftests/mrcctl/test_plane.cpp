// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* plane: what is changed, in which order, and how it is taken back. */
#include <cerrno>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fake_planes.hpp"
#include "plane.hpp"

namespace mrcctl::plane
{
namespace
{
Present bare()
{
	return {.there = true,
		.index = 7,
		.mtu = 1500,
		.up = false,
		.addresses = {},
		.routes = {},
		.sysctls = {{"net.ipv4.conf.all.rp_filter", 0},
			    {"net.ipv4.conf.eth1.rp_filter", 1},
			    {"net.ipv4.conf.all.arp_ignore", 0},
			    {"net.ipv4.conf.eth1.arp_ignore", 0},
			    {"net.ipv4.conf.all.arp_filter", 0},
			    {"net.ipv4.conf.eth1.arp_filter", 1}}};
}

Wanted usual()
{
	return {.netdev = "eth1",
		.mtu = {},
		.addresses = {"10.1.0.1/32", "fd00::1/128"},
		.routes = {{.prefix = "10.1.0.2/32"},
			   {.prefix = "fd00::2/128",
			    .via = "fe80::1",
			    .metric = 5}}};
}

std::vector<std::string> commands_of(const Steps &steps, bool undo)
{
	std::vector<std::string> out;

	for (const Step &s : steps)
		out.push_back(fmt::format(
			"{}",
			fmt::join(undo ? undo_command(s) : make_command(s),
				  " ")));
	return out;
}

const std::vector<std::string> made = {
	"ip link set dev eth1 mtu 4500",
	"ip link set dev eth1 up",
	"ip -4 addr add 10.1.0.1/32 dev eth1",
	"ip -6 addr add fd00::1/128 dev eth1 nodad",
	"sysctl -q -w net.ipv4.conf.all.rp_filter=2",
	"sysctl -q -w net.ipv4.conf.all.arp_ignore=1",
	"sysctl -q -w net.ipv4.conf.eth1.arp_filter=0",
	"ip -4 route add 10.1.0.2/32 dev eth1 metric 107 src 10.1.0.1",
	"ip -6 route add fd00::2/128 via fe80::1 dev eth1 metric 5 src fd00::1",
};
} // namespace

TEST(Plane, MakesWhatIsMissing)
{
	EXPECT_EQ(commands_of(steps_to(usual(), bare()), false), made);
	EXPECT_THROW(steps_to(usual(), {}), DeviceError);
}

TEST(Plane, ChangesNothingThatIsRight)
{
	Present now = bare();

	now.mtu = 9000;
	now.up = true;
	now.addresses = {"10.1.0.1/32", "fd00::1/128", "192.0.2.1/24"};
	now.routes = {"10.1.0.2/32", "fd00::2/128"};
	now.sysctls["net.ipv4.conf.all.rp_filter"] = 2;
	now.sysctls["net.ipv4.conf.eth1.arp_ignore"] = 1;
	now.sysctls["net.ipv4.conf.eth1.arp_filter"] = 0;
	EXPECT_EQ(commands_of(steps_to(usual(), now), false),
		  std::vector<std::string>{});
	/* A filter that is off is right, too. */
	now.sysctls["net.ipv4.conf.all.rp_filter"] = 0;
	now.sysctls["net.ipv4.conf.eth1.rp_filter"] = 0;
	EXPECT_TRUE(steps_to(usual(), now).empty());
	now.sysctls.clear();
	EXPECT_TRUE(steps_to(usual(), now).empty());
	Wanted w = usual();

	w.mtu = 4300;
	EXPECT_EQ(commands_of(steps_to(w, now), false),
		  std::vector<std::string>{"ip link set dev eth1 mtu 4300"});
}

TEST(Plane, TakesBackInReverse)
{
	Planes planes = {{"eth1", steps_to(usual(), bare())}};

	EXPECT_EQ(commands_of(take(planes, "eth1"), true),
		  (std::vector<std::string>{
			  std::string("ip -6 route del fd00::2/128 ") +
				  "via fe80::1 dev eth1 metric 5",
			  "ip -4 route del 10.1.0.2/32 dev eth1 metric 107",
			  "sysctl -q -w net.ipv4.conf.eth1.arp_filter=1",
			  "sysctl -q -w net.ipv4.conf.all.arp_ignore=0",
			  "sysctl -q -w net.ipv4.conf.all.rp_filter=0",
			  "ip -6 addr del fd00::1/128 dev eth1",
			  "ip -4 addr del 10.1.0.1/32 dev eth1",
			  "ip link set dev eth1 down",
			  "ip link set dev eth1 mtu 1500",
		  }));
	EXPECT_TRUE(planes.empty());
	EXPECT_TRUE(take(planes, "eth1").empty());
}

/* The first plane goes; the second still needs the sysctls of all. */
TEST(Plane, LeavesToOthersWhatTheyNeed)
{
	Planes planes = {{"eth1", steps_to(usual(), bare())},
			 {"eth2",
			  {{.kind = Kind::address,
			    .netdev = "eth2",
			    .name = "10.1.0.1/32"}}}};

	for (const Step &s : take(planes, "eth1"))
		EXPECT_FALSE(is_shared(s)) << s.name;
	EXPECT_EQ(commands_of(take(planes, "eth2"), true),
		  (std::vector<std::string>{
			  "ip -4 addr del 10.1.0.1/32 dev eth2",
			  "sysctl -q -w net.ipv4.conf.all.rp_filter=0",
			  "sysctl -q -w net.ipv4.conf.all.arp_ignore=0",
		  }));
}

TEST(Plane, KnowsWhatIsStillInEffect)
{
	Present now = bare();

	for (const Step &s : steps_to(usual(), now))
		EXPECT_FALSE(in_effect(s, now)) << s.name;
	now.mtu = 4500;
	now.up = true;
	now.addresses = {"10.1.0.1/32", "fd00::1/128"};
	now.routes = {"10.1.0.2/32", "fd00::2/128"};
	now.sysctls = {{"net.ipv4.conf.all.rp_filter", 2},
		       {"net.ipv4.conf.all.arp_ignore", 1},
		       {"net.ipv4.conf.eth1.arp_filter", 0}};
	for (const Step &s : steps_to(usual(), bare())) {
		EXPECT_TRUE(in_effect(s, now)) << s.name;
		EXPECT_FALSE(in_effect(s, {})) << s.name;
	}
}

TEST(Plane, KeepsItsStateInAFile)
{
	Planes planes = {{"eth1", steps_to(usual(), bare())}, {"eth2", {}}};
	const std::string text = state_text(planes);
	Planes again = planes_in(text, "file");

	EXPECT_EQ(state_text(again), text);
	EXPECT_EQ(commands_of(again.at("eth1"), false), made);
	EXPECT_EQ(commands_of(again.at("eth1"), true),
		  commands_of(planes.at("eth1"), true));
	EXPECT_TRUE(planes_in("", "file").empty());
	for (const char *bad :
	     {"{", "[]", "7", "{}", R"({"version":2,"planes":{}})",
	      R"({"version":1,"planes":[7]})",
	      R"({"version":1,"planes":{"a":[{"kind":"rm","netdev":"a"}]}})",
	      R"({"version":1,"planes":{"a":[{"kind":"mtu"}]}})",
	      R"({"version":1,"planes":{"a":[{"kind":"mtu","netdev":7}]}})"})
		EXPECT_THROW(planes_in(bad, "file"), DeviceError) << bad;
}
} // namespace mrcctl::plane

namespace mrcctl
{
/* ip(8) with a netdev eth1 that remembers what is done to it. */
class PlaneTest : public DoctorTest
{
protected:
	static constexpr const char *state_file = "/run/mrc/planes-1.json";

	PlaneTest()
	{
		host_.on_run = [this](const std::string &command) {
			happen(command);
		};
		host_.files["/proc/sys/net/ipv4/conf/all/rp_filter"] = "1\n";
		show();
	}

	void happen(const std::string &command)
	{
		const bool mine = command.starts_with("ip link set ") ||
				  command.starts_with("ip -4 addr ") ||
				  command.starts_with("ip -4 route add ") ||
				  command.starts_with("ip -4 route del ") ||
				  command.starts_with("sysctl ");

		if (!mine)
			return;
		changes.push_back(command);
		if (command == refused) {
			host_.fails(command, 2,
				    "RTNETLINK answers: no\nmore\n");
			return;
		}
		host_.prints(command, "");
		if (command.find(" mtu ") != std::string::npos)
			mtu = command.substr(command.rfind(' ') + 1);
		if (command.find(" addr ") != std::string::npos)
			address = command.find(" add ") != std::string::npos;
		if (command.find(" route ") != std::string::npos)
			route = command.find(" add ") != std::string::npos;
		if (const std::size_t eq = command.find('=');
		    eq != std::string::npos)
			host_.files["/proc/sys/net/ipv4/conf/all/rp_filter"] =
				command.substr(eq + 1) + "\n";
		show();
	}

	void show()
	{
		host_.prints("ip -j addr show dev eth1",
			     fmt::format(R"([{{"ifname":"eth1","ifindex":{},)"
					 R"("mtu":{},"flags":["UP"],)"
					 R"("addr_info":[{}]}}])",
					 index, mtu,
					 address ? R"({"local":"10.1.0.1",)"
						   R"("prefixlen":32})"
						 : ""));
		host_.prints("ip -j -4 route show dev eth1",
			     route ? R"([{"dst":"10.1.0.2"}])" : "[]");
		host_.prints("ip -j -6 route show dev eth1", "[]");
	}

	std::string mtu = "1500";
	int index = 3;
	bool address = false, route = false;
	std::string refused; /* a command that fails */
	std::vector<std::string> changes;
	const std::string add =
		"plane add eth1 addr 10.1.0.1 route 10.1.0.2 metric 42";
};

TEST_F(PlaneTest, AddsAPlaneAndTakesItBack)
{
	const auto before = host_.files;
	const Result dry = run(add + " --dry-run");

	EXPECT_EQ(dry.status, 0);
	EXPECT_EQ(dry.out, "ip link set dev eth1 mtu 4500\n"
			   "ip -4 addr add 10.1.0.1/32 dev eth1\n"
			   "sysctl -q -w net.ipv4.conf.all.rp_filter=2\n"
			   "ip -4 route add 10.1.0.2/32 dev eth1 metric 42 src "
			   "10.1.0.1\n");
	EXPECT_TRUE(changes.empty());
	EXPECT_EQ(host_.files, before);
	const Result r = run(add);

	EXPECT_EQ(r.status, 0);
	EXPECT_EQ(r.out + r.err, "");
	EXPECT_EQ(fmt::format("{}\n", fmt::join(changes, "\n")), dry.out);
	EXPECT_EQ(mtu, "4500");
	EXPECT_TRUE(address && route);
	EXPECT_TRUE(has(run("plane").out,
			"eth1\n    ip link set dev eth1 mtu 4500\n"));
	EXPECT_EQ(Json::parse(run("-j plane show eth1").out)["eth1"].size(),
		  4u);
	EXPECT_EQ(run("plane show eth9").out, "");
	/* Again: there is nothing to do. */
	changes.clear();
	EXPECT_EQ(run(add).status, 0);
	EXPECT_TRUE(changes.empty());
	EXPECT_EQ(run("plane del eth1 --dry-run").out,
		  "ip -4 route del 10.1.0.2/32 dev eth1 metric 42\n"
		  "sysctl -q -w net.ipv4.conf.all.rp_filter=1\n"
		  "ip -4 addr del 10.1.0.1/32 dev eth1\n"
		  "ip link set dev eth1 mtu 1500\n");
	EXPECT_TRUE(changes.empty());
	EXPECT_EQ(run("plane del eth1").err, "");
	EXPECT_EQ(mtu, "1500");
	EXPECT_FALSE(address || route);
	EXPECT_EQ(run("plane").out, "");
	const Result none = run("plane del eth1");

	EXPECT_EQ(none.status, exit_device);
	EXPECT_TRUE(has(none.err, "\"plane add\" has changed nothing of eth1"));
}

TEST_F(PlaneTest, TakesBackWhatWasDoneBeforeAnError)
{
	for (const char *bad :
	     {"ip -4 route add 10.1.0.2/32 dev eth1 metric 42 src 10.1.0.1",
	      "ip -4 addr add 10.1.0.1/32 dev eth1",
	      "ip link set dev eth1 mtu 4500"}) {
		refused = bad;
		const Result r = run(add);

		EXPECT_EQ(r.status, exit_device);
		EXPECT_EQ(r.err, fmt::format("mrcctl: {}: RTNETLINK answers: "
					     "no\n",
					     bad));
		EXPECT_EQ(mtu, "1500");
		EXPECT_FALSE(address || route);
		EXPECT_EQ(run("plane").out, "");
	}
}

/* Not to what an earlier "plane add" has set. */
TEST_F(PlaneTest, GoesBackToTheFirstMtu)
{
	EXPECT_EQ(run("plane add eth1 mtu 4500").status, 0);
	EXPECT_EQ(run("plane add eth1 mtu 9000").status, 0);
	EXPECT_EQ(run("plane add eth1 mtu 4300").status, 0);
	EXPECT_EQ(run("plane").out, "eth1\n    sysctl -q -w "
				    "net.ipv4.conf.all.rp_filter=2\n"
				    "    ip link set dev eth1 mtu 4300\n");
	refused = "ip link set dev eth1 mtu 9000";
	EXPECT_EQ(run("plane add eth1 mtu 9000").status, exit_device);
	EXPECT_EQ(mtu, "4300");
	refused.clear();
	EXPECT_EQ(run("plane del eth1").err, "");
	EXPECT_EQ(mtu, "1500");

	/* Somebody else has set one in between: it is not known why. */
	EXPECT_EQ(run("plane add eth1 mtu 4500").status, 0);
	mtu = "8000";
	show();
	EXPECT_EQ(run("plane add eth1 mtu 9000").status, 0);
	EXPECT_EQ(run("plane del eth1").err, "");
	EXPECT_EQ(mtu, "8000");
}

/* Each is a record of its own, and is taken back. */
TEST_F(PlaneTest, KeepsRoutesWithOnePrefix)
{
	const std::string routes = "plane add eth1 route 10.2.0.0/16 via "
				   "10.1.0.8 metric 1 route 10.2.0.0/16 via "
				   "10.1.0.9 metric 2";
	const std::string one = "10.2.0.0/16 via 10.1.0.8 dev eth1 metric 1";
	const std::string two = "10.2.0.0/16 via 10.1.0.9 dev eth1 metric 2";
	const auto before = host_.on_run;
	int there = 0; /* routes to the prefix */

	host_.on_run = [&](const std::string &command) {
		before(command);
		if (command != refused)
			there += command.starts_with("ip -4 route add 10.2") -
				 command.starts_with("ip -4 route del 10.2");
		host_.prints("ip -j -4 route show dev eth1",
			     there ? R"([{"dst":"10.2.0.0/16"}])" : "[]");
	};
	EXPECT_EQ(run("plane add eth1 addr 10.1.0.1").status, 0);
	const std::string records = run("plane").out;

	/* The second one fails: the plane that was made before stays. */
	refused = "ip -4 route add " + two;
	changes.clear();
	EXPECT_EQ(run(routes).status, exit_device);
	EXPECT_EQ(changes,
		  (std::vector<std::string>{"ip -4 route add " + one, refused,
					    "ip -4 route del " + one}));
	EXPECT_EQ(there, 0);
	EXPECT_EQ(run("plane").out, records);

	/* Both are made, and made again when they have gone. */
	refused.clear();
	for (int i = 0; i < 2; i++) {
		there = 0;
		EXPECT_EQ(run(routes).status, 0);
		EXPECT_EQ(run("plane").out,
			  records + "    ip -4 route add " + one +
				  "\n    ip -4 route add " + two + "\n");
	}
	changes.clear();
	const Result r = run("plane del eth1");

	EXPECT_EQ(r.status, 0);
	EXPECT_EQ(r.err, "");
	ASSERT_GE(changes.size(), 2u);
	EXPECT_EQ(changes[0], "ip -4 route del " + two);
	EXPECT_EQ(changes[1], "ip -4 route del " + one);
	EXPECT_EQ(there, 0);
	EXPECT_EQ(run("plane").out, "");
}

/* A failure after a third step must not take records of others along. */
TEST_F(PlaneTest, TakesBackBothRoutesWithOnePrefix)
{
	const std::string routes =
		"plane add eth1 route 10.2.0.0/16 via 10.1.0.8 metric 1 route "
		"10.2.0.0/16 via 10.1.0.9 metric 2 route 10.3.0.0/16 metric 3";

	EXPECT_EQ(run("plane add eth1 addr 10.1.0.1").status, 0);
	const std::string records = run("plane").out;

	refused = "ip -4 route add 10.3.0.0/16 dev eth1 metric 3";
	changes.clear();
	EXPECT_EQ(run(routes).status, exit_device);
	ASSERT_EQ(changes.size(), 5u);
	EXPECT_TRUE(has(changes[3], "route del 10.2.0.0/16 via 10.1.0.9"));
	EXPECT_TRUE(has(changes[4], "route del 10.2.0.0/16 via 10.1.0.8"));
	EXPECT_EQ(run("plane").out, records);
}

/* With another number, and so another metric: its record is still one. */
TEST_F(PlaneTest, RecordsARouteOnceWhenItsNetdevComesAgain)
{
	const std::string without = "plane add eth1 addr 10.1.0.1 route "
				    "10.1.0.2";

	EXPECT_EQ(run(without).status, 0);
	EXPECT_TRUE(has(run("plane").out, "metric 103"));
	address = route = false;
	index = 7;
	show();
	EXPECT_EQ(run(without).status, 0);
	EXPECT_TRUE(has(run("plane").out, "metric 107"));
	EXPECT_FALSE(has(run("plane").out, "metric 103"));
	EXPECT_EQ(run("plane del eth1").err, "");
}

TEST_F(PlaneTest, ChangesNothingWithoutItsFile)
{
	host_.files[state_file] = "nonsense";
	EXPECT_TRUE(has(run(add).err, "mrcctl: /run/mrc/planes-1.json: "));
	host_.files.erase(state_file);
	host_.errors[state_file] = EROFS;
	EXPECT_TRUE(has(run(add).err, "Read-only file system"));
	EXPECT_TRUE(changes.empty());
}

TEST_F(PlaneTest, LeavesAloneWhatOthersHaveChanged)
{
	EXPECT_EQ(run(add).status, 0);
	mtu = "9000";
	route = false;
	show();
	changes.clear();
	const Result r = run("plane del eth1");

	EXPECT_EQ(r.status, 0);
	EXPECT_EQ(changes, (std::vector<std::string>{
				   "sysctl -q -w net.ipv4.conf.all.rp_filter=1",
				   "ip -4 addr del 10.1.0.1/32 dev eth1"}));
	EXPECT_TRUE(has(r.err, "left alone, it has changed since: ip link set "
			       "dev eth1 mtu 1500\n"));
	EXPECT_EQ(mtu, "9000");
}

TEST_F(PlaneTest, SaysWhatCouldNotBeTakenBack)
{
	EXPECT_EQ(run(add).status, 0);
	refused = "ip -4 addr del 10.1.0.1/32 dev eth1";
	const Result r = run("plane del eth1");

	EXPECT_EQ(r.status, exit_device);
	EXPECT_EQ(r.err, "mrcctl: " + refused + ": RTNETLINK answers: no\n");
	/* The rest is. */
	EXPECT_EQ(mtu, "1500");
}

TEST_F(PlaneTest, ChecksItsWords)
{
	for (const char *words :
	     {"plane add", "plane add a/b", "plane add all", "plane add ..",
	      "plane add -x", "plane add 1234567890123456",
	      "plane add eth1 mtu 100", "plane add eth1 mtu x",
	      "plane add eth1 addr 10.1.0.1/33", "plane add eth1 addr x",
	      "plane add eth1 via 10.1.0.1", "plane add eth1 metric 5",
	      "plane add eth1 route x", "plane add eth1 bogus", "plane del",
	      "plane del eth1 x"})
		EXPECT_EQ(run(words).status, exit_usage) << words;
	EXPECT_TRUE(changes.empty());
	host_.fails("ip -j addr show dev eth7", 1,
		    "Device \"eth7\" does not exist.\n");
	EXPECT_EQ(run("plane add eth7").err, "mrcctl: no netdev eth7\n");
	host_.programs.clear();
	host_.on_run = nullptr;
	EXPECT_TRUE(has(run(add).err, "there is no program ip"));
	EXPECT_TRUE(has(run("--dry-run port").err, "mrcctl: "));
}
} // namespace mrcctl

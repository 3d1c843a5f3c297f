// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* links: the files, their errors, and what is done. */
#include <cerrno>

#include "fake_planes.hpp"
#include "links.hpp"

namespace mrcctl
{
namespace
{
/* The message for a file with this text. */
std::string refusal(const std::string &text)
{
	try {
		parse_link_file("f.conf", text);
	} catch (const UsageError &e) {
		return e.what();
	}
	return "none";
}
} // namespace

TEST(LinkFiles, AreRead)
{
	const LinkFile f = parse_link_file(
		"/x.conf", "# two planes\n\n  name=mrc0\r\nnetdev = eth1\n"
			   "\tnetdev =\teth2.5\nprofiles = /etc/a b.json\n"
			   "extension = off\n"
			   "plane = eth2.5 \t addr 10.1.0.1  route 10.2.0.0/16 "
			   "via 10.1.0.9 metric 7 mtu 9000\nplane=eth1");

	EXPECT_EQ(f.name, "mrc0");
	EXPECT_EQ(f.netdevs, (std::vector<std::string>{"eth1", "eth2.5"}));
	EXPECT_EQ(f.netdev_lines, (std::vector<unsigned int>{4, 5}));
	EXPECT_EQ(f.profiles, "/etc/a b.json");
	EXPECT_EQ(f.extension, false);
	EXPECT_EQ(f.name_line, 3u);
	ASSERT_EQ(f.planes.size(), 2u);
	EXPECT_EQ(f.planes[0].netdev, "eth2.5");
	EXPECT_EQ(f.planes[0].mtu, 9000u);
	EXPECT_EQ(f.planes[0].addresses,
		  std::vector<std::string>{"10.1.0.1/32"});
	ASSERT_EQ(f.planes[0].routes.size(), 1u);
	EXPECT_EQ(f.planes[0].routes[0].prefix, "10.2.0.0/16");
	EXPECT_EQ(f.planes[0].routes[0].via, "10.1.0.9");
	EXPECT_EQ(f.planes[0].routes[0].metric, 7u);
	EXPECT_EQ(f.planes[1].netdev, "eth1");
	EXPECT_EQ(parse_link_file("x", "name = mrc0\nnetdev = a\n").extension,
		  std::nullopt);
}

TEST(LinkFiles, AreRefusedWithFileAndLine)
{
	const std::string good = "name = mrc0\nnetdev = eth1\n";

	EXPECT_EQ(refusal(good), "none");
	EXPECT_EQ(refusal(""), "f.conf: name is missing");
	EXPECT_EQ(refusal("name = mrc0"), "f.conf: netdev is missing");
	EXPECT_EQ(refusal("netdev = a"), "f.conf: name is missing");
	EXPECT_EQ(refusal(good + "netdev"),
		  "f.conf:3: \"netdev\" is not KEY = VALUE");
	EXPECT_EQ(refusal(good + "\n#\nnetdev =  "),
		  "f.conf:5: netdev has no value");
	EXPECT_EQ(refusal(good + "speed = 7"),
		  "f.conf:3: \"speed\" is not name, netdev, plane, "
		  "profiles or extension");
	EXPECT_EQ(refusal(good + "name = mrc1"), "f.conf:3: a second name");
	EXPECT_EQ(refusal("name = rdma0"),
		  "f.conf:1: \"rdma0\" is no name of a device: these begin "
		  "with mrc");
	EXPECT_EQ(refusal("name = mrc;reboot"),
		  "f.conf:1: \"mrc;reboot\" is no name of a device: these "
		  "begin with mrc");
	EXPECT_EQ(refusal(good + "netdev = eth1"),
		  "f.conf:3: eth1 is there twice");
	for (const char *bad : {"../x", "a b", "-x", "1234567890123456", "a;b"})
		EXPECT_EQ(refusal(good + "netdev = " + bad),
			  std::string("f.conf:3: \"") + bad +
				  "\" is no name of a netdev");
	EXPECT_EQ(refusal(good + "profiles = x.json"),
		  "f.conf:3: \"x.json\" does not begin with /");
	EXPECT_EQ(refusal(good + "profiles = /x\nprofiles = /y"),
		  "f.conf:4: a second file of profiles");
	EXPECT_EQ(refusal(good + "extension = yes"),
		  "f.conf:3: \"yes\" is not on or off");
	EXPECT_EQ(refusal(good + "extension = on\nextension = on"),
		  "f.conf:4: a second extension");
	EXPECT_EQ(refusal(good + "\x1b[2J"),
		  "f.conf:3: a byte that is not printable ASCII");
	EXPECT_EQ(refusal(std::string("name = m\0rc", 11)),
		  "f.conf:1: a byte that is not printable ASCII");
	EXPECT_EQ(refusal(good + "plane = eth1 addr 10.1.0.1\nplane = eth1"),
		  "f.conf:4: a second plane eth1");
	EXPECT_EQ(refusal("plane = eth2\n" + good),
		  "f.conf:1: eth2 is no netdev of mrc0");
	EXPECT_EQ(refusal(good + "plane = eth1 speed 7"),
		  "f.conf:3: what is \"speed\"?");
	EXPECT_EQ(refusal(good + "plane = eth1 addr 10.1.0.300"),
		  "f.conf:3: \"10.1.0.300\" is no address");
	EXPECT_EQ(refusal(good + "plane = eth1 mtu 100"),
		  "f.conf:3: the MTU of a plane is at least 348");
	EXPECT_EQ(refusal(good + "plane = eth1 via 10.1.0.1"),
		  "f.conf:3: via belongs behind a route");
	std::string many = "name = mrc0\n";

	for (int i = 0; i < 17; i++)
		many += "netdev = e" + std::to_string(i) + "\n";
	EXPECT_EQ(refusal(many), "f.conf:18: more than 16 netdevs");
}

class LinksTest : public DoctorTest
{
protected:
	LinksTest()
	{
		host_.files["/etc/mrc/links.d/mrc0.conf"] =
			"name = mrc0\nnetdev = eth0\nnetdev = eth1\n";
		host_.files["/etc/mrc/links.d/README"] = "not one of them";
		host_.on_run = [this](const std::string &command) {
			if (!command.starts_with("rdma link ") &&
			    !command.starts_with("ip link ") &&
			    !command.starts_with("ip -4 addr ") &&
			    !command.starts_with("ip -4 route add") &&
			    !command.starts_with("ip -4 route del"))
				return;
			changes.push_back(command);
			if (command == refused)
				host_.fails(command, 1,
					    "error: Invalid argument\n");
			else
				host_.prints(command, "");
		};
		links("[]");
	}

	std::string file(const std::string &text)
	{
		host_.files["/f.conf"] = text;
		return "/f.conf";
	}

	std::string refused;
	std::vector<std::string> changes;
};

TEST_F(LinksTest, MakesDevices)
{
	EXPECT_EQ(run("links up").status, 0);
	EXPECT_EQ(changes, (std::vector<std::string>{
				   "rdma link add mrc0 type mrc netdev eth0",
				   "rdma link add mrc0 type mrc netdev eth1"}));
	/* One port is there. */
	changes.clear();
	links(R"([{"ifname":"mrc0","port":1,"netdev":"eth0"}])");
	EXPECT_EQ(run("links up").status, 0);
	EXPECT_EQ(changes, (std::vector<std::string>{
				   "rdma link add mrc0 type mrc netdev eth1"}));
	EXPECT_EQ(run("links down").status, 0);
	EXPECT_EQ(changes.back(), "rdma link del mrc0");
	changes.clear();
	links("[]");
	EXPECT_EQ(run("links down").status, 0);
	EXPECT_TRUE(changes.empty());
	EXPECT_EQ(run("links check").out,
		  "/etc/mrc/links.d/mrc0.conf: mrc0 of eth0 eth1\n");
	host_.files.erase("/etc/mrc/links.d/mrc0.conf");
	EXPECT_EQ(run("links up").status, 0);
	EXPECT_TRUE(changes.empty());
}

/* Its place stays free, with an address like that of a netdev, but no such. */
TEST_F(LinksTest, KeepsPlacesOfAbsentNetdevs)
{
	const std::string f = file("name = mrc0\nnetdev = eth9\n"
				   "netdev = eth1\nnetdev = eth8\n");

	host_.files["/sys/class/net/eth1/address"] = "02:00:00:00:00:00\n";
	Result r = run("links up " + f);

	EXPECT_EQ(r.status, 0);
	EXPECT_EQ(r.err, "mrcctl: /f.conf:2: there is no netdev eth9: port 1 "
			 "is vacant\n"
			 "mrcctl: /f.conf:4: there is no netdev eth8: port 3 "
			 "is vacant\n");
	EXPECT_EQ(changes,
		  (std::vector<std::string>{
			  "ip link add mrcvacant1 address 06:00:00:00:00:00 "
			  "type dummy",
			  "rdma link add mrc0 type mrc netdev mrcvacant1",
			  "rdma link add mrc0 type mrc netdev eth1",
			  "ip link add mrcvacant3 address 06:00:00:00:00:00 "
			  "type dummy",
			  "rdma link add mrc0 type mrc netdev mrcvacant3",
			  "ip link del mrcvacant1", "ip link del mrcvacant3"}));
	/* One of a manufacturer becomes a local one. */
	host_.files["/sys/class/net/eth1/address"] = "00:11:22:33:44:55\n";
	changes.clear();
	EXPECT_EQ(run("links up " + f).status, 0);
	EXPECT_EQ(changes.at(0), "ip link add mrcvacant1 address "
				 "02:11:22:33:44:55 type dummy");
	host_.files["/sys/class/net/eth1/address"] = "02:00:00:00:00:00\n";
	/* Nothing has changed since. */
	links(R"([{"ifname":"mrc0","port":1},{"ifname":"mrc0","port":2,)"
	      R"("netdev":"eth1"},{"ifname":"mrc0","port":3}])");
	changes.clear();
	EXPECT_EQ(run("links up " + f).status, 0);
	EXPECT_TRUE(changes.empty());
	/* The third one comes before the first. */
	host_.files["/sys/class/net/eth8/mtu"] = "1500\n";
	r = run("links join " + f);
	EXPECT_EQ(r.status, 0);
	EXPECT_EQ(r.err, "mrcctl: /f.conf:2: there is no netdev eth9: port 1 "
			 "is vacant\n");
	EXPECT_EQ(changes,
		  (std::vector<std::string>{
			  "ip link add mrcvacant1 address 06:00:00:00:00:00 "
			  "type dummy",
			  "rdma link add mrc0 type mrc netdev mrcvacant1",
			  "rdma link add mrc0 type mrc netdev eth8",
			  "ip link del mrcvacant1"}));
	/* And then the first one, with what a killed run has left. */
	links(R"([{"ifname":"mrc0","port":1},{"ifname":"mrc0","port":2,)"
	      R"("netdev":"eth1"},{"ifname":"mrc0","port":3,)"
	      R"("netdev":"eth8"}])");
	host_.files["/sys/class/net/eth9/mtu"] = "1500\n";
	host_.files["/sys/class/net/mrcvacant1/mtu"] = "1500\n";
	changes.clear();
	EXPECT_EQ(run("links join " + f).status, 0);
	EXPECT_EQ(changes, (std::vector<std::string>{
				   "rdma link add mrc0 type mrc netdev eth9"}));
}

TEST_F(LinksTest, ReplacesWhatAKilledRunHasLeft)
{
	const std::string f =
		file("name = mrc0\nnetdev = eth9\nnetdev = eth1\n");

	host_.files["/sys/class/net/mrcvacant1/mtu"] = "1500\n";
	EXPECT_EQ(run("links up " + f).status, 0);
	ASSERT_GE(changes.size(), 2u);
	EXPECT_EQ(changes[0], "ip link del mrcvacant1");
	EXPECT_EQ(changes[1], "ip link add mrcvacant1 type dummy");
	EXPECT_EQ(changes.back(), "ip link del mrcvacant1");
	/* It goes also when the kernel refuses the next one. */
	host_.files.erase("/sys/class/net/mrcvacant1/mtu");
	changes.clear();
	refused = "rdma link add mrc0 type mrc netdev eth1";
	EXPECT_EQ(run("links up " + f).status, exit_device);
	ASSERT_GE(changes.size(), 2u);
	EXPECT_EQ(changes[changes.size() - 2], "ip link del mrcvacant1");
	/* So does the device, which "join" would take for a whole one. */
	EXPECT_EQ(changes.back(), "rdma link del mrc0");
	/* But not one that was there before. */
	links(R"([{"ifname":"mrc0","port":1}])");
	EXPECT_EQ(run("links up " + f).status, exit_device);
	EXPECT_EQ(changes.back(), "ip link del mrcvacant1");
}

/* The place that a killed run has filled is the absent netdev's again. */
TEST_F(LinksTest, FreesThePlaceThatAKilledRunHasFilled)
{
	const std::string f =
		file("name = mrc0\nnetdev = eth9\nnetdev = eth1\n");
	const std::string del = "ip link del mrcvacant1";
	const auto ports = [&](const std::string &netdev) {
		links(R"([{"ifname":"mrc1","port":1,"netdev":"mrcvacant7"},)"
		      R"({"ifname":"mrc0","port":1)" +
		      netdev + R"(},{"ifname":"mrc0","port":2,)" +
		      R"("netdev":"eth1"}])");
	};
	const auto killed = [&] {
		ports(R"(,"netdev":"mrcvacant1")");
		host_.files["/sys/class/net/mrcvacant1/mtu"] = "1500\n";
		changes.clear();
	};
	const auto before = host_.on_run;

	host_.on_run = [&](const std::string &command) {
		before(command);
		if (command != del || command == refused)
			return;
		host_.files.erase("/sys/class/net/mrcvacant1/mtu");
		ports("");
	};
	/* The netdev is still absent. */
	killed();
	EXPECT_EQ(run("links join " + f).status, 0);
	EXPECT_EQ(changes, std::vector<std::string>{del});
	host_.files["/sys/class/net/eth9/mtu"] = "1500\n";
	for (const char *command : {"links up ", "links join "}) {
		killed();
		const Result r = run(command + f);

		EXPECT_EQ(r.status, 0) << command;
		EXPECT_EQ(r.err, "");
		EXPECT_EQ(changes,
			  (std::vector<std::string>{
				  del, "rdma link add mrc0 type mrc netdev "
				       "eth9"}));
	}
	killed();
	EXPECT_EQ(run("links down " + f).status, 0);
	EXPECT_EQ(changes,
		  (std::vector<std::string>{del, "rdma link del mrc0"}));
	killed();
	refused = del;
	EXPECT_EQ(run("links up " + f).err,
		  "mrcctl: " + del + ": error: Invalid argument\n");
	EXPECT_EQ(changes, std::vector<std::string>{del});
}

/* The device may be there: it and its planes stay. */
TEST_F(LinksTest, ChangesNothingWithoutTheListOfPorts)
{
	const std::string f = file("name = mrc0\nnetdev = eth0\n"
				   "plane = eth0 addr 10.1.0.1\n");
	const char *show = "rdma -j link show";
	const auto all_say = [&](const std::string &why) {
		for (const char *what : {"up ", "join ", "down "}) {
			const Result r = run("links " + (what + f));

			EXPECT_EQ(r.status, exit_device) << what;
			EXPECT_EQ(r.err,
				  "mrcctl: rdma -j link show: " + why + "\n");
			EXPECT_TRUE(changes.empty()) << what << changes[0];
		}
	};

	host_.prints("ip -j addr show dev eth0",
		     R"([{"ifname":"eth0","ifindex":3,"mtu":4500,)"
		     R"("flags":["UP"],"addr_info":[]}])");
	host_.prints("ip -j -4 route show dev eth0", "[]");
	host_.prints("ip -j -6 route show dev eth0", "[]");
	EXPECT_EQ(run("links up " + f).status, 0);
	ASSERT_EQ(changes.size(), 2u);
	changes.clear();
	host_.files["/sys/module/ib_core/refcnt"] = "1\n";
	host_.fails(show, 1, "no\x1b memory\nmore\n");
	all_say("no? memory");
	/* Also when there is some output. */
	host_.programs[show].out = "[]";
	all_say("no? memory");
	for (const char *odd : {"[{", "{}", "7", "error"}) {
		host_.prints(show, odd);
		all_say("its output was not understood");
	}
	EXPECT_TRUE(has(run("plane").out, "eth0\n"));
	/* Without the RDMA core there is none, and the planes go. */
	host_.files.erase("/sys/module/ib_core/refcnt");
	host_.fails(show, 1, "Failed to open NETLINK_RDMA socket\n");
	EXPECT_EQ(run("links down " + f).status, 0);
	EXPECT_FALSE(has(run("plane").out, "eth0\n"));
}

TEST_F(LinksTest, WaitsForTheFirstNetdev)
{
	const std::string f = file("name = mrc0\nnetdev = eth9\n");

	for (const char *command : {"links up ", "links join "}) {
		const Result r = run(command + f);

		EXPECT_EQ(r.status, exit_no_netdev);
		EXPECT_EQ(r.err, "mrcctl: /f.conf: none of its netdevs is "
				 "there, mrc0 gets no port\n");
		EXPECT_TRUE(changes.empty());
	}
	/* Another file's device is made all the same. */
	host_.files["/etc/mrc/links.d/a.conf"] = "name = mrc1\nnetdev = x\n";
	EXPECT_EQ(run("links up").status, exit_no_netdev);
	EXPECT_EQ(changes.size(), 2u);
}

TEST_F(LinksTest, RefusesOtherPlaces)
{
	links(R"([{"ifname":"mrc0","port":1,"netdev":"eth1"}])");
	Result r = run("links up");

	EXPECT_EQ(r.status, exit_device);
	EXPECT_EQ(r.err, "mrcctl: /etc/mrc/links.d/mrc0.conf:2: eth1 is port 1 "
			 "of mrc0, where eth0 belongs\n");
	links(R"([{"ifname":"mrc0","port":1},)"
	      R"({"ifname":"mrc0","port":2,"netdev":"eth0"}])");
	r = run("links up");
	EXPECT_EQ(r.status, exit_device);
	EXPECT_EQ(r.err, "mrcctl: /etc/mrc/links.d/mrc0.conf:2: eth0 is port 2 "
			 "of mrc0, not port 1\n");
	EXPECT_TRUE(changes.empty());
}

/* Programs use the profiles of a device that is there. */
TEST_F(LinksTest, JoinsWithoutProfiles)
{
	host_.files["/p.json"] = R"({"formats":[{"id":4,"mode":"udp",)"
				 R"("fields":[16]}]})";
	const std::string f = file("name = mrc0\nnetdev = eth0\nnetdev = eth1\n"
				   "profiles = /p.json\nextension = off\n");

	links(R"([{"ifname":"mrc0","port":1,"netdev":"eth0"},)"
	      R"({"ifname":"mrc0","port":2}])");
	EXPECT_EQ(run("links join " + f).status, 0);
	EXPECT_EQ(changes, (std::vector<std::string>{
				   "rdma link add mrc0 type mrc netdev eth1"}));
	EXPECT_TRUE(dev().log.empty());
	links("[]");
	EXPECT_EQ(run("links join " + f).status, 0);
	EXPECT_EQ(dev().fmts.at(4).state, State::online);
	EXPECT_EQ(dev().device.extension, false);
}

/* With their addresses and routes, which go with the device. */
TEST_F(LinksTest, MakesPlanesAndTakesThemBack)
{
	const std::string f =
		file("name = mrc0\nnetdev = eth0\nnetdev = eth9\n"
		     "plane = eth0 addr 10.1.0.1 route 10.1.0.2 metric 7\n"
		     "plane = eth9 addr 10.1.0.1\n");
	const char *bare = R"([{"ifname":"eth0","ifindex":3,"mtu":4500,)"
			   R"("flags":["UP"],"addr_info":[]}])";
	const char *with = R"([{"ifname":"eth0","ifindex":3,"mtu":4500,)"
			   R"("flags":["UP"],"addr_info":[{"local":)"
			   R"("10.1.0.1","prefixlen":32}]}])";
	const std::vector<std::string> made = {
		"ip -4 addr add 10.1.0.1/32 dev eth0",
		"ip -4 route add 10.1.0.2/32 dev eth0 metric 7 src 10.1.0.1"};

	host_.prints("ip -j addr show dev eth0", bare);
	host_.prints("ip -j addr show dev eth9", "");
	host_.prints("ip -j -4 route show dev eth0", "[]");
	host_.prints("ip -j -6 route show dev eth0", "[]");
	EXPECT_EQ(run("links up " + f).status, 0);
	ASSERT_GE(changes.size(), 3u);
	EXPECT_EQ(
		std::vector<std::string>(changes.begin(), changes.begin() + 2),
		made);
	EXPECT_EQ(changes[2], "rdma link add mrc0 type mrc netdev eth0");

	links(R"([{"ifname":"mrc0","port":1,"netdev":"eth0"},)"
	      R"({"ifname":"mrc0","port":2}])");
	host_.prints("ip -j addr show dev eth0", with);
	host_.prints("ip -j -4 route show dev eth0", R"([{"dst":"10.1.0.2"}])");
	changes.clear();
	EXPECT_EQ(run("links up " + f).status, 0);
	EXPECT_TRUE(changes.empty());

	/* The netdev has gone and come: the same again, to be undone once. */
	host_.prints("ip -j addr show dev eth0", bare);
	host_.prints("ip -j -4 route show dev eth0", "[]");
	EXPECT_EQ(run("links join " + f).status, 0);
	EXPECT_EQ(changes, made);
	host_.prints("ip -j addr show dev eth0", with);
	host_.prints("ip -j -4 route show dev eth0", R"([{"dst":"10.1.0.2"}])");
	changes.clear();
	const Result r = run("links down " + f);

	EXPECT_EQ(r.status, 0);
	EXPECT_EQ(r.err, "");
	EXPECT_EQ(changes,
		  (std::vector<std::string>{
			  "rdma link del mrc0",
			  "ip -4 route del 10.1.0.2/32 dev eth0 metric 7",
			  "ip -4 addr del 10.1.0.1/32 dev eth0"}));
	EXPECT_EQ(run("plane show").out, "");
}

/* Nothing is said of what has gone with a netdev. */
TEST_F(LinksTest, TakesBackWhatIsLeft)
{
	const std::string f = file("name = mrc0\nnetdev = eth0\n"
				   "plane = eth0 addr 10.1.0.1\n");

	host_.prints("ip -j addr show dev eth0",
		     R"([{"ifname":"eth0","ifindex":3,"mtu":4500,)"
		     R"("flags":["UP"],"addr_info":[]}])");
	host_.prints("ip -j -4 route show dev eth0", "[]");
	host_.prints("ip -j -6 route show dev eth0", "[]");
	EXPECT_EQ(run("links up " + f).status, 0);
	std::erase_if(host_.files, [](const auto &file) {
		return file.first.starts_with("/sys/class/net/eth0/");
	});
	host_.prints("ip -j addr show dev eth0", "");
	changes.clear();
	const Result r = run("links down " + f);

	EXPECT_EQ(r.status, 0);
	EXPECT_EQ(r.err, "");
	EXPECT_TRUE(changes.empty());
}

TEST_F(LinksTest, TellsSystemdOfNetdevs)
{
	host_.files["/etc/mrc/links.d/mrc0.conf"] =
		"name = mrc0\nnetdev = eth0\nnetdev = lan-1@x.2\n";
	host_.files["/etc/mrc/links.d/bad.conf"] = "name = mrc1\n";
	host_.files["/etc/mrc/links.d/odd name.conf"] = "name = mrc2\n";
	const Result r = run("links units /run/g");

	EXPECT_EQ(r.status, exit_usage);
	EXPECT_EQ(r.err, "mrcctl: /etc/mrc/links.d/bad.conf: netdev is "
			 "missing\n");
	std::vector<std::string> made;

	for (const auto &[path, text] : host_.files)
		if (path.starts_with("/run/g/"))
			made.push_back(path.substr(7));
	EXPECT_EQ(
		made,
		(std::vector<std::string>{
			"mrc-join-mrc0-eth0.service",
			"mrc-join-mrc0-lan\\x2d1\\x40x.2.service",
			"sys-subsystem-net-devices-eth0.device.d/"
			"50-mrc-mrc0.conf",
			"sys-subsystem-net-devices-lan\\x2d1\\x40x.2.device.d/"
			"50-mrc-mrc0.conf"}));
	EXPECT_EQ(host_.files["/run/g/sys-subsystem-net-devices-eth0.device.d/"
			      "50-mrc-mrc0.conf"],
		  "[Unit]\nWants=mrc-join-mrc0-eth0.service\n");
	EXPECT_TRUE(has(host_.files["/run/g/mrc-join-mrc0-eth0.service"],
			"ExecStart=systemctl --no-block try-reload-or-restart "
			"mrc-links@mrc0.service\n"));
	host_.errors["/run/g/mrc-join-mrc0-eth0.service"] = EROFS;
	EXPECT_TRUE(has(run("links units /run/g").err,
			"mrcctl: /run/g/mrc-join-mrc0-eth0.service: "
			"Read-only file system\n"));
	EXPECT_EQ(run("links units").status, exit_usage);
}

TEST_F(LinksTest, SetsDevicesUp)
{
	host_.files["/p.json"] = R"({"formats":[{"id":4,"mode":"udp",)"
				 R"("fields":[16]}]})";
	const std::string f = file("name = mrc0\nnetdev = eth0\n"
				   "profiles = /p.json\nextension = off\n");

	EXPECT_EQ(run("links check " + f).status, 0);
	EXPECT_TRUE(dev().log.empty());
	EXPECT_EQ(run("links up " + f).err, "");
	EXPECT_EQ(dev().device.extension, false);
	EXPECT_EQ(dev().fmts.at(4).state, State::online);
}

/* Nothing is changed when any of the files is wrong. */
TEST_F(LinksTest, ChecksAllBeforeTheFirstChange)
{
	const auto fails = [&](const std::string &message,
			       int status = exit_usage) {
		const Result r = run("links up");

		EXPECT_EQ(r.status, status);
		EXPECT_TRUE(has(r.err, "mrcctl: " + message));
		EXPECT_TRUE(changes.empty());
	};
	std::string &second = host_.files["/etc/mrc/links.d/z.conf"];

	second = "name = mrc1\nnetdev = eth9\nplane = eth9 mtu x\n";
	fails("/etc/mrc/links.d/z.conf:3: \"x\" is no number\n");
	second = "name = mrc1\nnetdev = eth1\n";
	fails("/etc/mrc/links.d/z.conf:2: eth1 is in "
	      "/etc/mrc/links.d/mrc0.conf already\n");
	second = "name = mrc0\nnetdev = eth1\n";
	fails("/etc/mrc/links.d/z.conf:1: mrc0 is made by "
	      "/etc/mrc/links.d/mrc0.conf already\n");
	second = "name = mrc1\nnetdev = lo\nprofiles = /none.json\n";
	host_.files["/sys/class/net/lo/mtu"] = "65536\n";
	fails("/etc/mrc/links.d/z.conf:3: /none.json: No such file");
	second = "name = mrc1\nnetdev = lo\nprofiles = /bad.json\n";
	host_.files["/bad.json"] = R"({"formats":[{"id":"x"}]})";
	fails("/etc/mrc/links.d/z.conf:3: /bad.json: formats[0]");
	second = std::string(Host::max_file, '#');
	fails("/etc/mrc/links.d/z.conf: the file is too large");
}

TEST_F(LinksTest, SaysWhatFails)
{
	const Result none = run("links up /none.conf");

	EXPECT_EQ(none.status, exit_device);
	EXPECT_EQ(none.err, "mrcctl: /none.conf: No such file or directory\n");
	refused = "rdma link add mrc0 type mrc netdev eth1";
	const Result r = run("links up");

	EXPECT_EQ(r.status, exit_device);
	EXPECT_EQ(r.err, "mrcctl: " + refused +
				 ": error: Invalid argument (the kernel log "
				 "says why)\n");
	EXPECT_EQ(run("links up a b").status, exit_usage);
	EXPECT_EQ(run("links").status, exit_usage);
	host_.on_run = nullptr;
	host_.programs.clear();
	EXPECT_TRUE(has(run("links up").err, "there is no program rdma"));
}
} // namespace mrcctl

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
			   "extension = off");

	EXPECT_EQ(f.name, "mrc0");
	EXPECT_EQ(f.netdevs, (std::vector<std::string>{"eth1", "eth2.5"}));
	EXPECT_EQ(f.netdev_lines, (std::vector<unsigned int>{4, 5}));
	EXPECT_EQ(f.profiles, "/etc/a b.json");
	EXPECT_EQ(f.extension, false);
	EXPECT_EQ(f.name_line, 3u);
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
		  "f.conf:3: \"speed\" is not name, netdev, profiles or "
		  "extension");
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
			if (!command.starts_with("rdma link "))
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

	second = "name = mrc1\nnetdev = eth9\n";
	fails("/etc/mrc/links.d/z.conf:2: there is no netdev eth9\n",
	      exit_device);
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

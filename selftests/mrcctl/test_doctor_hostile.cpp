// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* doctor and show-gids: what they read may be anything. */
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_planes.hpp"
#include "findings.hpp"

namespace mrcctl
{
namespace
{
/* A directory that is the root of a machine. */
class TempRoot
{
public:
	TempRoot()
	{
		char name[] = "/tmp/mrcctl-test.XXXXXX";

		path_ = mkdtemp(name) ? name : "";
	}
	TempRoot(const TempRoot &) = delete;
	TempRoot &operator=(const TempRoot &) = delete;
	~TempRoot() { std::filesystem::remove_all(path_); }

	std::string path(const std::string &file) const { return path_ + file; }
	void write(const std::string &file, const std::string &text) const
	{
		std::filesystem::create_directories(
			std::filesystem::path(path_ + file).parent_path());
		std::ofstream(path_ + file, std::ios::binary) << text;
	}

private:
	std::string path_;
};

/* Only printable ASCII and line ends. */
bool is_clean(const std::string &text)
{
	return std::all_of(text.begin(), text.end(), [](char c) {
		return c == '\n' || (c >= ' ' && c <= '~');
	});
}
} // namespace

TEST(LocalHost, ReadsFiles)
{
	const TempRoot root;
	LocalHost host(root.path(""));

	root.write("/sys/a/one", "  1: ACTIVE \nmore\n");
	root.write("/sys/a/two", "");
	EXPECT_EQ(line_of(host, "/sys/a/one"), "1: ACTIVE");
	EXPECT_EQ(line_of(host, "/sys/a/two"), "");
	EXPECT_EQ(host.read("/sys/a/gone").err, ENOENT);
	EXPECT_EQ(host.read("/sys/a").err, EISDIR);
	EXPECT_EQ(host.list("/sys/a"),
		  (std::vector<std::string>{"one", "two"}));
	EXPECT_TRUE(host.list("/sys/gone").empty());
	EXPECT_TRUE(host.list("/sys/a/one").empty());
	EXPECT_EQ(number_of(host, "/sys/a/one"), std::nullopt);
}

TEST(LocalHost, IsNotStoppedByAFifo)
{
	const TempRoot root;
	LocalHost host(root.path(""));

	ASSERT_EQ(mkfifo(root.path("/fifo").c_str(), 0600), 0);
	EXPECT_EQ(host.read("/fifo").text, "");
}

TEST(LocalHost, BoundsWhatItReads)
{
	const TempRoot root;
	LocalHost host(root.path(""));

	root.write("/huge", std::string(5 << 20, 'x'));
	root.write("/binary", std::string("a\0\x1b[31m\xff\n", 8));
	EXPECT_EQ(host.read("/huge").text.size(), Host::max_file);
	EXPECT_EQ(line_of(host, "/huge").size(), 256u);
	EXPECT_EQ(line_of(host, "/binary"), "a??[31m?");
}

TEST(LocalHost, RunsPrograms)
{
	LocalHost host;
	const Host::Ran ran = host.run({"sh", "-c",
					"echo out; echo err >&2; "
					"exit 3"});

	EXPECT_TRUE(ran.started);
	EXPECT_EQ(ran.status, 3);
	EXPECT_EQ(ran.out, "out\n");
	EXPECT_EQ(ran.err, "err\n");
	EXPECT_FALSE(host.run({"/nowhere/at-all"}).started);
}

TEST(LocalHost, ReplacesFiles)
{
	const TempRoot root;
	LocalHost host(root.path(""));
	const mode_t mask = umask(077);
	struct stat st {
	};

	EXPECT_EQ(host.replace("/a", "one"), 0);
	EXPECT_EQ(host.replace("/a", std::string(100000, 'x')), 0);
	umask(mask);
	EXPECT_EQ(std::filesystem::file_size(root.path("/a")), 100000u);
	ASSERT_EQ(stat(root.path("/a").c_str(), &st), 0);
	EXPECT_EQ(st.st_mode & 0777u, 0644u);
	/* The old one stays if there can be no new one; nothing else does. */
	root.write("/d/file", "x");
	EXPECT_EQ(host.replace("/d", "text"), EISDIR);
	EXPECT_EQ(host.list(""), (std::vector<std::string>{"a", "d"}));
	EXPECT_EQ(host.replace("/none/a", "text"), ENOENT);
	std::filesystem::create_symlink("a", root.path("/link"));
	EXPECT_EQ(host.replace("/link", "two"), 0);
	EXPECT_TRUE(std::filesystem::is_symlink(root.path("/link")));
	EXPECT_EQ(host.read("/a").text, "two");
	/* As /dev/null must, a pipe stays. */
	const std::string pipe = root.path("/pipe");

	ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
	EXPECT_EQ(host.replace("/pipe", "text"), ENXIO);
	const int fd = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char text[8] = {};

	ASSERT_GE(fd, 0);
	EXPECT_EQ(host.replace("/pipe", "text"), 0);
	EXPECT_EQ(read(fd, text, sizeof(text)), 4);
	EXPECT_STREQ(text, "text");
	EXPECT_TRUE(std::filesystem::is_fifo(pipe));
	close(fd);
}

TEST(LocalHost, HoldsALock)
{
	const TempRoot root;
	LocalHost host(root.path(""));
	const std::string path = root.path("/run/mrc/lock");
	std::shared_ptr<void> held = host.lock("/run/mrc/lock");
	const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(flock(fd, LOCK_EX | LOCK_NB), -1);
	held.reset();
	EXPECT_EQ(flock(fd, LOCK_EX | LOCK_NB), 0);
	close(fd);
	root.write("/file", "");
	EXPECT_THROW(host.lock("/file/lock"), DeviceError);
	EXPECT_NE(LocalHost().network_namespace(), "0");
	EXPECT_EQ(LocalHost().network_namespace(),
		  LocalHost().network_namespace());
}

/* Each file vanishes while doctor reads, one by one. */
TEST_F(DoctorTest, SurvivesAttributesThatVanish)
{
	const auto whole = host_.files;

	for (const auto &[path, text] : whole) {
		host_.files = whole;
		for (const int err : {ENOENT, EINVAL, EIO}) {
			host_.errors = {{path, err}};
			const Result r = run("doctor --peer 10.1.0.2");

			EXPECT_EQ(r.err, "") << path;
			EXPECT_TRUE(r.status == 0 || r.status == 1) << path;
			EXPECT_TRUE(has(r.out, " errors, ") ||
				    has(r.out, "1 error, "))
				<< path;
		}
		host_.errors.clear();
		host_.files.erase(path);
		EXPECT_EQ(run("doctor --peer 10.1.0.2").err, "") << path;
		EXPECT_EQ(run("show-gids").err, "") << path;
	}
}

TEST_F(DoctorTest, PrintsNothingThatControlsATerminal)
{
	const std::string evil = "\x1b[2J\x07\xff\x80'; reboot #\t\n";
	const auto whole = host_.files;
	const auto programs = host_.programs;

	for (const auto &[path, text] : whole) {
		host_.files = whole;
		host_.files[path] = evil;
		EXPECT_TRUE(is_clean(run("doctor --peer 10.1.0.2").out))
			<< path;
		EXPECT_TRUE(is_clean(run("show-gids").out)) << path;
		host_.files[path] = std::string(100000, 'A');
		EXPECT_LT(run("doctor").out.size(), 20000u) << path;
	}
	host_.files = whole;
	for (const auto &[command, answer] : programs) {
		host_.programs = programs;
		host_.programs[command].out = evil;
		EXPECT_TRUE(is_clean(run("doctor --peer 10.1.0.2").out))
			<< command;
		host_.programs[command].status = 1;
		host_.programs[command].err = evil;
		EXPECT_TRUE(is_clean(run("doctor --peer 10.1.0.2").out))
			<< command;
	}
}

/* Names of netdevs are chosen by whoever makes them, in a container also. */
TEST_F(DoctorTest, QuotesNamesInCommands)
{
	links(R"([{"ifname":"mrc0","port":1,"netdev":"eth0"},)"
	      R"({"ifname":"mrc0","port":2,"netdev":"a;reboot'"}])");
	host_.files["/sys/class/net/a;reboot'/mtu"] = "1500\n";
	EXPECT_TRUE(has(said("error", "mtu"),
			R"(| ip link set 'a;reboot'\''' mtu 4500)"));
	links(R"([{"ifname":"mrc0","port":1,"netdev":"../../etc"},)"
	      R"({"ifname":"mrc0","port":2,"netdev":7}])");
	EXPECT_TRUE(has(said("note", "namespace"), "ports 1 2"));
	EXPECT_EQ(doctor::shell_word("eth1.5"), "eth1.5");
	EXPECT_EQ(doctor::sysctl_name("eth1.5"), "eth1/5");
	EXPECT_EQ(doctor::sysctl_name("a b"), "'a b'");
}

/* JSON of any shape, as a program of another version may print it. */
TEST_F(DoctorTest, SurvivesAnyJson)
{
	const auto programs = host_.programs;
	const std::vector<std::string> shapes = {
		"null",
		"[]",
		"{}",
		"[[]]",
		"[null]",
		"[{}]",
		"7",
		"\"x\"",
		R"([{"ifname":7,"port":"1","netdev":null}])",
		R"([{"ifname":"mrc0","port":-1,"netdev":"eth0"}])",
		R"([{"dev":"eth0","metrics":{"mtu":7},"nexthops":[7,null]}])",
		R"([{"dev":"eth0","metrics":[null,{"mtu":"x"}],"via":7}])",
		R"([{"state":7},{"state":[7,null,"FAILED"]}])",
		R"({"nftables":[null,7,{"chain":7},{"rule":[]},{"chain":{)"
		R"("hook":"input","policy":7,"name":"c","table":"t"}},)"
		R"({"rule":{"chain":"c","table":"t","expr":[7,{},{"match":7},)"
		R"({"match":{"op":"==","left":[],"right":{"set":[7,{}]}}},)"
		R"({"vmap":{"key":7,"data":{"set":[[1],7,[1,{}]]}}}]}}]})",
		std::string(20000, '['),
	};

	for (const auto &[command, answer] : programs)
		for (const std::string &shape : shapes) {
			host_.programs = programs;
			host_.programs[command].out = shape;
			const Result r = run("doctor --peer 10.1.0.2");

			EXPECT_EQ(r.err, "") << command << " " << shape;
			EXPECT_TRUE(is_clean(r.out)) << command << shape;
		}
}
} // namespace mrcctl

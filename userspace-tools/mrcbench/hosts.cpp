// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "hosts.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.hpp"

extern char **environ;

namespace mrcbench
{
namespace
{
using mrcperf::fail_errno;
using mrcperf::RunError;

/* Room for the headers of the largest packet, including outer headers. */
constexpr uint32_t headers = 404;
/* More than any window, so that only the requested losses happen. */
constexpr unsigned int netem_limit = 100000;
constexpr int active_tries = 200; /* of 50 ms */

class Fd
{
public:
	explicit Fd(int fd, const std::string &what) : fd_(fd)
	{
		if (fd < 0)
			fail_errno(what, errno);
	}
	Fd(const Fd &) = delete;
	Fd &operator=(const Fd &) = delete;
	~Fd() { shut(); }
	void shut()
	{
		if (fd_ >= 0)
			close(fd_);
		fd_ = -1;
	}
	int get() const { return fd_; }

private:
	int fd_;
};

/* While it exists, this thread is in the host's namespace. */
class Inside
{
public:
	explicit Inside(const std::string &space)
		: own_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC),
		       "own namespace")
	{
		const Fd other(open(("/run/netns/" + space).c_str(),
				    O_RDONLY | O_CLOEXEC),
			       space);

		if (setns(other.get(), CLONE_NEWNET))
			fail_errno(space, errno);
	}
	Inside(const Inside &) = delete;
	Inside &operator=(const Inside &) = delete;
	~Inside()
	{
		if (setns(own_.get(), CLONE_NEWNET))
			std::abort(); /* the thread is in the wrong namespace */
	}

private:
	Fd own_;
};

/* The output of a program in one line, for tables and CSV. */
std::string one_line(std::string text)
{
	while (!text.empty() && text.back() == '\n')
		text.pop_back();
	std::replace(text.begin(), text.end(), '\n', ';');
	return text;
}

std::string read_all(int fd)
{
	std::string text;
	std::array<char, 4096> buffer;

	for (;;) {
		const ssize_t n = read(fd, buffer.data(), buffer.size());

		if (n > 0)
			text.append(buffer.data(), static_cast<size_t>(n));
		else if (!n || errno != EINTR)
			return text;
	}
}
} // namespace

void run_program(const std::vector<std::string> &words,
		 const std::string &input)
{
	std::vector<char *> argv;
	int in[2], out[2];
	pid_t pid = 0;
	int status = 0;

	argv.reserve(words.size() + 1);
	for (const std::string &w : words)
		argv.push_back(const_cast<char *>(w.c_str()));
	argv.push_back(nullptr);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in))
		fail_errno("pipe", errno);
	Fd in_read(in[0], "pipe"), in_write(in[1], "pipe");

	if (pipe2(out, O_CLOEXEC))
		fail_errno("pipe", errno);
	Fd out_read(out[0], "pipe"), out_write(out[1], "pipe");
	posix_spawn_file_actions_t actions;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in_read.get(), 0);
	posix_spawn_file_actions_adddup2(&actions, out_write.get(), 1);
	posix_spawn_file_actions_adddup2(&actions, out_write.get(), 2);
	const int err = posix_spawnp(&pid, argv[0], &actions, nullptr,
				     argv.data(), environ);

	posix_spawn_file_actions_destroy(&actions);
	if (err)
		fail_errno(words[0], err);
	in_read.shut();
	out_write.shut();
	/* A program that does not read all input prints the reason. */
	for (size_t done = 0; done < input.size();) {
		const ssize_t n = send(in_write.get(), input.data() + done,
				       input.size() - done, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		done += static_cast<size_t>(n);
	}
	in_write.shut();
	const std::string said = read_all(out_read.get());

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		std::string line;

		for (const std::string &w : words)
			line += w + " ";
		throw RunError(fmt::format("{}failed: {}", line,
					   one_line(said)));
	}
}

Hosts::Hosts(unsigned int number, const std::string &column,
	     unsigned int planes, uint32_t mtu)
	: number_(number), column_(column), planes_(planes), mtu_(mtu)
{
	try {
		build();
	} catch (...) {
		remove();
		throw;
	}
}

Hosts::~Hosts()
{
	remove();
}

std::string Hosts::space(int side) const
{
	return fmt::format("mrcbench{}{}", number_, "ab"[side]);
}

std::string Hosts::device(int side) const
{
	return tcp() ? ""
		     : fmt::format("{}b{}{}", column_, number_, "ab"[side]);
}

std::string Hosts::netdev(int side, unsigned int plane) const
{
	return fmt::format("p{}{}", "ab"[side], plane + 1);
}

Place Hosts::place(int side) const
{
	return {column_, device(side), addresses[side]};
}

/* Neighbours are entered, not resolved, so that packet loss cannot affect them.
 */
std::string Hosts::side_commands(int side) const
{
	std::string c = "link set lo up\n";

	for (unsigned int p = 0; p < planes_; p++) {
		const std::string dev = netdev(side, p);

		c += fmt::format("link set {} up\n", dev);
		c += fmt::format("addr add {}/32 dev {}\n", addresses[side],
				 dev);
		c += fmt::format(
			"route add {}/32 dev {} src {} metric {}\n",
			addresses[1 - side], dev, addresses[side], 101 + p);
		c += fmt::format("neigh replace {} lladdr 02:00:00:00:{:02x}:"
				 "{:02x} dev {} nud permanent\n",
				 addresses[1 - side], 0x0a + 1 - side, p + 1,
				 dev);
	}
	return c;
}

void Hosts::build()
{
	std::string veths;

	for (int side = 0; side < 2; side++) {
		run_program({"ip", "netns", "add", space(side)});
		made_[side] = true;
	}
	for (unsigned int p = 0; p < planes_; p++)
		veths += fmt::format(
			"link add name {} mtu {} address 02:00:00:00:0a:{:02x} "
			"netns {} type veth peer name {} mtu {} address "
			"02:00:00:00:0b:{:02x} netns {}\n",
			netdev(0, p), mtu_ + headers, p + 1, space(0),
			netdev(1, p), mtu_ + headers, p + 1, space(1));
	run_program({"ip", "-batch", "-"}, veths);
	for (int side = 0; side < 2; side++) {
		run_program({"ip", "netns", "exec", space(side), "sysctl",
			     "-q", "-w", "net.ipv4.conf.all.rp_filter=0",
			     "net.ipv4.conf.default.rp_filter=0",
			     "net.ipv4.conf.all.arp_ignore=1"});
		run_program({"ip", "-n", space(side), "-batch", "-"},
			    side_commands(side));
		offloads(side, column_ == "tcp-offload");
		if (!tcp())
			add_devices(side);
	}
	for (int side = 0; side < 2 && !tcp(); side++)
		wait_active(side);
}

void Hosts::add_devices(int side) const
{
	for (unsigned int p = 0; p < planes_; p++)
		run_program({"ip", "netns", "exec", space(side), "rdma",
			     "link", "add", device(side), "type", column_,
			     "netdev", netdev(side, p)});
}

void Hosts::wait_active(int side) const
{
	for (unsigned int p = 0; p < planes_; p++) {
		const std::string state = fmt::format(
			"/sys/class/infiniband/{}/ports/{}/state", device(side),
			p + 1);

		for (int i = 0;; i++) {
			if (file_text(state).find("ACTIVE") !=
			    std::string::npos)
				break;
			if (i == active_tries)
				throw RunError(fmt::format(
					"port {} of {} does not become active",
					p + 1, device(side)));
			poll(nullptr, 0, 50);
		}
	}
}

/* Segmentation and receive offloads, which combine small packets into large
 * ones.
 */
void Hosts::offloads(int side, bool on) const
{
	const Inside inside(space(side));
	const Fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");

	for (unsigned int p = 0; p < planes_; p++)
		for (const uint32_t what :
		     {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO}) {
			ethtool_value value{.cmd = what, .data = on};
			ifreq request{};

			netdev(side, p).copy(request.ifr_name, IFNAMSIZ - 1);
			request.ifr_data = reinterpret_cast<char *>(&value);
			if (ioctl(fd.get(), SIOCETHTOOL, &request))
				fail_errno("offloads", errno);
		}
}

void Hosts::enter(bool server) const
{
	const Fd fd(open(("/run/netns/" + space(server)).c_str(),
			 O_RDONLY | O_CLOEXEC),
		    space(server));

	if (setns(fd.get(), CLONE_NEWNET))
		fail_errno(space(server), errno);
}

void Hosts::impair(const std::string &netem, const std::string &back)
{
	for (int side = 0; side < 2; side++) {
		const std::string &want = side ? back : netem;
		std::string commands;

		if (want == impaired_[side])
			continue;
		for (unsigned int p = 0; p < planes_; p++)
			commands +=
				want.empty()
					? fmt::format("qdisc del dev {} root\n",
						      netdev(side, p))
					: fmt::format("qdisc replace dev {} "
						      "root netem limit {} "
						      "{}\n",
						      netdev(side, p),
						      netem_limit, want);
		run_program({"tc", "-n", space(side), "-batch", "-"}, commands);
		impaired_[side] = want;
	}
}

void Hosts::remove() noexcept
{
	for (int side = 0; side < 2; side++) {
		/* A namespace that existed before belongs to someone else. */
		if (!made_[side])
			continue;
		/* The device may not exist. */
		if (!tcp())
			try {
				run_program({"rdma", "link", "del",
					     device(side)});
			} catch (const std::exception &) {
			}
		try {
			run_program({"ip", "netns", "del", space(side)});
		} catch (const std::exception &) {
		}
	}
}
} // namespace mrcbench

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_faults: kernel calls that run out of memory at each of their allocations.
 *
 *	run STATE LABEL COMMAND...	a program below libmrc_faults.so
 *	report STATE			how far each kind of call is
 *	load STATE FILE [PARAMETERS]	load a module; it is loaded in the end
 *	unload STATE NAME		unload it; one failing allocation
 *	link STATE DEVICE NETDEV [HAS...]	rdma link add; it is there in the end.
 *				HAS: netdevs of the device's planes before
 *	consumer STATE FILE [PARAMETERS]	load mrc_kverbs and unload it
 *	read STATE FILE			read a file of the kernel's
 *	write STATE FILE TEXT		write to one
 *
 * Exit status: what COMMAND returned; 0 all is swept, 1 failed, 2 usage, 3
 * something is not swept yet, 77 the kernel cannot do it.
 */
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sstream>
#include <string>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "../common/failure.hpp"
#include "sweep.hpp"

namespace
{
using Words = std::vector<std::string>;

faults::State &state(const std::string &path)
{
	faults::State *s = faults::open_state(path.c_str());

	if (!s)
		throw Failure(path + ": " + std::strerror(errno));
	return *s;
}

faults::Kind *kind(const Words &w, const std::string &name)
{
	faults::Kind *k = faults::find(&state(w.at(1)), name.c_str());

	if (!k)
		throw Failure("too many kinds of calls");
	return k;
}

void count(faults::Kind *k, int err)
{
	if (!err)
		faults::count(k->survived);
	else if (faults::lack_of_memory(err))
		faults::count(k->refused);
	else
		faults::note_odd(*k, err);
}

int run(const Words &w)
{
	const auto lib =
		std::filesystem::read_symlink("/proc/self/exe").parent_path() /
		"libmrc_faults.so";
	std::vector<char *> argv;

	if (w.size() < 4)
		throw Failure("run STATE LABEL COMMAND...");
	setenv("MRC_FAULTS", w[1].c_str(), 1);
	setenv("MRC_FAULTS_LABEL", w[2].c_str(), 1);
	setenv("LD_PRELOAD", lib.c_str(), 1);
	for (size_t i = 3; i < w.size(); i++)
		argv.push_back(const_cast<char *>(w[i].c_str()));
	argv.push_back(nullptr);
	execvp(argv[0], argv.data());
	throw Failure(w[3] + ": " + std::strerror(errno));
}

/* A line for each kind: swept or at which allocation, refused, survived, odd.
 */
int report(const Words &w)
{
	bool all = true;

	for (const faults::Kind &k : state(w.at(1)).kinds) {
		if (k.used != 2)
			continue;
		std::printf("%s: %s %u refused %u survived %u odd %u", k.name,
			    k.swept ? "swept" : "not-swept", k.next - 1,
			    k.refused, k.survived, k.odd);
		for (const uint32_t e : k.errnos)
			if (e)
				std::printf(
					" %s",
					strerrorname_np(static_cast<int>(e)));
		std::printf("\n");
		all = all && k.swept;
	}
	return all ? 0 : 3;
}

/*
 * What can be undone, until nothing of it fails: each allocation in turn. Where
 * many neighbours have the same outcome, it is a loop that allocates the same
 * (512 receives of each management queue pair): of these every 16th, and the
 * last 16. @many is how many that takes. @outcome says, with all allocations at
 * hand, what became of a call that returned an errno or, for success, 0: the
 * same or another.
 */
template <typename F, typename O, typename U>
int to_the_end(faults::Kind *k, F call, O outcome, U undo, uint32_t many = 24)
{
	constexpr uint32_t stride = 16;
	uint32_t nth = 1, step = 1, same = 0;
	int last = -1;

	while (nth <= faults::max_nth) {
		faults::Armed armed(nth);
		const auto ret = call();
		const int said = ret < 0 ? errno : 0;
		const bool hit = armed.hit();
		const int err = outcome(said);

		k->next = nth + 1;
		if (!hit && step == 1) {
			k->swept = 1;
			if (!err)
				return 0;
			throw Failure(std::string(k->name) + ": " +
				      std::strerror(err));
		}
		if (hit)
			count(k, err);
		if (!err)
			undo();
		if (step > 1 && (!hit || err != last)) {
			nth -= stride - 1;
			step = 1;
			same = 0;
			continue;
		}
		same = err == last ? same + 1 : 0;
		last = err;
		if (same >= many)
			step = stride;
		nth += step;
	}
	throw Failure(std::string(k->name) + ": has no end");
}

/* Of a call that says by itself what became of it. */
int as_said(int err)
{
	return err;
}

/* By its bytes: of a file the kernel would note in its log that it has no room.
 */
std::string bytes_of(const std::string &path)
{
	std::ifstream in(path, std::ios::binary);
	std::ostringstream out;

	out << in.rdbuf();
	if (!in || out.str().empty())
		throw Failure(path + ": cannot be read");
	return out.str();
}

void unload_now(const std::string &name)
{
	if (syscall(SYS_delete_module, name.c_str(), O_NONBLOCK))
		throw Failure("cannot unload " + name + ": " +
			      std::strerror(errno));
}

/* STATE FILE [PARAMETERS...] */
struct Module {
	explicit Module(const Words &w)
		: name(std::filesystem::path(w.at(2)).stem()),
		  bytes(bytes_of(w[2]))
	{
		for (size_t i = 3; i < w.size(); i++)
			params += (params.empty() ? "" : " ") + w[i];
	}
	long init() const
	{
		return syscall(SYS_init_module, bytes.data(), bytes.size(),
			       params.c_str());
	}

	const std::string name;

private:
	const std::string bytes;
	std::string params;
};

int load(const Words &w)
{
	const Module m(w);

	return to_the_end(
		kind(w, "load " + m.name), [&] { return m.init(); }, as_said,
		[&] { unload_now(m.name); });
}

/*
 * The errno of the tests that failed in a consumer, 0 if none did: lines of TAP,
 * before each the calls that failed in it, the cause first, "# FILE:LINE: CALL:
 * -ERRNO".
 */
int errno_of(const std::string &result)
{
	std::istringstream lines(result);
	std::string line;
	int err = 0, cause = 0;

	while (std::getline(lines, line)) {
		if (line.starts_with("# ")) {
			const auto at = line.rfind(' ') + 1;

			if (!cause)
				cause = std::atoi(line.substr(at).c_str());
			continue;
		}
		if (line.starts_with("not ok")) {
			if (cause >= 0 || err)
				throw Failure(result);
			err = -cause;
		}
		cause = 0;
	}
	if (result.find("1..") == std::string::npos)
		throw Failure("not at its end: " + result);
	return err;
}

/*
 * A consumer in the kernel: one of its tests says that there is no memory, or all
 * do what they always do.
 */
int consumer(const Words &w)
{
	const Module m(w);
	const std::string where =
		"/sys/module/" + m.name + "/parameters/result";

	return to_the_end(
		kind(w, m.name + " " + w.back()),
		[&] { return m.init(); },
		[&](int err) {
			if (err)
				return err;
			std::ifstream in(where);
			std::ostringstream text;

			text << in.rdbuf();
			unload_now(m.name);
			return errno_of(text.str());
		},
		[] {});
}

int unload(const Words &w)
{
	const std::string &name = w.at(2);
	const long ret = faults::once(kind(w, "unload " + name), [&] {
		return syscall(SYS_delete_module, name.c_str(), O_NONBLOCK);
	});

	if (ret < 0)
		throw Failure("unload " + name + ": " + std::strerror(errno));
	return 0;
}

/* --- rdma link add, as a request of netlink --------------------------------
 */

class Netlink
{
public:
	Netlink()
		: fd_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA))
	{
		if (fd_ < 0)
			throw Failure(std::string("netlink: ") +
				      std::strerror(errno));
	}
	Netlink(const Netlink &) = delete;
	Netlink &operator=(const Netlink &) = delete;
	~Netlink() { close(fd_); }

	/* Less than 0 and errno, as a system call. */
	int newlink(const std::string &dev, const std::string &netdev);

private:
	void add(uint16_t type, const std::string &text);

	const int fd_;
	alignas(NLMSG_ALIGNTO) std::array<char, 512> buf_{};
};

void Netlink::add(uint16_t type, const std::string &text)
{
	auto *hdr = reinterpret_cast<nlmsghdr *>(buf_.data());
	const nlattr attr{static_cast<uint16_t>(NLA_HDRLEN + text.size() + 1),
			  type};
	char *at = buf_.data() + NLMSG_ALIGN(hdr->nlmsg_len);

	if (text.size() > 64)
		throw Failure("too long a name: " + text);
	std::memcpy(at, &attr, sizeof(attr));
	std::memcpy(at + NLA_HDRLEN, text.c_str(), text.size() + 1);
	hdr->nlmsg_len = NLMSG_ALIGN(hdr->nlmsg_len) + NLA_ALIGN(attr.nla_len);
}

int Netlink::newlink(const std::string &dev, const std::string &netdev)
{
	auto *hdr = reinterpret_cast<nlmsghdr *>(buf_.data());
	nlmsgerr reply{};

	buf_.fill(0);
	hdr->nlmsg_len = NLMSG_HDRLEN;
	hdr->nlmsg_type =
		RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK);
	hdr->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	add(RDMA_NLDEV_ATTR_DEV_NAME, dev);
	add(RDMA_NLDEV_ATTR_LINK_TYPE, "mrc");
	add(RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	if (send(fd_, buf_.data(), hdr->nlmsg_len, 0) < 0)
		return -1;
	/* The kernel answers before send() is back, or could not for lack of
	 * memory. */
	const ssize_t n = recv(fd_, buf_.data(), buf_.size(), MSG_DONTWAIT);

	if (n < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof(reply)))
		return -1;
	std::memcpy(&reply, buf_.data() + NLMSG_HDRLEN, sizeof(reply));
	errno = -reply.error;
	return reply.error ? -1 : 0;
}

void link_del(const std::string &dev)
{
	const std::string cmd = "rdma link del " + dev;

	if (std::system(cmd.c_str()))
		throw Failure(cmd + " fails");
}

/* How many planes the device has; none where there is no such device. */
std::size_t planes(const std::string &dev)
{
	std::error_code none;
	const std::filesystem::directory_iterator dir(
		"/sys/class/infiniband/" + dev + "/ports", none);

	return static_cast<std::size_t>(std::distance(begin(dir), end(dir)));
}

int link(const Words &w)
{
	const std::string &dev = w.at(2), &netdev = w.at(3);
	const Words has(w.begin() + 4, w.end());
	Netlink nl;

	return to_the_end(
		kind(w, has.empty() ? "link add" : "link add of a plane"),
		[&] { return nl.newlink(dev, netdev); },
		[&](int err) {
			const std::size_t n = planes(dev);

			/* The answer could not be sent. */
			if ((err == EAGAIN || err == ENOBUFS) &&
			    n == has.size() + 1)
				return 0;
			if (n != has.size() + (err ? 0 : 1))
				throw Failure(dev + " has " +
					      std::to_string(n) +
					      " planes after " +
					      std::strerror(err));
			return err;
		},
		[&] {
			link_del(dev);
			for (const std::string &had : has)
				if (nl.newlink(dev, had))
					throw Failure("link add of " + had +
						      ": " +
						      std::strerror(errno));
		},
		/* Registering is swept with the first plane; here it takes
		 * thrice as long. */
		has.empty() ? 24 : 8);
}

/* Opened each time: files of sysfs and debugfs make their text when they are
 * read. */
int file(const Words &w, bool writes)
{
	const std::string &path = w.at(2);
	const std::string text = writes ? w.at(3) : "";

	return to_the_end(
		kind(w,
		     (writes ? "write " : "read ") +
			     std::filesystem::path(path).filename().string()),
		[&]() -> ssize_t {
			char buf[4096];
			const int fd = open(path.c_str(),
					    (writes ? O_WRONLY : O_RDONLY) |
						    O_CLOEXEC);

			if (fd < 0)
				return fd;
			const ssize_t n =
				writes ? write(fd, text.data(), text.size())
				       : read(fd, buf, sizeof(buf));
			const int err = errno;

			close(fd);
			errno = err;
			return n;
		},
		as_said, [] {});
}

int command(const Words &w)
{
	if (w.at(0) == "report")
		return report(w);
	if (!faults::available()) {
		std::fprintf(stderr,
			     "mrc_faults: no fault injection in this kernel\n");
		return 77;
	}
	if (w[0] == "run")
		return run(w);
	if (w[0] == "load")
		return load(w);
	if (w[0] == "unload")
		return unload(w);
	if (w[0] == "consumer")
		return consumer(w);
	if (w[0] == "link")
		return link(w);
	if (w[0] == "read" || w[0] == "write")
		return file(w, w[0] == "write");
	return 2;
}
} // namespace

int main(int argc, char **argv)
{
	try {
		const int ret = command(Words(argv + 1, argv + argc));

		if (ret == 2)
			std::fprintf(
				stderr,
				"mrc_faults: see the head of its source\n");
		return ret;
	} catch (const std::out_of_range &) {
		std::fprintf(stderr, "mrc_faults: too few arguments\n");
		return 2;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "mrc_faults: %s\n", e.what());
		return 1;
	}
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "netns.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <fstream>
#include <latch>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "../common/netns_cookie.hpp"
#include "error.hpp"

namespace mrclab
{
namespace
{
namespace fs = std::filesystem;

/* Namespaces that are made at a time, each by a thread. */
constexpr std::size_t at_a_time = 64;

constexpr const char *names = "/run/netns";

std::string path_of(const std::string &name)
{
	return std::string(names) + "/" + name;
}

uint64_t inode_of(const std::string &path)
{
	struct stat st;

	return stat(path.c_str(), &st) == 0 ? st.st_ino : 0;
}

/* Of the calling thread's namespace. */
uint64_t my_cookie()
{
	uint64_t cookie = 0;

	if (const int err = own_netns_cookie(cookie))
		throw SystemError("the cookie of a network namespace", err);
	return cookie;
}

bool is_netns(const std::string &path)
{
	struct statfs fs;

	return statfs(path.c_str(), &fs) == 0 && fs.f_type == NSFS_MAGIC;
}

/* In the namespace of the calling thread. */
void write_sysctl(const std::string &name, const std::string &value)
{
	const std::string path = "/proc/sys/net/" + name;

	errno = 0;

	std::ofstream out(path);

	out << value << std::flush;
	/* A kernel without IPv4 multipath has no setting for it. */
	if (!out && errno != ENOENT)
		throw SystemError(path, errno ? errno : EIO);
}

/*
 * Names are files on which namespaces are mounted. As ip-netns(8) does, the
 * directory is a shared mount: a name that is removed in one mount namespace is
 * removed in all.
 */
void prepare_names()
{
	std::error_code err;

	fs::create_directories(names, err);
	if (err)
		throw SystemError(names, err.value());
	if (mount("", names, "none", MS_SHARED | MS_REC, nullptr) == 0)
		return;
	/* It is no mount yet. */
	if (errno != EINVAL ||
	    mount(names, names, "none", MS_BIND | MS_REC, nullptr) != 0 ||
	    mount("", names, "none", MS_SHARED | MS_REC, nullptr) != 0)
		throw SystemError(names, errno);
}

/* Names the calling thread's namespace. The name must be new. */
void name_mine(const std::string &name)
{
	const std::string path = path_of(name);
	const int fd =
		open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);

	if (fd < 0)
		throw SystemError(path, errno);
	close(fd);
	if (mount("/proc/thread-self/ns/net", path.c_str(), "none", MS_BIND,
		  nullptr) != 0) {
		const int err = errno;

		unlink(path.c_str());
		throw SystemError(path, err);
	}
}

/* A thread in a namespace that was made for it. */
struct Founder {
	std::thread thread;
	uint64_t cookie = 0;
	std::exception_ptr failure;
};

/*
 * Makes the namespace, and names it when all cookies are recorded. The other
 * threads are waited for also after an error.
 */
void found(const NewNetns &ns, Founder &f, std::latch &ready,
	   std::latch &recorded, const bool &go)
{
	const auto attempt = [&f](const auto &step) {
		try {
			step();
		} catch (...) {
			f.failure = std::current_exception();
		}
	};

	attempt([&] {
		if (unshare(CLONE_NEWNET) != 0)
			throw SystemError("cannot make the network namespace " +
						  ns.name,
					  errno);
		f.cookie = my_cookie();
		for (const auto &[name, value] : ns.sysctls)
			write_sysctl(name, value);
	});
	ready.count_down();
	recorded.wait();
	if (go)
		attempt([&] { name_mine(ns.name); });
}

void make_some(const NewNetns *first, std::size_t n,
	       const std::function<void(const Cookies &)> &made)
{
	std::vector<Founder> founders(n);
	std::latch ready(static_cast<std::ptrdiff_t>(n)), recorded(1);
	Cookies cookies;
	std::exception_ptr failure;
	bool go = false;
	const auto check = [&] {
		for (const Founder &f : founders)
			if (f.failure)
				std::rethrow_exception(f.failure);
	};

	for (std::size_t i = 0; i < n; i++) {
		try {
			founders[i].thread = std::thread([&, i] {
				found(first[i], founders[i], ready, recorded,
				      go);
			});
		} catch (const std::system_error &e) {
			founders[i].failure = std::make_exception_ptr(
				SystemError("cannot start a thread",
					    e.code().value()));
			ready.count_down();
		}
	}
	ready.wait();
	try {
		check();
		for (std::size_t i = 0; i < n; i++)
			cookies[first[i].name] = founders[i].cookie;
		made(cookies);
		go = true;
	} catch (...) {
		failure = std::current_exception();
	}
	recorded.count_down();
	for (Founder &f : founders)
		if (f.thread.joinable())
			f.thread.join();
	if (failure)
		std::rethrow_exception(failure);
	check();
}
} // namespace

bool netns_exists(const std::string &name)
{
	struct stat st;

	return lstat(path_of(name).c_str(), &st) == 0;
}

uint64_t netns_inode(const std::string &name)
{
	return inode_of(path_of(name));
}

uint64_t netns_cookie(const std::string &name)
{
	uint64_t cookie = 0;

	if (!is_netns(path_of(name)))
		return 0;
	in_netns(name, [&cookie] { cookie = my_cookie(); });
	return cookie;
}

void make_netns(const std::vector<NewNetns> &all,
		const std::function<void(const Cookies &)> &made)
{
	prepare_names();
	for (std::size_t i = 0; i < all.size(); i += at_a_time)
		make_some(&all[i], std::min(at_a_time, all.size() - i), made);
}

void remove_empty_name(const std::string &name)
{
	const std::string path = path_of(name);
	struct stat st;

	if (lstat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size == 0 && (st.st_mode & 0777) == 0 && !is_netns(path))
		unlink(path.c_str());
}

void check_mounts()
{
	const uint64_t mine = inode_of("/proc/self/ns/mnt");
	const uint64_t first = inode_of("/proc/1/ns/mnt");

	if (mine && first && mine != first)
		throw SystemError(
			"this process has mounts of its own, so that others "
			"would not see the fabric's network namespaces: run "
			"mrclab outside of \"ip netns exec\", \"mrclab shell\" "
			"and \"unshare\"");
}

void in_netns(const std::string &name, const std::function<void()> &work)
{
	std::exception_ptr failure;
	std::thread thread([&] {
		try {
			const int fd = open(path_of(name).c_str(),
					    O_RDONLY | O_CLOEXEC);
			const int rc = fd < 0 ? -1 : setns(fd, CLONE_NEWNET);
			const int err = errno;

			if (fd >= 0)
				close(fd);
			if (rc != 0)
				throw SystemError("network namespace " + name,
						  err);
			work();
		} catch (...) {
			failure = std::current_exception();
		}
	});

	thread.join();
	if (failure)
		std::rethrow_exception(failure);
}

void in_sysfs_of(const std::string &name, const std::function<void()> &work)
{
	in_netns(name, [&work] {
		if (unshare(CLONE_NEWNS) != 0 ||
		    mount("", "/", nullptr, MS_SLAVE | MS_REC, nullptr) != 0 ||
		    mount("sysfs", "/sys", "sysfs", MS_RDONLY, nullptr) != 0)
			throw SystemError("mounting /sys", errno);
		work();
	});
}

bool has_carrier(const std::string &netdev)
{
	const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ifreq req{};

	if (fd < 0)
		throw SystemError("socket", errno);
	netdev.copy(req.ifr_name, sizeof(req.ifr_name) - 1);
	const int rc = ioctl(fd, SIOCGIFFLAGS, &req);
	const int err = errno;

	close(fd);
	if (rc != 0)
		throw SystemError(netdev, err);
	return req.ifr_flags & IFF_RUNNING;
}
} // namespace mrclab

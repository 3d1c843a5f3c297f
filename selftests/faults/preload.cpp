// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libmrc_faults.so, for LD_PRELOAD: every call of a program that gets to RDMA
 * in the kernel (ioctl, open, mmap and close of /dev/infiniband, commands of
 * rdma_cm, netlink) runs out of memory first, at its first allocation, at its
 * second and so on, until it gets all it wants. So the program itself notices
 * nothing, and that it does what it always does shows that a failed call has
 * left nothing behind.
 *
 * close() cannot be repeated: each has one failing allocation. So has each
 * netlink request where MRC_FAULTS_NETLINK is set, because what became of it
 * comes in another message: the program gets the error, and whoever runs it
 * repeats it.
 *
 * MRC_FAULTS names the file in which is kept how far each kind of call is
 * (sweep.hpp); without it, or where the kernel cannot inject faults, nothing
 * happens. MRC_FAULTS_LABEL names the kind of queue pairs that the program
 * makes; MRC_FAULTS_SPARE, separated by commas, the kinds of calls that always
 * work; MRC_FAULTS_ONCE those that are not repeated, like close().
 */
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "names.hpp"
#include "sweep.hpp"

#define EXPORT extern "C" [[gnu::visibility("default")]]

namespace
{
using faults::Name;

template <typename F> F *real(F *, const char *name)
{
	return reinterpret_cast<F *>(dlsym(RTLD_NEXT, name));
}
#define REAL(f) real(static_cast<decltype(f) *>(nullptr), #f)

faults::State *state()
{
	static faults::State *const s = [] {
		const char *path = std::getenv("MRC_FAULTS");

		return path && faults::available() ? faults::open_state(path)
						   : nullptr;
	}();

	return s;
}

/* Is @name in @list, separated by commas? */
bool listed(const char *list, const char *name)
{
	const std::size_t len = std::strlen(name);

	for (const char *at = list; at && (at = std::strstr(at, name));
	     at += len)
		if ((at == list || at[-1] == ',') &&
		    (!at[len] || at[len] == ','))
			return true;
	return false;
}

/* Is it one of those that the test wants to work? */
bool spared(const char *name)
{
	static const char *const list = std::getenv("MRC_FAULTS_SPARE");

	return listed(list, name);
}

/* Does a failed one leave something that no second one can use? */
bool unrepeated(const char *name)
{
	static const char *const list = std::getenv("MRC_FAULTS_ONCE");

	return listed(list, name);
}

faults::Kind *kind(const Name &name)
{
	return state() && name[0] && !spared(name.data())
		       ? faults::find(state(), name.data())
		       : nullptr;
}

/* Where the file lies that @fd is of. */
struct Path {
	explicit Path(int fd)
	{
		char link[32];

		std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		const long n =
			syscall(SYS_readlink, link, text, sizeof(text) - 1);

		text[n > 0 ? n : 0] = 0;
	}
	bool in(const char *where) const
	{
		return !std::strncmp(text, where, std::strlen(where));
	}

	char text[64];
};

constexpr const char *devices = "/dev/infiniband/";
constexpr const char *uverbs = "/dev/infiniband/uverbs";
constexpr const char *cm = "/dev/infiniband/rdma_cm";

Name plain(const char *what, const char *path)
{
	Name n{};

	std::snprintf(n.data(), n.size(), "%s %s", what,
		      std::strncmp(path, cm, std::strlen(cm)) ? "uverbs"
							      : "rdma_cm");
	return n;
}

/* The protocol of a netlink socket, -1 for another. */
int netlink(int fd)
{
	int domain = -1, protocol = -1;
	socklen_t len = sizeof(domain);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) ||
	    domain != AF_NETLINK)
		return -1;
	len = sizeof(protocol);
	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len))
		return -1;
	return protocol;
}

faults::Kind *netlink_kind(int fd, const void *buf, std::size_t len)
{
	static const bool wanted = std::getenv("MRC_FAULTS_NETLINK");

	if (!wanted || !state())
		return nullptr;
	const int protocol = netlink(fd);

	return protocol < 0 ? nullptr
			    : kind(faults::netlink_name(protocol, buf, len));
}

template <typename F> int sweep_open(const char *path, F call)
{
	if (!state() || std::strncmp(path, devices, std::strlen(devices)))
		return call();
	return faults::sweep(kind(plain("open", path)), call);
}
} // namespace

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;

	va_start(ap, request);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	static auto *const next = REAL(ioctl);
	const auto call = [&] { return next(fd, request, arg); };

	if (!state() || request != RDMA_VERBS_IOCTL)
		return call();
	return faults::sweep(kind(faults::uverbs_name(arg)), call);
}

EXPORT ssize_t write(int fd, const void *buf, size_t len)
{
	static auto *const next = REAL(write);
	const auto call = [&] { return next(fd, buf, len); };

	if (!state() || !Path(fd).in(cm))
		return call();
	const Name name = faults::cm_name(buf, len);

	return unrepeated(name.data()) ? faults::once(kind(name), call)
				       : faults::sweep(kind(name), call);
}

EXPORT int open(const char *path, int flags, ...)
{
	va_list ap;

	va_start(ap, flags);
	const auto mode = va_arg(ap, mode_t);
	va_end(ap);
	static auto *const next = REAL(open);

	return sweep_open(path, [&] { return next(path, flags, mode); });
}

EXPORT int open64(const char *path, int flags, ...)
{
	va_list ap;

	va_start(ap, flags);
	const auto mode = va_arg(ap, mode_t);
	va_end(ap);
	static auto *const next = REAL(open64);

	return sweep_open(path, [&] { return next(path, flags, mode); });
}

EXPORT int openat(int dir, const char *path, int flags, ...)
{
	va_list ap;

	va_start(ap, flags);
	const auto mode = va_arg(ap, mode_t);
	va_end(ap);
	static auto *const next = REAL(openat);

	return sweep_open(path, [&] { return next(dir, path, flags, mode); });
}

EXPORT int close(int fd)
{
	static auto *const next = REAL(close);
	const auto call = [&] { return next(fd); };

	if (!state())
		return call();
	const Path path(fd);

	if (!path.in(devices))
		return call();
	return faults::once(kind(plain("close", path.text)), call);
}

EXPORT void *mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t offset) noexcept
{
	static auto *const next = REAL(mmap);
	const auto call = [&]() -> intptr_t {
		/* MAP_FAILED is -1 */
		return reinterpret_cast<intptr_t>(
			next(addr, len, prot, flags, fd, offset));
	};

	if (fd < 0 || !state() || !Path(fd).in(uverbs))
		return reinterpret_cast<void *>(call());
	return reinterpret_cast<void *>(
		faults::sweep(kind(plain("mmap", uverbs)), call));
}

EXPORT ssize_t sendmsg(int fd, const msghdr *msg, int flags)
{
	static auto *const next = REAL(sendmsg);
	const auto call = [&] { return next(fd, msg, flags); };

	if (!msg->msg_iovlen)
		return call();
	return faults::once(netlink_kind(fd, msg->msg_iov[0].iov_base,
					 msg->msg_iov[0].iov_len),
			    call);
}

EXPORT ssize_t sendto(int fd, const void *buf, size_t len, int flags,
		      const sockaddr *to, socklen_t to_len)
{
	static auto *const next = REAL(sendto);
	const auto call = [&] { return next(fd, buf, len, flags, to, to_len); };

	return faults::once(netlink_kind(fd, buf, len), call);
}

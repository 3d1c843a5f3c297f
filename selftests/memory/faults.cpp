// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "faults.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace
{
int open_faults()
{
	return static_cast<int>(
		syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK));
}
} // namespace

int patience_ms()
{
	const char *factor = std::getenv("LAB_TIME");

	return 20000 * std::max(1, factor ? std::atoi(factor) : 1);
}

bool in_time(const std::function<bool()> &done)
{
	using clock = std::chrono::steady_clock;
	const auto limit = clock::now() + std::chrono::milliseconds(patience_ms());

	while (!done()) {
		if (clock::now() > limit)
			return false;
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
	}
	return true;
}

bool has_userfaultfd()
{
	const int fd = open_faults();

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

Faults::Faults(Region &r) : r_(r), fd_(open_faults())
{
	uffdio_api api{};
	uffdio_register reg{};

	api.api = UFFD_API;
	reg.range.start = r.addr();
	reg.range.len = r.size;
	reg.mode = UFFDIO_REGISTER_MODE_MISSING;
	if (fd_ < 0 || ioctl(fd_, UFFDIO_API, &api) ||
	    ioctl(fd_, UFFDIO_REGISTER, &reg))
		throw Failure("userfaultfd: " + errno_text(errno));
}

Faults::~Faults()
{
	close(fd_);
}

uint64_t Faults::await(const std::string &what) const
{
	pollfd p{fd_, POLLIN, 0};
	uffd_msg msg{};

	if (poll(&p, 1, patience_ms()) != 1)
		throw Failure(what + ": nobody needs a page");
	if (read(fd_, &msg, sizeof(msg)) != sizeof(msg) ||
	    msg.event != UFFD_EVENT_PAGEFAULT)
		throw Failure(what + ": no page fault");
	return msg.arg.pagefault.address;
}

bool Faults::any() const
{
	pollfd p{fd_, POLLIN, 0};

	return poll(&p, 1, 0) == 1;
}

const Faults *Faults::first_of(const Faults &a, const Faults &b)
{
	pollfd p[] = {{a.fd_, POLLIN, 0}, {b.fd_, POLLIN, 0}};

	if (poll(p, 2, patience_ms()) <= 0)
		throw Failure("nobody needs a page");
	return p[0].revents ? &a : &b;
}

void Faults::serve(uint64_t at, uint64_t len) const
{
	uffdio_zeropage zero{};

	zero.range.start = at;
	zero.range.len = len;
	if (ioctl(fd_, UFFDIO_ZEROPAGE, &zero))
		throw Failure("zero page: " + errno_text(errno));
}

void run_served(const Part &run, const char *name,
		void (*fn)(Dev &, tap::Check &))
{
	if (has_paging(run.d) && has_userfaultfd())
		run(name, fn);
	else if (std::string(name).find(run.part) != std::string::npos)
		std::printf("ok %s # SKIP no paging or no userfaultfd\n", name);
}

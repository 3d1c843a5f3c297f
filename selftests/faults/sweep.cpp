// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sweep.hpp"

#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace
{
/*
 * System calls as such: the functions of these names may be those of
 * preload.cpp, and nothing here may allocate.
 */
long raw_open(const char *path, int flags)
{
	return syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);
}

/* The file in which this thread says which allocation is to fail. */
int fail_nth()
{
	static thread_local int fd = -2;
	static thread_local long owner;
	const long self = syscall(SYS_gettid);

	/* After fork() it is another's. */
	if (fd == -2 || owner != self) {
		fd = static_cast<int>(
			raw_open("/proc/thread-self/fail-nth", O_RDWR));
		owner = self;
	}
	return fd;
}

bool write_nth(uint32_t nth)
{
	char text[16];
	const int n = std::snprintf(text, sizeof(text), "%u", nth);

	return syscall(SYS_pwrite64, fail_nth(), text, n, 0) == n;
}
} // namespace

namespace faults
{
bool available()
{
	return write_nth(0);
}

Armed::Armed(uint32_t nth) : armed_(write_nth(nth)) {}

Armed::~Armed()
{
	hit();
}

bool Armed::hit()
{
	char text[16]{};

	if (!armed_)
		return hit_;
	armed_ = false;
	const long n =
		syscall(SYS_pread64, fail_nth(), text, sizeof(text) - 1, 0);

	write_nth(0);
	hit_ = n > 0 && text[0] == '0';
	return hit_;
}

bool lack_of_memory(int err)
{
	return err == ENOMEM || err == ENOBUFS || err == EAGAIN;
}

void note_odd(Kind &k, int err)
{
	count(k.odd);
	for (uint32_t &e : k.errnos) {
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(
			    &e, &none, static_cast<uint32_t>(err), false,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		    none == static_cast<uint32_t>(err))
			return;
	}
}

State *open_state(const char *path)
{
	const long fd = syscall(SYS_openat, AT_FDCWD, path,
				O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return nullptr;
	void *p = MAP_FAILED;

	if (!syscall(SYS_ftruncate, fd, sizeof(State)))
		p = reinterpret_cast<void *>(
			syscall(SYS_mmap, nullptr, sizeof(State),
				PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	syscall(SYS_close, fd);
	return p == MAP_FAILED ? nullptr : static_cast<State *>(p);
}

Kind *find(State *state, const char *name)
{
	for (Kind &k : state->kinds) {
		uint32_t used = 0;

		if (__atomic_compare_exchange_n(&k.used, &used, 1, false,
						__ATOMIC_ACQUIRE,
						__ATOMIC_ACQUIRE)) {
			std::snprintf(k.name, sizeof(k.name), "%s", name);
			k.next = 1;
			__atomic_store_n(&k.used, 2, __ATOMIC_RELEASE);
			return &k;
		}
		/* Another program writes the name at this moment. */
		while (__atomic_load_n(&k.used, __ATOMIC_ACQUIRE) == 1)
			syscall(SYS_sched_yield);
		if (!std::strncmp(k.name, name, sizeof(k.name) - 1))
			return &k;
	}
	return nullptr;
}
} // namespace faults

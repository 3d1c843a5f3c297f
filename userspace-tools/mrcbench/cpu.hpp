/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcbench: processor time from the kernel's accounting. A transport in the
 * kernel uses processor time in system calls of programs, in soft interrupts
 * and in kernel threads. The last two are charged to whichever task is running,
 * or to none, and control groups and getrusage(2) miss them. So the figure is
 * for the whole machine: elapsed time, times processors, minus idle time. Idle
 * time is exact on kernels that stop the tick of an idle processor; the
 * division into user, system and interrupts is sampled.
 */
#pragma once

#include <cstdint>
#include <string>

namespace mrcbench
{
/* Since boot, sum of all processors, nanoseconds. */
struct CpuTimes {
	uint64_t user = 0; /* including nice */
	uint64_t system = 0;
	uint64_t irq = 0;  /* including soft interrupts */
	uint64_t idle = 0; /* including I/O wait */
	uint64_t steal = 0;
	unsigned int processors = 0; /* online */
};

/*
 * @stat is the text of /proc/stat; @hz, its ticks per second. Throws
 * std::runtime_error if the format is wrong.
 */
CpuTimes parse_cpu_times(const std::string &stat, uint64_t hz);

/* The present values. */
CpuTimes cpu_times();

/* For a period; shares of all processors from 0 to 1. */
struct CpuUse {
	double seconds = 0; /* non-idle processor time */
	double busy = 0;
	double user = 0;
	double system = 0;
	double irq = 0;
};

/*
 * @elapsed: seconds between the two; @background: the load of an idle machine,
 * which is subtracted.
 */
CpuUse cpu_use(const CpuTimes &from, const CpuTimes &to, double elapsed,
	       double background);

/* Returns "" if the file cannot be read. */
std::string file_text(const std::string &path);
} // namespace mrcbench

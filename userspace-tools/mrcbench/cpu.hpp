/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcbench: processor time by the kernel's accounting. What a transport in the
 * kernel costs is spent in system calls of the programs, in soft interrupts and
 * in kernel threads: the last two are charged to whoever happens to run, or to
 * nobody, and control groups and getrusage(2) miss them. So the machine as a
 * whole is looked at: time that passed, times processors, less the time they
 * were idle. Idle time is exact on kernels that stop the tick of an idle
 * processor; the division into user, system and interrupts is sampled.
 */
#pragma once

#include <cstdint>
#include <string>

namespace mrcbench
{
/* Since boot, all processors together, nanoseconds. */
struct CpuTimes {
	uint64_t user = 0; /* with nice */
	uint64_t system = 0;
	uint64_t irq = 0;  /* soft ones too */
	uint64_t idle = 0; /* with waiting for input and output */
	uint64_t steal = 0;
	unsigned int processors = 0; /* that are online */
};

/*
 * @stat is the text of /proc/stat; @hz, its ticks per second. Throws
 * std::runtime_error if it is not what the kernel writes.
 */
CpuTimes parse_cpu_times(const std::string &stat, uint64_t hz);

/* Now. */
CpuTimes cpu_times();

/* Of a stretch of time, shares of all processors from 0 to 1. */
struct CpuUse {
	double seconds = 0; /* of processor time that was not idle */
	double busy = 0;
	double user = 0;
	double system = 0;
	double irq = 0;
};

/*
 * @elapsed: seconds between the two; @background: the share that an idle
 * machine spends, which is taken off.
 */
CpuUse cpu_use(const CpuTimes &from, const CpuTimes &to, double elapsed,
	       double background);

/* "" if it cannot be read. */
std::string file_text(const std::string &path);
} // namespace mrcbench

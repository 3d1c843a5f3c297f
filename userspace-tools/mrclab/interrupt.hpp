/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: SIGINT, SIGTERM and SIGHUP end mrclab between two steps. */
#pragma once

#include <chrono>
#include <stdexcept>

namespace mrclab
{
struct Interrupted : std::runtime_error {
	explicit Interrupted(int s);
	int signal;
};

/* Before any thread is started. */
void catch_interrupts();
/*
 * While one exists, interrupts wait: what is being done must not stop half-way.
 */
class InterruptsWait
{
public:
	InterruptsWait();
	~InterruptsWait();
	InterruptsWait(const InterruptsWait &) = delete;
	InterruptsWait &operator=(const InterruptsWait &) = delete;
};

/* How long waits sleep between two looks at what they wait for. */
constexpr std::chrono::milliseconds poll_interval{20};

/* Throws Interrupted after one of the signals. */
void check_interrupt();
/* Sleeps, and throws Interrupted at once when a signal comes. */
void sleep_or_interrupt(std::chrono::nanoseconds time);
} // namespace mrclab

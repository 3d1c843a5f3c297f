// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "interrupt.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <string>

namespace mrclab
{
namespace
{
constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
std::atomic<int> waiting; /* InterruptsWait */
std::atomic<int> came;	  /* a signal, meanwhile */

sigset_t set_of_signals()
{
	sigset_t set;

	sigemptyset(&set);
	for (const int s : signals)
		sigaddset(&set, s);
	return set;
}
} // namespace

Interrupted::Interrupted(int s)
	: std::runtime_error("interrupted by signal " + std::to_string(s)),
	  signal(s)
{
}

/* The signals stay blocked and are taken by sigtimedwait() alone. */
void catch_interrupts()
{
	const sigset_t set = set_of_signals();

	pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

InterruptsWait::InterruptsWait()
{
	waiting++;
}

InterruptsWait::~InterruptsWait()
{
	waiting--;
}

void sleep_or_interrupt(std::chrono::nanoseconds time)
{
	const sigset_t set = set_of_signals();
	const auto end = std::chrono::steady_clock::now() + time;

	do {
		const auto left = std::max<std::chrono::nanoseconds>(
			end - std::chrono::steady_clock::now(),
			std::chrono::nanoseconds(0));
		const timespec ts = {
			static_cast<time_t>(left.count() / 1000000000),
			static_cast<long>(left.count() % 1000000000)};
		const int s = sigtimedwait(&set, nullptr, &ts);

		if (s > 0)
			came = s;
		if (came && !waiting)
			throw Interrupted(came.exchange(0));
	} while (std::chrono::steady_clock::now() < end);
}

void check_interrupt()
{
	sleep_or_interrupt(std::chrono::nanoseconds(0));
}
} // namespace mrclab

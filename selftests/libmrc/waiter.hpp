/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A thread that is expected to wait inside of a call.
 */
#pragma once

#include <atomic>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <unistd.h>

#include "pair.hpp"

class Waiter
{
public:
	explicit Waiter(std::function<void()> call)
		: thread_([this, call = std::move(call)] {
			  tid_ = gettid();
			  call();
			  done_ = true;
		  })
	{
	}

	~Waiter()
	{
		if (thread_.joinable())
			thread_.join();
	}

	/* Returns when the thread sleeps, or has come back. */
	void sleeps()
	{
		unsigned seen = 0;

		/* Often, as it may wait for a lock on its way there. */
		eventually(
			[&] {
				seen = state() == 'S' ? seen + 1 : 0;
				return done_ || seen >= 20;
			},
			"a thread to sleep");
	}

	bool done() const { return done_; }

	void join()
	{
		eventually([&] { return done_.load(); }, "a call to return");
		thread_.join();
	}

private:
	char state() const
	{
		if (!tid_)
			return 0;
		std::ifstream f("/proc/self/task/" + std::to_string(tid_) +
				"/stat");
		std::string stat;

		std::getline(f, stat);
		const size_t at = stat.rfind(") ");

		return at == std::string::npos ? 0 : stat[at + 2];
	}

	std::atomic<pid_t> tid_{0};
	std::atomic<bool> done_{false};
	std::thread thread_; /* the last, as it uses the others */
};

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: does things at given times, beside what else is done. */
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace mrclab
{
/*
 * Does what happens at given times in a thread of its own, because it takes
 * longer than the interval of samples.
 */
class Happenings
{
public:
	using Time = std::chrono::steady_clock::time_point;

	struct One {
		uint64_t at = 0; /* ns */
		std::function<void()> what;
	};

	Happenings(std::vector<One> all, Time start)
		: all_(std::move(all)), start_(start),
		  thread_([this] { run(); })
	{
	}
	~Happenings() { stop(); }
	Happenings(const Happenings &) = delete;
	Happenings &operator=(const Happenings &) = delete;

	/* Throws what one of them has thrown. */
	void check()
	{
		const std::lock_guard guard(lock_);

		if (failure_)
			std::rethrow_exception(failure_);
	}
	void stop()
	{
		{
			const std::lock_guard guard(lock_);

			stopped_ = true;
		}
		wake_.notify_all();
		if (thread_.joinable())
			thread_.join();
	}

private:
	bool stopped_at(Time time)
	{
		std::unique_lock guard(lock_);

		return wake_.wait_until(guard, time,
					[this] { return stopped_; });
	}
	void run()
	{
		try {
			for (const One &one : all_) {
				if (stopped_at(
					    start_ +
					    std::chrono::nanoseconds(one.at)))
					return;
				one.what();
			}
		} catch (...) {
			const std::lock_guard guard(lock_);

			failure_ = std::current_exception();
		}
	}

	std::vector<One> all_;
	Time start_;
	std::mutex lock_;
	std::condition_variable wake_;
	bool stopped_ = false;
	std::exception_ptr failure_;
	std::thread thread_; /* last: it uses the others */
};
} // namespace mrclab

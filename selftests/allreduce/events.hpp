/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_allreduce: a thread that waits for asynchronous events.
 */
#pragma once

#include <atomic>
#include <thread>

#include "net.hpp"

class Events
{
public:
	explicit Events(Device &dev);
	Events(const Events &) = delete;
	Events &operator=(const Events &) = delete;
	~Events();

	/* Ends the thread; throws if there was an event that means an error. */
	void close();

	unsigned ports_lost() const { return lost_; }
	unsigned ports_back() const { return back_; }

private:
	void run(mrc_context *ctx);
	void stop();

	std::atomic<bool> stop_ = false;
	std::atomic<bool> ended_ = false;
	std::atomic<unsigned> lost_ = 0;
	std::atomic<unsigned> back_ = 0;
	std::atomic<int> bad_ = -1; /* enum ibv_event_type */
	std::atomic<int> err_ = 0;
	std::thread thread_;
};

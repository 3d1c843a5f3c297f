// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_allreduce: a thread that waits for asynchronous events.
 */
#include "events.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>

Events::Events(Device &dev)
{
	struct sigaction sa {
	};

	/* Interrupts the wait and does nothing else. */
	sa.sa_handler = [](int) {};
	sigaction(SIGUSR1, &sa, nullptr);
	thread_ = std::thread(&Events::run, this, dev.mrc());
}

Events::~Events()
{
	stop();
}

void Events::run(mrc_context *ctx)
{
	mrc_async_event e;

	while (!stop_) {
		if (mrc_get_async_event(ctx, &e)) {
			if (errno == EINTR)
				continue;
			err_ = errno;
			break;
		}
		switch (e.event_type) {
		case IBV_EVENT_PORT_ERR:
			lost_++;
			break;
		case IBV_EVENT_PORT_ACTIVE:
			back_++;
			break;
		case IBV_EVENT_GID_CHANGE: /* addresses come and go */
		case IBV_EVENT_LID_CHANGE:
		case IBV_EVENT_PKEY_CHANGE:
			break;
		default:
			bad_ = e.event_type;
			break;
		}
		mrc_ack_async_event(&e);
	}
	ended_ = true;
}

/*
 * A signal that comes before the thread waits interrupts nothing: send it until
 * the thread has seen that it is to end.
 */
void Events::stop()
{
	if (!thread_.joinable())
		return;
	stop_ = true;
	while (!ended_) {
		pthread_kill(thread_.native_handle(), SIGUSR1);
		::poll(nullptr, 0, 5);
	}
	thread_.join();
}

void Events::close()
{
	stop();
	if (err_)
		fail("mrc_get_async_event: %s", std::strerror(err_));
	if (bad_ >= 0)
		fail("asynchronous event: %s",
		     ibv_event_type_str(
			     static_cast<ibv_event_type>(bad_.load())));
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * EV events: which ones are reported, what is dropped, and how they reach a
 * program. An EV that was denied and is allowed again becomes GOOD in the queue
 * pair that uses its profile: that makes one event.
 */
#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <future>
#include <memory>

#include "pair.hpp"
#include "tests.hpp"

namespace
{
constexpr uint64_t fmt = 5, id = 9;
constexpr int GOOD = MRC_CTL_EV_GOOD;
constexpr int BAD = MRC_CTL_EV_ASSUMED_BAD;

using Event = mrc_ctl_ev_event;

mrc_ctl_ev ev(unsigned i)
{
	return ev16(static_cast<uint16_t>(0xc001 + i),
		    static_cast<uint8_t>(1 + i % 2));
}

void flip(mrc_context *ctx, unsigned i)
{
	std::vector<Entry> e = {entry(ev(i), MRC_CTL_EV_DENIED)};

	must(ev_op(ctx, id, MRC_CTL_EV_OP_MODIFY_EV_STATE, e), "deny");
	e[0].state = MRC_CTL_EV_GOOD;
	must(ev_op(ctx, id, MRC_CTL_EV_OP_MODIFY_EV_STATE, e), "allow");
}

void event_mask(mrc_context *ctx, int mask)
{
	EvAttr attr{};

	attr.ev_event_mask = mask;
	must(modify<EvProfile>(ctx, id, MRC_CTL_EV_PROFILE_EVENT_MASK, attr),
	     "event mask");
}

mrc_cq *queue(mrc_context *ctx, int depth, mrc_comp_channel *channel = nullptr,
	      void *cookie = nullptr)
{
	return made(mrc_ctl_create_ev_event_cq(ctx, depth, cookie, channel, 0),
		    "event queue");
}

std::vector<Event> take(mrc_cq *cq, int room = 64)
{
	std::vector<Event> events(static_cast<unsigned>(room));
	const int n = mrc_ctl_poll_ev_event(cq, room, events.data());

	must(n < 0 ? -n : 0, "poll");
	events.resize(static_cast<unsigned>(n));
	return events;
}

/* A pair of queue pairs whose first end uses a profile of four EVs. */
struct Users {
	Users(const Device &d, const Device &peer) : dev(d)
	{
		EvSpec spec;
		QpSpec qp;

		must(fmt_make(dev.ctx(), fmt, MRC_CTL_EV_FMT_MODE_UDP, {16},
			      ONLINE),
		     "format");
		spec.fmt = fmt;
		spec.count = 4;
		spec.events = GOOD | BAD;
		for (unsigned i = 0; i < 4; i++)
			spec.evs.push_back(ev(i));
		must(evp_make(dev.ctx(), id, spec, ONLINE), "profile");
		qp.ev = id;
		pair = std::make_unique<Pair>(dev, peer, qp);
		pair->a.write(pair->b);
	}
	~Users()
	{
		pair.reset();
		drop<EvProfile>(dev.ctx(), id);
		drop<Format>(dev.ctx(), fmt);
	}
	Users(const Users &) = delete;
	Users &operator=(const Users &) = delete;

	const Device &dev;
	std::unique_ptr<Pair> pair;
};

/* --- what is reported
 * --------------------------------------------------------- */

void filtered(Check &c, const Device &dev)
{
	mrc_context *ctx = dev.ctx();
	mrc_cq *cq = queue(ctx, 64), *same_time = queue(ctx, 64);

	c.eq(static_cast<int64_t>(take(cq).size()), 0, "events at first");
	for (unsigned i = 0; i < 4; i++)
		flip(ctx, i);
	const std::vector<Event> all = take(cq);

	c.eq(static_cast<int64_t>(all.size()), 4, "events of 4 EVs");
	for (unsigned i = 0; i < all.size(); i++) {
		c.eq(static_cast<int64_t>(all[i].profile_id), id, "profile");
		c.eq(text(all[i].ev), text(ev(i)), "EV, in order");
		c.eq(all[i].state, GOOD, "state");
		c.eq(all[i].drop_count, 0, "drops");
	}
	c.eq(static_cast<int64_t>(take(cq).size()), 0, "events taken twice");
	c.eq(static_cast<int64_t>(take(same_time).size()), 4,
	     "events of the other queue");

	const struct {
		int mask;
		int64_t want;
	} masks[] = {{BAD, 0}, {0, 0}, {GOOD, 1}, {GOOD | BAD, 1}};

	for (const auto &m : masks) {
		event_mask(ctx, m.mask);
		flip(ctx, 1);
		c.eq(static_cast<int64_t>(take(cq).size()), m.want,
		     "events with mask " + std::to_string(m.mask));
	}
	mrc_destroy_cq(same_time);
	mrc_destroy_cq(cq);
}

void dropped(Check &c, const Device &dev)
{
	mrc_context *ctx = dev.ctx();
	mrc_cq *large = queue(ctx, 64), *small = queue(ctx, 4);

	for (int i = 0; i < 10; i++)
		flip(ctx, 2);
	c.eq(static_cast<int64_t>(take(large).size()), 10, "events in all");
	std::vector<Event> some = take(small);

	c.eq(static_cast<int64_t>(some.size()), 4, "events that fit");
	for (const Event &e : some)
		c.eq(e.drop_count, 0, "drops before those that fit");
	flip(ctx, 3);
	flip(ctx, 3);
	some = take(small);
	c.eq(static_cast<int64_t>(some.size()), 2, "events afterwards");
	if (some.size() == 2) {
		c.eq(some[0].drop_count, 6, "drops, in the next event");
		c.eq(some[1].drop_count, 0, "drops, in the one after that");
		c.eq(text(some[0].ev), text(ev(3)), "the next event");
	}
	mrc_destroy_cq(small);
	mrc_destroy_cq(large);
}

/* How large an event is depends on the version that a program is for. */
void strides(Check &c, const Device &dev)
{
	const struct {
		uint32_t version;
		std::size_t stride;
	} cases[] = {{0, 56},
		     {1, 48},
		     {0x01000000, 48},
		     {0x01000001, 56},
		     {0xffffffff, 56}};

	static_assert(sizeof(Event) == 56);
	for (const auto &k : cases) {
		const std::string what = "version " + std::to_string(k.version);
		mrc_context *ctx = context(dev, k.version);
		mrc_cq *cq = queue(ctx, 8);
		std::vector<uint8_t> raw(56 * 4, 0xee);

		for (const unsigned i : {0U, 1U, 2U})
			flip(dev.ctx(), i);
		c.eq(mrc_ctl_poll_ev_event(
			     cq, 3, reinterpret_cast<Event *>(raw.data())),
		     3, "events of " + what);
		for (unsigned i = 0; i < 3; i++) {
			Event e{};

			std::memcpy(&e, raw.data() + i * k.stride, k.stride);
			c.eq(static_cast<int64_t>(e.profile_id), id,
			     "profile of " + what);
			c.eq(text(e.ev), text(ev(i)), "EV of " + what);
			c.eq(e.state, k.stride == 56 ? GOOD : 0,
			     "state of " + what);
		}
		for (std::size_t i = 3 * k.stride; i < raw.size(); i++)
			c.eq(raw[i], 0xee, "behind the events of " + what);
		mrc_destroy_cq(cq);
		c.err(failed(mrc_destroy_context(ctx)), 0, what + " ends");
	}
}

/* --- how it is told
 * ----------------------------------------------------------- */

int readable(int fd, int ms = 0)
{
	pollfd p{};

	p.fd = fd;
	p.events = POLLIN;
	return poll(&p, 1, ms);
}

void blocking(int fd, bool on)
{
	const int flags = fcntl(fd, F_GETFL);

	must(fcntl(fd, F_SETFL, on ? flags & ~O_NONBLOCK : flags | O_NONBLOCK),
	     "fcntl");
}

int get_event(mrc_comp_channel *channel, mrc_cq **cq, void **cookie)
{
	return failed(mrc_get_cq_event(channel, cq, cookie));
}

void channel_events(Check &c, const Device &dev)
{
	mrc_context *ctx = dev.ctx();
	mrc_comp_channel *channel = nullptr;
	void *cookie = nullptr;
	mrc_cq *got = nullptr;
	int fd = -1;

	must(mrc_create_comp_channel(ctx, &channel), "channel");
	must(failed(mrc_get_comp_channel_fd(channel, &fd)), "descriptor");
	blocking(fd, false);
	mrc_cq *cq = queue(ctx, 64, channel, &fd);
	mrc_cq *normal = made(mrc_create_cq(ctx, 8, nullptr, channel, 0), "CQ");

	c.err(get_event(channel, &got, &cookie), EAGAIN, "nothing yet");
	flip(ctx, 0);
	c.eq(readable(fd), 0, "told without having been asked");
	c.eq(static_cast<int64_t>(take(cq).size()), 1, "the event");
	c.err(mrc_req_notify_cq(cq, 0), 0, "arming");
	c.err(mrc_req_notify_cq(cq, 1), 0, "arming again");
	c.err(mrc_req_notify_cq(normal, 0), 0, "arming the other one");
	c.eq(readable(fd), 0, "armed, but nothing happened");
	flip(ctx, 1);
	c.eq(readable(fd, 20000), 1, "armed, and something happened");
	c.err(get_event(channel, &got, &cookie), 0, "event");
	c.that(got == cq && cookie == &fd, "an event of something else");
	c.err(get_event(channel, &got, &cookie), EAGAIN, "a second one");
	flip(ctx, 2);
	c.eq(readable(fd), 0, "arming is for once");
	/* Those that are there already count. */
	c.err(mrc_req_notify_cq(cq, 0), 0, "arming with events");
	c.err(get_event(channel, &got, &cookie), 0, "event that was there");
	c.eq(static_cast<int64_t>(take(cq).size()), 2, "events");

	/* Someone waits. */
	blocking(fd, true);
	c.err(mrc_req_notify_cq(cq, 0), 0, "arming");
	auto waiter = std::async(std::launch::async, [&] {
		mrc_cq *who = nullptr;
		void *whose = nullptr;
		const int err = get_event(channel, &who, &whose);

		return err ? err : who == cq && whose == &fd ? 0 : -1;
	});
	c.that(waiter.wait_for(std::chrono::milliseconds(50)) ==
		       std::future_status::timeout,
	       "waiting for nothing came to an end");
	flip(ctx, 3);
	if (waiter.wait_for(std::chrono::seconds(30)) ==
	    std::future_status::timeout)
		throw Failure("an event did not end the wait");
	c.err(waiter.get(), 0, "end of the wait");
	c.eq(static_cast<int64_t>(take(cq).size()), 1, "event");

	/* Three events have been told, which must come back first. */
	c.err(mrc_destroy_comp_channel(channel), EBUSY, "channel in use");
	auto end = std::async(std::launch::async,
			      [&] { return mrc_destroy_cq(cq); });
	c.that(end.wait_for(std::chrono::milliseconds(50)) ==
		       std::future_status::timeout,
	       "no event acknowledged");
	mrc_ack_cq_events(cq, 2);
	c.that(end.wait_for(std::chrono::milliseconds(50)) ==
		       std::future_status::timeout,
	       "two of three events acknowledged");
	mrc_ack_cq_events(cq, 1);
	if (end.wait_for(std::chrono::seconds(30)) ==
	    std::future_status::timeout)
		throw Failure("all acknowledged, and it still waits");
	c.err(end.get(), 0, "destroying");
	c.err(mrc_destroy_cq(normal), 0, "destroying the CQ");
	c.err(mrc_destroy_comp_channel(channel), 0, "destroying the channel");
}

void rules(Check &c, const Device &dev)
{
	mrc_context *ctx = dev.ctx(), *own = context(dev);
	mrc_comp_channel *foreign = nullptr;
	Event e[2];
	ibv_wc wc{};

	for (const int depth : {0, -1, 65537})
		c.that(!mrc_ctl_create_ev_event_cq(ctx, depth, nullptr, nullptr,
						   0) &&
			       errno == EINVAL,
		       "depth " + std::to_string(depth));
	for (const int vector : {-1, dev.verbs()->num_comp_vectors})
		c.that(!mrc_ctl_create_ev_event_cq(ctx, 8, nullptr, nullptr,
						   vector) &&
			       errno == EINVAL,
		       "vector " + std::to_string(vector));
	c.that(!mrc_ctl_create_ev_event_cq(nullptr, 8, nullptr, nullptr, 0) &&
		       errno == EINVAL,
	       "no context");
	must(mrc_create_comp_channel(own, &foreign), "channel");
	c.that(!mrc_ctl_create_ev_event_cq(ctx, 8, nullptr, foreign, 0) &&
		       errno == EINVAL,
	       "a channel of another context");
	must(mrc_destroy_comp_channel(foreign), "channel");

	mrc_cq *cq = queue(own, 8);
	mrc_cq *normal = made(mrc_create_cq(own, 8, nullptr, nullptr, 0), "CQ");

	c.err(failed(mrc_destroy_context(own)), EBUSY, "context in use");
	c.err(failed(mrc_poll_cq(cq, 1, &wc)), EINVAL,
	      "completions of an event queue");
	c.eq(mrc_ctl_poll_ev_event(normal, 1, e), -EINVAL,
	     "events of a completion queue");
	c.eq(mrc_ctl_poll_ev_event(cq, -1, e), -EINVAL, "-1 events");
	c.eq(mrc_ctl_poll_ev_event(cq, 1, nullptr), -EINVAL, "no array");
	c.eq(mrc_ctl_poll_ev_event(nullptr, 1, e), -EINVAL, "no queue");
	c.eq(mrc_ctl_poll_ev_event(cq, 0, nullptr), 0, "0 events");
	c.err(mrc_req_notify_cq(cq, 0), 0, "arming without a channel");
	/* An event queue is no place for completions. */
	mrc_qp_init_attr attr{};
	ibv_pd *pd = made(ibv_alloc_pd(dev.verbs()), "PD");

	attr.pd = pd;
	attr.send_cq = cq;
	attr.recv_cq = normal;
	attr.cap.max_send_wr = 1;
	attr.cap.max_send_sge = 1;
	c.that(!mrc_create_qp(own, &attr) && errno == EINVAL,
	       "a queue pair with an event queue");
	ibv_dealloc_pd(pd);
	c.err(mrc_destroy_cq(normal), 0, "destroying");
	c.err(mrc_destroy_cq(cq), 0, "destroying");
	c.err(failed(mrc_destroy_context(own)), 0, "context");
}
} // namespace

bool test_events(const Device &dev, const Args &args)
{
	const Device peer(args.at(0));
	Report r(Report::counted);

	r.run("event queues: what is refused",
	      [&](Check &c) { rules(c, dev); });
	const Users users(dev, peer);

	r.run("events: those of the mask, to every queue",
	      [&](Check &c) { filtered(c, dev); });
	r.run("events: those that were dropped are counted",
	      [&](Check &c) { dropped(c, dev); });
	r.run("events: their size, by the version of the program",
	      [&](Check &c) { strides(c, dev); });
	r.run("events: by way of a completion channel",
	      [&](Check &c) { channel_events(c, dev); });
	return r.good();
}

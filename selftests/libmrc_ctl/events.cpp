// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * EV events: which ones are reported, what is dropped, and how they reach a
 * program. An EV that was denied and is allowed again becomes GOOD in the queue
 * pair that uses its profile: that makes one event. EVs become bad where the
 * peer does not answer, and what was bad is told to be good when nobody uses
 * it.
 */
#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <thread>

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
	Users(const Device &d, const Device &peer, uint8_t timeout = 22)
		: dev(d)
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
		qp.timeout = timeout;
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

/* --- what becomes of bad EVs
 * --------------------------------------------------- */

/* As a program counts that has followed the events from the beginning. */
class Follower
{
public:
	explicit Follower(mrc_context *ctx) : cq_(queue(ctx, 4096)) {}
	~Follower() { mrc_destroy_cq(cq_); }
	Follower(const Follower &) = delete;
	Follower &operator=(const Follower &) = delete;

	void hear(Check &c)
	{
		for (const Event &e : take(cq_, 4096)) {
			c.eq(e.drop_count, 0, "drops");
			c.eq(static_cast<int64_t>(e.profile_id), id, "profile");
			bad_[text(e.ev)] += e.state == BAD ? 1 : -1;
			told_ += e.state == BAD;
		}
	}
	int told() const { return told_; } /* that something is bad */
	/* Queue pairs that take @what for bad. */
	int bad(const std::string &what) const
	{
		const auto it = bad_.find(what);

		return it == bad_.end() ? 0 : it->second;
	}
	int bad() const
	{
		int n = 0;

		for (const auto &[what, count] : bad_)
			n += count != 0;
		return n;
	}

private:
	mrc_cq *cq_;
	std::map<std::string, int> bad_;
	int told_ = 0;
};

std::vector<mrc_ctl_ev> bad_evs(mrc_context *ctx)
{
	std::vector<mrc_ctl_ev> bad;

	for (const Entry &e : ev_array(ctx, id))
		if (e.state == BAD)
			bad.push_back(e.ev);
	return bad;
}

/* The peer is gone: nothing is answered, and one EV after the other is bad. */
void lose_peer(Users &users)
{
	const auto end =
		std::chrono::steady_clock::now() + std::chrono::seconds(60);

	must(users.pair->b.state(IBV_QPS_RESET), "RESET of the peer");
	users.pair->a.post(users.pair->b);
	while (bad_evs(users.dev.ctx()).size() < 2) {
		if (std::chrono::steady_clock::now() > end)
			throw Failure("no EV is bad after 60 s");
		std::this_thread::sleep_for(std::chrono::milliseconds(5));
	}
}

/* @leave: what the queue pair does that used the EVs. */
void balanced(Check &c, const Device &dev, const Device &peer,
	      const std::function<void(Users &)> &leave)
{
	Users users(dev, peer, 16);
	Follower f(dev.ctx());

	lose_peer(users);
	f.hear(c);
	c.that(f.told() >= 2, "no EV was told to be bad");
	leave(users);
	f.hear(c);
	c.eq(f.bad(), 0, "EVs that are bad for ever, as events say");
	c.eq(static_cast<int64_t>(bad_evs(dev.ctx()).size()), 0,
	     "EVs that are bad, as the profile says");
	/* And nothing is told twice. */
	users.pair.reset();
	f.hear(c);
	c.eq(f.bad(), 0, "EVs that are bad, when the queue pair is gone");
}

/* EVs that are replaced while they are bad; the queue pair goes on. */
void replaced(Check &c, const Device &dev, const Device &peer)
{
	Users users(dev, peer, 16);
	Follower f(dev.ctx());
	std::vector<Entry> e;
	std::vector<std::string> old;

	lose_peer(users);
	for (const mrc_ctl_ev &bad : bad_evs(dev.ctx())) {
		mrc_ctl_ev other = bad;

		other.val[0] = static_cast<uint8_t>(other.val[0] ^ 0x10);
		e.push_back(replacement(bad, other, GOOD));
		old.push_back(text(bad));
	}
	must(ev_op(dev.ctx(), id, MRC_CTL_EV_OP_REPLACE_EV, e), "replace");
	f.hear(c);
	c.that(old.size() >= 2, "nothing was replaced");
	for (const std::string &what : old)
		c.eq(f.bad(what), 0, what + ", which is replaced");
	users.pair.reset();
	f.hear(c);
	c.eq(f.bad(), 0, "EVs that are bad, when the queue pair is gone");
}

/* The mask of a profile holds for the ends of queue pairs as well. */
void masked(Check &c, const Device &dev, const Device &peer)
{
	Users users(dev, peer, 16);
	mrc_cq *cq = queue(dev.ctx(), 64);

	event_mask(dev.ctx(), BAD);
	lose_peer(users);
	users.pair.reset();
	const std::vector<Event> events = take(cq);

	c.that(!events.empty(), "nothing was told");
	for (const Event &e : events)
		c.eq(e.state, BAD, "state");
	mrc_destroy_cq(cq);
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
	r.run("events: bad EVs of a queue pair that is destroyed",
	      [&](Check &c) {
		      balanced(c, dev, peer, [](Users &u) { u.pair.reset(); });
	      });
	r.run("events: bad EVs of a queue pair that is reset", [&](Check &c) {
		balanced(c, dev, peer, [](Users &u) {
			must(u.pair->a.state(IBV_QPS_RESET), "RESET");
		});
	});
	r.run("events: bad EVs of a queue pair with another profile now",
	      [&](Check &c) {
		      balanced(c, dev, peer, [](Users &u) {
			      Qp &a = u.pair->a, &b = u.pair->b;

			      must(a.state(IBV_QPS_RESET), "RESET");
			      must(a.init_with(no_profile, no_profile), "INIT");
			      must(b.init_with(no_profile, no_profile), "INIT");
			      must(a.rtr(b), "RTR");
			      must(b.rtr(a), "RTR");
			      must(a.rts(), "RTS");
			      a.write(b);
		      });
	      });
	r.run("events: bad EVs that are replaced",
	      [&](Check &c) { replaced(c, dev, peer); });
	r.run("events: of ends, those of the mask",
	      [&](Check &c) { masked(c, dev, peer); });
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

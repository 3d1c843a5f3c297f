// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a controller does, as processes that come and go:
 *
 * usage: libmrc_ctl DEV controller make EV FMT CC FIRST COUNT PORT MAX-CWND
 *		explicit EVs: source ports from FIRST (hexadecimal) on, all on
 *		PORT, 0 for all ports in turn; congestion control with MAX-CWND,
 *		0 for none
 *	... show EV CC	states, which EVs there are, the window
 *	... drop EV FMT CC
 *	... swap EV	replaces all EVs by others and back, for ever, a batch
 *			at a time; prints "batch N" before each
 *	... once EV	one such batch
 *	... ask PEER N	batches of N probes for ever; prints "batch N"
 *	... watch EV	asks for all events of EV; prints each as "VALUE@PORT
 *STATE drops N", after "listening"
 *	... all EV CC PEER ROUNDS	everything in turn, with results
 */
#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "pair.hpp"
#include "tests.hpp"

namespace
{
/* The two sets of EVs that "swap" knows differ in this bit. */
constexpr uint8_t swap_bit = 0x10;

uint64_t number(const Args &args, std::size_t i, int base = 10)
{
	return std::stoull(args.at(i), nullptr, base);
}

void say(const char *what, unsigned long n)
{
	std::printf("%s %lu\n", what, n);
	std::fflush(stdout);
}

void make(mrc_context *ctx, const Args &args)
{
	const auto first = static_cast<uint16_t>(number(args, 4, 16));
	const auto count = static_cast<uint32_t>(number(args, 5));
	const auto port = static_cast<unsigned>(number(args, 6));
	const auto cwnd = static_cast<uint32_t>(number(args, 7));
	mrc_ctl_cc_nscc_cfg cfg{};
	EvSpec spec;

	cfg.max_cwnd = cwnd;
	spec.fmt = number(args, 2);
	spec.count = count;
	for (uint32_t i = 0; i < count; i++)
		spec.evs.push_back(
			ev16(static_cast<uint16_t>(first + i),
			     static_cast<uint8_t>(port ? port : 1 + i % 2)));
	must(fmt_make(ctx, spec.fmt, MRC_CTL_EV_FMT_MODE_UDP, {16}, ONLINE),
	     "format");
	must(evp_make(ctx, number(args, 1), spec, ONLINE), "EV profile");
	must(ccp_make(ctx, number(args, 3), cwnd ? nscc_name : nullptr,
		      cwnd ? &cfg : nullptr, ONLINE),
	     "CC profile");
}

/* Sets are whole, or a batch was done in part. */
std::string which_set(const std::vector<Entry> &array)
{
	const auto swapped =
		std::count_if(array.begin(), array.end(), [](const Entry &e) {
			return e.ev.val[0] & swap_bit;
		});

	if (!swapped)
		return "first";
	return swapped == static_cast<long>(array.size()) ? "second" : "mixed";
}

void show(mrc_context *ctx, const Args &args)
{
	const uint64_t ev = number(args, 1), cc = number(args, 2);
	const std::vector<Entry> array = ev_array(ctx, ev);
	CcAttr attr{};

	must(query<CcProfile>(ctx, cc,
			      MRC_CTL_CC_PROFILE_ALGORITHM |
				      MRC_CTL_CC_PROFILE_CONFIG,
			      attr),
	     "CC profile");
	std::printf("ev %s %zu %s\n", state_names[now<EvProfile>(ctx, ev)],
		    array.size(), which_set(array).c_str());
	std::printf(
		"denied %ld\n",
		std::count_if(array.begin(), array.end(), [](const Entry &e) {
			return e.state == MRC_CTL_EV_DENIED;
		}));
	std::printf("cc %s %s %u\n", state_names[now<CcProfile>(ctx, cc)],
		    attr.algorithm ? attr.algorithm : "off",
		    attr.cc_config ? static_cast<const mrc_ctl_cc_nscc_cfg *>(
					     attr.cc_config)
					     ->max_cwnd
				   : 0);
}

void drop_all(mrc_context *ctx, const Args &args)
{
	drop<EvProfile>(ctx, number(args, 1));
	drop<Format>(ctx, number(args, 2));
	drop<CcProfile>(ctx, number(args, 3));
}

/* Every EV by its counterpart in the other set. */
std::vector<Entry> swap_batch(mrc_context *ctx, uint64_t ev)
{
	std::vector<Entry> array = ev_array(ctx, ev);

	for (Entry &e : array) {
		e.ev_new = e.ev;
		e.ev_new.val[0] ^= swap_bit;
		e.state = MRC_CTL_EV_GOOD;
		e.flags = 0;
	}
	return array;
}

void swap(mrc_context *ctx, const Args &args, bool forever)
{
	const uint64_t ev = number(args, 1);

	for (unsigned long n = 0; forever || !n; n++) {
		std::vector<Entry> entries = swap_batch(ctx, ev);

		say("batch", n);
		must(ev_op(ctx, ev, MRC_CTL_EV_OP_REPLACE_EV, entries),
		     "batch");
	}
}

std::vector<mrc_ctl_ep_req> probes(const Device &dev, const Device &peer,
				   std::size_t n)
{
	std::vector<mrc_ctl_ep_req> req(n);

	for (std::size_t i = 0; i < n; i++) {
		req[i].req_id = static_cast<uint16_t>(i);
		req[i].sgid = dev.gid(4);
		req[i].dgid = peer.gid(4);
		req[i].ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
		req[i].req_ev = ev16(static_cast<uint16_t>(0xc000 + i % 0x1000),
				     static_cast<uint8_t>(1 + i % 2));
	}
	return req;
}

/* 0 or an errno; how many answers, in @n. */
int ask(const Device &dev, std::vector<mrc_ctl_ep_req> &req, int *n)
{
	std::vector<mrc_ctl_ep_rsp> rsp(req.size());

	return failed(mrc_ctl_ep_batch_send_wait(
		dev.ctx(), 0, MRC_CTL_EP_OP_EV_PROBE, req.data(),
		static_cast<int>(req.size()), 4200000000U, rsp.data(), n));
}

void ask_forever(const Device &dev, const Args &args)
{
	const Device peer(args.at(1));
	std::vector<mrc_ctl_ep_req> req = probes(dev, peer, number(args, 2));
	int n = 0;

	for (unsigned long batch = 0;; batch++) {
		say("batch", batch);
		const int err = ask(dev, req, &n);

		if (err && err != ETIMEDOUT)
			must(err, "probes");
	}
}

/* Value and port as mrc_ctl writes those of source ports. */
std::string short_text(const mrc_ctl_ev &ev)
{
	return to_hex(ev.val, 2) + "@" + std::to_string(ev.port);
}

void print_events(mrc_cq *cq, uint64_t id)
{
	std::vector<mrc_ctl_ev_event> events(16);

	for (;;) {
		const int n = mrc_ctl_poll_ev_event(cq, 16, events.data());

		must(n < 0 ? -n : 0, "events");
		if (!n)
			break;
		for (int i = 0; i < n; i++) {
			const auto &e = events[static_cast<unsigned>(i)];

			if (e.profile_id != id)
				throw Failure("an event of another profile");
			std::printf("%s %s drops %u\n",
				    short_text(e.ev).c_str(),
				    e.state == MRC_CTL_EV_GOOD		? "good"
				    : e.state == MRC_CTL_EV_ASSUMED_BAD ? "bad"
									: "?",
				    e.drop_count);
		}
	}
	std::fflush(stdout);
}

void watch(mrc_context *ctx, const Args &args)
{
	const uint64_t id = number(args, 1);
	mrc_comp_channel *channel = nullptr;
	void *cookie = nullptr;
	mrc_cq *got = nullptr;
	EvAttr attr{};

	must(mrc_create_comp_channel(ctx, &channel), "channel");
	mrc_cq *cq =
		made(mrc_ctl_create_ev_event_cq(ctx, 1024, nullptr, channel, 0),
		     "event queue");
	attr.ev_event_mask = MRC_CTL_EV_GOOD | MRC_CTL_EV_ASSUMED_BAD;
	must(modify<EvProfile>(ctx, id, MRC_CTL_EV_PROFILE_EVENT_MASK, attr),
	     "event mask");
	std::printf("listening\n");
	for (;;) {
		must(mrc_req_notify_cq(cq, 0), "arming");
		print_events(cq, id);
		must(failed(mrc_get_cq_event(channel, &got, &cookie)),
		     "waiting");
		mrc_ack_cq_events(got, 1);
	}
}

/* Everything that may be done while programs use the profiles. */
void one_round(Check &c, const Device &dev, uint64_t ev, uint64_t cc,
	       std::vector<mrc_ctl_ep_req> &req, unsigned round)
{
	mrc_context *ctx = dev.ctx();
	std::vector<Entry> array = ev_array(ctx, ev), some;
	mrc_ctl_cc_nscc_cfg cfg{};
	CcAttr cc_attr{};
	EvAttr attr{};
	int n = 0;

	some.assign(array.begin(),
		    array.begin() + static_cast<long>(array.size() / 2));
	for (Entry &e : some)
		e.state = MRC_CTL_EV_DENIED;
	c.err(ev_op(ctx, ev, MRC_CTL_EV_OP_MODIFY_EV_STATE, some), 0, "deny");
	array = ev_array(ctx, ev);
	c.eq(std::count_if(array.begin(), array.end(),
			   [](const Entry &e) {
				   return e.state == MRC_CTL_EV_DENIED;
			   }),
	     static_cast<int64_t>(some.size()), "EVs denied");
	for (Entry &e : some)
		e.state = MRC_CTL_EV_GOOD;
	c.err(ev_op(ctx, ev, MRC_CTL_EV_OP_MODIFY_EV_STATE, some), 0, "allow");
	some = swap_batch(ctx, ev);
	c.err(ev_op(ctx, ev, MRC_CTL_EV_OP_REPLACE_EV, some), 0, "replace");
	attr.ev_event_mask = static_cast<int>(round % 4);
	c.err(modify<EvProfile>(ctx, ev, MRC_CTL_EV_PROFILE_EVENT_MASK, attr),
	      0, "event mask");
	cfg.max_cwnd = 100000 + round * 1000;
	cc_attr.cc_config = &cfg;
	c.err(modify<CcProfile>(ctx, cc, MRC_CTL_CC_PROFILE_CONFIG, cc_attr), 0,
	      "configuration");
	must(query<CcProfile>(ctx, cc, MRC_CTL_CC_PROFILE_CONFIG, cc_attr),
	     "query");
	c.eq(static_cast<const mrc_ctl_cc_nscc_cfg *>(cc_attr.cc_config)
		     ->max_cwnd,
	     cfg.max_cwnd, "max_cwnd");
	c.err(go<EvProfile>(ctx, ev, OFFLINE), EBUSY, "EV profile OFFLINE");
	c.err(go<CcProfile>(ctx, cc, OFFLINE), EBUSY, "CC profile OFFLINE");
	c.err(ask(dev, req, &n), 0, "probes");
	c.eq(n, static_cast<int64_t>(req.size()), "answers");
	c.eq(dev.query().ev.ev_free_count,
	     dev.query().ev.ev_max_count - static_cast<int64_t>(array.size()),
	     "EVs left");
}

bool everything(const Device &dev, const Args &args)
{
	const Device peer(args.at(3));
	std::vector<mrc_ctl_ep_req> req = probes(dev, peer, 8);
	mrc_cq *events = made(mrc_ctl_create_ev_event_cq(dev.ctx(), 1024,
							 nullptr, nullptr, 0),
			      "event queue");
	std::vector<mrc_ctl_ev_event> event(64);
	Report r(Report::counted);

	r.run("a controller at work beside programs", [&](Check &c) {
		for (unsigned i = 0; i < number(args, 4); i++) {
			one_round(c, dev, number(args, 1), number(args, 2), req,
				  i);
			while (const int n = mrc_ctl_poll_ev_event(
				       events, 64, event.data())) {
				must(n < 0 ? -n : 0, "events");
				for (int k = 0; k < n; k++)
					c.eq(static_cast<int64_t>(
						     event[static_cast<
								   unsigned>(k)]
							     .profile_id),
					     static_cast<int64_t>(
						     number(args, 1)),
					     "profile of an event");
			}
		}
	});
	mrc_destroy_cq(events);
	return r.good();
}
} // namespace

bool run_controller(const Device &dev, const Args &args)
{
	const std::string &what = args.at(0);

	if (what == "make")
		make(dev.ctx(), args);
	else if (what == "show")
		show(dev.ctx(), args);
	else if (what == "drop")
		drop_all(dev.ctx(), args);
	else if (what == "swap" || what == "once")
		swap(dev.ctx(), args, what == "swap");
	else if (what == "ask")
		ask_forever(dev, args);
	else if (what == "watch")
		watch(dev.ctx(), args);
	else if (what == "all")
		return everything(dev, args);
	else
		throw Failure("no such work: " + what);
	return true;
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Endpoint operations. What the network does meanwhile is the script's business
 * and told in an argument:
 *
 * usage: libmrc_ctl DEV probes PEER rules
 *	... answered	nothing, and there may be connections to PEER
 *	... slow PORT	what goes to PEER through PORT takes 300 ms
 *	... dead PORT	nothing comes back from PEER through PORT
 *	... late PORT	what comes back from PEER through PORT takes 2 s
 */
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "pair.hpp"
#include "tests.hpp"

namespace
{
constexpr uint32_t second = 1000000000;
constexpr auto PROBE = MRC_CTL_EP_OP_EV_PROBE;
constexpr auto STATUS = MRC_CTL_EP_OP_PORT_STATUS_UPDATE;

using Req = mrc_ctl_ep_req;
using Rsp = mrc_ctl_ep_rsp;

struct Hosts {
	const Device &dev;
	const Device &peer;
};

Req request(const Hosts &h, uint16_t id, uint8_t port)
{
	Req r{};

	r.req_id = id;
	r.sgid = h.dev.gid(4);
	r.dgid = h.peer.gid(4);
	r.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
	r.req_ev = ev16(static_cast<uint16_t>(0xc000 + id), port);
	return r;
}

/* @rsp: what came, at most as many as were asked for. */
int batch(const Hosts &h, std::vector<Req> req, uint32_t timeout,
	  std::vector<Rsp> &rsp, mrc_ctl_ep_op_type op = PROBE)
{
	int n = -1;

	rsp.resize(req.size());
	std::memset(rsp.data(), 0xee, sizeof(rsp[0]) * rsp.size());
	const int err = failed(mrc_ctl_ep_batch_send_wait(
		h.dev.ctx(), 0, op, req.data(), static_cast<int>(req.size()),
		timeout, rsp.data(), &n));

	if (n < 0 || n > static_cast<int>(req.size()))
		throw Failure("number of responses: " + std::to_string(n));
	for (std::size_t i = static_cast<std::size_t>(n); i < rsp.size(); i++)
		if (rsp[i].req_id != 0xeeee)
			throw Failure("more responses than were counted");
	rsp.resize(static_cast<std::size_t>(n));
	return err;
}

/* --- what is refused --------------------------------------------------------
 */

void refused(Check &c, const Hosts &h)
{
	const struct {
		const char *what;
		void (*spoil)(std::vector<Req> &);
	} cases[] = {
		{"a duplicate id",
		 [](std::vector<Req> &r) { r[2].req_id = r[0].req_id; }},
		{"port 0", [](std::vector<Req> &r) { r[1].req_ev.port = 0; }},
		{"port 3", [](std::vector<Req> &r) { r[1].req_ev.port = 3; }},
		{"no format",
		 [](std::vector<Req> &r) {
			 r[1].ev_fmt_mode = static_cast<mrc_ctl_ev_fmt_mode>(0);
		 }},
		{"a structured EV over IPv4",
		 [](std::vector<Req> &r) {
			 r[1].ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV;
		 }},
		{"more bits than a source port has",
		 [](std::vector<Req> &r) { r[1].req_ev.val[2] = 1; }},
		{"a source that is not the device's",
		 [](std::vector<Req> &r) { r[1].sgid.raw[15] ^= 0x55; }},
		{"no source",
		 [](std::vector<Req> &r) {
			 std::memset(&r[0].sgid, 0, sizeof(r[0].sgid));
		 }},
		{"no destination",
		 [](std::vector<Req> &r) {
			 std::memset(&r[0].dgid, 0, sizeof(r[0].dgid));
		 }},
		{"a multicast destination",
		 [](std::vector<Req> &r) { r[0].dgid.raw[12] = 224; }},
	};
	std::vector<Rsp> rsp;

	for (const auto &k : cases) {
		std::vector<Req> req = {request(h, 1, 1), request(h, 2, 2),
					request(h, 3, 1)};

		k.spoil(req);
		c.err(batch(h, req, second, rsp), EINVAL, k.what);
		c.eq(static_cast<int64_t>(rsp.size()), 0, k.what);
	}

	/* Source and destination of different families. */
	std::vector<Req> req = {request(h, 1, 1)};

	req[0].dgid = h.peer.gid(6);
	c.err(batch(h, req, second, rsp), EINVAL, "two families");

	/* Somebody who is not there: nothing can be sent. */
	req = {request(h, 1, 1)};
	req[0].dgid.raw[13] ^= 0x55;
	c.err(batch(h, req, second, rsp), EIO, "no route");
	c.eq(static_cast<int64_t>(rsp.size()), 0, "no route");
}

void bad_calls(Check &c, const Hosts &h)
{
	mrc_context *ctx = h.dev.ctx();
	Req req = request(h, 1, 1);
	Rsp rsp{};
	int n = 5;
	const auto call = [&](mrc_context *k, mrc_ctl_ep_op_type op, Req *q,
			      int nq, Rsp *s, int *ns) {
		n = 5;
		return failed(mrc_ctl_ep_batch_send_wait(k, 0, op, q, nq,
							 second, s, ns));
	};

	c.err(call(ctx, PROBE, &req, 0, &rsp, &n), EINVAL, "no requests");
	c.eq(n, 0, "responses");
	c.err(call(ctx, PROBE, &req, -1, &rsp, &n), EINVAL, "-1 requests");
	c.err(call(ctx, PROBE, nullptr, 1, &rsp, &n), EINVAL, "no array");
	c.eq(n, 0, "responses");
	c.err(call(ctx, PROBE, &req, 1, nullptr, &n), EINVAL, "no room");
	c.err(call(ctx, PROBE, &req, 1, &rsp, nullptr), EINVAL, "no count");
	c.err(call(nullptr, PROBE, &req, 1, &rsp, &n), EINVAL, "no context");
	c.err(call(ctx, static_cast<mrc_ctl_ep_op_type>(2), &req, 1, &rsp, &n),
	      EINVAL, "an operation that is none");

	std::vector<Req> many;
	std::vector<Rsp> out;

	for (unsigned i = 0; i < 4097; i++)
		many.push_back(request(h, static_cast<uint16_t>(i), 1));
	c.err(batch(h, many, second, out), EINVAL, "4097 requests");
	/* An answer may come before anybody could wait for it. */
	const int err = batch(h, {request(h, 1, 1)}, 0, out);

	c.err(err, out.empty() ? ETIMEDOUT : 0, "no time");
}

void answered(Check &c, const Hosts &h)
{
	std::vector<Req> req;
	std::vector<Rsp> rsp;
	std::vector<bool> seen(65536);

	/* Ids mean nothing but themselves. */
	for (const unsigned id : {0U, 65535U, 7U, 4096U, 256U, 1U, 40000U})
		req.push_back(request(h, static_cast<uint16_t>(id),
				      static_cast<uint8_t>(1 + id % 2)));
	c.err(batch(h, req, 4 * second, rsp), 0, "probes");
	c.eq(static_cast<int64_t>(rsp.size()), 7, "answers");
	for (const Rsp &s : rsp) {
		c.that(!seen[s.req_id], "answered twice");
		seen[s.req_id] = true;
		c.eq(s.port, 1 + s.req_id % 2, "port of an answer");
		c.that(s.rtt > 0 && s.rtt < 4 * second, "round trip");
	}
	for (const Req &r : req)
		c.that(seen[r.req_id],
		       "id " + std::to_string(r.req_id) + " not answered");
	c.err(batch(h, req, 4 * second, rsp), 0, "the same ids again");
	c.eq(static_cast<int64_t>(rsp.size()), 7, "answers");
}

/* A peer listens to those that it has connections with. */
void port_status(Check &c, const Hosts &h)
{
	std::vector<Req> req = {request(h, 1, 1), request(h, 2, 2)};
	std::vector<Rsp> rsp;

	for (Req &r : req)
		r.op.port_status_update.port_status = 0b110;
	c.err(batch(h, req, second / 5, rsp, STATUS), ETIMEDOUT,
	      "an update from a stranger");
	c.eq(static_cast<int64_t>(rsp.size()), 0, "answers to a stranger");
	{
		Pair p(h.dev, h.peer, {});

		p.a.write(p.b);
		c.err(batch(h, req, 4 * second, rsp, STATUS), 0, "an update");
		c.eq(static_cast<int64_t>(rsp.size()), 2, "answers");
		p.a.write(p.b);
	}
}

/* --- what the network does
 * ---------------------------------------------------- */

std::vector<uint16_t> ids(const std::vector<Rsp> &rsp)
{
	std::vector<uint16_t> out;

	for (const Rsp &s : rsp)
		out.push_back(s.req_id);
	return out;
}

/* Eight requests, in turn on @first and the other port. */
std::vector<Req> eight(const Hosts &h, uint8_t first)
{
	std::vector<Req> req;

	for (uint16_t i = 0; i < 8; i++)
		req.push_back(request(
			h, i, static_cast<uint8_t>(i % 2 ? 3 - first : first)));
	return req;
}

/* Responses are in the order of arrival, not of the requests. */
void slow(Check &c, const Hosts &h, uint8_t port)
{
	std::vector<Rsp> rsp;

	c.err(batch(h, eight(h, port), 4 * second, rsp), 0, "probes");
	c.eq(static_cast<int64_t>(rsp.size()), 8, "answers");
	for (std::size_t i = 0; i < rsp.size(); i++) {
		c.eq(rsp[i].req_id % 2, i < 4, "a fast one first");
		c.eq(rsp[i].port, i < 4 ? 3 - port : port, "port");
		if (i >= 4)
			c.that(rsp[i].rtt >= 300000000,
			       "round trip of " + std::to_string(rsp[i].rtt));
	}
}

/*
 * An answer that comes later than the timeout is none, though the call still
 * waits for others: it takes some time to send so many.
 */
void too_late(Check &c, const Hosts &h, uint8_t port)
{
	constexpr uint32_t timeout = 299900000;
	std::vector<Req> req;
	std::vector<Rsp> rsp;

	for (uint16_t i = 0; i < 900; i++)
		req.push_back(request(h, i, port));
	c.err(batch(h, req, timeout, rsp), ETIMEDOUT, "probes");
	c.eq(static_cast<int64_t>(rsp.size()), 0, "answers, all too late");
	/* Those that have the time get theirs, first and last. */
	req.resize(100);
	c.err(batch(h, req, 4 * second, rsp), 0, "with more time");
	c.eq(static_cast<int64_t>(rsp.size()), 100, "answers");
}

void dead(Check &c, const Hosts &h, uint8_t port)
{
	std::vector<Rsp> rsp;

	c.err(batch(h, eight(h, port), second, rsp), ETIMEDOUT, "probes");
	std::vector<uint16_t> got = ids(rsp);

	std::sort(got.begin(), got.end());
	c.that(got == std::vector<uint16_t>{1, 3, 5, 7},
	       "the answers of the other port");
	for (const Rsp &s : rsp)
		c.eq(s.port, 3 - port, "port");
	c.err(batch(h, {request(h, 1, port)}, second / 10, rsp), ETIMEDOUT,
	      "one probe");
	c.eq(static_cast<int64_t>(rsp.size()), 0, "its answers");
}

/* Answers that nobody waits for any more are not taken for others. */
void late(Check &c, const Hosts &h, uint8_t port)
{
	std::vector<Rsp> rsp;
	const std::vector<Req> req = {request(h, 1, port), request(h, 2, port)};

	c.err(batch(h, req, second / 20, rsp), ETIMEDOUT, "too little time");
	c.eq(static_cast<int64_t>(rsp.size()), 0, "answers");
	c.err(batch(h, req, 4 * second, rsp), 0, "the same ids, at once");
	c.eq(static_cast<int64_t>(rsp.size()), 2, "answers");
	for (const Rsp &s : rsp)
		c.that(s.rtt >= 2 * second,
		       "round trip of " + std::to_string(s.rtt));
}
} // namespace

bool test_probes(const Device &dev, const Args &args)
{
	const Device peer(args.at(0));
	const Hosts h = {dev, peer};
	const std::string &what = args.at(1);
	Report r(Report::counted);

	if (what == "rules") {
		r.run("probes: requests that are refused",
		      [&](Check &c) { refused(c, h); });
		r.run("probes: calls that are refused",
		      [&](Check &c) { bad_calls(c, h); });
		r.run("probes: answers belong to requests",
		      [&](Check &c) { answered(c, h); });
		r.run("port status: for a peer with a connection",
		      [&](Check &c) { port_status(c, h); });
		return r.good();
	}
	if (what == "answered") {
		r.run("probes: answers belong to requests",
		      [&](Check &c) { answered(c, h); });
		return r.good();
	}
	const auto port = static_cast<uint8_t>(std::stoi(args.at(2)));

	if (what == "slow") {
		r.run("probes: answers in the order in which they come",
		      [&](Check &c) { slow(c, h, port); });
		r.run("probes: a timeout counts from each probe's sending",
		      [&](Check &c) { too_late(c, h, port); });
	} else if (what == "dead")
		r.run("probes: a timeout, and the answers that came",
		      [&](Check &c) { dead(c, h, port); });
	else if (what == "late")
		r.run("probes: late answers are nobody's",
		      [&](Check &c) { late(c, h, port); });
	else
		throw Failure("no test of probes: " + what);
	return r.good();
}

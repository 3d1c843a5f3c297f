// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Cases about the requester: losses, timers, windows, EVs. §5.1, §8.4, §9, §11.
 */
#include <algorithm>

#include <fmt/format.h>

#include "cases.hpp"

namespace mrcconform
{
namespace
{
constexpr uint32_t small_mtu = 256;
/* §8.4 */
constexpr uint8_t trimmed = 1;
constexpr uint8_t trimmed_lasthop = 2;
constexpr uint8_t out_of_window = 0x0B;
constexpr uint8_t unexpected = 0x19;

req::MakeQp small()
{
	req::MakeQp r;

	r.mtu = small_mtu;
	r.sq_psn = 0xFFFFFE;
	return r;
}

/* Both packets are the same transmission, apart from what must differ. */
void check_copy(const Packet &p, const Packet &copy)
{
	check_field(copy, F::rtx, 1);
	for (const F f : {F::opcode, F::psn, F::rqmsn, F::msn, F::va, F::rkey,
			  F::dmalen, F::pad, F::pkey})
		check_field(copy, f, p[f]);
	check(copy.payload == p.payload, "the same payload in the copy");
}

/* A NACK makes the requester send the packet again. */
void again_after(Bench &b, uint8_t reason)
{
	Qp q(b);
	const uint64_t id = q.post(100, 0x55);
	const Packet p = q.expect(is_data, "a data packet");

	q.send_nack(p, reason);

	const Packet copy = q.expect_data(0, true);

	check_copy(p, copy);
	check_field(copy, F::imm, 0x55);
	q.acknowledge(copy);
	q.expect_done(id);
}

void nack_trimmed(Bench &b)
{
	again_after(b, trimmed);
}
void nack_lasthop(Bench &b)
{
	again_after(b, trimmed_lasthop);
}
void nack_no_bitmap(Bench &b)
{
	again_after(b, 0x06);
}
void nack_no_buffer(Bench &b)
{
	again_after(b, 0x07);
}
void nack_no_resource(Bench &b)
{
	again_after(b, 0x0A);
}
void nack_window(Bench &b)
{
	again_after(b, out_of_window);
}
void nack_reserved(Bench &b)
{
	again_after(b, 0x33);
}

void fresh_ev(Bench &b)
{
	Qp q(b);

	q.post(100);

	const Packet p = q.expect(is_data, "a data packet");

	q.send_nack(p, trimmed);

	const Packet copy = q.expect_data(0, true);

	check(entropy_of(copy, b.v6()) != entropy_of(p, b.v6()),
	      "another entropy value for the copy of a trimmed packet");
}

void nack_unexpected(Bench &b)
{
	Qp q(b);
	const uint64_t id = q.post(100);

	q.send_nack(q.expect_data(0), unexpected);
	q.expect_done(id, "REM_OP_ERR");
	q.expect_state(State::error);
}

/* A peer that refuses every copy uses up the budget, as a silent one does. */
void nack_endless(Bench &b)
{
	req::MakeQp r;

	/* 17 ms */
	r.timeout = 12;
	r.retry = 2;
	Qp q(b, r);
	const uint64_t id = q.post(100);

	b.until(
		[&] {
			for (const Packet &p : b.take(is_data))
				if (p[F::dqp] == q.peer_qpn())
					q.send_nack(p, 0x0A);
			return q.state() == State::error;
		},
		"state ERROR of a queue pair whose packet is refused again and "
		"again");
	q.expect_done(id, "RETRY_EXC_ERR");
}

void nack_received(Bench &b)
{
	Qp q(b);
	const uint64_t first = q.post(32), second = q.post(32);
	const Packet p = q.expect_data(0);

	q.send_sack(p);

	const Packet p2 = q.expect(
		[&](const Packet &d) {
			return is_data(d) && d[F::psn] == q.tx(1);
		},
		"the second data packet");

	q.send_nack(p, trimmed);
	q.send_nack(p2, trimmed);
	q.expect_data(1, true);
	b.fence();
	q.expect_none(
		[&](const Packet &d) {
			return is_data(d) && d[F::psn] == q.tx(0) && d[F::rtx];
		},
		"no copy of a packet that was acknowledged by a SACK");
	q.send_ack(1);
	q.expect_done(first);
	q.expect_done(second);
}

void nack_unsent(Bench &b)
{
	Qp q(b);
	const uint64_t id = q.post(32);
	const Packet p = q.expect_data(0);
	Packet bogus = p;

	bogus[F::psn] = q.tx(3);
	q.send_nack(bogus, unexpected);
	b.fence();
	check(q.state() == State::rts, "state RTS after it");
	q.acknowledge(p);
	q.expect_done(id);
}

using Answer = std::function<void(const Packet &)>;

/*
 * A message of @n packets, of which the tester does not take those in @lost.
 * Returns the last one that it took. @answer takes the place of send_sack().
 */
Packet with_holes(Qp &q, int32_t n, const std::vector<int32_t> &lost,
		  std::vector<Packet> &holes, const Answer &answer = {})
{
	std::vector<Packet> all;
	Packet newest(op_write_only);

	while (all.size() < static_cast<size_t>(n)) {
		Packet p = q.expect(
			[&](const Packet &d) {
				return is_data(d) &&
				       std::ranges::none_of(
					       all, [&](const Packet &o) {
						       return o[F::psn] ==
							      d[F::psn];
					       });
			},
			fmt::format("{} data packets", n));
		const bool hole = std::ranges::any_of(
			lost, [&](int32_t i) { return p[F::psn] == q.tx(i); });

		if (hole) {
			holes.push_back(p);
		} else if (q.responder().take(p)) {
			newest = p;
			if (p[F::a] && answer)
				answer(p);
			else if (p[F::a])
				q.send_sack(p);
		}
		all.push_back(std::move(p));
	}
	return newest;
}

void sack_hole(Bench &b)
{
	Qp q(b, small());
	std::vector<Packet> holes;
	const uint64_t id = q.post(small_mtu * 40);

	q.send_sack(with_holes(q, 40, {3}, holes));

	const Packet copy = q.expect_copy(3);

	check_copy(holes.at(0), copy);
	q.acknowledge(copy);
	q.expect_done(id);
	b.fence();
	q.expect_none(
		[&](const Packet &p) {
			return is_data(p) && p[F::rtx] && p[F::psn] != q.tx(3);
		},
		"copies of missing packets only");
}

void several_holes(Bench &b)
{
	Qp q(b, small());
	std::vector<Packet> holes;
	const uint64_t id = q.post(small_mtu * 40);

	q.send_sack(with_holes(q, 40, {0, 7, 8, 21}, holes));
	for (const int32_t n : {0, 7, 8, 21})
		q.send_sack(q.expect_copy(n));
	q.send_ack(39);
	q.expect_done(id);
	b.fence();
	q.expect_none(
		[&](const Packet &p) {
			return is_data(p) && p[F::rtx] &&
			       std::ranges::none_of(
				       std::vector{0, 7, 8, 21, 39},
				       [&](int32_t n) {
					       return p[F::psn] == q.tx(n);
				       });
		},
		"copies of missing packets only");
}

/* The map of a SACK may begin anywhere, also below cack_psn. */
void any_base(Bench &b)
{
	Qp q(b, small());
	std::vector<Packet> holes;
	const uint64_t id = q.post(small_mtu * 40);
	const Packet newest = with_holes(q, 40, {3}, holes);

	q.send_sack(newest, q.tx(-4));

	const Packet copy = q.expect_copy(
		3, [&](const Packet &p) { q.send_sack(p, q.tx(-4)); });

	q.acknowledge(copy);
	q.expect_done(id);
	b.fence();
	q.expect_none(
		[&](const Packet &p) {
			return is_data(p) && p[F::rtx] && p[F::psn] != q.tx(3);
		},
		"copies of missing packets only");
}

void silence(Bench &b)
{
	req::MakeQp r;

	/* 268 ms */
	r.timeout = 16;
	Qp q(b, r);
	const uint64_t id = q.post(100);
	const Packet p = q.expect(is_data, "a data packet");
	const Packet copy = q.expect_data(0, true);

	check_copy(p, copy);
	q.acknowledge(copy);
	q.expect_done(id);
}

void exhausted(Bench &b)
{
	req::MakeQp r;

	/* 17 ms */
	r.timeout = 12;
	r.retry = 2;
	Qp q(b, r);
	const uint64_t first = q.post(32), second = q.post(32);

	q.expect_done(first, "RETRY_EXC_ERR");
	q.expect_done(second, "WR_FLUSH_ERR");
	q.expect_state(State::error);

	const auto copies = std::ranges::count_if(
		b.take([&](const Packet &p) {
			return is_data(p) && p[F::dqp] == q.peer_qpn();
		}),
		[&](const Packet &p) { return p[F::psn] == q.tx(0); });

	check(copies >= 3,
	      fmt::format("the first transmission and two retries at least; "
			  "there were {}",
			  copies));
}

/* Tries that answers interrupt do not add up. */
void budget_restored(Bench &b)
{
	req::MakeQp r;

	/* 537 ms: a slow tester must not use up the budget. */
	r.timeout = 17;
	r.retry = 1;
	Qp q(b, r);

	for (int32_t n = 0; n < 3; n++) {
		const uint64_t id = q.post(32);

		q.acknowledge(q.expect_data(n, true));
		q.expect_done(id);
	}
}

void probes(Bench &b)
{
	Qp q(b);
	const uint64_t id = q.post(100);
	const Packet p = q.expect(is_data, "a data packet");
	const Packet probe =
		q.expect(is_op(op_probe), "a reliability probe, after silence");

	check_field(probe, F::psn, 0);
	check_equal("ECN of the probe", probe[F::tos] & 3, 2);
	check_field(probe, F::peth_spdcid, q.qpn() & 0xFFFF);
	/* The answer shows the hole. */
	q.send_sack(probe);

	const Packet copy = q.expect_copy(0);

	check_copy(p, copy);
	q.acknowledge(copy);
	q.expect_done(id);
}

void probe_ids(Bench &b)
{
	Qp q(b);
	std::vector<uint64_t> ids;

	q.post(100);
	while (ids.size() < 3) {
		const Packet p =
			q.expect(is_op(op_probe), "three reliability probes");

		check(std::ranges::find(ids, p[F::probe_id]) == ids.end(),
		      "a probe id of its own for each probe");
		ids.push_back(p[F::probe_id]);
	}
}

/*
 * The first packet is never taken. The requester must stop at the end of the
 * window, and must go on when the window moves.
 */
void window(Bench &b)
{
	Qp q(b, small());
	const auto w = static_cast<int32_t>(b.options().window);
	const int32_t per_message = 256;
	int32_t taken = 0, newest = 0;

	for (int32_t n = 0; n < w + 2 * per_message; n += per_message)
		q.post(small_mtu * per_message);
	while (taken < w - 1) {
		const Packet p = q.expect(
			is_data, fmt::format("data packets up to PSN {:#x}, "
					     "the end of the window",
					     q.tx(w - 1)));
		const int32_t n =
			psn_diff(static_cast<uint32_t>(p[F::psn]), q.sq_psn());

		check(n < w, fmt::format("PSNs up to {:#x}, the end of the "
					 "window; there came {:#x}",
					 q.tx(w - 1), p[F::psn]));
		if (!n || !q.responder().take(p))
			continue;
		taken++;
		newest = std::max(newest, n);
		if (p[F::a] || taken % 8 == 0 || taken == w - 1)
			q.send_sack(p, q.tx(std::max(newest - 63, 0)));
	}
	b.fence();
	for (const Packet &p : b.take(is_data))
		if (p[F::dqp] == q.peer_qpn())
			check(psn_diff(static_cast<uint32_t>(p[F::psn]),
				       q.sq_psn()) < w,
			      "no PSN beyond the window");

	q.send_sack(q.expect_copy(0));
	q.expect_data(w, {});
}

void condemned(Bench &b)
{
	Qp q(b, small());
	const uint64_t id = q.post(small_mtu);
	const Packet p = q.expect_data(0);
	const uint32_t bad = entropy_of(p, b.v6());
	Packet s = q.sack(p);

	s[F::m] = 2;
	q.send(s);
	q.send_ack(0);
	q.expect_done(id);
	q.post(small_mtu * 256);
	for (const Packet &d : q.collect(257))
		check(entropy_of(d, b.v6()) != bad,
		      fmt::format("no data on entropy {:#x}, which is "
				  "condemned",
				  bad));
}

/* m = 3 is reserved, and counts as 0. */
void reserved_m(Bench &b)
{
	Qp q(b, small());
	const uint64_t id = q.post(small_mtu);
	const Packet p = q.expect_data(0);
	const uint32_t entropy = entropy_of(p, b.v6());
	Packet s = q.sack(p);
	bool used = false;

	s[F::m] = 3;
	q.send(s);
	q.send_ack(0);
	q.expect_done(id);
	q.post(small_mtu * 256);
	for (const Packet &d : q.collect(257))
		used = used || entropy_of(d, b.v6()) == entropy;
	check(used, "data on the entropy value as before");
}

/* What a field of congestion control says does not concern reliability. */
void other_cc_type(Bench &b)
{
	req::MakeQp r = small();

	/* 17 s: no timeout may do what the SACKs should. */
	r.timeout = 22;
	Qp q(b, r);
	std::vector<Packet> holes;
	const uint64_t id = q.post(small_mtu * 40);
	const Answer answer = [&](const Packet &p) {
		Packet s = q.sack(p);

		s[F::sack_cc_type] = 5;
		q.send(s);
	};

	answer(with_holes(q, 40, {3}, holes, answer));

	const Packet copy = q.expect_copy(3, answer);

	q.acknowledge(copy);
	q.expect_done(id);
}

void feedback_dcids(Bench &b)
{
	Qp q(b);
	const uint64_t id = q.post(100);
	const Packet p = q.expect(is_data, "a data packet");
	Packet n = q.make(op_nack, q.tx(0));

	n[F::nack_psn] = p[F::psn];
	n[F::nack_reason] = trimmed;
	n[F::nack_entropy] = entropy_of(p, b.v6());
	n[F::nack_timestamp] = p[F::tx_timestamp];
	n[F::nack_spdcid] = 0x5555;
	n[F::nack_dpdcid] = 0xAAAA;
	q.send(n);

	const Packet copy = q.expect_data(0, true);
	Packet s = q.sack(copy);

	s[F::sack_spdcid] = 0x5555;
	s[F::sack_dpdcid] = 0xAAAA;
	q.send(s);
	q.send_ack(0);
	q.expect_done(id);
}

/* An EV that was condemned is probed; answers bring it back. */
void probed_back(Bench &b)
{
	Qp q(b, small());
	const uint64_t first = q.post(small_mtu);

	/* Now the round trip time is known. */
	q.acknowledge(q.expect_data(0));
	q.expect_done(first);

	const uint64_t second = q.post(small_mtu);
	const Packet p = q.expect_data(1);
	const uint32_t bad = entropy_of(p, b.v6());
	Packet s = q.sack(p);

	s[F::m] = 2;
	q.send(s);
	q.send_ack(1);
	q.expect_done(second);

	const auto on_bad = [&](const Packet &r) {
		return r.opcode() == op_probe && entropy_of(r, b.v6()) == bad;
	};

	bool used = false;

	/*
	 * Two answers are enough, but late ones do not count, so the newest
	 * probe is answered. Once the value is back no probe of it comes, so
	 * each answer is followed by data.
	 */
	for (int32_t round = 1; !used; round++) {
		check(round <= 20, "data on the entropy value again, after "
				   "probes of it were answered");
		const auto came = b.take(on_bad);

		q.send_sack(came.empty() ? q.expect(on_bad,
						    "a probe of the condemned "
						    "entropy value")
					 : came.back());
		b.fence();
		q.post(small_mtu * 256);
		for (const Packet &d : q.collect(2 + 256 * round))
			used = used || entropy_of(d, b.v6()) == bad;
		q.send_ack(1 + 256 * round);
	}
}

constexpr Case table[] = {
	{"req.nack.trimmed", "8.4", Level::must,
	 "After NACK TRIMMED the packet is sent again, with rtx = 1 and "
	 "otherwise unchanged.",
	 nack_trimmed},
	{"req.nack.trimmed-lasthop", "8.4", Level::must,
	 "The same after NACK TRIMMED_LASTHOP.", nack_lasthop},
	{"req.nack.no-bitmap", "8.4", Level::must,
	 "The same after NACK NO_BITMAP.", nack_no_bitmap},
	{"req.nack.no-buffer", "8.4", Level::must,
	 "The same after NACK NO_PKT_BUFFER.", nack_no_buffer},
	{"req.nack.no-resource", "8.4", Level::must,
	 "The same after NACK NO_RESOURCE.", nack_no_resource},
	{"req.nack.window", "8.4", Level::must,
	 "The same after NACK PSN_OOR_WINDOW of a PSN above cack_psn.",
	 nack_window},
	{"req.nack.reserved", "8.4", Level::should,
	 "A reserved reason is treated as NO_RESOURCE.", nack_reserved},
	{"req.nack.fresh-ev", "8.4", Level::must,
	 "The copy of a trimmed packet takes another entropy value.", fresh_ev},
	{"req.nack.unexpected-event", "8.4", Level::must,
	 "NACK UNEXP_EVENT fails the work request with REM_OP_ERR.",
	 nack_unexpected},
	{"req.nack.endless", "9.4", Level::must,
	 "Recoverable NACKs use up the retry budget, as silence does.",
	 nack_endless},
	{"req.nack.received", "8.4", Level::must,
	 "A NACK of a PSN that was acknowledged is ignored.", nack_received},
	{"req.nack.unsent", "8.4", Level::must,
	 "A NACK of a PSN that was not sent is ignored.", nack_unsent},
	{"req.loss.hole", "9.1", Level::must,
	 "A hole that SACKs show is filled: the packet is sent again, and no "
	 "other.",
	 sack_hole},
	{"req.loss.several-holes", "9.1", Level::must,
	 "Each of several holes is filled.", several_holes},
	{"req.loss.any-base", "8.3", Level::must,
	 "A requester accepts any base of a SACK's map.", any_base},
	{"req.retry.silence", "9.4", Level::must,
	 "A packet without any answer is sent again, with rtx = 1 and "
	 "otherwise "
	 "unchanged.",
	 silence},
	{"req.retry.exhausted", "9.4", Level::must,
	 "When the retries are used up the work request fails with "
	 "RETRY_EXC_ERR.",
	 exhausted},
	{"req.retry.restored", "9.4", Level::must,
	 "Progress restores the retry budget.", budget_restored},
	{"req.probe.tail", "9.5", Level::should,
	 "After silence a probe asks for the state; a hole in its answer is "
	 "filled.",
	 probes},
	{"req.probe.ids", "9.5", Level::should,
	 "No probe is repeated under the same id.", probe_ids},
	{"req.window", "5.1", Level::must,
	 "No PSN beyond cack_psn + W is sent; the requester goes on when the "
	 "window moves.",
	 window},
	{"req.ev.condemned", "11.6", Level::must,
	 "An entropy value that a SACK condemned (m = ALWAYS_SKIP) carries no "
	 "data.",
	 condemned},
	{"req.ev.reserved-m", "4.6", Level::must,
	 "The reserved value 3 of m is treated as 0.", reserved_m},
	{"req.accepts.cc-type", "4.6", Level::should,
	 "A SACK with an unknown cc_type counts for reliability.",
	 other_cc_type},
	{"req.accepts.dcids", "4.12", Level::must,
	 "spdcid and dpdcid of feedback are not validated.", feedback_dcids},
	{"req.ev.probed-back", "11.6", Level::should,
	 "Two answered probes bring a condemned entropy value back.",
	 probed_back},
};
} // namespace

std::span<const Case> req_loss_cases()
{
	return table;
}
} // namespace mrcconform

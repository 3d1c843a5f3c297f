// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Cases about SACKs and reliability probes: MRC 1.0 §4.6, §8.2, §8.3, §9.5. */
#include <algorithm>

#include <fmt/format.h>

#include "cases.hpp"

namespace mrcconform
{
namespace
{
constexpr uint8_t ce = 3;

/* A small write without BTH.a. */
Packet quiet(const Qp &q, int32_t n)
{
	Packet p = q.only(n, 0, Qp::pattern(8));

	p[F::a] = 0;
	return p;
}

void set_ecn(Packet &p, uint64_t ecn)
{
	p[F::tos] = (p[F::tos] & ~uint64_t{3}) | ecn;
}

Packet probe_answer(Qp &q, uint16_t id)
{
	return q.expect(
		[id](const Packet &p) {
			return p.opcode() == op_sack && p[F::pr] &&
			       p[F::ack_psn_offset] == id;
		},
		fmt::format("a SACK with pr = 1 and probe id {:#x}", id));
}

void on_request(Bench &b)
{
	Qp q(b);

	q.send(q.only(0, 0, Qp::pattern(8)));

	const Packet s = q.expect_cack(0);

	check_equal("ack_psn_offset", s[F::ack_psn_offset], 0);
	check_field(s, F::rtx, 0);
	check_field(s, F::m, 0);
}

void on_rtx(Bench &b)
{
	Qp q(b);
	Packet p = quiet(q, 0);

	p[F::rtx] = 1;
	q.send(p);
	check_field(q.expect_cack(0), F::rtx, 1);
}

void on_ce(Bench &b)
{
	Qp q(b);
	Packet p = quiet(q, 0);

	set_ecn(p, ce);
	q.send(p);
	check_field(q.expect_cack(0), F::m, 1);
}

/* Each SACK reports one EV. */
void each_ce(Bench &b)
{
	Qp q(b);

	for (int32_t n = 0; n < 3; n++) {
		Packet p = quiet(q, n);

		set_ecn(p, ce);
		p[F::sport] = 0xD000u + static_cast<uint64_t>(n);
		q.send(p);
	}
	for (uint64_t n = 0; n < 3; n++) {
		const Packet s = q.expect_sack(
			fmt::format("a SACK for source port {:#x}", 0xD000 + n),
			[n](const Packet &p) {
				return (p[F::sack_entropy] & 0xFFFF) ==
				       0xD000 + n;
			});

		check_field(s, F::m, 1);
	}
}

void ect_draws_none(Bench &b)
{
	Qp q(b);

	for (uint64_t ecn = 0; ecn < 3; ecn++) {
		Packet p = quiet(q, static_cast<int32_t>(ecn));

		set_ecn(p, ecn);
		q.send(p);
	}
	q.expect_ack(2);
	q.fence();
	q.expect_none(is_op(op_sack),
		      "no SACK for three small packets that ask for none");
}

void threshold(Bench &b)
{
	Qp q(b);

	for (int32_t n = 0; n < 16; n++)
		q.send(quiet(q, n));

	const Packet s = q.expect_sack("a SACK after 16 small packets, which "
				       "count as 16 KiB");

	check_equal("PSN that triggered the SACK",
		    psn_add(static_cast<uint32_t>(s[F::cack_psn]),
			    s.signed16(F::ack_psn_offset)),
		    q.rx(15));
}

void threshold_restarts(Bench &b)
{
	Qp q(b);

	for (int32_t n = 0; n < 15; n++)
		q.send(quiet(q, n));
	/* Its answers are SACKs. */
	q.fence();
	for (int32_t n = 15; n < 30; n++)
		q.send(quiet(q, n));
	q.fence();
	q.expect_none(
		[](const Packet &p) {
			return p.opcode() == op_sack && !p[F::pr];
		},
		"no SACK before 16 KiB have come since the last one");
}

/* §18.4, the first five rows */
void vector(Bench &b)
{
	Qp q(b);

	for (const int32_t n : {0, 1, 2, 3, 4, 6, 7, 9, 10, 11}) {
		Packet p = quiet(q, n);

		p[F::a] = n == 11;
		q.send(p);
	}

	Packet s = q.expect_cack(4);

	check_field(s, F::ack_psn_offset, 7);
	check_field(s, F::sack_offset, 1);
	check_field(s, F::sack_bitmap, 0x76);
	q.expect_ack(4);

	Packet p = quiet(q, 5);

	p[F::rtx] = 1;
	q.send(p);
	s = q.expect_cack(7);
	check_field(s, F::rtx, 1);
	check_field(s, F::ack_psn_offset, static_cast<uint16_t>(-2));
	check_field(s, F::sack_offset, 1);
	check_field(s, F::sack_bitmap, 0x0E);

	p = quiet(q, 8);
	p[F::rtx] = 1;
	q.send(p);
	q.expect_cack(11);
	q.expect_ack(11);

	q.send(quiet(q, 3));
	s = q.expect_cack(11);
	check_field(s, F::ack_psn_offset, static_cast<uint16_t>(-8));
	q.expect_ack(11);
}

void gap_shown(Bench &b)
{
	Qp q(b);

	for (const int32_t n : {0, 2, 3, 5}) {
		Packet p = quiet(q, n);

		p[F::a] = n == 5;
		q.send(p);
	}

	const Packet s = q.expect_sack("a SACK of PSN 5", [&](const Packet &p) {
		return sack_shows(p, q.rx(5));
	});

	check_field(s, F::cack_psn, q.rx(0));
	for (int32_t n = 0; n < 6; n++)
		check_equal(fmt::format("the map's bit of PSN {:#x}", q.rx(n)),
			    sack_shows(s, q.rx(n)), n != 1 && n != 4);
}

void ack_psn(Bench &b)
{
	Qp q(b);

	q.send(q.only(7, 0, Qp::pattern(8)));
	check_field(q.expect_sack("a SACK of PSN 7"), F::ack_psn_offset, 8);
	q.send(q.only(3, 0, Qp::pattern(8)));
	check_field(q.expect_sack("a SACK of PSN 3"), F::ack_psn_offset, 4);
}

void offset_range(Bench &b)
{
	Qp q(b);

	q.send(q.only(0, 0, Qp::pattern(8)));
	q.expect_cack(0);
	/* A duplicate from long ago */
	q.send(q.only(-40000, 0, Qp::pattern(8)));
	check_field(q.expect_cack(0), F::ack_psn_offset, 0);
}

void wide_window(Bench &b)
{
	Qp q(b);
	const int32_t far = 200;

	q.send(quiet(q, 0));
	q.send(q.only(far, 0, Qp::pattern(8)));

	const Packet s = q.expect_sack(
		"a SACK whose map shows the newest packet, 200 PSNs ahead",
		[&](const Packet &p) {
			const int32_t bit = far - p.signed16(F::sack_offset);

			return p[F::cack_psn] == q.rx(0) && bit >= 0 &&
			       bit < 64 && p[F::sack_bitmap] >> bit & 1;
		});

	for (int32_t n = 1; n < far; n++)
		check(!sack_shows(s, q.rx(n)),
		      fmt::format("a map without PSN {:#x}", q.rx(n)));
}

void entropy(Bench &b)
{
	Qp q(b);
	Packet p = q.only(0, 0, Qp::pattern(8));

	p[F::sport] = 0xD00D;
	p[F::flow] = b.v6() ? 0xF4321 : 0;
	q.send(p);
	check_field(q.expect_cack(0), F::sack_entropy,
		    b.v6() ? 0x4321D00D : 0xD00D);
}

void timestamp(Bench &b)
{
	Qp q(b);
	Packet p = q.only(0, 0, Qp::pattern(8));

	p[F::ts] = 1;
	p[F::tx_timestamp] = 0x4321;
	q.send(p);
	check_field(q.expect_cack(0), F::sack_timestamp, 0x4321);
}

void no_timestamp(Bench &b)
{
	Qp q(b);

	q.send(q.only(0, 0, Qp::pattern(8)));
	check_field(q.expect_cack(0), F::sack_timestamp, 0);
}

void other_ftype(Bench &b)
{
	Qp q(b);
	Packet p = q.only(0, 0, Qp::pattern(8));

	p[F::ts] = 1;
	p[F::tx_timestamp] = 0x4321;
	p[F::ftype] = 2;
	q.send(p);
	check_field(q.expect_cack(0), F::sack_timestamp, 0);
}

void cc_state(Bench &b)
{
	Qp q(b);

	q.send(q.only(0, 0, Qp::pattern(8)));

	const Packet s = q.expect_cack(0);

	check_field(s, F::sack_cc_type, 0);
	check_field(s, F::mpr, 0);
}

void psn_is_cack(Bench &b)
{
	Qp q(b);

	q.send(q.only(0, 0, Qp::pattern(8)));
	check_field(q.expect_cack(0), F::psn, q.rx(0));
	q.send(q.only(2, 0, Qp::pattern(8)));
	check_field(q.expect_sack("a SACK of PSN 2"), F::psn, q.rx(0));
}

void dcids(Bench &b)
{
	Qp q(b);

	q.send(q.only(0, 0, Qp::pattern(8)));

	const Packet s = q.expect_cack(0);

	check_field(s, F::sack_spdcid, q.qpn() & 0xFFFF);
	check_field(s, F::sack_dpdcid, q.peer_qpn() & 0xFFFF);
}

void rcvd_bytes(Bench &b)
{
	Qp q(b);
	uint64_t nominal = 0;

	for (int32_t n = 0; n < 4; n++) {
		const Packet p = q.only(
			n, 0, Qp::pattern(static_cast<size_t>(n) * 200 + 1));

		nominal += udp_length(p) + 40;
		q.send(p);
		check_field(q.expect_cack(n), F::rcvd_bytes,
			    (nominal + 255) >> 8);
	}
}

void rcvd_bytes_duplicate(Bench &b)
{
	Qp q(b);
	const Packet p = q.only(0, 0, Qp::pattern(b.options().mtu));

	q.send(p);

	const uint64_t before = q.expect_cack(0)[F::rcvd_bytes];

	q.send(p);
	check_field(q.expect_cack(0), F::rcvd_bytes, before);
}

void ooo_count(Bench &b)
{
	Qp q(b);

	for (const int32_t n : {1, 2, 4})
		q.send(quiet(q, n));

	const uint16_t id = b.next_id();

	q.send(q.probe(id));
	check_field(probe_answer(q, id), F::ooo_count, 3);
}

void probe_answered(Bench &b)
{
	Qp q(b);
	const uint16_t id = b.next_id();
	Packet p = q.probe(id);

	p[F::peth_timestamp] = 0x1357;
	p[F::sport] = 0xD111;
	q.send(q.only(0, 0, Qp::pattern(8)));
	q.expect_cack(0);
	q.send(p);

	const Packet s = probe_answer(q, id);

	check_field(s, F::cack_psn, q.rx(0));
	check_field(s, F::sack_timestamp, 0x1357);
	check_equal("entropy of the SACK", s[F::sack_entropy] & 0xFFFF, 0xD111);
	check_field(s, F::m, 0);
	check_field(s, F::sack_bitmap, 0);
}

void probe_ce(Bench &b)
{
	Qp q(b);
	const uint16_t id = b.next_id();
	Packet p = q.probe(id);

	set_ecn(p, ce);
	q.send(p);
	check_field(probe_answer(q, id), F::m, 1);
}

void probe_dcids(Bench &b)
{
	Qp q(b);
	const uint16_t id = b.next_id();
	Packet p = q.probe(id);

	p[F::peth_spdcid] = 0x5555;
	p[F::peth_dpdcid] = 0xAAAA;
	q.send(p);
	probe_answer(q, id);
}

void probe_takes_no_psn(Bench &b)
{
	Qp q(b);

	for (int i = 0; i < 3; i++) {
		const uint16_t id = b.next_id();
		Packet p = q.probe(id);

		/* The PSN of a probe is reserved. */
		p[F::psn] = q.rx(i);
		q.send(p);
		check_field(probe_answer(q, id), F::cack_psn, q.rx(-1));
	}
	q.check_alive(0);
}

void probe_rtr(Bench &b)
{
	req::MakeQp r;
	const uint16_t id = b.next_id();

	r.state = State::rtr;
	Qp q(b, r);

	q.send(q.probe(id));
	probe_answer(q, id);
}

void probe_whole_window(Bench &b)
{
	Qp q(b);
	const int32_t last = 150;
	const auto sent = [](int32_t n) { return n % 3 != 1 || n == last; };
	std::vector<int> seen(static_cast<size_t>(last) + 1, -1);
	const uint16_t id = b.next_id();

	for (int32_t n = 0; n <= last; n++)
		if (sent(n))
			q.send(quiet(q, n));
	q.send(q.probe(id));
	while (std::ranges::find(seen.begin() + 1, seen.end(), -1) !=
	       seen.end()) {
		const Packet s = probe_answer(q, id);

		check_field(s, F::cack_psn, q.rx(0));
		for (int32_t i = 0; i < 64; i++) {
			const int32_t n = s.signed16(F::sack_offset) + i;

			if (n > 0 && n <= last)
				seen[static_cast<size_t>(n)] =
					s[F::sack_bitmap] >> i & 1;
		}
	}
	for (int32_t n = 1; n <= last; n++)
		check_equal(fmt::format("the map's bit of PSN {:#x}", q.rx(n)),
			    static_cast<uint64_t>(seen[static_cast<size_t>(n)]),
			    sent(n));
}

constexpr Case table[] = {
	{"sack.on-request", "8.2", Level::must,
	 "BTH.a draws a SACK at once, with the PSN that triggered it.",
	 on_request},
	{"sack.on-retransmission", "8.2", Level::must,
	 "A retransmission draws a SACK at once, which echoes rtx.", on_rtx},
	{"sack.on-congestion-mark", "8.2", Level::must,
	 "A packet marked CE draws a SACK at once, with m = SKIP_ONCE.", on_ce},
	{"sack.one-per-mark", "8.2", Level::must,
	 "Each packet marked CE gets a SACK of its own, with its entropy.",
	 each_ce},
	{"sack.none-unasked", "8.2", Level::should,
	 "A few packets that ask for none draw no SACK, whatever their ECN is "
	 "below CE.",
	 ect_draws_none},
	{"sack.threshold", "8.2", Level::should,
	 "16 KiB draw a SACK; each packet counts as 1 KiB at least.",
	 threshold},
	{"sack.threshold-restarts", "8.2", Level::should,
	 "Any SACK restarts the count of bytes.", threshold_restarts},
	{"sack.vector", "18.4", Level::must,
	 "The vector of §18.4: gaps, late packets and a duplicate.", vector},
	{"sack.map", "8.3", Level::must,
	 "cack_psn stops before a gap, and the map shows what is received.",
	 gap_shown},
	{"sack.ack-psn-offset", "4.6", Level::must,
	 "cack_psn + ack_psn_offset is the PSN that triggered the SACK.",
	 ack_psn},
	{"sack.ack-psn-offset-range", "8.3", Level::must,
	 "ack_psn_offset is 0 where the distance does not fit.", offset_range},
	{"sack.map-wide", "8.3", Level::must,
	 "Maps reach the newest PSN, also where the gap is wider than a map.",
	 wide_window},
	{"sack.entropy", "8.3", Level::must,
	 "The reflected entropy is that of the triggering packet: flow "
	 "label[15:0] and source port; the upper half is 0 with IPv4.",
	 entropy},
	{"sack.timestamp", "4.6", Level::must,
	 "The timestamp of the triggering packet is echoed.", timestamp},
	{"sack.timestamp-none", "4.6", Level::must,
	 "The echo is 0 if the packet had no timestamp.", no_timestamp},
	{"sack.timestamp-format", "4.3", Level::should,
	 "A timestamp of another ftype than 1 is ignored.", other_ftype},
	{"sack.cc-state", "4.6", Level::must,
	 "cc_type is 0; mpr is 0 where Dynamic MPR is off.", cc_state},
	{"sack.psn", "3", Level::must, "BTH.psn of a SACK is cack_psn.",
	 psn_is_cack},
	{"sack.dcids", "4.12", Level::should,
	 "spdcid is the low half of the sender's QPN, dpdcid of the "
	 "receiver's.",
	 dcids},
	{"sack.rcvd-bytes", "7.1", Level::must,
	 "rcvd_bytes counts UDP length + 40 of each data packet, in units of "
	 "256 bytes, rounded up.",
	 rcvd_bytes},
	{"sack.rcvd-bytes-duplicate", "7.3", Level::must,
	 "Duplicates do not count in rcvd_bytes.", rcvd_bytes_duplicate},
	{"sack.ooo-count", "4.6", Level::should,
	 "ooo_count is the number of PSNs held above cack_psn.", ooo_count},
	{"probe.answered", "9.5", Level::must,
	 "A reliability probe is answered at once by a SACK with pr = 1, its "
	 "id, entropy and timestamp.",
	 probe_answered},
	{"probe.congestion-mark", "9.5", Level::must,
	 "The answer to a probe that was marked CE has m = SKIP_ONCE.",
	 probe_ce},
	{"probe.any-dcids", "4.12", Level::must,
	 "spdcid and dpdcid of a probe are not validated.", probe_dcids},
	{"probe.no-psn", "5", Level::must,
	 "A probe consumes no PSN, and its BTH.psn is ignored.",
	 probe_takes_no_psn},
	{"probe.rtr", "9.5", Level::must, "Probes are answered from RTR on.",
	 probe_rtr},
	{"probe.whole-window", "8.3", Level::must,
	 "The answer to a probe describes the whole window, by several SACKs "
	 "if needed.",
	 probe_whole_window},
};
} // namespace

std::span<const Case> sack_cases()
{
	return table;
}
} // namespace mrcconform

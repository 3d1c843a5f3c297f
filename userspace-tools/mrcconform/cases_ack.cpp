// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Cases about transport ACKs and NAKs: MRC 1.0 §7.5, §8.6, §10. */
#include <algorithm>

#include "cases.hpp"

namespace mrcconform
{
namespace
{
constexpr uint8_t invalid_request = 0x61;
constexpr uint8_t access_error = 0x62;

void message_end(Bench &b)
{
	Qp q(b);
	Packet p = q.only(0, 0, Qp::pattern(8));

	p[F::a] = 0;
	q.send(p);
	check_field(q.expect_ack(0), F::syndrome, 0x1F);
}

void counts_messages(Bench &b)
{
	Qp q(b);

	for (int32_t n = 0; n < 3; n++) {
		q.send(q.only(n, 0, Qp::pattern(8)));
		check_field(q.expect_ack(n), F::amsn,
			    static_cast<uint64_t>(n) + 1);
	}
}

void inside_message(Bench &b)
{
	Qp q(b);
	const uint32_t mtu = b.options().mtu;
	Packet p = q.write(op_write_first, 0, 0, Qp::pattern(mtu), mtu * 3);

	q.send(p);
	q.fence();
	q.expect_none(is_op(op_ack), "no ACK inside of a message");
	p = q.write(op_write_middle, 1, mtu, Qp::pattern(mtu), mtu * 3);
	p[F::a] = 1;
	q.send(p);
	q.expect_ack(1);
}

void not_past_gap(Bench &b)
{
	Qp q(b);

	q.send(q.only(0, 0, Qp::pattern(8)));
	q.expect_ack(0);
	q.send(q.only(2, 0, Qp::pattern(8)));
	q.send(q.only(3, 0, Qp::pattern(8)));
	q.fence();
	q.expect_none(is_op(op_ack), "no ACK while a gap is open");
	q.send(q.only(1, 0, Qp::pattern(8)));
	q.expect_ack(3);
}

void lost_ack(Bench &b)
{
	Qp q(b);

	for (int32_t n = 0; n < 3; n++) {
		q.send(q.only(n, 0, Qp::pattern(8)));
		q.expect_ack(n);
	}
	Packet p = q.only(2, 0, Qp::pattern(8));

	p[F::rtx] = 1;
	q.send(p);
	q.expect_ack(2);
}

/* A packet that must draw a NAK, and leave memory alone. */
template <typename Change>
void refused(Bench &b, uint8_t syndrome, const Change &change)
{
	Qp q(b);
	Packet p = q.only(0, 0, Qp::pattern(32));

	change(q, p);
	q.send(p);
	q.expect_nak(0, syndrome);
	q.expect_state(State::error);
	q.check_memory(0, Bytes(64));
}

void bad_rkey(Bench &b)
{
	refused(b, access_error, [](Qp &, Packet &p) { p[F::rkey] ^= 0x100; });
}

void below_region(Bench &b)
{
	refused(b, access_error,
		[](Qp &q, Packet &p) { p[F::va] = q.va() - 4; });
}

void beyond_region(Bench &b)
{
	refused(b, access_error,
		[](Qp &q, Packet &p) { p[F::va] = q.va() + 65536 - 16; });
}

void overflow(Bench &b)
{
	refused(b, access_error,
		[](Qp &, Packet &p) { p[F::va] = UINT64_MAX - 3; });
}

void region_rights(Bench &b)
{
	req::MakeQp r;

	r.mr_access = 0;
	Qp q(b, r);

	q.send(q.only(0, 0, Qp::pattern(32)));
	q.expect_nak(0, access_error);
	q.check_memory(0, Bytes(32));
}

void qp_rights(Bench &b)
{
	req::MakeQp r;

	r.qp_access = 0;
	Qp q(b, r);

	q.send(q.only(0, 0, Qp::pattern(32)));
	q.expect_nak(0, invalid_request);
	q.check_memory(0, Bytes(32));
}

void deregistered(Bench &b)
{
	Qp q(b);

	q.check_alive(0);
	q.deregister();
	q.send(q.only(1, 0, Qp::pattern(32)));
	q.expect_nak(1, access_error);
	q.check_memory(0, Bytes(32));
}

void foreign_domain(Bench &b)
{
	Qp other(b);

	refused(b, access_error, [&](Qp &, Packet &p) {
		p[F::va] = other.va();
		p[F::rkey] = other.rkey();
	});
	other.check_memory(0, Bytes(32));
}

void too_long(Bench &b)
{
	req::MakeQp r;

	r.mtu = 256;
	Qp q(b, r);

	q.send(q.only(0, 0, Qp::pattern(260)));
	q.expect_nak(0, invalid_request);
	q.check_memory(0, Bytes(260));
}

void wrong_dmalen(Bench &b)
{
	refused(b, invalid_request,
		[](Qp &, Packet &p) { p[F::dmalen] = 100; });
}

void short_first(Bench &b)
{
	Qp q(b);

	q.send(q.write(op_write_first, 0, 0, Qp::pattern(64),
		       b.options().mtu * 2));
	q.expect_nak(0, invalid_request);
	q.check_memory(0, Bytes(64));
}

void huge_message(Bench &b)
{
	Qp q(b);

	q.send(q.write(op_write_first, 0, 0, Qp::pattern(b.options().mtu),
		       0x80000001));
	q.expect_nak(0, invalid_request);
	q.check_memory(0, Bytes(64));
}

void in_psn_order(Bench &b)
{
	Qp q(b);
	Packet bad = q.only(1, 0, Qp::pattern(32));

	bad[F::rkey] ^= 0x100;
	q.send(bad);
	q.expect_sack("a SACK that shows the packet with the error",
		      [&](const Packet &p) { return sack_shows(p, q.rx(1)); });
	q.fence();
	q.expect_none(is_op(op_ack), "no NAK before earlier packets have come");
	check(q.state() == State::rts, "state RTS until then");
	q.send(q.only(0, 0, Qp::pattern(32)));
	q.expect_nak(1, access_error);
	q.expect_state(State::error);
}

void lowest_first(Bench &b)
{
	Qp q(b);
	Packet late = q.only(2, 0, Qp::pattern(32));
	Packet early = q.only(1, 0, Qp::pattern(32));

	late[F::rkey] ^= 0x100;
	early[F::dmalen] = 100;
	q.send(late);
	q.send(early);
	q.send(q.only(0, 0, Qp::pattern(32)));
	q.expect_nak(1, invalid_request);
}

void no_ack_past(Bench &b)
{
	Qp q(b);
	Packet bad = q.only(1, 0, Qp::pattern(32));

	bad[F::rkey] ^= 0x100;
	q.send(q.only(2, 0, Qp::pattern(32)));
	q.send(bad);
	q.send(q.only(0, 0, Qp::pattern(32)));
	q.expect_nak(1, access_error);
	b.fence();
	q.expect_none(
		[&](const Packet &p) {
			return p.opcode() == op_ack &&
			       psn_diff(static_cast<uint32_t>(p[F::psn]),
					q.rx(0)) > 0;
		},
		"no ACK of the PSN that failed or of later ones");
}

void silent_after(Bench &b)
{
	Qp q(b);
	Packet bad = q.only(0, 0, Qp::pattern(32));

	bad[F::rkey] ^= 0x100;
	q.send(bad);
	q.expect_nak(0, access_error);
	q.expect_state(State::error);
	b.fence();
	/* What was under way before the error is not judged. */
	b.take([](const Packet &) { return true; });
	q.send(q.only(1, 0, Qp::pattern(32)));
	q.send(q.only(0, 0, Qp::pattern(32)));
	q.send(q.probe(b.next_id()));
	b.fence();
	q.expect_none([](const Packet &) { return true; },
		      "no answer of a queue pair in ERROR");
	q.check_memory(0, Bytes(32));
}

void flushed(Bench &b)
{
	Qp q(b);
	Packet bad = q.only(0, 0, Qp::pattern(32));

	q.recv(2);
	bad[F::rkey] ^= 0x100;
	q.send(bad);
	q.expect_nak(0, access_error);
	for (int i = 0; i < 2; i++) {
		const Completion c = q.completion();

		check(c.recv && c.status == "WR_FLUSH_ERR",
		      "receives that are flushed; there is a completion with " +
			      c.status);
	}
}

void event(Bench &b)
{
	Qp q(b);
	Packet bad = q.only(0, 0, Qp::pattern(32));
	std::vector<std::string> all;

	bad[F::rkey] ^= 0x100;
	q.send(bad);
	q.expect_nak(0, access_error);
	b.until(
		[&] {
			for (const std::string &e : q.events())
				all.push_back(e);
			return std::ranges::count(all, "QP_ACCESS_ERR") +
				       std::ranges::count(all, "QP_FATAL") >
			       0;
		},
		"an asynchronous event QP_ACCESS_ERR");
}

constexpr Case table[] = {
	{"ack.message-end", "8.6", Level::must,
	 "The end of a message draws a transport ACK, also without BTH.a.",
	 message_end},
	{"ack.counts-messages", "4.11", Level::should,
	 "AETH.msn is the number of messages executed.", counts_messages},
	{"ack.inside-message", "8.6", Level::must,
	 "Inside of a message only BTH.a draws a transport ACK.",
	 inside_message},
	{"ack.not-past-a-gap", "8.6", Level::must,
	 "No transport ACK goes past a PSN that is missing.", not_past_gap},
	{"ack.repeated", "7.3", Level::must,
	 "The last packet, sent again, draws the transport ACK again.",
	 lost_ack},
	{"nak.access.rkey", "7.5", Level::must,
	 "An unknown rkey draws NAK remote access error.", bad_rkey},
	{"nak.access.below", "7.5", Level::must,
	 "An address below the region draws NAK remote access error.",
	 below_region},
	{"nak.access.beyond", "7.5", Level::must,
	 "Payload that ends beyond the region draws NAK remote access error.",
	 beyond_region},
	{"nak.access.overflow", "7.5", Level::must,
	 "An address near 2^64 draws NAK remote access error.", overflow},
	{"nak.access.region-rights", "7.5", Level::must,
	 "A region without remote write draws NAK remote access error.",
	 region_rights},
	{"nak.access.deregistered", "7.5", Level::must,
	 "The rkey of a region that is deregistered gives no access.",
	 deregistered},
	{"nak.access.foreign-domain", "7.5", Level::must,
	 "A region of another protection domain draws NAK remote access error.",
	 foreign_domain},
	{"nak.invalid.queue-pair-rights", "7.5", Level::must,
	 "A queue pair without remote write draws NAK invalid request.",
	 qp_rights},
	{"nak.invalid.longer-than-mtu", "7.5", Level::must,
	 "A payload longer than the path MTU draws NAK invalid request.",
	 too_long},
	{"nak.invalid.dmalen", "7.5", Level::must,
	 "An ONLY whose dmalen is not its length draws NAK invalid request.",
	 wrong_dmalen},
	{"nak.invalid.short-first", "7.5", Level::must,
	 "A FIRST shorter than the path MTU draws NAK invalid request.",
	 short_first},
	{"nak.invalid.message-length", "7.5", Level::must,
	 "A message longer than 2^31 bytes draws NAK invalid request.",
	 huge_message},
	{"nak.in-psn-order", "8.6", Level::must,
	 "A NAK waits until all earlier PSNs have come; the packet is in "
	 "SACKs.",
	 in_psn_order},
	{"nak.lowest-psn", "8.6", Level::must,
	 "Of several errors that of the lowest PSN is reported.", lowest_first},
	{"nak.no-ack-past", "8.6", Level::must,
	 "No transport ACK covers the PSN that failed.", no_ack_past},
	{"nak.then-silent", "10", Level::must,
	 "A queue pair in ERROR drops all packets silently.", silent_after},
	{"nak.receives-flushed", "10", Level::must,
	 "After an error posted receives are flushed.", flushed},
	{"nak.event", "10", Level::should,
	 "An access error is reported as an asynchronous event.", event},
};
} // namespace

std::span<const Case> ack_cases()
{
	return table;
}
} // namespace mrcconform

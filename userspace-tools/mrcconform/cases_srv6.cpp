// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Cases about outer headers of SRv6: MRC 1.0 §2, §11.2, §16.1. */
#include <fmt/format.h>

#include "cases.hpp"

namespace mrcconform
{
namespace
{
constexpr uint8_t next_ipv6 = 41, next_routing = 43;
constexpr uint8_t ce = 3;
/* SACK.m */
constexpr uint64_t skip_once = 1;

/* The outer header of a packet of data; the flow label is that of Qp. */
Outer around_data(const Bench &b)
{
	Outer o;

	o.tos = static_cast<uint8_t>(b.options().dscp.data << 2 | ect0);
	o.flow = 0x1234;
	return o;
}

/* A write in this outer header is carried out. */
void is_taken(Bench &b, const Outer &o)
{
	b.need_srv6();

	Qp q(b);
	const Bytes data = Qp::pattern(100);

	q.send(q.only(0, 8, data), {.outer = o});
	q.expect_ack(0);
	q.check_memory(8, data);
}

void reduced(Bench &b)
{
	is_taken(b, around_data(b));
}

void segment(Bench &b)
{
	Outer o = around_data(b);

	o.next = next_routing;
	is_taken(b, o);
}

void hop_limit(Bench &b)
{
	Outer o = around_data(b);

	o.ttl = 1;
	is_taken(b, o);
}

void outer_mark(Bench &b)
{
	b.need_srv6();

	Qp q(b);
	Outer o = around_data(b);

	o.tos = static_cast<uint8_t>(o.tos | ce);
	q.send(q.only(0, 0, Qp::pattern(16)), {.outer = o});
	check_field(q.expect_cack(0), F::m, skip_once);
}

void inner_mark(Bench &b)
{
	b.need_srv6();

	Qp q(b);
	Packet p = q.only(0, 0, Qp::pattern(16));

	p[F::tos] |= ce;
	q.send(p, {.outer = around_data(b)});
	check_field(q.expect_cack(0), F::m, 0);
}

void trimmed(Bench &b)
{
	b.need_srv6();
	b.need_trimming();

	Qp q(b);
	Packet p = q.only(0, 0, Qp::pattern(200));
	Outer o = around_data(b);
	/* What a switch cuts off, it cuts off from the end. */
	constexpr size_t kept = 20;

	p[F::ts] = 1;
	p[F::tx_timestamp] = 0x1357;
	o.tos = static_cast<uint8_t>(b.options().dscp.trimmed << 2);

	b.send_trimmed(p, kept, {.outer = o});
	check_field(q.expect_nack(0, 1), F::nack_timestamp, 0x1357);
}

void echoed(Bench &b)
{
	b.need_srv6();

	Qp q(b);
	Packet p = q.only(0, 0, Qp::pattern(16));
	Outer o = around_data(b);

	p[F::sport] = 0xD765;
	p[F::flow] = 0x2468;
	o.flow = 0x7777;
	q.send(p, {.outer = o});
	check_field(q.expect_cack(0), F::sack_entropy, 0x2468D765);
}

/* Nothing comes for a packet that was sent so, and it is not carried out. */
void dropped(Bench &b, const std::string &what,
	     const std::function<void(Qp &, const Packet &)> &send)
{
	b.need_srv6();

	Qp q(b);

	q.fill(0, Qp::pattern(16, 9));
	send(q, q.only(0, 0, Qp::pattern(16, 1)));
	q.fence();
	q.expect_no_reply("no answer to " + what);
	q.check_memory(0, Qp::pattern(16, 9));
	q.check_alive(0);
}

/* Its last byte is another one. */
Address neighbour(const Address &a)
{
	Bytes raw(a.bytes().begin(), a.bytes().end());

	raw.back() ^= 0x55;
	return Address::from_bytes(raw);
}

void inner_destination(Bench &b)
{
	dropped(b, "a packet for another address", [&](Qp &, const Packet &p) {
		b.send(encode(b.wire().local(), neighbour(b.wire().remote()),
			      p),
		       to_text(p) + " for another address");
	});
}

void inner_source(Bench &b)
{
	dropped(b, "a packet from another address", [&](Qp &, const Packet &p) {
		b.send(encode(neighbour(b.wire().local()), b.wire().remote(),
			      p),
		       to_text(p) + " from another address");
	});
}

void inner_cut(Bench &b)
{
	dropped(b, "a packet that was cut", [&](Qp &, const Packet &p) {
		Bytes x = encode(b.wire().local(), b.wire().remote(), p);

		x.resize(x.size() - 8);
		b.send(x, to_text(p) + " without its last 8 bytes");
	});
}

void bad_icrc(Bench &b)
{
	dropped(b, "a packet with a wrong ICRC", [&](Qp &, const Packet &p) {
		Bytes x = encode(b.wire().local(), b.wire().remote(), p);

		x.back() ^= 1;
		b.send(x, to_text(p) + " with a wrong ICRC");
	});
}

void sent_next(Bench &b)
{
	b.need_srv6();

	Qp q(b);

	q.post(16);

	const Packet d = q.expect_data(0);

	check(d.outer && (d.outer->next == next_ipv6 ||
			  d.outer->next == next_routing),
	      "data in an outer header with next header 41 or 43");
	q.acknowledge(d);
	q.send(q.only(0, 0, Qp::pattern(16)));
	check(q.expect_cack(0).outer.has_value(), "a SACK in an outer header");
}

void sent_class(Bench &b)
{
	b.need_srv6();

	Qp q(b);

	q.post(16);

	const Packet d = q.expect_data(0);

	check(d.outer.has_value(), "data in an outer header");
	check_equal("traffic class of the outer header of data", d.outer->tos,
		    b.options().dscp.data << 2 | ect0);
	q.acknowledge(d);
	q.send(q.only(0, 0, Qp::pattern(16)));

	const Packet s = q.expect_cack(0);

	check(s.outer.has_value(), "a SACK in an outer header");
	check_equal("traffic class of the outer header of a SACK", s.outer->tos,
		    b.options().dscp.control << 2);
}

void sent_flow(Bench &b)
{
	b.need_srv6();

	Qp q(b);

	q.post(8 * q.mtu());
	for (const Packet &d : q.collect(8)) {
		check(d.outer.has_value(), "data in an outer header");
		check_equal("flow label of the outer header", d.outer->flow,
			    d[F::flow]);
	}
	check(q.responder().has(q.tx(7)), "all data");
}

constexpr Case table[] = {
	{"srv6.reduced", "16.1", Level::must,
	 "A packet in an outer IPv6 header, without a routing header, is "
	 "taken.",
	 reduced},
	{"srv6.segment", "16.1", Level::must,
	 "A packet behind a routing header whose segment was reached is taken.",
	 segment},
	{"srv6.hop-limit", "16.1", Level::must,
	 "A packet whose outer hop limit has come down to 1 is taken.",
	 hop_limit},
	{"srv6.ce.outer", "2", Level::must,
	 "A CE mark on the outer header draws a SACK with m = SKIP_ONCE.",
	 outer_mark},
	{"srv6.ce.inner", "2", Level::must,
	 "The ECN bits of the inner header are not looked at.", inner_mark},
	{"srv6.trimmed", "2", Level::should,
	 "The outer codepoint says that a packet was trimmed.", trimmed},
	{"srv6.entropy", "11.2", Level::must,
	 "A SACK echoes the entropy of the inner header.", echoed},
	{"srv6.inner-destination", "16.1", Level::must,
	 "An inner packet for an address that is not the target's is dropped.",
	 inner_destination},
	{"srv6.inner-source", "16.1", Level::must,
	 "An inner packet from an address that is not the peer's is dropped.",
	 inner_source},
	{"srv6.inner-length", "16.1", Level::must,
	 "An inner packet that is shorter than its own length is dropped.",
	 inner_cut},
	{"srv6.icrc", "2.4", Level::must,
	 "The ICRC of the inner packet is checked.", bad_icrc},
	{"srv6.sent.outer", "16.1", Level::must,
	 "Data and feedback to a peer in SRv6 have an outer header.",
	 sent_next},
	{"srv6.sent.class", "15", Level::must,
	 "The outer header has the traffic class of the packet's kind.",
	 sent_class},
	{"srv6.sent.flow-label", "11.2", Level::should,
	 "The outer header has the flow label of the inner one.", sent_flow},
};
} // namespace

std::span<const Case> srv6_cases()
{
	return table;
}
} // namespace mrcconform

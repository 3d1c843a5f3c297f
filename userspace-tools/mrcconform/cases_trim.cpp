// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Cases about trimmed packets: MRC 1.0 §4.7, §8.4, §8.5. */
#include "cases.hpp"

namespace mrcconform
{
namespace
{
/* BTH, METH and TSETH */
constexpr size_t kept = 20;

/* With the codepoint by which a switch says so. */
void send_trimmed(Bench &b, Packet p, size_t length, uint32_t dscp)
{
	b.need_trimming();
	p[F::tos] = dscp << 2;
	b.send_trimmed(p, length);
}

Packet stamped(const Qp &q, int32_t n)
{
	Packet p = q.only(n, 0, Qp::pattern(200));

	p[F::ts] = 1;
	p[F::tx_timestamp] = 0x2468;
	p[F::sport] = 0xD222;
	return p;
}

void nacked(Bench &b)
{
	Qp q(b);

	send_trimmed(b, stamped(q, 3), kept, b.options().dscp.trimmed);

	const Packet n = q.expect_nack(3, 1);

	check_field(n, F::nack_timestamp, 0x2468);
	check_equal("entropy of the NACK", n[F::nack_entropy],
		    b.v6() ? 0x1234D222 : 0xD222);
	check_field(n, F::psn, q.rx(3));
	check_field(n, F::nack_cc_type, 2);
}

void last_hop(Bench &b)
{
	Qp q(b);

	send_trimmed(b, stamped(q, 0), kept, b.options().dscp.trimmed_lasthop);
	q.expect_nack(0, 2);
}

void no_effect(Bench &b)
{
	Qp q(b);

	q.send(q.only(0, 512, Qp::pattern(8)));

	const uint64_t bytes = q.expect_cack(0)[F::rcvd_bytes];

	send_trimmed(b, stamped(q, 1), kept, b.options().dscp.trimmed);
	q.expect_nack(1, 1);
	q.check_memory(0, Bytes(200));

	const uint16_t id = b.next_id();

	q.send(q.probe(id));

	const Packet s = q.expect(
		[](const Packet &p) {
			return p.opcode() == op_sack && p[F::pr];
		},
		"an answer to a probe");

	check_field(s, F::cack_psn, q.rx(0));
	check_field(s, F::sack_bitmap, 0);
	check_field(s, F::rcvd_bytes, bytes);
	q.send(q.only(1, 0, Qp::pattern(200)));
	q.expect_ack(1);
	q.check_memory(0, Qp::pattern(200));
}

void minimum(Bench &b)
{
	Qp q(b);
	Packet p = q.only(0, 0, Qp::pattern(200));

	send_trimmed(b, p, 12, b.options().dscp.trimmed);
	check_field(q.expect_nack(0, 1), F::nack_timestamp, 0);
}

void whole_packet(Bench &b)
{
	b.need_trimming();

	Qp q(b);
	Packet p = q.only(0, 0, Qp::pattern(16));

	/* The codepoint alone says that a packet was trimmed. */
	p[F::tos] = b.options().dscp.trimmed << 2;
	q.send(p);
	q.expect_nack(0, 1);
	q.check_memory(0, Bytes(16));
}

void received_before(Bench &b)
{
	Qp q(b);

	q.send(q.only(0, 0, Qp::pattern(8)));
	q.expect_cack(0);
	send_trimmed(b, stamped(q, 0), kept, b.options().dscp.trimmed);
	q.expect_cack(0);
	q.fence();
	q.expect_none(is_op(op_nack), "no NACK of a PSN that is received");
}

void beyond_window(Bench &b)
{
	Qp q(b);

	send_trimmed(b,
		     stamped(q, static_cast<int32_t>(b.options().window) + 5),
		     kept, b.options().dscp.trimmed);
	q.fence();
	q.expect_none(
		[](const Packet &p) {
			return p.opcode() == op_nack &&
			       (p[F::nack_reason] == 1 ||
				p[F::nack_reason] == 2);
		},
		"no NACK TRIMMED of a PSN outside of the window");
	q.check_alive(0);
}

constexpr Case table[] = {
	{"trim.nacked", "8.5", Level::must,
	 "A trimmed packet draws NACK TRIMMED with its PSN, entropy and "
	 "timestamp; its ICRC is not checked.",
	 nacked},
	{"trim.last-hop", "8.4", Level::must,
	 "A packet trimmed on the last hop draws NACK TRIMMED_LASTHOP.",
	 last_hop},
	{"trim.no-effect", "8.5", Level::must,
	 "A trimmed packet is not placed and changes neither map nor "
	 "rcvd_bytes.",
	 no_effect},
	{"trim.shortest", "8.5", Level::must,
	 "A packet of which only the BTH is left draws a NACK without an echo.",
	 minimum},
	{"trim.by-codepoint", "8.5", Level::must,
	 "The codepoint alone tells a trimmed packet.", whole_packet},
	{"trim.received-before", "8.5", Level::should,
	 "A trimmed packet whose PSN is received draws a SACK and no NACK.",
	 received_before},
	{"trim.beyond-window", "8.5", Level::must,
	 "A trimmed packet outside of the window draws no NACK TRIMMED.",
	 beyond_window},
};
} // namespace

std::span<const Case> trim_cases()
{
	return table;
}
} // namespace mrcconform

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Cases about the requester: packets of messages and completions, MRC 1.0 §6.
 */
#include <set>

#include <fmt/format.h>

#include "cases.hpp"

namespace mrcconform
{
namespace
{
constexpr uint32_t small_mtu = 256;

req::MakeQp with_mtu(uint32_t mtu)
{
	req::MakeQp r;

	r.mtu = mtu;
	r.sq_psn = 0xFFFFFE;
	return r;
}

void only_format(Bench &b)
{
	Qp q(b);
	const Bytes data = Qp::pattern(64);

	q.fill(0, data);

	const uint64_t id = q.post(64);
	const Packet p = q.expect_data(0);

	check_field(p, F::opcode, op_write_only);
	check_field(p, F::va, 0x100000);
	check_field(p, F::rkey, 0x1234);
	check_field(p, F::dmalen, 64);
	check_field(p, F::msn, 0);
	check_field(p, F::rqmsn, 0);
	check_field(p, F::pad, 0);
	check(p.payload == data, "the bytes of the target's memory as payload");
	q.acknowledge(p);
	q.expect_done(id);
}

void segments(Bench &b)
{
	Qp q(b, with_mtu(small_mtu));
	const uint32_t length = small_mtu * 3 + 5;
	const Bytes data = Qp::pattern(length);
	const uint8_t want[] = {op_write_first, op_write_middle,
				op_write_middle, op_write_last};

	q.fill(0, data);

	const uint64_t id = q.post(length);
	const auto list = q.collect(4);
	Bytes all;

	check_equal("number of packets", list.size(), 4);
	for (size_t i = 0; i < 4; i++) {
		const Packet &p = list[i];

		check_field(p, F::opcode, want[i]);
		check_field(p, F::va, 0x100000 + i * small_mtu);
		check_field(p, F::dmalen, length);
		check_field(p, F::msn, list[0][F::msn]);
		check_equal(fmt::format("payload of packet {}", i),
			    p.payload.size(), i < 3 ? small_mtu : 5);
		all.insert(all.end(), p.payload.begin(), p.payload.end());
	}
	check(all == data, "the bytes of the target's memory as payload");
	q.acknowledge(list[3]);
	q.expect_done(id);
}

void exact_mtu(Bench &b)
{
	Qp q(b, with_mtu(small_mtu));

	q.post(small_mtu);
	q.post(small_mtu * 2);

	const auto list = q.collect(3);

	check_field(list[0], F::opcode, op_write_only);
	check_field(list[1], F::opcode, op_write_first);
	check_field(list[2], F::opcode, op_write_last);
	check_equal("payload of the LAST", list[2].payload.size(), small_mtu);
}

void padding(Bench &b)
{
	Qp q(b);

	for (uint32_t n = 1; n <= 4; n++)
		q.post(n);
	for (const Packet &p : q.collect(4)) {
		check_field(p, F::pad, (4 - p.payload.size() % 4) % 4);
		check_field(p, F::dmalen, p.payload.size());
	}
}

void zero_length(Bench &b)
{
	Qp q(b);
	const uint64_t id = q.post(0);
	const Packet p = q.expect_data(0);

	check_field(p, F::opcode, op_write_only);
	check_field(p, F::dmalen, 0);
	check_equal("payload", p.payload.size(), 0);
	q.acknowledge(p);
	q.expect_done(id);
}

void immediate(Bench &b)
{
	Qp q(b, with_mtu(small_mtu));

	q.post(16, 0xCAFEF00D);
	q.post(small_mtu + 1, 0x00000001);

	const auto list = q.collect(3);

	check_field(list[0], F::opcode, op_write_only_imm);
	check_field(list[0], F::imm, 0xCAFEF00D);
	check_field(list[1], F::opcode, op_write_first);
	check_field(list[2], F::opcode, op_write_last_imm);
	check_field(list[2], F::imm, 1);
}

void solicited(Bench &b)
{
	Qp q(b);

	q.post(16, 1);
	q.post(16, 2, 0, true);

	const auto list = q.collect(2);

	check_field(list[0], F::se, 0);
	check_field(list[1], F::se, 1);
	check_field(list[1], F::mig, 0);
}

void msn_counts(Bench &b)
{
	Qp q(b, with_mtu(small_mtu));

	q.post(16);
	q.post(small_mtu + 1);
	q.post(16, 7);

	const auto list = q.collect(4);
	const uint64_t want[] = {0, 1, 1, 2};

	for (size_t i = 0; i < 4; i++)
		check_equal(fmt::format("msn of packet {}, relative to the "
					"first",
					i),
			    (list[i][F::msn] - list[0][F::msn]) & 0xFFFF,
			    want[i]);
}

void first_msn(Bench &b)
{
	Qp q(b);

	q.post(16, 7);

	const Packet p = q.expect_data(0);

	check_field(p, F::msn, 0);
	check_field(p, F::rqmsn, 0);
}

void rqmsn_counts(Bench &b)
{
	Qp q(b, with_mtu(small_mtu));

	q.post(16, 1);
	q.post(16);
	q.post(small_mtu + 1, 2);
	q.post(16, 3);

	const auto list = q.collect(5);
	const uint64_t first = list[0][F::rqmsn];
	const auto relative = [&](size_t i) {
		return (list[i][F::rqmsn] - first) & 0xFFFF;
	};

	check_field(list[1], F::rqmsn, 0);
	check_equal("rqmsn of the second WRITE_IMM's first packet", relative(2),
		    1);
	check_equal("rqmsn of its last packet", relative(3), 1);
	check_equal("rqmsn of the third WRITE_IMM", relative(4), 2);
}

void psns(Bench &b)
{
	req::MakeQp r = with_mtu(small_mtu);

	r.sq_psn = 0xFFFFFD;
	Qp q(b, r);

	q.post(small_mtu * 6);

	/* collect() fails if a PSN is missing. */
	const auto list = q.collect(6);

	for (int32_t i = 0; i < 6; i++)
		check_field(list[static_cast<size_t>(i)], F::psn, q.tx(i));
}

void timestamps(Bench &b)
{
	Qp q(b);

	q.post(16);

	const Packet p = q.expect_data(0);

	check_field(p, F::ts, 1);
	check_field(p, F::ftype, 1);
	check_field(p, F::tsr, 0);
}

void sprays(Bench &b)
{
	Qp q(b, with_mtu(small_mtu));
	std::set<uint32_t> seen;

	q.post(small_mtu * 64);
	for (const Packet &p : q.collect(64))
		seen.insert(entropy_of(p, b.v6()));
	check(seen.size() >= 8,
	      fmt::format("64 packets on 8 entropy values at least; they were "
			  "on {}",
			  seen.size()));
}

void by_ack_only(Bench &b)
{
	Qp q(b);
	const uint64_t id = q.post(32);
	const Packet p = q.expect_data(0);

	q.send_sack(p);
	/* It asks for the transport ACK. */
	q.expect_data(0, true);
	q.expect_no_completion("only a SACK has come");
	q.send_ack(0);
	q.expect_done(id);
}

void cumulative(Bench &b)
{
	Qp q(b);
	std::vector<uint64_t> ids;

	for (int i = 0; i < 4; i++)
		ids.push_back(q.post(32));
	q.acknowledge(q.collect(4).back());
	for (const uint64_t id : ids)
		q.expect_done(id);
}

void not_more(Bench &b)
{
	Qp q(b);
	const uint64_t first = q.post(32), second = q.post(32);
	const auto list = q.collect(2);

	q.send_sack(list[1]);
	q.send_ack(0);
	q.expect_done(first);
	b.fence();
	q.expect_no_completion("the second message is not acknowledged");
	q.send_ack(1);
	q.expect_done(second);
}

void whole_message(Bench &b)
{
	Qp q(b, with_mtu(small_mtu));
	const uint64_t id = q.post(small_mtu * 3);
	const auto list = q.collect(3);

	q.send_sack(list[2]);
	q.send_ack(1);
	b.fence();
	q.expect_no_completion("the last packet is not acknowledged");
	q.send_ack(2);
	q.expect_done(id);
}

void old_ack(Bench &b)
{
	Qp q(b);
	const uint64_t first = q.post(32), second = q.post(32);

	q.acknowledge(q.collect(1)[0]);
	q.expect_done(first);
	q.collect(2);
	q.send_ack(0);
	q.send_ack(-5);
	b.fence();
	q.expect_no_completion("only an old ACK has come");
	q.send_ack(1);
	q.expect_done(second);
}

/* Feedback that must change nothing; then the right one completes. */
template <typename Send> void ignored(Bench &b, const Send &send)
{
	Qp q(b);
	const uint64_t id = q.post(32);
	const Packet p = q.expect_data(0);

	send(q, p);
	b.fence();
	q.expect_no_completion("this feedback must be dropped");
	check(q.state() == State::rts, "state RTS after it");
	q.acknowledge(p);
	q.expect_done(id);
}

void unsent_ack(Bench &b)
{
	ignored(b, [](Qp &q, const Packet &) { q.send_ack(5); });
}

void unsent_nak(Bench &b)
{
	ignored(b, [](Qp &q, const Packet &) { q.send_ack(5, 0x62); });
}

void unsent_sack(Bench &b)
{
	ignored(b, [](Qp &q, const Packet &p) {
		Packet s = q.make(op_sack, q.tx(7));

		s[F::cack_psn] = q.tx(7);
		s[F::sack_entropy] = entropy_of(p, q.bench().v6());
		q.send(s);
	});
}

void spoiled_ack(Bench &b)
{
	ignored(b, [](Qp &q, const Packet &) {
		q.send_spoiled(q.make(op_ack, q.tx(0)),
			       [](Bytes &x) { x.back() ^= 1; });
	});
}

void rnr_nak(Bench &b)
{
	ignored(b, [](Qp &q, const Packet &) { q.send_ack(0, 0x2A); });
}

void ack_with_payload(Bench &b)
{
	ignored(b, [](Qp &q, const Packet &) {
		Packet p = q.make(op_ack, q.tx(0));

		p.payload = Bytes(4);
		q.send(p);
	});
}

void reserved_feedback(Bench &b)
{
	Qp q(b);
	const uint64_t id = q.post(32);
	const Packet p = q.expect_data(0);
	Packet s = q.sack(p);
	Packet a = q.make(op_ack, q.tx(0));

	for (const FieldInfo &f : field_table())
		if (f.reserved && f.id != F::inv_res && s.has(f.header) &&
		    f.width < 64)
			s[f.id] = (uint64_t{1} << f.width) - 1;
	a[F::mig] = a[F::bth_r] = 1;
	q.send(s);
	q.send(a);
	q.expect_done(id);
}

/* A NAK of this syndrome gives this status. */
void nak_status(Bench &b, uint8_t syndrome, const char *status)
{
	Qp q(b);
	const uint64_t first = q.post(32), second = q.post(32),
		       third = q.post(32);

	q.send_sack(q.collect(3).back());
	q.send_ack(1, syndrome);
	q.expect_done(first);
	q.expect_done(second, status);
	q.expect_done(third, "WR_FLUSH_ERR");
	q.expect_state(State::error);
}

void nak_access(Bench &b)
{
	nak_status(b, 0x62, "REM_ACCESS_ERR");
}
void nak_invalid(Bench &b)
{
	nak_status(b, 0x61, "REM_INV_REQ_ERR");
}
void nak_sequence(Bench &b)
{
	nak_status(b, 0x60, "REM_INV_REQ_ERR");
}
void nak_operation(Bench &b)
{
	nak_status(b, 0x63, "REM_OP_ERR");
}
void nak_unknown(Bench &b)
{
	nak_status(b, 0x6D, "REM_OP_ERR");
}

void flush_later(Bench &b)
{
	Qp q(b);
	const uint64_t first = q.post(32);

	q.expect_data(0);
	q.send_ack(0, 0x62);
	q.expect_done(first, "REM_ACCESS_ERR");
	q.expect_state(State::error);
	q.expect_done(q.post(32), "WR_FLUSH_ERR");
	b.fence();
	q.expect_none(
		[&](const Packet &p) {
			return op_info(p.opcode())->data &&
			       p[F::psn] == q.tx(1);
		},
		"no packet of work posted in ERROR");
}

constexpr Case table[] = {
	{"req.format.only", "4.4", Level::must,
	 "A WRITE_ONLY has the address, key, length and bytes of its work "
	 "request.",
	 only_format},
	{"req.format.segments", "2.5", Level::must,
	 "FIRST and MIDDLE are full; all packets have dmalen and MSN of the "
	 "message, and the address of their payload.",
	 segments},
	{"req.format.exact-mtu", "2.5", Level::must,
	 "A message of whole path MTUs has no empty last packet.", exact_mtu},
	{"req.format.padding", "2.5", Level::must,
	 "The pad count fills the payload up to a multiple of four, by zeros.",
	 padding},
	{"req.format.zero-length", "2.5", Level::must,
	 "A write without payload is one WRITE_ONLY.", zero_length},
	{"req.format.immediate", "4.5", Level::must,
	 "The last packet of a WRITE_IMM has the immediate.", immediate},
	{"req.format.solicited", "4.1", Level::should,
	 "Bit 7 of BTH byte 1 is the solicited event bit.", solicited},
	{"req.format.timestamp", "4.3", Level::should,
	 "Data has a timestamp of format 1 with 128 ns units.", timestamps},
	{"req.number.psn", "5", Level::must,
	 "PSNs begin with the agreed one, count by one, and wrap.", psns},
	{"req.number.msn", "4.2", Level::must,
	 "MSN counts all messages, and is the same in all packets of one.",
	 msn_counts},
	{"req.number.rqmsn", "4.2", Level::must,
	 "RQMSN counts WRITE_IMMs only; a plain write has 0.", rqmsn_counts},
	{"req.number.first", "4.2", Level::should,
	 "MSN and RQMSN begin with 0.", first_msn},
	{"req.spray", "11.5", Level::must,
	 "The packets of a message take many entropy values.", sprays},
	{"req.complete.by-ack", "6.2", Level::must,
	 "Only a transport ACK completes a work request; without one the last "
	 "packet is sent again.",
	 by_ack_only},
	{"req.complete.cumulative", "6.2", Level::must,
	 "One transport ACK completes all earlier messages, in order.",
	 cumulative},
	{"req.complete.not-more", "6.2", Level::must,
	 "A transport ACK completes no later message.", not_more},
	{"req.complete.whole-message", "6.2", Level::must,
	 "A message completes when its last PSN is acknowledged.",
	 whole_message},
	{"req.complete.old-ack", "8.6", Level::must,
	 "An old transport ACK changes nothing.", old_ack},
	{"req.ignores.unsent-ack", "10", Level::must,
	 "An ACK of a PSN that was not sent is dropped.", unsent_ack},
	{"req.ignores.unsent-nak", "10", Level::must,
	 "A NAK of a PSN that was not sent is dropped.", unsent_nak},
	{"req.ignores.unsent-sack", "10", Level::must,
	 "A SACK of a PSN that was not sent is dropped.", unsent_sack},
	{"req.ignores.bad-icrc", "2.4", Level::must,
	 "Feedback with a wrong ICRC is dropped.", spoiled_ack},
	{"req.ignores.rnr-nak", "4.11", Level::must,
	 "RNR NAKs do not exist in MRC and change nothing.", rnr_nak},
	{"req.ignores.payload", "2.1", Level::must,
	 "A control packet with a payload is dropped.", ack_with_payload},
	{"req.ignores.reserved", "4", Level::must,
	 "Reserved bits of SACK and ACK are ignored.", reserved_feedback},
	{"req.nak.access", "10", Level::must,
	 "NAK 0x62 fails its work request with REM_ACCESS_ERR; earlier ones "
	 "succeed, later ones are flushed.",
	 nak_access},
	{"req.nak.invalid-request", "10", Level::must,
	 "NAK 0x61 fails its work request with REM_INV_REQ_ERR.", nak_invalid},
	{"req.nak.operation", "10", Level::must,
	 "NAK 0x63 fails its work request with REM_OP_ERR.", nak_operation},
	{"req.nak.sequence", "4.11", Level::should,
	 "NAK 0x60 is treated as 0x61.", nak_sequence},
	{"req.nak.unknown", "4.11", Level::should,
	 "A NAK with an unknown syndrome fails its work request.", nak_unknown},
	{"req.nak.flushes", "10", Level::must,
	 "Work posted in ERROR is flushed and not sent.", flush_later},
};
} // namespace

std::span<const Case> req_cases()
{
	return table;
}
} // namespace mrcconform

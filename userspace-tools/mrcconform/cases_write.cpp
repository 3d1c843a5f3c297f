// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Cases about writes at the responder: MRC 1.0 §2.5, §4.4, §5, §7. */
#include <algorithm>

#include "cases.hpp"

namespace mrcconform
{
namespace
{
/* The bytes from @from on, @n of them. */
Bytes part(const Bytes &b, size_t from, size_t n)
{
	const auto at = b.begin() + static_cast<long>(from);

	return {at, at + static_cast<long>(n)};
}

/* The packets of a message of @data at @offset, from the @n-th PSN on. */
std::vector<Packet> message(const Qp &q, int32_t n, uint64_t offset,
			    const Bytes &data)
{
	const size_t mtu = q.mtu();
	std::vector<Packet> list;

	for (size_t at = 0; at < data.size(); at += mtu) {
		const bool last = at + mtu >= data.size();
		const uint8_t op = at ? last ? op_write_last : op_write_middle
				   : last ? op_write_only
					  : op_write_first;
		Packet p = q.write(
			op, n + static_cast<int32_t>(list.size()), offset + at,
			part(data, at, std::min(mtu, data.size() - at)),
			static_cast<uint32_t>(data.size()));

		p[F::msn] = static_cast<uint16_t>(n);
		p[F::a] = last;
		list.push_back(p);
	}
	return list;
}

void write_only(Bench &b)
{
	Qp q(b);
	const Bytes data = Qp::pattern(b.options().mtu);

	q.send(q.only(0, 128, data));
	q.expect_ack(0);
	q.check_memory(128, data);
	q.check_memory(0, Bytes(128));
	q.check_memory(128 + data.size(), Bytes(64));
}

void write_multi(Bench &b)
{
	Qp q(b);
	const Bytes data = Qp::pattern(b.options().mtu * 3 + 7);
	const auto list = message(q, 0, 0, data);

	for (const Packet &p : list)
		q.send(p);
	q.expect_ack(static_cast<int32_t>(list.size()) - 1);
	q.check_memory(0, data);
	q.check_memory(data.size(), Bytes(16));
}

void write_mtus(Bench &b)
{
	for (uint32_t mtu = 256; mtu <= b.options().max_mtu; mtu *= 2) {
		req::MakeQp r;

		r.mtu = mtu;
		Qp q(b, r);
		const Bytes data = Qp::pattern(mtu + 1);

		for (const Packet &p : message(q, 0, 0, data))
			q.send(p);
		q.expect_ack(1);
		q.check_memory(0, data);
	}
}

void write_padding(Bench &b)
{
	Qp q(b);

	for (int32_t n = 0; n < 4; n++) {
		const Bytes data = Qp::pattern(static_cast<size_t>(n) + 1);
		const auto at = static_cast<uint64_t>(n) * 64;

		q.send(q.only(n, at, data));
		q.expect_ack(n);
		q.check_memory(at, data);
		q.check_memory(at + data.size(), Bytes(16));
	}
}

void write_zero(Bench &b)
{
	Qp q(b);
	Packet p = q.only(0, 0, {});

	p[F::va] = 0xDEAD0000;
	p[F::rkey] = 0x12345678;
	p[F::dmalen] = 99;
	q.send(p);
	q.expect_ack(0);
	q.check_memory(0, Bytes(64));
	q.check_alive(1);
}

void placed_reversed(Bench &b)
{
	Qp q(b);
	const Bytes data = Qp::pattern(b.options().mtu * 7 + 100);
	const auto list = message(q, 0, 0, data);

	for (auto p = list.rbegin(); p != list.rend(); ++p)
		q.send(*p);
	q.expect_ack(static_cast<int32_t>(list.size()) - 1);
	q.check_memory(0, data);
}

void placed_early(Bench &b)
{
	Qp q(b);
	const Bytes data = Qp::pattern(100);

	q.send(q.only(3, 512, data));
	q.expect_sack("a SACK of a packet ahead of a gap",
		      [&](const Packet &p) { return sack_shows(p, q.rx(3)); });
	q.check_memory(512, data);
}

/* Each packet says where its payload goes. */
void placed_by_packet(Bench &b)
{
	Qp q(b);
	const uint32_t mtu = b.options().mtu;
	const Bytes data = Qp::pattern(mtu * 3);

	q.send(q.write(op_write_middle, 1, mtu, part(data, mtu, mtu), mtu * 3));
	q.fence();
	q.check_memory(mtu, part(data, mtu, mtu));
	q.check_memory(0, Bytes(mtu));
	q.check_memory(2ul * mtu, Bytes(mtu));
}

void psn_wraps(Bench &b)
{
	req::MakeQp r;

	r.rq_psn = 0xFFFFFC;
	r.mtu = b.options().mtu;
	Qp q(b, r);

	for (int32_t n = 0; n < 8; n++) {
		q.send(q.only(n, 0, Qp::pattern(8, static_cast<uint8_t>(n))));
		q.expect_ack(n);
	}
	/* Across the wrap out of order, too. */
	req::MakeQp r2 = r;

	Qp q2(b, r2);

	q2.send(q2.only(5, 0, Qp::pattern(8)));
	q2.expect_sack("a SACK of a packet beyond the wrap",
		       [&](const Packet &p) {
			       return p[F::cack_psn] == q2.rx(-1) &&
				      sack_shows(p, q2.rx(5)) &&
				      !sack_shows(p, q2.rx(4));
		       });
}

void duplicate_below(Bench &b)
{
	Qp q(b);
	const Bytes data = Qp::pattern(64, 1);

	q.send(q.only(0, 0, data));
	q.expect_ack(0);
	q.expect_cack(0);
	q.send(q.only(0, 0, Qp::pattern(64, 99)));
	q.expect_ack(0);

	const Packet sack = q.expect_cack(0);

	check_equal("ack_psn_offset", sack[F::ack_psn_offset], 0);
	q.check_memory(0, data);
	q.check_alive(1);
}

void duplicate_inside(Bench &b)
{
	Qp q(b);
	const Bytes data = Qp::pattern(64, 1);
	Packet again = q.only(2, 0, Qp::pattern(64, 99));

	q.send(q.only(2, 0, data));
	q.expect_sack("a SACK of a packet ahead of a gap");
	again[F::a] = 0;
	q.send(again);

	const Packet sack = q.expect_sack("a SACK of a duplicate");

	check(sack_shows(sack, q.rx(2)), "a map that shows the duplicate");
	q.fence();
	q.expect_none(is_op(op_ack), "no ACK while a gap is open");
	q.check_memory(0, data);
}

void duplicate_takes_nothing(Bench &b)
{
	Qp q(b);

	q.recv(1);
	q.send(q.only_imm(0, 0x11, 0));
	q.expect_ack(0);
	q.send(q.only_imm(0, 0x22, 0));
	q.expect_ack(0);

	const Completion c = q.completion();

	check_equal("immediate", c.imm.value_or(0), 0x11);
	q.expect_no_completion("the second packet is a duplicate");
	q.expect_state(State::rts);
}

void window_last(Bench &b)
{
	Qp q(b);
	const auto w = static_cast<int32_t>(b.options().window);
	const Bytes data = Qp::pattern(8);

	q.send(q.only(w - 1, 0, data));
	q.expect_sack(
		"a SACK of the last PSN of the window",
		[&](const Packet &p) { return sack_shows(p, q.rx(w - 1)); });
	q.check_memory(0, data);
}

void window_beyond(Bench &b)
{
	Qp q(b);
	const auto w = static_cast<int32_t>(b.options().window);

	q.send(q.only(w, 0, Qp::pattern(8)));
	q.expect_nack(w, 0x0B);
	q.check_memory(0, Bytes(8));
	q.check_alive(0);
	/* Now the window has moved by one. */
	q.send(q.only(w, 0, Qp::pattern(8)));
	q.expect_sack("a SACK, after the window has moved",
		      [&](const Packet &p) { return sack_shows(p, q.rx(w)); });
}

void window_half(Bench &b)
{
	Qp q(b);

	q.send(q.only((1 << 23) - 1, 0, Qp::pattern(8)));
	q.fence();
	q.expect_no_reply("a PSN half of the space away is dropped");
	q.check_memory(0, Bytes(8));
	q.check_alive(0);
}

void state_init(Bench &b)
{
	req::MakeQp r;

	r.state = State::init;
	r.mtu = b.options().mtu;
	Qp q(b, r);
	const Bytes data = Qp::pattern(16);

	q.send(q.only(0, 0, data));
	q.send(q.probe(b.next_id()));
	b.fence();
	q.expect_none([](const Packet &) { return true; },
		      "no answer of a queue pair in INIT");
	q.check_memory(0, Bytes(16));
	q.modify(State::rtr);
	q.send(q.only(0, 0, data));
	q.expect_ack(0);
	q.check_memory(0, data);
}

constexpr Case table[] = {
	{"rc.write.only", "7.4", Level::must,
	 "The payload of a WRITE_ONLY is placed at RETH.va, and nowhere else.",
	 write_only},
	{"rc.write.multi", "2.5", Level::must,
	 "FIRST, MIDDLE and LAST of a message are placed and acknowledged.",
	 write_multi},
	{"rc.write.mtu", "2.5", Level::must,
	 "Path MTUs of 256, 512, 1024, 2048 and 4096 bytes are supported.",
	 write_mtus},
	{"rc.write.padding", "2.5", Level::must,
	 "Padding is not written to memory.", write_padding},
	{"rc.write.zero-length", "4.4", Level::must,
	 "The RETH of a write without payload is not looked at.", write_zero},
	{"rc.write.placed-out-of-order", "7.4", Level::must,
	 "Packets of a message are placed in whatever order they arrive.",
	 placed_reversed},
	{"rc.write.placed-on-arrival", "7.4", Level::must,
	 "Payload is placed on arrival, also ahead of a gap.", placed_early},
	{"rc.write.placed-by-its-reth", "4.4", Level::must,
	 "RETH.va is the address of this packet's payload.", placed_by_packet},
	{"rc.psn.wrap", "5", Level::must,
	 "PSNs wrap from 0xFFFFFF to 0, in order and out of order.", psn_wraps},
	{"rc.duplicate.acknowledged", "7.3", Level::must,
	 "A duplicate at or below cack_psn is not written; it draws a SACK and "
	 "the cumulative ACK.",
	 duplicate_below},
	{"rc.duplicate.in-window", "7.3", Level::must,
	 "A duplicate above cack_psn is not written; it draws a SACK and no "
	 "ACK.",
	 duplicate_inside},
	{"rc.duplicate.takes-no-receive", "7.3", Level::must,
	 "A duplicate consumes no receive and is not delivered.",
	 duplicate_takes_nothing},
	{"rc.window.last-psn", "5.1", Level::must,
	 "The PSN cack_psn + W is in the window.", window_last},
	{"rc.window.beyond", "7.2", Level::must,
	 "A PSN beyond the window is refused by NACK PSN_OOR_WINDOW.",
	 window_beyond},
	{"rc.window.half", "7.2", Level::must,
	 "A PSN that is neither before nor after cack_psn is dropped.",
	 window_half},
	{"rc.state.init", "14", Level::must,
	 "The responder begins in RTR: in INIT all packets are dropped.",
	 state_init},
};
} // namespace

std::span<const Case> write_cases()
{
	return table;
}
} // namespace mrcconform

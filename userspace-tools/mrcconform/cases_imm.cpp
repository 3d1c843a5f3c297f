// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Cases about WRITE_IMM at the responder: MRC 1.0 §5.3, §7.4. */
#include <fmt/format.h>

#include "cases.hpp"

namespace mrcconform
{
namespace
{
/* The next completion is a receive with this immediate. */
void expect_imm(Qp &q, uint32_t imm, uint32_t length)
{
	const Completion c = q.completion();

	check(c.recv && c.status == "SUCCESS" && c.imm,
	      fmt::format("a receive with immediate {:#x}; there is a {} {}",
			  imm,
			  c.recv ? "receive:" : "work request:", c.status));
	check_equal("immediate", *c.imm, imm);
	check_equal("length of the completion", c.length, length);
}

void delivered(Bench &b)
{
	Qp q(b);
	const Bytes data = Qp::pattern(100);
	Packet p = q.write(op_write_only_imm, 0, 0, data);

	p[F::imm] = 0xDEADBEEF;
	p[F::a] = 1;
	q.recv(1);
	q.send(p);
	q.expect_ack(0);
	expect_imm(q, 0xDEADBEEF, 100);
	q.check_memory(0, data);
}

void multi_packet(Bench &b)
{
	Qp q(b);
	const uint32_t mtu = b.options().mtu;
	const Bytes data = Qp::pattern(mtu + 5);
	const long cut = static_cast<long>(mtu);
	Packet first = q.write(op_write_first, 0, 0,
			       {data.begin(), data.begin() + cut}, mtu + 5);
	Packet last = q.write(op_write_last_imm, 1, mtu,
			      {data.begin() + cut, data.end()}, mtu + 5);

	first[F::msn] = last[F::msn] = 0;
	last[F::imm] = 0x12345678;
	q.recv(1);
	q.send(first);
	q.send(last);
	q.expect_ack(1);
	expect_imm(q, 0x12345678, mtu + 5);
	q.check_memory(0, data);
}

void zero_length(Bench &b)
{
	Qp q(b);

	q.recv(1);
	q.send(q.only_imm(0, 0x42, 0));
	q.expect_ack(0);
	expect_imm(q, 0x42, 0);
}

void in_order(Bench &b)
{
	Qp q(b);

	q.recv(3);
	for (int32_t n = 2; n > 0; n--) {
		q.send(q.only_imm(n, 0x100u + static_cast<uint32_t>(n),
				  static_cast<uint16_t>(n)));
		q.fence();
		q.expect_no_completion("an earlier packet is missing");
	}
	q.send(q.only_imm(0, 0x100, 0));
	q.expect_ack(2);
	for (uint32_t n = 0; n < 3; n++)
		expect_imm(q, 0x100 + n, 0);
}

void barrier(Bench &b)
{
	Qp q(b);

	q.recv(1);
	q.send(q.only_imm(1, 0x55, 0));
	q.fence();
	q.expect_no_completion("an earlier write is missing");
	q.send(q.only(0, 0, Qp::pattern(32)));
	q.expect_ack(1);
	expect_imm(q, 0x55, 0);
}

void plain_takes_none(Bench &b)
{
	Qp q(b);

	q.recv(1);
	q.send(q.only(0, 0, Qp::pattern(32)));
	q.expect_ack(0);
	q.expect_no_completion("a plain write reports nothing");
	q.send(q.only_imm(1, 0x77, 0));
	q.expect_ack(1);
	expect_imm(q, 0x77, 0);
}

void rqmsn_skips(Bench &b)
{
	Qp q(b);

	q.recv(3);
	q.send(q.only_imm(0, 1, 0));
	q.expect_ack(0);
	q.send(q.only_imm(1, 2, 2));
	q.expect_nak(1, 0x61);
	q.expect_state(State::error);
}

void no_receive(Bench &b)
{
	Qp q(b);

	q.send(q.only_imm(0, 1, 0));
	q.expect_nak(0, 0x61);
	q.expect_state(State::error);
}

void plain_rqmsn(Bench &b)
{
	Qp q(b);
	Packet p = q.only(0, 0, Qp::pattern(8));

	p[F::rqmsn] = 0x4321;
	q.recv(1);
	q.send(p);
	q.expect_ack(0);
	q.send(q.only_imm(1, 0x33, 0));
	q.expect_ack(1);
	expect_imm(q, 0x33, 0);
}

constexpr Case table[] = {
	{"rc.imm.delivered", "7.4", Level::must,
	 "WRITE_ONLY_IMM completes a receive with its immediate and length.",
	 delivered},
	{"rc.imm.multi-packet", "7.4", Level::must,
	 "The length of the completion is that of the whole message.",
	 multi_packet},
	{"rc.imm.zero-length", "7.4", Level::must,
	 "A WRITE_IMM without payload completes a receive.", zero_length},
	{"rc.imm.in-order", "7.4", Level::must,
	 "Immediates are delivered in the order of PSNs, whatever arrives "
	 "first.",
	 in_order},
	{"rc.imm.barrier", "7.4", Level::must,
	 "An immediate is delivered after all earlier writes were placed.",
	 barrier},
	{"rc.imm.plain-takes-none", "7.4", Level::must,
	 "A plain write consumes no receive.", plain_takes_none},
	{"rc.imm.plain-rqmsn", "4.2", Level::must,
	 "METH.rqmsn of a plain write is ignored.", plain_rqmsn},
	{"rc.imm.rqmsn-skips", "5.3", Level::should,
	 "A WRITE_IMM whose rqmsn does not count up by one draws NAK 0x61.",
	 rqmsn_skips},
	{"rc.imm.no-receive", "7.4", Level::must,
	 "An immediate without a posted receive draws NAK 0x61.", no_receive},
};
} // namespace

std::span<const Case> imm_cases()
{
	return table;
}
} // namespace mrcconform

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Packets of the extension, as the tests of the responder send them.
#pragma once

#include "engine_fixture.hpp"

namespace mrc_test
{

// A responder that has the extension and allows everything.
class ExtResponder : public Responder
{
public:
	ExtResponder()
	{
		cfg.ext = true;
		cfg.max_rd = 4;
		cfg.remote_read = true;
		cfg.remote_atomic = true;
		cfg.remote_flush = true;
	}
};

// The one of the answer channel; max_rd own requests may be open.
class ChanResponder : public Responder
{
public:
	ChanResponder()
	{
		cfg.ext = true;
		cfg.ans = true;
		cfg.max_rd = 4;
		cfg.remote_write = false;
		recvs = 0;
	}
};

// Packet @k of a message of @len bytes whose first PSN is @first.
inline DataSpec part(u32 first, u32 k, u32 len, bool answer = false)
{
	constexpr u32 kPmtu = 256;
	const u32 n = len ? (len - 1) / kPmtu + 1 : 1;
	DataSpec s;

	s.psn = psn_at(first, k);
	s.va = (u64)k * kPmtu;
	s.len = k + 1 < n ? kPmtu : len - k * kPmtu;
	s.dmalen = len;
	s.rkey = 0;
	if (n == 1)
		s.opcode = answer ? MRC_OP_READ_RESP_ONLY : MRC_OP_SEND_ONLY;
	else if (!k)
		s.opcode = answer ? MRC_OP_READ_RESP_FIRST : MRC_OP_SEND_FIRST;
	else if (k + 1 < n)
		s.opcode =
			answer ? MRC_OP_READ_RESP_MIDDLE : MRC_OP_SEND_MIDDLE;
	else
		s.opcode = answer ? MRC_OP_READ_RESP_LAST : MRC_OP_SEND_LAST;
	return s;
}

inline DataSpec send_part(u32 first, u32 k, u32 len, u16 rqmsn)
{
	DataSpec s = part(first, k, len);

	s.rqmsn = rqmsn;
	return s;
}

inline DataSpec answer_part(u32 first, u32 k, u32 len, u16 num)
{
	DataSpec s = part(first, k, len, true);

	s.msn = num;
	return s;
}

inline DataSpec request(u32 psn, u16 num, u8 opcode = MRC_OP_READ_REQ)
{
	DataSpec s;

	s.psn = psn;
	s.opcode = opcode;
	s.len = 0;
	s.rqmsn = num;
	s.va = 0x1008;
	s.rkey = 0xABCD;
	s.dmalen = opcode == MRC_OP_READ_REQ ? 1000 : 8;
	if (opcode == MRC_OP_FLUSH)
		s.swap = 1;
	s.a = true;
	return s;
}

inline DataSpec write_imm(u32 psn, u16 rqmsn)
{
	DataSpec s;

	s.psn = psn;
	s.opcode = MRC_OP_WRITE_ONLY_IMM;
	s.rqmsn = rqmsn;
	s.imm = (__be32)0x55;
	return s;
}

inline void expect_ack(const std::vector<mrc_tx_desc> &fb, u32 psn,
		       u8 syndrome = MRC_SYN_ACK)
{
	ASSERT_EQ(how_many(fb, MRC_OP_ACK), 1u);
	const mrc_tx_desc *ack = find(fb, MRC_OP_ACK);

	EXPECT_EQ(ack->hdr.aeth.syndrome, syndrome);
	EXPECT_EQ(ack->hdr.psn, psn);
}

} // namespace mrc_test

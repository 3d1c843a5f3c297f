// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Unreliable connections: a message as its packets, and a receiver that puts
// together what the responder lets through.
#pragma once

#include <optional>
#include <vector>

#include "mrc_uc.h"
#include "mrc_wire.h"

namespace uc
{

using Bytes = std::vector<u8>;

struct Message {
	bool write = false;
	bool with_imm = false;
	bool se = false;
	u64 va = 0;
	u32 rkey = 0;
	u32 imm = 0;
	Bytes data = {};

	bool operator==(const Message &) const = default;
};

struct Packet {
	mrc_hdr h;
	Bytes data;

	[[nodiscard]] u32 flags() const
	{
		return mrc_roce_op_info(h.opcode)->flags;
	}
	[[nodiscard]] bool write() const { return !(flags() & MRC_OPF_SEND); }
	[[nodiscard]] bool first() const { return flags() & MRC_OPF_FIRST; }
	[[nodiscard]] bool last() const { return flags() & MRC_OPF_LAST; }
	[[nodiscard]] bool with_imm() const { return flags() & MRC_OPF_IMM; }
};

inline std::vector<Packet> packets(mrc_uc_tx &tx, const Message &m)
{
	std::vector<Packet> out;
	Packet p;
	u32 off;

	tx.write = m.write;
	tx.with_imm = m.with_imm;
	tx.se = m.se;
	tx.va = m.va;
	tx.rkey = m.rkey;
	tx.len = static_cast<u32>(m.data.size());
	put_unaligned_be32(m.imm, &tx.imm);
	mrc_uc_tx_begin(&tx);
	while (mrc_uc_tx_next(&tx, &p.h, &off)) {
		p.data.assign(m.data.begin() + off,
			      m.data.begin() + off + p.h.payload_len);
		out.push_back(p);
	}
	return out;
}

// The packet as it is on the wire, from behind the UDP header to the ICRC.
inline Bytes wire(const Packet &p)
{
	Bytes out(MRC_UC_HDR_MAX);

	out.resize(mrc_hdr_build(&p.h, out.data(), MRC_UC_HDR_MAX));
	out.insert(out.end(), p.data.begin(), p.data.end());
	out.resize(out.size() + p.h.pad + MRC_ICRC_LEN);
	return out;
}

inline mrc_drop parse(const Bytes &b, mrc_hdr &h)
{
	auto n = static_cast<u32>(b.size());

	return mrc_roce_parse(b.data(), n, n, &h);
}

struct Receiver {
	mrc_uc_rx rx{};
	mrc_uc_in in{};
	unsigned broken = 0;
	Message m;

	Receiver(u32 pmtu, u32 psn)
	{
		rx.pmtu = pmtu;
		rx.psn = psn;
	}

	// The message, if @p was the last packet of one.
	std::optional<Message> take(const Packet &p)
	{
		mrc_uc_rx_packet(&rx, &p.h, &in);
		broken += in.broken;
		if (in.drop >= 0)
			return std::nullopt;
		if (p.first())
			m = {.write = p.write(), .va = rx.va, .rkey = rx.rkey};
		if (in.off != m.data.size())
			std::abort();
		m.data.insert(m.data.end(), p.data.begin(), p.data.end());
		if (!p.last())
			return std::nullopt;
		m.with_imm = p.with_imm();
		m.se = p.h.se;
		m.imm = m.with_imm ? get_unaligned_be32(&p.h.reth.imm) : 0;
		if (m.data.size() != rx.off ||
		    (m.write && m.data.size() != rx.len))
			std::abort();
		return m;
	}
};

} // namespace uc

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Unreliable connections: a stream of arbitrary packets for a responder, next to
// a model of what InfiniBand says, and messages that have to arrive in between.
#include <optional>

#include "fuzz_input.hpp"
#include "uc.hpp"

#include "fuzz_check.hpp"

using fuzz::require;

namespace
{

class Connection
{
public:
	explicit Connection(fuzz::Input &in)
		: in_(in), pmtu_(256u << in.byte() % 5), r_(pmtu_, in.word())
	{
		r_.rx.psn &= 0xFFFFFF;
	}

	void check() const
	{
		require(r_.rx.psn <= 0xFFFFFF, "PSN of 24 bits");
		require(!r_.rx.active || r_.rx.off <= MRC_UC_MAX_MSG,
			"message too long");
		require(!r_.rx.active || !r_.rx.write ||
				r_.rx.off < r_.rx.len,
			"a write goes on that has all it wants");
	}

	void op()
	{
		switch (in_.byte() % 4) {
		case 0:
			raw();
			break;
		case 1:
			message();
			break;
		case 2:
			mrc_uc_rx_abort(&r_.rx);
			break;
		default:
			header();
			break;
		}
		check();
	}

private:
	void deliver(const uc::Packet &p)
	{
		const mrc_uc_rx before = r_.rx;

		r_.take(p);
		if (r_.in.drop >= 0) {
			require(!r_.rx.active, "goes on after a drop");
			return;
		}
		require(p.first() ||
				(before.active && before.psn == p.h.psn &&
				 before.write == p.write()),
			"a packet was taken that continues nothing");
		require(p.h.payload_len <= pmtu_, "more than the path MTU");
		require(p.last() || p.h.payload_len == pmtu_,
			"a hole in a message");
		require(r_.in.off == (p.first() ? 0 : before.off), "offset");
		require(r_.in.broken == (before.active && p.first()), "broken");
		require(r_.rx.active != p.last(), "end of a message");
	}

	// Bytes as they come from the network.
	void raw()
	{
		uc::Bytes b = in_.bytes(in_.byte());
		auto avail = static_cast<u32>(b.size());
		u32 len = avail + in_.byte();
		uc::Packet p;

		if (mrc_roce_parse(b.data(), avail, len, &p.h) != MRC_DROP_NONE)
			return;
		require(p.h.hdr_len <= avail &&
				p.h.hdr_len + p.h.payload_len + p.h.pad +
						MRC_ICRC_LEN == len,
			"lengths do not add up");
		u8 again[MRC_HDR_MAX];
		require(mrc_hdr_build(&p.h, again, sizeof(again)) ==
					p.h.hdr_len &&
				again[0] == b[0] && again[1] == (b[1] | 0x40),
			"another packet than was parsed");
		// A datagram: the reserved byte of DETH is not kept.
		if (mrc_ud_opcode(p.h.opcode)) {
			require(!again[16], "reserved byte of DETH");
			b[16] = 0;
		}
		require(!memcmp(again + 2, b.data() + 2, 2) &&
				!memcmp(again + 5, b.data() + 5, 3) &&
				!memcmp(again + 9, b.data() + 9,
					p.h.hdr_len - 9),
			"headers change");
		p.data.resize(p.h.payload_len);
		if (mrc_uc_opcode(p.h.opcode))
			deliver(p);
	}

	// One that is nearly right.
	void header()
	{
		u8 bits = in_.byte();
		uc::Packet p{};

		const bool first = bits & 2, last = bits & 4;

		p.h.opcode = static_cast<u8>(
			(bits & 1 ? MRC_UC_WRITE_FIRST : MRC_UC_SEND_FIRST) +
			(first ? (last ? 4 : 0) : (last ? 2 : 1)) +
			(last && bits & 8));
		p.h.psn = (r_.rx.psn + (bits & 16 ? in_.near() : 0)) & 0xFFFFFF;
		p.h.payload_len = bits & 32 ? in_.half() % (pmtu_ + 2) : pmtu_;
		if (p.first() && p.write())
			p.h.reth.dmalen =
				bits & 64 ? in_.word() : p.h.payload_len;
		p.data.resize(p.h.payload_len);
		deliver(p);
	}

	// A whole message, whatever was before it.
	void message()
	{
		u8 bits = in_.byte();
		mrc_uc_tx tx{};
		uc::Message m;
		std::optional<uc::Message> got;

		m.write = bits & 1;
		m.with_imm = bits & 2;
		m.imm = m.with_imm ? in_.word() : 0;
		m.data = uc::Bytes(in_.half() % (4 * pmtu_), in_.byte());
		tx.pmtu = pmtu_;
		tx.psn = in_.word() & 0xFFFFFF;
		for (const uc::Packet &p : uc::packets(tx, m)) {
			mrc_hdr h;

			require(uc::parse(uc::wire(p), h) == MRC_DROP_NONE,
				"own packet is refused");
			require(!got, "complete too early");
			got = r_.take({h, p.data});
			require(r_.in.drop < 0, "own packet is dropped");
		}
		require(got && *got == m, "another message than was sent");
	}

	fuzz::Input &in_;
	u32 pmtu_;
	uc::Receiver r_;
};

fuzz::Seed plain()
{
	fuzz::Seed s;

	s.b(2).w(0xFFFFFE);
	for (u32 i = 0; i < 4; i++)
		s.b(1).b(i).h(i * 700).b(i).w(i * 5);
	return s;
}

fuzz::Seed headers()
{
	fuzz::Seed s;

	s.b(0).w(7);
	s.b(3).b(2).b(3).b(0).b(3).b(4 | 32).h(9);
	s.b(3).b(2).b(3).b(16).b(1).b(3).b(4);
	s.b(3).b(1 | 2 | 64).w(600).b(3).b(1).b(3).b(1 | 4 | 32).h(88);
	return s;
}

fuzz::Seed bytes()
{
	fuzz::Seed s;
	mrc_uc_tx tx{};
	uc::Message m{.write = true, .with_imm = true};

	tx.pmtu = 256;
	m.data.resize(300);
	s.b(0).w(0);
	for (const uc::Packet &p : uc::packets(tx, m)) {
		uc::Bytes b = uc::wire(p);
		b.resize(40);
		s.b(0).b(40).bytes(b).b(p.h.payload_len + MRC_ICRC_LEN);
	}
	return s;
}

constexpr fuzz::NamedSeed kSeeds[] = {
	{"plain", plain}, {"headers", headers}, {"bytes", bytes}};

} // namespace

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	fuzz::write_seeds(*argc, *argv, kSeeds);
	return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz::run<Connection>(data, size);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Arbitrary bytes as the UDP payload of a packet: whatever the parser accepts
// must build to the same bytes, but for what MRC 1.0 §4 reserves.
#include <vector>

#include "fuzz_check.hpp"

using fuzz::require;

namespace
{

using Bytes = std::vector<std::uint8_t>;

// Zero what a receiver ignores.
void clear_reserved(Bytes &p, std::uint32_t flags)
{
	bool ts = (flags & MRC_OPF_METH) && (p[8] & 0x10);
	std::uint8_t *ext = p.data() + 12;
	std::size_t n = p.size() - 12;
	auto keep = [&](std::size_t at, std::uint8_t mask) {
		if (at < n)
			ext[at] &= mask;
	};
	auto zero = [&](std::size_t from, std::size_t to) {
		for (; from < to; from++)
			keep(from, 0);
	};
	auto timestamp = [&](std::size_t at) {
		keep(at, 0x80);
		keep(at + 1, 0x0F);
	};

	p[1] &= 0xBF;
	p[4] = 0;
	p[8] &= (flags & MRC_OPF_METH ? 0xB1 : 0xA1) |
		(p[0] == MRC_OP_ACK ? 0x02 : 0);
	if (ts)
		timestamp(6);
	if (flags & MRC_OPF_SETH) {
		zero(0, 1);
		keep(1, 0x62);
		if ((ext[1] & 0x60) == 0x60)
			ext[1] &= 0x9F;
		zero(12, 13);
		keep(16, 0xF0);
		keep(30, 0x7F);
	}
	if (flags & MRC_OPF_NETH) {
		zero(0, 2);
		zero(12, 13);
		keep(16, 0xF0);
		zero(17, 18);
	}
	if (flags & MRC_OPF_PETH) {
		zero(0, 3);
		zero(6, 8);
		timestamp(14);
	}
	if (flags & MRC_OPF_ERTH) {
		zero(0, 1);
		keep(1, 0x03);
		zero(2, 3);
		zero(8, 12);
		timestamp(14);
	}
	if (flags & MRC_OPF_EETH) {
		zero(0, 1);
		keep(1, 0x0C);
		zero(2, 28);
		zero(30, 36);
	}
}

Bytes build(const mrc_hdr &h)
{
	Bytes out(mrc_hdr_len(&h));
	auto n = static_cast<std::uint32_t>(out.size());

	require(n <= MRC_HDR_MAX, "headers longer than MRC_HDR_MAX");
	require(!n || !mrc_hdr_build(&h, out.data(), n - 1),
		"built without room");
	require(mrc_hdr_build(&h, out.data(), n) == n,
		"build and length differ");
	return out;
}

void whole(const Bytes &in)
{
	auto len = static_cast<std::uint32_t>(in.size());
	mrc_hdr h, linear;
	mrc_drop why = mrc_hdr_parse(in.data(), len, len, &h);
	std::uint32_t flags;

	if (why == MRC_DROP_OPCODE) {
		require(!mrc_op_info(in[0])->name, "defined opcode refused");
		return;
	}
	if (why != MRC_DROP_NONE)
		return;

	flags = mrc_op_info(h.opcode)->flags;
	require(flags != 0, "undefined opcode accepted");
	require(h.tver == 0, "wrong version accepted");
	require(h.hdr_len + h.payload_len + h.pad + MRC_ICRC_LEN == len,
		"lengths do not add up");
	require(h.hdr_len == mrc_hdr_len(&h), "header length");
	if (!(flags & MRC_OPF_DATA))
		require(!h.payload_len && !h.pad,
			"control packet with payload");

	Bytes head(in.begin(), in.begin() + h.hdr_len);
	clear_reserved(head, flags);
	require(build(h) == head, "build(parse(x)) differs from x");

	// The same with only the headers at hand; a copy of exactly these, so
	// that reading on is noticed.
	Bytes just(in.begin(), in.begin() + h.hdr_len);
	require(mrc_hdr_parse(just.data(), h.hdr_len, len, &linear) ==
				MRC_DROP_NONE &&
			linear.payload_len == h.payload_len &&
			build(linear) == head,
		"payload elsewhere changes the result");
	just.pop_back();
	require(mrc_hdr_parse(just.data(), h.hdr_len - 1u, len, &linear) ==
			MRC_DROP_SHORT,
		"headers outside of what may be read");
}

void trimmed(const Bytes &in)
{
	auto len = static_cast<std::uint32_t>(in.size());
	mrc_hdr h;

	if (mrc_hdr_parse_trimmed(in.data(), len, &h) != MRC_DROP_NONE)
		return;
	require(mrc_op_info(h.opcode)->flags & MRC_OPF_DATA,
		"trimmed packet is no data packet");
	require(h.hdr_len >= 12 && h.hdr_len <= len && h.hdr_len <= 20,
		"trimmed header length");
	require(h.ts == (h.hdr_len == 20), "timestamp that did not survive");

	// What survived is what a complete packet would have there.
	Bytes head(in.begin(), in.begin() + h.hdr_len);
	clear_reserved(head, MRC_OPF_METH);
	Bytes full = build(h);
	full.resize(h.hdr_len);
	if (!h.ts)
		head[8] &= 0xEF;
	require(full == head, "trimmed headers differ");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data,
				      std::size_t size)
{
	Bytes in(data, data + size);

	if (size > 65507)
		return 0;
	whole(in);
	trimmed(in);
	return 0;
}

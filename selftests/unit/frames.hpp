// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The frames of MRC 1.0 §18.1 as field values, and how to build a frame.
#pragma once

#include <arpa/inet.h>

#include <numeric>
#include <string>

#include "engine.hpp"
#include "vectors.hpp"

namespace mrc_test
{

// One frame by its field values.
struct Frame {
	std::string name;
	bool v6 = true;
	bool outer = false; // in SRv6, no SRH
	bool to_responder = true;
	std::uint8_t tos = 0x12;
	std::uint32_t entropy = 0;
	mrc_hdr hdr{};
	Bytes payload;
};

inline void put(Bytes &out, const Bytes &more)
{
	out.insert(out.end(), more.begin(), more.end());
}

inline Bytes ip_of(int family, const char *text)
{
	Bytes addr(family == AF_INET ? 4 : 16);

	inet_pton(family, text, addr.data());
	return addr;
}

inline Bytes ipv6_header(const Frame &f, std::size_t body, std::uint8_t next,
			 const char *src, const char *dst)
{
	Bytes h(8);

	put_unaligned_be32(6u << 28 | std::uint32_t{f.tos} << 20 |
				   f.entropy >> 16,
			   h.data());
	put_unaligned_be16(static_cast<std::uint16_t>(body), h.data() + 4);
	h[6] = next;
	h[7] = 64;
	put(h, ip_of(AF_INET6, src));
	put(h, ip_of(AF_INET6, dst));
	return h;
}

inline Bytes ipv4_header(const Frame &f, std::size_t body)
{
	Bytes h = {0x45, f.tos, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0};
	std::uint32_t sum = 0;

	put_unaligned_be16(static_cast<std::uint16_t>(body + 20), h.data() + 2);
	put(h, ip_of(AF_INET, f.to_responder ? "10.1.0.1" : "10.1.0.2"));
	put(h, ip_of(AF_INET, f.to_responder ? "10.1.0.2" : "10.1.0.1"));
	for (std::size_t i = 0; i < h.size(); i += 2)
		sum += get_unaligned_be16(h.data() + i);
	while (sum >> 16)
		sum = (sum & 0xFFFF) + (sum >> 16);
	put_unaligned_be16(static_cast<std::uint16_t>(~sum), h.data() + 10);
	return h;
}

// Ethernet to ICRC, headers and ICRC by the engine.
inline Bytes build_frame(const Frame &f)
{
	Bytes bth(MRC_HDR_MAX);
	Bytes udp(8), out, inner;
	std::size_t l4, udp_len;
	std::uint32_t crc;

	bth.resize(mrc_hdr_build(&f.hdr, bth.data(), MRC_HDR_MAX));
	l4 = f.v6 ? 40 : 20;
	udp_len = 8 + bth.size() + f.payload.size() + f.hdr.pad + 4;

	put_unaligned_be16(static_cast<std::uint16_t>(f.entropy), udp.data());
	put_unaligned_be16(MRC_UDP_DPORT, udp.data() + 2);
	put_unaligned_be16(static_cast<std::uint16_t>(udp_len), udp.data() + 4);

	inner = f.v6 ? ipv6_header(f, udp_len, 17,
				   f.to_responder ? "fd00:1::1" : "fd00:1::2",
				   f.to_responder ? "fd00:1::2" : "fd00:1::1")
		     : ipv4_header(f, udp_len);
	put(inner, udp);
	put(inner, bth);
	put(inner, f.payload);
	inner.resize(inner.size() + f.hdr.pad);

	crc = mrc_icrc_start(inner.data());
	crc = mrc_crc32(crc, inner.data() + l4 + 20, inner.size() - l4 - 20);
	inner.resize(inner.size() + 4);
	put_unaligned_le32(mrc_icrc_finish(crc),
			   inner.data() + inner.size() - 4);

	out = from_hex(f.to_responder ? "020000000002020000000001"
				      : "020000000001020000000002");
	put(out, from_hex(f.v6 ? "86dd" : "0800"));
	if (f.outer)
		put(out, ipv6_header(f, inner.size(), 41, "fd00:1::1",
				     "fcbb:0:20:10:22:32::"));
	put(out, inner);
	return out;
}

inline Bytes count_up(std::uint8_t first, std::size_t n)
{
	Bytes b(n);

	std::iota(b.begin(), b.end(), first);
	return b;
}

inline Frame data_frame(const char *name, std::uint8_t opcode,
			std::uint32_t psn, std::uint32_t entropy)
{
	Frame f;

	f.name = name;
	f.entropy = entropy;
	f.hdr.opcode = opcode;
	f.hdr.pkey = MRC_PKEY_DEFAULT;
	f.hdr.dqp = 0x000202;
	f.hdr.psn = psn;
	return f;
}

inline Frame timed(Frame f, std::uint16_t tstamp)
{
	f.hdr.ts = true;
	f.hdr.tstamp = tstamp;
	f.hdr.ftype = MRC_TS_FTYPE;
	return f;
}

// Probes and endpoint requests have a timestamp but no TSETH.
inline Frame stamped(Frame f, std::uint16_t tstamp)
{
	f = timed(f, tstamp);
	f.hdr.ts = false;
	return f;
}

inline Frame reply_frame(const char *name, std::uint8_t opcode,
			 std::uint32_t psn)
{
	Frame f = data_frame(name, opcode, psn, 0x0BADC0FF);

	f.to_responder = false;
	f.tos = 0xB8;
	f.hdr.dqp = 0x000101;
	return f;
}

inline void set_reth(Frame &f, std::uint64_t va, std::uint32_t rkey,
		     std::uint32_t dmalen)
{
	f.hdr.reth.va = va;
	f.hdr.reth.rkey = rkey;
	f.hdr.reth.dmalen = dmalen;
}

inline std::vector<Frame> spec_frames()
{
	constexpr std::uint64_t va = 0x00007F1200001000ull;
	constexpr std::uint32_t rkey = 0xA1B2C3D4;
	std::vector<Frame> out;
	Frame f;

	f = data_frame("V1", MRC_OP_WRITE_ONLY, 0x10, 0xC0DE);
	f.v6 = false;
	f.hdr.a = true;
	f.hdr.msn = 7;
	set_reth(f, va, rkey, 8);
	f.payload = count_up(0x10, 8);
	out.push_back(f);

	f = timed(data_frame("V2", MRC_OP_WRITE_FIRST, 0xFFFFFE, 0x1234C001),
		  0x0100);
	f.hdr.rqmsn = 3;
	f.hdr.msn = 8;
	set_reth(f, va, rkey, 261);
	f.payload = count_up(0, 256);
	out.push_back(f);

	f = timed(data_frame("V3", MRC_OP_WRITE_LAST_IMM, 0xFFFFFF, 0x1235C002),
		  0x0101);
	f.hdr.a = true;
	f.hdr.pad = 3;
	f.hdr.rqmsn = 3;
	f.hdr.msn = 8;
	set_reth(f, va + 256, rkey, 261);
	f.hdr.reth.imm = htonl(0xDEADBEEF);
	f.payload = {'h', 'e', 'l', 'l', 'o'};
	out.push_back(f);

	f = timed(data_frame("V4", MRC_OP_WRITE_ONLY_IMM, 1, 0x1236C003),
		  0x0105);
	f.tos = 0x22;
	f.hdr.a = true;
	f.hdr.rtx = true;
	f.hdr.rqmsn = 4;
	f.hdr.msn = 9;
	f.hdr.reth.imm = htonl(0x42);
	out.push_back(f);

	f = reply_frame("V5", MRC_OP_SACK, 0);
	f.hdr.tstamp = 0x0105;
	f.hdr.seth.m = MRC_M_SKIP_ONCE;
	f.hdr.seth.ack_psn_offset = 7;
	f.hdr.seth.entropy = 0x1236C003;
	f.hdr.seth.spdcid = 0x0202;
	f.hdr.seth.dpdcid = 0x0101;
	f.hdr.seth.cack_psn = 0;
	f.hdr.seth.mpr = 8;
	f.hdr.seth.sack_offset = 1;
	f.hdr.seth.bitmap = 0x76;
	f.hdr.seth.ooo_count = 5;
	f.hdr.seth.rcvd_bytes = 0x1A;
	out.push_back(f);

	f = reply_frame("V6", MRC_OP_SACK, 7);
	f.hdr.tstamp = 0x0200;
	f.hdr.seth.pr = true;
	f.hdr.seth.probe_id = 0x0055;
	f.hdr.seth.entropy = 0x1237C004;
	f.hdr.seth.spdcid = 0x0202;
	f.hdr.seth.dpdcid = 0x0101;
	f.hdr.seth.cack_psn = 7;
	f.hdr.seth.mpr = 8;
	f.hdr.seth.sack_offset = 1;
	f.hdr.seth.restore_cwnd = true;
	f.hdr.seth.rcvd_bytes = 0x21;
	out.push_back(f);

	f = reply_frame("V7", MRC_OP_NACK, 4);
	f.hdr.tstamp = 0x0106;
	f.hdr.neth.reason = MRC_NACK_TRIMMED;
	f.hdr.neth.entropy = 0x123AC007;
	f.hdr.neth.spdcid = 0x0202;
	f.hdr.neth.dpdcid = 0x0101;
	f.hdr.neth.nack_psn = 4;
	f.hdr.neth.cc_type = 2;
	out.push_back(f);

	f = stamped(data_frame("V8", MRC_OP_PROBE, 0, 0x1237C004), 0x0200);
	f.hdr.peth.probe_id = 0x0055;
	f.hdr.peth.spdcid = 0x0101;
	f.hdr.peth.dpdcid = 0x0202;
	out.push_back(f);

	f = reply_frame("V9", MRC_OP_ACK, 7);
	f.hdr.aeth.syndrome = MRC_SYN_ACK;
	f.hdr.aeth.msn = 10;
	out.push_back(f);

	f = reply_frame("V10", MRC_OP_ACK, 8);
	f.hdr.aeth.syndrome = MRC_SYN_NAK_ACCESS;
	f.hdr.aeth.msn = 10;
	out.push_back(f);

	f = stamped(data_frame("V11", MRC_OP_ENDPOINT_REQ, 0xAB, 0x1238C005),
		    0x0300);
	f.hdr.dqp = MRC_QPN_ENDPOINT;
	f.hdr.epop.op = MRC_EPOP_EV_PROBE;
	out.push_back(f);

	f = reply_frame("V12", MRC_OP_ENDPOINT_RESP, 0xAB);
	f.hdr.dqp = MRC_QPN_ENDPOINT;
	f.hdr.tstamp = 0x0300;
	f.hdr.epop.op = MRC_EPOP_EV_PROBE;
	out.push_back(f);

	f = stamped(data_frame("V13", MRC_OP_ENDPOINT_REQ, 0xAC, 0x1238C005),
		    0x0301);
	f.tos = 0xB8;
	f.hdr.dqp = MRC_QPN_ENDPOINT;
	f.hdr.epop.op = MRC_EPOP_PORT_STATUS;
	f.hdr.epop.port_mask = 0x0A;
	out.push_back(f);

	f = timed(data_frame("V14", MRC_OP_WRITE_ONLY, 0x11, 0x1239C006),
		  0x0310);
	f.outer = true;
	f.hdr.a = true;
	f.hdr.msn = 10;
	set_reth(f, va, rkey, 8);
	f.payload = count_up(0x10, 8);
	out.push_back(f);
	return out;
}

// Engine functions on a whole payload (BTH to ICRC).
inline mrc_drop parse(const Bytes &p, mrc_hdr *h)
{
	auto len = static_cast<std::uint32_t>(p.size());

	return mrc_hdr_parse(p.data(), len, len, h);
}

inline Bytes build(const mrc_hdr &h)
{
	Bytes out(MRC_HDR_MAX);

	out.resize(mrc_hdr_build(&h, out.data(), MRC_HDR_MAX));
	return out;
}

} // namespace mrc_test

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "codec.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "error.hpp"

namespace mrcconform
{
namespace
{
constexpr bool res = true;

/* MRC 1.0 §4; the rows of Hdr::ip have no position here. */
constexpr FieldInfo fields[] = {
	{F::tos, Hdr::ip, "tos", 0, 8},
	{F::ttl, Hdr::ip, "ttl", 0, 8},
	{F::flow, Hdr::ip, "flow", 0, 20},
	{F::ip_id, Hdr::ip, "ip_id", 0, 16},
	{F::ip_frag, Hdr::ip, "ip_frag", 0, 16},
	{F::sport, Hdr::ip, "sport", 0, 16},
	{F::dport, Hdr::ip, "dport", 0, 16},
	{F::udp_sum, Hdr::ip, "udp_sum", 0, 16},

	{F::opcode, Hdr::bth, "opcode", 0, 8},
	{F::se, Hdr::bth, "se", 8, 1},
	{F::mig, Hdr::bth, "mig", 9, 1, res},
	{F::pad, Hdr::bth, "pad", 10, 2},
	{F::tver, Hdr::bth, "tver", 12, 4},
	{F::pkey, Hdr::bth, "pkey", 16, 16},
	{F::var_res, Hdr::bth, "var_res", 32, 8, res},
	{F::dqp, Hdr::bth, "dqp", 40, 24},
	{F::a, Hdr::bth, "a", 64, 1},
	{F::bth_r, Hdr::bth, "bth_r", 65, 1, res},
	{F::rtx, Hdr::bth, "rtx", 66, 1},
	{F::ts, Hdr::bth, "ts", 67, 1},
	{F::inv_res, Hdr::bth, "inv_res", 68, 4, res},
	{F::psn, Hdr::bth, "psn", 72, 24},

	{F::rqmsn, Hdr::meth, "rqmsn", 0, 16},
	{F::msn, Hdr::meth, "msn", 16, 16},

	{F::tx_timestamp, Hdr::tseth, "tx_timestamp", 0, 16},
	{F::tsr, Hdr::tseth, "tsr", 16, 1},
	{F::ts_res, Hdr::tseth, "ts_res", 17, 11, res},
	{F::ftype, Hdr::tseth, "ftype", 28, 4},

	{F::va, Hdr::reth, "va", 0, 64},
	{F::rkey, Hdr::reth, "rkey", 64, 32},
	{F::dmalen, Hdr::reth, "dmalen", 96, 32},

	{F::imm, Hdr::immdt, "imm", 0, 32},

	{F::syndrome, Hdr::aeth, "syndrome", 0, 8},
	{F::amsn, Hdr::aeth, "amsn", 8, 24},

	{F::seth_type, Hdr::seth, "seth_type", 0, 4, res},
	{F::seth_nh, Hdr::seth, "seth_nh", 4, 5, res},
	{F::m, Hdr::seth, "m", 9, 2},
	{F::seth_res1, Hdr::seth, "seth_res1", 11, 3, res},
	{F::pr, Hdr::seth, "pr", 14, 1},
	{F::seth_res2, Hdr::seth, "seth_res2", 15, 1, res},
	{F::ack_psn_offset, Hdr::seth, "ack_psn_offset", 16, 16},
	{F::sack_entropy, Hdr::seth, "sack_entropy", 32, 32},
	{F::sack_spdcid, Hdr::seth, "sack_spdcid", 64, 16},
	{F::sack_dpdcid, Hdr::seth, "sack_dpdcid", 80, 16},
	{F::seth_res3, Hdr::seth, "seth_res3", 96, 8, res},
	{F::cack_psn, Hdr::seth, "cack_psn", 104, 24},
	{F::sack_cc_type, Hdr::seth, "sack_cc_type", 128, 4},
	{F::sack_cc_fl, Hdr::seth, "sack_cc_fl", 132, 4, res},
	{F::mpr, Hdr::seth, "mpr", 136, 8},
	{F::sack_offset, Hdr::seth, "sack_offset", 144, 16},
	{F::sack_bitmap, Hdr::seth, "sack_bitmap", 160, 64},

	{F::sack_timestamp, Hdr::cc_state, "sack_timestamp", 0, 16},
	{F::cc_res, Hdr::cc_state, "cc_res", 16, 1, res},
	{F::ooo_count, Hdr::cc_state, "ooo_count", 17, 15},
	{F::restore_cwnd, Hdr::cc_state, "restore_cwnd", 32, 1},
	{F::rcv_cwnd_pen, Hdr::cc_state, "rcv_cwnd_pen", 33, 7},
	{F::rcvd_bytes, Hdr::cc_state, "rcvd_bytes", 40, 24},

	{F::neth_type, Hdr::neth, "neth_type", 0, 4, res},
	{F::neth_nh, Hdr::neth, "neth_nh", 4, 5, res},
	{F::neth_res1, Hdr::neth, "neth_res1", 9, 7, res},
	{F::nack_reason, Hdr::neth, "nack_reason", 16, 8},
	{F::nack_vendor, Hdr::neth, "nack_vendor", 24, 8},
	{F::nack_entropy, Hdr::neth, "nack_entropy", 32, 32},
	{F::nack_spdcid, Hdr::neth, "nack_spdcid", 64, 16},
	{F::nack_dpdcid, Hdr::neth, "nack_dpdcid", 80, 16},
	{F::neth_res2, Hdr::neth, "neth_res2", 96, 8, res},
	{F::nack_psn, Hdr::neth, "nack_psn", 104, 24},
	{F::nack_cc_type, Hdr::neth, "nack_cc_type", 128, 4},
	{F::nack_cc_fl, Hdr::neth, "nack_cc_fl", 132, 4, res},
	{F::neth_res3, Hdr::neth, "neth_res3", 136, 8, res},
	{F::nack_timestamp, Hdr::neth, "nack_timestamp", 144, 16},

	{F::peth_type, Hdr::peth, "peth_type", 0, 4, res},
	{F::peth_nh, Hdr::peth, "peth_nh", 4, 5, res},
	{F::peth_res1, Hdr::peth, "peth_res1", 9, 7, res},
	{F::peth_res2, Hdr::peth, "peth_res2", 16, 8, res},
	{F::peth_vendor, Hdr::peth, "peth_vendor", 24, 8},
	{F::probe_id, Hdr::peth, "probe_id", 32, 16},
	{F::peth_res3, Hdr::peth, "peth_res3", 48, 16, res},
	{F::peth_spdcid, Hdr::peth, "peth_spdcid", 64, 16},
	{F::peth_dpdcid, Hdr::peth, "peth_dpdcid", 80, 16},
	{F::peth_timestamp, Hdr::peth, "peth_timestamp", 96, 16},
	{F::peth_tsr, Hdr::peth, "peth_tsr", 112, 1},
	{F::peth_res4, Hdr::peth, "peth_res4", 113, 11, res},
	{F::peth_ftype, Hdr::peth, "peth_ftype", 124, 4},

	{F::erth_type, Hdr::erth, "erth_type", 0, 4, res},
	{F::erth_nh, Hdr::erth, "erth_nh", 4, 5, res},
	{F::erth_res1, Hdr::erth, "erth_res1", 9, 5, res},
	{F::erth_op, Hdr::erth, "erth_op", 14, 2},
	{F::erth_res2, Hdr::erth, "erth_res2", 16, 8, res},
	{F::erth_vendor, Hdr::erth, "erth_vendor", 24, 8},
	{F::port_mask, Hdr::erth, "port_status_mask", 32, 32},
	{F::erth_res3, Hdr::erth, "erth_res3", 64, 32, res},
	{F::erth_timestamp, Hdr::erth, "erth_timestamp", 96, 16},
	{F::erth_tsr, Hdr::erth, "erth_tsr", 112, 1},
	{F::erth_res4, Hdr::erth, "erth_res4", 113, 11, res},
	{F::erth_ftype, Hdr::erth, "erth_ftype", 124, 4},

	{F::eeth_type, Hdr::eeth, "eeth_type", 0, 4, res},
	{F::eeth_nh, Hdr::eeth, "eeth_nh", 4, 5, res},
	{F::eeth_res1, Hdr::eeth, "eeth_res1", 9, 3, res},
	{F::eeth_op, Hdr::eeth, "eeth_op", 12, 2},
	{F::eeth_res2, Hdr::eeth, "eeth_res2", 14, 2, res},
	{F::eeth_res3, Hdr::eeth, "eeth_res3", 16, 64, res},
	{F::eeth_res4, Hdr::eeth, "eeth_res4", 80, 64, res},
	{F::eeth_res5, Hdr::eeth, "eeth_res5", 144, 64, res},
	{F::eeth_res6, Hdr::eeth, "eeth_res6", 208, 16, res},
	{F::eeth_timestamp, Hdr::eeth, "eeth_timestamp", 224, 16},
	{F::eeth_res7, Hdr::eeth, "eeth_res7", 240, 48, res},
};
static_assert(std::size(fields) == static_cast<size_t>(F::count));

constexpr bool in_order()
{
	for (size_t i = 0; i < std::size(fields); i++)
		if (static_cast<size_t>(fields[i].id) != i)
			return false;
	return true;
}
static_assert(in_order());

constexpr Hdr none = Hdr::ip;
constexpr std::array<Hdr, 4> write_headers{Hdr::meth, Hdr::tseth, Hdr::reth,
					   none};
constexpr std::array<Hdr, 4> imm_headers{Hdr::meth, Hdr::tseth, Hdr::reth,
					 Hdr::immdt};

/* MRC 1.0 §3; a TSETH is there if BTH.ts says so. */
constexpr OpInfo ops[] = {
	{op_write_first, "WRITE_FIRST", write_headers, true},
	{op_write_middle, "WRITE_MIDDLE", write_headers, true},
	{op_write_last, "WRITE_LAST", write_headers, true},
	{op_write_last_imm, "WRITE_LAST_IMM", imm_headers, true},
	{op_write_only, "WRITE_ONLY", write_headers, true},
	{op_write_only_imm, "WRITE_ONLY_IMM", imm_headers, true},
	{op_ack, "ACKNOWLEDGE", {Hdr::aeth, none, none, none}},
	{op_endpoint_request,
	 "ENDPOINT_REQUEST",
	 {Hdr::erth, none, none, none}},
	{op_endpoint_response,
	 "ENDPOINT_RESPONSE",
	 {Hdr::eeth, none, none, none}},
	{op_sack, "RELIABILITY_SACK", {Hdr::seth, Hdr::cc_state, none, none}},
	{op_nack, "RELIABILITY_NACK", {Hdr::neth, none, none, none}},
	{op_probe, "RELIABILITY_PROBE_REQ", {Hdr::peth, none, none, none}},
};

template <typename Visit> void each_field(Hdr h, Visit visit)
{
	for (const FieldInfo &f : fields)
		if (f.header == h)
			visit(f);
}

/* The headers after the BTH that a packet really has. */
std::vector<Hdr> headers_of(const OpInfo &info, bool ts)
{
	std::vector<Hdr> list;

	for (const Hdr h : info.headers)
		if (h != none && (h != Hdr::tseth || ts))
			list.push_back(h);
	return list;
}

void put_header(const Packet &p, Hdr h, Bytes &out)
{
	const size_t at = out.size();

	out.resize(at + header_length(h));
	each_field(h, [&](const FieldInfo &f) {
		put_bits(std::span(out).subspan(at), f.bit, f.width, p[f.id]);
	});
}

void get_header(std::span<const uint8_t> bytes, Hdr h, Packet &p)
{
	each_field(h, [&](const FieldInfo &f) {
		p[f.id] = get_bits(bytes, f.bit, f.width);
	});
}

int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}
} // namespace

std::span<const FieldInfo> field_table()
{
	return fields;
}

const FieldInfo &field_info(F f)
{
	return fields[static_cast<size_t>(f)];
}

const FieldInfo &field_named(std::string_view name)
{
	const auto *f = std::ranges::find(fields, name, &FieldInfo::name);

	if (f == std::end(fields))
		throw FormatError(fmt::format("no field '{}'", name));
	return *f;
}

uint32_t header_length(Hdr h)
{
	switch (h) {
	case Hdr::ip:
		return 0;
	case Hdr::bth:
		return 12;
	case Hdr::reth:
	case Hdr::peth:
	case Hdr::erth:
		return 16;
	case Hdr::seth:
		return 28;
	case Hdr::cc_state:
		return 8;
	case Hdr::neth:
		return 20;
	case Hdr::eeth:
		return 36;
	default:
		return 4;
	}
}

const OpInfo *op_info(uint8_t opcode)
{
	const auto *o = std::ranges::find(ops, opcode, &OpInfo::opcode);

	return o == std::end(ops) ? nullptr : o;
}

const OpInfo *op_named(std::string_view name)
{
	const auto *o = std::ranges::find(ops, name, &OpInfo::name);

	return o == std::end(ops) ? nullptr : o;
}

Packet::Packet(uint8_t opcode)
{
	(*this)[F::opcode] = opcode;
	(*this)[F::pkey] = 0xFFFF;
	(*this)[F::ttl] = 64;
	(*this)[F::ip_frag] = 0x4000;
	(*this)[F::ftype] = 1;
	(*this)[F::peth_ftype] = 1;
	(*this)[F::erth_ftype] = 1;
	(*this)[F::nack_cc_type] = 2;
	(*this)[F::sack_offset] = 1;
	(*this)[F::syndrome] = 0x1F;
}

bool Packet::has(Hdr h) const
{
	const OpInfo *info = op_info(opcode());

	if (h == Hdr::ip || h == Hdr::bth)
		return true;
	if (!info || (h == Hdr::tseth && !(*this)[F::ts]))
		return false;
	return std::ranges::find(info->headers, h) != info->headers.end();
}

bool is_data(const Packet &p)
{
	const OpInfo *info = op_info(p.opcode());

	return info && info->data;
}

Bytes pack(const Packet &p)
{
	const OpInfo *info = op_info(p.opcode());
	Bytes out;

	put_header(p, Hdr::bth, out);
	if (info)
		for (const Hdr h : headers_of(*info, p[F::ts]))
			put_header(p, h, out);
	out.insert(out.end(), p.payload.begin(), p.payload.end());
	out.resize(out.size() + p[F::pad]);
	return out;
}

std::string unpack(std::span<const uint8_t> body, Packet &p)
{
	if (body.size() < header_length(Hdr::bth))
		return "shorter than a BTH";
	get_header(body, Hdr::bth, p);

	const OpInfo *info = op_info(p.opcode());
	size_t at = header_length(Hdr::bth);
	const size_t pad = p[F::pad];

	if (!info) {
		p.payload.assign(body.begin() + static_cast<long>(at),
				 body.end());
		return "an opcode that MRC 1.0 does not define";
	}
	for (const Hdr h : headers_of(*info, p[F::ts])) {
		if (body.size() - at < header_length(h))
			return "shorter than its headers";
		get_header(body.subspan(at), h, p);
		at += header_length(h);
	}
	if (body.size() - at < pad)
		return "more padding than payload";
	p.payload.assign(body.begin() + static_cast<long>(at),
			 body.end() - static_cast<long>(pad));
	if (!info->data && (!p.payload.empty() || pad))
		return "a control packet with a payload";
	if (body.size() % 4)
		return "a length that is no multiple of four";
	if (std::any_of(body.end() - static_cast<long>(pad), body.end(),
			[](uint8_t b) { return b; }))
		return "padding that is not zero";
	return {};
}

std::string to_text(const Packet &p)
{
	const OpInfo *info = op_info(p.opcode());
	std::string s = info ? std::string(info->name)
			     : fmt::format("opcode {:#04x}", p.opcode());

	for (const FieldInfo &f : fields) {
		const uint64_t v = p[f.id];

		if (!p.has(f.header) || f.id == F::opcode)
			continue;
		/* Usual values would only hide the others. */
		if (!v && f.id != F::psn && f.id != F::cack_psn &&
		    f.id != F::nack_psn)
			continue;
		if ((f.id == F::pkey && v == 0xFFFF) ||
		    (f.id == F::ip_frag && v == 0x4000) || f.id == F::ttl)
			continue;
		if (f.id == F::ack_psn_offset && p[F::pr])
			s += fmt::format(" probe_id={:#x}", v);
		else if (f.id == F::ack_psn_offset || f.id == F::sack_offset)
			s += fmt::format(" {}={}", f.name, p.signed16(f.id));
		else
			s += fmt::format(" {}={:#x}", f.name, v);
	}
	if (!p.payload.empty())
		s += fmt::format(" payload={}", p.payload.size());
	if (!p.icrc_ok)
		s += " (ICRC wrong)";
	return s;
}

uint64_t get_bits(std::span<const uint8_t> header, uint32_t bit, uint32_t width)
{
	uint64_t v = 0;

	for (uint32_t i = bit; i < bit + width; i++)
		v = v << 1 | (header[i / 8] >> (7 - i % 8) & 1);
	return v;
}

void put_bits(std::span<uint8_t> header, uint32_t bit, uint32_t width,
	      uint64_t value)
{
	for (uint32_t n = 0; n < width; n++) {
		const uint32_t i = bit + width - 1 - n;
		const auto mask = static_cast<uint8_t>(1 << (7 - i % 8));

		if (value >> n & 1)
			header[i / 8] |= mask;
		else
			header[i / 8] &= static_cast<uint8_t>(~mask);
	}
}

bool sack_shows(const Packet &sack, uint32_t psn)
{
	const auto cack = static_cast<uint32_t>(sack[F::cack_psn]);
	const uint32_t base = psn_add(cack, sack.signed16(F::sack_offset));
	const int32_t bit = psn_diff(psn, base);

	if (psn_diff(psn, cack) <= 0)
		return true;
	if (!sack[F::pr] &&
	    psn == psn_add(cack, sack.signed16(F::ack_psn_offset)))
		return true;
	return bit >= 0 && bit < 64 && sack[F::sack_bitmap] >> bit & 1;
}

std::string to_hex(std::span<const uint8_t> bytes)
{
	std::string s;

	s.reserve(bytes.size() * 2);
	for (const uint8_t b : bytes) {
		s += "0123456789abcdef"[b >> 4];
		s += "0123456789abcdef"[b & 15];
	}
	return s;
}

Bytes from_hex(std::string_view text)
{
	Bytes out;

	if (text.size() % 2)
		throw FormatError("an odd number of hexadecimal digits");
	out.reserve(text.size() / 2);
	for (size_t i = 0; i < text.size(); i += 2) {
		const int hi = hex_digit(text[i]), lo = hex_digit(text[i + 1]);

		if (hi < 0 || lo < 0)
			throw FormatError(fmt::format("'{}' is not hexadecimal",
						      text.substr(i, 2)));
		out.push_back(static_cast<uint8_t>(hi << 4 | lo));
	}
	return out;
}
} // namespace mrcconform

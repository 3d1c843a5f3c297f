/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcconform: packets of MRC 1.0, built and parsed by two tables: the fields of
 * each header, and the headers of each opcode. It shares no code with the
 * driver, so that a mistake there is not repeated here.
 */
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mrcconform
{
using Bytes = std::vector<uint8_t>;

/* Opcodes, §3 */
enum Op : uint8_t {
	op_write_first = 0xC6,
	op_write_middle = 0xC7,
	op_write_last = 0xC8,
	op_write_last_imm = 0xC9,
	op_write_only = 0xCA,
	op_write_only_imm = 0xCB,
	op_ack = 0xD1,
	op_endpoint_request = 0xD8,
	op_endpoint_response = 0xD9,
	op_sack = 0xDC,
	op_nack = 0xDD,
	op_probe = 0xDE,
};

enum class Hdr : uint8_t {
	ip,
	bth,
	meth,
	tseth,
	reth,
	immdt,
	aeth,
	seth,
	cc_state,
	neth,
	peth,
	erth,
	eeth,
};

/*
 * Fields. Those of the IP and UDP headers describe the packet around the BTH.
 * Reserved bits are fields, too: a test may set them or look at them.
 */
enum class F : uint8_t {
	/* IP and UDP */
	tos,
	ttl,
	flow,
	ip_id,
	ip_frag,
	sport,
	dport,
	udp_sum,
	/* BTH */
	opcode,
	se,
	mig,
	pad,
	tver,
	pkey,
	var_res,
	dqp,
	a,
	bth_r,
	rtx,
	ts,
	inv_res,
	psn,
	/* METH */
	rqmsn,
	msn,
	/* TSETH */
	tx_timestamp,
	tsr,
	ts_res,
	ftype,
	/* RETH */
	va,
	rkey,
	dmalen,
	/* ImmDt */
	imm,
	/* AETH */
	syndrome,
	amsn,
	/* SETH */
	seth_type,
	seth_nh,
	m,
	seth_res1,
	pr,
	seth_res2,
	ack_psn_offset,
	sack_entropy,
	sack_spdcid,
	sack_dpdcid,
	seth_res3,
	cack_psn,
	sack_cc_type,
	sack_cc_fl,
	mpr,
	sack_offset,
	sack_bitmap,
	/* CC_STATE */
	sack_timestamp,
	cc_res,
	ooo_count,
	restore_cwnd,
	rcv_cwnd_pen,
	rcvd_bytes,
	/* NETH */
	neth_type,
	neth_nh,
	neth_res1,
	nack_reason,
	nack_vendor,
	nack_entropy,
	nack_spdcid,
	nack_dpdcid,
	neth_res2,
	nack_psn,
	nack_cc_type,
	nack_cc_fl,
	neth_res3,
	nack_timestamp,
	/* PETH */
	peth_type,
	peth_nh,
	peth_res1,
	peth_res2,
	peth_vendor,
	probe_id,
	peth_res3,
	peth_spdcid,
	peth_dpdcid,
	peth_timestamp,
	peth_tsr,
	peth_res4,
	peth_ftype,
	/* ERTH */
	erth_type,
	erth_nh,
	erth_res1,
	erth_op,
	erth_res2,
	erth_vendor,
	port_mask,
	erth_res3,
	erth_timestamp,
	erth_tsr,
	erth_res4,
	erth_ftype,
	/* EETH */
	eeth_type,
	eeth_nh,
	eeth_res1,
	eeth_op,
	eeth_res2,
	eeth_res3,
	eeth_res4,
	eeth_res5,
	eeth_res6,
	eeth_timestamp,
	eeth_res7,
	count
};

struct FieldInfo {
	F id;
	Hdr header;
	std::string_view name;
	/* Bit 0 is the most significant bit of the header's first byte. */
	uint16_t bit;
	uint8_t width;
	/* Sent as 0 and ignored on receipt. */
	bool reserved = false;
};

/* All fields, in the order of the enumeration. */
std::span<const FieldInfo> field_table();
const FieldInfo &field_info(F f);
/* Throws FormatError if there is none with this name. */
const FieldInfo &field_named(std::string_view name);
/* Bytes of a header; 0 for Hdr::ip. */
uint32_t header_length(Hdr h);

struct OpInfo {
	uint8_t opcode;
	std::string_view name;
	/* After the BTH; unused ones are Hdr::ip. */
	std::array<Hdr, 4> headers;
	bool data = false;
};

/* nullptr if MRC 1.0 does not define the opcode. */
const OpInfo *op_info(uint8_t opcode);
const OpInfo *op_named(std::string_view name);

/* The outer header of a packet in SRv6, §16.1. */
struct Outer {
	/* 41 (IPv6), or 43 (a routing header of one segment) */
	uint8_t next = 41;
	uint8_t tos = 0, ttl = 64;
	uint32_t flow = 0;
};

/* A packet in parts. A field whose header the opcode lacks is not sent. */
class Packet
{
public:
	Packet() = default;
	/* With the defaults of fields that are not 0: pkey, TTL, and others. */
	explicit Packet(uint8_t opcode);

	uint64_t &operator[](F f) { return v_[static_cast<size_t>(f)]; }
	uint64_t operator[](F f) const { return v_[static_cast<size_t>(f)]; }
	uint8_t opcode() const
	{
		return static_cast<uint8_t>((*this)[F::opcode]);
	}
	bool has(Hdr h) const;
	/* A 16-bit field that has a sign. */
	int16_t signed16(F f) const { return static_cast<int16_t>((*this)[f]); }

	/* Of an undefined opcode: everything after the BTH. */
	Bytes payload;
	/* Of a received packet. */
	bool icrc_ok = true;
	/* Which of the tester's netdevs it came through, from 1. */
	uint32_t plane = 0;
	std::optional<Outer> outer;

private:
	std::array<uint64_t, static_cast<size_t>(F::count)> v_{};
};

/* Whether its opcode is one of data. */
bool is_data(const Packet &p);

/* BTH, headers, payload and padding. F::pad is taken as it is. */
Bytes pack(const Packet &p);
/*
 * Fills in what follows the UDP header, without the ICRC. Returns an empty
 * string, or why the bytes are no packet of MRC. @p keeps what was parsed.
 */
std::string unpack(std::span<const uint8_t> body, Packet &p);

/* "RELIABILITY_SACK psn=0x10 cack_psn=0x10 ..." without fields that are 0. */
std::string to_text(const Packet &p);

/* Big-endian bits of a header. */
uint64_t get_bits(std::span<const uint8_t> header, uint32_t bit,
		  uint32_t width);
void put_bits(std::span<uint8_t> header, uint32_t bit, uint32_t width,
	      uint64_t value);

/* Arithmetic on PSNs, §5 */
constexpr uint32_t psn_mask = 0xFFFFFF;
constexpr uint32_t psn_add(uint32_t psn, int32_t n)
{
	return (psn + static_cast<uint32_t>(n)) & psn_mask;
}
/* In [-2^23, 2^23) */
constexpr int32_t psn_diff(uint32_t a, uint32_t b)
{
	const uint32_t d = (a - b) & psn_mask;

	return d < 0x800000 ? static_cast<int32_t>(d)
			    : static_cast<int32_t>(d) - 0x1000000;
}

/* Whether a SACK says that @psn was received, §8.3. */
bool sack_shows(const Packet &sack, uint32_t psn);

std::string to_hex(std::span<const uint8_t> bytes);
/* Throws FormatError. */
Bytes from_hex(std::string_view text);
} // namespace mrcconform

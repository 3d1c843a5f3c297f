// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "wire_fields.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <netinet/in.h>

#include "codec.hpp"

namespace devfuzz
{
namespace
{
using mrcconform::Hdr;

constexpr std::size_t bth_length = 12;
constexpr uint16_t roce_port = 4791;

struct Field {
	std::string_view name;
	unsigned bit;
	unsigned width;
	bool shape = false;
};

constexpr Field ip4[] = {
	{"ip4.version", 0, 4, true},
	{"ip4.ihl", 4, 4, true},
	{"ip4.tos", 8, 8},
	{"ip4.length", 16, 16, true},
	{"ip4.id", 32, 16},
	{"ip4.frag", 48, 16},
	{"ip4.ttl", 64, 8},
	{"ip4.protocol", 72, 8},
	{"ip4.checksum", 80, 16, true},
	{"ip4.src", 96, 32},
	{"ip4.dst", 128, 32},
};

constexpr Field ip6[] = {
	{"version", 0, 4, true},  {"tc", 4, 8},		{"flow", 12, 20},
	{"length", 32, 16, true}, {"next", 48, 8},	{"hops", 56, 8},
	{"src_high", 64, 64},	  {"src_low", 128, 64}, {"dst_high", 192, 64},
	{"dst_low", 256, 64},
};

constexpr Field udp[] = {
	{"udp.sport", 0, 16},
	{"udp.dport", 16, 16},
	{"udp.length", 32, 16, true},
	{"udp.checksum", 48, 16},
};

/* Bits of the BTH that MRC 1.0 reserves; mrcconform has them as inv_res. */
constexpr Field ext_bits[] = {
	{"ext.bth_res", 68, 2},
	{"ext.r", 70, 1},
	{"ext.c", 71, 1},
};

constexpr Field opeth[] = {
	{"ext.swap", 0, 64},
	{"ext.compare", 64, 64},
};
constexpr std::size_t opeth_length = 16;

enum class Rest : uint8_t { none, immediate, operands };

/* Documentation/extension.md, "Opcodes": what follows the RETH. */
struct Ext_op {
	uint8_t opcode;
	Rest rest;
};

constexpr Ext_op ext_ops[] = {
	{0xC0, Rest::none},	 /* SEND_FIRST */
	{0xC1, Rest::none},	 /* SEND_MIDDLE */
	{0xC2, Rest::none},	 /* SEND_LAST */
	{0xC3, Rest::immediate}, /* SEND_LAST_IMM */
	{0xC4, Rest::none},	 /* SEND_ONLY */
	{0xC5, Rest::immediate}, /* SEND_ONLY_IMM */
	{0xCC, Rest::none},	 /* READ_REQUEST */
	{0xCD, Rest::none},	 /* READ_RESPONSE_FIRST */
	{0xCE, Rest::none},	 /* READ_RESPONSE_MIDDLE */
	{0xCF, Rest::none},	 /* READ_RESPONSE_LAST */
	{0xD0, Rest::none},	 /* READ_RESPONSE_ONLY */
	{0xD2, Rest::none},	 /* ATOMIC_RESPONSE */
	{0xD3, Rest::operands},	 /* COMPARE_SWAP */
	{0xD4, Rest::operands},	 /* FETCH_ADD */
	{0xD5, Rest::operands},	 /* FLUSH */
	{0xD6, Rest::none},	 /* SEND_LAST_INVALIDATE */
	{0xD7, Rest::none},	 /* SEND_ONLY_INVALIDATE */
	{0xDA, Rest::operands},	 /* ATOMIC_WRITE */
};

/* Headers that packets of the extension share with MRC 1.0. */
constexpr Hdr ext_headers[] = {Hdr::bth, Hdr::meth, Hdr::tseth, Hdr::reth,
			       Hdr::immdt};

/* A header whose fields follow each other in field_names(). */
struct Header {
	std::size_t length;
	unsigned first;
	std::vector<Field> fields;
};

class Headers
{
public:
	Headers()
	{
		outer = add(40, ip6, "outer.");
		four = add(20, ip4);
		six = add(40, ip6, "ip6.");
		datagram = add(8, udp);
		for (unsigned h = 0; h < mrc.size(); h++)
			mrc[h] = add(static_cast<Hdr>(h), "mrc.");
		for (const Hdr h : ext_headers)
			ext[static_cast<unsigned>(h)] = add(h, "ext.");
		bits = add(bth_length, ext_bits);
		operands = add(opeth_length, opeth);
	}

	std::vector<std::string> names;
	Header outer, four, six, datagram, bits, operands;
	std::array<Header, static_cast<unsigned>(Hdr::eeth) + 1> mrc, ext;

private:
	Header add(std::size_t length, std::span<const Field> fields,
		   const std::string &prefix = "")
	{
		Header h{length,
			 static_cast<unsigned>(names.size()),
			 {fields.begin(), fields.end()}};

		for (const Field &f : fields)
			names.push_back(prefix + std::string(f.name));
		return h;
	}

	Header add(Hdr header, const std::string &prefix)
	{
		std::vector<Field> fields;

		for (const auto &f : mrcconform::field_table())
			if (f.header == header && header != Hdr::ip &&
			    (prefix == "mrc." ||
			     f.id != mrcconform::F::inv_res))
				fields.push_back({f.name, f.bit, f.width});
		return add(mrcconform::header_length(header), fields, prefix);
	}
};

const Headers &headers()
{
	static const Headers h;

	return h;
}

uint16_t get16(const uint8_t *at)
{
	return static_cast<uint16_t>(at[0] << 8 | at[1]);
}

/* Collects the fields of one header after the other. */
class Walk
{
public:
	explicit Walk(std::span<const uint8_t> frame) : frame_(frame) {}

	/* false: the frame ends before the header does. */
	bool take(const Header &h, std::size_t at)
	{
		if (at + h.length > frame_.size())
			return false;
		for (unsigned i = 0; i < h.fields.size(); i++) {
			const Field &f = h.fields[i];

			found.push_back({h.first + i, at * 8 + f.bit, f.width,
					 f.shape});
		}
		return true;
	}

	std::vector<Wire_field> found;

private:
	std::span<const uint8_t> frame_;
};

/* The headers from the BTH on. */
void walk_bth(Walk &w, std::span<const uint8_t> frame, std::size_t at)
{
	const uint8_t opcode = frame[at];
	const bool ts = frame[at + 8] & 0x10;
	const auto *x = std::ranges::find(ext_ops, opcode, &Ext_op::opcode);
	const auto *info = mrcconform::op_info(opcode);
	const bool is_ext = x != std::end(ext_ops);
	const auto &set = is_ext ? headers().ext : headers().mrc;
	std::vector<Hdr> list = {Hdr::bth};

	if (is_ext) {
		list.insert(list.end(), {Hdr::meth, Hdr::tseth, Hdr::reth});
		if (x->rest == Rest::immediate)
			list.push_back(Hdr::immdt);
		w.take(headers().bits, at);
	} else if (info) {
		for (const Hdr h : info->headers)
			if (h != Hdr::ip)
				list.push_back(h);
	}
	for (const Hdr h : list) {
		const Header &header = set[static_cast<unsigned>(h)];

		if (h == Hdr::tseth && !ts)
			continue;
		if (!w.take(header, at))
			return;
		at += header.length;
	}
	if (is_ext && x->rest == Rest::operands)
		w.take(headers().operands, at);
}
} // namespace

std::optional<Place> find_roce(std::span<const uint8_t> frame)
{
	std::size_t at = ether;

	for (unsigned depth = 0; depth < 3; depth++) {
		if (frame.size() < at + 48)
			return {};
		const bool v6 = frame[at] >> 4 == 6;
		uint8_t next = v6 ? frame[at + 6] : frame[at + 9];
		std::size_t payload = at + (v6 ? 40u : (frame[at] & 15u) * 4u);

		if (v6 && next == IPPROTO_ROUTING &&
		    frame.size() > payload + 8) {
			next = frame[payload];
			payload += 8u + frame[payload + 1] * 8u;
		}
		if (next == IPPROTO_UDP && frame.size() > payload + 24 &&
		    get16(&frame[payload + 2]) == roce_port)
			return Place{at, payload};
		if (next != IPPROTO_IPIP && next != IPPROTO_IPV6)
			return {};
		at = payload;
	}
	return {};
}

const std::vector<std::string> &field_names()
{
	return headers().names;
}

std::vector<Wire_field> fields_of(std::span<const uint8_t> frame,
				  const Place &at)
{
	Walk w(frame);

	if (at.ip > ether)
		w.take(headers().outer, ether);
	w.take(frame[at.ip] >> 4 == 6 ? headers().six : headers().four, at.ip);
	w.take(headers().datagram, at.udp);
	if (at.udp + headers().datagram.length + bth_length <= frame.size())
		walk_bth(w, frame, at.udp + headers().datagram.length);
	return w.found;
}
} // namespace devfuzz

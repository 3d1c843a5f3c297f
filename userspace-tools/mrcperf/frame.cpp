// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "frame.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "plan.hpp"

namespace mrcperf
{
namespace
{
uint64_t big_endian(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v = v << 8 | p[i];
	return v;
}
} // namespace

FrameHeader parse_header(const uint8_t *bytes)
{
	const uint64_t version = big_endian(bytes + 4, 2);
	const uint64_t type = big_endian(bytes + 6, 2);
	const uint64_t length = big_endian(bytes + 8, 4);

	if (big_endian(bytes, 4) != frame_magic)
		throw ProtocolError("the peer is not mrcperf");
	if (version != frame_version)
		throw ProtocolError(fmt::format(
			"the peer's protocol has version {}, this one {}",
			version, frame_version));
	if (type < static_cast<uint64_t>(FrameType::hello) ||
	    type > static_cast<uint64_t>(FrameType::last))
		throw ProtocolError(
			fmt::format("the peer sent a frame of type {}", type));
	if (length > max_payload)
		throw ProtocolError(fmt::format(
			"the peer sent a frame of {} bytes", length));
	return {static_cast<FrameType>(type), static_cast<uint32_t>(length)};
}

FieldWriter::FieldWriter(FrameType type)
{
	put(frame_magic, 4);
	put(frame_version, 2);
	put(static_cast<uint64_t>(type), 2);
	put(0, 4);
}

void FieldWriter::put(uint64_t v, size_t n)
{
	while (n--)
		out_ += static_cast<char>(v >> 8 * n);
}

void FieldWriter::text(const std::string &s)
{
	const std::string cut = s.substr(0, max_text);

	put(cut.size(), 2);
	out_ += cut;
}

std::string FieldWriter::finish()
{
	uint64_t length = out_.size() - frame_header;

	if (length > max_payload)
		throw RunError("too much to say in one frame");
	for (size_t i = frame_header; i > frame_header - 4; length >>= 8)
		out_[--i] = static_cast<char>(length);
	return std::move(out_);
}

void FieldReader::bad_value()
{
	throw ProtocolError("the peer sent a value out of bounds");
}

uint64_t FieldReader::take(size_t n)
{
	uint8_t b[8];

	bytes(b, n);
	return big_endian(b, n);
}

void FieldReader::bytes(uint8_t *p, size_t n)
{
	if (n > in_.size() - at_)
		throw ProtocolError("the peer sent a frame that is too short");
	std::memcpy(p, in_.data() + at_, n);
	at_ += n;
}

/* Text for people: control characters for terminals are refused. */
void FieldReader::text(std::string &s)
{
	const size_t n = take(2);

	if (n > max_text)
		bad_value();
	if (n > in_.size() - at_)
		throw ProtocolError("the peer sent a frame that is too short");
	s = in_.substr(at_, n);
	at_ += n;
	std::replace_if(
		s.begin(), s.end(), [](char c) { return c < ' ' || c > '~'; },
		'?');
}

void FieldReader::finish() const
{
	if (at_ != in_.size())
		throw ProtocolError("the peer sent a frame that is too long");
}

void Hello::check() const
{
	if (list > depth || list > rx_depth || signal > depth ||
	    (mtu && (mtu < 256 || mtu & (mtu - 1))) ||
	    (timeout != unset8 && timeout > 24) ||
	    (linear == unset8) != (exponential == unset8) ||
	    (linear != unset8 && (linear > 7 || exponential > 25)))
		throw ProtocolError("the peer asks for what cannot be");
	if (Layout(qps, largest).total() > max_memory)
		throw ProtocolError("the peer asks for too much memory");
}
} // namespace mrcperf

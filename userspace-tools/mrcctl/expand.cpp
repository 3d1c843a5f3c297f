// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "expand.hpp"

namespace mrcctl
{
namespace
{
constexpr std::size_t ev_bits = sizeof(Ev::val) * 8;

/* Bit 0 is the most significant one of byte 0. */
bool bit_of(const Ev &ev, std::size_t at)
{
	return at < ev_bits && (ev.val[at / 8] >> (7 - at % 8) & 1);
}

void set_bit(Ev &ev, std::size_t at)
{
	ev.val[at / 8] = static_cast<uint8_t>(ev.val[at / 8] | 0x80u >> at % 8);
}
} // namespace

std::optional<Ev> expand(const Fmt &fmt, const EvProfile &profile,
			 const Ev &packed)
{
	std::size_t taken = 0, written = 0;
	Ev out{.port = packed.port};

	/* Values as they go on the wire. */
	if (profile.fields.empty())
		return packed;
	if (profile.fields.size() > fmt.fields.size())
		return {};
	for (std::size_t i = 0; i < profile.fields.size(); i++) {
		const EvField &field = profile.fields[i];
		const std::size_t width = fmt.fields[i];
		uint32_t value = field.init;

		for (uint32_t bit = 1u << 31; bit; bit >>= 1)
			if (field.mask & bit)
				value = bit_of(packed, taken++) ? value | bit
								: value & ~bit;
		if (written + width > ev_bits)
			return {};
		/* Zeros in front, where the format has more bits than 32. */
		for (std::size_t i2 = width; i2-- > 0; written++)
			if (i2 < 32 && (value >> i2 & 1))
				set_bit(out, written);
	}
	for (; taken < ev_bits; taken++)
		if (bit_of(packed, taken))
			return {};
	return out;
}
} // namespace mrcctl

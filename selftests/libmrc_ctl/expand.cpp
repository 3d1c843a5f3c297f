// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "expand.hpp"

#include <algorithm>

namespace
{
/* Bit 0 is the most significant one of byte 0. */
Bits bits_of(const std::vector<uint8_t> &bytes)
{
	Bits out;

	for (const uint8_t byte : bytes)
		for (int bit = 7; bit >= 0; bit--)
			out.push_back(byte >> bit & 1);
	return out;
}

std::vector<uint8_t> bytes_of(const Bits &bits)
{
	std::vector<uint8_t> out(MRC_CTL_EV_MAX_BYTES);

	for (std::size_t i = 0; i < bits.size(); i++)
		if (bits[i])
			out.at(i / 8) |= static_cast<uint8_t>(0x80 >> i % 8);
	return out;
}

/* The EV's bits, a front part of which each field takes away. */
class Source
{
public:
	explicit Source(const std::vector<uint8_t> &packed)
		: bits_(bits_of(packed))
	{
	}

	uint32_t next() { return at_ < bits_.size() && bits_[at_++]; }
	bool rest_is_zero() const
	{
		return std::none_of(
			bits_.begin() + static_cast<Bits::difference_type>(at_),
			bits_.end(), [](bool b) { return b; });
	}

private:
	Bits bits_;
	std::size_t at_ = 0;
};

void append(Bits &to, uint32_t value, unsigned width)
{
	while (width--)
		to.push_back(width < 32 && value >> width & 1);
}
} // namespace

std::vector<uint8_t> expand(const Layout &layout,
			    const std::vector<uint8_t> &packed)
{
	Source source(packed);
	Bits out;

	for (std::size_t i = 0; i < layout.fields.size(); i++) {
		uint32_t value = layout.fields[i].init_val;

		for (uint32_t bit = 1U << 31; bit; bit >>= 1)
			if (layout.fields[i].mask & bit)
				value = source.next() ? value | bit
						      : value & ~bit;
		append(out, value, layout.widths.at(i));
	}
	if (!source.rest_is_zero())
		throw Failure("more bits than the fields take");
	return bytes_of(out);
}

bool in_range(const Layout &layout, const std::vector<uint8_t> &packed)
{
	Source source(packed);

	for (const Field &f : layout.fields) {
		uint64_t number = 0;

		for (uint32_t left = f.mask; left; left &= left - 1)
			number = number << 1 | source.next();
		if (f.mask && (f.min_val || f.max_val) &&
		    (number < f.min_val || number > f.max_val))
			return false;
	}
	return source.rest_is_zero();
}

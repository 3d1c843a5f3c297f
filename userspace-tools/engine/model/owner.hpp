// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Resources that the owner of an engine provides: memory and counters.
#pragma once

#include <cstring>
#include <memory>

#include "mrc_base.h"

namespace mrc_model
{

// Heap memory of exactly the size that the engine requests, so that a sanitizer
// detects every access beyond it. All bytes are initially @fill.
class Mem
{
public:
	Mem() = default;
	explicit Mem(std::size_t size, u8 fill = 0) : p_(new u8[size])
	{
		std::memset(p_.get(), fill, size);
	}

	void *get() { return p_.get(); }

private:
	std::unique_ptr<u8[]> p_;
};

// The sum of a counter over all ports.
inline u64 counter(const mrc_counters &ctr, mrc_counter id)
{
	u64 sum = 0;

	for (const auto &port : ctr.v)
		sum += port[id];
	return sum;
}

} // namespace mrc_model

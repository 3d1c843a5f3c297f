// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What the owner of an engine needs: its memory and its counters.
#pragma once

#include <cstring>
#include <memory>

#include "mrc_base.h"

namespace mrc_model
{

// Heap memory of exactly the size the engine asks for, so that a sanitizer sees
// every access beyond it. All bytes are @fill at first.
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

// A counter over all ports.
inline u64 counter(const mrc_counters &ctr, mrc_counter id)
{
	u64 sum = 0;

	for (const auto &port : ctr.v)
		sum += port[id];
	return sum;
}

} // namespace mrc_model

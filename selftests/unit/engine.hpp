// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The C engine as C++ tests see it, and what every owner of one needs: its
// memory and its counters.
#pragma once

#include <cstring>
#include <memory>

#include "mrc_core.h"

namespace mrc_test
{

// Heap memory of exactly the size the engine asks for, so that the sanitizer
// sees every access beyond it.
class EngineMem
{
public:
	EngineMem() = default;
	explicit EngineMem(std::size_t size, u8 fill = 0) : p_(new u8[size])
	{
		std::memset(p_.get(), fill, size);
	}

	void *get() { return p_.get(); }

private:
	std::unique_ptr<u8[]> p_;
};

// One EV, by the engine's accessors.
struct EvView {
	EvView(const mrc_paths &p, int i)
		: entropy(mrc_paths_entropy(&p, static_cast<u16>(i))),
		  port(mrc_paths_port(&p, static_cast<u16>(i))),
		  state(mrc_paths_state(&p, static_cast<u16>(i))),
		  drops(mrc_paths_drops(&p, static_cast<u16>(i)))
	{
	}

	u32 entropy;
	u8 port, state;
	u16 drops;
};

// A counter over all ports.
inline u64 counter(const mrc_counters &ctr, mrc_counter id)
{
	u64 sum = 0;

	for (const auto &port : ctr.v)
		sum += port[id];
	return sum;
}

} // namespace mrc_test

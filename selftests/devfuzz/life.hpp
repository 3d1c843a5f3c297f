/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One program of a run, in a process of its own. */
#pragma once

#include <cstdint>

#include "board.hpp"
#include "coverage.hpp"
#include "options.hpp"

namespace devfuzz
{
/* Exit statuses of a program. */
enum End {
	end_well = 0,
	end_no_device = 4, /* it was being removed */
	end_guard = 5, /* its memory was written to by somebody without a key */
	end_itself = 6, /* the fuzzer is at fault */
};

/* Lives in @place until its actions are done, and ends the process. */
[[noreturn]] void live(Board &board, Places &places, const Options &options,
		       unsigned place, uint64_t seed);

/* What that program is. */
Kind kind_of(const Options &options, uint64_t seed);
} // namespace devfuzz

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * From packed EVs to expanded ones, by the rules and not by the driver's code:
 * what the wire is compared with.
 */
#pragma once

#include "api.hpp"

/* What a profile says about its EVs. */
struct Layout {
	mrc_ctl_ev_fmt_mode mode;
	std::vector<uint8_t> widths; /* of the format */
	std::vector<Field> fields;
};

using Bits = std::vector<bool>;

/* 32 bytes; throws where bits are left that no field takes. */
std::vector<uint8_t> expand(const Layout &layout,
			    const std::vector<uint8_t> &packed);

/* Can the fields generate it? */
bool in_range(const Layout &layout, const std::vector<uint8_t> &packed);

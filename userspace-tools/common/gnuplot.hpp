/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Draws pictures by gnuplot(1). Shared by mrclab and mrcbench. */
#pragma once

#include <stdexcept>
#include <string>

#include "gnuplot_text.hpp"

namespace gnuplot
{
/* What gnuplot has said. */
struct Error : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* There is no gnuplot on this machine. */
struct Missing : Error {
	using Error::Error;
};

enum class Format { svg, png };

/*
 * The picture, as a file of this format has it. PNG has twice the pixels, for
 * dense screens. Throws Error.
 */
std::string draw(const Plot &plot, Format format);
} // namespace gnuplot

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What scripts for gnuplot are made of. Shared by mrclab and mrcbench. */
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace gnuplot
{
/*
 * Colours that people with colour blindness can distinguish: those of Okabe
 * and Ito. Their yellow is darker here, and their black is grey: it shall be
 * seen on white, and differ from the axes.
 */
constexpr std::array<const char *, 8> palette{"#0072b2", "#d55e00", "#009e73",
					      "#cc79a7", "#e69f00", "#56b4e9",
					      "#b8a800", "#666666"};

/* A picture, without the commands that say which format it has. */
struct Plot {
	std::string script;
	unsigned int width = 0; /* pixels */
	unsigned int height = 0;
};

/*
 * One line of UTF-8 that may be in a picture, in HTML and in XML: what is no
 * UTF-8, and characters that these do not allow, are replaced.
 */
std::string one_line(std::string_view text);

/*
 * A string of the script that means @text and nothing else. Scripts must draw
 * it without "enhanced" text, which draw() has switched off. Most signs become
 * octal numbers. Doubled quotes within single ones would not do: gnuplot 5.4
 * takes several of them for the end of the string, and runs what follows.
 */
std::string literal(std::string_view text);

/* The same for labels of "set xtics", in which % begins a format. */
std::string literal_tick(std::string_view text);

/* At most so many characters of UTF-8; "..." is the end of longer ones. */
std::string shortened(const std::string &text, std::size_t most);
} // namespace gnuplot

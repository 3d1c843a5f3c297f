/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrclab: quantities with units, written as tc(8) writes them. Every parser
 * throws UsageError with a text that names the word and what is expected.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mrclab
{
/* Bits per second from "100mbit", "1.5gbit" or "9600"; k, m, g are powers of
 * 1000. Range: 1 kbit/s to 1 Tbit/s.
 */
uint64_t parse_rate(std::string_view word);

/* Nanoseconds from "10us", "1.5ms", "2s" or "0"; at most an hour. */
uint64_t parse_time(std::string_view word);

/* Bytes from "1500", "64k" or "4m"; k and m are powers of 1024. At most 1 GiB.
 */
uint64_t parse_size(std::string_view word);

/* A share of 0 to 1 from "20", "20%" or "0.1%", which are all percent. */
double parse_percent(std::string_view word);

/* The same, with %, of what may be more than all: 1.5 from "150%". */
double parse_ratio(std::string_view word);

/* A whole number in decimal digits. */
uint64_t parse_count(std::string_view word, uint64_t min, uint64_t max);

/*
 * A name of @what: up to @most lower case letters, digits, - and _, the first
 * one a letter.
 */
std::string parse_name(const std::string &word, std::size_t most,
		       const char *what);

/* What the parsers read, as short as it is exact. */
std::string show_rate(uint64_t bits_per_second);
std::string show_time(uint64_t ns);
std::string show_size(uint64_t bytes);
std::string show_percent(double share);
} // namespace mrclab

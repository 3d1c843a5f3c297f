// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "units.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "error.hpp"

namespace mrclab
{
namespace
{
struct Unit {
	std::string_view name;
	double factor;
};

constexpr Unit rates[] = {{"tbit", 1e12}, {"gbit", 1e9}, {"mbit", 1e6},
			  {"kbit", 1e3},  {"bit", 1},	 {"", 1}};
constexpr Unit times[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr Unit sizes[] = {
	{"g", 1u << 30}, {"m", 1u << 20}, {"k", 1u << 10}, {"b", 1}, {"", 1}};
constexpr Unit percents[] = {{"%", 1}, {"", 1}};

/* The number and the unit of @word. Only digits and one point are a number:
 * no sign, no exponent, no "inf".
 */
bool split(std::string_view word, double &number, std::string_view &unit)
{
	const std::size_t end =
		std::min(word.find_first_not_of("0123456789."), word.size());
	const auto r = std::from_chars(word.data(), word.data() + end, number,
				       std::chars_format::fixed);

	unit = word.substr(end);
	return end > 0 && r.ec == std::errc() && r.ptr == word.data() + end;
}

double parse(std::string_view word, std::span<const Unit> units,
	     std::string_view what, double min, double max,
	     std::string_view range)
{
	std::string_view unit;
	double number = 0;

	if (split(word, number, unit)) {
		for (const Unit &u : units) {
			if (u.name != unit)
				continue;
			number *= u.factor;
			if (number < min || number > max)
				throw UsageError(
					fmt::format("\"{}\" is out of range: "
						    "a {} is {}",
						    word, what, range));
			return number;
		}
	}
	throw UsageError(fmt::format("\"{}\" is no {}; one is written like {}",
				     word, what,
				     units.data() == rates   ? "\"100mbit\""
				     : units.data() == times ? "\"10us\""
				     : units.data() == sizes ? "\"64k\""
							     : "\"0.1%\""));
}

/* Of a percentage. To divide would round a second time: 99.9 / 100 is not
 * 0.999.
 */
double hundredth(std::string_view percentage)
{
	const std::string number =
		std::string(percentage.substr(0, percentage.find('%'))) + "e-2";
	double share = 0;

	std::from_chars(number.data(), number.data() + number.size(), share);
	return share;
}

/* The largest unit in which @value has at most three decimals. */
std::string show(uint64_t value, std::span<const Unit> largest_first)
{
	for (const Unit &u : largest_first) {
		const auto f = static_cast<uint64_t>(u.factor);
		const uint64_t step = std::max<uint64_t>(f / 1000, 1);

		if (value < f || value % step)
			continue;
		if (value % f == 0)
			return fmt::format("{}{}", value / f, u.name);

		const std::string n =
			fmt::format("{}.{:03}", value / f, value % f / step);

		return n.substr(0, n.find_last_not_of('0') + 1) +
		       std::string(u.name);
	}
	return fmt::format("{}", value);
}
} // namespace

uint64_t parse_rate(std::string_view word)
{
	/* Units may have capitals, as for tc(8). */
	std::string lower(word);

	for (char &c : lower)
		if (c >= 'A' && c <= 'Z')
			c = static_cast<char>(c - 'A' + 'a');
	return static_cast<uint64_t>(std::llround(
		parse(lower, rates, "rate", 1e3, 1e12, "1kbit to 1tbit")));
}

uint64_t parse_time(std::string_view word)
{
	if (word == "0")
		return 0;
	return static_cast<uint64_t>(std::llround(
		parse(word, times, "time", 0, 3600e9, "0 to an hour")));
}

uint64_t parse_size(std::string_view word)
{
	return static_cast<uint64_t>(std::llround(
		parse(word, sizes, "size", 0, 1u << 30, "0 to 1g")));
}

double parse_percent(std::string_view word)
{
	parse(word, percents, "percentage", 0, 100, "0 to 100");
	return hundredth(word);
}

double parse_ratio(std::string_view word)
{
	parse(word, std::span(percents).first(1), "percentage", 0, 10000,
	      "0% to 10000%");
	return hundredth(word);
}

std::string parse_name(const std::string &w, std::size_t most, const char *what)
{
	const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
	const auto inside = [&letter](char c) {
		return letter(c) || (c >= '0' && c <= '9') || c == '-' ||
		       c == '_';
	};

	if (w.empty() || w.size() > most || !letter(w[0]) ||
	    !std::all_of(w.begin(), w.end(), inside))
		throw UsageError(fmt::format(
			"\"{}\" is no {}: up to {} lower case letters, digits, "
			"- and _, the first one a letter",
			w, what, most));
	return w;
}

uint64_t parse_count(std::string_view word, uint64_t min, uint64_t max)
{
	uint64_t n = 0;
	const auto r =
		std::from_chars(word.data(), word.data() + word.size(), n);

	if (r.ec == std::errc::invalid_argument ||
	    r.ptr != word.data() + word.size())
		throw UsageError(
			fmt::format("\"{}\" is no whole number", word));
	if (r.ec != std::errc() || n < min || n > max)
		throw UsageError(fmt::format("{} is out of range: {} to {}",
					     word, min, max));
	return n;
}

std::string show_rate(uint64_t bits_per_second)
{
	return show(bits_per_second, std::span(rates).first(5));
}

std::string show_time(uint64_t ns)
{
	static constexpr Unit down[] = {
		{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};

	return show(ns, down);
}

std::string show_size(uint64_t bytes)
{
	static constexpr Unit down[] = {
		{"g", 1u << 30}, {"m", 1u << 20}, {"k", 1u << 10}};

	for (const Unit &u : down) {
		const auto f = static_cast<uint64_t>(u.factor);

		if (bytes >= f && bytes % f == 0)
			return fmt::format("{}{}", bytes / f, u.name);
	}
	return fmt::format("{}", bytes);
}

std::string show_percent(double share)
{
	/* Never an exponent, which the parser does not know. */
	constexpr int most = 17;
	std::string s;

	for (int decimals = 0; decimals <= most; decimals++) {
		s = fmt::format("{:.{}f}%", share * 100, decimals);
		if (parse_percent(s) == share)
			break;
	}
	return s;
}
} // namespace mrclab

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "gnuplot_text.hpp"

#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gnuplot
{
namespace
{
using Json = nlohmann::json;

/* The library replaces what is no UTF-8 by U+FFFD. */
std::string valid_utf8(std::string_view text)
{
	return Json::parse(Json(text).dump(-1, ' ', false,
					   Json::error_handler_t::replace));
}

/* The bytes after the first one of a character. */
bool continues(char c)
{
	return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/* U+FFFE and U+FFFF are in no XML; U+0080 to U+009F are not in HTML. */
bool forbidden(const std::string &c)
{
	if (c.size() == 1)
		return static_cast<unsigned char>(c[0]) < 0x20 || c[0] == 0x7f;
	return c == "\xef\xbf\xbe" || c == "\xef\xbf\xbf" ||
	       (c.size() == 2 && c[0] == '\xc2' && c[1] < '\xa0');
}

/* Letters, and signs that mean nothing in a string of the script. */
bool harmless(char c)
{
	const auto u = static_cast<unsigned char>(c);

	return u >= 0x80 || std::isalnum(u) ||
	       std::string_view(" .,:;+-()/=_%").find(c) !=
		       std::string_view::npos;
}

/* The bytes of the character at @at. */
std::string character(const std::string &text, std::size_t at)
{
	std::size_t end = at + 1;

	while (end < text.size() && continues(text[end]))
		end++;
	return text.substr(at, end - at);
}
} // namespace

std::string one_line(std::string_view text)
{
	const std::string valid = valid_utf8(text);
	std::string out, c;

	for (std::size_t i = 0; i < valid.size(); i += c.size()) {
		c = character(valid, i);
		out += forbidden(c) ? " " : c;
	}
	return out;
}

std::string literal(std::string_view text)
{
	std::string out = "\"";

	for (const char c : one_line(text))
		out += harmless(c) ? std::string(1, c)
				   : fmt::format("\\{:03o}",
						 static_cast<unsigned char>(c));
	return out + "\"";
}

std::string literal_tick(std::string_view text)
{
	std::string percents;

	for (const char c : text)
		percents += c == '%' ? "%%" : std::string(1, c);
	return literal(percents);
}

std::string shortened(const std::string &text, std::size_t most)
{
	std::size_t characters = 0, keep = 0;

	for (std::size_t i = 0; i < text.size(); i++) {
		if (continues(text[i]))
			continue;
		if (characters + 3 <= most)
			keep = i;
		characters++;
	}
	return characters <= most ? text : text.substr(0, keep) + "...";
}
} // namespace gnuplot

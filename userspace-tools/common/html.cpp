// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "html.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "gnuplot_text.hpp"

namespace html
{
namespace
{
constexpr const char *style = R"(
body { font-family: sans-serif; line-height: 1.4; max-width: 62rem;
	margin: 1rem auto; padding: 0 1rem; color: #222; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border: 1px solid #ccc; padding: .3rem .6rem; text-align: left;
	vertical-align: top; }
th { background: #f2f2f2; }
.no { color: #b00020; font-weight: bold; }
.yes { color: #006b3c; }
figure { margin: 1rem 0; }
svg { max-width: 100%; height: auto; }
pre { background: #f6f6f6; padding: .5rem; overflow-x: auto; }
section { border-top: 1px solid #ccc; margin-top: 2rem; }
)";

/* Names and references are in attributes and never in text. */
std::string inline_svg(const std::string &file, const std::string &prefix)
{
	const std::size_t begin = file.find("<svg");
	std::string out;
	bool tag = false;

	if (begin == std::string::npos)
		return "";
	const std::string_view svg = std::string_view(file).substr(begin);

	for (std::size_t i = 0; i < svg.size(); i++) {
		out += svg[i];
		if (svg[i] == '<' || svg[i] == '>')
			tag = svg[i] == '<';
		for (const std::string_view before :
		     {" id='", " id=\"", "href='#", "href=\"#", "url(#"})
			if (tag && std::string_view(out).ends_with(before))
				out += prefix;
	}
	return out;
}

std::string with_title(std::string svg, const std::string &title)
{
	const std::string old = "<title>Gnuplot</title>";
	const std::size_t at = svg.find(old);

	if (at != std::string::npos)
		svg.replace(at, old.size(),
			    "<title>" + escaped(title) + "</title>");
	return svg;
}
} // namespace

std::string escaped(std::string_view line)
{
	std::string out;

	for (const char c : gnuplot::one_line(line))
		switch (c) {
		case '<':
			out += "&lt;";
			break;
		case '>':
			out += "&gt;";
			break;
		case '&':
			out += "&amp;";
			break;
		case '"':
			out += "&quot;";
			break;
		default:
			out += c;
		}
	return out;
}

std::string preformatted(const std::string &text)
{
	std::string out = "<pre>";
	std::size_t at = 0;

	while (at < text.size()) {
		const std::size_t end =
			std::min(text.find('\n', at), text.size());

		out += escaped(std::string_view(text).substr(at, end - at)) +
		       "\n";
		at = end + 1;
	}
	return out + "</pre>\n";
}

std::string picture(const std::string &file, const std::string &prefix,
		    const std::string &title)
{
	return "<figure>\n" + with_title(inline_svg(file, prefix), title) +
	       "</figure>\n";
}

std::string page(const std::string &title, const std::string &body)
{
	return fmt::format(
		"<!DOCTYPE html>\n"
		"<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n"
		"<head>\n<meta charset=\"utf-8\"/>\n"
		"<title>{0}</title>\n<style>{1}</style>\n</head>\n"
		"<body>\n<h1>{0}</h1>\n{2}</body>\n</html>\n",
		escaped(title), style, body);
}
} // namespace html

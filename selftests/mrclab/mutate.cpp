// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "mutate.hpp"

#include <algorithm>

namespace mrclab
{
const std::vector<std::string> yaml_words = {
	"\n",
	" ",
	"\t",
	": ",
	"- ",
	"{",
	"}",
	"[",
	"]",
	",",
	"#",
	"&a ",
	"*a",
	"!!int ",
	"|\n",
	">\n",
	"'",
	"\"",
	"? ",
	"%",
	"---\n",
	"...\n",
	"<<: ",
	"~",
	"null",
	"true",
	"-1",
	"0",
	"4096",
	"1e9",
	"0x10",
	"k",
	"mbit",
	"..",
	"*",
	"name:",
	"h1:p1",
	"host: ",
	"hosts: ",
	"links: ",
	"block4: ",
	"\xef\xbb\xbf",
	"\xff\xfe",
	"\xc3\x28",
	std::string("\0", 1),
	"\x04",
	"\x85",
	"\xe2\x80\xa8",
	"\\u0000",
	"[[[[[[[[[[[[[[[[[[[[",
};

void mutate(std::string &text, Random &r, const std::vector<std::string> &words)
{
	const std::size_t at = draw(r, 0, text.size());
	const std::size_t n = draw(r, 1, 20);

	switch (draw(r, 0, 6)) {
	case 0:
		text.insert(at, 1, static_cast<char>(draw(r, 0, 255)));
		break;
	case 1:
		text.erase(at, n);
		break;
	case 2:
		if (at < text.size())
			text[at] ^= static_cast<char>(1 << draw(r, 0, 7));
		break;
	case 3:
		text.insert(at, words[draw(r, 0, words.size() - 1)]);
		break;
	case 4:
		text.insert(at, text.substr(draw(r, 0, text.size()), n));
		break;
	case 5:
		text.replace(at, std::min(n, text.size() - at),
			     words[draw(r, 0, words.size() - 1)]);
		break;
	default:
		text.resize(at);
	}
}

int last_line(const std::string &text)
{
	return 2 + static_cast<int>(
			   std::count_if(text.begin(), text.end(), [](char c) {
				   return c == '\n' || c == '\r';
			   }));
}
} // namespace mrclab

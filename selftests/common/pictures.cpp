// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "pictures.hpp"

#include <sstream>
#include <system_error>

#include "../../userspace-tools/common/process.hpp"

namespace pictures
{
namespace
{
/* Prints what @what says of each element e, one in a line. */
std::optional<std::vector<std::string>> each(const std::string &document,
					     const std::string &what)
{
	const std::string program =
		"import sys, xml.etree.ElementTree as tree\n"
		"for e in tree.parse(sys.stdin.buffer).iter():\n"
		"    for t in " +
		what +
		":\n"
		"        sys.stdout.buffer.write((t.replace('\\n', ' ')"
		" + '\\n').encode())\n";
	const process::Ended e =
		process::run({"python3", "-c", program}, document);
	std::vector<std::string> all;
	std::istringstream in(e.out);
	std::string line;

	if (e.status != 0)
		return std::nullopt;
	while (std::getline(in, line))
		all.push_back(line);
	return all;
}
} // namespace

bool have(const std::string &program, const std::string &option)
{
	try {
		return process::run({program, option}).status == 0;
	} catch (const std::system_error &) {
		return false;
	}
}

std::optional<std::vector<std::string>> texts(const std::string &document,
					      const std::string &element)
{
	return each(document, "[''.join(e.itertext())] if e.tag.split('}')[-1]"
			      " == '" +
				      element + "' else []");
}

std::optional<std::vector<std::string>> values(const std::string &document,
					       const std::string &attribute)
{
	return each(document, "[v for k, v in e.items() if k.split('}')[-1] "
			      "== '" + attribute +
				      "']");
}
} // namespace pictures

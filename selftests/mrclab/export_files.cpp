// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "export_files.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fabric_file.hpp"

namespace mrclab
{
Fabric small_fabric()
{
	return parse_fabric(
		"name: small\n"
		"planes: 2\n"
		"t0: 2\n"
		"t1: 2\n"
		"hosts: 1\n"
		"forwarding: srv6+ecmp\n"
		"links:\n"
		"  host: {rate: 200mbit, queue: 256k, trim: 64k}\n"
		"  fabric: {rate: 100mbit, delay: 50us, "
		"mark: 30000..60000, trim: 128k, trim_len: 140}\n"
		"  p1l1:s2: {rate: 50mbit}\n"
		"profiles:\n"
		"  evs: on\n"
		"  cc: {algorithm: uet-1.0-nscc, base_rtt: 20000}\n",
		"small.yaml");
}

Fabric random_exported(Random &r)
{
	Fabric f = random_fabric(r);

	for (LinkProps *p : {&f.host_links, &f.fabric_links}) {
		p->rate = 1000000 * draw(r, 1, 1000);
		if (draw(r, 0, 1))
			p->queue = draw(r, 1, 1 << 20);
		if (draw(r, 0, 1))
			p->trim = draw(r, 1, 1 << 20);
		if (draw(r, 0, 1))
			p->trim_len = draw(r, 1, 300);
		if (draw(r, 0, 1)) {
			p->mark_min = draw(r, 0, 1 << 16);
			p->mark_max = *p->mark_min + draw(r, 1, 1 << 16);
		}
	}
	f.profiles.evs = f.srv6();
	f.profiles.cc = "uet-1.0-nscc";
	return f;
}

std::map<std::string, std::string> exported(std::string_view format,
					    const Topology &t)
{
	std::map<std::string, std::string> files;

	for (const ExportFile &f : export_fabric(format, t))
		EXPECT_TRUE(files.emplace(f.path, f.text).second) << f.path;
	return files;
}

std::vector<std::string> split_at(const std::string &text, char separator)
{
	std::istringstream in(text);
	std::vector<std::string> parts;

	for (std::string part; std::getline(in, part, separator);)
		parts.push_back(part);
	return parts;
}

std::set<std::string> prefixes_in(const Fabric &f, const std::string &text)
{
	const std::string of_addresses = "0123456789abcdef:./";
	const std::string six = fmt::format("{:x}:", f.block);
	const std::string four =
		fmt::format("{}.{}.", f.block4 >> 8, f.block4 & 0xff);
	std::set<std::string> found;
	std::size_t at = 0;

	while ((at = text.find_first_of(of_addresses, at)) !=
	       std::string::npos) {
		const std::size_t end = std::min(
			text.find_first_not_of(of_addresses, at), text.size());
		const std::string word = text.substr(at, end - at);

		/* Addresses of links have a block of their own. */
		if (word.find('/') != std::string::npos &&
		    !word.starts_with("fd00:f:") &&
		    (word.starts_with(six) || word.starts_with(four)))
			found.insert(word);
		at = end;
	}
	return found;
}
} // namespace mrclab

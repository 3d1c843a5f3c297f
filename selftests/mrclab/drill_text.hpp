/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Drills for tests, and the fabrics that they name. */
#pragma once

#include <map>
#include <string>

#include "drill_file.hpp"
#include "error.hpp"

namespace mrclab
{
/* Two hosts on each of two T0s; two planes with two T1s. */
inline const std::string plain_fabric = "name: plain\nplanes: 2\nt0: 2\nt1: 2\n"
					"hosts: 2\n";

/* The texts of files, by their names; FileError for others. */
struct Texts {
	std::map<std::string, std::string> all = {
		{"f.yaml", plain_fabric},
		{"ecmp.yaml", plain_fabric + "forwarding: ecmp\n"},
		{"both.yaml", plain_fabric + "forwarding: srv6+ecmp\n"},
	};

	std::string operator()(const std::string &file) const
	{
		const auto i = all.find(file);

		if (i == all.end())
			throw FileError(file, 0, "not there");
		return i->second;
	}
};

/* Six lines; what is tested comes behind them. */
inline const std::string plain_drill =
	"drill: d\n"
	"fabric: f.yaml\n"
	"time: 10s\n"
	"baseline: 1s..3s\n"
	"traffic:\n"
	"  w: {program: ib_write_bw, from: h1, to: h3}\n";

inline Drill drill_of(const std::string &text, const Texts &texts = {})
{
	return parse_drill(text, "d.yaml", texts);
}

inline std::string drill_error(const std::string &text, const Texts &texts = {})
{
	try {
		drill_of(text, texts);
	} catch (const FileError &e) {
		return e.what();
	}
	return "";
}
} // namespace mrclab

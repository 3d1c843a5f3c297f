/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tables of rules: a row is a request, with the errno that it gives in each state of
 * a profile. Every cell starts from a fresh profile.
 */
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "selftest.hpp"

/* Profiles that the tables use. */
constexpr uint64_t FMT = 5, EVP = 9, CCP = 3, OTHER_FMT = 6;
constexpr std::array states = {"INIT", "OFFLINE", "ONLINE"};
constexpr int I = EINVAL;

template <typename T> struct Row {
	const char *what;
	bool modify;
	std::function<void(With<T> &)> fill;
	std::array<int, 3> want; /* errno in INIT, OFFLINE, ONLINE */
};

/* A kind of profiles, and the one of them that a table uses. */
struct Kind {
	uint16_t object, modify, query; /* object and methods */
	uint64_t id;
	uint32_t (*now)(Dev &dev, uint64_t id);
	void (*drop)(Dev &dev, uint64_t id);
	int (*make)(Dev &dev, uint32_t state); /* from INIT */
};

/* Each row in each state. A refused request leaves the state alone. */
template <typename T>
void rules_table(Dev &dev, Check &c, const Kind &k,
		 const std::vector<Row<T>> &rows)
{
	for (const auto &row : rows)
		for (uint32_t s = 0; s < states.size(); s++) {
			With<T> p{};

			k.drop(dev, k.id);
			if (s)
				must(k.make(dev, s), "profile");
			p.id = k.id;
			row.fill(p);
			const std::string what =
				std::string(row.what) + " in " + states[s];
			const int err = dev.call(
				k.object, row.modify ? k.modify : k.query, p);

			c.err(err, row.want[s], what);
			if (err)
				c.eq(k.now(dev, k.id), s,
				     what + ", state afterwards");
		}
	k.drop(dev, k.id);
}

void rules_fmt(Dev &dev, Report &r);
void rules_evp(Dev &dev, Report &r);
void rules_dev(Dev &dev, Report &r);

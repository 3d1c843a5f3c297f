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

void rules_fmt(Dev &dev, Report &r);
void rules_evp(Dev &dev, Report &r);
void rules_dev(Dev &dev, Report &r);

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_verify: what every file needs.
 */
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "../common/say.hpp"

/* The device or the peer cannot run this test; exit status 77. */
struct Skip : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* Seconds since an arbitrary point in the past. */
inline double now_s()
{
	using namespace std::chrono;

	return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/*
 * How many times as long things may take: LAB_TIME, on a kernel that is slow on
 * purpose. For limits that end what stands still, not for what is measured.
 */
inline double slowness()
{
	const char *env = std::getenv("LAB_TIME");
	double factor = env ? std::strtod(env, nullptr) : 1;

	return factor >= 1 ? factor : 1;
}

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_verify: what every file needs.
 */
#pragma once

#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

/* The test found something wrong; the text ends up in the FAIL line. */
struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* The device or the peer cannot run this test; exit status 77. */
struct Skip : std::runtime_error {
	using std::runtime_error::runtime_error;
};

inline std::string vformat(const char *fmt, va_list ap)
{
	char buf[1024];

	std::vsnprintf(buf, sizeof(buf), fmt, ap);
	return buf;
}

[[gnu::format(printf, 1, 2)]] inline std::string format(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	std::string s = vformat(fmt, ap);
	va_end(ap);
	return s;
}

[[noreturn, gnu::format(printf, 1, 2)]] inline void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	std::string s = vformat(fmt, ap);
	va_end(ap);
	throw Failure(s);
}

/* One line of output, flushed: scripts wait for some of them. */
[[gnu::format(printf, 1, 2)]] inline void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	std::string s = vformat(fmt, ap);
	va_end(ap);
	std::printf("%s\n", s.c_str());
	std::fflush(stdout);
}

/* Seconds since an arbitrary point in the past. */
inline double now_s()
{
	using namespace std::chrono;

	return duration<double>(steady_clock::now().time_since_epoch()).count();
}

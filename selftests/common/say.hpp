/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Texts as printf() makes them: as strings, lines of output and failures.
 */
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

#include "failure.hpp"

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

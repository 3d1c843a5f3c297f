// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What every part of the property tests uses: formatted strings, the first
// failure of a schedule.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

#include "engine.hpp"
#include "model/rng.hpp"

namespace prop
{

using mrc_model::Rng;

__attribute__((format(printf, 1, 2))) inline std::string strf(const char *fmt,
							      ...)
{
	char buf[512];
	va_list ap;

	va_start(ap, fmt);
	std::vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	return buf;
}

// The first thing that went wrong; later ones are consequences.
class Verdict
{
public:
	void fail(const std::string &what)
	{
		if (what_.empty())
			what_ = what;
	}

	bool failed() const { return !what_.empty(); }
	const std::string &what() const { return what_; }

private:
	std::string what_;
};

} // namespace prop

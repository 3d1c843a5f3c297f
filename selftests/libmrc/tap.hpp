/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tests of libMRC's functions, with results as ../common/check.hpp prints them.
 */
#pragma once

#include <cerrno>
#include <functional>
#include <string>

#include "../common/check.hpp"

/* What is wrong in one test, with the ways of this API. */
class Check : public tap::Check
{
public:
	template <typename A, typename B>
	void eq(const A &got, const B &want, const std::string &what)
	{
		judge(got == static_cast<A>(want), [&] {
			return what + ": " + std::to_string(got) +
			       ", expected " +
			       std::to_string(static_cast<A>(want));
		});
	}

	/*
	 * The three ways in which functions of the API report errors. @want is
	 * an errno, 0 = success; errno must say the same.
	 */
	template <typename F>
	void err(int want, const std::string &what, F call)
	{
		errno = 0;
		const int got = call();

		verdict(what, got == want && (!want || errno == want), got,
			want);
	}

	template <typename F>
	void minus1(int want, const std::string &what, F call)
	{
		errno = 0;
		const int got = call();

		verdict(what, want ? got == -1 && errno == want : !got, got,
			want);
	}

	template <typename F>
	void null(int want, const std::string &what, F call)
	{
		errno = 0;
		const bool is_null = !call();

		verdict(what, is_null && errno == want, is_null ? 0 : 1, want);
	}

private:
	void verdict(const std::string &what, bool ok, int got, int want);
};

/* Runs tests; one that hangs ends the program as a failure of that test. */
class Suite
{
public:
	void run(const std::string &name,
		 const std::function<void(Check &)> &test);
	bool good() const { return report_.good(); }

private:
	tap::Report report_;
};

/* An object that cannot be freed is a failure of the test that had it. */
void teardown_failed(const char *what, int err);

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Checks and their results: each test prints a line "ok NAME" or "not ok NAME",
 * what was wrong as comments before it. Who runs the program gives them
 * numbers.
 */
#pragma once

#include <cerrno>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "failure.hpp"

/* "EINVAL/22"; "0" for success. */
std::string errno_text(int err);

/* Throws unless there is an @object, of functions that return NULL and errno.
 */
template <typename T> T *made(T *object, const char *what)
{
	if (!object)
		throw Failure(std::string("no ") + what + ": " +
			      errno_text(errno));
	return object;
}

namespace tap
{
/* Collects what is wrong in one test. */
class Check
{
public:
	void that(bool ok, const std::string &what);

	/* @got and @want are errnos, 0 is success. */
	void err(int got, int want, const std::string &what);

	void eq(const std::string &got, const std::string &want,
		const std::string &what);

	/* Numbers of any two types, compared as 64 bits. */
	template <std::convertible_to<uint64_t> A,
		  std::convertible_to<uint64_t> B>
	void eq(A got, B want, const std::string &what)
	{
		judge(static_cast<uint64_t>(got) == static_cast<uint64_t>(want),
		      [&] {
			      return what + ": " + std::to_string(got) +
				     ", expected " + std::to_string(want);
		      });
	}

	/* Runs a part of the test; an exception is a failure as well. */
	void attempt(const std::function<void()> &part);

	bool good() const { return wrong_.empty(); }
	unsigned done() const { return done_; }
	const std::vector<std::string> &wrong() const { return wrong_; }

protected:
	/* @text says what is wrong, if anything is. */
	template <typename Text> void judge(bool ok, Text text)
	{
		done_++;
		if (!ok)
			wrong_.push_back(text());
	}

private:
	std::vector<std::string> wrong_;
	unsigned done_ = 0;
};

class Report
{
public:
	enum Style {
		plain,
		counted, /* says how much was looked at */
	};

	explicit Report(Style style = plain) : style_(style) {}

	/* Runs @test and prints its result. */
	void run(const std::string &name,
		 const std::function<void(Check &)> &test);

	/* Prints the result of a test that is over. */
	void result(const std::string &name, const Check &c);

	bool good() const { return !bad_; }

private:
	const Style style_;
	unsigned bad_ = 0;
};
} // namespace tap

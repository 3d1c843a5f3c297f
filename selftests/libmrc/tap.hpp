/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Results as lines "ok NAME" and "not ok NAME", with what was wrong as comments
 * before them. Who runs the program gives them numbers.
 */
#pragma once

#include <cerrno>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

/* What a test cannot go on without. */
class Failure : public std::runtime_error
{
public:
	using std::runtime_error::runtime_error;
};

std::string errno_text(int err);

/* Collects what is wrong in one test. */
class Check
{
public:
	void that(bool ok, const std::string &what);

	template <typename A, typename B>
	void eq(const A &got, const B &want, const std::string &what)
	{
		if (!(got == static_cast<A>(want)))
			wrong(what + ": " + std::to_string(got) +
			      ", expected " +
			      std::to_string(static_cast<A>(want)));
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

	const std::vector<std::string> &all_wrong() const { return wrong_; }

private:
	void wrong(const std::string &what) { wrong_.push_back(what); }
	void verdict(const std::string &what, bool ok, int got, int want);

	std::vector<std::string> wrong_;
};

/* Runs tests; one that hangs ends the program as a failure of that test. */
class Suite
{
public:
	void run(const std::string &name,
		 const std::function<void(Check &)> &test);
	bool good() const { return !bad_; }

private:
	unsigned bad_ = 0;
};

/* An object that cannot be freed is a failure of the test that had it. */
void teardown_failed(const char *what, int err);

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Checks and their results: each test prints a line "ok NAME" or "not ok NAME",
 * what was wrong before it, and how much was looked at.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

/* What makes it pointless to go on. */
struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* Collects what is wrong in one test. */
class Check
{
public:
	/* @got and @want are errnos, 0 is success. */
	void err(int got, int want, const std::string &what);
	void eq(int64_t got, int64_t want, const std::string &what);
	void eq(const std::string &got, const std::string &want,
		const std::string &what);
	void that(bool ok, const std::string &what);

	bool good() const { return wrong_.empty(); }
	unsigned done() const { return done_; }
	const std::vector<std::string> &wrong() const { return wrong_; }

private:
	std::vector<std::string> wrong_;
	unsigned done_ = 0;
};

/* Runs @fn and prints its line; an exception is a failure as well. */
class Report
{
public:
	void run(const std::string &name,
		 const std::function<void(Check &)> &fn);
	bool good() const { return !bad_; }

private:
	unsigned bad_ = 0;
};

std::string errno_text(int err);

/* Throws unless @err is 0: for what a test builds on. */
void must(int err, const std::string &what);

/* The same of what returns an object, or NULL and errno. */
template <typename T> T *made(T *object, const char *what)
{
	if (!object)
		throw Failure(std::string("no ") + what + ": " +
			      errno_text(errno));
	return object;
}

/* What functions say that return 0, or -1 and errno, as one number. */
int failed(int ret);

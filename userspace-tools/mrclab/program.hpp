/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: a program that runs beside mrclab. */
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "process.hpp"

namespace mrclab
{
class Program
{
public:
	/*
	 * Its output goes to the file @name.log, what it says of errors to
	 * @name.err. In one file, lines of the one could be in the middle of a
	 * line of the other. Throws SystemError.
	 */
	Program(const Words &command, const std::string &name);
	/* Kills it, and the programs of its process group. */
	~Program();
	Program(const Program &) = delete;
	Program &operator=(const Program &) = delete;

	/* Its exit status, see Ended, or nothing while it runs. */
	std::optional<int> status();
	/* Waits for its end. False after @most. Throws Interrupted. */
	bool wait(std::chrono::nanoseconds most);
	void signal(int number) const;

	pid_t pid() const { return pid_; }

	/* The last lines of its output and of its errors. */
	std::string last_words() const;
	/* Up to @most bytes of the end of its output. */
	std::string output(std::size_t most) const;

private:
	std::string log_, errors_;
	pid_t pid_ = -1;
	std::optional<int> status_;
};
} // namespace mrclab

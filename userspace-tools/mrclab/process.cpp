// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "process.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "error.hpp"

namespace mrclab
{
namespace
{
/* The command that failed, by "Command failed -:7" of iproute2. */
std::string failed_line(const std::string &err, const std::string &lines)
{
	const std::string mark = "Command failed -:";
	const std::size_t at = err.find(mark);
	std::size_t begin = 0;
	int n = 0;

	if (at == std::string::npos)
		return "";
	std::from_chars(err.data() + at + mark.size(), err.data() + err.size(),
			n);
	for (; n > 1 && begin < lines.size(); n--)
		begin = std::min(lines.find('\n', begin), lines.size()) + 1;
	if (begin >= lines.size())
		return "";
	return lines.substr(begin, lines.find('\n', begin) - begin);
}
} // namespace

pid_t spawn(const Words &command, int in, int out, int err)
{
	try {
		return process::spawn(command, in, out, err);
	} catch (const std::system_error &e) {
		throw SystemError(e.what());
	}
}

Ended run(const Words &command, const std::string &input)
{
	try {
		return process::run(command, input);
	} catch (const std::system_error &e) {
		throw SystemError(e.what());
	}
}

void run_batch(const Words &command, const std::string &lines)
{
	if (lines.empty())
		return;
	const Ended e = run(command, lines);

	if (e.status == 0)
		return;
	const std::string line = failed_line(e.err, lines);

	throw SystemError(fmt::format(
		"{}{}: {}", fmt::join(command, " "),
		line.empty() ? "" : ": \"" + line + "\"",
		e.err.empty() ? fmt::format("ended with status {}", e.status)
			      : process::trimmed(e.err)));
}

void run_batches(const std::vector<Batch> &batches)
{
	const std::size_t workers = std::min<std::size_t>(
		std::max(1u, std::thread::hardware_concurrency()),
		batches.size());
	std::vector<std::thread> threads;
	std::atomic<std::size_t> next{0};
	std::exception_ptr failure;
	std::mutex lock;

	const auto work = [&] {
		for (std::size_t i = next++; i < batches.size(); i = next++) {
			try {
				run_batch(batches[i].command, batches[i].lines);
			} catch (...) {
				const std::lock_guard guard(lock);

				if (!failure)
					failure = std::current_exception();
				next = batches.size();
			}
		}
	};

	/* Where no thread can be started, fewer do the work. */
	try {
		for (std::size_t i = 1; i < workers; i++)
			threads.emplace_back(work);
	} catch (const std::system_error &) {
	}
	work();
	for (std::thread &t : threads)
		t.join();
	if (failure)
		std::rethrow_exception(failure);
}

void become(const Words &command)
{
	try {
		process::become(command);
	} catch (const std::system_error &e) {
		throw SystemError(e.what());
	}
}
} // namespace mrclab

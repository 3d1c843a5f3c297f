// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "ending.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "error.hpp"

namespace mrclab
{
namespace
{
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/* Time for processes to end after SIGTERM, and after SIGKILL. */
constexpr auto term_time = std::chrono::seconds(3);
constexpr auto kill_time = std::chrono::seconds(30);
/* Between two looks for processes that have come meanwhile. */
constexpr int look_ms = 200;

uint64_t netns_of_process(const std::string &pid)
{
	struct stat st;

	return stat(("/proc/" + pid + "/ns/net").c_str(), &st) == 0 ? st.st_ino
								    : 0;
}

std::vector<pid_t> find(const std::set<uint64_t> &inodes)
{
	std::vector<pid_t> found;
	std::error_code none;

	/* Processes that end meanwhile are errors to be ignored. */
	for (fs::directory_iterator p("/proc", none), last; p != last;
	     p.increment(none)) {
		const std::string name = p->path().filename();
		pid_t pid = 0;
		const auto r = std::from_chars(name.data(),
					       name.data() + name.size(), pid);

		if (r.ec == std::errc() && r.ptr == name.data() + name.size() &&
		    inodes.contains(netns_of_process(name)))
			found.push_back(pid);
	}
	return found;
}

/*
 * Signals a process if it is still the one that was found: its number can be
 * another process's by now. Returns a descriptor to wait for its end, or -1.
 */
int signal_one(pid_t pid, int signal, const std::set<uint64_t> &inodes)
{
	const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));

	if (fd < 0) {
		if (errno == ESRCH)
			return -1;
		throw SystemError(fmt::format("process {}", pid), errno);
	}
	if (!inodes.contains(netns_of_process(std::to_string(pid))) ||
	    syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Waits for the ends of processes, for a moment. A few at a time do. */
void wait_a_moment(const std::vector<pid_t> &pids, int signal,
		   const std::set<uint64_t> &inodes)
{
	constexpr std::size_t at_a_time = 64;

	for (std::size_t i = 0; i < pids.size(); i += at_a_time) {
		std::vector<pollfd> waiting;
		const std::size_t end = std::min(pids.size(), i + at_a_time);

		for (std::size_t n = i; n < end; n++) {
			const int fd = signal_one(pids[n], signal, inodes);

			if (fd >= 0)
				waiting.push_back({fd, POLLIN, 0});
		}
		if (!waiting.empty())
			poll(waiting.data(), waiting.size(), look_ms);
		for (const pollfd &p : waiting)
			close(p.fd);
	}
}

/* Returns those that are left. */
std::vector<pid_t> end_by(int signal, std::chrono::seconds time,
			  const std::set<uint64_t> &inodes)
{
	const auto end = Clock::now() + time;
	std::vector<pid_t> left = find(inodes);

	while (!left.empty() && Clock::now() < end) {
		wait_a_moment(left, signal, inodes);
		left = find(inodes);
	}
	return left;
}
} // namespace

void end_processes(const std::set<uint64_t> &inodes)
{
	if (inodes.empty())
		return;
	if (inodes.contains(netns_of_process("self")))
		throw UsageError("mrclab runs in the fabric itself; leave its "
				 "shell first");
	if (end_by(SIGTERM, term_time, inodes).empty())
		return;

	const std::vector<pid_t> left = end_by(SIGKILL, kill_time, inodes);

	if (!left.empty())
		throw SystemError(
			fmt::format("processes of the fabric do not end: {}",
				    fmt::join(left, ", ")));
}
} // namespace mrclab

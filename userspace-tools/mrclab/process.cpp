// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "process.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "error.hpp"

namespace mrclab
{
namespace
{
/* Owns a file descriptor. */
class Fd
{
public:
	explicit Fd(int fd = -1) : fd_(fd) {}
	~Fd() { close(); }
	Fd(const Fd &) = delete;
	Fd &operator=(const Fd &) = delete;

	int get() const { return fd_; }
	bool open() const { return fd_ >= 0; }
	void set(int fd)
	{
		close();
		fd_ = fd;
	}
	void close()
	{
		if (fd_ >= 0)
			::close(fd_);
		fd_ = -1;
	}

private:
	int fd_;
};

struct Pipe {
	Fd read, write;

	Pipe()
	{
		int fds[2];

		if (pipe2(fds, O_CLOEXEC) != 0)
			throw SystemError("pipe", errno);
		read.set(fds[0]);
		write.set(fds[1]);
	}
};

std::vector<char *> argv_of(const Words &command)
{
	std::vector<char *> argv;

	for (const std::string &w : command)
		argv.push_back(const_cast<char *>(w.c_str()));
	argv.push_back(nullptr);
	return argv;
}

/* Root's PATH may lack the directories in which ip and tc are. */
void complete_path()
{
	static std::once_flag once;

	std::call_once(once, [] {
		const char *path = getenv("PATH");

		setenv("PATH",
		       ((path ? std::string(path) + ":" : std::string()) +
			"/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
			       .c_str(),
		       1);
	});
}

pid_t spawn(const Words &command, const Pipe &in, const Pipe &out,
	    const Pipe &err)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, usual;
	pid_t pid = 0;
	int rc = 0;

	complete_path();
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in.read.get(), 0);
	posix_spawn_file_actions_adddup2(&files, out.write.get(), 1);
	posix_spawn_file_actions_adddup2(&files, err.write.get(), 2);
	/*
	 * A group of its own: an interrupt from the terminal goes to mrclab
	 * alone, which ends between two programs. The signals that mrclab
	 * blocks or ignores are neither blocked nor ignored in the program.
	 */
	sigemptyset(&none);
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP |
						POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &usual);
	rc = posix_spawnp(&pid, command[0].c_str(), &files, &attr,
			  argv_of(command).data(), environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	if (rc != 0)
		throw SystemError("cannot run " + command[0], rc);
	return pid;
}

/* Reads what there is; closes at the end of the file. */
void drain(Fd &from, std::string &to)
{
	char buffer[4096];
	const ssize_t n = read(from.get(), buffer, sizeof(buffer));

	if (n > 0)
		to.append(buffer, static_cast<std::size_t>(n));
	else if (n == 0 || errno != EINTR)
		from.close();
}

void feed(Fd &to, std::string_view &rest)
{
	const ssize_t n = write(to.get(), rest.data(), rest.size());

	if (n > 0)
		rest.remove_prefix(static_cast<std::size_t>(n));
	/* A program that ends early says why itself. */
	else if (n < 0 && errno != EINTR && errno != EAGAIN)
		rest = {};
	if (rest.empty())
		to.close();
}

std::string trimmed(const std::string &s)
{
	const std::size_t end = s.find_last_not_of(" \n\t");

	return end == std::string::npos ? "" : s.substr(0, end + 1);
}

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

Ended run(const Words &command, const std::string &input)
{
	Pipe in, out, err;
	Ended e;
	std::string_view rest = input;
	int status = 0;
	const pid_t pid = spawn(command, in, out, err);

	in.read.close();
	out.write.close();
	err.write.close();
	fcntl(in.write.get(), F_SETFL, O_NONBLOCK);
	if (rest.empty())
		in.write.close();
	while (out.read.open() || err.read.open()) {
		/* poll() ignores descriptors of -1. */
		pollfd fds[] = {{out.read.get(), POLLIN, 0},
				{err.read.get(), POLLIN, 0},
				{in.write.get(), POLLOUT, 0}};

		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			throw SystemError("poll", errno);
		if (fds[0].revents)
			drain(out.read, e.out);
		if (fds[1].revents)
			drain(err.read, e.err);
		if (fds[2].revents)
			feed(in.write, rest);
	}
	in.write.close();
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			throw SystemError("waitpid", errno);
	e.status = WIFEXITED(status) ? WEXITSTATUS(status)
				     : 128 + WTERMSIG(status);
	return e;
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
			      : trimmed(e.err)));
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
	sigset_t none;

	complete_path();
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, nullptr);
	signal(SIGPIPE, SIG_DFL);
	execvp(command[0].c_str(), argv_of(command).data());
	throw SystemError("cannot run " + command[0], errno);
}
} // namespace mrclab

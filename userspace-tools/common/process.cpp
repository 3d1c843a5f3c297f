// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "process.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fd.hpp"

namespace process
{
namespace
{
using fd::Fd;

[[noreturn]] void throw_errno(const std::string &what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

struct Pipe {
	Fd read, write;

	Pipe()
	{
		int fds[2];

		if (pipe2(fds, O_CLOEXEC) != 0)
			throw_errno("pipe");
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

/*
 * While it lives, a program that ends before it has read its input is an error
 * of write() and no signal to this thread.
 */
class NoSigpipe
{
public:
	NoSigpipe()
	{
		sigset_t pending;

		sigemptyset(&set_);
		sigaddset(&set_, SIGPIPE);
		sigpending(&pending);
		was_pending_ = sigismember(&pending, SIGPIPE) == 1;
		pthread_sigmask(SIG_BLOCK, &set_, &before_);
	}
	~NoSigpipe()
	{
		const timespec now{};

		/* The signal that write() has left here. */
		if (!was_pending_)
			sigtimedwait(&set_, nullptr, &now);
		pthread_sigmask(SIG_SETMASK, &before_, nullptr);
	}
	NoSigpipe(const NoSigpipe &) = delete;
	NoSigpipe &operator=(const NoSigpipe &) = delete;

private:
	sigset_t set_, before_;
	bool was_pending_ = false;
};
} // namespace

pid_t spawn(const Words &command, int in, int out, int err)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, usual;
	pid_t pid = 0;
	int rc = 0;

	complete_path();
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in, 0);
	posix_spawn_file_actions_adddup2(&files, out, 1);
	posix_spawn_file_actions_adddup2(&files, err, 2);
	/*
	 * A group of its own: an interrupt from the terminal goes to this
	 * process alone, which ends between two programs. The signals that it
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
		throw std::system_error(rc, std::generic_category(),
					"cannot run " + command[0]);
	return pid;
}

int exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Ended run(const Words &command, const std::string &input)
{
	Pipe in, out, err;
	Ended e;
	const NoSigpipe quiet;
	std::string_view rest = input;
	int status = 0;
	const pid_t pid =
		spawn(command, in.read.get(), out.write.get(), err.write.get());

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
			throw_errno("poll");
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
			throw_errno("waitpid");
	e.status = exit_status(status);
	return e;
}

void become(const Words &command)
{
	sigset_t none;

	complete_path();
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, nullptr);
	signal(SIGPIPE, SIG_DFL);
	execvp(command[0].c_str(), argv_of(command).data());
	throw_errno("cannot run " + command[0]);
}

std::string trimmed(const std::string &s)
{
	const std::size_t end = s.find_last_not_of(" \n\t");

	return end == std::string::npos ? "" : s.substr(0, end + 1);
}
} // namespace process

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "program.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <deque>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.hpp"
#include "interrupt.hpp"

namespace mrclab
{
namespace
{
constexpr std::size_t last_lines = 3;
constexpr std::size_t max_line = 200;

/* A file of a program. Owns the descriptor. */
class Descriptor
{
public:
	Descriptor(const std::string &file, int flags)
		: fd_(open(file.c_str(), flags | O_CLOEXEC, 0644))
	{
		if (fd_ < 0)
			throw SystemError(file, errno);
	}
	Descriptor(const Descriptor &) = delete;
	Descriptor &operator=(const Descriptor &) = delete;
	~Descriptor() { close(fd_); }

	int fd() const { return fd_; }

private:
	int fd_;
};

void add_lines(const std::string &file, std::deque<std::string> &last)
{
	std::ifstream in(file);
	std::string line;

	while (std::getline(in, line)) {
		if (line.find_first_not_of(" \t-") == std::string::npos)
			continue;
		last.push_back(line.substr(0, max_line));
		if (last.size() > last_lines)
			last.pop_front();
	}
}
} // namespace

Program::Program(const Words &command, const std::string &name)
	: log_(name + ".log"), errors_(name + ".err")
{
	constexpr int anew = O_WRONLY | O_CREAT | O_TRUNC;
	const Descriptor in("/dev/null", O_RDONLY), out(log_, anew),
		err(errors_, anew);

	pid_ = spawn(command, in.fd(), out.fd(), err.fd());
}

Program::~Program()
{
	int status = 0;

	kill(-pid_, SIGKILL);
	if (!status_)
		while (waitpid(pid_, &status, 0) < 0 && errno == EINTR)
			;

	struct stat st {
	};

	if (!stat(errors_.c_str(), &st) && st.st_size == 0)
		unlink(errors_.c_str());
}

std::optional<int> Program::status()
{
	int status = 0;

	if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_)
		status_ = exit_status(status);
	return status_;
}

bool Program::wait(std::chrono::nanoseconds most)
{
	const auto end = std::chrono::steady_clock::now() + most;

	while (!status()) {
		if (std::chrono::steady_clock::now() >= end)
			return false;
		sleep_or_interrupt(poll_interval);
	}
	return true;
}

void Program::signal(int number) const
{
	if (!status_)
		kill(pid_, number);
}

std::string Program::output(std::size_t most) const
{
	std::ifstream in(log_, std::ios::ate | std::ios::binary);
	const std::streamoff size = std::max<std::streamoff>(in.tellg(), 0);
	std::string all(std::min(static_cast<std::size_t>(size), most), '\0');

	in.seekg(size - static_cast<std::streamoff>(all.size()));
	in.read(all.data(), static_cast<std::streamsize>(all.size()));
	all.resize(static_cast<std::size_t>(
		std::max<std::streamsize>(in.gcount(), 0)));
	return all;
}

std::string Program::last_words() const
{
	std::deque<std::string> last;
	std::string all;

	add_lines(log_, last);
	add_lines(errors_, last);
	for (const std::string &l : last)
		all += (all.empty() ? "" : "; ") + l;
	return all;
}
} // namespace mrclab

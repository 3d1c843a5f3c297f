// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "follow.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

#include "error.hpp"

namespace mrcmap
{
namespace
{
/* Of one file in one turn. */
constexpr std::size_t at_once = 1 << 20;

/* Most lines are long, and need not be read twice. */
bool is_hello(const std::string &line)
{
	return line.size() < 4096 && line.find("hello") != std::string::npos &&
	       std::holds_alternative<Hello>(parse_line(line));
}
} // namespace

Follower::Follower(std::string file)
	: file_(std::move(file)),
	  /* So that a FIFO can be opened before it has a writer. */
	  fd_(open(file_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC))
{
	struct stat st {
	};

	if (!fd_.open() || fstat(fd_.get(), &st) != 0)
		throw mrclab::SystemError(file_, errno);
	fifo_ = S_ISFIFO(st.st_mode);
	old_ = !fifo_;
}

void Follower::check_truncated()
{
	struct stat st {
	};

	if (fstat(fd_.get(), &st) != 0 || st.st_size >= at_)
		return;
	at_ = lseek(fd_.get(), 0, SEEK_SET);
	in_ = LineReader();
}

void Follower::lines(const OnLine &on_line)
{
	while (const std::optional<std::string> line = in_.next()) {
		const bool hello = is_hello(*line);

		if (hello || !old_)
			on_line(*line, hello);
	}
}

void Follower::turn(const OnLine &on_line)
{
	char room[64 << 10];

	if (!fifo_)
		check_truncated();
	for (std::size_t got = 0; got < at_once;) {
		const ssize_t n = read(fd_.get(), room, sizeof(room));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			throw mrclab::SystemError(file_, errno);
		if (n <= 0) {
			old_ = false;
			return;
		}
		got += static_cast<std::size_t>(n);
		at_ += n;
		in_.feed({room, static_cast<std::size_t>(n)});
		lines(on_line);
	}
}
} // namespace mrcmap

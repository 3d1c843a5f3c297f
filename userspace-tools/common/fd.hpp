/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Owns a file descriptor. Shared by the tools. */
#pragma once

#include <utility>

#include <unistd.h>

namespace fd
{
class Fd
{
public:
	explicit Fd(int n = -1) : fd_(n) {}
	~Fd() { close(); }
	Fd(const Fd &) = delete;
	Fd &operator=(const Fd &) = delete;
	Fd(Fd &&o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
	Fd &operator=(Fd &&o) noexcept
	{
		if (this != &o)
			set(std::exchange(o.fd_, -1));
		return *this;
	}

	int get() const { return fd_; }
	bool open() const { return fd_ >= 0; }
	void set(int n)
	{
		close();
		fd_ = n;
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
} // namespace fd

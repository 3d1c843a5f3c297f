/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: follows the file or FIFO to which an agent writes, for hosts that
 * have no other way to the collector. Of what is in a file already only the
 * hello is taken: reports are of now.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "../common/fd.hpp"
#include "report.hpp"

namespace mrcmap
{
class Follower
{
public:
	/* Throws mrclab::SystemError. */
	explicit Follower(std::string file);

	/* @hello: it is one; agents that start again append another one. */
	using OnLine = std::function<void(std::string_view, bool hello)>;
	/* What is new. Throws mrclab::SystemError and ReportError. */
	void turn(const OnLine &on_line);
	const std::string &file() const { return file_; }

private:
	void check_truncated();
	void lines(const OnLine &on_line);

	std::string file_;
	fd::Fd fd_;
	bool fifo_ = false;
	bool old_ = true; /* what was there before */
	LineReader in_;
	int64_t at_ = 0;
};
} // namespace mrcmap

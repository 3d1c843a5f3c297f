/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl serve: the file that "mrcmap collector" keeps with its state. */
#pragma once

#include <memory>
#include <mutex>

#include "commands.hpp"
#include "host.hpp"

namespace mrcctl
{
/*
 * Reads the file when somebody asks, at most once in an interval, and parses it
 * if it has changed. For any thread.
 */
class HealthFile
{
public:
	/* @path may be empty: there is no such file. */
	HealthFile(Host &host, Clock &clock, std::string path,
		   uint64_t interval_ns)
		: host_(host), clock_(clock), path_(std::move(path)),
		  interval_ns_(interval_ns)
	{
	}

	/* An object with "file", "error" and "health", as text. */
	std::shared_ptr<const std::string> json();

private:
	Host &host_;
	Clock &clock_;
	const std::string path_;
	const uint64_t interval_ns_;

	std::mutex lock_;
	/* Under lock_: */
	uint64_t read_ns_ = 0;
	Host::File last_;
	std::shared_ptr<const std::string> json_;
};
} // namespace mrcctl

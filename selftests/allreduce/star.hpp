/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_allreduce: what the ranks tell each other over TCP, all of them through
 * rank 0.
 */
#pragma once

#include <string>
#include <vector>

#include "common.hpp"

class Star
{
public:
	explicit Star(const Options &o);
	Star(const Star &) = delete;
	Star &operator=(const Star &) = delete;
	~Star();

	/* Everybody gives a text, and gets those of all in order of rank. */
	std::vector<std::string> gather(const std::string &mine);
	/* All ranks have come this far. */
	void barrier(const std::string &where);

private:
	void accept_all();
	void connect_root();

	const Options &o_;
	std::vector<int> fds_; /* rank 0: by rank; others: only [0] */
};

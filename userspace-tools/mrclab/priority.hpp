/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: who comes first where mrclab and its programs share a processor. */
#pragma once

#include <sys/types.h>

namespace mrclab
{
/*
 * As long as it exists, mrclab and the commands that it runs come before the
 * programs of a drill, so that faults and samples are in time although programs
 * poll. Does nothing without the right to do so.
 */
class Ahead
{
public:
	Ahead();
	~Ahead();
	Ahead(const Ahead &) = delete;
	Ahead &operator=(const Ahead &) = delete;

	/* Gives a child the priority that mrclab had before. */
	void leave(pid_t child) const;

private:
	int before_;
};
} // namespace mrclab

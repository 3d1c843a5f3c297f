/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: makes fabrics, changes them, removes them. */
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fault.hpp"
#include "state.hpp"
#include "topology.hpp"

namespace mrclab
{
/* Is told what is being done. */
using Progress = std::function<void(const std::string &step)>;

/*
 * Makes the fabric of @text, which is that of @file. Throws before anything
 * is made if a name that it needs is taken; removes what it has made if it
 * cannot go on.
 */
void up(const std::string &file, const std::string &text,
	const Progress &progress);

/* Ends the processes of a fabric and removes what its record has. */
void down(const std::string &name, const Progress &progress);

/* A fabric that is up. */
struct Up {
	State state;
	Topology topology;
	Faults faults;
};
/* Throws UsageError for a fabric that was left half-made. */
Up find_up(const std::string &name);
/* The name, or that of the only fabric there is if it is empty. */
std::string one_name(const std::string &name);

/*
 * Changes what is wrong, by words as in fault.hpp, several at a time. Nothing
 * has changed if it throws UsageError. @places are for its message.
 */
void change_faults(const std::string &name,
		   const std::vector<std::vector<std::string>> &words,
		   const std::vector<std::string> &places = {});
} // namespace mrclab

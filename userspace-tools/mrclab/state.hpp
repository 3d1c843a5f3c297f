/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrclab: the record of what belongs to a fabric, in /run/mrclab/NAME. It is
 * written before something is made, so that "down" finds all of it even if
 * mrclab was killed half-way.
 */
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mrclab
{
struct State {
	std::string name;
	std::string file; /* and its contents: */
	std::string text;
	bool complete = false;
	/* Faults are being changed, or could not be changed as a whole. */
	bool dirty = false;
	/* Names and cookies; 0: not made yet. */
	std::map<std::string, uint64_t> netns;
	/* RDMA devices, and the network namespaces of their netdevs. */
	std::map<std::string, std::string> devices;
	std::vector<std::vector<std::string>> faults; /* see fault.hpp */
};

/*
 * Held while a fabric is made, changed or removed. Says so if it must wait.
 * Programs that mrclab runs inherit it: if mrclab is killed, the next one waits
 * until they have ended.
 */
class Lock
{
public:
	Lock();
	~Lock();
	Lock(const Lock &) = delete;
	Lock &operator=(const Lock &) = delete;

private:
	int fd_;
};

/* Does another mrclab make, change or remove a fabric at the moment? */
bool is_locked();

std::vector<std::string> fabric_names();
bool has_state(const std::string &name);
/* These throw UsageError if there is no such fabric, SystemError otherwise. */
State load_state(const std::string &name);
void save_state(const State &state);
void remove_state(const std::string &name);
} // namespace mrclab

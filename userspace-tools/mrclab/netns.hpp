/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: network namespaces, by the names that ip-netns(8) gives them. */
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mrclab
{
struct NewNetns {
	std::string name;
	/* Files below /proc/sys/net and their contents. */
	std::vector<std::pair<std::string, std::string>> sysctls;
};

/*
 * Names and cookies of namespaces. The kernel gives a cookie once in a boot;
 * inode numbers are used again.
 */
using Cookies = std::map<std::string, uint64_t>;

/* Is there a file of this name where ip-netns(8) keeps namespaces? */
bool netns_exists(const std::string &name);

/* The cookie of a namespace; 0 if there is none of this name. */
uint64_t netns_cookie(const std::string &name);

/* The inode, which identifies it while it lives; 0 if there is none. */
uint64_t netns_inode(const std::string &name);

/*
 * Makes namespaces. @made is called with their cookies before they get their
 * names, so that the record is written first. Throws SystemError; what was
 * made before stays.
 */
void make_netns(const std::vector<NewNetns> &all,
		const std::function<void(const Cookies &)> &made);

/*
 * Removes the empty file that is left of a name if the process that made or
 * removed the namespace was killed. Does nothing to any other file.
 */
void remove_empty_name(const std::string &name);

/*
 * Throws SystemError if the calling process has mounts of its own: names that
 * it makes are not seen by others.
 */
void check_mounts();

/* Calls @work in a thread of its own in the namespace. Passes on exceptions. */
void in_netns(const std::string &name, const std::function<void()> &work);

/*
 * The same with a /sys of that namespace: one of RDMA devices that are in it
 * alone, see rdma-system(8).
 */
void in_sysfs_of(const std::string &name, const std::function<void()> &work);

/* In the calling thread's namespace: is the netdev up, with a carrier? */
bool has_carrier(const std::string &netdev);
} // namespace mrclab

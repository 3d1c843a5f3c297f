/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcbench: kernel memory of idle queue pairs. Three kinds are counted separately,
 * because they answer different questions:
 *
 *  - rings: the program chooses their depth, so they say nothing about a driver;
 *  - index trees and mappings of every object and every mapped ring: nodes of the
 *    core's tables, and the areas of the kernel's and the program's address space.
 *    No driver allocates them;
 *  - all the rest: the driver's state, and the objects that the core and memory
 *    management keep for a queue pair and its rings. Nothing else is subtracted.
 */
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace mrcbench
{
/*
 * Bytes at one moment. Each object has an equal share of the used memory of its
 * cache, including padding between objects. Room for objects that were freed or
 * do not exist yet is not counted, because its size depends on earlier
 * activity.
 */
struct KernelMemory {
	uint64_t slab = 0; /* objects, and allocations too large for caches */
	uint64_t percpu = 0;
	uint64_t vmalloc = 0;
	uint64_t around = 0; /* part of @slab: index trees and mappings */
};

/*
 * @meminfo and @slabinfo are the texts of the files in /proc; @page is the page
 * size in bytes. Throws std::runtime_error if the format is wrong.
 */
KernelMemory parse_kernel_memory(const std::string &meminfo,
				 const std::string &slabinfo, uint64_t page);

/*
 * Whether the kernel freed no more memory between two measurements. Deleted
 * namespaces are taken down for a while after their deletion.
 */
bool at_rest(const KernelMemory &before, const KernelMemory &now);

/*
 * The present state, after freeing what can be freed: pages of caches without
 * an object, unused names and attributes of files, objects deleted earlier.
 * Throws RunError without the necessary privileges, and if the kernel keeps
 * freeing memory for 25 seconds.
 */
KernelMemory kernel_memory();

/*
 * Bytes of the queues that a process has mapped. @maps is the text of
 * /proc/PID/maps.
 */
uint64_t mapped_rings(const std::string &maps);

/*
 * The memory of each of @qps queue pairs: qp_memory, qp_around and qp_rings.
 * @rings: bytes of all mapped rings. Drivers keep rings in vmalloc memory, or
 * in pages that no figure of the kernel shows: of the growth of vmalloc memory
 * only the part beyond @rings counts.
 */
std::map<std::string, double> memory_figures(const KernelMemory &from,
					     const KernelMemory &to,
					     uint64_t rings, double qps);
} // namespace mrcbench

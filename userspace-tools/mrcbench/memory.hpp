/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcbench: what idle queue pairs take of the kernel's memory. Three things are
 * told apart, because they answer different questions:
 *
 *  - rings are as deep as the program wants, and say nothing about a driver;
 *  - index trees and mappings hang on every object and every mapped ring: nodes
 *    of the core's tables, the areas of the kernel's and the program's address
 *    space. No driver allocates them;
 *  - all the rest: the driver's state, and the objects that the core and memory
 *    management keep for a queue pair and its rings. Nothing else is taken off.
 */
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace mrcbench
{
/*
 * At one moment, bytes. Of a cache's memory each object has an equal share, with
 * what is lost between objects; room for objects that do not exist yet, or any more,
 * is nobody's: how much of it there is depends on what went before.
 */
struct KernelMemory {
	uint64_t slab = 0; /* objects, and what is too large for caches */
	uint64_t percpu = 0;
	uint64_t vmalloc = 0;
	uint64_t around = 0; /* of @slab: index trees and mappings */
};

/*
 * @meminfo and @slabinfo are the texts of the files in /proc; a page has @page
 * bytes. Throws std::runtime_error if they are not what the kernel writes.
 */
KernelMemory parse_kernel_memory(const std::string &meminfo,
				 const std::string &slabinfo, uint64_t page);

/*
 * Whether the kernel has stopped giving back memory between two looks: namespaces that
 * were deleted are taken down for a while after that.
 */
bool at_rest(const KernelMemory &before, const KernelMemory &now);

/*
 * Now, when what can be given back has been: pages of caches without an object,
 * names and attributes of files that nobody uses, what was deleted before. Throws
 * RunError without the right to read or to ask for that, and when the kernel goes on
 * giving back memory for two minutes.
 */
KernelMemory kernel_memory();

/*
 * Bytes of the queues that a process has mapped. @maps is the text of
 * /proc/PID/maps.
 */
uint64_t mapped_rings(const std::string &maps);

/*
 * What each of @qps queue pairs has taken: qp_memory, qp_around and qp_rings.
 * @rings: bytes that are mapped, of all of them. Drivers have rings in vmalloc
 * memory, or in pages that no figure of the kernel shows: of the growth of vmalloc
 * memory only what is beyond @rings counts.
 */
std::map<std::string, double> memory_figures(const KernelMemory &from,
					     const KernelMemory &to,
					     uint64_t rings, double qps);
} // namespace mrcbench

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "memory.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <unistd.h>

#include "cpu.hpp"
#include "error.hpp"

namespace mrcbench
{
namespace
{
using mrcperf::RunError;

/*
 * Caches with an object for each entry of a table and for each mapping. If the
 * kernel merges caches, some of these have another name. Then they count as the
 * driver's memory, which only makes its figure worse.
 */
constexpr std::array around_caches{
	"radix_tree_node", "maple_node",     "vm_area_struct", "vma_lock",
	"vmap_area",	   "anon_vma_chain", "anon_vma",
};

/*
 * Caches of inodes, which belong to no queue pair. This program's own reading and writing of
 * /proc and /sys fills and empties them by a slab each time, which would look as if memory
 * never came to rest.
 */
bool has_inodes(const std::string &cache)
{
	return cache.ends_with("inode_cache");
}

/* Objects freed under RCU are free after one or two grace periods. */
constexpr auto grace = std::chrono::milliseconds(200);

/*
 * Memory is stable when looks_at_rest measurements in a row find no more than
 * crumbs bytes freed. The program waits at most longest for that: twice in a measurement,
 * which may take a minute more than its seconds.
 */
constexpr int looks_at_rest = 3;
constexpr uint64_t crumbs = 8192;
constexpr auto longest = std::chrono::seconds(25);

/* Sums over all caches, in bytes. */
struct Caches {
	uint64_t pages = 0;  /* all pages of the caches */
	uint64_t used = 0;   /* used by other objects than inodes, with padding */
	uint64_t around = 0; /* part of @used: the caches named above */
};

Caches caches_in(const std::string &slabinfo, uint64_t page)
{
	std::istringstream in(slabinfo);
	std::string line;
	Caches all;

	while (std::getline(in, line)) {
		std::istringstream words(line);
		std::string name, word;
		uint64_t objects, room, size, per_slab, pages, active, slabs;

		/* name used total size per-slab pages : tunables 3 : slabdata
		 */
		if (!(words >> name >> objects >> room >> size >> per_slab >>
		      pages) ||
		    name[0] == '#' || !per_slab)
			continue;
		while (words >> word && word != "slabdata")
			;
		if (!(words >> active >> slabs))
			continue;
		const uint64_t used = objects * pages * page / per_slab;

		all.pages += slabs * pages * page;
		if (has_inodes(name))
			continue;
		all.used += used;
		if (std::find(around_caches.begin(), around_caches.end(),
			      name) != around_caches.end())
			all.around += used;
	}
	if (!all.pages)
		throw std::runtime_error("/proc/slabinfo lists no caches");
	return all;
}

void write_file(const std::filesystem::path &path, const char *text)
{
	std::ofstream(path) << text << std::flush;
}

/* Ignores caches that cannot shrink and kernels that lack these files. */
void settle()
{
	std::error_code none;

	std::this_thread::sleep_for(grace);
	write_file("/proc/sys/vm/drop_caches", "2");
	for (const auto &cache :
	     std::filesystem::directory_iterator("/sys/kernel/slab", none))
		write_file(cache.path() / "shrink", "1");
}

KernelMemory look()
{
	settle();
	const std::string slabinfo = file_text("/proc/slabinfo");

	if (slabinfo.empty())
		throw RunError("kernel memory: /proc/slabinfo cannot be read, "
			       "which takes root");
	return parse_kernel_memory(
		file_text("/proc/meminfo"), slabinfo,
		static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
}

uint64_t total(const KernelMemory &m)
{
	return m.slab + m.percpu + m.vmalloc;
}

/* A figure can also become smaller. */
double growth(uint64_t from, uint64_t to)
{
	return static_cast<double>(to) - static_cast<double>(from);
}
} // namespace

KernelMemory parse_kernel_memory(const std::string &meminfo,
				 const std::string &slabinfo, uint64_t page)
{
	std::istringstream in(meminfo);
	std::string key, line;
	uint64_t value = 0;
	KernelMemory m;
	bool slab = false;

	while (std::getline(in, line)) {
		std::istringstream words(line);

		if (!(words >> key >> value))
			continue;
		if (key == "Slab:")
			m.slab = value * 1024;
		else if (key == "Percpu:")
			m.percpu = value * 1024;
		else if (key == "VmallocUsed:")
			m.vmalloc = value * 1024;
		slab |= key == "Slab:";
	}
	if (!slab)
		throw std::runtime_error("/proc/meminfo does not say Slab");
	const Caches caches = caches_in(slabinfo, page);

	/* Large allocations are not in caches. */
	m.slab = caches.used +
		 (m.slab > caches.pages ? m.slab - caches.pages : 0);
	m.around = caches.around;
	return m;
}

bool at_rest(const KernelMemory &before, const KernelMemory &now)
{
	return total(before) <= total(now) + crumbs;
}

KernelMemory kernel_memory()
{
	const auto until = std::chrono::steady_clock::now() + longest;
	KernelMemory last = look();

	for (int same = 1; same < looks_at_rest;) {
		const KernelMemory now = look();

		if (std::chrono::steady_clock::now() > until)
			throw RunError("kernel memory does not come to rest");
		same = at_rest(last, now) ? same + 1 : 1;
		last = now;
	}
	return last;
}

uint64_t mapped_rings(const std::string &maps)
{
	std::istringstream in(maps);
	std::string line;
	uint64_t bytes = 0;

	while (std::getline(in, line)) {
		std::istringstream words(line);
		std::string mode, offset, device, inode, path;
		uint64_t from, to;
		char dash;

		if (!(words >> std::hex >> from >> dash >> to >> mode >>
		      offset >> device >> inode >> path) ||
		    dash != '-' || to < from)
			continue;
		if (path.find("/uverbs") != std::string::npos)
			bytes += to - from;
	}
	return bytes;
}

std::map<std::string, double> memory_figures(const KernelMemory &from,
					     const KernelMemory &to,
					     uint64_t rings, double qps)
{
	const double around = growth(from.around, to.around);
	const double vmalloc = growth(from.vmalloc, to.vmalloc) -
			       static_cast<double>(rings);
	const double rest = growth(from.slab, to.slab) - around +
			    growth(from.percpu, to.percpu) +
			    std::max(0.0, vmalloc);

	return {{"qp_memory", rest / qps},
		{"qp_around", around / qps},
		{"qp_rings", static_cast<double>(rings) / qps}};
}
} // namespace mrcbench

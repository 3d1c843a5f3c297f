// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What idle queue pairs take: the kernel's files, and what is taken off. */
#include <stdexcept>

#include <gtest/gtest.h>

#include "memory.hpp"

namespace mrcbench
{
namespace
{
constexpr uint64_t page = 4096;

std::string meminfo(int slab, int vmalloc, int percpu)
{
	return "MemTotal: 9 kB\nSlab: " + std::to_string(slab) +
	       " kB\nVmallocTotal: 34359738367 kB\nVmallocUsed: " +
	       std::to_string(vmalloc) +
	       " kB\nPercpu: " + std::to_string(percpu) + " kB\n";
}

/* A cache with @used objects, @per to a slab of @pages, in @slabs. */
std::string cache(const std::string &name, int used, int per, int pages,
		  int slabs)
{
	return name + "   " + std::to_string(used) + "     " +
	       std::to_string(slabs * per) + "    584   " +
	       std::to_string(per) + "    " + std::to_string(pages) +
	       " : tunables    0    0    0 : slabdata      " +
	       std::to_string(slabs) + "      " + std::to_string(slabs) +
	       "      0\n";
}

const std::string head =
	"slabinfo - version: 2.1\n"
	"# name            <active_objs> <num_objs> <objsize> <objperslab> "
	"<pagesperslab> : tunables <limit> <batchcount> <sharedfactor> : "
	"slabdata <active_slabs> <num_slabs> <sharedavail>\n";
} // namespace

TEST(Memory, FilesOfTheKernel)
{
	const KernelMemory m = parse_kernel_memory(
		meminfo(144, 30, 2),
		head + cache("kmalloc-2k", 3, 16, 8, 1) +
			cache("radix_tree_node", 14, 14, 2, 3) +
			cache("vm_area_struct", 7, 21, 1, 5) +
			cache("mrc_qp", 36, 18, 8, 2),
		page);

	/* A slab of 14 nodes, a third of one of areas. */
	EXPECT_EQ(m.around, 2 * page + page / 3);
	/* Of 36 pages 35 are in caches. */
	EXPECT_EQ(m.slab, m.around + 3 * 2048 + 16 * page + page);
	EXPECT_EQ(m.vmalloc, 30u * 1024);
	EXPECT_EQ(m.percpu, 2u * 1024);
	EXPECT_EQ(parse_kernel_memory(meminfo(100 + 144, 0, 0),
				      head + cache("mrc_qp", 18, 18, 8, 1) +
					      cache("dentry", 0, 21, 1, 3),
				      page)
			  .slab,
		  (244 - 44 + 32) * 1024u);
}

/* Their pages are no large allocations either. */
TEST(Memory, InodesAreNotCounted)
{
	EXPECT_EQ(parse_kernel_memory(
			  meminfo(64, 0, 0),
			  head + cache("mrc_qp", 18, 18, 8, 1) +
				  cache("proc_inode_cache", 26, 26, 4, 1) +
				  cache("inode_cache", 13, 26, 4, 1),
			  page)
			  .slab,
		  32 * 1024u);
}

TEST(Memory, OtherFiles)
{
	EXPECT_THROW(parse_kernel_memory("MemFree: 1 kB\n",
					 head + cache("a", 1, 1, 1, 1), page),
		     std::runtime_error);
	EXPECT_THROW(parse_kernel_memory(meminfo(1, 1, 1), head, page),
		     std::runtime_error);
	EXPECT_THROW(parse_kernel_memory(meminfo(1, 1, 1), "", page),
		     std::runtime_error);
	EXPECT_THROW(parse_kernel_memory(meminfo(1, 1, 1),
					 head + cache("a", 1, 0, 1, 1), page),
		     std::runtime_error);
}

/* Growth is what is measured; only memory that is still being given back disturbs. */
TEST(Memory, AtRest)
{
	KernelMemory before, now;

	before.slab = 1000 * 1024;
	before.percpu = before.vmalloc = 100 * 1024;
	now = before;
	EXPECT_TRUE(at_rest(before, now));
	now.slab += 1024 * 1024;
	EXPECT_TRUE(at_rest(before, now));
	now.slab = before.slab - 8192;
	EXPECT_TRUE(at_rest(before, now));
	now.percpu--;
	EXPECT_FALSE(at_rest(before, now));
	now = before;
	now.vmalloc -= 64 * 1024;
	EXPECT_FALSE(at_rest(before, now));
	now.slab += 64 * 1024;
	EXPECT_TRUE(at_rest(before, now));
}

TEST(Memory, MappedRings)
{
	EXPECT_EQ(mapped_rings(""), 0u);
	EXPECT_EQ(mapped_rings(
			  "00400000-00452000 r-xp 00000000 08:02 17 /bin/a\n"
			  "7f0000000000-7f0000003000 rw-s 10000 00:06 9 "
			  "/dev/infiniband/uverbs0\n"
			  "7f0000004000-7f0000005000 rw-s 11000 00:06 9 "
			  "/dev/infiniband/uverbs1\n"
			  "7f0000008000-7f0000009000 rw-p 00000000 00:00 0 \n"
			  "no line of the kernel's uverbs\n"),
		  4 * page);
}

/*
 * Ten queue pairs: 80 KiB of rings in vmalloc memory, a page of the driver's
 * beside them, 40 KiB of objects, 12 KiB of what hangs on them.
 */
TEST(Memory, RingsAndTreesAreTakenOff)
{
	KernelMemory from, to;

	from.slab = 1000 * 1024;
	to.slab = from.slab + 52 * 1024;
	from.around = 100 * page;
	to.around = from.around + 12 * 1024;
	to.percpu = 1024;
	to.vmalloc = 84 * 1024;
	auto v = memory_figures(from, to, 80 * 1024, 10);

	EXPECT_DOUBLE_EQ(v["qp_memory"], (40 + 1 + 4) * 102.4);
	EXPECT_DOUBLE_EQ(v["qp_around"], 12 * 102.4);
	EXPECT_DOUBLE_EQ(v["qp_rings"], 80 * 102.4);

	/* Rings in pages of their own: nothing to take them off from. */
	to.vmalloc = 0;
	v = memory_figures(from, to, 80 * 1024, 10);
	EXPECT_DOUBLE_EQ(v["qp_memory"], (40 + 1) * 102.4);
	/* All was given back, and more. */
	EXPECT_LT(memory_figures(to, from, 0, 10)["qp_memory"], 0);
}
} // namespace mrcbench

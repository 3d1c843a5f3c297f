// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_shim: counting.
 */
#include "report.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace
{
constexpr size_t entries = static_cast<size_t>(Entry::count);
constexpr std::array<const char *, entries> names{
	"open_device", "close_device", "create_cq",    "create_cq_ex",
	"destroy_cq",  "create_qp",    "create_qp_ex", "destroy_qp",
	"modify_qp",   "query_qp",     "post_send",    "post_recv",
	"poll_cq",     "mrc",
};

std::array<std::atomic<uint64_t>, entries> calls, inside;
thread_local unsigned depth;

/* Programs that use no RDMA device have nothing to report. */
[[gnu::destructor]] void write_report()
{
	const char *path = std::getenv("MRC_SHIM_REPORT");
	FILE *f;

	if (!path || !calls[static_cast<size_t>(Entry::open_device)])
		return;
	f = std::fopen(path, "w");
	if (!f)
		return;
	for (size_t i = 0; i < entries; i++)
		std::fprintf(f, "%s %llu %llu\n", names[i],
			     static_cast<unsigned long long>(calls[i]),
			     static_cast<unsigned long long>(inside[i]));
	std::fclose(f);
}
} // namespace

bool enter(Entry e)
{
	calls[static_cast<size_t>(e)]++;
	if (!depth)
		return true;
	inside[static_cast<size_t>(e)]++;
	errno = ELOOP;
	return false;
}

Inside::Inside()
{
	calls[static_cast<size_t>(Entry::mrc)]++;
	depth++;
}

Inside::~Inside()
{
	depth--;
}

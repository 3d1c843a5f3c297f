// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Prints the kernel memory that is allocated and not freed: a line "CACHE OBJECTS SIZE"
 * for each slab cache and finally "total-kB KB 1": the sum of objects, of allocations too
 * large for caches, and of per-CPU and vmalloc memory.
 *
 * /proc/slabinfo counts each object of the slab that a processor allocates from, free or
 * not. So a cache seems to grow by a whole slab (21 objects of 192 bytes) when a processor
 * begins a new slab. This program shrinks each cache, which takes the slabs (and sheaves)
 * away from the processors, and reads the cache at once without allocating memory itself.
 * It repeats this if a processor began a slab in between. Kernels with sheaves do not tell
 * whether a processor has filled one in between: there the smallest of several readings
 * counts. The result is exact for a cache that nobody else uses at the moment. For other
 * caches it may be too large by a part of a slab or by a sheaf, but never too small.
 */
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace
{
const std::string slab = "/sys/kernel/slab";
constexpr int tries = 8;

/* An attribute of a cache, kept open so that reading it allocates nothing. */
class Attribute
{
public:
	Attribute(const std::string &cache, const char *name, int flags)
		: fd_(open((slab + "/" + cache + "/" + name).c_str(),
			   flags | O_CLOEXEC))
	{
	}
	Attribute(const Attribute &) = delete;
	Attribute &operator=(const Attribute &) = delete;
	~Attribute()
	{
		if (fd_ >= 0)
			close(fd_);
	}

	explicit operator bool() const { return fd_ >= 0; }

	/* The first number in the file; nothing if the cache was destroyed. */
	std::optional<uint64_t> number() const
	{
		char text[65] = {};
		char *end = nullptr;

		if (pread(fd_, text, sizeof(text) - 1, 0) <= 0)
			return std::nullopt;

		const uint64_t n = std::strtoull(text, &end, 10);

		return end == text ? std::nullopt : std::optional(n);
	}

	bool write_one() const { return pwrite(fd_, "1", 1, 0) == 1; }

private:
	int fd_;
};

std::optional<uint64_t> constant(const std::string &cache, const char *name)
{
	const Attribute a(cache, name, O_RDONLY);

	return a ? a.number() : std::nullopt;
}

struct Found {
	uint64_t objects = 0;
	uint64_t slabs = 0;
};

/* Nothing if there is no such cache any more. */
std::optional<Found> look(const std::string &cache)
{
	const Attribute shrink(cache, "shrink", O_WRONLY);
	const Attribute objects(cache, "objects", O_RDONLY);
	const Attribute slabs(cache, "slabs", O_RDONLY);
	/* Kernels without per-CPU slabs do not have it, or it is always 0. */
	const Attribute held(cache, "cpu_slabs", O_RDONLY);
	const bool sheaves = constant(cache, "sheaf_capacity").value_or(0) > 0;
	uint64_t least = UINT64_MAX;

	if (!objects || !slabs)
		return std::nullopt;
	/* The first read of each file allocates its buffer. */
	for (const Attribute *a : {&objects, &slabs, &held})
		if (*a && !a->number())
			return std::nullopt;
	for (int i = 0; i < tries; i++) {
		if (shrink && !shrink.write_one())
			return std::nullopt;

		const auto n = objects.number();

		if (!n)
			return std::nullopt;
		least = std::min(least, *n);
		if (!sheaves && held && held.number() == 0)
			break;
	}

	const auto n = slabs.number();

	return n ? std::optional(Found{least, *n}) : std::nullopt;
}

/* A line of /proc/meminfo, in kB. */
uint64_t meminfo(const std::string &name)
{
	std::ifstream in("/proc/meminfo");
	std::string key;
	uint64_t kb = 0;

	while (in >> key >> kb) {
		if (key == name + ":")
			return kb;
		in.ignore(100, '\n');
	}
	std::fprintf(stderr, "slab_objects: no %s in /proc/meminfo\n",
		     name.c_str());
	std::exit(1);
}
} // namespace

int main()
{
	const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
	uint64_t used = 0, held = 0;
	std::vector<std::string> caches;
	std::error_code error;

	for (std::filesystem::directory_iterator e(slab, error), end;
	     !error && e != end; e.increment(error))
		/* A merged cache is a link to the cache that it shares. */
		if (!e->is_symlink(error))
			caches.push_back(e->path().filename());
	if (error) {
		std::fprintf(stderr, "slab_objects: %s: %s\n", slab.c_str(),
			     error.message().c_str());
		return 1;
	}
	std::sort(caches.begin(), caches.end());
	for (const std::string &cache : caches) {
		const auto found = look(cache);
		const auto size = constant(cache, "slab_size");
		const auto order = constant(cache, "order");

		if (!found || !size || !order)
			continue;
		used += found->objects * *size;
		held += found->slabs * (page << *order);
		std::printf("%s %llu %llu\n", cache.c_str(),
			    static_cast<unsigned long long>(found->objects),
			    static_cast<unsigned long long>(*size));
	}
	if (held == 0) {
		std::fprintf(stderr, "slab_objects: %s lists no objects\n",
			     slab.c_str());
		return 1;
	}

	const uint64_t all = meminfo("Slab") * 1024;
	const uint64_t large = all > held ? all - held : 0;

	const unsigned long long total = (used + large) / 1024 +
					 meminfo("Percpu") +
					 meminfo("VmallocUsed");

	std::printf("total-kB %llu 1\n", total);
	return std::fflush(stdout) == 0 ? 0 : 1;
}

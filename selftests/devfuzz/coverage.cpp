// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "coverage.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <linux/kcov.h>
#include <sstream>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/failure.hpp"
#include "rng.hpp"

namespace devfuzz
{
namespace
{
constexpr uint64_t words = 1 << 16;

struct Function {
	uint64_t start;
	std::string name;
};

/* In the order of their addresses. */
std::vector<Function> functions_of(const std::string &module)
{
	std::ifstream in("/proc/kallsyms");
	std::vector<Function> out;

	for (std::string line; std::getline(in, line);) {
		std::istringstream text(line);
		uint64_t start;
		std::string type, name, of;

		text >> std::hex >> start >> type >> name >> of;
		if (of == "[" + module + "]" && (type == "t" || type == "T"))
			out.push_back({start, name});
	}
	std::sort(out.begin(), out.end(),
		  [](const Function &a, const Function &b) {
			  return a.start < b.start;
		  });
	return out;
}
} // namespace

Places &Places::make(const std::string &file)
{
	int fd = -1;

	if (!file.empty()) {
		fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || ftruncate(fd, sizeof(Places)))
			throw Failure(file + ": " + std::strerror(errno));
	}
	void *mem = mmap(nullptr, sizeof(Places), PROT_READ | PROT_WRITE,
			 MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	if (fd >= 0)
		close(fd);
	if (mem == MAP_FAILED)
		throw Failure("no memory for the places that were reached");
	/* All zero, or what an earlier run left. */
	return *static_cast<Places *>(mem);
}

void Places::add(uint64_t address)
{
	uint64_t at = derive(address, 0);

	for (uint32_t n = 0; n < slots_; n++, at++) {
		uint64_t seen =
			slot_[at % slots_].load(std::memory_order_relaxed);

		if (!seen &&
		    slot_[at % slots_].compare_exchange_strong(seen, address))
			return;
		if (seen == address)
			return;
	}
}

uint64_t Places::count() const
{
	return static_cast<uint64_t>(
		std::count_if(slot_.begin(), slot_.end(),
			      [](const auto &s) { return s.load() != 0; }));
}

std::vector<std::string> Places::unreached(const std::string &module) const
{
	const auto all = functions_of(module);
	std::vector<bool> reached(all.size());
	std::vector<std::string> out;

	for (const auto &s : slot_) {
		const auto next =
			std::upper_bound(all.begin(), all.end(), s.load(),
					 [](uint64_t a, const Function &f) {
						 return a < f.start;
					 });

		if (next != all.begin())
			reached[static_cast<std::size_t>(next - all.begin() -
							 1)] = true;
	}
	for (std::size_t i = 0; i < all.size(); i++)
		if (!reached[i])
			out.push_back(all[i].name);
	return out;
}

Coverage::Coverage(Places &places) : places_(places)
{
	fd_ = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (fd_ < 0)
		return;
	void *mem = MAP_FAILED;

	if (!::ioctl(fd_, KCOV_INIT_TRACE, words))
		mem = mmap(nullptr, words * sizeof(uint64_t),
			   PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
	if (mem == MAP_FAILED)
		return;
	area_ = static_cast<uint64_t *>(mem);
	if (::ioctl(fd_, KCOV_ENABLE, KCOV_TRACE_PC)) {
		munmap(area_, words * sizeof(uint64_t));
		area_ = nullptr;
	}
}

void Coverage::collect()
{
	if (!area_)
		return;
	const uint64_t n = __atomic_load_n(&area_[0], __ATOMIC_RELAXED);

	/* A program gone wild may have overwritten the count. */
	for (uint64_t i = 1; i <= n && i < words; i++)
		places_.add(area_[i]);
	__atomic_store_n(&area_[0], 0, __ATOMIC_RELAXED);
}

Coverage::~Coverage()
{
	collect();
	if (area_) {
		::ioctl(fd_, KCOV_DISABLE, 0);
		munmap(area_, words * sizeof(uint64_t));
	}
	if (fd_ >= 0)
		close(fd_);
}
} // namespace devfuzz

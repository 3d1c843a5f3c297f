/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which places of the driver the system calls of programs reach, by KCOV. Work
 * in soft interrupts and work queues is not seen.
 */
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace devfuzz
{
/* Addresses in the kernel, of all programs; in a file, of several runs. */
class Places
{
public:
	/* In memory that children share; @file may be empty. Throws Failure. */
	static Places &make(const std::string &file);

	void add(uint64_t address);
	uint64_t count() const;
	/* Functions of the module that were not reached, by /proc/kallsyms. */
	std::vector<std::string> unreached(const std::string &module) const;

private:
	static constexpr uint32_t slots_ = 1 << 15;

	std::array<std::atomic<uint64_t>, slots_> slot_;
};

/* Of the calling thread. Does nothing where the kernel has no KCOV. */
class Coverage
{
public:
	explicit Coverage(Places &places);
	Coverage(const Coverage &) = delete;
	Coverage &operator=(const Coverage &) = delete;
	~Coverage();

	/* Adds what was reached since the last call. */
	void collect();

private:
	Places &places_;
	int fd_ = -1;
	uint64_t *area_ = nullptr;
};
} // namespace devfuzz

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The program's ioctl(), which the libraries call, too. A call of
 * RDMA is changed, runs out of memory, or is kept, so that another thread makes
 * it again while the program uses the same objects.
 */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "options.hpp"
#include "rng.hpp"

namespace devfuzz
{
struct Board;

/* A copy of a call, with copies of what its attributes point to. */
class Call
{
public:
	/* Of RDMA_VERBS_IOCTL; false: it is none that can be copied. */
	bool take(int fd, const void *arg);

	/* Makes the call, perhaps with some of it changed. */
	void again(Rng &rng);

private:
	struct Payload {
		unsigned attr;
		std::vector<uint64_t> words;
	};

	int fd_ = -1;
	std::vector<uint64_t> header_;
	std::vector<Payload> payloads_;
};

/* Between the libraries and the kernel, one for each program. */
class Between
{
public:
	Between(Board &board, Kind kind, uint64_t seed);
	Between(const Between &) = delete;
	Between &operator=(const Between &) = delete;
	~Between();

	int verbs_ioctl(int fd, void *arg);
	/* Makes one of the kept calls once more; for another thread. */
	void repeat(Rng &rng);

private:
	int changed(int fd, void *arg);
	int without_memory(int fd, void *arg);
	void keep(int fd, const void *arg);

	Board &board_;
	const Kind kind_;
	Rng rng_;
	std::mutex lock_; /* of kept_ */
	std::array<Call, 32> kept_;
};
} // namespace devfuzz

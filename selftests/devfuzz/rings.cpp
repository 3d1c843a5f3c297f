// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "rings.hpp"

#include <cstdio>
#include <fstream>
#include <string>
#include <sys/uio.h>
#include <unistd.h>

#include <rdma/mrc-abi.h>

namespace devfuzz
{
std::vector<Ring> find_rings()
{
	std::ifstream maps("/proc/self/maps");
	std::vector<Ring> out;
	std::string line;

	while (std::getline(maps, line)) {
		uintptr_t from, to;
		char perm[8];

		if (line.find("uverbs") == std::string::npos ||
		    std::sscanf(line.c_str(), "%zx-%zx %7s", &from, &to,
				perm) != 3 ||
		    perm[1] != 'w')
			continue;
		out.push_back(
			{reinterpret_cast<uint32_t *>(from), (to - from) / 4});
	}
	return out;
}

bool scribble(const Ring &ring, Rng &rng)
{
	const std::size_t header = MRC_RING_HDR_SIZE / 4;
	uint32_t value = static_cast<uint32_t>(rng.nasty());
	std::size_t at;

	switch (rng.below(8)) {
	case 0:
		at = offsetof(mrc_ring_hdr, prod) / 4;
		break;
	case 1:
		at = offsetof(mrc_ring_hdr, cons) / 4;
		break;
	case 2:
		at = rng.below(header);
		break;
	case 3:
		at = rng.below(ring.n);
		break;
	default:
		/* The first entries are those in use. */
		at = header + rng.below(256);
	}
	if (at >= ring.n)
		return true;
	/* Through the kernel: a ring that is gone is an error then, not a
	 * signal. */
	const iovec local = {&value, sizeof(value)},
		    remote = {ring.words + at, sizeof(value)};

	return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) ==
	       sizeof(value);
}
} // namespace devfuzz

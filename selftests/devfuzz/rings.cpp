// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "rings.hpp"

#include <cstddef>
#include <cstdint>
#include <sys/uio.h>
#include <unistd.h>

#include <rdma/mrc-abi.h>

namespace devfuzz
{
bool scribble(const Mapping &ring, Rng &rng)
{
	const std::size_t header = MRC_RING_HDR_SIZE / 4;
	uint32_t value = static_cast<uint32_t>(rng.nasty());
	const std::size_t words = ring.size / 4;
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
		at = rng.below(words);
		break;
	default:
		/* The first entries are those in use. */
		at = header + rng.below(256);
	}
	if (at >= words)
		return true;
	/* Through the kernel: a ring that is gone is an error then, not a
	 * signal. */
	const iovec local = {&value, sizeof(value)},
		    remote = {ring.start + 4 * at, sizeof(value)};

	return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) ==
	       sizeof(value);
}
} // namespace devfuzz

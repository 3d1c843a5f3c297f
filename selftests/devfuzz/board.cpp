// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "board.hpp"

#include <new>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/failure.hpp"

namespace devfuzz
{
Board &Board::make()
{
	void *mem = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		throw Failure("no memory for the programs to share");
	return *new (mem) Board();
}

uint32_t Board::claim()
{
	for (uint32_t i = 0; i < max_announced; i++) {
		uint32_t free = 0;

		if (qps[i].state.compare_exchange_strong(free, 1)) {
			qps[i].owner = getpid();
			qps[i].peer = nobody;
			return i;
		}
	}
	return nobody;
}

void Board::announce(uint32_t index)
{
	qps[index].state = 2;
}

void Board::forget(uint32_t index)
{
	if (index < max_announced)
		qps[index].state = 0;
}

void Board::forget_all_of(pid_t owner)
{
	for (Announced &a : qps)
		if (a.state && a.owner == owner)
			a.state = 0;
}

bool Board::is_announced(uint32_t index) const
{
	return index < max_announced && qps[index].state == 2;
}

uint32_t Board::find_peer(uint32_t self, uint32_t type, bool own_too)
{
	for (uint32_t n = 1; n < max_announced; n++) {
		const uint32_t i = (self + n) % max_announced;
		Announced &a = qps[i];
		uint32_t none = nobody;

		if (a.state != 2 || a.type != type ||
		    (!own_too && a.owner == getpid()))
			continue;
		if (a.peer.compare_exchange_strong(none, self))
			return i;
	}
	return nobody;
}
} // namespace devfuzz

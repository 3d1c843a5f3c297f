/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The templates of sweep.hpp. */
#pragma once

#include <cerrno>

namespace faults
{
inline void count(uint32_t &n)
{
	__atomic_fetch_add(&n, 1, __ATOMIC_RELAXED);
}

/* Which allocation is next; 0 when none is to fail. */
inline uint32_t turn(Kind *k)
{
	if (!k || __atomic_load_n(&k->swept, __ATOMIC_RELAXED))
		return 0;
	const uint32_t nth = __atomic_fetch_add(&k->next, 1, __ATOMIC_RELAXED);

	return nth <= max_nth ? nth : 0;
}

template <typename F> auto sweep(Kind *k, F call) -> decltype(call())
{
	for (;;) {
		const uint32_t nth = turn(k);

		if (!nth)
			return call();
		Armed armed(nth);
		const auto ret = call();
		const int err = errno;

		if (!armed.hit()) {
			__atomic_store_n(&k->swept, 1, __ATOMIC_RELAXED);
			errno = err;
			return ret;
		}
		if (ret >= 0) {
			count(k->survived);
			errno = err;
			return ret;
		}
		if (lack_of_memory(err)) {
			count(k->refused);
			continue;
		}
		/* An error of the call's own, or what the lack became? */
		const auto again = call();

		if (again < 0 && errno == err) {
			count(k->survived);
			return again;
		}
		note_odd(*k, err);
		return again;
	}
}

template <typename F> auto once(Kind *k, F call) -> decltype(call())
{
	const uint32_t nth = turn(k);

	if (!nth)
		return call();
	Armed armed(nth);
	const auto ret = call();
	const int err = errno;

	if (!armed.hit())
		__atomic_store_n(&k->swept, 1, __ATOMIC_RELAXED);
	else if (ret >= 0)
		count(k->survived);
	else if (lack_of_memory(err))
		count(k->refused);
	else
		note_odd(*k, err);
	errno = err;
	return ret;
}
} // namespace faults

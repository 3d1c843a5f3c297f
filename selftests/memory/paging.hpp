/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Regions that are paged on demand, and what is done with them: by queue pair a
 * of a pair, to memory of b.
 */
#pragma once

#include <map>

#include "objects.hpp"

constexpr int paged = all_access | IBV_ACCESS_ON_DEMAND;
constexpr size_t page = 4096;

enum class Op { write, send, read, compare, add };
constexpr Op all_ops[] = { Op::write, Op::send, Op::read, Op::compare,
			   Op::add };

const char *op_name(Op op);

/* Runs those tests whose name has @part in it. */
struct Part {
	Dev &d;
	tap::Report &report;
	const std::string &part;

	template <typename Test> void operator()(const std::string &name, Test fn) const
	{
		if (name.find(part) != std::string::npos)
			report.run(name, [&](tap::Check &c) { fn(d, c); });
	}
};

/* Does the device page at all? */
bool has_paging(Dev &d);

struct Outcome {
	ibv_wc_status sender;
	ibv_wc_status receiver; /* success where nothing is received */
};

/*
 * @op of @len bytes (8 if it is atomic) from or to @local, of @a, to or from
 * @remote; the result of an atomic operation goes to @local.
 */
void post(Pair &p, Op op, const ibv_mr *local, uint64_t laddr,
	  const ibv_mr *remote, uint64_t raddr, uint32_t len);
/* Waits for what post() began. */
Outcome finish(Pair &p, Op op);
Outcome transfer(Pair &p, Op op, const ibv_mr *local, uint64_t laddr,
		 const ibv_mr *remote, uint64_t raddr, uint32_t len);

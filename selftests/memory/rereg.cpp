// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Regions that are registered anew, in use or not, and flags of registration.
 */
#include <atomic>
#include <cstring>
#include <thread>

#include <sys/mman.h>

#include "objects.hpp"

namespace
{
using tap::Check;

/* errno or 0 */
int rereg(ibv_mr *mr, int what, ibv_pd *pd, void *addr, size_t len, int access)
{
	return ibv_rereg_mr(mr, what, pd, addr, len, access) ? errno : 0;
}

void access_changes(Dev &d, Check &c)
{
	Region r(d.pd, 0);
	const uint32_t key = r.mr->rkey;
	{
		Pair p(d);

		c.eq(p.write(r.addr(), key), IBV_WC_REM_ACCESS_ERR,
		     "WRITE before");
	}
	/* Pages that were pinned for reading must not be written to. */
	c.err(rereg(r.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
		    all_access),
	      0, "more access");
	c.eq(r.mr->rkey, key, "key");
	{
		Pair p(d);

		c.eq(p.write(r.addr(), key), IBV_WC_SUCCESS, "WRITE");
		c.that(r.bytes[0] == 0x5a, "not there");
	}
	c.err(rereg(r.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
		    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
	      0, "less access");
	Pair p(d);

	c.eq(p.read(r.addr(), key), IBV_WC_SUCCESS, "READ");
	c.eq(p.write(r.addr(), key), IBV_WC_REM_ACCESS_ERR, "WRITE after");
}

void memory_changes(Dev &d, Check &c)
{
	Region r(d.pd, all_access), other(d.pd, all_access, 4 * buf_size);
	Pair p(d);

	c.err(rereg(r.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, other.bytes,
		    other.size, 0),
	      0, "rereg");
	c.eq(p.write(other.addr() + 3 * buf_size, r.mr->rkey), IBV_WC_SUCCESS,
	     "WRITE");
	c.that(other.bytes[3 * buf_size] == 0x5a, "not there");
	c.eq(p.write(r.addr(), r.mr->rkey), IBV_WC_REM_ACCESS_ERR,
	     "WRITE to the old memory");
	c.that(!r.bytes[0], "the old memory was written to");
}

void domain_changes(Dev &d, Check &c)
{
	Pd pd(d);
	{
		Region r(d.pd, all_access);
		Pair old(d), now(d, d.pd, pd.pd);

		c.err(rereg(r.mr, IBV_REREG_MR_CHANGE_PD, pd.pd, nullptr, 0, 0),
		      0, "rereg");
		c.eq(now.write(r.addr(), r.mr->rkey), IBV_WC_SUCCESS, "WRITE");
		c.eq(old.write(r.addr(), r.mr->rkey), IBV_WC_REM_ACCESS_ERR,
		     "WRITE in the old domain");
	}
}

/* What fails leaves the region as it was. */
void fails(Dev &d, Check &c)
{
	Region r(d.pd, all_access);
	Pair p(d);
	void *hole = mmap(nullptr, buf_size, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	c.that(rereg(r.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, hole,
		     buf_size, 0),
	       "memory that cannot be pinned");
	c.that(rereg(r.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
		     IBV_ACCESS_REMOTE_WRITE),
	       "remote write without local write");
	c.that(rereg(r.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
		     all_access | IBV_ACCESS_ON_DEMAND),
	       "on-demand paging");
	munmap(hole, buf_size);
	c.eq(p.write(r.addr(), r.mr->rkey), IBV_WC_SUCCESS, "WRITE");
	c.that(r.bytes[0] == 0x5a, "not there");
}

/*
 * Peers go on writing meanwhile. The address is the same in both mappings of
 * the memory, so that no WRITE is ever out of place.
 */
void in_use(Dev &d, Check &c)
{
	Region r(d.pd, all_access);
	std::atomic<bool> stop{false};
	std::atomic<unsigned> writes{0};
	std::atomic<int> wrong{0};
	Pair p(d);

	std::thread writer([&] {
		while (!stop && !wrong) {
			wrong = p.write(r.addr(), r.mr->rkey, 8000);
			writes++;
		}
	});
	/* Both sides often, whoever is the faster one. */
	for (int i = 0; i < 300 || (writes < 50 && i < 1000000 && !wrong);
	     i++) {
		const int how = i & 1 ? IBV_REREG_MR_CHANGE_ACCESS
				      : IBV_REREG_MR_CHANGE_TRANSLATION |
						IBV_REREG_MR_CHANGE_ACCESS;

		c.err(rereg(r.mr, how, nullptr, r.bytes, r.size,
			    i & 2 ? all_access
				  : all_access & ~IBV_ACCESS_REMOTE_ATOMIC),
		      0, "rereg");
	}
	stop = true;
	writer.join();
	c.eq(wrong.load(), IBV_WC_SUCCESS, "WRITE");
	c.that(writes >= 50, "little was written meanwhile");
}

void flags(Dev &d, Check &c)
{
	Region ordered(d.pd, all_access | IBV_ACCESS_RELAXED_ORDERING);
	Region bindable_too(d.pd, all_access | IBV_ACCESS_MW_BIND);
	ibv_device_attr attr{};

	c.err(ibv_query_device(d.ctx, &attr), 0, "query");
	c.that(attr.max_mw > 0, "no windows");
	c.that(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW &&
		       attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B &&
		       attr.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS,
	       "capabilities");
}
} // namespace

void test_rereg(Dev &d, tap::Report &report)
{
	const auto run = [&](const char *name, auto fn) {
		report.run(name, [&](Check &c) { fn(d, c); });
	};

	run("registered anew: access", access_changes);
	run("registered anew: memory", memory_changes);
	run("registered anew: protection domain", domain_changes);
	run("registered anew: what fails changes nothing", fails);
	run("registered anew: while peers write", in_use);
	run("flags of registration, capabilities", flags);
}

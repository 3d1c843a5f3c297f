// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What windows show, and for how long. */
#include "objects.hpp"

namespace
{
using tap::Check;

constexpr unsigned rw = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

/* A part of a region that allows nothing itself: that part, and nothing else.
 */
void shows(Dev &d, ibv_mw_type type, Check &c)
{
	{
		Region r(d.pd, bindable);
		Window w(d.pd, type);
		Pair p(d);
		const uint64_t at = r.addr() + 4000;

		c.eq(p.bind(w.mw, r, at, 5000, rw), IBV_WC_SUCCESS, "bind");
		c.eq(p.write(at + 90, w.mw->rkey, 4900), IBV_WC_SUCCESS,
		     "WRITE");
		c.that(r.bytes[4090] == 0x5a && r.bytes[8989] == 0x5a &&
			       !r.bytes[4089] && !r.bytes[8990],
		       "what was written is elsewhere");
		c.eq(p.read(at, w.mw->rkey, 5000), IBV_WC_SUCCESS, "READ");
		c.that(p.src.bytes[90] == 0x5a && !p.src.bytes[89],
		       "what was read is from elsewhere");
	}
	for (const int64_t off : {-1, 4993, 6000}) {
		Region r(d.pd, bindable);
		Window w(d.pd, type);
		Pair p(d);
		const uint64_t at = r.addr() + 4000;

		c.eq(p.bind(w.mw, r, at, 5000, rw), IBV_WC_SUCCESS, "bind");
		c.eq(p.write(at + static_cast<uint64_t>(off), w.mw->rkey),
		     IBV_WC_REM_ACCESS_ERR, "WRITE at " + std::to_string(off));
	}
}

/* Each right is needed, and none comes with another. */
void rights(Dev &d, ibv_mw_type type, Check &c)
{
	constexpr unsigned bits[] = {IBV_ACCESS_REMOTE_WRITE,
				     IBV_ACCESS_REMOTE_READ,
				     IBV_ACCESS_REMOTE_ATOMIC};

	for (const unsigned has : bits)
		for (const unsigned uses : bits) {
			Region r(d.pd, bindable);
			Window w(d.pd, type);
			Pair p(d);
			ibv_wc_status st;

			c.eq(p.bind(w.mw, r, r.addr(), 64, has), IBV_WC_SUCCESS,
			     "bind");
			if (uses == IBV_ACCESS_REMOTE_WRITE)
				st = p.write(r.addr(), w.mw->rkey);
			else if (uses == IBV_ACCESS_REMOTE_READ)
				st = p.read(r.addr(), w.mw->rkey);
			else
				st = p.add(r.addr(), w.mw->rkey);
			c.eq(st,
			     has == uses ? IBV_WC_SUCCESS
					 : IBV_WC_REM_ACCESS_ERR,
			     "access " + std::to_string(uses) + " with " +
				     std::to_string(has));
		}
}

void rebind(Dev &d, Check &c)
{
	Region one(d.pd, bindable), two(d.pd, bindable);
	Window w(d.pd, IBV_MW_TYPE_1);
	Pair p(d);

	for (int i = 0; i < 600; i++) {
		const Region &r = i & 1 ? one : two;
		const uint8_t what = static_cast<uint8_t>(i | 1);

		c.eq(p.bind(w.mw, r, r.addr() + 8u * (i % 100), 8, rw),
		     IBV_WC_SUCCESS, "bind");
		c.eq(p.write(r.addr() + 8u * (i % 100), w.mw->rkey, 8, what),
		     IBV_WC_SUCCESS, "WRITE");
		c.that(r.bytes[8u * (i % 100)] == what, "not there");
		if (!c.good())
			return;
	}
	const uint32_t old = w.mw->rkey;
	c.eq(p.bind(w.mw, one, one.addr(), 8, rw), IBV_WC_SUCCESS, "bind");
	c.eq(p.write(two.addr(), old), IBV_WC_REM_ACCESS_ERR,
	     "WRITE with the key of before");
}

void unbind(Dev &d, Check &c)
{
	Region r(d.pd, bindable);
	Window w(d.pd, IBV_MW_TYPE_1);
	Pair p(d);

	c.eq(p.bind(w.mw, r, r.addr(), 8, rw), IBV_WC_SUCCESS, "bind");
	const uint32_t old = w.mw->rkey;
	c.eq(p.bind(w.mw, r, 0, 0, 0), IBV_WC_SUCCESS, "unbind");
	c.err(r.dereg(), 0, "deregistering the region");
	c.eq(p.write(r.addr(), old), IBV_WC_REM_ACCESS_ERR, "WRITE");
}

/* Type 2, ended from this side and from the other, and bound again. */
void ended(Dev &d, bool remote, Check &c)
{
	Region r(d.pd, bindable);
	Window w(d.pd, IBV_MW_TYPE_2);
	Pair p(d);
	uint32_t key = 0;

	for (int i = 0; i < 300 && c.good(); i++) {
		c.eq(p.bind(w.mw, r, r.addr(), 8, rw), IBV_WC_SUCCESS, "bind");
		key = w.mw->rkey;
		c.eq(p.write(r.addr(), key), IBV_WC_SUCCESS, "WRITE");
		c.eq(remote ? p.send_inv(key) : p.invalidate(key),
		     IBV_WC_SUCCESS, "invalidate");
	}
	c.err(r.dereg(), 0, "deregistering the region");
	c.eq(p.write(r.addr(), key), IBV_WC_REM_ACCESS_ERR, "WRITE afterwards");
}

void zero_based(Dev &d, Check &c)
{
	Region r(d.pd, bindable);
	Window w(d.pd, IBV_MW_TYPE_2);
	Pair p(d);

	c.eq(p.bind(w.mw, r, r.addr() + 5000, 4000, rw | IBV_ACCESS_ZERO_BASED),
	     IBV_WC_SUCCESS, "bind");
	c.eq(p.write(0, w.mw->rkey, 4000), IBV_WC_SUCCESS, "WRITE");
	c.that(!r.bytes[4999] && r.bytes[5000] == 0x5a &&
		       r.bytes[8999] == 0x5a && !r.bytes[9000],
	       "what was written is elsewhere");
	c.eq(p.write(r.addr() + 5000, w.mw->rkey), IBV_WC_REM_ACCESS_ERR,
	     "WRITE by address");
}

/* Another queue pair of the same domain. */
void other_qp(Dev &d, ibv_mw_type type, Check &c)
{
	Region r(d.pd, bindable);
	Window w(d.pd, type);
	Pair p(d), q(d);

	c.eq(p.bind(w.mw, r, r.addr(), 8, rw), IBV_WC_SUCCESS, "bind");
	c.eq(q.write(r.addr(), w.mw->rkey),
	     type == IBV_MW_TYPE_1 ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR,
	     "WRITE over another queue pair");
	c.eq(p.write(r.addr(), w.mw->rkey), IBV_WC_SUCCESS, "WRITE");
}

/* Of another domain: of no use with either type. */
void other_pd(Dev &d, ibv_mw_type type, Check &c)
{
	Pd pd(d);
	Region r(d.pd, bindable);
	Window w(d.pd, type);
	Pair p(d), q(d, d.pd, pd.pd);

	c.eq(p.bind(w.mw, r, r.addr(), 8, rw), IBV_WC_SUCCESS, "bind");
	c.eq(q.write(r.addr(), w.mw->rkey), IBV_WC_REM_ACCESS_ERR, "WRITE");
}

/* A region stays as long as windows show it. */
void holds(Dev &d, ibv_mw_type type, Check &c)
{
	Region r(d.pd, bindable);
	Window w(d.pd, type);
	Pair p(d);

	c.eq(p.bind(w.mw, r, r.addr(), 8, rw), IBV_WC_SUCCESS, "bind");
	c.err(r.dereg(), EBUSY, "deregistering the region");
	c.that(ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_ACCESS, d.pd, nullptr, 0,
			    all_access) &&
		       errno == EBUSY,
	       "the region was registered anew");
	c.eq(p.write(r.addr(), w.mw->rkey), IBV_WC_SUCCESS, "WRITE");
	c.err(w.drop(), 0, "freeing the window");
	c.err(r.dereg(), 0, "deregistering the region then");
}

/* A window may outlive its queue pair, and is nobody's then. */
void orphan(Dev &d, Check &c)
{
	Region r(d.pd, bindable);
	Window w(d.pd, IBV_MW_TYPE_2);
	Pair q(d);
	{
		Pair p(d);

		c.eq(p.bind(w.mw, r, r.addr(), 8, rw), IBV_WC_SUCCESS, "bind");
	}
	c.eq(q.write(r.addr(), w.mw->rkey), IBV_WC_REM_ACCESS_ERR, "WRITE");
	c.err(w.drop(), 0, "freeing the window");
	c.err(r.dereg(), 0, "deregistering the region");
}
} // namespace

void test_windows(Dev &d, tap::Report &report)
{
	for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
		const std::string name =
			type == IBV_MW_TYPE_1 ? "type 1: " : "type 2: ";
		const auto run = [&](const char *what, auto fn) {
			report.run(name + what,
				   [&](Check &c) { fn(d, type, c); });
		};

		run("shows a part of a region", shows);
		run("gives the rights that it has", rights);
		run("another queue pair", other_qp);
		run("another protection domain", other_pd);
		run("holds its region", holds);
	}
	report.run("type 1: bound again and again",
		   [&](Check &c) { rebind(d, c); });
	report.run("type 1: unbound by zero length",
		   [&](Check &c) { unbind(d, c); });
	report.run("type 2: LOCAL_INV", [&](Check &c) { ended(d, false, c); });
	report.run("type 2: SEND_WITH_INV",
		   [&](Check &c) { ended(d, true, c); });
	report.run("type 2: zero-based", [&](Check &c) { zero_based(d, c); });
	report.run("type 2: without its queue pair",
		   [&](Check &c) { orphan(d, c); });
}

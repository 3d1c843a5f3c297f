// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Bindings and invalidations that must fail, and change nothing. */
#include <functional>

#include "objects.hpp"

namespace
{
using tap::Check;

constexpr unsigned rw = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

/* What one attempt has at hand. */
struct Try {
	Dev &d;
	Pair &p;
	Region &r; /* bindable */
	Window &one;
	Window &two;
};

struct Case {
	const char *name;
	ibv_wc_status want;
	std::function<ibv_wc_status(Try &)> run;
};

ibv_wc_status with_access(Try &t, int of_region, unsigned of_window)
{
	Region r(t.d.pd, of_region);

	return t.p.bind(t.two.mw, r, r.addr(), 64, of_window);
}

const Case cases[] = {
	{"a region without MW_BIND", IBV_WC_MW_BIND_ERR,
	 [](Try &t) { return with_access(t, all_access, rw); }},
	{"remote write to a region without local write", IBV_WC_MW_BIND_ERR,
	 [](Try &t) {
		 return with_access(t, IBV_ACCESS_MW_BIND,
				    IBV_ACCESS_REMOTE_WRITE);
	 }},
	{"atomics in a region without local write", IBV_WC_MW_BIND_ERR,
	 [](Try &t) {
		 return with_access(t, IBV_ACCESS_MW_BIND,
				    IBV_ACCESS_REMOTE_ATOMIC);
	 }},
	{"remote read of a region without local write is fine", IBV_WC_SUCCESS,
	 [](Try &t) {
		 const ibv_wc_status st = with_access(t, IBV_ACCESS_MW_BIND,
						      IBV_ACCESS_REMOTE_READ);

		 t.two.drop();
		 return st;
	 }},
	/* Nobody writes locally through a window, and programs ask for it. */
	{"local write as a right of a window changes nothing", IBV_WC_SUCCESS,
	 [](Try &t) {
		 const ibv_wc_status st = t.p.bind(t.two.mw, t.r, t.r.addr(), 8,
						   rw | IBV_ACCESS_LOCAL_WRITE);

		 t.two.drop();
		 return st;
	 }},
	{"one byte too long", IBV_WC_MW_BIND_ERR,
	 [](Try &t) {
		 return t.p.bind(t.two.mw, t.r, t.r.addr() + 1, buf_size, rw);
	 }},
	{"one byte too early", IBV_WC_MW_BIND_ERR,
	 [](Try &t) { return t.p.bind(t.two.mw, t.r, t.r.addr() - 1, 8, rw); }},
	{"a length that wraps around", IBV_WC_MW_BIND_ERR,
	 [](Try &t) {
		 return t.p.bind(t.two.mw, t.r, t.r.addr() + 8, UINT64_MAX, rw);
	 }},
	{"type 2 of zero length", IBV_WC_MW_BIND_ERR,
	 [](Try &t) { return t.p.bind(t.two.mw, t.r, 0, 0, 0); }},
	{"the key that it has", IBV_WC_MW_BIND_ERR,
	 [](Try &t) {
		 return t.p.bind_key(t.two.mw, t.two.mw->rkey, t.r.mr,
				     t.r.addr(), 8, rw);
	 }},
	{"a window that does not exist", IBV_WC_MW_BIND_ERR,
	 [](Try &t) {
		 ibv_mw other = *t.two.mw;

		 other.rkey ^= 0x12345600;
		 return t.p.bind_key(&other, other.rkey + 1, t.r.mr, t.r.addr(),
				     8, rw);
	 }},
	{"type 2 that is bound", IBV_WC_MW_BIND_ERR,
	 [](Try &t) {
		 ibv_wc_status st = t.p.bind(t.two.mw, t.r, t.r.addr(), 8, rw);

		 if (st != IBV_WC_SUCCESS)
			 return IBV_WC_GENERAL_ERR;
		 return t.p.bind(t.two.mw, t.r, t.r.addr(), 8, rw);
	 }},
	{"a region of another domain", IBV_WC_MW_BIND_ERR,
	 [](Try &t) {
		 Pd pd(t.d);
		 Region r(pd.pd, bindable);

		 return t.p.bind(t.two.mw, r, r.addr(), 8, rw);
	 }},
	{"a window of another domain", IBV_WC_MW_BIND_ERR,
	 [](Try &t) {
		 Pd pd(t.d);
		 Window w(pd.pd, IBV_MW_TYPE_2);

		 return t.p.bind(w.mw, t.r, t.r.addr(), 8, rw);
	 }},
	{"LOCAL_INV of a region", IBV_WC_MW_BIND_ERR,
	 [](Try &t) { return t.p.invalidate(t.r.mr->rkey); }},
	{"LOCAL_INV of type 1", IBV_WC_MW_BIND_ERR,
	 [](Try &t) {
		 if (t.p.bind(t.one.mw, t.r, t.r.addr(), 8, rw))
			 return IBV_WC_GENERAL_ERR;
		 return t.p.invalidate(t.one.mw->rkey);
	 }},
	{"LOCAL_INV by another queue pair", IBV_WC_MW_BIND_ERR,
	 [](Try &t) {
		 Pair q(t.d);

		 if (t.p.bind(t.two.mw, t.r, t.r.addr(), 8, rw))
			 return IBV_WC_GENERAL_ERR;
		 return q.invalidate(t.two.mw->rkey);
	 }},
	{"LOCAL_INV of an unknown key", IBV_WC_MW_BIND_ERR,
	 [](Try &t) { return t.p.invalidate(0x77); }},
	{"SEND_WITH_INV of a region", IBV_WC_REM_ACCESS_ERR,
	 [](Try &t) { return t.p.send_inv(t.r.mr->rkey); }},
	{"SEND_WITH_INV of type 1", IBV_WC_REM_ACCESS_ERR,
	 [](Try &t) {
		 if (t.p.bind(t.one.mw, t.r, t.r.addr(), 8, rw))
			 return IBV_WC_GENERAL_ERR;
		 return t.p.send_inv(t.one.mw->rkey);
	 }},
	{"SEND_WITH_INV over another queue pair", IBV_WC_REM_ACCESS_ERR,
	 [](Try &t) {
		 Pair q(t.d);

		 if (t.p.bind(t.two.mw, t.r, t.r.addr(), 8, rw))
			 return IBV_WC_GENERAL_ERR;
		 return q.send_inv(t.two.mw->rkey);
	 }},
	{"the key of a window as a local one", IBV_WC_LOC_PROT_ERR,
	 [](Try &t) {
		 ibv_send_wr wr{};
		 ibv_sge sge{t.r.addr(), 8, 0};

		 if (t.p.bind(t.two.mw, t.r, t.r.addr(), 8, rw))
			 return IBV_WC_GENERAL_ERR;
		 sge.lkey = t.two.mw->rkey;
		 wr.opcode = IBV_WR_RDMA_WRITE;
		 wr.sg_list = &sge;
		 wr.num_sge = 1;
		 return t.p.run(t.p.b, wr);
	 }},
};
} // namespace

void test_windows_refused(Dev &d, tap::Report &report)
{
	for (const Case &k : cases)
		report.run(k.name, [&](Check &c) {
			Region r(d.pd, bindable);
			Window one(d.pd, IBV_MW_TYPE_1);
			Window two(d.pd, IBV_MW_TYPE_2);
			Pair p(d);
			Try t{d, p, r, one, two};

			c.eq(k.run(t), k.want, "status");
			c.err(one.drop(), 0, "freeing the window");
			c.err(two.drop(), 0, "freeing the window");
			c.err(r.dereg(), 0, "deregistering the region");
		});
}

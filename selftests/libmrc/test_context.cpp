// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device query, versions, contexts, several of them on one device, devices of
 * another kind, NULL everywhere, and the orders in which programs let go.
 */
#include <array>
#include <cstring>

#include <mrc_ctl.h>

#include "objects.hpp"
#include "tests.hpp"

namespace
{
/* What a program passes that was built for a version that knew no second. */
mrc_context_attr versions(uint32_t api, uint32_t vendor)
{
	mrc_context_attr a{};

	a.mrc_api_version_used = api;
	a.mrc_vendor_api_version_used = vendor;
	return a;
}

void library_versions(Check &c)
{
	uint32_t v[4] = {9, 9, 9, 9};

	mrc_query_version(&v[0], &v[1], &v[2], &v[3]);
	c.eq(v[0], 0x01000001u, "current");
	c.eq(v[1], 0u, "last supported");
	c.eq(v[2], 0x01000000u, "vendor");
	c.eq(v[3], 0u, "last supported vendor");
	for (unsigned mask = 0; mask < 16; mask++) {
		uint32_t w[4] = {9, 9, 9, 9};

		mrc_query_version(
			mask & 1 ? &w[0] : nullptr, mask & 2 ? &w[1] : nullptr,
			mask & 4 ? &w[2] : nullptr, mask & 8 ? &w[3] : nullptr);
		for (unsigned i = 0; i < 4; i++)
			c.eq(w[i], mask & 1u << i ? v[i] : 9u,
			     "version " + std::to_string(i) + " of mask " +
				     std::to_string(mask));
	}
}

void device_attr_ok(Check &c, const mrc_device_attr &a)
{
	c.eq(a.mrc_protocol_version, 1u, "protocol versions");
	c.that(a.wimm_attr.max_wimm > 0, "max_wimm is 0");
	c.that(a.wimm_attr.max_wimm_dest > 0, "max_wimm_dest is 0");
	c.that(a.mpr_attr.max_mpr > 0, "max_mpr is 0");
	c.that(a.mpr_attr.mpr_resolution > 0, "mpr_resolution is 0");
	c.that(a.qp_attr.max_qp_hint > 0, "max_qp_hint is 0");
	c.eq(a.cap & ~7u, 0u, "unknown capabilities");
}

/* Programs may know of no more than 20 bytes, and initialise none of them. */
void device(Check &c, const Devices &d)
{
	const Verbs verbs = open_device(d.a);
	const Verbs again = open_device(d.a);
	const Verbs other = open_device(d.b);
	const Context ctx = make_context(verbs.get());
	Pages page(1);
	auto *attr = reinterpret_cast<mrc_device_attr *>(page.end() - 20);
	std::array<uint8_t, 20> first{};
	int supported = 7;

	std::memset(page.data(), 0xa5, page.size());
	c.minus1(0, "query", [&] {
		return mrc_query_device(verbs.get(), attr, &supported);
	});
	c.eq(supported, 1, "supported");
	c.eq(page.end()[-21], 0xa5, "the byte before");
	device_attr_ok(c, *attr);
	std::memcpy(first.data(), attr, first.size());

	for (mrc_context *with :
	     {static_cast<mrc_context *>(nullptr), ctx.get()}) {
		std::memset(page.data(), 0xa5, page.size());
		supported = 7;
		c.minus1(0, "query_ex", [&] {
			return mrc_query_device_ex(verbs.get(), with, attr,
						   &supported);
		});
		c.eq(supported, 1, "supported by query_ex");
		c.eq(page.end()[-21], 0xa5, "the byte before, query_ex");
		c.that(!std::memcmp(page.end() - 20, first.data(), 20),
		       "query_ex differs");
	}
	for (ibv_context *foreign : {again.get(), other.get()})
		c.minus1(EINVAL, "query_ex, another ibv_context", [&] {
			return mrc_query_device_ex(foreign, ctx.get(), attr,
						   &supported);
		});
}

void accepted(Check &c, const Devices &d)
{
	const Verbs verbs = open_device(d.a);
	struct {
		const char *what;
		mrc_context_attr attr;
	} good[] = {
		{"{0,0}", versions(0, 0)},
		{"{1,0}", versions(1, 0)},
		{"{1.0.0,0}", versions(0x01000000, 0)},
		{"{1.0.1,1.0.1}", versions(0x01000001, 0x01000001)},
		{"{1.0.1,latest}", versions(0x01000001, ~0u)},
		{"{0,latest}", versions(0, ~0u)},
		{"{latest,garbage}", versions(~0u, 0xa5a5a5a5)},
		{"{0.255.65535,0}", versions(0x00ffffff, 0)},
	};
	struct {
		const char *what;
		uint32_t api;
	} bad[] = {
		{"{1.0.2}", 0x01000002},
		{"{1.1.0}", 0x01010000},
		{"{2.0.0}", 0x02000000},
		{"{255.255.65534}", 0xfffffffe},
	};

	c.that(make_context(verbs.get()) != nullptr, "NULL attributes");
	for (auto &g : good) {
		const Context ctx(mrc_create_context(verbs.get(), &g.attr));

		c.that(ctx != nullptr, std::string(g.what) + " is refused");
	}
	for (const auto &b : bad)
		for (uint32_t vendor : {0u, 0x01000000u, ~0u}) {
			mrc_context_attr attr = versions(b.api, vendor);

			c.null(ENOTSUP, b.what, [&] {
				return mrc_create_context(verbs.get(), &attr);
			});
		}
}

/* The vendor's version came with 1.0.1: who says less has 4 bytes. */
void small_attr(Check &c, const Devices &d)
{
	const Verbs verbs = open_device(d.a);
	Pages page(1);
	auto *attr = reinterpret_cast<uint32_t *>(page.end()) - 1;

	for (uint32_t v : {0u, 1u, 0x01000000u, ~0u}) {
		*attr = v;
		const Context ctx(mrc_create_context(
			verbs.get(),
			reinterpret_cast<mrc_context_attr *>(attr)));

		c.that(ctx != nullptr, "4 bytes, version " + std::to_string(v));
	}
}

/* A context stays as long as it has children, of every kind. */
void children(Check &c, const Devices &d)
{
	Node n(d.a);

	const auto busy = [&](const char *what) {
		c.minus1(EBUSY, what,
			 [&] { return mrc_destroy_context(n.ctx.get()); });
	};
	{
		const Channel ch = make_channel(n);
		busy("with a channel");
	}
	{
		const Cq cq = make_cq(n);
		busy("with a CQ");
		{
			const Qp qp = make_qp(n, cq.get());
			busy("with a QP");
		}
		busy("with a CQ again");
	}
	{
		const Hint hint = make_hint(n.ctx.get());
		busy("with a hint");
	}
	{
		const Cq ev(mrc_ctl_create_ev_event_cq(n.ctx.get(), 4, nullptr,
						       nullptr, 0));
		c.that(ev != nullptr, "no queue of EV events");
		busy("with a queue of EV events");
	}
	c.minus1(0, "without children",
		 [&] { return mrc_destroy_context(n.ctx.release()); });
}

/* Two contexts on one ibv_context are apart, and both work. */
void two_contexts(Check &c, const Devices &d)
{
	Node n(d.a);
	const Context second = make_context(n.verbs.get());
	const Cq cq1 = make_cq(n);
	const Cq cq2(must(mrc_create_cq(second.get(), 16, nullptr, nullptr, 0),
			  "CQ"));
	const Hint hint2 = make_hint(second.get());
	mrc_comp_channel *ch = nullptr;

	must(mrc_create_comp_channel(second.get(), &ch), "channel");
	const Channel ch2(ch);

	c.null(EINVAL, "CQ with a foreign channel",
	       [&] { return mrc_create_cq(n.ctx.get(), 4, nullptr, ch, 0); });
	for (int which = 1; which < 4; which++) {
		mrc_qp_init_attr init =
			qp_init(n, which & 1 ? cq2.get() : cq1.get(),
				which & 2 ? cq2.get() : cq1.get());

		c.null(EINVAL, "QP with foreign CQs",
		       [&] { return mrc_create_qp(n.ctx.get(), &init); });
	}
	/* The PD is of the ibv_context, which they share. */
	mrc_qp_init_attr init = qp_init(n, cq2.get(), cq2.get());
	const Qp qp2(must(mrc_create_qp(second.get(), &init), "QP"));
	const Qp qp1 = make_qp(n, cq1.get());
	ibv_qp_attr attr = init_attr();
	mrc_qp_attr mattr{};

	mattr.qp_hint = hint2.get();
	c.err(EINVAL, "foreign hint", [&] {
		return mrc_modify_qp(qp1.get(), &attr, init_mask, &mattr,
				     MRC_QP_HINT);
	});
	c.eq(state(qp1.get()), IBV_QPS_RESET, "state after a foreign hint");
	c.err(0, "own hint", [&] {
		return mrc_modify_qp(qp2.get(), &attr, init_mask, &mattr,
				     MRC_QP_HINT);
	});
	bring(n, qp1.get(), IBV_QPS_RTS);
	c.eq(state(qp1.get()), IBV_QPS_RTS, "state of the first one's QP");
	c.eq(state(qp2.get()), IBV_QPS_INIT, "state of the second one's QP");
}

/* A second ibv_context is another one, though of the same device. */
void foreign_pd(Check &c, const Devices &d)
{
	Node n(d.a), same(d.a), other(d.b);
	const Cq cq = make_cq(n);

	for (const Node *f : {&same, &other}) {
		mrc_qp_init_attr init = qp_init(n, cq.get(), cq.get());

		init.pd = f->pd.get();
		c.null(EINVAL, "QP with a foreign PD",
		       [&] { return mrc_create_qp(n.ctx.get(), &init); });
	}
}

/* --- devices of another kind ------------------------------------------ */

void foreign_device(Check &c, const Devices &d)
{
	const Verbs mrc = open_device(d.a);
	const Verbs verbs = open_device(d.b);
	const Context ctx = make_context(mrc.get());
	mrc_ctl_device_attr ctl{};
	mrc_device_attr attr;
	int supported = 7;

	std::memset(&attr, 0xa5, sizeof(attr));
	c.minus1(0, "query", [&] {
		return mrc_query_device(verbs.get(), &attr, &supported);
	});
	c.eq(supported, 0, "supported");
	supported = 7;
	c.minus1(0, "query_ex", [&] {
		return mrc_query_device_ex(verbs.get(), nullptr, &attr,
					   &supported);
	});
	c.eq(supported, 0, "supported by query_ex");
	c.minus1(EINVAL, "query_ex with a context of another device", [&] {
		return mrc_query_device_ex(verbs.get(), ctx.get(), &attr,
					   &supported);
	});
	c.minus1(ENOTSUP, "controller's query",
		 [&] { return mrc_ctl_query_device(verbs.get(), &ctl); });
	c.null(ENOTSUP, "context",
	       [&] { return mrc_create_context(verbs.get(), nullptr); });

	Node n(d.a);
	const Pd pd(must(ibv_alloc_pd(verbs.get()), "PD"));
	const Cq cq = make_cq(n);
	mrc_qp_init_attr init = qp_init(n, cq.get(), cq.get());

	init.pd = pd.get();
	c.null(EINVAL, "QP with its PD",
	       [&] { return mrc_create_qp(n.ctx.get(), &init); });
}

/* --- NULL ------------------------------------------------------------- */

void null_contexts(Check &c, const Devices &d)
{
	const Verbs verbs = open_device(d.a);
	mrc_device_attr attr;
	int supported;

	c.minus1(EINVAL, "query_device(NULL context)",
		 [&] { return mrc_query_device(nullptr, &attr, &supported); });
	c.minus1(EINVAL, "query_device(NULL attr)", [&] {
		return mrc_query_device(verbs.get(), nullptr, &supported);
	});
	c.minus1(EINVAL, "query_device(NULL supported)",
		 [&] { return mrc_query_device(verbs.get(), &attr, nullptr); });
	c.minus1(EINVAL, "query_device_ex(NULL context)", [&] {
		return mrc_query_device_ex(nullptr, nullptr, &attr, &supported);
	});
	c.minus1(EINVAL, "query_device_ex(NULL attr)", [&] {
		return mrc_query_device_ex(verbs.get(), nullptr, nullptr,
					   &supported);
	});
	c.minus1(EINVAL, "query_device_ex(NULL supported)", [&] {
		return mrc_query_device_ex(verbs.get(), nullptr, &attr,
					   nullptr);
	});
	c.null(EINVAL, "create_context(NULL)",
	       [] { return mrc_create_context(nullptr, nullptr); });
	c.minus1(EINVAL, "destroy_context(NULL)",
		 [] { return mrc_destroy_context(nullptr); });
}

void null_queues(Check &c, const Devices &d)
{
	Node n(d.a);
	const Channel ch = make_channel(n);
	const Cq cq = make_cq(n);
	mrc_comp_channel *none = ch.get();
	mrc_cq *which;
	ibv_wc wc;
	void *arg;
	int fd;

	c.err(EINVAL, "create_comp_channel(NULL context)",
	      [&] { return mrc_create_comp_channel(nullptr, &none); });
	c.that(!none, "*channel is not NULL");
	c.err(EINVAL, "create_comp_channel(NULL)",
	      [&] { return mrc_create_comp_channel(n.ctx.get(), nullptr); });
	c.minus1(EINVAL, "get_comp_channel_fd(NULL channel)",
		 [&] { return mrc_get_comp_channel_fd(nullptr, &fd); });
	c.minus1(EINVAL, "get_comp_channel_fd(NULL)",
		 [&] { return mrc_get_comp_channel_fd(ch.get(), nullptr); });
	c.err(EINVAL, "destroy_comp_channel(NULL)",
	      [] { return mrc_destroy_comp_channel(nullptr); });
	c.null(EINVAL, "create_cq(NULL)",
	       [] { return mrc_create_cq(nullptr, 4, nullptr, nullptr, 0); });
	c.minus1(EINVAL, "poll_cq(NULL)",
		 [&] { return mrc_poll_cq(nullptr, 1, &wc); });
	c.minus1(EINVAL, "poll_cq(NULL wc)",
		 [&] { return mrc_poll_cq(cq.get(), 1, nullptr); });
	c.err(EINVAL, "destroy_cq(NULL)",
	      [] { return mrc_destroy_cq(nullptr); });
	c.err(EINVAL, "req_notify_cq(NULL)",
	      [] { return mrc_req_notify_cq(nullptr, 0); });
	c.minus1(EINVAL, "get_cq_event(NULL channel)",
		 [&] { return mrc_get_cq_event(nullptr, &which, &arg); });
	c.minus1(EINVAL, "get_cq_event(NULL cq)",
		 [&] { return mrc_get_cq_event(ch.get(), nullptr, &arg); });
	c.minus1(EINVAL, "get_cq_event(NULL cq_context)",
		 [&] { return mrc_get_cq_event(ch.get(), &which, nullptr); });
	mrc_ack_cq_events(nullptr, 1);
	mrc_ack_cq_events(cq.get(), 0);
}

void null_qps(Check &c, const Devices &d)
{
	Node n(d.a);
	const Cq cq = make_cq(n);
	const Qp qp = make_qp(n, cq.get());
	mrc_qp_init_attr init{};
	ibv_send_wr *bad_send, send{};
	ibv_recv_wr *bad_recv, recv{};
	ibv_qp_attr attr{};
	mrc_qp_attr mattr{};
	uint32_t qpn;

	c.null(EINVAL, "create_qp(NULL context)",
	       [&] { return mrc_create_qp(nullptr, &init); });
	c.null(EINVAL, "create_qp(NULL)",
	       [&] { return mrc_create_qp(n.ctx.get(), nullptr); });
	c.err(EINVAL, "destroy_qp(NULL)",
	      [] { return mrc_destroy_qp(nullptr); });
	c.err(EINVAL, "query_qp(NULL)", [&] {
		return mrc_query_qp(nullptr, &attr, IBV_QP_STATE, nullptr, 0,
				    nullptr);
	});
	c.err(EINVAL, "query_qp(NULL vattr, mask)", [&] {
		return mrc_query_qp(qp.get(), nullptr, IBV_QP_STATE, nullptr, 0,
				    nullptr);
	});
	c.err(EINVAL, "query_qp(NULL mrc_attr, mask)", [&] {
		return mrc_query_qp(qp.get(), &attr, 0, nullptr, MRC_QP_MPR,
				    nullptr);
	});
	c.err(0, "query_qp(nothing at all)", [&] {
		return mrc_query_qp(qp.get(), nullptr, 0, nullptr, 0, nullptr);
	});
	attr.qp_state = IBV_QPS_INIT;
	c.err(EINVAL, "modify_qp(NULL)", [&] {
		return mrc_modify_qp(nullptr, &attr, IBV_QP_STATE, nullptr, 0);
	});
	c.err(EINVAL, "modify_qp(NULL vattr, mask)", [&] {
		return mrc_modify_qp(qp.get(), nullptr, IBV_QP_STATE, &mattr,
				     0);
	});
	c.err(EINVAL, "modify_qp(NULL mrc_attr, mask)", [&] {
		return mrc_modify_qp(qp.get(), &attr, IBV_QP_STATE, nullptr,
				     MRC_QP_MPR);
	});
	c.eq(state(qp.get()), IBV_QPS_RESET, "state");
	c.minus1(EINVAL, "get_qpn(NULL qp)",
		 [&] { return mrc_get_qpn(nullptr, &qpn); });
	c.minus1(EINVAL, "get_qpn(NULL)",
		 [&] { return mrc_get_qpn(qp.get(), nullptr); });
	bad_send = nullptr;
	c.err(EINVAL, "post_send(NULL)",
	      [&] { return mrc_post_send(nullptr, &send, &bad_send); });
	c.that(bad_send == &send, "bad_wr of post_send(NULL)");
	bad_recv = nullptr;
	c.minus1(EINVAL, "post_recv(NULL)",
		 [&] { return mrc_post_recv(nullptr, &recv, &bad_recv); });
	c.that(bad_recv == &recv, "bad_wr of post_recv(NULL)");
	/* Where a program does not want to know which. */
	c.err(EINVAL, "post_send in RESET, NULL bad_wr",
	      [&] { return mrc_post_send(qp.get(), &send, nullptr); });
	c.minus1(EINVAL, "post_recv in RESET, NULL bad_wr",
		 [&] { return mrc_post_recv(qp.get(), &recv, nullptr); });
}

void null_hints(Check &c, const Devices &d)
{
	const Verbs verbs = open_device(d.a);
	const Context ctx = make_context(verbs.get());
	const Hint hint = make_hint(ctx.get());
	mrc_qp_hint_init_attr init{};
	mrc_qp_hint_attr attr{};
	mrc_async_event ev;

	c.null(EINVAL, "create_qp_hint(NULL context)",
	       [&] { return mrc_create_qp_hint(nullptr, &init); });
	c.null(EINVAL, "create_qp_hint(NULL)",
	       [&] { return mrc_create_qp_hint(ctx.get(), nullptr); });
	c.minus1(EINVAL, "destroy_qp_hint(NULL)",
		 [] { return mrc_destroy_qp_hint(nullptr); });
	for (auto *call : {mrc_query_qp_hint, mrc_modify_qp_hint}) {
		c.minus1(EINVAL, "query or modify of hint NULL",
			 [&] { return call(nullptr, &attr, 1); });
		c.minus1(EINVAL, "query or modify to NULL",
			 [&] { return call(hint.get(), nullptr, 1); });
	}
	c.minus1(EINVAL, "get_async_event(NULL context)",
		 [&] { return mrc_get_async_event(nullptr, &ev); });
	c.minus1(EINVAL, "get_async_event(NULL)",
		 [&] { return mrc_get_async_event(ctx.get(), nullptr); });
	mrc_ack_async_event(nullptr);
}

/* --- letting go ------------------------------------------------------- */

/* As the public benchmark: queue pair, queues, memory, PD, then the context. */
void pd_before_context(Check &c, const Devices &d)
{
	Node n(d.a);
	Pages mem(4096);
	Mr mr(must(ibv_reg_mr(n.pd.get(), mem.data(), mem.size(),
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
		   "MR"));
	Cq cq = make_cq(n);
	Qp qp = make_qp(n, cq.get());

	bring(n, qp.get(), IBV_QPS_RTS);
	c.err(0, "QP", [&] { return mrc_destroy_qp(qp.release()); });
	c.err(0, "CQ", [&] { return mrc_destroy_cq(cq.release()); });
	c.minus1(0, "MR", [&] { return ibv_dereg_mr(mr.release()); });
	c.minus1(0, "PD", [&] { return ibv_dealloc_pd(n.pd.release()); });
	c.minus1(0, "context",
		 [&] { return mrc_destroy_context(n.ctx.release()); });
	c.minus1(0, "device",
		 [&] { return ibv_close_device(n.verbs.release()); });
}

/* While its queue pair is there, the PD is in use, and not a moment longer. */
void pd_after_qp(Check &c, const Devices &d)
{
	Node n(d.a);
	const Cq cq = make_cq(n);
	Qp qp = make_qp(n, cq.get());

	c.that(ibv_dealloc_pd(n.pd.get()) == EBUSY, "PD with a QP is not busy");
	qp.reset();
	c.eq(ibv_dealloc_pd(n.pd.release()), 0, "PD without its QP");
	n.pd.reset(must(ibv_alloc_pd(n.verbs.get()), "PD"));
	bring(n, make_qp(n, cq.get()).get(), IBV_QPS_RTS);
}

/* Hints last, after the queue pairs and queues, as the verbs shim does it. */
void hints_last(Check &c, const Devices &d)
{
	Node n(d.a);
	Hint hint = make_hint(n.ctx.get());
	Cq cq = make_cq(n);
	Qp qp = make_qp(n, cq.get());
	ibv_qp_attr attr = init_attr();
	mrc_qp_attr mattr{};

	mattr.qp_hint = hint.get();
	must(mrc_modify_qp(qp.get(), &attr, init_mask, &mattr, MRC_QP_HINT),
	     "INIT");
	c.err(EBUSY, "CQ of a QP", [&] { return mrc_destroy_cq(cq.get()); });
	c.err(0, "QP", [&] { return mrc_destroy_qp(qp.release()); });
	c.err(0, "CQ", [&] { return mrc_destroy_cq(cq.release()); });
	c.minus1(EBUSY, "context before its hint",
		 [&] { return mrc_destroy_context(n.ctx.get()); });
	c.minus1(0, "hint",
		 [&] { return mrc_destroy_qp_hint(hint.release()); });
	c.minus1(0, "context",
		 [&] { return mrc_destroy_context(n.ctx.release()); });
}

/* A device that is closed takes nothing along that the context still needs. */
void device_first(Check &c, const Devices &d)
{
	Node n(d.a);

	n.pd.reset();
	c.eq(ibv_close_device(n.verbs.release()), 0, "device");
	c.minus1(0, "context",
		 [&] { return mrc_destroy_context(n.ctx.release()); });
}

/* Every state, with work on its way or without. */
void qp_in_any_state(Check &c, const Devices &d)
{
	Node n(d.a);
	const Cq cq = make_cq(n, 64);

	for (ibv_qp_state s : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
			       IBV_QPS_RTS, IBV_QPS_ERR}) {
		Qp qp = make_qp(n, cq.get());
		ibv_recv_wr recv{}, *bad_recv;
		ibv_send_wr send{}, *bad_send;

		bring(n, qp.get(), s);
		if (s != IBV_QPS_RESET)
			c.minus1(0, "receive", [&] {
				return mrc_post_recv(qp.get(), &recv,
						     &bad_recv);
			});
		if (s == IBV_QPS_RTS) {
			send.opcode = IBV_WR_RDMA_WRITE;
			c.err(0, "send", [&] {
				return mrc_post_send(qp.get(), &send,
						     &bad_send);
			});
		}
		c.err(0, "QP in state " + std::to_string(s),
		      [&] { return mrc_destroy_qp(qp.release()); });
	}
	ibv_wc wc;

	c.eq(mrc_poll_cq(cq.get(), 1, &wc), 0,
	     "completions of QPs that are gone");
}
} // namespace

void test_context(Suite &s, const Devices &d)
{
	s.run("versions of the library", library_versions);
	s.run("device query, plain and extended",
	      [&](Check &c) { device(c, d); });
	s.run("versions that contexts accept and refuse",
	      [&](Check &c) { accepted(c, d); });
	s.run("context attributes of 4 bytes",
	      [&](Check &c) { small_attr(c, d); });
	s.run("a context with children is busy",
	      [&](Check &c) { children(c, d); });
	s.run("two contexts of one ibv_context",
	      [&](Check &c) { two_contexts(c, d); });
	s.run("a PD of another ibv_context",
	      [&](Check &c) { foreign_pd(c, d); });
}

void test_foreign(Suite &s, const Devices &d)
{
	s.run("a device without MRC", [&](Check &c) { foreign_device(c, d); });
}

void test_null(Suite &s, const Devices &d)
{
	s.run("NULL: devices, contexts",
	      [&](Check &c) { null_contexts(c, d); });
	s.run("NULL: queues, channels", [&](Check &c) { null_queues(c, d); });
	s.run("NULL: queue pairs, work requests",
	      [&](Check &c) { null_qps(c, d); });
	s.run("NULL: hints, events", [&](Check &c) { null_hints(c, d); });
}

void test_teardown(Suite &s, const Devices &d)
{
	s.run("PD and MR before the context",
	      [&](Check &c) { pd_before_context(c, d); });
	s.run("a PD after its last queue pair",
	      [&](Check &c) { pd_after_qp(c, d); });
	s.run("hints after all but the context",
	      [&](Check &c) { hints_last(c, d); });
	s.run("the device before the context",
	      [&](Check &c) { device_first(c, d); });
	s.run("queue pairs in every state",
	      [&](Check &c) { qp_in_any_state(c, d); });
}

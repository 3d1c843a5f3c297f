// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: objects that no traffic looks at closely - what may be created,
 * what is refused, in which order things can be destroyed, and what queries
 * answer.
 */
#include <cerrno>
#include <cstring>
#include <vector>

#include "common.h"
#include "pair.h"
#include "resize.h"
#include "tests.h"

namespace
{
constexpr int rw = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

/* A call that has to fail with one of two errors. */
void refused(bool created, const char *what, int e1, int e2)
{
	int err = errno;

	if (created)
		fail("%s was created", what);
	if (err != e1 && err != e2)
		fail("%s was refused with %s", what, std::strerror(err));
}

void memory_regions(Session &s)
{
	Memory mem(4 * 4096);
	ibv_pd *pd = ibv_alloc_pd(s.dev.ctx());

	if (!pd)
		fail("ibv_alloc_pd: %s", std::strerror(errno));
	{
		/* Any length at any address, and two over the same bytes. */
		Mr odd(pd, mem.data() + 4095, 4099, rw);
		Mr one(pd, mem.data() + 4095, 1, rw);
		Mr none(pd, mem.data() + 1, 0, rw);

		if (odd.rkey() == one.rkey() || one.rkey() == none.rkey())
			fail("two memory regions have the same key");
		if (ibv_dealloc_pd(pd) != EBUSY)
			fail("a PD in use was deallocated");
	}
	refused(ibv_reg_mr(pd, mem.data(), 4096, IBV_ACCESS_REMOTE_WRITE),
		"an MR with remote but no local write", EINVAL, EINVAL);
	refused(ibv_reg_mr(pd, nullptr, 4096, rw), "an MR of unmapped memory",
		EFAULT, ENOMEM);
	int ret = ibv_dealloc_pd(pd);

	if (ret)
		fail("ibv_dealloc_pd: %s", std::strerror(ret));
}

/*
 * Protection domains are the cheapest objects with a limit. The second time
 * shows that none was left behind; the session has one of its own.
 */
void limits(Session &s)
{
	size_t max = static_cast<size_t>(s.dev.attr().max_pd);
	std::vector<ibv_pd *> pds;

	if (!s.dev.is_mrc())
		return;
	for (int round = 0; round < 2; round++) {
		for (;;) {
			ibv_pd *pd = ibv_alloc_pd(s.dev.ctx());

			if (!pd)
				break;
			pds.push_back(pd);
			if (pds.size() >= max)
				fail("more than %zu PDs were allocated", max);
		}
		if (errno != ENOMEM)
			fail("PD %zu was refused with %s", pds.size() + 2,
			     std::strerror(errno));
		if (pds.size() + 1 != max)
			fail("%zu of %zu PDs were allocated", pds.size() + 1,
			     max);
		for (ibv_pd *pd : pds) {
			int ret = ibv_dealloc_pd(pd);

			if (ret)
				fail("ibv_dealloc_pd: %s", std::strerror(ret));
		}
		pds.clear();
	}
}

void address_handles(Session &s)
{
	ibv_ah_attr a = ah_attr(s.dev, s.dev.gid().raw);
	int ret = ibv_destroy_ah(create_ah(s.dev, a));

	if (ret)
		fail("ibv_destroy_ah: %s", std::strerror(ret));
	a.port_num = 200;
	refused(ibv_create_ah(s.dev.pd(), &a), "an AH on port 200", EINVAL,
		ENODEV);
}

void completion_queues(Session &s)
{
	const ibv_device_attr &d = s.dev.attr();
	ibv_context *ctx = s.dev.ctx();

	refused(ibv_create_cq(ctx, 0, nullptr, nullptr, 0), "a CQ of 0", EINVAL,
		EINVAL);
	refused(ibv_create_cq(ctx, d.max_cqe + 1, nullptr, nullptr, 0),
		"a CQ longer than the limit", EINVAL, EINVAL);
	refused(ibv_create_cq(ctx, 16, nullptr, nullptr, 1 << 20),
		"a CQ with a wild vector", EINVAL, EINVAL);
	if (s.dev.is_mrc()) {
		ibv_cq_init_attr_ex a{};

		a.cqe = 16;
		a.wc_flags = IBV_WC_EX_WITH_CVLAN;
		refused(ibv_create_cq_ex(ctx, &a), "a CQ with VLAN tags",
			EOPNOTSUPP, EOPNOTSUPP);
		a.wc_flags = 0;
		a.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
		a.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
		refused(ibv_create_cq_ex(ctx, &a), "a CQ that may overrun",
			EOPNOTSUPP, EOPNOTSUPP);
	}
	Cq cq(s.dev, {});

	for (int n : {1, 1000, 7}) {
		cq.resize(n);
		if (cq.get()->cqe < n)
			fail("CQ resized to %d has %d", n, cq.get()->cqe);
	}
	if (!ibv_resize_cq(cq.get(), 0) ||
	    !ibv_resize_cq(cq.get(), d.max_cqe + 1))
		fail("a CQ was resized to an impossible length");
}

void queue_pairs(Session &s)
{
	Cq send_cq(s.dev, {}), recv_cq(s.dev, {});
	Qp qp(s.dev, send_cq, recv_cq, {});
	const ibv_device_attr &d = s.dev.attr();
	QpAddress self = qp.address();
	ibv_qp_attr a{};
	ibv_qp_init_attr i{};

	if (ibv_destroy_cq(send_cq.get()) != EBUSY)
		fail("a CQ in use was destroyed");
	qp.to_init();
	qp.to_rtr(self, s.t);
	qp.to_rts(s.t);
	int ret = ibv_query_qp(qp.get(), &a, 0x1fffff, &i);

	if (ret)
		fail("ibv_query_qp: %s", std::strerror(ret));
	if (a.qp_state != IBV_QPS_RTS || a.dest_qp_num != self.qpn ||
	    a.rq_psn != self.psn || a.timeout != s.t.timeout ||
	    a.retry_cnt != s.t.retry || a.port_num != s.dev.port() ||
	    std::memcmp(a.ah_attr.grh.dgid.raw, self.gid, 16) ||
	    !(a.qp_access_flags & IBV_ACCESS_REMOTE_WRITE))
		fail("ibv_query_qp does not answer what was set");
	if (i.qp_type != IBV_QPT_RC || i.send_cq != send_cq.get() ||
	    i.recv_cq != recv_cq.get() ||
	    i.cap.max_send_wr < qp.cap().max_send_wr)
		fail("ibv_query_qp does not answer what was created");

	i = {};
	i.send_cq = send_cq.get();
	i.recv_cq = recv_cq.get();
	i.qp_type = IBV_QPT_RC;
	i.cap = {static_cast<uint32_t>(d.max_qp_wr) + 1, 1, 1, 1, 0};
	refused(ibv_create_qp(s.dev.pd(), &i), "a QP with too long a queue",
		EINVAL, ENOMEM);
	i.cap = {1, 1, static_cast<uint32_t>(d.max_sge) + 1, 1, 0};
	refused(ibv_create_qp(s.dev.pd(), &i), "a QP with too many SGEs",
		EINVAL, EINVAL);
	if (!s.dev.is_mrc())
		return;
	for (ibv_qp_type t : {IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER}) {
		i.cap = {1, 1, 1, 1, 0};
		i.qp_type = t;
		refused(ibv_create_qp(s.dev.pd(), &i),
			"a QP of a type there is not", EOPNOTSUPP, EPERM);
	}

	/* The interface that posts operations the device does not have. */
	ibv_qp_init_attr_ex x{};

	x.send_cq = send_cq.get();
	x.recv_cq = recv_cq.get();
	x.qp_type = IBV_QPT_RC;
	x.cap = {1, 1, 1, 1, 0};
	x.pd = s.dev.pd();
	x.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	x.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_TSO;
	refused(ibv_create_qp_ex(s.dev.ctx(), &x), "a QP that segments",
		EOPNOTSUPP, EOPNOTSUPP);

	ibv_srq_init_attr srq{};

	srq.attr = {static_cast<uint32_t>(d.max_srq_wr) + 1, 1, 0};
	refused(ibv_create_srq(s.dev.pd(), &srq), "too long an SRQ", EINVAL,
		EINVAL);
	srq.attr = {16, static_cast<uint32_t>(d.max_srq_sge) + 1, 0};
	refused(ibv_create_srq(s.dev.pd(), &srq), "an SRQ with too many SGEs",
		EINVAL, EINVAL);
	srq.attr = {16, 1, 17};
	refused(ibv_create_srq(s.dev.pd(), &srq), "an SRQ with a wild limit",
		EINVAL, EINVAL);
}

void clock_and_ports(Session &s)
{
	ibv_device_attr_ex x{};
	ibv_values_ex before{}, after{};

	if (!s.dev.is_mrc())
		return;
	if (ibv_query_device_ex(s.dev.ctx(), nullptr, &x))
		fail("ibv_query_device_ex failed");
	if (x.completion_timestamp_mask != UINT64_MAX ||
	    x.hca_core_clock != 1000000)
		fail("the completion clock does not count nanoseconds");
	before.comp_mask = after.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	if (ibv_query_rt_values_ex(s.dev.ctx(), &before) ||
	    ibv_query_rt_values_ex(s.dev.ctx(), &after))
		fail("ibv_query_rt_values_ex failed");
	if (!before.raw_clock.tv_nsec ||
	    after.raw_clock.tv_nsec < before.raw_clock.tv_nsec)
		fail("the device's clock does not go forward");
	for (uint8_t p = 1; p <= x.orig_attr.phys_port_cnt; p++) {
		ibv_port_attr a{};

		if (ibv_query_port(s.dev.ctx(), p, &a))
			fail("cannot query port %u", p);
		if (a.link_layer != IBV_LINK_LAYER_ETHERNET ||
		    a.active_mtu > a.max_mtu || a.gid_tbl_len < 1 ||
		    a.max_msg_sz < 1u << 30)
			fail("attributes of port %u make no sense", p);
	}
}
} // namespace

void test_objects(Session &s)
{
	if (s.client) {
		memory_regions(s);
		address_handles(s);
		completion_queues(s);
		queue_pairs(s);
		resize_from_threads(s);
		clock_and_ports(s);
		limits(s);
		drain_async(s.dev);
	}
	s.oob.barrier(12);
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: queues with thousands of work requests are flushed. The driver
 * does that a part at a time.
 */
#include <cerrno>
#include <cstring>
#include <poll.h>

#include "common.h"
#include "pair.h"
#include "tests.h"

namespace
{
/* More than four parts. */
constexpr unsigned many = 5000;
constexpr uint32_t qkey = 0x11223344;

std::vector<Wc> take(Cq &cq, size_t n)
{
	const double end = now_s() + 60 * slowness();
	std::vector<Wc> w;

	while (w.size() < n) {
		if (!cq.poll(w, n - w.size()) && now_s() > end)
			fail("%zu completions of %zu", w.size(), n);
	}
	return w;
}

/* All of @n from @from on, in order, and no other. */
void expect_flushed(Cq &cq, uint64_t from, size_t n, const char *what)
{
	for (const Wc &w : take(cq, n)) {
		if (w.wr_id != from || w.status != IBV_WC_WR_FLUSH_ERR)
			fail("%s: completion %llu (%s) instead of %llu", what,
			     static_cast<unsigned long long>(w.wr_id),
			     ibv_wc_status_str(w.status),
			     static_cast<unsigned long long>(from));
		from++;
	}
	::poll(nullptr, 0, 50);
	std::vector<Wc> more;

	if (cq.poll(more))
		fail("%s: more completions than work requests", what);
}

void post_recvs(ibv_qp *qp, uint64_t from, unsigned n)
{
	std::vector<ibv_recv_wr> wrs(n);
	ibv_recv_wr *bad;

	for (unsigned i = 0; i < n; i++) {
		wrs[i] = {};
		wrs[i].wr_id = from + i;
		wrs[i].next = i + 1 < n ? &wrs[i + 1] : nullptr;
	}
	int ret = ibv_post_recv(qp, wrs.data(), &bad);

	if (ret)
		fail("ibv_post_recv: %s", std::strerror(ret));
}

/* As @first, with other numbers. @spoiled: the first one has a wrong key. */
void post_sends(ibv_qp *qp, const ibv_send_wr &first, uint64_t from, unsigned n,
		bool spoiled = false)
{
	std::vector<ibv_send_wr> wrs(n, first);
	ibv_sge wrong{first.sg_list->addr, first.sg_list->length, ~0u};
	ibv_send_wr *bad;

	for (unsigned i = 0; i < n; i++) {
		wrs[i].wr_id = from + i;
		wrs[i].next = i + 1 < n ? &wrs[i + 1] : nullptr;
	}
	if (spoiled)
		wrs[0].sg_list = &wrong;
	int ret = ibv_post_send(qp, wrs.data(), &bad);

	if (ret)
		fail("ibv_post_send: %s", std::strerror(ret));
}

void to_state(ibv_qp *qp, ibv_qp_attr a, ibv_qp_state to, int mask)
{
	a.qp_state = to;
	int ret = ibv_modify_qp(qp, &a, IBV_QP_STATE | mask);

	if (ret)
		fail("to state %d: %s", to, std::strerror(ret));
}

/* Sends to nobody: nothing is acknowledged, and the driver has taken all of it.
 */
void unanswered(Session &s, const ibv_send_wr &wr)
{
	constexpr unsigned part = 50;
	Cq send_cq(s.dev, {.cqe = 2 * many}), recv_cq(s.dev, {});
	Qp::Config c;

	c.max_send = many;
	Qp qp(s.dev, send_cq, recv_cq, c);
	QpAddress nobody = qp.address();
	TestOptions patient = s.t;

	nobody.qpn ^= 0x10000;
	/* No retries run out before all is posted, on a slow machine either. */
	patient.timeout = 24;
	qp.to_init();
	qp.to_rtr(nobody, patient);
	qp.to_rts(patient);
	for (unsigned n = 0; n < many; n += part)
		post_sends(qp.get(), wr, n, part);
	qp.to_error();
	expect_flushed(send_cq, 0, many, "sends under way");
	post_sends(qp.get(), wr, many, many);
	expect_flushed(send_cq, many, many, "sends after them");
}

/* In SQD nothing is sent, so all of it is still in the queue. */
void connected(Session &s, const ibv_send_wr &wr, bool leave)
{
	Cq send_cq(s.dev, {.cqe = 2 * many}), recv_cq(s.dev, {.cqe = 2 * many});
	Qp::Config c;

	c.max_send = c.max_recv = many;
	Qp qp(s.dev, send_cq, recv_cq, c);

	qp.to_init();
	qp.to_rtr(qp.address(), s.t);
	qp.to_rts(s.t);
	to_state(qp.get(), {}, IBV_QPS_SQD, 0);
	post_recvs(qp.get(), 0, many);
	post_sends(qp.get(), wr, 0, many);
	qp.to_error();
	/* Destroyed while the rest is being flushed. */
	if (leave)
		return;
	expect_flushed(recv_cq, 0, many, "receives");
	expect_flushed(send_cq, 0, many, "sends");
	post_recvs(qp.get(), many, many);
	post_sends(qp.get(), wr, many, many);
	expect_flushed(recv_cq, many, many, "receives in ERROR");
	expect_flushed(send_cq, many, many, "sends in ERROR");
	qp.to_reset();
}

/* A bad work request stops the sends of a datagram QP only. */
void sends_stopped(Cq &cq, ibv_qp *qp, const ibv_send_wr &wr)
{
	for (uint64_t round = 0; round < 2; round++) {
		post_sends(qp, wr, 0, many, true);
		const Wc w = take(cq, 1)[0];

		if (w.wr_id || w.status != IBV_WC_LOC_PROT_ERR)
			fail("a wrong key: completion %llu (%s)",
			     static_cast<unsigned long long>(w.wr_id),
			     ibv_wc_status_str(w.status));
		/* Those that were flushed already are in the queue, too. */
		ibv_qp_attr a{};

		a.cur_qp_state = IBV_QPS_SQE;
		to_state(qp, a, IBV_QPS_RTS, IBV_QP_CUR_STATE);
		expect_flushed(cq, 1, many - 1, "sends in SQE");
		post_sends(qp, wr, many, 1);
		const Wc good = take(cq, 1)[0];

		if (good.wr_id != many || good.status != IBV_WC_SUCCESS)
			fail("after SQE: completion %llu (%s)",
			     static_cast<unsigned long long>(good.wr_id),
			     ibv_wc_status_str(good.status));
	}
}

void datagrams(Session &s, const ibv_send_wr &first)
{
	Cq send_cq(s.dev, {.cqe = 2 * many}), recv_cq(s.dev, {.cqe = 2 * many});
	ibv_qp_init_attr i{};
	ibv_qp_attr a{};
	ibv_send_wr wr = first;

	i.send_cq = send_cq.get();
	i.recv_cq = recv_cq.get();
	i.qp_type = IBV_QPT_UD;
	i.cap = {many, many, 1, 1, 0};
	ibv_qp *qp = ibv_create_qp(s.dev.pd(), &i);

	if (!qp)
		fail("ibv_create_qp: %s", std::strerror(errno));
	ibv_ah *ah = create_ah(s.dev, ah_attr(s.dev, s.dev.gid().raw));

	a.port_num = s.dev.port();
	a.qkey = qkey;
	to_state(qp, a, IBV_QPS_INIT,
		 IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	to_state(qp, a, IBV_QPS_RTR, 0);
	to_state(qp, a, IBV_QPS_RTS, IBV_QP_SQ_PSN);
	wr.opcode = IBV_WR_SEND;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp->qp_num;
	/* Nobody receives it. */
	wr.wr.ud.remote_qkey = qkey + 1;
	sends_stopped(send_cq, qp, wr);
	post_recvs(qp, 0, many);
	to_state(qp, {}, IBV_QPS_ERR, 0);
	expect_flushed(recv_cq, 0, many, "receives of datagrams");
	post_recvs(qp, many, many);
	post_sends(qp, wr, many, many);
	expect_flushed(recv_cq, many, many, "receives of datagrams in ERROR");
	expect_flushed(send_cq, many, many, "datagrams in ERROR");
	if (ibv_destroy_qp(qp) || ibv_destroy_ah(ah))
		fail("destroying a QP: %s", std::strerror(errno));
}
} // namespace

void test_flush_many(Session &s)
{
	if (s.client) {
		Memory mem(4096);
		Mr mr(s.dev.pd(), mem.data(), mem.size(),
		      IBV_ACCESS_LOCAL_WRITE);
		ibv_sge sge{reinterpret_cast<uintptr_t>(mem.data()), 64,
			    mr.lkey()};
		ibv_send_wr wr{};

		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.wr.rdma.remote_addr = sge.addr;
		connected(s, wr, false);
		for (int n = 0; n < 5; n++)
			connected(s, wr, true);
		unanswered(s, wr);
		datagrams(s, wr);
		drain_async(s.dev);
	}
	s.oob.barrier(12);
}

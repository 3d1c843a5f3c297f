// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs: creation and what it refuses, query in every state, posting in
 * every state.
 */
#include <algorithm>
#include <cstring>

#include <mrc_ctl.h>

#include "pair.hpp"
#include "tests.hpp"

namespace
{
constexpr ibv_qp_state all_states[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
				       IBV_QPS_RTS, IBV_QPS_ERR};

struct BadInit {
	const char *what;
	int err;
	std::function<void(mrc_qp_init_attr &)> spoil;
};

void creation(Check &c, const Devices &d)
{
	Node n(d.a);
	const Cq cq = make_cq(n);
	const Cq ev(must(
		mrc_ctl_create_ev_event_cq(n.ctx.get(), 4, nullptr, nullptr, 0),
		"queue of EV events"));
	const BadInit bad[] = {
		{"no send CQ", EINVAL, [](auto &i) { i.send_cq = nullptr; }},
		{"no receive CQ", EINVAL, [](auto &i) { i.recv_cq = nullptr; }},
		{"no PD", EINVAL, [](auto &i) { i.pd = nullptr; }},
		{"EV events as send CQ", EINVAL,
		 [&](auto &i) { i.send_cq = ev.get(); }},
		{"EV events as receive CQ", EINVAL,
		 [&](auto &i) { i.recv_cq = ev.get(); }},
		{"protocol version 2", EINVAL,
		 [](auto &i) {
			 i.protocol_version =
				 static_cast<mrc_protocol_version>(2);
		 }},
		{"protocol versions 1 and 2", EINVAL,
		 [](auto &i) {
			 i.protocol_version =
				 static_cast<mrc_protocol_version>(3);
		 }},
		{"operation READ", EINVAL,
		 [](auto &i) { i.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ; }},
		{"operations WRITE and SEND", EINVAL,
		 [](auto &i) {
			 i.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE |
					    IBV_QP_EX_WITH_SEND;
		 }},
		{"unknown operation", EINVAL,
		 [](auto &i) { i.send_ops_flags = 1ull << 63; }},
		{"too many sends", EINVAL,
		 [](auto &i) { i.cap.max_send_wr = 1u << 30; }},
		{"too many receives", EINVAL,
		 [](auto &i) { i.cap.max_recv_wr = 1u << 30; }},
		{"too many SGEs to send", EINVAL,
		 [](auto &i) { i.cap.max_send_sge = 1u << 20; }},
		{"too many SGEs to receive", EINVAL,
		 [](auto &i) { i.cap.max_recv_sge = 1u << 20; }},
		{"too long inline data", EINVAL,
		 [](auto &i) { i.cap.max_inline_data = 1u << 24; }},
	};

	for (const BadInit &b : bad) {
		mrc_qp_init_attr init = qp_init(n, cq.get(), cq.get());

		b.spoil(init);
		c.null(b.err, b.what,
		       [&] { return mrc_create_qp(n.ctx.get(), &init); });
	}
	for (unsigned version : {0u, 1u})
		for (uint64_t ops :
		     {0ull, 0ull + IBV_QP_EX_WITH_RDMA_WRITE,
		      0ull + IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
		      0ull + IBV_QP_EX_WITH_RDMA_WRITE +
			      IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM}) {
			mrc_qp_init_attr init = qp_init(n, cq.get(), cq.get());

			init.protocol_version =
				static_cast<mrc_protocol_version>(version);
			init.send_ops_flags = ops;
			c.that(Qp(mrc_create_qp(n.ctx.get(), &init)) != nullptr,
			       "version " + std::to_string(version) +
				       ", operations " + std::to_string(ops));
		}
}

/* What was asked for is there, and what is there is told. */
void capacities(Check &c, const Devices &d)
{
	Node n(d.a);
	const Cq s = make_cq(n), r = make_cq(n);
	mrc_qp_init_attr init = qp_init(n, s.get(), r.get());

	init.cap.max_send_wr = 100;
	init.cap.max_recv_wr = 33;
	init.cap.max_send_sge = 3;
	init.cap.max_recv_sge = 2;
	init.cap.max_inline_data = 64;
	const Qp qp(must(mrc_create_qp(n.ctx.get(), &init), "QP"));

	c.that(init.cap.max_send_wr >= 100, "max_send_wr");
	c.that(init.cap.max_recv_wr >= 33, "max_recv_wr");
	c.that(init.cap.max_send_sge >= 3, "max_send_sge");
	c.that(init.cap.max_recv_sge >= 2, "max_recv_sge");
	/* The NCCL plugin asks for 64 and posts up to 512. */
	c.that(init.cap.max_inline_data >= 512, "max_inline_data");
	mrc_qp_init_attr got{};

	must(mrc_query_qp(qp.get(), nullptr, 0, nullptr, 0, &got), "query");
	c.that(!std::memcmp(&got.cap, &init.cap, sizeof(got.cap)),
	       "the query tells other capacities");
}

/* Programs for some devices take the verbs QP from the start of the object. */
void first_member(Check &c, const Devices &d)
{
	Node n(d.a);
	const Cq cq = make_cq(n);
	const Qp qp = make_qp(n, cq.get()), qp2 = make_qp(n, cq.get());
	ibv_qp *const vqp = *reinterpret_cast<ibv_qp **>(qp.get());
	uint32_t qpn = ~0u;

	c.minus1(0, "get_qpn", [&] { return mrc_get_qpn(qp.get(), &qpn); });
	c.that(qpn > 1 && qpn < 1u << 24, "no number of a QP");
	c.that(vqp && vqp->qp_num == qpn, "the first member is not the QP");
	c.that(vqp && vqp->context == n.verbs.get(), "its context is not ours");
	c.that(num(qp2.get()) != qpn, "two QPs with one number");
}

/* init_attr as it was given, whatever the masks say. */
void query_init(Check &c, const Devices &d)
{
	Node n(d.a);
	const Cq s = make_cq(n), r = make_cq(n);
	mrc_qp_init_attr init = qp_init(n, s.get(), r.get());
	int mine;

	init.qp_context = &mine;
	init.sq_sig_all = 1;
	init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
	for (ibv_qp_state st : all_states) {
		mrc_qp_init_attr got;
		const std::string in = " in state " + std::to_string(st);
		const Qp qp = make_qp(n, init);

		bring(n, qp.get(), st);
		std::memset(static_cast<void *>(&got), 0xa5, sizeof(got));
		c.err(0, "query with masks 0" + in, [&] {
			return mrc_query_qp(qp.get(), nullptr, 0, nullptr, 0,
					    &got);
		});
		c.that(got.qp_context == &mine, "qp_context" + in);
		c.that(got.send_cq == s.get(), "send_cq" + in);
		c.that(got.recv_cq == r.get(), "recv_cq" + in);
		c.that(got.pd == n.pd.get(), "pd" + in);
		c.eq(got.sq_sig_all, 1, "sq_sig_all" + in);
		c.eq(got.send_ops_flags, init.send_ops_flags,
		     "send_ops_flags" + in);
		c.eq(got.protocol_version, MRC_PROTOCOL_VERSION_1,
		     "protocol_version" + in);
		c.that(got.cap.max_send_wr >= 16 && got.cap.max_recv_wr >= 16,
		       "cap" + in);

		ibv_qp_attr attr{};

		c.err(0, "query of the state" + in, [&] {
			return mrc_query_qp(qp.get(), &attr, IBV_QP_STATE,
					    nullptr, 0, nullptr);
		});
		c.eq(attr.qp_state, st, "qp_state" + in);
	}
}

/* Attributes that were set, after every transition. */
void query_attr(Check &c, const Devices &d)
{
	Node n(d.a);
	const Cq cq = make_cq(n);
	const Qp qp = make_qp(n, cq.get());
	const int vmask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_AV |
			  IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			  IBV_QP_SQ_PSN | IBV_QP_CAP;
	ibv_qp_attr attr = init_attr(), got{};

	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	must(mrc_modify_qp(qp.get(), &attr, init_mask, nullptr, 0), "INIT");
	must(mrc_query_qp(qp.get(), &got, vmask, nullptr, 0, nullptr), "query");
	c.eq(got.qp_access_flags, unsigned{IBV_ACCESS_REMOTE_WRITE},
	     "access flags in INIT");
	attr = rtr_attr(n, n.gid, 0xabcdef, 0x123456);
	attr.path_mtu = IBV_MTU_512;
	attr.ah_attr.grh.traffic_class = 0x40;
	must(mrc_modify_qp(qp.get(), &attr, rtr_mask, nullptr, 0), "RTR");
	attr = rts_attr(0x654321);
	must(mrc_modify_qp(qp.get(), &attr, rts_mask, nullptr, 0), "RTS");
	must(mrc_query_qp(qp.get(), &got, vmask, nullptr, 0, nullptr), "query");
	c.eq(got.qp_state, IBV_QPS_RTS, "state");
	c.eq(got.dest_qp_num, 0xabcdefu, "dest_qp_num");
	c.eq(got.rq_psn, 0x123456u, "rq_psn");
	c.eq(got.sq_psn, 0x654321u, "sq_psn");
	c.eq(got.path_mtu, IBV_MTU_512, "path_mtu");
	c.eq(int{got.ah_attr.is_global}, 1, "is_global");
	c.eq(int{got.ah_attr.port_num}, 1, "port_num");
	/* The kernel's RDMA core puts the route's in place of the program's. */
	c.that(got.ah_attr.grh.hop_limit > 0, "hop_limit");
	c.eq(int{got.ah_attr.grh.traffic_class}, 0x40, "traffic_class");
	c.eq(int{got.ah_attr.grh.sgid_index}, n.gid_index, "sgid_index");
	c.that(!std::memcmp(&got.ah_attr.grh.dgid, &n.gid, sizeof(n.gid)),
	       "dgid");

	for (int mask : {1 << 25, 1 << 26, 1 << 30, -1})
		c.err(EINVAL, "verbs mask " + std::to_string(mask), [&] {
			return mrc_query_qp(qp.get(), &got, mask, nullptr, 0,
					    nullptr);
		});
	mrc_qp_attr mattr{};

	for (int bit = 10; bit < 31; bit++)
		c.err(EINVAL, "MRC bit " + std::to_string(bit), [&] {
			return mrc_query_qp(qp.get(), &got, 0, &mattr, 1 << bit,
					    nullptr);
		});
}

/* Every attribute has a value from the beginning, and only what was asked for
 * is written. */
void query_defaults(Check &c, const Devices &d)
{
	Node n(d.a);
	const Cq cq = make_cq(n);
	mrc_qp_attr first{};

	const auto wimm = [](unsigned limit, unsigned depth) {
		return std::min(limit, depth);
	};
	for (ibv_qp_state st : all_states) {
		const Qp qp = make_qp(n, cq.get());
		const std::string in = " in state " + std::to_string(st);
		mrc_qp_attr got{};

		bring(n, qp.get(), st);
		c.err(0, "query" + in, [&] {
			return mrc_query_qp(qp.get(), nullptr, 0, &got,
					    MRC_QP_VENDOR_CFG | 0x3ff, nullptr);
		});
		if (st == IBV_QPS_RESET)
			first = got;
		c.that(got.mpr.mpr && got.mpr.mpr <= n.attr.mpr_attr.max_mpr,
		       "mpr" + in);
		c.that(got.mpr.mpr_dest &&
			       got.mpr.mpr_dest <= n.attr.mpr_attr.max_mpr,
		       "mpr_dest" + in);
		/* As many as there is room for in the queues. */
		c.eq(got.wimm.max_wimm, wimm(n.attr.wimm_attr.max_wimm, 16),
		     "max_wimm" + in);
		c.eq(got.wimm.max_wimm_dest,
		     wimm(n.attr.wimm_attr.max_wimm_dest, 16),
		     "max_wimm_dest" + in);
		/* Long enough for peers that get ready seconds apart. */
		c.that(got.timeout >= 14 && got.timeout <= 24, "timeout" + in);
		c.that(got.retry.linear_cnt && got.retry.linear_cnt <= 7,
		       "linear_cnt" + in);
		c.that(got.retry.exp_cnt && got.retry.exp_cnt <= 25,
		       "exp_cnt" + in);
		c.that(!got.qp_hint, "qp_hint" + in);
		c.eq(got.cap, 0u, "cap" + in);
		c.eq(got.profile.ev_profile_id, ~0ull, "EV profile" + in);
		c.eq(got.profile.cc_profile_id, ~0ull, "CC profile" + in);
		c.that(!std::memcmp(got.vendor_cfg, first.vendor_cfg,
				    sizeof(got.vendor_cfg)) &&
			       got.timeout == first.timeout &&
			       got.retry.linear_cnt == first.retry.linear_cnt &&
			       got.retry.exp_cnt == first.retry.exp_cnt &&
			       got.mpr.mpr == first.mpr.mpr,
		       "defaults differ" + in);

		mrc_qp_attr some;

		std::memset(static_cast<void *>(&some), 0xa5, sizeof(some));
		c.err(0, "query of one" + in, [&] {
			return mrc_query_qp(qp.get(), nullptr, 0, &some,
					    MRC_QP_TIMEOUT, nullptr);
		});
		c.eq(int{some.timeout}, int{first.timeout}, "timeout alone");
		c.eq(int{some.mpr.mpr}, 0xa5, "mpr, not asked for");
		c.eq(int{some.retry.exp_cnt}, 0xa5, "exp_cnt, not asked for");
		c.eq(some.cap, 0xa5a5a5a5u, "cap, not asked for");
		c.eq(int{some.vendor_cfg[0]}, 0xa5,
		     "vendor_cfg, not asked for");
	}
}

/* Receives from INIT on, sends in RTS; in ERR both, to be flushed. */
void posting(Check &c, const Devices &d)
{
	Node n(d.a);
	const Cq cq = make_cq(n, 64);

	for (ibv_qp_state st : all_states) {
		const std::string in = " in state " + std::to_string(st);
		const bool recvs = st != IBV_QPS_RESET;
		const bool sends = st == IBV_QPS_RTS || st == IBV_QPS_ERR;
		const Qp qp = make_qp(n, cq.get());
		ibv_recv_wr recv[2] = {}, *bad_recv = nullptr;
		ibv_send_wr send[2] = {}, *bad_send = nullptr;

		bring(n, qp.get(), st);
		recv[0].next = &recv[1];
		send[0].next = &send[1];
		send[0].opcode = send[1].opcode = IBV_WR_RDMA_WRITE;
		c.minus1(recvs ? 0 : EINVAL, "receive" + in, [&] {
			return mrc_post_recv(qp.get(), recv, &bad_recv);
		});
		c.err(sends ? 0 : EINVAL, "send" + in,
		      [&] { return mrc_post_send(qp.get(), send, &bad_send); });
		if (!recvs)
			c.that(bad_recv == recv, "bad_wr of the receive" + in);
		if (!sends)
			c.that(bad_send == send, "bad_wr of the send" + in);
		c.err(0, "nothing to send" + in, [&] {
			return sends ? mrc_post_send(qp.get(), nullptr,
						     &bad_send)
				     : 0;
		});
	}
}
} // namespace

void test_qp(Suite &s, const Devices &d)
{
	s.run("creation, and what it refuses",
	      [&](Check &c) { creation(c, d); });
	s.run("capacities", [&](Check &c) { capacities(c, d); });
	s.run("number, first member", [&](Check &c) { first_member(c, d); });
	s.run("query of what it was made with, in every state",
	      [&](Check &c) { query_init(c, d); });
	s.run("query of what was set", [&](Check &c) { query_attr(c, d); });
	s.run("every MRC attribute has a default",
	      [&](Check &c) { query_defaults(c, d); });
	s.run("posting in every state", [&](Check &c) { posting(c, d); });
}

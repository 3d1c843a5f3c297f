// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "datagrams.hpp"

#include <utility>

namespace
{
constexpr uint32_t qkey = 0x1234;
}

Datagrams::Datagrams(Dev &d, unsigned depth)
	: d_(d), scq_(make_cq(depth)), rcq_(make_cq(depth)), a_(make(depth)),
	  b_(make(depth))
{
	ibv_ah_attr attr{};

	attr.is_global = 1;
	attr.port_num = 1;
	attr.grh.hop_limit = 64;
	attr.grh.sgid_index = d.gid_index;
	attr.grh.dgid = d.gid;
	ah_ = made(ibv_create_ah(d.pd, &attr), "AH");
}

Datagrams::~Datagrams()
{
	ibv_destroy_ah(ah_);
	ibv_destroy_qp(a_);
	ibv_destroy_qp(b_);
	ibv_destroy_cq(scq_);
	ibv_destroy_cq(rcq_);
}

void Datagrams::receive(const Region &to, uint64_t at, uint32_t len, bool by_a)
{
	ibv_sge sge{to.addr() + at, len, to.mr->lkey};
	ibv_recv_wr wr{}, *bad;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	if (int ret = ibv_post_recv(by_a ? a_ : b_, &wr, &bad))
		throw Failure("receive: " + errno_text(ret));
}

void Datagrams::post(ibv_qp *from, ibv_qp *to, const Region &r, uint32_t len,
		     unsigned flags)
{
	ibv_sge sge{r.addr(), len, r.mr->lkey};
	ibv_send_wr wr{}, *bad;

	wr.opcode = IBV_WR_SEND;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags = flags;
	wr.wr.ud = {ah_, to->qp_num, qkey};
	if (int ret = ibv_post_send(from, &wr, &bad))
		throw Failure("send: " + errno_text(ret));
}

void Datagrams::post(const Region &from, uint32_t len)
{
	post(a_, b_, from, len, 0);
}

void Datagrams::send(const Region &from, uint32_t len, bool by_b)
{
	ibv_wc wc{};

	post(by_b ? b_ : a_, by_b ? a_ : b_, from, len, IBV_SEND_SIGNALED);
	if (!in_time([&] { return ibv_poll_cq(scq_, 1, &wc) == 1; }) ||
	    wc.status != IBV_WC_SUCCESS)
		throw Failure("a datagram is not sent");
}

bool Datagrams::received(ibv_wc &wc)
{
	const bool one = ibv_poll_cq(rcq_, 1, &wc) == 1;

	came += one;
	return one;
}

ibv_cq *Datagrams::make_cq(unsigned depth)
{
	return made(ibv_create_cq(d_.ctx, static_cast<int>(depth), nullptr,
				  nullptr, 0),
		    "CQ");
}

ibv_qp *Datagrams::make(unsigned depth)
{
	ibv_qp_init_attr init{};
	ibv_qp_attr attr{};

	init.send_cq = scq_;
	init.recv_cq = rcq_;
	init.cap = {depth, depth, 1, 1, 0};
	init.qp_type = IBV_QPT_UD;
	ibv_qp *qp = made(ibv_create_qp(d_.pd, &init), "UD QP");

	attr.port_num = 1;
	attr.qkey = qkey;
	for (const auto &[state, mask] :
	     {std::pair(IBV_QPS_INIT,
			IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
	      std::pair(IBV_QPS_RTR, 0),
	      std::pair(IBV_QPS_RTS, int{IBV_QP_SQ_PSN})}) {
		attr.qp_state = state;
		if (int ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask))
			throw Failure("UD QP: " + errno_text(ret));
	}
	return qp;
}

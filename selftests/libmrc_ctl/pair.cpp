// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "pair.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

Qp::Qp(const Device &dev, const QpSpec &spec)
	: dev_(dev), spec_(spec), buf_(spec.bytes)
{
	mrc_qp_init_attr attr{};

	try {
		pd_ = made(ibv_alloc_pd(dev.verbs()), "PD");
		mr_ = made(ibv_reg_mr(pd_, buf_.data(), buf_.size(),
				      IBV_ACCESS_LOCAL_WRITE |
					      IBV_ACCESS_REMOTE_WRITE),
			   "MR");
		cq_ = made(mrc_create_cq(dev.ctx(), 64, nullptr, nullptr, 0),
			   "CQ");
		attr.send_cq = cq_;
		attr.recv_cq = cq_;
		attr.pd = pd_;
		attr.cap.max_send_wr = 16;
		attr.cap.max_recv_wr = 16;
		attr.cap.max_send_sge = 1;
		attr.cap.max_recv_sge = 1;
		qp_ = made(mrc_create_qp(dev.ctx(), &attr), "QP");
	} catch (...) {
		release();
		throw;
	}
}

Qp::~Qp()
{
	release();
}

void Qp::release()
{
	if (qp_)
		mrc_destroy_qp(qp_);
	if (cq_)
		mrc_destroy_cq(cq_);
	if (mr_)
		ibv_dereg_mr(mr_);
	if (pd_)
		ibv_dealloc_pd(pd_);
}

uint32_t Qp::num() const
{
	uint32_t qpn = 0;

	must(failed(mrc_get_qpn(qp_, &qpn)), "QPN");
	return qpn;
}

int Qp::init_with(uint64_t ev, uint64_t cc)
{
	mrc_qp_attr mrc{};
	ibv_qp_attr attr{};
	int mask = 0;

	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	mrc.profile.ev_profile_id = ev;
	mrc.profile.cc_profile_id = cc;
	if (ev != no_profile)
		mask |= MRC_QP_EV_PROFILE_ID;
	if (cc != no_profile)
		mask |= MRC_QP_CC_PROFILE_ID;
	return mrc_modify_qp(qp_, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS,
			     &mrc, mask);
}

int Qp::init()
{
	return init_with(spec_.ev, spec_.cc);
}

int Qp::rtr(const Qp &peer)
{
	ibv_qp_attr attr{};
	ibv_gid own{};

	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = spec_.mtu;
	attr.dest_qp_num = peer.num();
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.hop_limit = 64;
	attr.ah_attr.grh.dgid = peer.dev_.gid(spec_.family);
	attr.ah_attr.grh.sgid_index = dev_.gid(spec_.family, own);
	return mrc_modify_qp(qp_, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
			     nullptr, 0);
}

int Qp::rts()
{
	mrc_qp_attr mrc{};
	ibv_qp_attr attr{};

	attr.qp_state = IBV_QPS_RTS;
	mrc.timeout = spec_.timeout;
	return mrc_modify_qp(qp_, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, &mrc,
			     MRC_QP_TIMEOUT);
}

int Qp::state(ibv_qp_state to)
{
	ibv_qp_attr attr{};

	attr.qp_state = to;
	return mrc_modify_qp(qp_, &attr, IBV_QP_STATE, nullptr, 0);
}

mrc_qp_attr Qp::query() const
{
	mrc_qp_attr mrc{};
	ibv_qp_attr attr{};

	must(mrc_query_qp(qp_, &attr, 0, &mrc,
			  MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID, nullptr),
	     "query QP");
	return mrc;
}

void Qp::write(Qp &peer)
{
	const auto end =
		std::chrono::steady_clock::now() + std::chrono::seconds(60);
	ibv_send_wr wr{}, *bad = nullptr;
	ibv_sge sge{};
	ibv_wc wc{};
	int n = 0;

	round_++;
	for (std::size_t i = 0; i < buf_.size(); i++)
		buf_[i] = static_cast<uint8_t>(i * 7 + round_ * 13 + i / 251);
	sge.addr = reinterpret_cast<uintptr_t>(buf_.data());
	sge.length = static_cast<uint32_t>(buf_.size());
	sge.lkey = mr_->lkey;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = reinterpret_cast<uintptr_t>(peer.buf_.data());
	wr.wr.rdma.rkey = peer.mr_->rkey;
	must(mrc_post_send(qp_, &wr, &bad), "post_send");
	while (!(n = mrc_poll_cq(cq_, 1, &wc))) {
		if (std::chrono::steady_clock::now() > end)
			throw Failure("no completion within 60 s");
		/* One processor may be all there is. */
		std::this_thread::sleep_for(std::chrono::microseconds(200));
	}
	if (n != 1)
		throw Failure("poll_cq");
	if (wc.status != IBV_WC_SUCCESS)
		throw Failure(std::string("completion: ") +
			      ibv_wc_status_str(wc.status));
	if (peer.buf_ != buf_)
		throw Failure("data that arrived differ");
}

Pair::Pair(const Device &from, const Device &to, const QpSpec &spec)
	: a(from, spec), b(to, spec)
{
	must(a.init(), "INIT");
	must(b.init_with(no_profile, no_profile), "INIT");
	must(a.rtr(b), "RTR");
	must(b.rtr(a), "RTR");
	must(a.rts(), "RTS");
	must(b.rts(), "RTS");
}

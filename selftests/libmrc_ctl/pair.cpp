// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "pair.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

Qp::Qp(const Device &dev, const QpSpec &spec)
	: dev_(dev), spec_(spec), mem_(dev.verbs(), spec.bytes)
{
	mrc_qp_init_attr attr{};

	try {
		cq_ = made(mrc_create_cq(dev.ctx(), 64, nullptr, nullptr, 0),
			   "CQ");
		attr.send_cq = cq_;
		attr.recv_cq = cq_;
		attr.pd = mem_.pd();
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
	ibv_qp_attr attr = init_attr();
	int mask = 0;

	mrc.profile.ev_profile_id = ev;
	mrc.profile.cc_profile_id = cc;
	if (ev != no_profile)
		mask |= MRC_QP_EV_PROFILE_ID;
	if (cc != no_profile)
		mask |= MRC_QP_CC_PROFILE_ID;
	return mrc_modify_qp(qp_, &attr, init_mask, &mrc, mask);
}

int Qp::init()
{
	return init_with(spec_.ev, spec_.cc);
}

int Qp::rtr(const Qp &peer)
{
	ibv_gid own{};
	ibv_qp_attr attr =
		rtr_attr(peer.num(), spec_.mtu, dev_.gid(spec_.family, own),
			 peer.dev_.gid(spec_.family));

	return mrc_modify_qp(qp_, &attr, rtr_mask, nullptr, 0);
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

void Qp::post(Qp &peer)
{
	const uint32_t size = static_cast<uint32_t>(mem_.bytes.size());
	Write write(mem_, peer.mem_, size);
	ibv_send_wr *bad = nullptr;

	round_++;
	for (std::size_t i = 0; i < size; i++)
		mem_.bytes[i] =
			static_cast<uint8_t>(i * 7 + round_ * 13 + i / 251);
	must(mrc_post_send(qp_, &write.wr, &bad), "post_send");
}

void Qp::write(Qp &peer)
{
	const auto end =
		std::chrono::steady_clock::now() + std::chrono::seconds(60);
	ibv_wc wc{};
	int n = 0;

	post(peer);
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
	if (peer.mem_.bytes != mem_.bytes)
		throw Failure("data that arrived differ");
}

Pair::Pair(const Device &from, const Device &to, const QpSpec &spec)
	: a(from, spec), b(to, spec)
{
	must(a.init(), "INIT");
	must(b.init_with(spec.peer_ev, no_profile), "INIT");
	must(a.rtr(b), "RTR");
	must(b.rtr(a), "RTR");
	must(a.rts(), "RTS");
	must(b.rts(), "RTS");
}

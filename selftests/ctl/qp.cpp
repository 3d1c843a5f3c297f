// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "qp.hpp"

#include <chrono>

#include "../common/check.hpp"

namespace
{
constexpr std::size_t buf_size = 1 << 20;
} // namespace

int gid_index(Dev &dev, ibv_gid &gid)
{
	for (int i = 0; i < 128; i++) {
		ibv_gid_entry e{};

		if (ibv_query_gid_ex(dev.ctx(), 1, static_cast<uint32_t>(i), &e,
				     0) ||
		    e.gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    (e.gid.raw[0] == 0xfe && e.gid.raw[1] == 0x80))
			continue;
		gid = e.gid;
		return i;
	}
	throw Failure("no GID");
}

Qp::Qp(Dev &dev) : dev_(dev), mem_(dev.ctx(), buf_size)
{
	ibv_qp_init_attr init{};

	cq_ = made(ibv_create_cq(dev.ctx(), 256, nullptr, nullptr, 0), "CQ");
	init.send_cq = cq_;
	init.recv_cq = cq_;
	init.qp_type = IBV_QPT_RC;
	init.cap.max_send_wr = 128;
	init.cap.max_recv_wr = 16;
	init.cap.max_send_sge = 1;
	init.cap.max_recv_sge = 1;
	qp_ = made(ibv_create_qp(mem_.pd(), &init), "QP");
}

Qp::~Qp()
{
	ibv_destroy_qp(qp_);
	ibv_destroy_cq(cq_);
}

int Qp::init()
{
	ibv_qp_attr a = init_attr();

	return ibv_modify_qp(qp_, &a, init_mask);
}

int Qp::rtr(uint32_t dest)
{
	ibv_gid gid;
	const int index = gid_index(dev_, gid);
	ibv_qp_attr a =
		rtr_attr(dest, IBV_MTU_1024, static_cast<uint8_t>(index), gid);

	a.max_dest_rd_atomic = 1;
	a.min_rnr_timer = 12;
	return ibv_modify_qp(qp_, &a,
			     rtr_mask | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

int Qp::rts()
{
	ibv_qp_attr a{};

	a.qp_state = IBV_QPS_RTS;
	a.timeout = 17;
	a.retry_cnt = 7;
	a.rnr_retry = 7;
	a.max_rd_atomic = 1;
	return ibv_modify_qp(qp_, &a,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC);
}

int Qp::state(ibv_qp_state s)
{
	ibv_qp_attr a{};

	a.qp_state = s;
	return ibv_modify_qp(qp_, &a, IBV_QP_STATE);
}

int Qp::set(const mrc_abi_qp_attr &attr)
{
	return dev_.raw(MRC_ABI_OBJECT_QP, MRC_ABI_QP_SET,
			std::as_bytes(std::span(&attr, 1)), {},
			Handle{qp_->handle});
}

int Qp::set_mask(uint32_t mask, void (*fill)(mrc_abi_qp_attr &))
{
	mrc_abi_qp_attr attr{};

	attr.mask = mask;
	attr.ev_profile = MRC_ABI_PROFILE_NONE;
	attr.cc_profile = MRC_ABI_PROFILE_NONE;
	if (fill)
		fill(attr);
	return set(attr);
}

mrc_abi_qp_info Qp::query(std::span<mrc_abi_qp_ev> evs)
{
	mrc_abi_qp_info info{};

	must(dev_.raw(MRC_ABI_OBJECT_QP, MRC_ABI_QP_QUERY, {},
		      uverbs::bytes_out(info), Handle{qp_->handle},
		      {array_out(MRC_ABI_ATTR_ARRAY_OUT, evs)}),
	     "query QP");
	return info;
}

void Qp::write(const Qp &peer, unsigned n, uint32_t len)
{
	const auto end =
		std::chrono::steady_clock::now() + std::chrono::seconds(30);
	Write write(mem_, peer.mem_, len);
	ibv_send_wr *bad;
	ibv_wc wc{};

	while (n--) {
		if (ibv_post_send(qp_, &write.wr, &bad))
			throw Failure("post_send");
		while (!ibv_poll_cq(cq_, 1, &wc))
			if (std::chrono::steady_clock::now() > end)
				throw Failure("no completion within 30 s");
		if (wc.status != IBV_WC_SUCCESS)
			throw Failure(ibv_wc_status_str(wc.status));
	}
}

Pair::Pair(Dev &dev, const mrc_abi_qp_attr &attr) : a(dev), b(dev)
{
	for (Qp *qp : {&a, &b}) {
		must(qp->init(), "INIT");
		if (attr.mask)
			must(qp->set(attr), "MRC attributes");
	}
	must(a.rtr(b.num()), "RTR");
	must(b.rtr(a.num()), "RTR");
	must(a.rts(), "RTS");
	must(b.rts(), "RTS");
}

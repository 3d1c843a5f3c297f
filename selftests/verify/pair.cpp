// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: one connected pair of queue pairs and a small target memory.
 */
#include <algorithm>

#include "pair.h"

#include <poll.h>

#include "common.h"

Pair::Pair(Device &dev, Oob &oob, const TestOptions &t, bool client,
	   const PairConfig &c)
	: dev_(dev), oob_(oob), t_(t), client_(client), c_(c),
	  area_(3 * part_size), private_(part_size), scratch_(4 * part_size),
	  background_(mix(t.seed, 0xa4ea))
{
	constexpr int rw = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	Cq::Config cc;
	Qp::Config qc;

	background_.fill(area_.data(), 0, area_.size());
	background_.fill(private_.data(), 0, private_.size());
	other_pd_ = ibv_alloc_pd(dev.ctx());
	if (!other_pd_)
		fail("ibv_alloc_pd failed");
	mr_ = std::make_unique<Mr>(dev.pd(), area_.data() + part_size,
				   part_size, rw);
	mr_private_ = std::make_unique<Mr>(dev.pd(), private_.data(), part_size,
					   IBV_ACCESS_LOCAL_WRITE);
	mr_other_ = std::make_unique<Mr>(other_pd_, area_.data() + part_size,
					 part_size, rw);
	mr_scratch_ =
		std::make_unique<Mr>(dev.pd(), scratch_.data(), scratch_.size(),
				     IBV_ACCESS_LOCAL_WRITE);
	{
		Mr stale(dev.pd(), area_.data() + part_size, part_size, rw);

		rkey_stale_ = stale.rkey();
	}
	cc.cqe = 4096;
	send_cq_ = std::make_unique<Cq>(dev, cc);
	recv_cq_ = std::make_unique<Cq>(dev, cc);
	qc.max_send = c.max_send;
	qc.max_recv = 64;
	qc.sges = 2;
	qc.inline_size = c.inline_size;
	qp_ = std::make_unique<Qp>(dev, *send_cq_, *recv_cq_, qc);
	connect();
}

Pair::~Pair()
{
	qp_.reset();
	mr_other_.reset();
	if (ibv_dealloc_pd(other_pd_))
		std::fprintf(stderr, "mrc_verify: ibv_dealloc_pd failed\n");
}

void Pair::connect()
{
	PairInfo mine{};

	mine.qp = qp_->address();
	mine.addr = reinterpret_cast<uintptr_t>(area_.data()) + part_size;
	mine.addr_private = reinterpret_cast<uintptr_t>(private_.data());
	mine.rkey = mr_->rkey();
	mine.rkey_private = mr_private_->rkey();
	mine.rkey_stale = rkey_stale_;
	mine.rkey_other = mr_other_->rkey();
	oob_.send_vec(Msg::conn, std::vector<PairInfo>{mine});
	peer_ = oob_.expect_vec<PairInfo>(Msg::conn, 1)[0];

	qp_->to_init();
	for (unsigned i = 0; i < (client_ ? c_.client_recvs : c_.server_recvs);
	     i++)
		post_recv(i);
	qp_->to_rtr(peer_.qp, t_);
	qp_->to_rts(t_, c_.rts_access);
	oob_.barrier(10);
}

void Pair::post_recv(uint64_t wr_id)
{
	ibv_recv_wr wr{}, *bad;

	wr.wr_id = wr_id;
	int ret = ibv_post_recv(qp_->get(), &wr, &bad);

	if (ret)
		fail("ibv_post_recv: %s", std::strerror(ret));
}

ibv_send_wr Pair::write(uint64_t msg, ibv_sge &sge, uint32_t len)
{
	constexpr uint64_t room = 16384;
	uint8_t *src = scratch_.data() + msg % 15 * room;
	ibv_send_wr wr{};

	/* All of it: a test may make the work request longer. */
	Pattern(mix(t_.seed, msg)).fill(src, 0, room);
	sge = {reinterpret_cast<uintptr_t>(src), len, mr_scratch_->lkey()};
	wr.wr_id = msg;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = peer_.addr + msg_offset(msg);
	wr.wr.rdma.rkey = peer_.rkey;
	return wr;
}

std::vector<Wc> Pair::wait(Cq &cq, size_t n, double timeout_s)
{
	timeout_s *= slowness();
	double last = now_s();
	double end = last + timeout_s;
	std::vector<Wc> out;

	held_up_ = 0;
	while (out.size() < n) {
		bool came = cq.poll(out, n - out.size());
		double now = now_s();

		/* It sleeps for a millisecond at a time. */
		if (now - last > 0.1)
			held_up_ += now - last;
		last = now;
		if (came)
			continue;
		if (now > end)
			fail("%zu of %zu completions came within %g s",
			     out.size(), n, timeout_s);
		::poll(nullptr, 0, 1);
	}
	return out;
}

void Pair::expect_quiet(Cq &cq, const char *what, int ms)
{
	double end = now_s() + ms / 1e3;
	std::vector<Wc> out;

	do {
		if (cq.poll(out))
			fail("%s: completion %llu (%s) too many", what,
			     static_cast<unsigned long long>(out[0].wr_id),
			     ibv_wc_status_str(out[0].status));
		::poll(nullptr, 0, 5);
	} while (now_s() < end);
}

void Pair::check_memory(const std::vector<Placed> &placed)
{
	enum : uint8_t { background, may, must };
	std::vector<uint8_t> kind(area_.size(), background);
	std::vector<uint8_t> want(area_.size());

	background_.fill(want.data(), 0, want.size());
	for (const Placed &p : placed) {
		uint64_t at = part_size + static_cast<uint64_t>(p.offset);

		if (at > area_.size() || p.len > area_.size() - at)
			fail("peer describes memory outside of the area");
		Pattern(mix(t_.seed, p.msg)).fill(want.data() + at, 0, p.len);
		std::fill_n(kind.begin() + static_cast<ptrdiff_t>(at), p.len,
			    p.must ? must : may);
	}
	for (size_t i = 0; i < area_.size(); i++) {
		uint8_t is = area_.data()[i];

		if (is == want[i] ||
		    (kind[i] == may && is == background_.at(i)))
			continue;
		fail("memory at %lld of the region is %02x instead of %02x%s",
		     static_cast<long long>(i) -
			     static_cast<long long>(part_size),
		     is, want[i],
		     kind[i] == background ? ", nobody may write there" : "");
	}
	if (background_.check(private_.data(), 0, private_.size()) !=
	    private_.size())
		fail("memory without remote access was written");
}

void Pair::settle(const std::vector<Placed> &placed)
{
	uint32_t n = static_cast<uint32_t>(placed.size());

	if (client_) {
		oob_.send_pod(Msg::sent, n);
		oob_.send_vec(Msg::conn, placed);
	} else {
		n = oob_.expect_vec<uint32_t>(Msg::sent, 1, 120)[0];
		check_memory(oob_.expect_vec<Placed>(Msg::conn, n));
	}
	oob_.barrier(11);
}

void Pair::forget_region()
{
	background_.fill(area_.data() + part_size, part_size, part_size);
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: one connected pair of queue pairs for everything but WRITE.
 */
#include "ext_pair.h"

#include <arpa/inet.h>
#include <poll.h>

#include "common.h"

namespace
{
constexpr int all_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

constexpr uint64_t all_ops =
	IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
	IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
	IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
	IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV |
	IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_FLUSH |
	IBV_QP_EX_WITH_ATOMIC_WRITE;

Cq::Config cq_config(const TestOptions &t)
{
	Cq::Config c;

	c.cqe = 4096;
	c.ex = t.cq_ex;
	return c;
}
} // namespace

ExtPair::ExtPair(Session &s, const ExtConfig &c)
	: s_(s), c_(c), area_(area_size), own_(own_size),
	  area_mr_(s.dev.pd(), area_.data(), area_size,
		   s.dev.has_flush() ? all_access | IBV_ACCESS_FLUSH_GLOBAL
				     : all_access),
	  write_mr_(s.dev.pd(), area_.data(), area_size,
		    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
	  own_mr_(s.dev.pd(), own_.data(), own_size, IBV_ACCESS_LOCAL_WRITE),
	  send_cq_(s.dev, cq_config(s.t)), recv_cq_(s.dev, cq_config(s.t)),
	  mine_(mix(s.t.seed, s.client ? 0xc1 : 0x5e)),
	  peers_(mix(s.t.seed, s.client ? 0x5e : 0xc1))
{
	Qp::Config qc;
	TestOptions t = s.t;
	ExtInfo mine{};

	mine_.fill(area_.data(), 0, area_size);
	qc.max_send = c.max_send;
	qc.max_recv = c.srq ? 0 : c.max_recv;
	qc.sges = 4;
	qc.recv_sges = c.srq ? 0 : 4;
	qc.inline_size = 256;
	qc.ex = true;
	if (!c.writes_only)
		qc.send_ops = all_ops;
	qc.srq = c.srq;
	qc.rd_atomic = c.rd_atomic;
	qp_ = std::make_unique<Qp>(s.dev, send_cq_, recv_cq_, qc);

	mine.qp = qp_->address();
	mine.addr = reinterpret_cast<uintptr_t>(area_.data());
	mine.rkey = area_mr_.rkey();
	mine.rkey_write = write_mr_.rkey();
	s.oob.send_vec(Msg::conn, std::vector<ExtInfo>{mine});
	peer_ = s.oob.expect_vec<ExtInfo>(Msg::conn, 1)[0];

	if (c.rnr_retry >= 0)
		t.rnr_retry = c.rnr_retry;
	if (c.min_rnr >= 0)
		t.min_rnr = c.min_rnr;
	qp_->to_init(c.qp_access);
	qp_->to_rtr(peer_.qp, t);
	qp_->to_rts(t);
	s.oob.barrier(20);
}

std::vector<ibv_sge> ExtPair::sges(const Work &w) const
{
	std::vector<ibv_sge> v;
	uint64_t addr = reinterpret_cast<uintptr_t>(own_.data()) + w.at;
	unsigned n = w.pieces ? w.pieces : 1;
	uint32_t done = 0;

	if (w.op == IBV_WR_LOCAL_INV || w.op == IBV_WR_FLUSH)
		return v;
	for (unsigned i = 0; i < n; i++) {
		uint32_t len = i + 1 < n ? w.len / n : w.len - done;

		v.push_back(
			{addr + done, len, w.lkey ? w.lkey : own_mr_.lkey()});
		done += len;
	}
	return v;
}

void ExtPair::post_old(const std::vector<Work> &list)
{
	std::vector<ibv_send_wr> wrs(list.size());
	std::vector<std::vector<ibv_sge>> lists;
	ibv_send_wr *bad = nullptr;

	for (const Work &w : list)
		lists.push_back(sges(w));
	for (size_t i = 0; i < list.size(); i++) {
		const Work &w = list[i];
		ibv_send_wr &wr = wrs[i];
		uint64_t addr = peer_.addr + w.remote;
		uint32_t rkey = w.rkey ? w.rkey : peer_.rkey;

		wr.wr_id = w.id;
		wr.opcode = w.op;
		wr.send_flags = w.flags;
		if (!w.pieces)
			wr.send_flags |= IBV_SEND_INLINE;
		wr.sg_list = lists[i].data();
		wr.num_sge = static_cast<int>(lists[i].size());
		if (w.op == IBV_WR_SEND_WITH_INV || w.op == IBV_WR_LOCAL_INV)
			wr.invalidate_rkey = w.imm;
		else
			wr.imm_data = htonl(w.imm);
		if (w.op == IBV_WR_ATOMIC_CMP_AND_SWP ||
		    w.op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr.wr.atomic.remote_addr = addr;
			wr.wr.atomic.rkey = rkey;
			wr.wr.atomic.compare_add = w.compare_add;
			wr.wr.atomic.swap = w.swap;
		} else {
			wr.wr.rdma.remote_addr = addr;
			wr.wr.rdma.rkey = rkey;
		}
		if (i)
			wrs[i - 1].next = &wr;
	}
	int ret = ibv_post_send(qp_->get(), wrs.data(), &bad);

	if (ret)
		fail("ibv_post_send: %s at %zu of %zu", std::strerror(ret),
		     static_cast<size_t>(bad - wrs.data()), wrs.size());
}

void ExtPair::post_ex(const std::vector<Work> &list)
{
	ibv_qp_ex *x = qp_->ex();

	ibv_wr_start(x);
	for (const Work &w : list) {
		uint64_t addr = peer_.addr + w.remote;
		uint32_t rkey = w.rkey ? w.rkey : peer_.rkey;
		bool data = true;

		x->wr_id = w.id;
		x->wr_flags = w.flags;
		switch (w.op) {
		case IBV_WR_RDMA_WRITE:
			ibv_wr_rdma_write(x, rkey, addr);
			break;
		case IBV_WR_RDMA_WRITE_WITH_IMM:
			ibv_wr_rdma_write_imm(x, rkey, addr, htonl(w.imm));
			break;
		case IBV_WR_SEND:
			ibv_wr_send(x);
			break;
		case IBV_WR_SEND_WITH_IMM:
			ibv_wr_send_imm(x, htonl(w.imm));
			break;
		case IBV_WR_SEND_WITH_INV:
			ibv_wr_send_inv(x, w.imm);
			break;
		case IBV_WR_RDMA_READ:
			ibv_wr_rdma_read(x, rkey, addr);
			break;
		case IBV_WR_ATOMIC_CMP_AND_SWP:
			ibv_wr_atomic_cmp_swp(x, rkey, addr, w.compare_add,
					      w.swap);
			break;
		case IBV_WR_ATOMIC_FETCH_AND_ADD:
			ibv_wr_atomic_fetch_add(x, rkey, addr, w.compare_add);
			break;
		case IBV_WR_ATOMIC_WRITE:
			ibv_wr_atomic_write(x, rkey, addr, &w.swap);
			data = false;
			break;
		case IBV_WR_FLUSH:
			ibv_wr_flush(x, rkey, addr, w.len, IBV_FLUSH_GLOBAL,
				     IBV_FLUSH_RANGE);
			data = false;
			break;
		case IBV_WR_LOCAL_INV:
			ibv_wr_local_inv(x, w.imm);
			data = false;
			break;
		default:
			fail("operation %d cannot be posted",
			     static_cast<int>(w.op));
		}
		if (!data)
			continue;
		auto v = sges(w);

		if (!w.pieces)
			ibv_wr_set_inline_data(x, own_.data() + w.at, w.len);
		else if (v.size() == 1)
			ibv_wr_set_sge(x, v[0].lkey, v[0].addr, v[0].length);
		else
			ibv_wr_set_sge_list(x, v.size(), v.data());
	}
	int ret = ibv_wr_complete(x);

	if (ret)
		fail("ibv_wr_complete: %s", std::strerror(ret));
}

void ExtPair::post(const std::vector<Work> &list)
{
	bool ex = s_.t.ex;

	for (const Work &w : list)
		ex |= w.op == IBV_WR_FLUSH || w.op == IBV_WR_ATOMIC_WRITE;
	if (ex)
		post_ex(list);
	else
		post_old(list);
}

void ExtPair::post_recv(uint64_t id, uint64_t at, uint32_t len, unsigned pieces,
			ibv_srq *srq)
{
	ibv_recv_wr wr{}, *bad;
	Work w;

	w.at = at;
	w.len = len;
	w.pieces = pieces;
	auto v = sges(w);

	wr.wr_id = id;
	wr.sg_list = v.data();
	wr.num_sge = static_cast<int>(v.size());
	int ret = srq ? ibv_post_srq_recv(srq, &wr, &bad)
		      : ibv_post_recv(qp_->get(), &wr, &bad);

	if (ret)
		fail("posting a receive: %s", std::strerror(ret));
}

std::vector<Wc> ExtPair::wait(Cq &cq, size_t n, double timeout_s)
{
	timeout_s *= slowness();
	double end = now_s() + timeout_s;
	std::vector<Wc> out;

	while (out.size() < n) {
		if (cq.poll(out, n - out.size()))
			continue;
		if (now_s() > end)
			fail("%zu of %zu completions came within %g s",
			     out.size(), n, timeout_s);
		::poll(nullptr, 0, 1);
	}
	return out;
}

Wc ExtPair::expect(Cq &cq, uint64_t id, ibv_wc_status status, const char *what)
{
	Wc w = wait(cq, 1)[0];

	if (w.wr_id != id || w.status != status)
		fail("%s: completion %llu (%s) instead of %llu (%s)", what,
		     static_cast<unsigned long long>(w.wr_id),
		     ibv_wc_status_str(w.status),
		     static_cast<unsigned long long>(id),
		     ibv_wc_status_str(status));
	return w;
}

Wc ExtPair::expect_send(uint64_t id, ibv_wc_opcode op)
{
	Wc w = expect(send_cq_, id, IBV_WC_SUCCESS, "send queue");

	if (w.opcode != op)
		fail("completion %llu has opcode %d instead of %d",
		     static_cast<unsigned long long>(id),
		     static_cast<int>(w.opcode), static_cast<int>(op));
	return w;
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "pair.hpp"

#include <chrono>
#include <cstring>
#include <random>
#include <thread>

namespace
{
/* Far more than what is waited for takes, for machines that are emulated. */
constexpr auto patience = std::chrono::seconds(60);
constexpr auto nap = std::chrono::microseconds(200);

Qp end_qp(const Node &n, const End &e, const PairOptions &o, ibv_qp_cap &cap)
{
	mrc_qp_init_attr init = qp_init(n, e.send_cq.get(), e.recv_cq.get());

	init.cap.max_send_wr = o.send_wr;
	init.cap.max_recv_wr = o.recv_wr;
	init.cap.max_send_sge = o.sges;
	init.cap.max_inline_data = o.inline_size;
	init.sq_sig_all = o.sig_all;
	Qp qp(must(mrc_create_qp(n.ctx.get(), &init), "QP"));

	cap = init.cap;
	return qp;
}

uint32_t random_psn()
{
	static std::mt19937 rng(std::random_device{}());

	return rng() & 0xffffff;
}
} // namespace

End::End(Node &node, const PairOptions &o)
	: n(node), mem(o.mem),
	  mr(must(ibv_reg_mr(n.pd.get(), mem.data(), mem.size(),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
		  "MR")),
	  send_cq(make_cq(n, o.cqe)), recv_cq(make_cq(n, o.cqe)),
	  qp(end_qp(n, *this, o, cap)), psn(random_psn())
{
}

ibv_sge End::sge(size_t offset, uint32_t len) const
{
	return {reinterpret_cast<uintptr_t>(mem.data() + offset), len,
		mr->lkey};
}

int End::post_send(ibv_send_wr *wr, ibv_send_wr **bad)
{
	ibv_send_wr *first_bad;

	return mrc_post_send(qp.get(), wr, bad ? bad : &first_bad);
}

int End::post_recv(uint64_t id)
{
	ibv_recv_wr wr{}, *bad;

	wr.wr_id = id;
	return mrc_post_recv(qp.get(), &wr, &bad);
}

void End::fill(uint64_t seed)
{
	pattern(mem.data(), mem.size(), seed);
}

Pair::Pair(Node &na, Node &nb, const PairOptions &o)
	: opt(o), a(na, o), b(nb, o)
{
}

void Pair::init(End &e)
{
	ibv_qp_attr attr = init_attr();

	must(mrc_modify_qp(e.qp.get(), &attr, opt.masks.init, &opt.masks.attr,
			   opt.masks.mrc_init),
	     "INIT");
}

void Pair::rtr(End &e)
{
	const End &to = peer(e);
	ibv_qp_attr attr = rtr_attr(e.n, to.n.gid, num(to.qp.get()), to.psn);

	attr.min_rnr_timer = 12;
	attr.max_dest_rd_atomic = 1;
	attr.path_mtu = std::min(e.n.mtu, to.n.mtu);
	must(mrc_modify_qp(e.qp.get(), &attr, opt.masks.rtr, &opt.masks.attr,
			   opt.masks.mrc_rtr),
	     "RTR");
}

void Pair::rts(End &e)
{
	ibv_qp_attr attr = rts_attr(e.psn);

	attr.max_rd_atomic = 1;
	must(mrc_modify_qp(e.qp.get(), &attr, opt.masks.rts, &opt.masks.attr,
			   opt.masks.mrc_rts),
	     "RTS");
}

void Pair::connect()
{
	for (End *e : {&a, &b})
		init(*e);
	for (End *e : {&a, &b})
		rtr(*e);
	for (End *e : {&a, &b})
		rts(*e);
}

ibv_send_wr Pair::write(End &from, uint64_t id, ibv_sge &sge, size_t offset,
			uint32_t len)
{
	const End &to = peer(from);
	ibv_send_wr wr{};

	sge = from.sge(offset, len);
	wr.wr_id = id;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr =
		reinterpret_cast<uintptr_t>(to.mem.data() + offset);
	wr.wr.rdma.rkey = to.mr->rkey;
	return wr;
}

void eventually(const std::function<bool()> &done, const char *what)
{
	const auto end = std::chrono::steady_clock::now() + patience;

	while (!done()) {
		if (std::chrono::steady_clock::now() > end)
			throw Failure(std::string("waits in vain for ") + what);
		std::this_thread::sleep_for(nap);
	}
}

std::vector<ibv_wc> wait(mrc_cq *cq, size_t n)
{
	std::vector<ibv_wc> got;

	eventually(
		[&] {
			ibv_wc wc[16];
			const int polled =
				mrc_poll_cq(cq,
					    static_cast<int>(std::min<size_t>(
						    16, n - got.size())),
					    wc);

			if (polled < 0)
				throw Failure("poll: " + errno_text(errno));
			got.insert(got.end(), wc, wc + polled);
			return got.size() == n;
		},
		"completions");
	return got;
}

void expect_none(Check &c, mrc_cq *cq, const std::string &what)
{
	ibv_wc wc;

	c.eq(mrc_poll_cq(cq, 1, &wc), 0, what + ": one completion more");
}

void expect_wc(Check &c, const ibv_wc &wc, uint64_t id, ibv_wc_status status,
	       const std::string &what)
{
	c.eq(wc.wr_id, id, what + ": wr_id");
	c.that(wc.status == status,
	       what + " (" + std::to_string(id) +
		       "): " + ibv_wc_status_str(wc.status) + ", expected " +
		       ibv_wc_status_str(status));
}

void expect_imm(Check &c, const ibv_wc &wc, uint64_t id, uint32_t len,
		uint32_t imm, uint32_t qpn, const std::string &what)
{
	expect_wc(c, wc, id, IBV_WC_SUCCESS, what);
	c.eq(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM, what + ": opcode");
	c.eq(wc.wc_flags, IBV_WC_WITH_IMM, what + ": wc_flags");
	c.eq(wc.byte_len, len, what + ": byte_len");
	c.eq(static_cast<uint32_t>(wc.imm_data), imm, what + ": imm_data");
	c.eq(wc.qp_num, qpn, what + ": qp_num");
}

void pattern(uint8_t *to, size_t len, uint64_t seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15 + 1;

	for (size_t i = 0; i < len; i += 8) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		std::memcpy(to + i, &x, std::min<size_t>(8, len - i));
	}
}

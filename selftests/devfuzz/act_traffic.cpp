// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Work requests of every operation, receives, and completions. */
#include <algorithm>
#include <array>
#include <cerrno>

#include "world.hpp"

namespace devfuzz
{
namespace
{
constexpr ibv_wr_opcode opcodes[] = {
	IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_SEND,
	IBV_WR_SEND_WITH_IMM,
	IBV_WR_RDMA_READ,
	IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_ATOMIC_FETCH_AND_ADD,
	IBV_WR_SEND_WITH_INV,
	IBV_WR_LOCAL_INV,
	IBV_WR_BIND_MW,
};

/* A work request and what it points to. */
struct Request {
	ibv_send_wr wr{};
	std::array<ibv_sge, 6> sge{};
};

/* Where the peer said that it has a region, or elsewhere. */
void set_remote(World &w, const Queue_pair &q, ibv_send_wr &wr)
{
	uint64_t addr = w.rng.any();
	uint32_t rkey = static_cast<uint32_t>(w.rng.any());

	if (w.board.is_announced(q.peer) && w.rng.chance(95)) {
		const Announced &a = w.board.qps[q.peer];

		rkey = a.rkey;
		addr = a.addr +
		       (a.len && w.rng.chance(60) ? w.rng.below(a.len) : 0);
	}
	if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr =
			w.rng.chance(90) ? addr & ~7ull : addr;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = w.rng.nasty();
		wr.wr.atomic.swap = w.rng.nasty();
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = rkey;
	}
}

void set_bind(World &w, ibv_send_wr &wr)
{
	const ibv_sge s = w.some_sge();

	wr.bind_mw.mw = w.some(w.mws);
	if (!wr.bind_mw.mw || w.mrs.empty()) {
		wr.opcode = IBV_WR_RDMA_WRITE;
		return;
	}
	wr.bind_mw.rkey = ibv_inc_rkey(wr.bind_mw.mw->rkey);
	wr.bind_mw.bind_info.mr = w.rng.pick(w.mrs).mr;
	wr.bind_mw.bind_info.addr = s.addr;
	wr.bind_mw.bind_info.length = s.length;
	wr.bind_mw.bind_info.mw_access_flags =
		static_cast<unsigned>(w.rng.bits(0xf));
}

bool set_datagram(World &w, ibv_send_wr &wr)
{
	const uint32_t other = w.rng.u32(max_announced);

	wr.opcode = w.rng.one_of(IBV_WR_SEND, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
				 IBV_WR_RDMA_WRITE);
	wr.wr.ud.ah = w.some(w.ahs);
	if (!wr.wr.ud.ah)
		return false;
	wr.wr.ud.remote_qpn = w.rng.chance(20)
				      ? 0xffffff
				      : static_cast<uint32_t>(w.rng.nasty());
	if (w.board.is_announced(other))
		wr.wr.ud.remote_qpn = w.board.qps[other].qpn;
	wr.wr.ud.remote_qkey = w.rng.chance(95) ? 0x11111111 : 0;
	return true;
}

bool fill(World &w, const Queue_pair &q, Request &r)
{
	ibv_send_wr &wr = r.wr;

	wr.wr_id = w.rng.any();
	wr.opcode = opcodes[w.rng.below(std::size(opcodes))];
	if (q.mrc)
		wr.opcode = w.rng.one_of(IBV_WR_RDMA_WRITE,
					 IBV_WR_RDMA_WRITE_WITH_IMM);
	/* The library would copy inline data from anywhere. */
	wr.send_flags = static_cast<unsigned>(w.rng.bits(IBV_SEND_FENCE |
							 IBV_SEND_SIGNALED |
							 IBV_SEND_SOLICITED) &
					      ~uint64_t{IBV_SEND_INLINE});
	wr.num_sge = static_cast<int>(w.rng.below(w.rng.chance(95) ? 4 : 7));
	for (ibv_sge &s : r.sge)
		s = w.some_sge();
	wr.sg_list = r.sge.data();
	wr.imm_data = static_cast<uint32_t>(w.rng.any());
	if (q.type == IBV_QPT_UD)
		return set_datagram(w, wr);
	switch (wr.opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wr.num_sge = 1;
		r.sge[0].length = w.rng.chance(95) ? 8 : 7;
		break;
	case IBV_WR_LOCAL_INV:
		wr.num_sge = 0;
		wr.invalidate_rkey = w.mws.empty() ? w.rng.u32(1 << 16)
						   : w.rng.pick(w.mws)->rkey;
		break;
	case IBV_WR_BIND_MW:
		wr.num_sge = 0;
		set_bind(w, wr);
		return true;
	default:
		break;
	}
	set_remote(w, q, wr);
	/* The library copies inline data: it has to be there. */
	if (q.inline_bytes && w.rng.chance(15)) {
		const auto mem =
			w.some_memory(std::min<uint64_t>(q.inline_bytes, 4096));

		r.sge[0] = {reinterpret_cast<uintptr_t>(w.arena),
			    static_cast<uint32_t>(std::min<uint64_t>(
				    mem.size(), q.inline_bytes)),
			    0};
		wr.num_sge = 1;
		wr.send_flags |= IBV_SEND_INLINE;
	}
	return true;
}

int post_send(World &w)
{
	if (w.qps.empty())
		return nothing_to_do;
	const Queue_pair &q = w.busy_qp();
	std::array<Request, 8> list{};
	const std::size_t n = 1 + w.rng.below(list.size());
	ibv_send_wr *bad;

	for (std::size_t i = 0; i < n; i++) {
		if (!fill(w, q, list[i]))
			return nothing_to_do;
		list[i].wr.next = i + 1 < n ? &list[i + 1].wr : nullptr;
	}
	return q.qp ? ibv_post_send(q.qp, &list[0].wr, &bad)
		    : mrc_post_send(q.mrc, &list[0].wr, &bad);
}

int post_recv(World &w)
{
	if (w.qps.empty())
		return nothing_to_do;
	const Queue_pair &q = w.rng.pick(w.qps);
	std::array<ibv_sge, 6> sge;
	ibv_recv_wr wr{}, *bad;
	int err = 0;

	if (q.has_srq && w.rng.chance(95))
		return nothing_to_do;
	for (ibv_sge &s : sge)
		s = w.some_sge();
	wr.sg_list = sge.data();
	for (uint64_t n = w.rng.below(20); !err && n; n--) {
		wr.wr_id = w.rng.any();
		wr.num_sge =
			static_cast<int>(w.rng.below(w.rng.chance(95) ? 3 : 7));
		err = q.qp ? ibv_post_recv(q.qp, &wr, &bad)
			   : mrc_post_recv(q.mrc, &wr, &bad);
	}
	return err > 0 ? err : err < 0 ? errno : 0;
}

int poll(World &w)
{
	std::array<ibv_wc, 16> wc;
	int n = 0;

	if (w.cqs.empty() && w.mrc_cqs.empty())
		return nothing_to_do;
	for (ibv_cq *cq : w.cqs) {
		n = ibv_poll_cq(cq, static_cast<int>(wc.size()), wc.data());
		if (n > 0)
			w.board.completions += static_cast<unsigned>(n);
	}
	for (mrc_cq *cq : w.mrc_cqs) {
		n = mrc_poll_cq(cq, static_cast<int>(wc.size()), wc.data());
		if (n > 0)
			w.board.completions += static_cast<unsigned>(n);
	}
	return n < 0 ? EIO : 0;
}

constexpr Action actions[] = {
	{"post_send", 60, post_send},
	{"post_recv", 30, post_recv},
	{"poll_cq", 30, poll},
};
} // namespace

std::span<const Action> traffic_actions()
{
	return actions;
}
} // namespace devfuzz

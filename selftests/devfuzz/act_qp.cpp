// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs from their creation to their end, address handles, multicast
 * groups. */
#include <cerrno>
#include <iterator>

#include "world.hpp"

namespace devfuzz
{
namespace
{
constexpr int known_mask = (1 << 26) - 1;

bool connected(ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_UC;
}

/* The attributes that each state asks for. */
int init_mask(ibv_qp_type type)
{
	const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	return mask | (connected(type) ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY);
}

int rtr_mask(ibv_qp_type type)
{
	int mask = IBV_QP_STATE;

	if (connected(type))
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN;
	if (type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return mask;
}

int rts_mask(ibv_qp_type type)
{
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return mask;
}

ibv_qp_attr good_attr(World &w, const Queue_pair &q)
{
	ibv_qp_attr a{};
	uint8_t index;

	(void)w.some_gid(a.port_num, index);
	a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			    IBV_ACCESS_REMOTE_ATOMIC;
	a.qkey = 0x11111111;
	a.path_mtu = w.rng.one_of(IBV_MTU_256, IBV_MTU_1024, IBV_MTU_2048,
				  IBV_MTU_4096);
	a.sq_psn = q.psn;
	a.max_dest_rd_atomic = static_cast<uint8_t>(w.rng.below(17));
	a.max_rd_atomic = static_cast<uint8_t>(w.rng.below(17));
	a.min_rnr_timer = static_cast<uint8_t>(w.rng.below(14));
	a.timeout = static_cast<uint8_t>(w.rng.range(8, 16));
	a.retry_cnt = static_cast<uint8_t>(w.rng.below(8));
	a.rnr_retry = static_cast<uint8_t>(w.rng.below(8));
	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = a.port_num;
	a.ah_attr.grh.sgid_index = index;
	a.ah_attr.grh.hop_limit = 64;
	return a;
}

int modify(World &w, const Queue_pair &q, ibv_qp_attr &a, int mask)
{
	if (q.qp)
		return ibv_modify_qp(q.qp, &a, mask);
	mrc_qp_attr m{};

	m.timeout = a.timeout;
	m.retry.linear_cnt = a.retry_cnt;
	m.mpr.mpr = static_cast<uint8_t>(w.rng.below(4));
	m.mpr.mpr_dest = static_cast<uint8_t>(w.rng.below(4));
	m.qp_hint = w.rng.chance(50) ? w.some(w.hints) : nullptr;
	m.profile.ev_profile_id = w.rng.below(6);
	m.profile.cc_profile_id = w.rng.below(6);
	m.cap = static_cast<uint32_t>(w.rng.bits(7));
	return mrc_modify_qp(
		q.mrc, &a, mask, &m,
		w.rng.chance(50) ? 0 : static_cast<int>(w.rng.bits(0x3ff)));
}

void announce(World &w, Queue_pair &q)
{
	uint8_t port, index;

	q.slot = w.board.claim();
	if (q.slot == nobody)
		return;
	Announced &a = w.board.qps[q.slot];

	a.type = q.type;
	if (q.mrc)
		(void)mrc_get_qpn(q.mrc, &a.qpn);
	else
		a.qpn = q.qp->qp_num;
	a.psn = q.psn;
	a.gid = w.some_gid(port, index);
	a.len = 0;
	if (!w.mrs.empty()) {
		const Region &r = w.rng.pick(w.mrs);

		a.rkey = r.mr->rkey;
		a.addr = r.addr;
		a.len = r.len;
	}
	w.board.announce(q.slot);
}

void add(World &w, Queue_pair q)
{
	q.psn = w.rng.u32(1 << 24);
	q.peer = nobody;
	announce(w, q);
	w.qps.push_back(q);
}

ibv_qp_cap some_cap(World &w)
{
	ibv_qp_cap cap{};
	const bool odd = w.rng.chance(10);
	const auto value = [&](uint64_t likely) {
		return static_cast<uint32_t>(odd ? w.rng.size(likely)
						 : w.rng.range(1, likely));
	};

	cap.max_send_wr = value(200);
	cap.max_recv_wr = value(200);
	cap.max_send_sge = value(6);
	cap.max_recv_sge = value(6);
	cap.max_inline_data = value(300);
	return cap;
}

int create(World &w)
{
	ibv_qp_init_attr init{};

	if (w.pds.empty() || w.cqs.empty() || w.qps.size() > 24)
		return nothing_to_do;
	init.qp_type = w.rng.one_of(IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_RC,
				    IBV_QPT_UC, IBV_QPT_UD);
	init.send_cq = w.rng.pick(w.cqs);
	init.recv_cq = w.rng.pick(w.cqs);
	init.srq = w.rng.chance(30) ? w.some(w.srqs) : nullptr;
	init.sq_sig_all = static_cast<int>(w.rng.below(2));
	init.cap = some_cap(w);
	ibv_qp *qp = ibv_create_qp(w.rng.pick(w.pds), &init);

	if (!qp)
		return errno;
	add(w, {qp, nullptr, init.qp_type, nobody, nobody, 0,
		init.cap.max_inline_data, init.srq != nullptr, false});
	return 0;
}

int create_mrc(World &w)
{
	mrc_qp_init_attr init{};

	if (!w.mrc || w.mrc_cqs.empty() || w.pds.empty() || w.qps.size() > 24)
		return nothing_to_do;
	init.send_cq = w.rng.pick(w.mrc_cqs);
	init.recv_cq = w.rng.pick(w.mrc_cqs);
	init.pd = w.rng.pick(w.pds);
	init.cap = some_cap(w);
	init.sq_sig_all = static_cast<int>(w.rng.below(2));
	init.send_ops_flags =
		w.rng.chance(80) ? IBV_QP_EX_WITH_RDMA_WRITE |
					   IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM
				 : w.rng.bits(0xffff);
	mrc_qp *qp = mrc_create_qp(w.mrc, &init);

	if (!qp)
		return errno;
	add(w, {nullptr, qp, IBV_QPT_RC, nobody, nobody, 0,
		init.cap.max_inline_data, false, false});
	return 0;
}

/* The peer that asked for this queue pair, or one that waits for somebody. */
uint32_t find_peer(World &w, Queue_pair &q)
{
	if (q.slot == nobody)
		return nobody;
	Announced &self = w.board.qps[q.slot];
	uint32_t peer = self.peer;

	if (w.board.is_announced(peer))
		return peer;
	peer = w.board.find_peer(q.slot, self.type, w.rng.chance(10));
	self.peer = peer;
	return peer;
}

/* From INIT to RTS as far as it goes, connected to a queue pair of the board.
 */
int connect(World &w)
{
	if (w.qps.empty())
		return nothing_to_do;
	Queue_pair &q = w.rng.pick(w.qps);
	ibv_qp_attr a = good_attr(w, q);

	a.qp_state = IBV_QPS_INIT;
	int err = modify(w, q, a, init_mask(q.type));

	if (connected(q.type)) {
		q.peer = find_peer(w, q);
		if (q.peer == nobody)
			return nothing_to_do;
		const Announced &peer = w.board.qps[q.peer];

		a.dest_qp_num = peer.qpn;
		a.rq_psn = peer.psn & 0xffffff;
		a.ah_attr.grh.dgid = peer.gid;
	}
	a.qp_state = IBV_QPS_RTR;
	err = modify(w, q, a, rtr_mask(q.type));
	a.qp_state = IBV_QPS_RTS;
	if (!err)
		err = modify(w, q, a, rts_mask(q.type));
	if (!err) {
		w.board.connected++;
		q.up = true;
	}
	return err;
}

int modify_odd(World &w)
{
	if (w.qps.empty())
		return nothing_to_do;
	const Queue_pair &q = w.rng.pick(w.qps);
	ibv_qp_attr a = good_attr(w, q);

	a.qp_state = static_cast<ibv_qp_state>(w.rng.below(9));
	a.cur_qp_state = static_cast<ibv_qp_state>(w.rng.below(9));
	a.dest_qp_num = static_cast<uint32_t>(w.rng.nasty());
	a.rq_psn = static_cast<uint32_t>(w.rng.nasty());
	a.ah_attr.grh.dgid.global.interface_id = w.rng.any();
	if (w.rng.chance(20))
		a.path_mtu = static_cast<ibv_mtu>(w.rng.below(9));
	if (w.rng.chance(20))
		a.ah_attr.grh.sgid_index = static_cast<uint8_t>(w.rng.any());
	if (w.rng.chance(20))
		a.port_num = static_cast<uint8_t>(w.rng.nasty());
	if (w.rng.chance(20))
		a.timeout = a.retry_cnt = a.rnr_retry =
			static_cast<uint8_t>(w.rng.nasty());
	a.cap = some_cap(w);
	/* A step with one member too many or too few, or any members. */
	const int steps[] = {
		init_mask(q.type),   rtr_mask(q.type),
		rts_mask(q.type),    IBV_QP_STATE | IBV_QP_CUR_STATE,
		IBV_QP_ACCESS_FLAGS, IBV_QP_MIN_RNR_TIMER};
	int mask = steps[w.rng.below(std::size(steps))];

	if (w.rng.chance(50))
		mask ^= 1 << w.rng.below(26);
	if (w.rng.chance(20))
		mask = static_cast<int>(w.rng.bits(known_mask));
	return modify(w, q, a, mask);
}

int to_state(World &w, ibv_qp_state state)
{
	if (w.qps.empty())
		return nothing_to_do;
	Queue_pair &q = w.rng.pick(w.qps);
	ibv_qp_attr a = good_attr(w, q);

	a.qp_state = state;
	const int err = modify(w, q, a, IBV_QP_STATE);

	if (!err && state != IBV_QPS_RTS)
		q.up = false;
	/* Another connection may follow, with others. */
	if (!err && state == IBV_QPS_RESET && q.slot != nobody) {
		w.board.forget(q.slot);
		announce(w, q);
	}
	return err;
}

int to_reset(World &w)
{
	return to_state(w, IBV_QPS_RESET);
}
int to_error(World &w)
{
	return to_state(w, IBV_QPS_ERR);
}
int to_sqd(World &w)
{
	return to_state(w, IBV_QPS_SQD);
}
int to_rts(World &w)
{
	return to_state(w, IBV_QPS_RTS);
}

int query(World &w)
{
	if (w.qps.empty())
		return nothing_to_do;
	const Queue_pair &q = w.rng.pick(w.qps);
	ibv_qp_attr a;

	if (q.qp) {
		ibv_qp_init_attr init;

		return ibv_query_qp(q.qp, &a,
				    static_cast<int>(w.rng.bits(known_mask)),
				    &init);
	}
	mrc_qp_init_attr init;
	mrc_qp_attr m;

	return mrc_query_qp(q.mrc, &a, static_cast<int>(w.rng.bits(known_mask)),
			    &m, static_cast<int>(w.rng.bits(0x3ff)), &init);
}

int destroy(World &w)
{
	return w.end_one(w.qps, 4,
			 [&w](Queue_pair &q) { return destroy_qp(w, q); });
}

int create_ah(World &w)
{
	ibv_pd *pd = w.some(w.pds);
	ibv_ah_attr a{};
	uint8_t index;

	if (!pd || w.ahs.size() > 30)
		return nothing_to_do;
	a.is_global = 1;
	a.grh.dgid = w.some_gid(a.port_num, index);
	a.grh.sgid_index = index;
	a.grh.hop_limit = static_cast<uint8_t>(w.rng.range(1, 64));
	const uint32_t other = w.rng.u32(max_announced);

	if (w.board.is_announced(other))
		a.grh.dgid = w.board.qps[other].gid;
	if (w.rng.chance(10))
		a.grh.dgid.global.subnet_prefix = w.rng.any();
	if (w.rng.chance(10))
		a.port_num = static_cast<uint8_t>(w.rng.nasty());
	ibv_ah *ah = ibv_create_ah(pd, &a);

	return World::keep(w.ahs, ah);
}

int destroy_ah(World &w)
{
	return w.end_one(w.ahs, 1, ibv_destroy_ah);
}

/* ff0e::N and 239.1.1.N, of which a few are used by all. */
ibv_gid group(World &w)
{
	ibv_gid gid{};

	if (w.rng.chance(50)) {
		gid.raw[0] = 0xff;
		gid.raw[1] = 0x0e;
	} else {
		gid.raw[10] = gid.raw[11] = 0xff;
		gid.raw[12] = 239;
		gid.raw[13] = gid.raw[14] = 1;
	}
	gid.raw[15] = static_cast<uint8_t>(w.rng.below(4));
	if (w.rng.chance(5))
		gid.raw[w.rng.below(16)] = static_cast<uint8_t>(w.rng.any());
	return gid;
}

int multicast(World &w, bool attach)
{
	if (w.qps.empty())
		return nothing_to_do;
	const Queue_pair &q = w.rng.pick(w.qps);
	const ibv_gid gid = group(w);
	const uint16_t lid = w.rng.chance(20) ? 1 : 0;

	if (!q.qp || (q.type != IBV_QPT_UD && w.rng.chance(95)))
		return nothing_to_do;
	return attach ? ibv_attach_mcast(q.qp, &gid, lid)
		      : ibv_detach_mcast(q.qp, &gid, lid);
}

int attach(World &w)
{
	return multicast(w, true);
}
int detach(World &w)
{
	return multicast(w, false);
}

constexpr Action actions[] = {
	{"create_qp", 14, create},    {"mrc_create_qp", 8, create_mrc},
	{"connect_qp", 30, connect},  {"modify_qp_oddly", 5, modify_odd},
	{"qp_to_reset", 2, to_reset}, {"qp_to_error", 2, to_error},
	{"qp_to_sqd", 2, to_sqd},     {"qp_to_rts", 3, to_rts},
	{"query_qp", 3, query},	      {"destroy_qp", 4, destroy},
	{"create_ah", 3, create_ah},  {"destroy_ah", 1, destroy_ah},
	{"attach_mcast", 3, attach},  {"detach_mcast", 1, detach},
};
} // namespace

int destroy_qp(World &w, Queue_pair &q)
{
	const int err = q.qp ? ibv_destroy_qp(q.qp) : mrc_destroy_qp(q.mrc);

	if (!err && q.slot != nobody)
		w.board.forget(q.slot);
	return err;
}

std::span<const Action> qp_actions()
{
	return actions;
}
} // namespace devfuzz

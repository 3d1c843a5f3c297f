// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "objects.hpp"

#include <chrono>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace
{
ibv_context *open_device(const std::string &name)
{
	int n;
	ibv_device **list = made(ibv_get_device_list(&n), "device list");
	ibv_context *ctx = nullptr;

	for (int i = 0; i < n && !ctx; i++)
		if (name == ibv_get_device_name(list[i]))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return made(ctx, "device of this name");
}
} // namespace

Dev::Dev(const std::string &name)
	: ctx(open_device(name)), pd(made(ibv_alloc_pd(ctx), "PD"))
{
	for (int i = 0; i < 64; i++) {
		ibv_gid g{};

		/* v4-mapped */
		if (!ibv_query_gid(ctx, 1, i, &g) && g.raw[10] == 0xff &&
		    g.raw[11] == 0xff) {
			gid = g;
			gid_index = static_cast<uint8_t>(i);
			return;
		}
	}
	throw Failure("no IPv4 address");
}

Dev::~Dev()
{
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
}

Region::Region(ibv_pd *pd, int access, size_t n)
	: size(n), bytes(static_cast<uint8_t *>(
			   mmap(nullptr, n, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
{
	if (bytes == MAP_FAILED)
		throw Failure("no memory");
	mr = made(ibv_reg_mr(pd, bytes, n, access), "region");
}

Region::~Region()
{
	dereg();
	munmap(bytes, size);
}

int Region::dereg()
{
	int ret = mr ? ibv_dereg_mr(mr) : 0;

	if (!ret)
		mr = nullptr;
	return ret;
}

int Window::drop()
{
	int ret = mw ? ibv_dealloc_mw(mw) : 0;

	mw = nullptr;
	return ret;
}

ibv_qp *Pair::make(ibv_pd *pd)
{
	ibv_qp_init_attr init{};

	init.send_cq = cq;
	init.recv_cq = cq;
	init.cap.max_send_wr = 16;
	init.cap.max_recv_wr = 16;
	init.cap.max_send_sge = most_sges;
	init.cap.max_recv_sge = most_sges;
	init.qp_type = IBV_QPT_RC;
	init.sq_sig_all = 1;
	return made(ibv_create_qp(pd, &init), "QP");
}

void Pair::connect(ibv_qp *qp, ibv_qp *peer)
{
	ibv_qp_attr attr{};

	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = all_access;
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				  IBV_QP_ACCESS_FLAGS))
		throw Failure("INIT: " + errno_text(errno));

	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = peer->qp_num;
	attr.max_dest_rd_atomic = 4;
	attr.min_rnr_timer = 1;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.hop_limit = 64;
	attr.ah_attr.grh.sgid_index = d_.gid_index;
	attr.ah_attr.grh.dgid = d_.gid;
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC |
				  IBV_QP_MIN_RNR_TIMER))
		throw Failure("RTR: " + errno_text(errno));

	attr.qp_state = IBV_QPS_RTS;
	// 1 s: eight of these without any progress are no busy host. What is lost is
	// asked for long before, whatever the timeout.
	attr.timeout = 18;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 4;
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				  IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_MAX_QP_RD_ATOMIC))
		throw Failure("RTS: " + errno_text(errno));
}

Pair::Pair(Dev &d, ibv_pd *pd_a, ibv_pd *pd_b)
	: cq(made(ibv_create_cq(d.ctx, 64, nullptr, nullptr, 0), "CQ")),
	  a(make(pd_a)), b(make(pd_b)), src(pd_a, IBV_ACCESS_LOCAL_WRITE), d_(d)
{
	connect(a, b);
	connect(b, a);
}

void Pair::drop_b()
{
	if (b)
		ibv_destroy_qp(b);
	b = nullptr;
}

Pair::~Pair()
{
	ibv_destroy_qp(a);
	drop_b();
	ibv_destroy_cq(cq);
}

ibv_wc_status Pair::wait()
{
	using clock = std::chrono::steady_clock;
	const auto limit = clock::now() + std::chrono::seconds(20);
	ibv_wc wc;

	while (clock::now() < limit)
		if (ibv_poll_cq(cq, 1, &wc) == 1 && wc.wr_id == id_)
			return wc.status;
	throw Failure("no completion");
}

ibv_wc_status Pair::run(ibv_qp *qp, ibv_send_wr wr)
{
	ibv_send_wr *bad;

	wr.wr_id = ++id_;
	if (int ret = ibv_post_send(qp, &wr, &bad))
		throw Failure("post: " + errno_text(ret));
	return wait();
}

ibv_wc_status Pair::write(uint64_t to, uint32_t rkey, uint32_t len,
			  uint8_t what)
{
	ibv_sge sge{src.addr(), len, src.mr->lkey};
	ibv_send_wr wr{};

	std::memset(src.bytes, what, len);
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.rdma.remote_addr = to;
	wr.wr.rdma.rkey = rkey;
	return run(a, wr);
}

ibv_wc_status Pair::read(uint64_t from, uint32_t rkey, uint32_t len)
{
	ibv_sge sge{src.addr(), len, src.mr->lkey};
	ibv_send_wr wr{};

	wr.opcode = IBV_WR_RDMA_READ;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.rdma.remote_addr = from;
	wr.wr.rdma.rkey = rkey;
	return run(a, wr);
}

ibv_wc_status Pair::add(uint64_t to, uint32_t rkey)
{
	ibv_sge sge{src.addr(), 8, src.mr->lkey};
	ibv_send_wr wr{};

	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.atomic.remote_addr = to;
	wr.wr.atomic.rkey = rkey;
	wr.wr.atomic.compare_add = 1;
	return run(a, wr);
}

ibv_wc_status Pair::bind_key(ibv_mw *mw, uint32_t rkey, ibv_mr *mr,
			     uint64_t addr, uint64_t len, unsigned access)
{
	ibv_send_wr wr{};

	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info = {mr, addr, len, access};
	ibv_wc_status st = run(b, wr);
	if (st == IBV_WC_SUCCESS)
		mw->rkey = rkey;
	return st;
}

ibv_wc_status Pair::bind(ibv_mw *mw, const Region &r, uint64_t addr,
			 uint64_t len, unsigned access)
{
	ibv_mw_bind how{};

	if (mw->type == IBV_MW_TYPE_2)
		return bind_key(mw, ibv_inc_rkey(mw->rkey), r.mr, addr, len,
				access);
	/* The library chooses the key. */
	how.wr_id = ++id_;
	how.bind_info = {r.mr, addr, len, access};
	if (int ret = ibv_bind_mw(b, mw, &how))
		throw Failure("ibv_bind_mw: " + errno_text(ret));
	return wait();
}

ibv_wc_status Pair::invalidate(uint32_t key)
{
	ibv_send_wr wr{};

	wr.opcode = IBV_WR_LOCAL_INV;
	wr.invalidate_rkey = key;
	return run(b, wr);
}

ibv_wc_status Pair::send_inv(uint32_t key)
{
	ibv_recv_wr recv{}, *bad;
	ibv_send_wr wr{};

	if (int ret = ibv_post_recv(b, &recv, &bad))
		throw Failure("receive: " + errno_text(ret));
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = key;
	return run(a, wr);
}

void hold_queue_pairs(Dev &d, int n)
{
	ibv_cq *cq = made(ibv_create_cq(d.ctx, 1, nullptr, nullptr, 0), "CQ");
	ibv_qp_init_attr attr{};

	attr.send_cq = attr.recv_cq = cq;
	attr.qp_type = IBV_QPT_RC;
	attr.cap = {.max_send_wr = 1,
		    .max_recv_wr = 1,
		    .max_send_sge = 1,
		    .max_recv_sge = 1,
		    .max_inline_data = 0};
	for (int i = 0; i < n; i++)
		made(ibv_create_qp(d.pd, &attr), "queue pair");
	std::printf("begun\n");
	std::fflush(stdout);
	for (;;)
		pause();
}

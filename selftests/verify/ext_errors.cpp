// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: operations that must be refused, and keys that end: memory
 * windows, SEND_WITH_INV, LOCAL_INV.
 */
#include <memory>

#include "common.h"
#include "ext_pair.h"

namespace
{
constexpr int no_read = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_ATOMIC;
constexpr int no_atomic = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			  IBV_ACCESS_REMOTE_READ;

struct Refused {
	const char *name;
	ibv_wr_opcode op;
	ibv_wc_status status;
	void (*spoil)(Work &, ExtPair &);
	int access; /* of the queue pairs, 0: all */
	ibv_wc_status receiver = IBV_WC_WR_FLUSH_ERR;
};

const Refused refused[] = {
	{"READ, unknown key", IBV_WR_RDMA_READ, IBV_WC_REM_ACCESS_ERR,
	 [](Work &w, ExtPair &p) { w.rkey = p.peer().rkey ^ 0x55500; }, 0},
	{"READ, memory that may only be written", IBV_WR_RDMA_READ,
	 IBV_WC_REM_ACCESS_ERR,
	 [](Work &w, ExtPair &p) { w.rkey = p.peer().rkey_write; }, 0},
	{"READ beyond the end", IBV_WR_RDMA_READ, IBV_WC_REM_ACCESS_ERR,
	 [](Work &w, ExtPair &) { w.remote = ExtPair::area_size - 4; }, 0},
	{"READ from a queue pair that may not be read", IBV_WR_RDMA_READ,
	 IBV_WC_REM_INV_REQ_ERR, [](Work &, ExtPair &) {}, no_read},
	{"READ into foreign memory", IBV_WR_RDMA_READ, IBV_WC_LOC_PROT_ERR,
	 [](Work &w, ExtPair &p) { w.lkey = p.own_mr().lkey() ^ 0x55500; }, 0},
	{"FETCH_AND_ADD at an odd address", IBV_WR_ATOMIC_FETCH_AND_ADD,
	 IBV_WC_REM_INV_REQ_ERR, [](Work &w, ExtPair &) { w.remote = 4097; },
	 0},
	{"CMP_AND_SWP, not for atomics", IBV_WR_ATOMIC_CMP_AND_SWP,
	 IBV_WC_REM_ACCESS_ERR,
	 [](Work &w, ExtPair &p) { w.rkey = p.peer().rkey_write; }, 0},
	{"CMP_AND_SWP, a queue pair not for atomics", IBV_WR_ATOMIC_CMP_AND_SWP,
	 IBV_WC_REM_INV_REQ_ERR, [](Work &, ExtPair &) {}, no_atomic},
	{"SEND of foreign memory", IBV_WR_SEND, IBV_WC_LOC_PROT_ERR,
	 [](Work &w, ExtPair &p) { w.lkey = p.own_mr().lkey() ^ 0x55500; }, 0},
	{"SEND longer than the receive", IBV_WR_SEND, IBV_WC_REM_INV_REQ_ERR,
	 [](Work &w, ExtPair &) { w.len = 5001; }, 0, IBV_WC_LOC_LEN_ERR},
	{"SEND much longer than the receive", IBV_WR_SEND,
	 IBV_WC_REM_INV_REQ_ERR, [](Work &w, ExtPair &) { w.len = 100000; }, 0,
	 IBV_WC_LOC_LEN_ERR},
	{"SEND_WITH_INV of a key that there is not", IBV_WR_SEND_WITH_INV,
	 IBV_WC_REM_ACCESS_ERR,
	 [](Work &w, ExtPair &p) { w.imm = p.peer().rkey ^ 0x55500; }, 0,
	 IBV_WC_LOC_PROT_ERR},
};

void one(Session &s, const Refused &r)
{
	ExtConfig c;

	if (r.access)
		c.qp_access = r.access;
	ExtPair p(s, c);

	if (!s.client) {
		p.post_recv(0, 0, 5000);
		p.post_recv(1, 8192, 5000);
	}
	s.oob.barrier(40);
	if (s.client) {
		Work before, bad, after;

		before.op = IBV_WR_RDMA_WRITE;
		before.len = 3000;
		before.remote = 100000;
		bad.op = r.op;
		bad.id = 1;
		bad.at = 65536;
		bad.len = 8;
		after.id = 2;
		after.len = 64;
		r.spoil(bad, p);
		p.post({before, bad, after});
		p.expect(p.send_cq(), 0, IBV_WC_SUCCESS, r.name);
		p.expect(p.send_cq(), 1, r.status, r.name);
		p.expect(p.send_cq(), 2, IBV_WC_WR_FLUSH_ERR, r.name);
		if (p.qp().query_state() != IBV_QPS_ERR)
			fail("%s: the QP is not in ERR", r.name);
	}
	s.oob.barrier(41);
	if (!s.client) {
		/* What failed here only never came here. */
		if (r.status == IBV_WC_LOC_PROT_ERR)
			p.qp().to_error();
		Wc w = p.wait(p.recv_cq(), 1)[0];

		if (w.wr_id != 0 ||
		    (w.status != IBV_WC_WR_FLUSH_ERR && w.status != r.receiver))
			fail("%s: the receive ended with %s", r.name,
			     ibv_wc_status_str(w.status));
		p.expect(p.recv_cq(), 1, IBV_WC_WR_FLUSH_ERR, r.name);
		/* Nothing was changed but where the WRITE went. */
		if (p.mine().check(p.area(), 0, 100000) != 100000 ||
		    p.mine().check(p.area() + 103000, 103000,
				   ExtPair::area_size - 103000) !=
			    ExtPair::area_size - 103000)
			fail("%s: memory has changed", r.name);
	}
	s.oob.barrier(42);
	drain_async(s.dev);
}

struct Window {
	Window(Session &s, ibv_mw_type type)
		: mw(ibv_alloc_mw(s.dev.pd(), type))
	{
		if (!mw && errno == EOPNOTSUPP)
			throw Skip("no memory windows");
		if (!mw)
			fail("ibv_alloc_mw: %s", std::strerror(errno));
	}
	~Window()
	{
		if (ibv_dealloc_mw(mw))
			std::fprintf(stderr, "mrc_verify: ibv_dealloc_mw\n");
	}
	Window(const Window &) = delete;
	Window &operator=(const Window &) = delete;

	ibv_mw *mw;
};

enum class End { inv_remote, inv_local, zero_length };

/* The server's part: the key of a window of the first 64 KiB of @mem. */
uint32_t bind_window(ExtPair &p, ibv_mw *mw, ibv_mr *mr, uint64_t len)
{
	ibv_mw_bind_info info{};
	int ret;

	info.mr = mr;
	info.addr = reinterpret_cast<uintptr_t>(mr->addr);
	info.length = len;
	info.mw_access_flags =
		len ? IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ : 0;
	if (mw->type == IBV_MW_TYPE_1) {
		ibv_mw_bind b{};

		b.wr_id = 50;
		b.send_flags = IBV_SEND_SIGNALED;
		b.bind_info = info;
		ret = ibv_bind_mw(p.qp().get(), mw, &b);
	} else {
		ibv_send_wr wr{}, *bad;

		wr.wr_id = 50;
		wr.opcode = IBV_WR_BIND_MW;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.bind_mw.mw = mw;
		wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
		wr.bind_mw.bind_info = info;
		ret = ibv_post_send(p.qp().get(), &wr, &bad);
		mw->rkey = wr.bind_mw.rkey;
	}
	if (ret)
		fail("binding a window: %s", std::strerror(ret));
	p.expect_send(50, IBV_WC_BIND_MW);
	return mw->rkey;
}

void window(Session &s, ibv_mw_type type, End end)
{
	constexpr uint64_t len = 65536;
	std::unique_ptr<Window> mw;
	Memory mem(2 * len);
	ExtPair p(s);
	ibv_mr *mr = ibv_reg_mr(s.dev.pd(), mem.data(), mem.size(),
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND |
					IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_REMOTE_READ);
	Work w;

	if (!mr)
		fail("ibv_reg_mr: %s", std::strerror(errno));
	if (!s.client) {
		struct {
			uint64_t addr;
			uint64_t rkey;
		} told{reinterpret_cast<uintptr_t>(mem.data()), 0};

		mw = std::make_unique<Window>(s, type);
		p.post_recv(0, 0, 5000);
		told.rkey = bind_window(p, mw->mw, mr, len);
		s.oob.send_pod(Msg::total, told);
		s.oob.barrier(43);
		for (uint64_t i = 0; i < 3000; i++)
			if (mem.data()[1000 + i] != 0x42)
				fail("what was written is not there");
		if (end == End::zero_length)
			bind_window(p, mw->mw, mr, 0);
		if (end == End::inv_local) {
			w.op = IBV_WR_LOCAL_INV;
			w.id = 51;
			w.imm = static_cast<uint32_t>(told.rkey);
			p.post(w);
			p.expect_send(51, IBV_WC_LOCAL_INV);
		}
		s.oob.barrier(44);
		if (end == End::inv_remote) {
			Wc r = p.expect(p.recv_cq(), 0, IBV_WC_SUCCESS,
					"SEND_WITH_INV");

			if (!(r.flags & IBV_WC_WITH_INV) || r.imm != told.rkey)
				fail("SEND_WITH_INV: flags %#x, key %x",
				     r.flags, r.imm);
		}
	} else {
		std::string told = s.oob.expect(Msg::total);
		uint64_t addr, rkey;

		std::memcpy(&addr, told.data(), 8);
		std::memcpy(&rkey, told.data() + 8, 8);
		std::memset(p.own(), 0x42, 8192);
		w.op = IBV_WR_RDMA_WRITE;
		w.id = 1;
		w.len = 3000;
		w.remote = addr + 1000 - p.peer().addr;
		w.rkey = static_cast<uint32_t>(rkey);
		p.post(w);
		p.expect_send(1, IBV_WC_RDMA_WRITE);
		w.op = IBV_WR_RDMA_READ;
		w.id = 2;
		w.at = 16384;
		p.post(w);
		p.expect_send(2, IBV_WC_RDMA_READ);
		if (std::memcmp(p.own(), p.own() + 16384, 3000))
			fail("what was read is not what was written");
		s.oob.barrier(43);
		if (end == End::inv_remote) {
			Work inv;

			inv.op = IBV_WR_SEND_WITH_INV;
			inv.id = 3;
			inv.len = 100;
			inv.imm = w.rkey;
			p.post(inv);
			p.expect_send(3, IBV_WC_SEND);
		}
		s.oob.barrier(44);
		w.op = IBV_WR_RDMA_WRITE;
		w.id = 4;
		p.post(w);
		p.expect(p.send_cq(), 4, IBV_WC_REM_ACCESS_ERR,
			 "WRITE through a window that has ended");
	}
	s.oob.barrier(45);
	mw.reset();
	if (ibv_dereg_mr(mr))
		fail("ibv_dereg_mr failed");
	drain_async(s.dev);
}
} // namespace

void test_ext_refused(Session &s)
{
	for (const Refused &r : refused)
		one(s, r);
}

void test_ext_windows(Session &s)
{
	{
		Window probe(s, IBV_MW_TYPE_1);
	}
	window(s, IBV_MW_TYPE_1, End::zero_length);
	window(s, IBV_MW_TYPE_2, End::inv_local);
	window(s, IBV_MW_TYPE_2, End::inv_remote);
}

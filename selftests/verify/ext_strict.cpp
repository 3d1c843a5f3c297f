// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: devices whose extension is switched off. What a program is told
 * and refused there, and what becomes of operations that such a peer does not
 * know.
 */
#include <cerrno>
#include <cstring>

#include "common.h"
#include "ext_pair.h"

namespace
{
bool is_strict(const Device &dev)
{
	return dev.is_mrc() && !dev.attr().max_qp_rd_atom;
}

/* Skips, at both ends, unless they are such ones. */
void need_strict(Session &s, bool client, bool server)
{
	const char *why = "the extension is on or off at the wrong end";
	bool ok = is_strict(s.dev) == (s.client ? client : server);
	uint32_t peer_ok;

	s.oob.send_pod(Msg::total, static_cast<uint32_t>(ok));
	std::string told = s.oob.expect(Msg::total);

	if (told.size() != sizeof(peer_ok))
		fail("the peer says something else");
	std::memcpy(&peer_ok, told.data(), sizeof(peer_ok));
	if (!ok || !peer_ok)
		throw Skip(why);
}

void check_attributes(const ibv_device_attr &a)
{
	constexpr unsigned never = IBV_DEVICE_MEM_WINDOW |
				   IBV_DEVICE_MEM_WINDOW_TYPE_2A |
				   IBV_DEVICE_MEM_WINDOW_TYPE_2B |
				   IBV_DEVICE_MEM_MGT_EXTENSIONS |
				   IBV_DEVICE_RC_RNR_NAK_GEN;

	if (a.max_qp_rd_atom || a.max_qp_init_rd_atom || a.max_res_rd_atom)
		fail("the device promises READs");
	if (a.atomic_cap != IBV_ATOMIC_NONE)
		fail("the device promises atomic operations");
	if (a.max_mw)
		fail("the device promises memory windows");
	if (a.device_cap_flags & never)
		fail("device_cap_flags %#x", a.device_cap_flags & never);
}

void check_create(Session &s)
{
	static const struct {
		const char *name;
		uint64_t op;
	} ops[] = {
		{"SEND", IBV_QP_EX_WITH_SEND},
		{"SEND_WITH_IMM", IBV_QP_EX_WITH_SEND_WITH_IMM},
		{"SEND_WITH_INV", IBV_QP_EX_WITH_SEND_WITH_INV},
		{"RDMA_READ", IBV_QP_EX_WITH_RDMA_READ},
		{"CMP_AND_SWP", IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP},
		{"FETCH_AND_ADD", IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD},
		{"ATOMIC_WRITE", IBV_QP_EX_WITH_ATOMIC_WRITE},
		{"FLUSH", IBV_QP_EX_WITH_FLUSH},
		{"LOCAL_INV", IBV_QP_EX_WITH_LOCAL_INV},
		{"BIND_MW", IBV_QP_EX_WITH_BIND_MW},
	};
	Cq cq(s.dev, {});

	for (const auto &o : ops) {
		ibv_qp_init_attr_ex a{};

		a.send_cq = cq.get();
		a.recv_cq = cq.get();
		a.qp_type = IBV_QPT_RC;
		a.cap.max_send_wr = 1;
		a.cap.max_send_sge = 1;
		a.pd = s.dev.pd();
		a.comp_mask = IBV_QP_INIT_ATTR_PD |
			      IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		a.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | o.op;
		if (ibv_create_qp_ex(s.dev.ctx(), &a))
			fail("%s: there is a queue pair for it", o.name);
		if (errno != EOPNOTSUPP)
			fail("%s: creating the queue pair gave %s", o.name,
			     std::strerror(errno));
	}
	for (ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
		if (ibv_alloc_mw(s.dev.pd(), type))
			fail("there is a memory window of type %d",
			     static_cast<int>(type));
		if (errno != EOPNOTSUPP)
			fail("ibv_alloc_mw: %s", std::strerror(errno));
	}
}

/* In every respect but one these could be posted. */
void check_post(Session &s)
{
	static const struct {
		const char *name;
		ibv_wr_opcode op;
	} ops[] = {
		{"SEND", IBV_WR_SEND},
		{"SEND_WITH_IMM", IBV_WR_SEND_WITH_IMM},
		{"SEND_WITH_INV", IBV_WR_SEND_WITH_INV},
		{"RDMA_READ", IBV_WR_RDMA_READ},
		{"CMP_AND_SWP", IBV_WR_ATOMIC_CMP_AND_SWP},
		{"FETCH_AND_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD},
		{"ATOMIC_WRITE", IBV_WR_ATOMIC_WRITE},
		{"LOCAL_INV", IBV_WR_LOCAL_INV},
		{"BIND_MW", IBV_WR_BIND_MW},
	};
	ExtConfig c;

	c.writes_only = true;
	ExtPair p(s, c);

	if (s.client) {
		for (const auto &o : ops) {
			ibv_send_wr wr{}, *bad = nullptr;
			ibv_sge sge{};

			sge.addr = reinterpret_cast<uintptr_t>(p.own());
			sge.length = 8;
			sge.lkey = p.own_mr().lkey();
			wr.opcode = o.op;
			wr.send_flags = IBV_SEND_SIGNALED;
			if (o.op != IBV_WR_LOCAL_INV && o.op != IBV_WR_BIND_MW) {
				wr.sg_list = &sge;
				wr.num_sge = 1;
			}
			if (o.op == IBV_WR_ATOMIC_CMP_AND_SWP ||
			    o.op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
				wr.wr.atomic.remote_addr = p.peer().addr;
				wr.wr.atomic.rkey = p.peer().rkey;
			} else if (o.op == IBV_WR_RDMA_READ ||
				   o.op == IBV_WR_ATOMIC_WRITE) {
				wr.wr.rdma.remote_addr = p.peer().addr;
				wr.wr.rdma.rkey = p.peer().rkey;
			}
			int ret = ibv_post_send(p.qp().get(), &wr, &bad);

			if (ret != EOPNOTSUPP && ret != EINVAL)
				fail("%s: posting gave %d (%s)", o.name, ret,
				     std::strerror(ret));
			if (bad != &wr)
				fail("%s: bad_wr is not it", o.name);
		}
		/* Nothing of that is in the queue. */
		Work w;

		w.op = IBV_WR_RDMA_WRITE;
		w.id = 7;
		w.len = 100;
		p.post(w);
		p.expect_send(7, IBV_WC_RDMA_WRITE);
	}
	s.oob.barrier(46);
}

const struct {
	const char *name;
	ibv_wr_opcode op;
} sent[] = {
	{"SEND", IBV_WR_SEND},
	{"SEND_WITH_IMM", IBV_WR_SEND_WITH_IMM},
	{"SEND_WITH_INV", IBV_WR_SEND_WITH_INV},
	{"RDMA_READ", IBV_WR_RDMA_READ},
	{"CMP_AND_SWP", IBV_WR_ATOMIC_CMP_AND_SWP},
	{"FETCH_AND_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD},
	{"ATOMIC_WRITE", IBV_WR_ATOMIC_WRITE},
	{"FLUSH", IBV_WR_FLUSH},
};

void refused_by_peer(Session &s, const char *name, ibv_wr_opcode op)
{
	constexpr uint64_t at = 100000, len = 3000;
	ExtConfig c;

	c.writes_only = !s.client;
	ExtPair p(s, c);

	if (!s.client) {
		p.post_recv(0, 0, 5000);
		p.post_recv(1, 8192, 5000);
	}
	s.oob.barrier(47);
	if (s.client) {
		Work w;

		w.op = IBV_WR_RDMA_WRITE;
		w.len = len;
		w.remote = at;
		p.post(w);
		p.expect_send(0, IBV_WC_RDMA_WRITE);

		Work bad;

		bad.op = op;
		bad.id = 1;
		bad.at = 65536;
		bad.len = 8;
		if (op == IBV_WR_ATOMIC_WRITE)
			bad.pieces = 0;
		if (op == IBV_WR_SEND_WITH_INV)
			bad.imm = p.peer().rkey;
		p.post(bad);
		p.expect(p.send_cq(), 1, IBV_WC_REM_INV_REQ_ERR, name);
		if (p.qp().query_state() != IBV_QPS_ERR)
			fail("%s: the QP is not in ERR", name);
		w.id = 2;
		p.post(w);
		p.expect(p.send_cq(), 2, IBV_WC_WR_FLUSH_ERR, name);
	}
	s.oob.barrier(48);
	if (!s.client) {
		constexpr uint64_t end = at + len;
		constexpr uint64_t rest = ExtPair::area_size - end;

		/* The peer did wrong: this side has nothing to complain of. */
		if (p.qp().query_state() != IBV_QPS_RTS)
			fail("%s: the QP has left RTS", name);
		p.qp().to_error();
		for (uint64_t i = 0; i < 2; i++)
			p.expect(p.recv_cq(), i, IBV_WC_WR_FLUSH_ERR, name);
		if (p.mine().check(p.area(), 0, at) != at ||
		    p.mine().check(p.area() + end, end, rest) != rest)
			fail("%s: memory has changed", name);
	}
	s.oob.barrier(49);
	drain_async(s.dev);
}
} // namespace

void test_ext_strict(Session &s)
{
	need_strict(s, true, true);
	check_attributes(s.dev.attr());
	if (s.dev.has_flush())
		fail("the device promises FLUSH");
	check_create(s);
	check_post(s);
}

void test_ext_strict_peer(Session &s)
{
	unsigned n = 0;

	need_strict(s, false, true);
	/* Both must do the same, and only the client's device may know FLUSH. */
	bool flush = s.dev.has_flush();

	if (s.client) {
		s.oob.send_pod(Msg::total, static_cast<uint32_t>(flush));
	} else {
		std::string told = s.oob.expect(Msg::total);

		flush = !told.empty() && told[0];
	}
	for (const auto &o : sent) {
		if (o.op == IBV_WR_FLUSH && !flush)
			continue;
		refused_by_peer(s, o.name, o.op);
		n++;
	}
	say("strict-peer: %u operations, %u of them requests", n, n - 3);
}

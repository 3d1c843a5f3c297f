/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_verify: one connected pair of queue pairs for tests of everything but
 * WRITE. Each side has an area that the other one may do anything to, filled
 * with a pattern that both know, and memory of its own.
 */
#pragma once

#include <memory>
#include <vector>

#include "oob.h"
#include "pattern.h"
#include "rdma.h"
#include "tests.h"

struct ExtConfig {
	unsigned max_send = 64;
	unsigned max_recv = 128;
	uint8_t rd_atomic = 8;
	int qp_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
			IBV_ACCESS_FLUSH_GLOBAL;
	ibv_srq *srq = nullptr;
	int rnr_retry = -1; /* -1: the option's */
	int min_rnr = -1;
	bool writes_only = false; /* nothing but MRC 1.0 */
};

struct ExtInfo {
	QpAddress qp;
	uint64_t addr;
	uint32_t rkey;
	uint32_t rkey_write; /* the same memory, without reading */
};

/* A work request, whichever way it is posted. */
struct Work {
	ibv_wr_opcode op = IBV_WR_SEND;
	uint64_t id = 0;
	uint64_t at = 0; /* in own memory */
	uint32_t len = 0;
	unsigned pieces = 1; /* of the list; 0: inline */
	uint64_t remote = 0; /* in the peer's area */
	uint32_t rkey = 0;   /* 0: the area's */
	unsigned flags = IBV_SEND_SIGNALED;
	uint32_t imm = 0; /* or key to invalidate */
	uint64_t compare_add = 0;
	uint64_t swap = 0; /* ATOMIC_WRITE: what is written */
	uint32_t lkey = 0; /* 0: that of own memory */
};

class ExtPair
{
public:
	static constexpr size_t area_size = 1 << 20;
	static constexpr size_t own_size = 4 << 20;

	ExtPair(Session &s, const ExtConfig &c = {});

	Qp &qp() { return *qp_; }
	Cq &send_cq() { return send_cq_; }
	Cq &recv_cq() { return recv_cq_; }
	uint8_t *area() { return area_.data(); }
	uint8_t *own() { return own_.data(); }
	const ExtInfo &peer() const { return peer_; }
	Mr &own_mr() { return own_mr_; }
	Mr &area_mr() { return area_mr_; }
	/* What the areas hold at first. */
	const Pattern &mine() const { return mine_; }
	const Pattern &peers() const { return peers_; }

	/* Post without ringing for less than all of them. */
	void post(const std::vector<Work> &list);
	void post(const Work &w) { post(std::vector<Work>{w}); }
	/* A receive into @len bytes of own memory at @at, in @pieces. */
	void post_recv(uint64_t id, uint64_t at, uint32_t len,
		       unsigned pieces = 1, ibv_srq *srq = nullptr);

	std::vector<Wc> wait(Cq &cq, size_t n, double timeout_s = 30);
	/* The next completion of @cq, which must be this one. */
	Wc expect(Cq &cq, uint64_t id, ibv_wc_status status, const char *what);
	Wc expect_send(uint64_t id, ibv_wc_opcode op);

private:
	void post_old(const std::vector<Work> &list);
	void post_ex(const std::vector<Work> &list);
	std::vector<ibv_sge> sges(const Work &w) const;

	Session &s_;
	ExtConfig c_;
	Memory area_;
	Memory own_;
	Mr area_mr_;
	Mr write_mr_;
	Mr own_mr_;
	Cq send_cq_;
	Cq recv_cq_;
	std::unique_ptr<Qp> qp_;
	ExtInfo peer_{};
	Pattern mine_;
	Pattern peers_;
};

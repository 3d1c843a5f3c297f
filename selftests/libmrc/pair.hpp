/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two queue pairs on two devices that are connected, with memory, and what
 * tests do with them.
 */
#pragma once

#include <functional>
#include <vector>

#include "objects.hpp"

/* Masks of the three transitions, and MRC attributes with each of them. */
struct Masks {
	const char *who = "";
	int init = init_mask;
	int rtr = rtr_mask;
	int rts = rts_mask;
	int mrc_init = 0;
	int mrc_rtr = 0;
	int mrc_rts = 0;
	mrc_qp_attr attr{};
};

/* What a test may ask for; the rest is as most programs have it. */
struct PairOptions {
	unsigned send_wr = 16;
	unsigned recv_wr = 16;
	unsigned sges = 1;
	unsigned inline_size = 0;
	bool sig_all = false;
	int cqe = 256;
	size_t mem = 65536;
	Masks masks{};
};

/* One side. */
struct End {
	End(Node &node, const PairOptions &o);

	ibv_sge sge(size_t offset, uint32_t len) const;
	int post_send(ibv_send_wr *wr, ibv_send_wr **bad = nullptr);
	int post_recv(uint64_t id); /* without memory, as everybody does */
	void fill(uint64_t seed);   /* the whole memory */

	Node &n;
	Pages mem;
	Mr mr;
	Cq send_cq, recv_cq;
	ibv_qp_cap cap{};
	Qp qp;
	uint32_t psn;
};

struct Pair {
	Pair(Node &na, Node &nb, const PairOptions &o = {});

	void connect(); /* both to RTS */
	void init(End &e);
	void rtr(End &e);
	void rts(End &e);
	End &peer(End &e) { return &e == &a ? b : a; }

	/* @len bytes of @from to the same place at its peer, signaled. */
	ibv_send_wr write(End &from, uint64_t id, ibv_sge &sge,
			  size_t offset = 0, uint32_t len = 64);

	PairOptions opt;
	End a, b;
};

/* @n completions of @cq, in order; throws when they do not come. */
std::vector<ibv_wc> wait(mrc_cq *cq, size_t n);
/* There must be none, now. */
void expect_none(Check &c, mrc_cq *cq, const std::string &what);
void expect_wc(Check &c, const ibv_wc &wc, uint64_t id, ibv_wc_status status,
	       const std::string &what);
/* Of a WRITE_IMM: everything that programs read. */
void expect_imm(Check &c, const ibv_wc &wc, uint64_t id, uint32_t len,
		uint32_t imm, uint32_t qpn, const std::string &what);

/* Until @done, looking now and then; throws when it takes too long. */
void eventually(const std::function<bool()> &done, const char *what);

/* Bytes that depend on @seed and on where they are. */
void pattern(uint8_t *to, size_t len, uint64_t seed);

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrc_ctl: two queue pairs of one device, connected to each other. */
#pragma once

#include <memory>
#include <span>

#include "../common/verbs.hpp"
#include "abi.hpp"

/* A queue pair with its completion queue and memory. */
class Qp
{
public:
	explicit Qp(Dev &dev);
	Qp(const Qp &) = delete;
	Qp &operator=(const Qp &) = delete;
	~Qp();

	ibv_qp *get() const { return qp_; }
	uint32_t num() const { return qp_->qp_num; }

	/* Transitions; 0 or errno. */
	int init();
	int rtr(uint32_t dest);
	int rts();
	int state(ibv_qp_state s);

	/* MRC attributes; 0 or errno. */
	int set(const mrc_abi_qp_attr &attr);
	int set_mask(uint32_t mask, void (*fill)(mrc_abi_qp_attr &) = nullptr);
	mrc_abi_qp_info query(std::span<mrc_abi_qp_ev> evs = {});

	/* @n WRITEs of @len bytes to @peer, one after the other; throws
	 * Failure. */
	void write(const Qp &peer, unsigned n, uint32_t len);

private:
	Dev &dev_;
	Memory mem_;
	ibv_cq *cq_ = nullptr;
	ibv_qp *qp_ = nullptr;
};

/* The first GID of port 1 that is no link-local address. */
int gid_index(Dev &dev, ibv_gid &gid);

/* Both to RTS, with @attr set before in both. Throws Refused. */
struct Pair {
	explicit Pair(Dev &dev, const mrc_abi_qp_attr &attr = {});

	Qp a;
	Qp b;
};

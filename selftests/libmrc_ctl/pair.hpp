/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue pairs of libMRC, connected to each other by one process that has both
 * devices open.
 */
#pragma once

#include "../common/verbs.hpp"
#include "api.hpp"

constexpr uint64_t no_profile = ~0ULL;

/* What a queue pair is told on its way to INIT. */
struct QpSpec {
	uint64_t ev = no_profile;
	uint64_t cc = no_profile;
	uint64_t peer_ev = no_profile; /* of the second one of a pair */
	int family = 4;
	ibv_mtu mtu = IBV_MTU_1024;
	/* 1.024 us * 2^timeout: 4.3 s, so that slow is not taken for lost. */
	uint8_t timeout = 22;
	uint32_t bytes = 65536; /* of the buffer */
};

class Qp
{
public:
	Qp(const Device &dev, const QpSpec &spec);
	~Qp();
	Qp(const Qp &) = delete;
	Qp &operator=(const Qp &) = delete;

	uint32_t num() const;
	int init();
	int init_with(uint64_t ev, uint64_t cc);
	int rtr(const Qp &peer);
	int rts();
	int state(ibv_qp_state to);
	mrc_qp_attr query() const; /* the profiles */

	/*
	 * Writes its whole buffer, with new contents each time, to the peer's,
	 * waits for that and compares. Throws if anything is wrong.
	 */
	void write(Qp &peer);

	/* Posts such a write and does not wait for anything. */
	void post(Qp &peer);

private:
	const Device &dev_;
	const QpSpec spec_;
	Memory mem_;
	mrc_cq *cq_ = nullptr;
	mrc_qp *qp_ = nullptr;
	uint32_t round_ = 0;

	void release();
};

/* The profiles are those of the first; the other one has none. */
class Pair
{
public:
	Pair(const Device &from, const Device &to, const QpSpec &spec);

	Qp a, b;
};

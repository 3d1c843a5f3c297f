/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Datagram queue pairs, for tests with memory that is not there. */
#pragma once

#include "faults.hpp"
#include "paging.hpp"

constexpr uint32_t grh = 40; /* bytes before a datagram that is received */

/* Two datagram queue pairs, each of @depth work requests: a sends to b. */
class Datagrams
{
public:
	Datagrams(Dev &d, unsigned depth);
	Datagrams(const Datagrams &) = delete;
	Datagrams &operator=(const Datagrams &) = delete;
	~Datagrams();

	/* By b, or by a what b sends. */
	void receive(const Region &to, uint64_t at, uint32_t len,
		     bool by_a = false);
	/* Without a completion. */
	void post(const Region &from, uint32_t len);
	/* Returns when it has been sent. */
	void send(const Region &from, uint32_t len, bool by_b = false);
	/* False: there is none. */
	bool received(ibv_wc &wc);

	unsigned came = 0; /* how often received() returned true */

private:
	ibv_cq *make_cq(unsigned depth);
	ibv_qp *make(unsigned depth);
	void post(ibv_qp *from, ibv_qp *to, const Region &r, uint32_t len,
		  unsigned flags);

	Dev &d_;
	ibv_cq *scq_, *rcq_;
	ibv_qp *a_, *b_;
	ibv_ah *ah_;
};

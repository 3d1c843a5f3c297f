// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: a shared receive queue with several queue pairs.
 */
#include <algorithm>
#include <memory>
#include <poll.h>

#include "common.h"
#include "ext_pair.h"

namespace
{
constexpr unsigned pairs = 3;
constexpr uint32_t room = 16384;
constexpr uint32_t most_waiting = 64;

class Srq
{
public:
	explicit Srq(Session &s)
	{
		ibv_srq_init_attr a{};

		/* Room for all receives, whenever the queue pairs take them. */
		a.attr.max_wr = most_waiting;
		a.attr.max_sge = 2;
		srq_ = ibv_create_srq(s.dev.pd(), &a);
		if (!srq_ && errno == EOPNOTSUPP)
			throw Skip("no shared receive queues");
		if (!srq_)
			fail("ibv_create_srq: %s", std::strerror(errno));
		if (a.attr.max_wr < most_waiting || a.attr.max_sge < 2)
			fail("the SRQ is smaller than asked for");
	}
	~Srq()
	{
		if (ibv_destroy_srq(srq_))
			std::fprintf(stderr, "mrc_verify: ibv_destroy_srq\n");
	}
	Srq(const Srq &) = delete;
	Srq &operator=(const Srq &) = delete;

	ibv_srq *get() const { return srq_; }
	ibv_srq_attr query() const
	{
		ibv_srq_attr a{};
		int ret = ibv_query_srq(srq_, &a);

		if (ret)
			fail("ibv_query_srq: %s", std::strerror(ret));
		return a;
	}
	void modify(uint32_t max_wr, uint32_t limit, int mask)
	{
		ibv_srq_attr a{max_wr, 0, limit};
		int ret = ibv_modify_srq(srq_, &a, mask);

		if (ret)
			fail("ibv_modify_srq: %s", std::strerror(ret));
	}

private:
	ibv_srq *srq_;
};

void expect_event(Session &s, ibv_event_type want)
{
	double end = now_s() + 10;

	for (;;) {
		for (ibv_event_type e : drain_async(s.dev))
			if (e == want)
				return;
		if (now_s() > end)
			fail("the event %s did not come",
			     ibv_event_type_str(want));
		::poll(nullptr, 0, 5);
	}
}

uint32_t length(unsigned pair, unsigned i)
{
	return static_cast<uint32_t>(mix(pair, i) % (room - 1));
}

struct Side {
	Session &s;
	std::vector<std::unique_ptr<ExtPair>> p;
	Srq *srq;
	unsigned posted = 0;
	std::vector<unsigned> got = std::vector<unsigned>(pairs);
	std::vector<unsigned> sent = std::vector<unsigned>(pairs);

	/* All receives are in the memory of the first pair, one behind another.
	 */
	void post(unsigned n)
	{
		for (; n; n--, posted++)
			p[0]->post_recv(posted, posted % 128 * room, room, 2,
					srq->get());
	}

	/* @n messages on each of the pairs from @first on */
	void send(unsigned n, unsigned first = 0)
	{
		for (unsigned i = 0; i < n; i++) {
			for (unsigned k = first; k < pairs; k++) {
				Work w;

				w.id = sent[k]++;
				w.at = w.id % 32 * room;
				w.len = length(k, w.id);
				Pattern(mix(k, w.id))
					.fill(p[k]->own() + w.at, 0, w.len);
				p[k]->post(w);
			}
		}
		for (unsigned k = first; k < pairs; k++)
			for (unsigned i = sent[k] - n; i < sent[k]; i++)
				p[k]->expect_send(i, IBV_WC_SEND);
	}

	void receive(unsigned n, unsigned first = 0)
	{
		for (unsigned k = first; k < pairs; k++) {
			for (Wc &w : p[k]->wait(p[k]->recv_cq(), n)) {
				uint32_t len = length(k, got[k]);
				uint8_t *at =
					p[0]->own() + w.wr_id % 128 * room;

				if (w.status != IBV_WC_SUCCESS ||
				    w.byte_len != len || w.wr_id >= posted)
					fail("message %u of pair %u: %s, %u "
					     "bytes instead of %u",
					     got[k], k,
					     ibv_wc_status_str(w.status),
					     w.byte_len, len);
				if (Pattern(mix(k, got[k])).check(at, 0, len) !=
				    len)
					fail("message %u of pair %u is wrong",
					     got[k], k);
				got[k]++;
			}
		}
	}
};
} // namespace

void test_ext_srq(Session &s)
{
	Srq srq(s);
	Side side{s, {}, &srq};
	ExtConfig c;

	if (!s.client)
		c.srq = srq.get();
	for (unsigned i = 0; i < pairs; i++)
		side.p.push_back(std::make_unique<ExtPair>(s, c));
	drain_async(s.dev);

	/* The limit is reported when fewer remain, once. */
	if (!s.client) {
		side.post(16);
		srq.modify(0, 5, IBV_SRQ_LIMIT);
		if (srq.query().srq_limit != 5)
			fail("the limit is not what was set");
	}
	s.oob.barrier(50);
	if (s.client) {
		side.send(4);
	} else {
		side.receive(4);
		expect_event(s, IBV_EVENT_SRQ_LIMIT_REACHED);
		if (srq.query().srq_limit)
			fail("the limit is armed after its event");
	}
	s.oob.barrier(51);

	/* Few at a time: all pairs wait, and all get on. */
	if (s.client) {
		side.send(12);
	} else {
		unsigned left = 36;

		/* Four are left of those above. */
		while (left) {
			unsigned n = std::min(left, 3u);

			::poll(nullptr, 0, 10);
			side.post(n);
			left -= n;
		}
		side.receive(12);
	}
	s.oob.barrier(52);

	/* Another size, with entries that wait. */
	if (!s.client) {
		side.post(20);
		srq.modify(100, 0, IBV_SRQ_MAX_WR);
		if (srq.query().max_wr < 100)
			fail("the SRQ did not grow");
		side.post(60);
	}
	s.oob.barrier(53);
	if (s.client)
		side.send(24);
	else
		side.receive(24);
	s.oob.barrier(54);

	/* One fails, the others go on. */
	if (!s.client) {
		drain_async(s.dev);
		side.p[0]->qp().to_error();
		expect_event(s, IBV_EVENT_QP_LAST_WQE_REACHED);
		side.post(20);
	}
	s.oob.barrier(55);
	if (s.client)
		side.send(6, 1);
	else
		side.receive(6, 1);
	s.oob.barrier(56);
	side.p.clear();
	drain_async(s.dev);
}

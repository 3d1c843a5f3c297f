// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: verified traffic over a set of queue pairs.
 */
#include "stream.h"

#include <algorithm>
#include <arpa/inet.h>
#include <csignal>
#include <poll.h>

#include "common.h"

namespace
{
constexpr unsigned wr_qp_shift = 44;
constexpr uint64_t wr_msg_mask = (1ull << wr_qp_shift) - 1;
constexpr uint64_t unknown = UINT64_MAX;
constexpr uint8_t scribble = 0xee;
constexpr size_t canary_size = 64;

volatile std::sig_atomic_t interrupted;

uint64_t wr_id_of(unsigned qp, uint64_t n)
{
	return static_cast<uint64_t>(qp) << wr_qp_shift | n;
}
} // namespace

/* --- state ---------------------------------------------------------------- */

struct Stream::PeerInfo {
	QpAddress qp;
	uint64_t addr; /* of the target region */
	uint32_t rkey;
	uint32_t reserved;
};

struct Stream::Tx {
	Tx(Device &dev, const TestOptions &t, unsigned dir, unsigned qp)
		: lay(t, dir, qp), stride(lay.stride() + t.sges * 64u),
		  mem(stride * lay.slots() + 64),
		  mr(dev.pd(), mem.data() + lay.skew(), mem.size() - lay.skew(),
		     0),
		  total(t.duration > 0 ? unknown : t.iters)
	{
	}

	uint8_t *slot(uint64_t msg) const
	{
		return mem.data() + lay.skew() + msg % lay.slots() * stride;
	}

	Layout lay;
	uint64_t stride;
	Memory mem;
	Mr mr;
	uint64_t remote = 0;
	uint32_t rkey = 0;
	uint64_t posted = 0;
	uint64_t completed = 0; /* messages before this one are complete */
	uint64_t credit = 0;	/* verified by the peer */
	uint64_t total;
	uint64_t reported = 0; /* last "sent" */
	bool total_told = false;
	bool last_signalled = true;
	std::deque<uint64_t> signalled;
	uint64_t last_ts = 0;
};

struct Stream::Rx {
	Rx(Device &dev, const TestOptions &t, unsigned dir, unsigned qp)
		: lay(t, dir, qp), mem(lay.region() + 2 * 4096),
		  mr(dev.pd(), base(), lay.region() - (t.unaligned ? 5 : 0),
		     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
		  canary(4096), canary_mr(dev.pd(), canary.data(), canary_size,
					  IBV_ACCESS_LOCAL_WRITE),
		  total(t.duration > 0 ? unknown : t.iters)
	{
		lay.background().fill(base(), 0, lay.region());
		lay.background().fill(canary.data(), 0, canary_size);
	}

	uint8_t *base() const { return mem.data() + lay.skew(); }

	Layout lay;
	Memory mem;
	Mr mr;
	Memory canary;
	Mr canary_mr;
	uint64_t total;
	uint64_t verified = 0;
	uint64_t sent = 0; /* completed at the sender */
	uint64_t imm_seen =
		0; /* one more than the latest immediate's message */
	uint64_t recv_posted = 0;
	uint64_t recv_completed = 0;
	uint64_t reported = 0; /* last "credit" */
	uint64_t last_ts = 0;
};

struct Stream::Conn {
	unsigned idx = 0;
	std::unique_ptr<Tx> tx; /* the regions outlive the QP */
	std::unique_ptr<Rx> rx;
	std::unique_ptr<Qp> qp;
};

Stream::Stream(Device &dev, Oob &oob, const TestOptions &t, bool client,
	       bool quiet)
	: dev_(dev), oob_(oob), t_(t), client_(client), quiet_(quiet),
	  mpr_(dev, t.mpr)
{
	Layout lay(t, 0, 0);
	Cq::Config cc;
	Qp::Config qc;

	cc.cqe = static_cast<int>(t.qps * lay.slots() + 1);
	cc.channel = t.events;
	cc.ex = t.cq_ex;
	cc.single_threaded = t.cq_ex && !t.resize_cq;
	send_cq_ = std::make_unique<Cq>(dev, cc);
	recv_cq_ = std::make_unique<Cq>(dev, cc);

	qc.max_send = qc.max_recv = lay.slots();
	qc.sges = t.sges;
	qc.inline_size = t.inline_data ? std::min(t.max_size(), 1024u) : 0;
	qc.sig_all = t.sig_all;
	qc.ex = t.ex;
	for (unsigned i = 0; i < t.qps; i++) {
		auto c = std::make_unique<Conn>();

		c->idx = i;
		if (client || t.bidir)
			c->tx = std::make_unique<Tx>(dev, t, client ? 0 : 1, i);
		if (!client || t.bidir)
			c->rx = std::make_unique<Rx>(dev, t, client ? 1 : 0, i);
		c->qp = std::make_unique<Qp>(dev, *send_cq_, *recv_cq_, qc);
		conns_.push_back(std::move(c));
	}
}

void Stream::stop_on_sigint()
{
	std::signal(SIGINT, [](int) { interrupted = 1; });
}

Stream::~Stream()
{
	stop_resizer_ = true;
	if (resizer_.joinable())
		resizer_.join();
}

void Stream::connect()
{
	std::vector<PeerInfo> mine;

	for (auto &c : conns_) {
		PeerInfo p{};

		p.qp = c->qp->address();
		if (c->rx) {
			p.addr = reinterpret_cast<uintptr_t>(c->rx->base());
			p.rkey = c->rx->mr.rkey();
		}
		mine.push_back(p);
	}
	oob_.send_vec(Msg::conn, mine);
	auto peer = oob_.expect_vec<PeerInfo>(Msg::conn, conns_.size());

	for (auto &c : conns_) {
		const PeerInfo &p = peer[c->idx];

		c->qp->to_init();
		mpr_.prepare(c->qp->get());
		if (c->rx)
			rx_post(*c);
		c->qp->to_rtr(p.qp, t_);
		c->qp->to_rts(t_);
		if (c->tx) {
			c->tx->remote = p.addr;
			c->tx->rkey = p.rkey;
		}
	}
	oob_.barrier(1);
}

/* --- sender --------------------------------------------------------------- */

bool Stream::tx_step(Conn &c)
{
	Tx &tx = *c.tx;
	uint64_t slots = tx.lay.slots();
	uint64_t list = std::min<uint64_t>(t_.post_list,
					   std::max<uint64_t>(slots / 2, 1));
	bool any = false;

	if (stopping_ && tx.total == unknown) {
		/* The last message has to be one that is signalled. */
		tx.total = tx.posted + (tx.last_signalled ? 0 : 1);
	}
	for (;;) {
		uint64_t room =
			std::min(tx.credit, tx.completed) + slots - tx.posted;
		uint64_t left = tx.total - tx.posted;
		uint64_t n = std::min(list, left);

		if (!n || room < n)
			break;
		tx_post(c, static_cast<unsigned>(n));
		any = true;
	}
	/* A receiver learns of a plain write only from here. */
	if (t_.op != Op::write_imm && tx.reported != tx.completed) {
		tx.reported = tx.completed;
		oob_.send_pod(Msg::sent, QpCount{c.idx, 0, tx.completed});
	}
	if (tx.total != unknown && !tx.total_told) {
		tx.total_told = true;
		oob_.send_pod(Msg::total, QpCount{c.idx, 0, tx.total});
	}
	return any;
}

void Stream::tx_post(Conn &c, unsigned n)
{
	Tx &tx = *c.tx;
	uint64_t every = std::min<uint64_t>(
		t_.unsignalled, std::max<uint64_t>(tx.lay.slots() / 2, 1));
	std::vector<ibv_send_wr> wrs(n);
	std::vector<ibv_sge> sges(n * t_.sges);
	std::vector<ibv_data_buf> bufs(t_.sges);
	ibv_qp_ex *qpx = c.qp->ex();

	if (qpx)
		ibv_wr_start(qpx);
	for (unsigned i = 0; i < n; i++) {
		uint64_t msg = tx.posted + i;
		uint32_t size = tx.lay.size(msg);
		uint8_t *src = tx.slot(msg);
		ibv_sge *sge = &sges[i * t_.sges];
		Pattern data = tx.lay.data(msg);
		ibv_send_wr &wr = wrs[i];
		uint32_t done = 0;
		int pieces = 0;

		/* Pieces of a message have a gap between them. */
		for (unsigned k = 0; k < t_.sges; k++) {
			uint32_t len = (size - done) / (t_.sges - k);

			if (t_.unaligned && k + 1 < t_.sges &&
			    done + len < size)
				len += static_cast<uint32_t>(msg & 1);
			data.fill(src, done, len);
			/* An empty message has no pieces, or an empty one. */
			if (len || (k == 0 && !size && (msg & 1)))
				sge[pieces++] = {
					reinterpret_cast<uintptr_t>(src), len,
					tx.mr.lkey()};
			src += len + (t_.unaligned ? 13 : 32);
			done += len;
		}

		bool signal = t_.sig_all || (msg + 1) % every == 0 ||
			      msg + 1 == tx.total;
		bool use_inline =
			t_.inline_data && size <= c.qp->cap().max_inline_data;
		bool imm = tx.lay.imm(msg);

		wr = {};
		wr.wr_id = wr_id_of(c.idx, msg);
		wr.next = i + 1 < n ? &wrs[i + 1] : nullptr;
		wr.sg_list = sge;
		wr.num_sge = pieces;
		wr.opcode =
			imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
		if (imm)
			wr.imm_data = htonl(tx.lay.imm_value(msg));
		if (signal && !t_.sig_all)
			wr.send_flags |= IBV_SEND_SIGNALED;
		if (t_.solicited && imm)
			wr.send_flags |= IBV_SEND_SOLICITED;
		if (use_inline) {
			wr.send_flags |= IBV_SEND_INLINE;
			for (int k = 0; k < pieces; k++)
				sge[k].lkey = 0xdeadbeef; /* means nothing */
		}
		wr.wr.rdma.remote_addr = tx.remote + tx.lay.target(msg);
		wr.wr.rdma.rkey = tx.rkey;
		if (signal)
			tx.signalled.push_back(msg);
		tx.last_signalled = signal;
		if (!qpx)
			continue;

		qpx->wr_id = wr.wr_id;
		qpx->wr_flags = wr.send_flags & ~IBV_SEND_INLINE;
		if (imm)
			ibv_wr_rdma_write_imm(qpx, tx.rkey,
					      wr.wr.rdma.remote_addr,
					      wr.imm_data);
		else
			ibv_wr_rdma_write(qpx, tx.rkey, wr.wr.rdma.remote_addr);
		for (int k = 0; k < pieces; k++)
			bufs[static_cast<size_t>(k)] = {
				reinterpret_cast<void *>(sge[k].addr),
				sge[k].length};
		if (use_inline && pieces == 1)
			ibv_wr_set_inline_data(qpx, bufs[0].addr,
					       bufs[0].length);
		else if (use_inline)
			ibv_wr_set_inline_data_list(
				qpx, static_cast<size_t>(pieces), bufs.data());
		else if (pieces == 1)
			ibv_wr_set_sge(qpx, sge->lkey, sge->addr, sge->length);
		else
			ibv_wr_set_sge_list(qpx, static_cast<size_t>(pieces),
					    sge);
	}

	ibv_send_wr *bad = nullptr;
	int ret = qpx ? ibv_wr_complete(qpx)
		      : ibv_post_send(c.qp->get(), wrs.data(), &bad);

	if (ret)
		fail("posting %u sends on QP %u at message %llu: %s", n, c.idx,
		     static_cast<unsigned long long>(tx.posted),
		     std::strerror(ret));
	/* Inline data has been copied: the source may change at once. */
	for (ibv_send_wr &wr : wrs)
		if (wr.send_flags & IBV_SEND_INLINE)
			for (int k = 0; k < wr.num_sge; k++)
				std::memset(reinterpret_cast<void *>(
						    wr.sg_list[k].addr),
					    scribble, wr.sg_list[k].length);
	tx.posted += n;
}

Stream::Conn &Stream::conn_of(const Wc &w)
{
	uint64_t idx = w.wr_id >> wr_qp_shift;

	if (idx >= conns_.size())
		fail("completion with a foreign wr_id %llx",
		     static_cast<unsigned long long>(w.wr_id));
	Conn &c = *conns_[idx];

	if (w.status != IBV_WC_SUCCESS)
		fail("completion error on QP %u, message %llu: %s", c.idx,
		     static_cast<unsigned long long>(w.wr_id & wr_msg_mask),
		     ibv_wc_status_str(w.status));
	if (w.qp_num != c.qp->num())
		fail("completion of QP %u names QP number %u, not %u", c.idx,
		     w.qp_num, c.qp->num());
	return c;
}

static void check_timestamp(uint64_t &last, const Wc &w)
{
	if (w.timestamp < last)
		fail("completion timestamps go backwards: %llu after %llu",
		     static_cast<unsigned long long>(w.timestamp),
		     static_cast<unsigned long long>(last));
	last = w.timestamp;
}

void Stream::tx_completion(const Wc &w)
{
	Conn &c = conn_of(w);
	uint64_t msg = w.wr_id & wr_msg_mask;

	if (!c.tx || c.tx->signalled.empty())
		fail("QP %u: send completion %llu, none is due", c.idx,
		     static_cast<unsigned long long>(msg));
	Tx &tx = *c.tx;

	if (msg != tx.signalled.front())
		fail("QP %u: send completion %llu instead of %llu", c.idx,
		     static_cast<unsigned long long>(msg),
		     static_cast<unsigned long long>(tx.signalled.front()));
	if (w.opcode != IBV_WC_RDMA_WRITE)
		fail("QP %u: send completion has opcode %d", c.idx, w.opcode);
	check_timestamp(tx.last_ts, w);
	tx.signalled.pop_front();
	for (; tx.completed <= msg; tx.completed++) {
		totals_.bytes += t_.bidir ? 0 : tx.lay.size(tx.completed);
		line_tx_bytes_ += tx.lay.size(tx.completed);
		line_tx_msgs_++;
		done_++;
		totals_.msgs += t_.bidir ? 0 : 1;
	}
}

/* --- receiver ------------------------------------------------------------- */

void Stream::rx_post(Conn &c)
{
	Rx &rx = *c.rx;

	if (t_.op == Op::write)
		return;
	while (rx.recv_posted - rx.recv_completed < rx.lay.slots()) {
		ibv_recv_wr wr{}, *bad;
		ibv_sge sge{reinterpret_cast<uintptr_t>(rx.canary.data()),
			    canary_size, rx.canary_mr.lkey()};

		wr.wr_id = wr_id_of(c.idx, rx.recv_posted);
		wr.sg_list = &sge;
		wr.num_sge = rx.recv_posted & 1; /* data never goes there */
		int ret = ibv_post_recv(c.qp->get(), &wr, &bad);

		if (ret)
			fail("ibv_post_recv: %s", std::strerror(ret));
		rx.recv_posted++;
	}
}

void Stream::rx_completion(const Wc &w)
{
	Conn &c = conn_of(w);
	uint64_t n = w.wr_id & wr_msg_mask;

	if (!c.rx)
		fail("QP %u: receive completion at the sender", c.idx);
	Rx &rx = *c.rx;
	uint64_t msg = rx.imm_seen;

	if (n != rx.recv_completed)
		fail("QP %u: receive completion %llu instead of %llu", c.idx,
		     static_cast<unsigned long long>(n),
		     static_cast<unsigned long long>(rx.recv_completed));
	while (!rx.lay.imm(msg))
		msg++;
	if (msg >= rx.total)
		fail("QP %u: more immediates than messages", c.idx);
	if (w.opcode != IBV_WC_RECV_RDMA_WITH_IMM ||
	    !(w.flags & IBV_WC_WITH_IMM))
		fail("QP %u: receive completion has opcode %d, flags %x", c.idx,
		     w.opcode, w.flags);
	if (w.imm != rx.lay.imm_value(msg) || w.byte_len != rx.lay.size(msg))
		fail("QP %u message %llu: immediate %08x, %u bytes instead of "
		     "%08x, %u bytes",
		     c.idx, static_cast<unsigned long long>(msg), w.imm,
		     w.byte_len, rx.lay.imm_value(msg), rx.lay.size(msg));
	check_timestamp(rx.last_ts, w);
	rx.recv_completed++;
	rx.imm_seen = msg + 1;
	totals_.imm++;
	/* It is a barrier: all messages up to this one must be in place now. */
	for (; rx.verified <= msg; rx.verified++)
		rx_verify(c, rx.verified);
}

void Stream::rx_verify(Conn &c, uint64_t msg)
{
	Rx &rx = *c.rx;
	const Layout &l = rx.lay;
	uint32_t size = l.size(msg);
	uint64_t target = l.target(msg);
	uint64_t slot = msg % l.slots() * l.stride();
	uint64_t slot_end = slot + l.stride();
	/* All of the slot's rest now and then; what is near it always. */
	uint64_t near = msg % 16 ? 4096 : l.stride();
	uint64_t before = std::min(target - slot, near);
	uint64_t after = std::min(slot_end - target - size, near);
	uint8_t *base = rx.base();
	size_t bad = l.data(msg).check(base + target, 0, size);

	if (bad < size) {
		uint8_t is = base[target + bad];

		fail("QP %u message %llu of %u bytes: byte %zu is %02x instead "
		     "of %02x%s",
		     c.idx, static_cast<unsigned long long>(msg), size, bad, is,
		     l.data(msg).at(bad),
		     is == l.background().at(target + bad) ? ", never written"
							   : "");
	}
	if (l.background().check(base + target - before, target - before,
				 before) != before ||
	    l.background().check(base + target + size, target + size, after) !=
		    after)
		fail("QP %u message %llu of %u bytes: memory beside the target "
		     "was written",
		     c.idx, static_cast<unsigned long long>(msg), size);
	l.background().fill(base + target, target, size);
	totals_.msgs++;
	totals_.bytes += size;
	line_rx_bytes_ += size;
	line_rx_msgs_++;
	done_++;
}

bool Stream::rx_step(Conn &c)
{
	Rx &rx = *c.rx;

	while (rx.verified < rx.total && rx.verified < rx.sent &&
	       (rx.verified < rx.imm_seen || !rx.lay.imm(rx.verified))) {
		rx_verify(c, rx.verified);
		rx.verified++;
	}
	if (rx.reported == rx.verified)
		return false;
	rx_post(c);
	rx.reported = rx.verified;
	oob_.send_pod(Msg::credit, QpCount{c.idx, 0, rx.verified});
	return true;
}

/* --- the loop ------------------------------------------------------------- */

void Stream::handle(const Oob::Frame &f)
{
	if (f.type == Msg::fin) {
		peer_fin_ = true;
		return;
	}
	if (f.type == Msg::stop) {
		stop_now_ = true;
		return;
	}
	QpCount q = f.pod<QpCount>();

	if (q.qp >= conns_.size())
		fail("peer names QP %u", q.qp);
	Conn &c = *conns_[q.qp];

	if (f.type == Msg::credit && c.tx && q.count <= c.tx->posted &&
	    q.count >= c.tx->credit)
		c.tx->credit = q.count;
	else if (f.type == Msg::sent && c.rx && q.count >= c.rx->sent)
		c.rx->sent = q.count;
	else if (f.type == Msg::total && c.rx && q.count >= c.rx->verified)
		c.rx->total = q.count;
	else
		fail("peer's message %u makes no sense",
		     static_cast<unsigned>(f.type));
}

bool Stream::oob_step()
{
	bool any = false;

	/* After the end the peer may already be at the next step. */
	while (!peer_fin_) {
		auto f = oob_.poll();

		if (!f)
			break;
		handle(*f);
		any = true;
	}
	return any;
}

bool Stream::poll_cq(Cq &cq, bool is_send)
{
	wcs_.clear();
	if (!cq.poll(wcs_))
		return false;
	for (const Wc &w : wcs_) {
		if (is_send)
			tx_completion(w);
		else
			rx_completion(w);
	}
	return true;
}

/*
 * Nothing to do: sleep until an event or the peer's message. A queue that was
 * empty after it was armed and is not any more owes an event.
 */
void Stream::wait_events()
{
	Cq *cqs[] = {send_cq_.get(), recv_cq_.get()};
	pollfd p[3] = {{oob_.fd(), POLLIN, 0},
		       {cqs[0]->fd(), POLLIN, 0},
		       {cqs[1]->fd(), POLLIN, 0}};

	for (Cq *cq : cqs)
		while (cq->take_event(0))
			; /* of completions that were polled already */
	cqs[0]->arm(false);
	cqs[1]->arm(t_.solicited);
	if (poll_cq(*cqs[0], true) | poll_cq(*cqs[1], false))
		return;
	/* After the peer's end, what it sends is for the next step. */
	::poll(p + (peer_fin_ ? 1 : 0), peer_fin_ ? 2 : 3, 200);
	for (int i = 0; i < 2; i++) {
		if (poll_cq(*cqs[i], i == 0) && !cqs[i]->take_event(5000))
			fail("a completion came without its event");
	}
}

void Stream::resizer()
{
	int base = send_cq_->get()->cqe;
	uint64_t rng = t_.seed;

	try {
		while (!stop_resizer_) {
			rng = mix(rng, resizes_);
			Cq &cq = rng & 1 ? *send_cq_ : *recv_cq_;

			cq.resize(base + static_cast<int>((rng >> 8) % 500));
			resizes_++;
			::poll(nullptr, 0, 3);
		}
	} catch (const std::exception &e) {
		resizer_error_ = e.what();
	}
}

std::string Stream::describe() const
{
	std::string s;

	for (const auto &c : conns_) {
		if (s.size() > 500)
			break;
		if (c->tx)
			s += format(
				" [QP %u tx posted %llu completed %llu "
				"verified %llu]",
				c->idx,
				static_cast<unsigned long long>(c->tx->posted),
				static_cast<unsigned long long>(
					c->tx->completed),
				static_cast<unsigned long long>(c->tx->credit));
		if (c->rx)
			s += format(
				" [QP %u rx sent %llu imm %llu verified %llu]",
				c->idx,
				static_cast<unsigned long long>(c->rx->sent),
				static_cast<unsigned long long>(
					c->rx->imm_seen),
				static_cast<unsigned long long>(
					c->rx->verified));
	}
	return s;
}

bool Stream::finished() const
{
	return std::all_of(conns_.begin(), conns_.end(), [](const auto &c) {
		return (!c->tx || (c->tx->completed == c->tx->total &&
				   c->tx->credit == c->tx->total)) &&
		       (!c->rx || c->rx->verified == c->rx->total);
	});
}

void Stream::progress_line()
{
	double t = now_s();

	if (t < next_line_ || quiet_ || t_.duration <= 0)
		return;
	double span = t - next_line_ + 1;

	say("t=%.0f tx_mbps=%.1f rx_mbps=%.1f tx_msgs=%llu rx_msgs=%llu",
	    t - start_, static_cast<double>(line_tx_bytes_) * 8 / span / 1e6,
	    static_cast<double>(line_rx_bytes_) * 8 / span / 1e6,
	    static_cast<unsigned long long>(line_tx_msgs_),
	    static_cast<unsigned long long>(line_rx_msgs_));
	line_tx_bytes_ = line_tx_msgs_ = line_rx_bytes_ = line_rx_msgs_ = 0;
	next_line_ = t + 1;
}

/* The peer is done too: nothing may have happened beyond what was expected. */
void Stream::final_check()
{
	wcs_.clear();
	if (send_cq_->poll(wcs_) || recv_cq_->poll(wcs_))
		fail("completion %llx (%s) after the end",
		     static_cast<unsigned long long>(wcs_[0].wr_id),
		     ibv_wc_status_str(wcs_[0].status));
	for (auto &c : conns_) {
		if (c->qp->query_state() != IBV_QPS_RTS)
			fail("QP %u has left RTS", c->idx);
		if (!c->rx)
			continue;
		Rx &rx = *c->rx;
		const Pattern &bg = rx.lay.background();
		uint64_t n = rx.lay.region();
		size_t bad = bg.check(rx.base(), 0, n);

		if (bad < n)
			fail("QP %u: offset %zu of the region was written by "
			     "no message",
			     c->idx, bad);
		for (uint8_t *p = rx.mem.data();
		     p < rx.mem.data() + rx.mem.size(); p++) {
			if (p == rx.base())
				p += n;
			if (*p)
				fail("QP %u: memory beside the region was "
				     "written",
				     c->idx);
		}
		if (bg.check(rx.canary.data(), 0, canary_size) != canary_size)
			fail("QP %u: an immediate's receive buffer was written",
			     c->idx);
	}
	for (ibv_event_type e : drain_async(dev_))
		if (e == IBV_EVENT_QP_FATAL || e == IBV_EVENT_QP_REQ_ERR ||
		    e == IBV_EVENT_QP_ACCESS_ERR || e == IBV_EVENT_CQ_ERR)
			fail("asynchronous event: %s", ibv_event_type_str(e));
	if (t_.resize_cq && !resizes_)
		fail("no CQ was resized");
	if (!resizer_error_.empty())
		throw Failure(resizer_error_);
}

Totals Stream::run()
{
	bool fin_sent = false;

	connect();
	if (t_.resize_cq)
		resizer_ = std::thread(&Stream::resizer, this);
	start_ = last_progress_ = now_s();
	next_line_ = start_ + 1;
	double last_data = start_;
	double end = 0;

	while (!fin_sent || !peer_fin_) {
		uint64_t before = done_;
		bool any = oob_step();

		if (mpr_.due())
			for (auto &c : conns_)
				mpr_.apply(c->qp->get());
		any |= poll_cq(*send_cq_, true);
		any |= poll_cq(*recv_cq_, false);
		for (auto &c : conns_) {
			if (c->tx)
				any |= tx_step(*c);
			if (c->rx)
				any |= rx_step(*c);
		}
		double t = now_s();

		if (any) {
			last_progress_ = t;
			idle_ = 0;
		}
		if (done_ != before) {
			totals_.max_gap =
				std::max(totals_.max_gap, t - last_data);
			last_data = t;
		}
		progress_line();
		if (interrupted && !stop_now_) {
			stop_now_ = true;
			oob_.send(Msg::stop);
		}
		stopping_ = t_.duration > 0 &&
			    (stop_now_ || t - start_ >= t_.duration);
		if (!fin_sent && finished()) {
			end = t;
			fin_sent = true;
			oob_.send(Msg::fin);
		}
		if (t - last_progress_ > t_.watchdog)
			fail("stalled for %g s:%s", t_.watchdog,
			     describe().c_str());
		if (any)
			continue;
		if (t_.events)
			wait_events();
		else if (++idle_ > 100) {
			pollfd p{oob_.fd(), POLLIN, 0};

			::poll(&p, 1, idle_ > 1000 ? 1 : 0);
		}
	}
	stop_resizer_ = true;
	if (resizer_.joinable())
		resizer_.join();
	totals_.seconds = end - start_;
	oob_.barrier(2);
	final_check();
	oob_.barrier(3);
	return totals_;
}

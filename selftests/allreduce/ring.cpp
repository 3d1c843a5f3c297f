// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_allreduce: the algorithm.
 */
#include "ring.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace
{
/* The most work requests of a message; all but the last are not signalled. */
constexpr size_t max_chain = 64;
constexpr uint8_t poison = 0xa5;

uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/*
 * What a rank adds to an element: any 32 bits, of which the sum wraps, or a
 * whole number so small that floating point adds it exactly in any order.
 */
template <typename T>
T summand(uint64_t seed, uint64_t round, unsigned rank, size_t i);

template <>
uint32_t summand(uint64_t seed, uint64_t round, unsigned rank, size_t i)
{
	return static_cast<uint32_t>(
		mix(seed ^ round << 40 ^ uint64_t{rank} << 32 ^ i));
}

template <>
float summand(uint64_t seed, uint64_t round, unsigned rank, size_t i)
{
	uint32_t v = summand<uint32_t>(seed, round, rank, i) >> 12;

	return static_cast<float>(static_cast<int32_t>(v) - 0x80000);
}

bool is_float(uint64_t round)
{
	return round & 1;
}

/* What the ranks tell each other before there is a connection. */
struct Card {
	ibv_gid gid;
	uint64_t fifo;
	uint32_t fifo_rkey;
	uint32_t mtu; /* enum ibv_mtu */
	QpAddress to_next[max_qps], to_prev[max_qps];
};
} // namespace

/* --- geometry ------------------------------------------------------------- */

/* One more than what is to be summed: the last one says whether to stop. */
size_t Ring::total(uint64_t round) const
{
	return o_.counts[round % o_.counts.size()] + size_t{1};
}

bool Ring::by_flag(uint64_t round) const
{
	switch (o_.op) {
	case Op::flag:
		return true;
	case Op::mixed:
		/* each with both types and all sizes */
		return round / 2 % 2;
	default:
		return false;
	}
}

Ring::Span Ring::chunk(uint64_t round, unsigned c) const
{
	size_t n = total(round);
	size_t base = n / o_.ranks;
	size_t more = n % o_.ranks;
	size_t first = c * base + std::min<size_t>(c, more);

	return {first * 4, (base + (c < more)) * 4};
}

/* What QP @k carries of a chunk. */
Ring::Span Ring::part(size_t len, unsigned k) const
{
	size_t from = len / 4 * k / o_.qps * 4;
	size_t to = len / 4 * (k + 1) / o_.qps * 4;

	return {from, to - from};
}

Ring::Step Ring::step_of(uint64_t round, unsigned index) const
{
	unsigned n = o_.ranks;
	unsigned s = index % (n - 1);
	bool gather = index >= n - 1;
	unsigned send = (o_.rank + 2 * n - s + (gather ? 1 : 0)) % n;

	return {round * steps() + index, gather, send,
		(send + n - 1) % n,	 round,	 index};
}

uint8_t *Ring::target(const Step &s) const
{
	return s.gather ? out_[s.round & 1] + chunk(s.round, s.receive).at
			: scratch_[s.round & 1][s.index];
}

const uint8_t *Ring::source(const Step &s) const
{
	const uint8_t *from = s.gather ? out_[s.round & 1] : work_[s.round & 1];

	return from + chunk(s.round, s.send).at;
}

uint32_t Ring::tag(const Step &s) const
{
	return static_cast<uint32_t>(mix(o_.seed ^ s.request));
}

/* --- set-up --------------------------------------------------------------- */

Ring::Ring(const Options &o, Star &star) : o_(o), star_(star)
{
	size_t most = *std::max_element(o.counts.begin(), o.counts.end()) + 1;
	unsigned half = o.ranks - 1;
	size_t chunk_max = (most / o.ranks + 1) * 4;

	if (2 * steps() > window)
		fail("too many ranks");
	buffer_ = most * 4;
	dev_ = std::make_unique<Device>(o);
	events_ = std::make_unique<Events>(*dev_);
	mem_ = std::make_unique<Memory>(
		*dev_,
		4 * Memory::needed(buffer_) +
			2 * half * Memory::needed(chunk_max) +
			2 * Memory::needed(window * sizeof(Announcement)) +
			2 * Memory::needed(window * sizeof(uint64_t)));
	for (int b = 0; b < 2; b++) {
		work_[b] = mem_->take(buffer_);
		out_[b] = mem_->take(buffer_);
		std::memset(out_[b], poison, buffer_);
		for (unsigned s = 0; s < half; s++) {
			scratch_[b].push_back(mem_->take(chunk_max));
			std::memset(scratch_[b][s], poison, chunk_max);
		}
	}
	fifo_ = reinterpret_cast<Announcement *>(
		mem_->take(window * sizeof(Announcement)));
	fifo_src_ = reinterpret_cast<Announcement *>(
		mem_->take(window * sizeof(Announcement)));
	flags_ = reinterpret_cast<uint64_t *>(
		mem_->take(window * sizeof(uint64_t)));
	flag_src_ = reinterpret_cast<uint64_t *>(
		mem_->take(window * sizeof(uint64_t)));

	cq_ = std::make_unique<Cq>(
		*dev_, static_cast<int>(2 * o.qps *
					(Qp::send_depth + Qp::recv_depth)));
	for (unsigned k = 0; k < o.qps; k++) {
		next_.push_back(std::make_unique<Qp>(*dev_, *cq_, o));
		prev_.push_back(std::make_unique<Qp>(*dev_, *cq_, o));
	}
	connect();
}

void Ring::connect()
{
	Card mine{};

	mine.gid = dev_->gid();
	mine.fifo = reinterpret_cast<uintptr_t>(fifo_);
	mine.fifo_rkey = mem_->rkey();
	mine.mtu = dev_->mtu();
	for (unsigned k = 0; k < o_.qps; k++) {
		mine.to_next[k] = next_[k]->address();
		mine.to_prev[k] = prev_[k]->address();
	}
	auto all = star_.gather(std::string(
		reinterpret_cast<const char *>(&mine), sizeof(mine)));
	Card next, prev;
	auto card = [&](unsigned rank, Card &c) {
		const std::string &s = all[rank % o_.ranks];

		if (s.size() != sizeof(c))
			fail("a rank runs another program");
		std::memcpy(&c, s.data(), sizeof(c));
	};

	card(o_.rank + 1, next);
	card(o_.rank + o_.ranks - 1, prev);
	peer_fifo_ = prev.fifo;
	peer_fifo_rkey_ = prev.fifo_rkey;

	std::vector<uint32_t> next_qpns, prev_qpns;

	for (unsigned k = 0; k < o_.qps; k++) {
		next_qpns.push_back(next_[k]->address().qpn);
		prev_qpns.push_back(prev_[k]->address().qpn);
	}
	poller_ = std::make_unique<Poller>(*cq_, next_qpns, prev_qpns);
	/*
	 * No word is exchanged afterwards: the first packets may find a queue
	 * pair that is in INIT still.
	 */
	for (unsigned k = 0; k < o_.qps; k++) {
		next_[k]->connect(
			next.to_prev[k], next.gid,
			static_cast<ibv_mtu>(std::min(mine.mtu, next.mtu)));
		prev_[k]->connect(
			prev.to_next[k], prev.gid,
			static_cast<ibv_mtu>(std::min(mine.mtu, prev.mtu)));
	}
}

/* --- receiving ------------------------------------------------------------ */

template <typename F> void Ring::wait(const Step &s, const char *what, F f)
{
	auto end = Clock::now() + std::chrono::seconds(o_.stall);
	Patience patience;

	while (!f()) {
		poller_->check();
		if (Clock::now() > end)
			fail("round %llu step %u: no %s for %u s",
			     static_cast<unsigned long long>(s.round), s.index,
			     what, o_.stall);
		patience.wait();
	}
}

void Ring::post(Qp &qp, ibv_send_wr *wr, const Step &s)
{
	ibv_send_wr *bad = nullptr;
	int err = mrc_post_send(qp.get(), wr, &bad);

	if (err)
		fail("round %llu step %u: mrc_post_send: %s",
		     static_cast<unsigned long long>(s.round), s.index,
		     std::strerror(err));
}

void Ring::announce_round(uint64_t round)
{
	for (unsigned i = 0; i < steps(); i++)
		announce(step_of(round, i));
}

/*
 * Receives first, then the entry that lets the sender begin. One entry of 64 is
 * signalled, which frees the places of the others in the queue.
 */
void Ring::announce(const Step &s)
{
	unsigned slot = static_cast<unsigned>(s.request % window);
	unsigned k = static_cast<unsigned>(s.request % o_.qps);
	Announcement &a = fifo_src_[slot];
	uint64_t n = posted_fifo_[k];
	ibv_send_wr wr{};
	ibv_sge sge{};

	if (!by_flag(s.round)) {
		for (unsigned q = 0; q < o_.qps; q++) {
			ibv_recv_wr recv{}, *bad = nullptr;

			recv.wr_id = wr_id(Work::recv, q, posted_recvs_);
			if (mrc_post_recv(prev_[q]->get(), &recv, &bad))
				fail("mrc_post_recv: %s", std::strerror(errno));
		}
		posted_recvs_++;
	}
	/* The queue holds two batches, so the one before the last is through.
	 */
	if (n % 64 == 0 && n >= 128)
		wait(s, "completion of announcements",
		     [&] { return poller_->fifo_done(k) + 1 >= n / 64; });

	a = {};
	a.addr = reinterpret_cast<uintptr_t>(target(s));
	a.size = chunk(s.round, s.receive).len;
	a.rkey = mem_->rkey();
	a.flag_index = slot;
	if (by_flag(s.round))
		a.flag_addr = reinterpret_cast<uintptr_t>(&flags_[slot]);
	a.requests = 1;
	a.tag = tag(s);
	a.seq = s.request + 1;
	sge = {reinterpret_cast<uintptr_t>(&a), sizeof(a), mem_->lkey()};
	wr.wr_id = wr_id(Work::fifo, k, n / 64);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.wr.rdma.remote_addr = peer_fifo_ + slot * sizeof(a);
	wr.wr.rdma.rkey = peer_fifo_rkey_;
	if (n % 64 == 63)
		wr.send_flags |= IBV_SEND_SIGNALED;
	else
		totals_.quiet = std::max(totals_.quiet, n % 64 + 1);
	if (o_.inline_data)
		wr.send_flags |= IBV_SEND_INLINE;
	post(*prev_[k], &wr, s);
	posted_fifo_[k]++;
	totals_.announcements++;
}

static uint64_t load(uint64_t &word)
{
	return std::atomic_ref(word).load(std::memory_order_acquire);
}

/* How a part of a chunk is cut: @pieces WRITEs, maybe an empty one more. */
struct Chain {
	size_t piece, pieces;
	bool empty_end;

	/* All of it, the last piece being that with the immediate. */
	size_t wrs() const { return pieces + empty_end; }
	size_t end_len(size_t len) const
	{
		return empty_end ? 0 : len - (pieces - 1) * piece;
	}
};

static Chain chain_of(const Options &o, uint64_t request, size_t len, bool flag)
{
	Chain c{};

	/* Every third immediate comes by itself, after all of the data. */
	c.empty_end = !flag && len && request % 3 == 0;
	size_t most = max_chain - c.empty_end;

	c.piece = std::max<size_t>(o.piece, (len + most - 1) / most);
	c.piece = (c.piece + 3) / 4 * 4;
	c.pieces = std::max<size_t>((len + c.piece - 1) / c.piece, 1);
	return c;
}

void Ring::check_arrival(const Step &s, unsigned k) const
{
	size_t len = part(chunk(s.round, s.receive).len, k).len;
	size_t end = chain_of(o_, s.request, len, false).end_len(len);
	Poller::Arrival a = poller_->arrival(k, totals_.immediates);

	/* Opaque to the device: here the size, in the host's order. */
	if (a.imm != len || a.bytes != end)
		fail("round %llu step %u: immediate %u with %u bytes instead "
		     "of %zu with %zu",
		     static_cast<unsigned long long>(s.round), s.index, a.imm,
		     a.bytes, len, end);
}

void Ring::receive(const Step &s)
{
	if (!by_flag(s.round)) {
		for (unsigned k = 0; k < o_.qps; k++) {
			wait(s, "immediate", [&] {
				return poller_->arrived(k) > totals_.immediates;
			});
			check_arrival(s, k);
		}
		totals_.immediates++;
	} else {
		uint64_t &flag = flags_[s.request % window];

		wait(s, "flag", [&] { return load(flag) == s.request + 1; });
		totals_.flags++;
	}
}

/* --- sending -------------------------------------------------------------- */

void Ring::send(const Step &s)
{
	Announcement &slot = fifo_[s.request % window];
	size_t len = chunk(s.round, s.send).len;

	wait(s, "announcement",
	     [&] { return load(slot.seq) == s.request + 1; });
	Announcement a = slot;

	if (a.size != len || a.tag != tag(s) || a.requests != 1 ||
	    a.flag_index != s.request % window || !a.addr ||
	    !a.flag_addr == by_flag(s.round))
		fail("round %llu step %u: the announcement is for %llu bytes, "
		     "tag %x, where %zu bytes, tag %x are due",
		     static_cast<unsigned long long>(s.round), s.index,
		     static_cast<unsigned long long>(a.size), a.tag, len,
		     tag(s));
	for (unsigned k = 0; k < o_.qps; k++)
		send_part(s, k, a);
	if (by_flag(s.round))
		send_flag(s, a);
}

void Ring::send_part(const Step &s, unsigned k, const Announcement &a)
{
	bool flag = by_flag(s.round);
	Span p = part(a.size, k);
	Chain c = chain_of(o_, s.request, p.len, flag);
	size_t n = c.wrs();
	ibv_send_wr wrs[max_chain]{};
	ibv_sge sges[max_chain]{};
	const uint8_t *src = source(s) + p.at;

	wait(s, "room to send", [&] {
		return posted_wrs_[k] + n - poller_->wrs_done(k) <=
		       Qp::send_depth;
	});
	for (size_t i = 0; i < n; i++) {
		ibv_send_wr &wr = wrs[i];
		size_t at = std::min(i * c.piece, p.len);
		size_t len = std::min(c.piece, p.len - at);

		sges[i] = {reinterpret_cast<uintptr_t>(src + at),
			   static_cast<uint32_t>(len), mem_->lkey()};
		wr.wr_id = wr_id(Work::data, k, s.request);
		wr.next = i + 1 < n ? &wrs[i + 1] : nullptr;
		wr.sg_list = &sges[i];
		wr.num_sge = 1;
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.wr.rdma.remote_addr = a.addr + p.at + at;
		wr.wr.rdma.rkey = a.rkey;
		if (!len && s.request & 1) {
			wr.sg_list = nullptr;
			wr.num_sge = 0;
		} else if (!len) {
			sges[i] = {0, 0, 0};
		}
	}
	ibv_send_wr &end = wrs[n - 1];

	end.send_flags = IBV_SEND_SIGNALED;
	if (!flag) {
		end.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		end.imm_data = static_cast<uint32_t>(p.len);
	}
	posted_wrs_[k] += n;
	poller_->sending(k, s.request, posted_wrs_[k]);
	totals_.chain = std::max<uint64_t>(totals_.chain, n - 1);
	post(*next_[k], wrs, s);
}

/*
 * WRITEs may be placed in any order. That the data of one is there the sender
 * knows from its completion; only then it may say so in another.
 */
void Ring::send_flag(const Step &s, const Announcement &a)
{
	unsigned k = static_cast<unsigned>(s.request % o_.qps);
	uint64_t &word = flag_src_[s.request % window];
	ibv_send_wr wr{};
	ibv_sge sge{reinterpret_cast<uintptr_t>(&word), sizeof(word),
		    mem_->lkey()};

	for (unsigned q = 0; q < o_.qps; q++)
		wait(s, "completion before the flag",
		     [&] { return poller_->sent(q) > s.request; });
	word = s.request + 1;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = o_.inline_data ? IBV_SEND_INLINE : 0;
	wr.wr.rdma.remote_addr = a.flag_addr;
	wr.wr.rdma.rkey = a.rkey;
	posted_wrs_[k]++;
	post(*next_[k], &wr, s);
}

/* --- numbers -------------------------------------------------------------- */

template <typename T> void Ring::fill(uint64_t n, bool stop)
{
	T *work = reinterpret_cast<T *>(work_[n & 1]);
	size_t count = total(n) - 1;

	for (size_t i = 0; i < count; i++)
		work[i] = summand<T>(o_.seed, n, o_.rank, i);
	work[count] = stop;
}

template <typename T> void Ring::reduce(const Step &s)
{
	Span c = chunk(s.round, s.receive);
	T *sum = reinterpret_cast<T *>(work_[s.round & 1] + c.at);
	T *got = reinterpret_cast<T *>(scratch_[s.round & 1][s.index]);

	for (size_t i = 0; i < c.len / sizeof(T); i++)
		sum[i] += got[i];
	std::memset(got, poison, c.len);
}

/* Returns whether rank 0 wants to stop, which all ranks see alike. */
template <typename T> bool Ring::verify(uint64_t n)
{
	const T *out = reinterpret_cast<T *>(out_[n & 1]);
	size_t count = total(n) - 1;

	for (size_t i = 0; i < count; i++) {
		T sum = 0;

		for (unsigned r = 0; r < o_.ranks; r++)
			sum += summand<T>(o_.seed, n, r, i);
		if (out[i] != sum)
			fail("round %llu: element %zu of %zu is %.0f instead "
			     "of %.0f",
			     static_cast<unsigned long long>(n), i, count,
			     static_cast<double>(out[i]),
			     static_cast<double>(sum));
	}
	if (out[count] != 0 && out[count] != 1)
		fail("round %llu: the vote is %g",
		     static_cast<unsigned long long>(n),
		     static_cast<double>(out[count]));
	totals_.elements += count;
	return out[count] == 1;
}

/* All steps of a round, until its buffers are this rank's own again. */
void Ring::exchange(uint64_t n)
{
	uint8_t *out = out_[n & 1];

	for (unsigned i = 0; i < steps(); i++) {
		Step s = step_of(n, i);

		if (i == o_.ranks - 1) {
			Span own = chunk(n, s.send);

			std::memcpy(out + own.at, work_[n & 1] + own.at,
				    own.len);
		}
		send(s);
		receive(s);
		if (s.gather)
			continue;
		if (is_float(n))
			reduce<float>(s);
		else
			reduce<uint32_t>(s);
	}
	/* What was sent from a buffer has to be complete. */
	Step last = step_of(n, steps() - 1);

	for (unsigned k = 0; k < o_.qps; k++)
		wait(last, "completion",
		     [&] { return poller_->sent(k) > last.request; });
}

/*
 * Numbers are made and compared outside of that time, by all ranks: where they
 * share a processor, one would wait for the other.
 */
void Ring::exchange_timed(uint64_t n)
{
	star_.barrier("begin of round " + std::to_string(n));
	auto begin = Clock::now();

	exchange(n);
	star_.barrier("end of round " + std::to_string(n));
	auto took = std::chrono::duration_cast<std::chrono::microseconds>(
		Clock::now() - begin);

	if (o_.rank == 0)
		say("took %lld us", static_cast<long long>(took.count()));
}

bool Ring::round(uint64_t n, bool stop)
{
	bool voted;

	announce_round(n + 1);
	if (is_float(n))
		fill<float>(n, stop);
	else
		fill<uint32_t>(n, stop);
	if (o_.timed)
		exchange_timed(n);
	else
		exchange(n);
	voted = is_float(n) ? verify<float>(n) : verify<uint32_t>(n);
	if (o_.rank == 0 && voted != stop)
		fail("round %llu: rank 0 sees a vote that it did not cast",
		     static_cast<unsigned long long>(n));
	std::memset(out_[n & 1], poison, buffer_);
	totals_.rounds++;
	return voted;
}

void Ring::run(const std::atomic<bool> &stop)
{
	announce_round(0);
	for (uint64_t n = 0; !o_.rounds || n < o_.rounds; n++) {
		bool end = round(n, o_.rank == 0 && stop);

		unsigned long long done = n + 1;

		if (o_.rank == 0 && done % o_.report == 0)
			say("round %llu", done);
		if (end)
			break;
	}
}

/* --- the end -------------------------------------------------------------- */

void Ring::close()
{
	poller_->close();
	events_->close();
	/* Announced for a round that did not take place: nobody wrote there. */
	for (const uint8_t *out : out_)
		for (size_t i = 0; i < buffer_; i++)
			if (out[i] != poison)
				fail("data came that nobody waited for");
	mem_->check_guards();
	for (auto *qps : {&next_, &prev_})
		for (auto &qp : *qps)
			qp->close();
	mem_->close();
	cq_->close();
	dev_->close();
}

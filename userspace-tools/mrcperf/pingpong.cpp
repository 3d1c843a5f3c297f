// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrcperf: ping-pong, one message in flight at a time.
 *
 * A WRITE gives the receiver no completion, so the receiver polls its memory.
 * Packets of a message arrive in any order, so it waits for the last byte of
 * each packet. These bytes identify the message; the other bytes keep their
 * values. The bytes of one packet must become visible in ascending order, as
 * programs that poll memory expect. For a WRITE_IMM the completion is
 * sufficient.
 *
 * Messages use several slots in turn, so that one may be checked while the next
 * one arrives.
 */
#include <algorithm>

#include <fmt/format.h>

#include "runs.hpp"

namespace mrcperf
{
namespace
{
constexpr uint64_t most_slots = 16;

/* Never 0, and different for each of the messages that share a slot. */
uint8_t mark_of(uint64_t n)
{
	return static_cast<uint8_t>(1 + n % 255);
}

class Table
{
public:
	Table(Side &side, const Start &run)
		: side_(side), run_(run),
		  slots_(std::min<uint64_t>(
			  {most_slots, side.layout.slots(side.hello.largest),
			   std::max<uint32_t>(side.hello.depth, 2)})),
		  limit_(std::min<uint64_t>(slots_, side.hello.depth)),
		  interval_(side.interval(static_cast<uint32_t>(limit_), 1))
	{
	}

	/* Message @n of a queue pair is ready to be sent. */
	void prepare(uint32_t qp, uint64_t n)
	{
		side_.wait_room(qp, limit_);
		const auto slot = side_.send_slot(qp, n % slots_, run_.size);

		if (side_.hello.verify)
			side_.outgoing(run_, qp, n).fill(slot);
		if (run_.op == Op::write)
			for (uint64_t i = 0; i < segments(); i++)
				slot[last_byte(i)] = mark_of(n);
	}

	void send(uint32_t qp, uint64_t n)
	{
		SendRequest r = side_.request(run_, qp, n, n % slots_);

		side_.post(qp, {&r, 1}, interval_, false);
	}

	/* Returns false if the peer has sent a frame instead. */
	bool receive(uint32_t qp, uint64_t n)
	{
		return run_.op == Op::write ? see(qp, n) : take(qp, n);
	}

	void check(uint32_t qp, uint64_t n)
	{
		const uint64_t at = n % slots_;

		if (!side_.hello.verify)
			return;
		/* The marks were checked when they arrived; set their known
		 * values.
		 */
		if (run_.op == Op::write) {
			const auto slot = side_.receive_slot(qp, at, run_.size);
			const Pattern want = side_.incoming(run_, qp, n);

			for (uint64_t i = 0; i < segments(); i++)
				marks_.push_back(slot[last_byte(i)]);
			for (uint64_t i = 0; i < segments(); i++)
				slot[last_byte(i)] = want.at(last_byte(i));
			side_.check_message(run_, qp, n, at, tally);
			for (uint64_t i = 0; i < segments(); i++)
				slot[last_byte(i)] = marks_[i];
			marks_.clear();
		} else {
			side_.check_message(run_, qp, n, at, tally);
		}
	}

	Tally tally;

private:
	uint64_t segments() const
	{
		return (run_.size + side_.mtu - 1) / side_.mtu;
	}
	uint64_t last_byte(uint64_t segment) const
	{
		return std::min((segment + 1) * side_.mtu, run_.size) - 1;
	}

	bool see(uint32_t qp, uint64_t n)
	{
		const auto slot = side_.receive_slot(qp, n % slots_, run_.size);
		Idle idle(side_.link);

		for (uint64_t i = 0; i < segments(); i++)
			while (load_byte(slot[last_byte(i)]) != mark_of(n))
				if (idle.rest())
					return false;
		return true;
	}

	bool take(uint32_t qp, uint64_t n)
	{
		Idle idle(side_.link);
		uint64_t got = 0;
		const auto look = [&] {
			return side_.poll_receives([&](const ReceiveDone &r) {
				got++;
				judge(r, qp, n);
			});
		};

		while (!look() && !side_.doze(look, 100))
			if (idle.rest(side_.hello.events))
				return false;
		if (got > 1)
			throw RunError("more than one message at a time");
		return true;
	}

	void judge(const ReceiveDone &r, uint32_t qp, uint64_t n)
	{
		if (r.qp != qp)
			tally.wrong(fmt::format(
				"message {} of queue pair {} came to {}", n, qp,
				r.qp));
		else if (r.imm != static_cast<uint32_t>(n))
			tally.wrong(fmt::format(
				"message {} of queue pair {} has immediate {}",
				n, qp, r.imm));
		else if (r.length != run_.size)
			tally.wrong(fmt::format(
				"message {} of queue pair {} has {} bytes, "
				"not {}",
				n, qp, r.length, run_.size));
	}

	Side &side_;
	const Start run_;
	const uint64_t slots_;
	const uint64_t limit_;
	const uint32_t interval_;
	std::vector<uint8_t> marks_;
};

/* How many of @n messages, sent in turn, belong to each queue pair. */
std::vector<uint64_t> shares(uint64_t n, uint32_t qps)
{
	std::vector<uint64_t> v(qps);

	for (uint32_t qp = 0; qp < qps; qp++)
		v[qp] = n / qps + (qp < n % qps);
	return v;
}
} // namespace

Measured ping(Side &side, const Start &run, const Amount &amount)
{
	const uint32_t qps = side.hello.qps;
	const uint64_t warmup = amount.warmup * qps;
	const uint64_t total = amount.duration > 0
				       ? warmup + max_samples
				       : warmup + amount.messages * qps;
	Table table(side, run);
	auto end = Clock::time_point::max();
	Measured m;
	uint64_t i = 0;

	m.round_trips.reserve(amount.duration > 0 ? 65536 : total - warmup);
	for (; i < total; i++) {
		const auto qp = static_cast<uint32_t>(i % qps);

		if (i == warmup && amount.duration > 0)
			end = Clock::now() +
			      std::chrono::duration_cast<Clock::duration>(
				      Seconds(amount.duration));
		table.prepare(qp, i / qps);
		const auto from = Clock::now();

		if (i > warmup && from >= end)
			break;
		table.send(qp, i / qps);
		if (!table.receive(qp, i / qps))
			throw ProtocolError("the peer is out of step");
		const std::chrono::nanoseconds took = Clock::now() - from;

		if (i >= warmup)
			m.round_trips.push_back(
				static_cast<uint64_t>(took.count()));
		table.check(qp, i / qps);
	}
	m.messages = m.round_trips.size();
	for (uint64_t ns : m.round_trips)
		m.seconds += static_cast<double>(ns) / 1e9;
	m.sent = shares(i, qps);
	m.tally = std::move(table.tally);
	return m;
}

Tally pong(Side &side, const Start &run)
{
	const uint32_t qps = side.hello.qps;
	Table table(side, run);

	for (uint64_t i = 0;; i++) {
		const auto qp = static_cast<uint32_t>(i % qps);

		table.prepare(qp, i / qps);
		if (!table.receive(qp, i / qps)) {
			const auto done = side.link.expect<Done>();

			if (done.sent != shares(i, qps))
				throw ProtocolError("the peer sent messages "
						    "that did not arrive");
			return std::move(table.tally);
		}
		table.send(qp, i / qps);
		table.check(qp, i / qps);
	}
}
} // namespace mrcperf

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrcperf: streams.
 *
 * MRC has no RNR: a message with an immediate needs a receive that is already
 * posted. So the receiver reports to the sender how many immediates it has
 * consumed, by writing a counter to the sender's memory. The sender never has
 * more immediates in flight than there are receives. The counter is written
 * again only after the previous write has completed, because the order of
 * writes in flight is undefined.
 *
 * With verification, messages are sent in rounds of as many as have separate
 * slots: the sender fills the slots, sends, waits for all completions and asks
 * the receiver to check. Only the time from the first post to the last
 * completion counts.
 */
#include <algorithm>

#include <endian.h>
#include <fmt/format.h>

#include "runs.hpp"

namespace mrcperf
{
namespace
{
constexpr uint64_t no_end = ~uint64_t{0};

uint64_t slots_of(const Side &side, uint64_t size)
{
	return std::min<uint64_t>(side.hello.depth, side.layout.slots(size));
}

class Sender
{
public:
	Sender(Side &side, const Start &run)
		: side_(side), run_(run), slots_(slots_of(side, run.size)),
		  interval_(side.interval(side.hello.depth, side.hello.list)),
		  sent_(side.hello.qps), target_(side.hello.qps),
		  list_(side.hello.list)
	{
	}

	/* Sends, and waits for the completions. Returns the seconds that this
	 * took.
	 */
	double burst(uint64_t messages, Clock::time_point end)
	{
		const auto from = Clock::now();
		Idle idle(side_.link);

		for (uint64_t &t : target_)
			t = messages == no_end ? no_end : t + messages;
		while (!finished()) {
			bool worked = side_.poll_sends();
			const auto now = Clock::now();

			if (now >= end)
				stop();
			for (uint32_t qp = 0; qp < side_.hello.qps; qp++)
				worked |= post(qp);
			tell_alive(now);
			if (worked)
				idle.worked();
			else
				rest(idle);
		}
		target_ = sent_;
		return Seconds(Clock::now() - from).count();
	}

	/* Fills the slots with the contents of the next @count messages. */
	void fill(uint64_t count)
	{
		for (uint32_t qp = 0; qp < side_.hello.qps; qp++)
			for (uint64_t n = sent_[qp]; n < sent_[qp] + count; n++)
				side_.outgoing(run_, qp, n)
					.fill(side_.send_slot(qp, n % slots_,
							      run_.size));
	}

	uint64_t slots() const { return slots_; }
	const std::vector<uint64_t> &sent() const { return sent_; }

private:
	bool finished() const
	{
		for (uint32_t qp = 0; qp < side_.hello.qps; qp++)
			if (sent_[qp] != target_[qp] || side_.in_flight(qp))
				return false;
		return true;
	}

	/* Sends one more message on each, so that the last one has a
	 * completion.
	 */
	void stop()
	{
		for (uint32_t qp = 0; qp < side_.hello.qps; qp++)
			if (target_[qp] == no_end)
				target_[qp] = sent_[qp] + 1;
	}

	/* Immediates for which the peer still has receives. */
	uint64_t receives(uint32_t qp)
	{
		if (run_.op == Op::write)
			return no_end;
		const uint64_t taken = le64toh(load_word(
			&side_.ep.memory()[side_.layout.credit_to(qp)]));
		const uint64_t under_way = side_.stream_imms[qp] - taken;

		if (under_way > side_.hello.rx_depth)
			throw ProtocolError("the peer took immediates that "
					    "were not sent");
		return side_.hello.rx_depth - under_way;
	}

	bool post(uint32_t qp)
	{
		const uint64_t n = std::min<uint64_t>(list_.size(),
						      target_[qp] - sent_[qp]);
		const uint64_t room = side_.hello.depth - side_.in_flight(qp);

		if (!n || room < n || receives(qp) < n)
			return false;
		for (uint64_t i = 0; i < n; i++)
			list_[i] = side_.request(run_, qp, sent_[qp] + i,
						 (sent_[qp] + i) % slots_);
		side_.post(qp, std::span(list_).first(n), interval_,
			   sent_[qp] + n == target_[qp]);
		sent_[qp] += n;
		if (run_.op == Op::write_imm)
			side_.stream_imms[qp] += n;
		return true;
	}

	/* A counter update of the peer is a WRITE and causes no event, so sleep
	 * only briefly if one may be due.
	 */
	void rest(Idle &idle)
	{
		const bool taken =
			side_.doze([this] { return side_.poll_sends(); },
				   run_.op == Op::write ? 100 : 1);

		if (taken)
			idle.worked();
		else if (idle.rest(side_.hello.events))
			throw ProtocolError("the peer is out of step");
	}

	void tell_alive(Clock::time_point now)
	{
		if (now < alive_)
			return;
		side_.link.send(Alive{});
		alive_ = now + std::chrono::seconds(1);
	}

	Side &side_;
	const Start run_;
	const uint64_t slots_;
	const uint32_t interval_;
	std::vector<uint64_t> sent_;
	std::vector<uint64_t> target_;
	std::vector<SendRequest> list_;
	Clock::time_point alive_ = Clock::now() + std::chrono::seconds(1);
};

/* Sends at most @messages, in rounds, until @end. Returns the seconds used. */
double verified(Side &side, Sender &sender, uint64_t messages,
		Clock::time_point end)
{
	double seconds = 0;

	while (messages) {
		const uint64_t n = std::min(messages, sender.slots());
		const uint64_t first = sender.sent()[0];

		sender.fill(n);
		seconds += sender.burst(n, Clock::time_point::max());
		side.link.send(Round{.first = first,
				     .count = static_cast<uint32_t>(n)});
		side.link.expect<Checked>();
		if (messages != no_end)
			messages -= n;
		if (Clock::now() >= end)
			break;
	}
	return seconds;
}

double send(Side &side, Sender &sender, uint64_t messages,
	    Clock::time_point end)
{
	if (side.hello.verify)
		return verified(side, sender, messages, end);
	return messages ? sender.burst(messages, end) : 0;
}

class Receiver
{
public:
	Receiver(Side &side, const Start &run)
		: side_(side), run_(run), slots_(slots_of(side, run.size)),
		  taken_(side.hello.qps),
		  batch_(std::max<uint32_t>(
			  1,
			  std::min(side.hello.rx_depth / 4,
				   side.hello.rx_depth - side.hello.list + 1)))
	{
	}

	Tally run()
	{
		Idle idle(side_.link);

		for (;;) {
			bool worked = false;

			if (run_.op == Op::write_imm) {
				worked = take();
				if (!worked)
					worked = side_.doze(
						[this] { return take(); }, 100);
			}
			/* Without a queue to poll, only a frame can come next.
			 */
			const bool frame =
				run_.op == Op::write ||
				(worked ? look_now() && side_.link.pending()
					: idle.rest(side_.hello.events));

			if (worked)
				idle.worked();
			if (frame) {
				if (handle(side_.link.next()))
					return std::move(tally_);
				idle.worked();
			}
		}
	}

private:
	/* While messages arrive, check for frames only now and then. */
	bool look_now() { return ++looks_ % 64 == 0; }

	bool take()
	{
		bool worked = side_.poll_sends();

		worked |= side_.poll_receives(
			[this](const ReceiveDone &r) { taken(r); });
		for (uint32_t qp = 0; qp < side_.hello.qps; qp++)
			worked |= credit(qp);
		return worked;
	}

	/* Immediates are delivered in the order in which they were sent. */
	void taken(const ReceiveDone &r)
	{
		const uint64_t n = taken_[r.qp]++;

		side_.stream_imms[r.qp]++;
		if (r.imm != static_cast<uint32_t>(n))
			tally_.wrong(fmt::format(
				"message {} of queue pair {} has immediate {}",
				n, r.qp, r.imm));
		else if (r.length != run_.size)
			tally_.wrong(fmt::format(
				"message {} of queue pair {} has {} bytes, "
				"not {}",
				n, r.qp, r.length, run_.size));
	}

	bool credit(uint32_t qp)
	{
		const uint64_t all = side_.stream_imms[qp];

		if (all - side_.credited[qp] < batch_ ||
		    side_.completed(qp) < side_.credit_send[qp])
			return false;
		const uint64_t from = side_.layout.credit_from(qp);
		const uint64_t word = htole64(all);
		SendRequest r;

		std::memcpy(&side_.ep.memory()[from], &word, sizeof(word));
		r.local = from;
		r.remote = side_.peer(side_.layout.credit_to(qp));
		r.length = sizeof(word);
		side_.post(qp, {&r, 1}, 1, true);
		side_.credit_send[qp] = side_.posted(qp);
		side_.credited[qp] = all;
		return true;
	}

	/* Immediates may arrive a little later than the frame that counts them.
	 */
	void wait_taken(uint32_t qp, uint64_t count)
	{
		Idle idle(side_.link);

		if (run_.op != Op::write_imm)
			return;
		if (taken_[qp] > count)
			throw ProtocolError("more immediates than were sent");
		while (taken_[qp] < count) {
			if (take())
				idle.worked();
			else if (idle.rest())
				throw ProtocolError("the peer is out of step");
		}
	}

	/* Returns true if the run is over. */
	bool handle(const Frame &frame)
	{
		switch (frame.type) {
		case FrameType::alive:
			decode<Alive>(frame);
			return false;
		case FrameType::round:
			round(decode<Round>(frame));
			return false;
		default:
			done(decode<Done>(frame));
			return true;
		}
	}

	void round(const Round &r)
	{
		const uint64_t checked = tally_.checked;
		const uint64_t bad = tally_.bad;

		if (!side_.hello.verify || r.first != checked_ ||
		    r.count > slots_)
			throw ProtocolError("the peer is out of step");
		checked_ += r.count;
		for (uint32_t qp = 0; qp < side_.hello.qps; qp++) {
			wait_taken(qp, checked_);
			for (uint64_t n = r.first; n < checked_; n++)
				side_.check_message(run_, qp, n, n % slots_,
						    tally_);
		}
		side_.link.send(Checked{.messages = tally_.checked - checked,
					.bad = tally_.bad - bad});
	}

	void done(const Done &d)
	{
		if (d.sent.size() != side_.hello.qps)
			throw ProtocolError("the peer is out of step");
		for (uint32_t qp = 0; qp < side_.hello.qps; qp++) {
			if (side_.hello.verify && d.sent[qp] != checked_)
				throw ProtocolError(
					"messages that were not verified");
			wait_taken(qp, d.sent[qp]);
		}
	}

	Side &side_;
	const Start run_;
	const uint64_t slots_;
	std::vector<uint64_t> taken_;
	/* After so many immediates the sender gets a report. */
	const uint32_t batch_;
	uint64_t checked_ = 0;
	uint32_t looks_ = 0;
	Tally tally_;
};
} // namespace

Measured send_stream(Side &side, const Start &run, const Amount &amount)
{
	Sender sender(side, run);
	Measured m;

	send(side, sender, amount.warmup, Clock::time_point::max());
	for (uint64_t n : sender.sent())
		m.messages -= n;
	if (amount.duration > 0)
		m.seconds = send(
			side, sender, no_end,
			Clock::now() +
				std::chrono::duration_cast<Clock::duration>(
					Seconds(amount.duration)));
	else
		m.seconds = send(side, sender, amount.messages,
				 Clock::time_point::max());
	m.sent = sender.sent();
	for (uint64_t n : m.sent)
		m.messages += n;
	return m;
}

Tally receive_stream(Side &side, const Start &run)
{
	return Receiver(side, run).run();
}
} // namespace mrcperf

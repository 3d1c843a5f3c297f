/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcperf: the common parts of both sides of a session: accounting of messages
 * in flight, waiting, checking.
 */
#pragma once

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "endpoint.hpp"
#include "link.hpp"
#include "pattern.hpp"
#include "plan.hpp"

namespace mrcperf
{
/* The result of checking. */
struct Tally {
	uint64_t checked = 0;
	uint64_t bad = 0;
	std::string first_bad;

	void wrong(const std::string &what)
	{
		if (!bad++)
			first_bad = what;
	}
};

/*
 * Used between two checks in a waiting loop. Yields the processor now and then,
 * detects when the peer is gone, and gives up if nothing happens for too long.
 */
class Idle
{
public:
	explicit Idle(Link &link) : link_(link) {}

	void worked()
	{
		spins_ = 0;
		idle_ = false;
	}
	/* Returns true if the peer has sent a frame. @slept: the caller has
	 * slept.
	 */
	bool rest(bool slept = false)
	{
		return (slept || ++spins_ % spins == 0) && look();
	}

private:
	static constexpr uint32_t spins = 64;

	bool look();

	Link &link_;
	Clock::time_point since_;
	uint32_t spins_ = 0;
	bool idle_ = false;
};

class Side
{
public:
	/* Receives must be posted, and the peer's memory must be known. */
	Side(Endpoint &ep, Link &link, const Hello &hello, uint64_t peer_base,
	     uint16_t mtu, Direction sends);

	Endpoint &ep;
	Link &link;
	const Hello hello;
	const Layout layout;
	const uint16_t mtu;

	/* --- sending --- */

	uint64_t in_flight(uint32_t qp) const
	{
		return sends_[qp].posted - sends_[qp].completed;
	}
	uint64_t posted(uint32_t qp) const { return sends_[qp].posted; }
	uint64_t completed(uint32_t qp) const { return sends_[qp].completed; }
	/*
	 * Requests a completion at least every @interval messages, and for the
	 * last message of the list if @signal_last.
	 */
	void post(uint32_t qp, std::span<SendRequest> list, uint32_t interval,
		  bool signal_last);
	/* Takes completions; returns true if there were any. */
	bool poll_sends();
	/* Waits until fewer than @limit messages are in flight. */
	void wait_room(uint32_t qp, uint64_t limit);
	/* The largest interval with which room for a list becomes free again.
	 */
	uint32_t interval(uint32_t room, uint32_t list) const;

	/* Message @n of the run, as a request. */
	SendRequest request(const Start &run, uint32_t qp, uint64_t n,
			    uint64_t slot) const;
	std::span<uint8_t> send_slot(uint32_t qp, uint64_t slot, uint64_t size);

	/* --- receiving --- */

	/* Takes completions, and posts the same number of receives. */
	template <typename F> bool poll_receives(F each)
	{
		std::array<ReceiveDone, batch> done;
		const size_t n = ep.poll_receives(done);

		for (size_t i = 0; i < n; i++) {
			check_qp(done[i].qp);
			each(done[i]);
			repost_[done[i].qp]++;
		}
		if (n)
			repost();
		return n > 0;
	}
	std::span<uint8_t> receive_slot(uint32_t qp, uint64_t slot,
					uint64_t size);
	/* Checks that message @n is correct and that nothing is written behind
	 * it.
	 */
	void check_message(const Start &run, uint32_t qp, uint64_t n,
			   uint64_t slot, Tally &tally);
	/* From here on, bytes that belong to no message must not change. */
	void prepare_receiving(const Start &run);

	/*
	 * If events are enabled, sleeps until @take takes completions, a frame
	 * arrives, or @ms have passed. Returns true if completions were taken.
	 */
	template <typename F> bool doze(F take, int ms)
	{
		if (!hello.events)
			return false;
		ep.arm();
		if (take())
			return true;
		ep.sleep(link.fd(), ms);
		return take();
	}

	Pattern outgoing(const Start &run, uint32_t qp, uint64_t n) const
	{
		return Pattern(
			message_key(hello.seed, run.run, sends_to_, qp, n));
	}
	Pattern incoming(const Start &run, uint32_t qp, uint64_t n) const
	{
		return Pattern(
			message_key(hello.seed, run.run, comes_from_, qp, n));
	}
	uint64_t peer(uint64_t offset) const { return peer_base_ + offset; }

	/*
	 * For each queue pair, over the whole session: immediates of streams
	 * that were sent or consumed, and the number that the receiver has
	 * reported.
	 */
	std::vector<uint64_t> stream_imms;
	std::vector<uint64_t> credited;
	/* Number of the send that carried the report. */
	std::vector<uint64_t> credit_send;

private:
	static constexpr size_t batch = 32;

	struct Sends {
		uint64_t posted = 0;
		uint64_t completed = 0;
		uint32_t unsignaled = 0;
	};

	void check_qp(uint32_t qp) const;
	void repost();

	const uint64_t peer_base_;
	const Direction sends_to_;
	const Direction comes_from_;
	std::vector<Sends> sends_;
	std::vector<uint32_t> repost_;
};

/* Memory that the peer writes while this side reads it. */
inline uint8_t load_byte(uint8_t &b)
{
	return std::atomic_ref<uint8_t>(b).load(std::memory_order_acquire);
}

inline uint64_t load_word(uint8_t *p)
{
	return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t *>(p))
		.load(std::memory_order_acquire);
}
} // namespace mrcperf

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "side.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sched.h>

namespace mrcperf
{
namespace
{
/* The byte before, between and behind messages. */
constexpr uint8_t untouched = 0x5a;

Direction other(Direction d)
{
	return d == Direction::to_server ? Direction::to_client
					 : Direction::to_server;
}
} // namespace

bool Idle::look()
{
	const auto now = Clock::now();

	sched_yield();
	if (!idle_) {
		since_ = now;
		idle_ = true;
	} else if (now - since_ > link_.patience()) {
		throw RunError(fmt::format("no progress for {:g} s",
					   link_.patience().count()));
	}
	return link_.pending();
}

Side::Side(Endpoint &e, Link &l, const Hello &h, uint64_t peer_base, uint16_t m,
	   Direction sends)
	: ep(e), link(l), hello(h), layout(h.qps, h.largest), mtu(m),
	  stream_imms(h.qps), credited(h.qps), credit_send(h.qps),
	  peer_base_(peer_base), sends_to_(sends), comes_from_(other(sends)),
	  sends_(h.qps), repost_(h.qps)
{
}

void Side::check_qp(uint32_t qp) const
{
	if (qp >= hello.qps)
		throw RunError("a completion of no queue pair");
}

void Side::post(uint32_t qp, std::span<SendRequest> list, uint32_t interval,
		bool signal_last)
{
	Sends &s = sends_[qp];

	for (SendRequest &r : list) {
		r.tag = static_cast<uint32_t>(++s.posted);
		r.inlined = r.length <= hello.inline_size;
		r.signaled = ++s.unsignaled >= interval ||
			     (signal_last && &r == &list.back());
		if (r.signaled)
			s.unsignaled = 0;
	}
	ep.post_sends(qp, list);
}

bool Side::poll_sends()
{
	std::array<SendDone, batch> done;
	const size_t n = ep.poll_sends(done);

	for (size_t i = 0; i < n; i++) {
		check_qp(done[i].qp);
		Sends &s = sends_[done[i].qp];

		/* The tag is the lower half of a number that only grows. */
		s.completed += static_cast<uint32_t>(
			done[i].tag - static_cast<uint32_t>(s.completed));
		if (s.completed > s.posted)
			throw RunError("a completion of nothing");
	}
	return n > 0;
}

void Side::wait_room(uint32_t qp, uint64_t limit)
{
	Idle idle(link);

	while (in_flight(qp) >= limit) {
		if (poll_sends())
			idle.worked();
		else
			idle.rest();
	}
}

uint32_t Side::interval(uint32_t room, uint32_t list) const
{
	return std::min(hello.signal, room - list + 1);
}

SendRequest Side::request(const Start &run, uint32_t qp, uint64_t n,
			  uint64_t slot) const
{
	SendRequest r;

	r.local = layout.send(qp, slot, run.size);
	r.remote = peer(layout.receive(qp, slot, run.size));
	r.length = static_cast<uint32_t>(run.size);
	r.op = run.op;
	r.imm = static_cast<uint32_t>(n);
	return r;
}

std::span<uint8_t> Side::send_slot(uint32_t qp, uint64_t slot, uint64_t size)
{
	return ep.memory().subspan(layout.send(qp, slot, size), size);
}

std::span<uint8_t> Side::receive_slot(uint32_t qp, uint64_t slot, uint64_t size)
{
	return ep.memory().subspan(layout.receive(qp, slot, size), size);
}

void Side::repost()
{
	for (uint32_t qp = 0; qp < hello.qps; qp++) {
		if (!repost_[qp])
			continue;
		ep.post_receives(qp, repost_[qp]);
		repost_[qp] = 0;
	}
}

void Side::check_message(const Start &run, uint32_t qp, uint64_t n,
			 uint64_t slot, Tally &tally)
{
	const std::span<uint8_t> got = receive_slot(qp, slot, run.size);
	const Pattern want = incoming(run, qp, n);
	const size_t wrong = want.check(got);

	tally.checked++;
	if (wrong < got.size()) {
		tally.wrong(fmt::format(
			"message {} of queue pair {}: byte {} of {} is "
			"{:#04x}, not {:#04x}",
			n, qp, wrong, got.size(), got[wrong], want.at(wrong)));
		return;
	}
	const std::span<uint8_t> behind = ep.memory().subspan(
		layout.receive(qp, slot, run.size) + run.size, Layout::guard);

	for (size_t i = 0; i < behind.size(); i++) {
		if (behind[i] == untouched)
			continue;
		tally.wrong(fmt::format(
			"message {} of queue pair {}: byte {} behind it is "
			"{:#04x}",
			n, qp, i, behind[i]));
		/* Restore the bytes, so that the next message in the slot gets
		 * no error.
		 */
		std::fill(behind.begin(), behind.end(), untouched);
		return;
	}
}

void Side::prepare_receiving(const Start &run)
{
	if (run.test != Kind::lat && !hello.verify)
		return;
	for (uint32_t qp = 0; qp < hello.qps; qp++) {
		const std::span<uint8_t> region = ep.memory().subspan(
			layout.receive(qp, 0, run.size), layout.region());

		std::fill(region.begin(), region.end(), untouched);
		/* Ping-pong waits for bytes that are not zero. */
		for (uint64_t i = 0; i < layout.slots(run.size); i++) {
			const auto slot = receive_slot(qp, i, run.size);

			std::fill(slot.begin(), slot.end(), 0);
		}
	}
}
} // namespace mrcperf

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Traffic over queue pairs. */
#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>
#include <sched.h>

#include "error.hpp"
#include "measure.hpp"
#include "verbs.hpp"

namespace mrcbench
{
namespace
{
using mrcperf::RunError;
using Clock = std::chrono::steady_clock;

constexpr size_t batch = 64;
/* Bytes between reads of the clock, which is a system call on some machines. */
constexpr uint64_t clock_after = 256 * 1024;

double seconds_since(Clock::time_point t)
{
	return std::chrono::duration<double>(Clock::now() - t).count();
}

class VerbsTraffic : public Traffic
{
public:
	VerbsTraffic(const Place &place, const Shape &shape, bool server)
		: shape_(shape), place_(place),
		  side_(place.device, place.address, shape, server)
	{
	}

	VerbsSide &side() { return side_; }

	Counts drive(const std::function<Snapshot()> &mark) override
	{
		if (shape_.test == Kind::lat || shape_.test == Kind::rtt)
			return one_by_one(mark);
		return stream(mark);
	}

	void serve(const std::atomic<bool> &stop, int stop_fd) override
	{
		if (shape_.test == Kind::lat && shape_.op == Op::write) {
			answer_writes(stop);
			return;
		}
		/* With WRITE the receiving program has nothing to do. */
		if (side_.receives())
			receive(stop, stop_fd);
	}

private:
	/* --- a stream --- */

	/* The size of the groups in which messages are posted and completed. */
	uint32_t group() const
	{
		const uint32_t quarter = std::max(shape_.depth / 4, 1u);

		return std::max(quarter / shape_.list * shape_.list,
				shape_.list);
	}

	void post_group(uint32_t qp, uint32_t n)
	{
		for (uint32_t i = 0; i < n; i += shape_.list)
			side_.post(qp, shape_.list, i + shape_.list == n);
	}

	Counts stream(const std::function<Snapshot()> &mark)
	{
		const uint32_t n = group();
		const uint64_t looks =
			std::clamp<uint64_t>(clock_after / (shape_.size * n), 1,
					     16);
		const auto start = Clock::now();
		double next = shape_.seconds * warm_share;
		std::array<ibv_wc, batch> wc;
		std::vector<uint64_t> done(side_.qps()), before;
		uint64_t outstanding = 0, until_look = looks;
		bool over = false;
		Counts counts;

		for (uint32_t round = 0; round < shape_.depth / n; round++)
			for (uint32_t qp = 0; qp < side_.qps(); qp++) {
				post_group(qp, n);
				outstanding++;
			}
		while (outstanding) {
			const int got = side_.wait(wc, stall_seconds, -1);

			if (!got)
				throw RunError(fmt::format(
					"no completion for {:g} s",
					stall_seconds));
			for (int i = 0; i < got; i++) {
				const uint32_t qp = side_.qp_of(
					wc[static_cast<size_t>(i)].qp_num);

				done[qp] += n;
				if (over) {
					outstanding--;
					continue;
				}
				post_group(qp, n);
			}
			if (over || --until_look)
				continue;
			until_look = looks;
			if (seconds_since(start) < next)
				continue;
			if (before.empty()) {
				counts.from = mark();
				before = done;
				next = seconds_since(start) + shape_.seconds;
			} else {
				counts.to = mark();
				counts.messages = done;
				over = true;
			}
		}
		for (size_t i = 0; i < before.size(); i++)
			counts.messages[i] -= before[i];
		return counts;
	}

	void receive(const std::atomic<bool> &stop, int stop_fd)
	{
		std::array<ibv_wc, batch> wc;
		const bool answer = shape_.test == Kind::lat;
		uint64_t answers = 0;

		while (!stop) {
			const int got = side_.wait(wc, 1, stop_fd);

			for (int i = 0; i < got; i++) {
				const ibv_wc &c = wc[static_cast<size_t>(i)];

				if (!(c.opcode & IBV_WC_RECV))
					continue;
				const uint32_t qp = side_.qp_of(c.qp_num);

				if (answer)
					side_.post(qp, 1, signalled(answers++));
				side_.post_receive(qp);
			}
		}
	}

	/* --- one at a time --- */

	/* Send queues need a completion now and then to free entries. */
	bool signalled(uint64_t n) const
	{
		return n % std::max(shape_.depth / 2, 1u) == 0;
	}

	/* A packet of a WRITE may overtake earlier ones. */
	void write_number(uint8_t number)
	{
		uint8_t *out = side_.outbox();

		for (uint64_t at = 0; at < shape_.size; at += side_.mtu())
			out[std::min<uint64_t>(at + side_.mtu(), shape_.size) -
			    1] = number;
	}

	bool has_number(uint8_t number)
	{
		const volatile uint8_t *in = side_.inbox();

		for (uint64_t at = 0; at < shape_.size; at += side_.mtu())
			if (in[std::min<uint64_t>(at + side_.mtu(),
						  shape_.size) -
			       1] != number)
				return false;
		std::atomic_thread_fence(std::memory_order_acquire);
		return true;
	}

	static uint8_t number_of(uint64_t n)
	{
		return static_cast<uint8_t>(n % 251 + 1);
	}

	void take_sent()
	{
		std::array<ibv_wc, batch> wc;

		side_.take(wc);
	}

	/* Returns false if it was told to stop. */
	bool await_number(uint8_t number, const std::atomic<bool> *stop)
	{
		const auto start = Clock::now();

		for (uint64_t looks = 1; !has_number(number); looks++) {
			if (shape_.wait == Wait::yield)
				sched_yield();
			if (stop && *stop)
				return false;
			if (looks % 4096)
				continue;
			take_sent();
			if (!stop && seconds_since(start) > stall_seconds)
				throw RunError(
					fmt::format("no answer for {:g} s",
						    stall_seconds));
		}
		return true;
	}

	void ping_write(uint64_t n)
	{
		write_number(number_of(n));
		side_.post(0, 1, signalled(n));
		if (signalled(n))
			take_sent();
		await_number(number_of(n), nullptr);
	}

	void ping_message(uint64_t n)
	{
		std::array<ibv_wc, batch> wc;

		side_.post(0, 1, signalled(n));
		await(wc, [](const ibv_wc &c) {
			return (c.opcode & IBV_WC_RECV) != 0;
		});
		side_.post_receive(0);
	}

	void send_one()
	{
		std::array<ibv_wc, batch> wc;

		side_.post(0, 1, true);
		await(wc, [](const ibv_wc &) { return true; });
	}

	template <typename F> void await(std::span<ibv_wc> wc, F &&wanted)
	{
		for (bool seen = false; !seen;) {
			const int got = side_.wait(wc, stall_seconds, -1);

			if (!got)
				throw RunError(
					fmt::format("no answer for {:g} s",
						    stall_seconds));
			for (int i = 0; i < got; i++)
				seen |= wanted(wc[static_cast<size_t>(i)]);
		}
	}

	void answer_writes(const std::atomic<bool> &stop)
	{
		for (uint64_t n = 0; await_number(number_of(n), &stop); n++) {
			write_number(number_of(n));
			side_.post(0, 1, signalled(n));
			if (signalled(n))
				take_sent();
		}
	}

	Counts one_by_one(const std::function<Snapshot()> &mark)
	{
		const auto start = Clock::now();
		const double warm = shape_.seconds * warm_share;
		auto before = start;
		bool counting = false;
		Counts counts;

		counts.latencies.reserve(1u << 16);
		for (uint64_t n = 0;; n++) {
			if (shape_.test == Kind::rtt)
				send_one();
			else if (shape_.op == Op::write)
				ping_write(n);
			else
				ping_message(n);
			const auto now = Clock::now();

			if (counting)
				counts.latencies.push_back(
					static_cast<uint64_t>(
						std::chrono::nanoseconds(
							now - before)
							.count()));
			before = now;
			if (!counting &&
			    std::chrono::duration<double>(now - start)
					    .count() >= warm) {
				counting = true;
				counts.from = mark();
				before = Clock::now();
			} else if (counting &&
				   std::chrono::duration<double>(now - start)
						   .count() >=
					   warm + shape_.seconds) {
				break;
			}
		}
		counts.to = mark();
		counts.messages = {counts.latencies.size()};
		return counts;
	}

	const Shape shape_;
	const Place place_;
	VerbsSide side_;
};
} // namespace

std::unique_ptr<Traffic> verbs_client(const Talk &talk, const Place &place,
				      const Shape &shape)
{
	auto t = std::make_unique<VerbsTraffic>(place, shape, false);
	const Message peer = talk.receive(setup_seconds);

	talk.send(t->side().describe());
	t->side().connect(peer);
	return t;
}

std::unique_ptr<Traffic> verbs_server(const Talk &talk, const Place &place,
				      const Shape &shape)
{
	auto t = std::make_unique<VerbsTraffic>(place, shape, true);

	talk.send(t->side().describe());
	t->side().connect(talk.receive(setup_seconds));
	return t;
}
} // namespace mrcbench

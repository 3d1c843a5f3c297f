// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Cases about queue pairs that span several ports: MRC 1.0 §11.5, §11.6, §12,
 * §16.4. */
#include <set>

#include <fmt/format.h>

#include "cases.hpp"

namespace mrcconform
{
namespace
{
/* Packets of a message from the target: several for each EV of most. */
constexpr int32_t many = 64;

uint32_t planes(const Bench &b)
{
	return static_cast<uint32_t>(b.options().planes.netdevs.size());
}

/* Bit N is port N. */
uint64_t all_ports(const Bench &b)
{
	return ((uint64_t{1} << planes(b)) - 1) << 1;
}

/* The target knows that these ports of the tester are up, and no others. */
void update(Bench &b, uint64_t mask)
{
	const uint16_t id = b.next_id();
	Packet p = endpoint_request(b, 0, id);

	p[F::port_mask] = mask;
	b.send(p);
	endpoint_response(b, id);
}

/*
 * Posts a message of many packets and acknowledges what comes. Returns the
 * planes that data came through, without those cut off.
 */
std::set<uint32_t> message(Qp &q, int32_t first)
{
	const uint64_t id = q.post(static_cast<uint32_t>(many) * q.mtu());
	const int32_t end = first + many;
	std::set<uint32_t> used;
	Packet newest;

	while (psn_diff(q.responder().cack(), q.tx(end - 1)) < 0) {
		newest = q.expect(
			[](const Packet &p) {
				return p.opcode() == op_probe || is_data(p);
			},
			fmt::format("data packets up to PSN {:#x}",
				    q.tx(end - 1)));
		if (newest.opcode() != op_probe) {
			used.insert(newest.plane);
			q.responder().take(newest);
		}
		q.send_sack(newest);
	}
	q.acknowledge(newest);
	q.expect_done(id);
	return used;
}

void each_plane(Bench &b)
{
	b.need_planes();

	Qp q(b);
	const auto n = static_cast<int32_t>(2 * planes(b));
	const Bytes data = Qp::pattern(static_cast<size_t>(n) * q.mtu());

	/* A packet by each plane in turn. */
	for (int32_t i = 0; i < n; i++) {
		const uint64_t at = static_cast<uint64_t>(i) * q.mtu();
		const uint8_t op = i == 0	? op_write_first
				   : i == n - 1 ? op_write_last
						: op_write_middle;
		const auto from = data.begin() + static_cast<long>(at);
		Packet p = q.write(op, i, at, {from, from + q.mtu()},
				   static_cast<uint32_t>(data.size()));

		p[F::msn] = 0;
		p[F::a] = i == n - 1;
		q.send(p, {.plane = static_cast<uint32_t>(i) % planes(b) + 1});
	}
	q.expect_ack(n - 1);
	q.check_memory(0, data);
}

void duplicate(Bench &b)
{
	b.need_planes();

	Qp q(b);

	q.recv(2);
	for (uint32_t i = 1; i <= planes(b); i++) {
		Packet p = q.only_imm(0, 0xABCD, 0);

		p[F::rtx] = i > 1;
		q.send(p, {.plane = i});
	}
	q.expect_ack(0);
	q.fence();
	check_equal("immediate", q.completion().imm.value_or(0), 0xABCD);
	q.expect_no_completion("the other copies are duplicates");
}

void probes_answered(Bench &b)
{
	b.need_planes();
	for (uint32_t i = 1; i <= planes(b); i++) {
		const uint16_t id = b.next_id();

		b.send(endpoint_request(b, 1, id), {.plane = i});
		check_equal("the netdev of the response",
			    endpoint_response(b, id).plane, i);
	}
}

void all_used(Bench &b)
{
	b.need_planes();

	Qp q(b);

	update(b, all_ports(b));
	check_equal("planes that data came through", message(q, 0).size(),
		    planes(b));
}

void down(Bench &b)
{
	b.need_planes();

	const uint32_t off = planes(b);
	Qp q(b);

	update(b, all_ports(b));
	message(q, 0);
	/* It answers no probe, so the update may be believed. */
	b.cut(off);
	update(b, all_ports(b) & ~(uint64_t{1} << off));
	message(q, many);
	for (const Packet &p : b.lost())
		check(!is_data(p) || psn_diff(static_cast<uint32_t>(p[F::psn]),
					      q.tx(many)) < 0,
		      fmt::format("no data to port {}, which is down", off));
	b.cut(0);
	update(b, all_ports(b));
}

void up_again(Bench &b)
{
	b.need_planes();

	const uint32_t off = planes(b);
	Qp q(b);

	update(b, all_ports(b) & ~(uint64_t{1} << off));
	message(q, 0);
	update(b, all_ports(b));

	/* A probe may come first. */
	int32_t next = many;

	b.until(
		[&] {
			const auto used = message(q, next);

			next += many;
			return used.contains(off);
		},
		fmt::format("data to port {}, which is up again", off));
}

void silent(Bench &b)
{
	b.need_planes();

	Qp q(b);

	update(b, all_ports(b));
	b.cut(planes(b));
	/* Twice: the second one begins when the loss is known. */
	message(q, 0);
	message(q, many);
	check(q.state() == State::rts, "a queue pair without an error");
}

constexpr Case table[] = {
	{"planes.each", "16.4", Level::must,
	 "Packets of one message are taken from every port.", each_plane},
	{"planes.duplicate", "16.4", Level::must,
	 "A copy that arrives at another port is a duplicate.", duplicate},
	{"planes.endpoint", "12.1", Level::should,
	 "A request is answered by the port where it arrived.",
	 probes_answered},
	{"planes.used", "11.5", Level::must,
	 "The data of a queue pair leaves by all ports.", all_used},
	{"planes.down", "12.3", Level::must,
	 "No data is sent to a port that a status update calls down.", down},
	{"planes.up-again", "12.3", Level::must,
	 "Data is sent to a port again that an update calls up.", up_again},
	{"planes.silent", "11.6", Level::must,
	 "A plane that loses everything does not stop a message.", silent},
};
} // namespace

std::span<const Case> planes_cases()
{
	return table;
}
} // namespace mrcconform

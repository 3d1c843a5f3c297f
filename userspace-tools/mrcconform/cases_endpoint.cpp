// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Cases about endpoint operations: MRC 1.0 §4.9, §4.10, §12. */
#include <fmt/format.h>

#include "cases.hpp"

namespace mrcconform
{
namespace
{
constexpr uint32_t endpoint_qpn = 2;
/* Port 1 of the tester is up. */
constexpr uint32_t port_1 = 1 << 1;

void ev_probe(Bench &b)
{
	const uint16_t id = b.next_id();
	Packet p = endpoint_request(b, 1, id);

	p[F::erth_timestamp] = 0x9999;
	b.send(p);

	const Packet r = endpoint_response(b, id);

	check_field(r, F::eeth_timestamp, 0x9999);
	check_field(r, F::dqp, endpoint_qpn);
}

void op_echoed(Bench &b)
{
	const uint16_t id = b.next_id();

	b.send(endpoint_request(b, 1, id));
	check_field(endpoint_response(b, id), F::eeth_op, 1);
}

void control_class(Bench &b)
{
	const uint16_t id = b.next_id();

	b.send(endpoint_request(b, 1, id));

	const Packet r = endpoint_response(b, id);

	check_equal("DSCP of the response", r[F::tos] >> 2,
		    b.options().dscp.control);
	check_equal("ECN of the response", r[F::tos] & 3, 0);
}

void any_class(Bench &b)
{
	for (const uint32_t dscp : {b.options().dscp.control, 7u}) {
		const uint16_t id = b.next_id();
		Packet p = endpoint_request(b, 1, id);

		p[F::tos] = dscp << 2;
		b.send(p);
		endpoint_response(b, id);
	}
}

void all_ids(Bench &b)
{
	for (const uint16_t id : {uint16_t{0}, uint16_t{0xFFFF}}) {
		b.send(endpoint_request(b, 1, id));
		endpoint_response(b, id);
	}
}

void reserved_op(Bench &b)
{
	for (const uint64_t op : {2u, 3u}) {
		const uint16_t id = b.next_id();

		b.send(endpoint_request(b, op, id));
		b.fence();
		b.expect_none(
			[id](const Packet &p) {
				return p.opcode() == op_endpoint_response &&
				       p[F::psn] == id;
			},
			"no response to a reserved operation");
	}
}

void reserved_ignored(Bench &b)
{
	const uint16_t id = b.next_id();
	Packet p = endpoint_request(b, 1, id);

	for (const F f : {F::erth_type, F::erth_nh, F::erth_res1, F::erth_res2,
			  F::erth_res3})
		p[f] = (uint64_t{1} << field_info(f).width) - 1;
	b.send(p);
	endpoint_response(b, id);
}

void bad_icrc(Bench &b)
{
	const uint16_t id = b.next_id();
	Bytes x = encode(b.wire().local(), b.wire().remote(),
			 endpoint_request(b, 1, id));

	x.back() ^= 1;
	b.send(x, "ENDPOINT_REQUEST with a wrong ICRC");
	b.fence();
	b.expect_none(
		[id](const Packet &p) {
			return p.opcode() == op_endpoint_response &&
			       p[F::psn] == id;
		},
		"no response to a packet with a wrong ICRC");
}

void to_queue_pair(Bench &b)
{
	Qp q(b);
	const uint16_t id = b.next_id();
	Packet p = endpoint_request(b, 1, id);

	p[F::dqp] = q.qpn();
	b.send(p);
	b.fence();
	b.expect_none(
		[id](const Packet &r) {
			return r.opcode() == op_endpoint_response &&
			       r[F::psn] == id;
		},
		"no response: endpoint requests go to QPN 2");
	q.check_alive(0);
}

void unasked_response(Bench &b)
{
	Qp q(b);
	Packet p = endpoint_request(b, 0, b.next_id());

	p[F::opcode] = op_endpoint_response;
	b.send(p);
	b.fence();
	q.check_alive(0);
}

void port_status(Bench &b)
{
	Qp q(b);
	const uint16_t id = b.next_id();
	Packet p = endpoint_request(b, 0, id);

	p[F::port_mask] = port_1;
	p[F::erth_timestamp] = 0x7777;
	b.send(p);

	const Packet r = endpoint_response(b, id);

	check_field(r, F::eeth_op, 0);
	check_field(r, F::eeth_timestamp, 0x7777);
	q.check_alive(0);
}

/* The update is a hint: it must not stop a connection. */
void all_down(Bench &b)
{
	Qp q(b);
	const uint16_t id = b.next_id();
	Packet p = endpoint_request(b, 0, id);

	p[F::port_mask] = 0;
	b.send(p);
	endpoint_response(b, id);
	q.check_alive(0);

	const uint64_t work = q.post(32);
	const Packet d = q.expect_data(0, {});

	q.acknowledge(d);
	q.expect_done(work);

	/* Later cases begin with a peer that is up. */
	const uint16_t up = b.next_id();

	p = endpoint_request(b, 0, up);
	p[F::port_mask] = port_1;
	b.send(p);
	endpoint_response(b, up);
}

constexpr Case table[] = {
	{"endpoint.ev-probe", "12.2", Level::must,
	 "An EV probe is answered with its id and timestamp, from QPN 2 to QPN "
	 "2.",
	 ev_probe},
	{"endpoint.op", "4.10", Level::should,
	 "EETH bits 3:2 of byte 1 echo the operation.", op_echoed},
	{"endpoint.control-class", "12.1", Level::must,
	 "Responses have the codepoint of control packets.", control_class},
	{"endpoint.any-class", "12.1", Level::must,
	 "Requests may have any traffic class.", any_class},
	{"endpoint.ids", "12.1", Level::must,
	 "Request ids have 16 bits; all of them are answered.", all_ids},
	{"endpoint.reserved-op", "4.9", Level::must,
	 "A request with a reserved operation is dropped.", reserved_op},
	{"endpoint.reserved-bits", "4.9", Level::must,
	 "Reserved bits of a request are ignored.", reserved_ignored},
	{"endpoint.icrc", "12.1", Level::must,
	 "A request with a wrong ICRC is dropped.", bad_icrc},
	{"endpoint.qpn", "3", Level::must,
	 "An endpoint request to the QPN of a queue pair is dropped.",
	 to_queue_pair},
	{"endpoint.unasked-response", "12.1", Level::must,
	 "A response that nobody asked for is dropped.", unasked_response},
	{"endpoint.port-status", "12.3", Level::must,
	 "A port status update is confirmed by a response.", port_status},
	{"endpoint.port-status-is-a-hint", "12.3", Level::should,
	 "An update that leaves no port does not stop a queue pair.", all_down},
};
} // namespace

std::span<const Case> endpoint_cases()
{
	return table;
}
} // namespace mrcconform

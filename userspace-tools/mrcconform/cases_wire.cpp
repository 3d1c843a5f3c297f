// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Cases about encapsulation, ICRC and headers: MRC 1.0 §2, §3, §4. */
#include <algorithm>

#include "cases.hpp"

namespace mrcconform
{
namespace
{
constexpr size_t short_write = 32;

/*
 * Sends something that the target must drop, then shows that it left no trace:
 * the same PSN is still free.
 */
template <typename Send>
void dropped(Bench &b, const char *what, const Send &send)
{
	Qp q(b);
	const Bytes data = Qp::pattern(short_write);

	send(q, q.only(0, 0, data));
	q.fence();
	q.expect_no_reply(std::string("no answer to ") + what);
	q.check_memory(0, Bytes(short_write));
	q.send(q.only(0, 0, data));
	q.expect_ack(0);
	q.check_memory(0, data);
}

/* A packet that must be taken like any other. */
template <typename Send> void taken(Bench &b, const Send &send)
{
	Qp q(b);
	const Bytes data = Qp::pattern(short_write);

	send(q, q.only(0, 0, data));
	q.expect_ack(0);
	q.check_memory(0, data);
	q.expect_cack(0);
}

size_t udp_at(const Bytes &packet)
{
	return ip_header(packet[0] >> 4 == 6);
}

void icrc_bad(Bench &b)
{
	dropped(b, "a packet with a wrong ICRC", [](Qp &q, const Packet &p) {
		q.send_spoiled(p, [](Bytes &x) { x[x.size() - 2] ^= 2; });
	});
}

void icrc_byte_order(Bench &b)
{
	dropped(b, "a packet whose ICRC has the most significant byte first",
		[](Qp &q, const Packet &p) {
			q.send_spoiled(p, [](Bytes &x) {
				std::reverse(x.end() - 4, x.end());
			});
		});
}

void icrc_payload(Bench &b)
{
	dropped(b, "a packet whose payload has changed",
		[](Qp &q, const Packet &p) {
			q.send_spoiled(
				p, [](Bytes &x) { x[x.size() - 5] ^= 0x80; });
		});
}

void icrc_source_port(Bench &b)
{
	dropped(b, "a packet whose source port has changed",
		[](Qp &q, const Packet &p) {
			q.send_spoiled(p,
				       [](Bytes &x) { x[udp_at(x) + 1] ^= 1; });
		});
}

void icrc_byte8(Bench &b)
{
	dropped(b, "a packet whose BTH.a has changed",
		[](Qp &q, const Packet &p) {
			q.send_spoiled(p, [](Bytes &x) {
				x[udp_at(x) + udp_header + 8] ^= 0x80;
			});
		});
}

void icrc_masked(Bench &b)
{
	taken(b, [](Qp &q, const Packet &p) {
		q.send_spoiled(p, [](Bytes &x) {
			if (x[0] >> 4 == 6) {
				/* Traffic class 0x28, flow label, hops */
				x[0] = 0x62;
				x[1] = 0x80;
				x[2] ^= 0x55;
				x[7] = 17;
				return;
			}
			x[1] = 0x28;
			x[8] = 17;
			fix_lengths(x);
		});
	});
}

void icrc_var_res(Bench &b)
{
	taken(b, [](Qp &q, const Packet &p) {
		q.send_spoiled(p, [](Bytes &x) {
			x[udp_at(x) + udp_header + 4] = 0xA5;
		});
	});
}

/* The checksum of a UDP datagram. */
uint16_t udp_checksum(const Bytes &x)
{
	const bool v6 = x[0] >> 4 == 6;
	const size_t udp = udp_at(x);
	uint64_t sum = 17 + x.size() - udp;
	const auto add = [&](size_t from, size_t to) {
		for (size_t i = from; i < to; i += 2)
			sum += static_cast<uint64_t>(x[i]) << 8 |
			       (i + 1 < to ? x[i + 1] : 0u);
	};

	add(v6 ? 8 : 12, udp);
	add(udp, x.size());
	while (sum >> 16)
		sum = (sum & 0xFFFF) + (sum >> 16);
	return static_cast<uint16_t>(~sum);
}

void udp_sum_right(Bench &b)
{
	taken(b, [](Qp &q, const Packet &p) {
		q.send_spoiled(p, [](Bytes &x) {
			const uint16_t sum = udp_checksum(x);

			x[udp_at(x) + 6] = static_cast<uint8_t>(sum >> 8);
			x[udp_at(x) + 7] = static_cast<uint8_t>(sum);
		});
	});
}

void tver_dropped(Bench &b)
{
	dropped(b, "a packet of another transport version",
		[](Qp &q, Packet p) {
			p[F::tver] = 1;
			q.send(p);
		});
}

void pkey_dropped(Bench &b)
{
	dropped(b, "a packet of another partition", [](Qp &q, Packet p) {
		p[F::pkey] = 0x1234;
		q.send(p);
	});
}

void pkey_limited(Bench &b)
{
	taken(b, [](Qp &q, Packet p) {
		p[F::pkey] = 0x7FFF;
		q.send(p);
	});
}

void unknown_qp(Bench &b)
{
	dropped(b, "a packet for a queue pair that does not exist",
		[&](Qp &q, Packet p) {
			p[F::dqp] = q.qpn() ^ 0x800000;
			q.send(p);
			b.fence();
		});
}

void short_headers(Bench &b)
{
	dropped(b, "packets that are shorter than their headers",
		[&](Qp &q, const Packet &p) {
			const Bytes body = pack(p);

			for (const size_t cut : {12u, 16u, 28u})
				b.send(wrap(b.wire().local(), b.wire().remote(),
					    p, std::span(body).first(cut)),
				       to_text(p) + " (cut)");
			(void)q;
		});
}

void pad_too_long(Bench &b)
{
	dropped(b, "a packet with more padding than payload",
		[](Qp &q, Packet p) {
			p.payload.clear();
			p[F::pad] = 3;
			q.send_changed(p, [](Bytes &x) {
				/* Without the bytes that pack() added. */
				x.resize(x.size() - 3);
				fix_lengths(x);
			});
		});
}

void payload_multiple(Bench &b)
{
	dropped(b, "a packet whose length is no multiple of four",
		[](Qp &q, const Packet &p) {
			q.send_changed(p, [](Bytes &x) {
				x.resize(x.size() - 1);
				fix_lengths(x);
			});
		});
}

void reserved_ignored(Bench &b)
{
	taken(b, [](Qp &q, Packet p) {
		p[F::mig] = 1;
		p[F::bth_r] = 1;
		p[F::inv_res] = 0xF;
		p[F::ts] = 1;
		p[F::ts_res] = 0x7FF;
		q.send(p);
	});
}

/* One packet of each kind that the target sends. */
std::vector<Packet> one_of_each(Bench &b)
{
	std::vector<Packet> list;
	Qp q(b);

	q.send(q.only(0, 0, Qp::pattern(short_write)));
	list.push_back(q.expect_ack(0));
	list.push_back(q.expect_cack(0));
	q.send(q.only(static_cast<int32_t>(b.options().window) + 1, 0,
		      Qp::pattern(short_write)));
	list.push_back(
		q.expect(is_op(op_nack), "a NACK of a PSN beyond the window"));

	const uint64_t id = q.post(short_write);

	list.push_back(q.expect_data(0));
	q.acknowledge(list.back());
	q.expect_done(id);
	return list;
}

void sent_udp(Bench &b)
{
	for (const Packet &p : one_of_each(b)) {
		check_field(p, F::dport, b.options().port);
		check_field(p, F::udp_sum, 0);
	}
}

void sent_ip(Bench &b)
{
	for (const Packet &p : one_of_each(b)) {
		check(p[F::ttl] > 0 && p[F::ttl] <= 64,
		      "a hop limit of 64 where the packet was sent");
		if (b.v6()) {
			check((p[F::flow] & 0xF0000) == 0,
			      "flow label[19:16] of 0, §11.2");
			continue;
		}
		check_field(p, F::ip_id, 0);
		check_field(p, F::ip_frag, 0x4000);
	}
}

void sent_bth(Bench &b)
{
	for (const Packet &p : one_of_each(b)) {
		check_field(p, F::pkey, 0xFFFF);
		check_field(p, F::tver, 0);
	}
}

void sent_reserved(Bench &b)
{
	for (const Packet &p : one_of_each(b))
		for (const FieldInfo &f : field_table())
			if (f.reserved && p.has(f.header))
				check_field(p, f.id, 0);
}

void sent_ecn(Bench &b)
{
	for (const Packet &p : one_of_each(b)) {
		const bool data = op_info(p.opcode())->data;

		check_equal(std::string("ECN of the ") +
				    std::string(op_info(p.opcode())->name),
			    p[F::tos] & 3, data ? 2 : 0);
	}
}

void sent_dscp(Bench &b)
{
	for (const Packet &p : one_of_each(b))
		if (!op_info(p.opcode())->data)
			check_equal(
				std::string("DSCP of the ") +
					std::string(op_info(p.opcode())->name),
				p[F::tos] >> 2, b.options().dscp.control);
}

void opcode_unknown(Bench &b)
{
	Qp q(b);
	Packet p = q.make(0xDF, q.rx(5));

	p.payload = Bytes(36);
	q.send(p);

	const Packet nack = q.expect_nack(5, 0x19);

	check_field(nack, F::nack_cc_type, 2);
	q.check_alive(0);
}

void opcode_unknown_beyond(Bench &b)
{
	Qp q(b);
	Packet p = q.make(0xDF,
			  q.rx(static_cast<int32_t>(b.options().window) + 50));

	p.payload = Bytes(36);
	q.send(p);
	q.fence();
	q.expect_no_reply("an undefined opcode outside of the window is "
			  "dropped");
	q.check_alive(0);
}

constexpr Case table[] = {
	{"wire.icrc.bad", "2.4", Level::must,
	 "A packet with a wrong ICRC is dropped silently and changes nothing.",
	 icrc_bad},
	{"wire.icrc.byte-order", "2.4", Level::must,
	 "The ICRC is sent with its least significant byte first.",
	 icrc_byte_order},
	{"wire.icrc.covers-payload", "2.4", Level::must,
	 "The ICRC covers the payload.", icrc_payload},
	{"wire.icrc.covers-source-port", "2.4", Level::must,
	 "The ICRC covers the UDP source port, which is a part of the entropy.",
	 icrc_source_port},
	{"wire.icrc.covers-bth-byte-8", "2.4", Level::must,
	 "The ICRC covers BTH byte 8, which has the bits a, rtx and ts.",
	 icrc_byte8},
	{"wire.icrc.masks-ip", "2.4", Level::must,
	 "Traffic class, hop limit, flow label and the IPv4 checksum may "
	 "change "
	 "on the way without a change of the ICRC.",
	 icrc_masked},
	{"wire.icrc.masks-var-res", "2.4", Level::must,
	 "BTH byte 4 may change on the way without a change of the ICRC.",
	 icrc_var_res},
	{"wire.udp.checksum-accepted", "2.2", Level::should,
	 "A packet with a right UDP checksum is taken.", udp_sum_right},
	{"wire.bth.tver", "4.1", Level::must,
	 "A packet of another transport version is dropped.", tver_dropped},
	{"wire.bth.pkey", "4.1", Level::must,
	 "A packet of another partition is dropped.", pkey_dropped},
	{"wire.bth.pkey-limited", "4.1", Level::should,
	 "A limited member of the partition is accepted, as in RC.", pkey_limited},
	{"wire.bth.unknown-qp", "10", Level::must,
	 "A packet for a queue pair that does not exist is dropped silently.",
	 unknown_qp},
	{"wire.length.headers", "3", Level::must,
	 "A packet that is shorter than the headers of its opcode is dropped.",
	 short_headers},
	{"wire.length.pad", "2.5", Level::must,
	 "A packet with more padding than payload is dropped.", pad_too_long},
	{"wire.length.multiple", "2.5", Level::must,
	 "A packet whose padded length is no multiple of four is dropped.",
	 payload_multiple},
	{"wire.reserved.ignored", "4", Level::must,
	 "Reserved bits and the m bit of the BTH are ignored on receipt.",
	 reserved_ignored},
	{"wire.reserved.zero", "4", Level::must,
	 "Reserved fields of all packets are sent as 0.", sent_reserved},
	{"wire.sent.udp", "2.2", Level::must,
	 "Packets go to the configured UDP port and have a UDP checksum of 0.",
	 sent_udp},
	{"wire.sent.ip", "2.3", Level::must,
	 "Packets have hop limit 64; IPv4 packets have DF = 1 and ID = 0.",
	 sent_ip},
	{"wire.sent.bth", "4.1", Level::must,
	 "Packets have transport version 0 and the default partition key.",
	 sent_bth},
	{"wire.sent.ecn", "2.3", Level::must,
	 "Data is ECT(0), control packets are Not-ECT.", sent_ecn},
	{"wire.sent.control-class", "15", Level::must,
	 "SACK, NACK and ACK have the codepoint of control packets.",
	 sent_dscp},
	{"wire.opcode.undefined", "3", Level::should,
	 "An undefined opcode within the PSN window is answered by NACK "
	 "UNEXP_EVENT.",
	 opcode_unknown},
	{"wire.opcode.undefined-beyond", "3", Level::must,
	 "An undefined opcode outside of the PSN window is dropped and changes "
	 "nothing.",
	 opcode_unknown_beyond},
};
} // namespace

std::span<const Case> wire_cases()
{
	return table;
}
} // namespace mrcconform

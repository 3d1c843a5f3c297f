// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A queue pair of the target, and the tester as its peer. */
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench.hpp"

namespace mrcconform
{
namespace
{
using nlohmann::json;

std::string shown(const Completion &c)
{
	return fmt::format("completion of {} {}: {}",
			   c.recv ? "receive" : "work request", c.id, c.status);
}
} // namespace

bool Responder::has(uint32_t psn) const
{
	return psn_diff(psn, cack_) <= 0 || above_.contains(psn);
}

bool Responder::take(const Packet &p)
{
	const auto psn = static_cast<uint32_t>(p[F::psn]);

	if (has(psn))
		return false;
	above_[psn] = true;
	nominal_ += udp_length(p) + 40;
	while (above_.erase(psn_add(cack_, 1)))
		cack_ = psn_add(cack_, 1);
	return true;
}

Packet Responder::sack(const Packet &trigger, bool v6,
		       std::optional<uint32_t> base) const
{
	const uint32_t from = base.value_or(psn_add(cack_, 1));
	Packet s(op_sack);

	s[F::psn] = s[F::cack_psn] = cack_;
	s[F::rtx] = trigger[F::rtx];
	s[F::sack_entropy] = entropy_of(trigger, v6);
	s[F::sack_offset] = static_cast<uint16_t>(psn_diff(from, cack_));
	if (trigger.opcode() == op_probe) {
		s[F::pr] = 1;
		s[F::ack_psn_offset] = trigger[F::probe_id];
		s[F::sack_timestamp] = trigger[F::peth_timestamp];
	} else {
		s[F::ack_psn_offset] = static_cast<uint16_t>(psn_diff(
			static_cast<uint32_t>(trigger[F::psn]), cack_));
		s[F::sack_timestamp] = trigger[F::tx_timestamp];
	}
	for (int32_t i = 0; i < 64; i++)
		if (has(psn_add(from, i)))
			s[F::sack_bitmap] |= uint64_t{1} << i;
	s[F::ooo_count] = above_.size();
	s[F::rcvd_bytes] = (nominal_ + 255) >> 8 & 0xFFFFFF;
	return s;
}

Qp::Qp(Bench &bench, req::MakeQp r)
	: bench_(bench), r_(r), responder_(r_.sq_psn)
{
	r_.local = bench.wire().remote();
	r_.peer = bench.wire().local();
	r_.peer_qpn = bench.next_qpn();
	if (!r_.mtu)
		r_.mtu = bench.options().mtu;

	const json j = bench.ask(r_);

	try {
		handle_ = j.at("qp");
		qpn_ = j.at("qpn");
		va_ = j.at("va");
		rkey_ = j.at("rkey");
	} catch (const json::exception &e) {
		throw FormatError(std::string("the target's answer: ") +
				  e.what());
	}
	bench.remember_qp(handle_);
}

/* PSNs wrap in every case. */
Qp::Qp(Bench &bench)
	: Qp(bench, [&] {
		  req::MakeQp r;

		  r.rq_psn = 0xFFFFFE;
		  r.sq_psn = 0xFFFFFD;
		  r.mtu = bench.options().mtu;
		  return r;
	  }())
{
}

Packet Qp::make(uint8_t opcode, uint32_t psn) const
{
	const OpInfo *info = op_info(opcode);
	const bool control = info && !info->data && opcode != op_probe;
	Packet p(opcode);

	p[F::sport] = default_sport;
	p[F::flow] = bench_.v6() ? default_flow : 0;
	p[F::dport] = bench_.options().port;
	p[F::tos] = control ? bench_.options().dscp.control << 2
			    : bench_.options().dscp.data << 2 | ect0;
	p[F::dqp] = qpn_;
	p[F::psn] = psn & psn_mask;
	return p;
}

Packet Qp::write(uint8_t opcode, int32_t n, uint64_t offset, const Bytes &data,
		 uint32_t total) const
{
	Packet p = make(opcode, rx(n));

	p[F::msn] = static_cast<uint16_t>(n);
	p[F::va] = va_ + offset;
	p[F::rkey] = rkey_;
	p[F::dmalen] = total ? total : data.size();
	p[F::pad] = (4 - data.size() % 4) % 4;
	p.payload = data;
	return p;
}

Packet Qp::only(int32_t n, uint64_t offset, const Bytes &data) const
{
	Packet p = write(op_write_only, n, offset, data);

	p[F::a] = 1;
	return p;
}

Packet Qp::only_imm(int32_t n, uint32_t imm, uint16_t rqmsn) const
{
	Packet p = make(op_write_only_imm, rx(n));

	p[F::msn] = static_cast<uint16_t>(n);
	p[F::imm] = imm;
	p[F::rqmsn] = rqmsn;
	p[F::a] = 1;
	return p;
}

Packet Qp::probe(uint16_t id) const
{
	Packet p = make(op_probe);

	p[F::probe_id] = id;
	p[F::peth_spdcid] = r_.peer_qpn & 0xFFFF;
	p[F::peth_dpdcid] = qpn_ & 0xFFFF;
	return p;
}

void Qp::send_spoiled(const Packet &p,
		      const std::function<void(Bytes &)> &spoil)
{
	Bytes b = encode(bench_.wire().local(), bench_.wire().remote(), p);

	spoil(b);
	bench_.send(b, to_text(p) + " (changed after the ICRC)");
}

void Qp::send_changed(const Packet &p,
		      const std::function<void(Bytes &)> &change)
{
	Bytes b = encode(bench_.wire().local(), bench_.wire().remote(), p);

	change(b);
	seal(b);
	bench_.send(b, to_text(p) + " (changed before the ICRC)");
}

bool Qp::mine(const Packet &p) const
{
	return p[F::dqp] == r_.peer_qpn;
}

Packet Qp::expect(const Match &match, const std::string &what)
{
	return bench_.expect(
		[&](const Packet &p) { return mine(p) && match(p); }, what);
}

Packet Qp::expect_sack(const std::string &what, const Match &match)
{
	return expect(
		[&](const Packet &p) {
			return p.opcode() == op_sack && !p[F::pr] &&
			       (!match || match(p));
		},
		what);
}

Packet Qp::expect_cack(int32_t n)
{
	return expect_sack(
		fmt::format("a SACK with cack_psn {:#x}", rx(n)),
		[&](const Packet &p) { return p[F::cack_psn] == rx(n); });
}

Packet Qp::expect_ack(int32_t n)
{
	return expect(
		[&](const Packet &p) {
			return p.opcode() == op_ack && p[F::psn] == rx(n) &&
			       p[F::syndrome] == 0x1F;
		},
		fmt::format("a transport ACK of PSN {:#x}", rx(n)));
}

Packet Qp::expect_nak(int32_t n, uint8_t syndrome)
{
	Packet p = expect(
		[](const Packet &r) {
			return r.opcode() == op_ack && r[F::syndrome] != 0x1F;
		},
		fmt::format("a NAK with syndrome {:#x} of PSN {:#x}", syndrome,
			    rx(n)));

	check_field(p, F::syndrome, syndrome);
	check_field(p, F::psn, rx(n));
	return p;
}

Packet Qp::expect_nack(int32_t n, uint8_t reason)
{
	Packet p =
		expect(is_op(op_nack),
		       fmt::format("a NACK with reason {:#x} of PSN {:#x}",
				   reason, rx(n)));

	check_field(p, F::nack_reason, reason);
	check_field(p, F::nack_psn, rx(n));
	return p;
}

void Qp::fence()
{
	for (int i = 0; i < 2; i++) {
		const uint16_t id = bench_.next_id();

		send(probe(id));
		expect(
			[id](const Packet &p) {
				return p.opcode() == op_sack && p[F::pr] &&
				       p[F::ack_psn_offset] == id;
			},
			fmt::format("an answer to probe {:#x}", id));
	}
}

void Qp::expect_none(const Match &match, const std::string &what)
{
	bench_.expect_none([&](const Packet &p) { return mine(p) && match(p); },
			   what);
}

void Qp::expect_no_reply(const std::string &what)
{
	expect_none([](const Packet &p) { return !p[F::pr]; }, what);
}

void Qp::check_alive(int32_t n)
{
	const Bytes data = pattern(16, static_cast<uint8_t>(0x80 + n));

	send(only(n, 64, data));
	expect_ack(n);
	check_memory(64, data);
}

Bytes Qp::pattern(size_t length, uint8_t seed)
{
	Bytes b(length);

	for (size_t i = 0; i < length; i++)
		b[i] = static_cast<uint8_t>((seed + i * 7) % 255 + 1);
	return b;
}

Bytes Qp::read(uint64_t offset, uint64_t length)
{
	const json j = bench_.ask(req::Read{handle_, offset, length});

	return from_hex(j.value("data", std::string()));
}

void Qp::fill(uint64_t offset, const Bytes &data)
{
	bench_.ask(req::Write{handle_, offset, data});
}

void Qp::check_memory(uint64_t offset, const Bytes &want)
{
	const Bytes got = read(offset, want.size());
	const auto at = std::ranges::mismatch(got, want).in1 - got.begin();

	if (got == want)
		return;
	throw Failed(fmt::format("byte {:#04x} at offset {} of the target's "
				 "memory; it is {:#04x}",
				 want.at(static_cast<size_t>(at)),
				 offset + static_cast<uint64_t>(at),
				 got.at(static_cast<size_t>(at))));
}

uint64_t Qp::post(uint32_t length, std::optional<uint32_t> imm, uint64_t offset,
		  bool solicited)
{
	req::Post r;

	r.qp = handle_;
	r.id = ++next_id_;
	r.offset = offset;
	r.length = length;
	/* The tester has no memory; nobody looks at these. */
	r.va = 0x100000 + offset;
	r.rkey = 0x1234;
	r.imm = imm.has_value();
	r.imm_data = imm.value_or(0);
	r.solicited = solicited;
	bench_.ask(r);
	return r.id;
}

Packet Qp::expect_data(int32_t n, std::optional<bool> rtx)
{
	Packet p = expect(
		[&](const Packet &d) {
			return is_data(d) && d[F::psn] == tx(n) &&
			       (!rtx || d[F::rtx] == *rtx);
		},
		fmt::format("a data packet with PSN {:#x}{}", tx(n),
			    !rtx   ? ""
			    : *rtx ? ", sent again"
				   : ", for the first time"));

	responder_.take(p);
	return p;
}

Packet Qp::expect_copy(int32_t n,
		       const std::function<void(const Packet &)> &answer)
{
	const std::string what =
		fmt::format("a data packet with PSN {:#x}, sent again", tx(n));
	const int patience = bench_.options().patience;
	const auto end = Clock::now() + std::chrono::seconds(patience);

	for (;;) {
		Packet p = expect(
			[&](const Packet &d) {
				return d.opcode() == op_probe ||
				       (is_data(d) && d[F::psn] == tx(n) &&
					d[F::rtx]);
			},
			what);

		if (p.opcode() != op_probe) {
			responder_.take(p);
			return p;
		}
		if (Clock::now() >= end)
			throw Failed(
				fmt::format("{} within {} s", what, patience));
		if (answer)
			answer(p);
		else
			send_sack(p);
	}
}

std::vector<Packet> Qp::collect(int32_t n)
{
	std::vector<Packet> list;

	while (psn_diff(responder_.cack(), tx(n - 1)) < 0) {
		Packet p = expect(
			is_data,
			fmt::format("data packets up to PSN {:#x}", tx(n - 1)));

		if (!responder_.take(p))
			continue;
		/* Feedback keeps the window open. */
		if (p[F::a])
			send_sack(p);
		list.push_back(std::move(p));
	}
	std::ranges::sort(list, [&](const Packet &a, const Packet &b) {
		return psn_diff(static_cast<uint32_t>(a[F::psn]), sq_psn()) <
		       psn_diff(static_cast<uint32_t>(b[F::psn]), sq_psn());
	});
	return list;
}

Packet Qp::sack(const Packet &trigger, std::optional<uint32_t> base) const
{
	Packet s = responder_.sack(trigger, bench_.v6(), base);
	const Packet head = make(op_sack);

	for (const F f : {F::sport, F::flow, F::dport, F::tos, F::dqp})
		s[f] = head[f];
	s[F::sack_spdcid] = r_.peer_qpn & 0xFFFF;
	s[F::sack_dpdcid] = qpn_ & 0xFFFF;
	return s;
}

void Qp::send_sack(const Packet &trigger, std::optional<uint32_t> base)
{
	send(sack(trigger, base));
}

void Qp::send_ack(int32_t n, uint8_t syndrome)
{
	Packet p = make(op_ack, tx(n));

	p[F::syndrome] = syndrome;
	send(p);
}

void Qp::send_nack(const Packet &refused, uint8_t reason)
{
	Packet p = make(op_nack, static_cast<uint32_t>(refused[F::psn]));

	p[F::nack_psn] = refused[F::psn];
	p[F::nack_reason] = reason;
	p[F::nack_entropy] = entropy_of(refused, bench_.v6());
	p[F::nack_timestamp] = refused[F::tx_timestamp];
	p[F::nack_spdcid] = r_.peer_qpn & 0xFFFF;
	p[F::nack_dpdcid] = qpn_ & 0xFFFF;
	send(p);
}

void Qp::acknowledge(const Packet &newest)
{
	send_sack(newest);
	send_ack(psn_diff(responder_.cack(), sq_psn()));
}

void Qp::recv(uint32_t count)
{
	bench_.ask(req::Recv{handle_, count});
}

Completion Qp::completion()
{
	bench_.until(
		[&] {
			const json j = bench_.ask(req::Poll{handle_, 1, 0});

			for (const json &c : j.at("completions")) {
				Completion done;

				done.id = c.at("id");
				done.status = c.at("status");
				done.recv = c.at("recv");
				done.length = c.value("length", 0u);
				if (c.contains("imm"))
					done.imm = c["imm"].get<uint32_t>();
				completions_.push_back(done);
			}
			return !completions_.empty();
		},
		"a completion");

	Completion c = completions_.front();

	completions_.pop_front();
	return c;
}

void Qp::expect_done(uint64_t id, const std::string &status)
{
	const Completion c = completion();

	if (c.recv || c.id != id || c.status != status)
		throw Failed(fmt::format(
			"completion of work request {}: {}; there is a {}", id,
			status, shown(c)));
}

void Qp::expect_no_completion(const std::string &why)
{
	const json j = bench_.ask(req::Poll{handle_, 1, 0});

	if (!completions_.empty() || !j.at("completions").empty())
		throw Failed("no completion: " + why);
}

State Qp::state()
{
	return state_named(
		bench_.ask(req::Query{handle_}).value("state", std::string()));
}

void Qp::expect_state(State s)
{
	bench_.until([&] { return state() == s; },
		     fmt::format("state {} of the target's queue pair",
				 state_name(s)));
}

void Qp::modify(State s)
{
	bench_.ask(req::Modify{handle_, s});
}

void Qp::deregister()
{
	bench_.ask(req::Deregister{handle_});
}

std::vector<std::string> Qp::events()
{
	return bench_.ask(req::Events{handle_, 0})
		.at("events")
		.get<std::vector<std::string>>();
}
} // namespace mrcconform

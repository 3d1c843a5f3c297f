// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "bench.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mrcconform
{
namespace
{
using nlohmann::json;

constexpr uint32_t endpoint_qpn = 2;
constexpr size_t longest_trace = 400;

/* What a line of the trace says after the packet. */
std::string way(uint32_t plane, const std::optional<Outer> &o)
{
	std::string text;

	if (plane > 1)
		text += fmt::format(" by netdev {}", plane);
	if (o)
		text += fmt::format(
			" in outer nh={} tos={:#x} flow={:#x} ttl={}", o->next,
			o->tos, o->flow, o->ttl);
	return text;
}

} // namespace

Match is_op(uint8_t opcode)
{
	return [opcode](const Packet &p) { return p.opcode() == opcode; };
}

void check(bool holds, const std::string &what)
{
	if (!holds)
		throw Failed(what);
}

void check_equal(const std::string &what, uint64_t value, uint64_t want)
{
	if (value != want)
		throw Failed(fmt::format("{} is {:#x}, expected {:#x}", what,
					 value, want));
}

void check_field(const Packet &p, F f, uint64_t want)
{
	const OpInfo *info = op_info(p.opcode());

	check_equal(fmt::format("{} of the {}", field_info(f).name,
				info ? info->name : "packet"),
		    p[f], want);
}

Bench::Bench(Link &control, const Address &remote, const RunOptions &options,
	     Pcap &pcap)
	: control_(control), options_(options),
	  wire_(options.source && options.source->v6() == remote.v6()
			? *options.source
			: source_for(remote),
		remote, options.port, options.planes, pcap)
{
}

void Bench::begin()
{
	inbox_.clear();
	trace_.clear();
	cut_ = 0;
	lost_.clear();
	began_ = Clock::now();
}

void Bench::end()
{
	for (const uint32_t h : std::exchange(handles_, {}))
		ask(req::Destroy{h});
}

void Bench::note(char what, std::string text)
{
	const std::chrono::duration<double> at = Clock::now() - began_;

	/* Of a long case the beginning explains less than the end. */
	if (trace_.size() >= longest_trace)
		trace_.erase(trace_.begin(),
			     trace_.begin() + longest_trace / 2);
	trace_.push_back({what, at.count(), std::move(text)});
}

json Bench::ask(const Request &r)
{
	const std::string line = format_request(r);

	control_.send(line);

	const auto answer = control_.receive(options_.patience + 15);

	if (!answer)
		throw RunError("the target closed the connection");

	json j = json::parse(*answer, nullptr, false);

	if (!j.is_object() || !j.value("ok", json()).is_boolean())
		throw FormatError("the target's answer is no JSON object with "
				  "'ok'");
	if (!j["ok"].get<bool>())
		throw RunError(fmt::format(
			"the target cannot do {}: {}", line,
			j.value("error", std::string("no reason given"))));
	return j;
}

void Bench::send(const Bytes &packet, const std::string &about, const How &how)
{
	note('>', about + way(how.plane, how.outer));
	wire_.send(packet, how);
}

void Bench::send(const Packet &p, const How &how)
{
	send(encode(wire_.local(), wire_.remote(), p), to_text(p), how);
}

void Bench::send_trimmed(const Packet &p, size_t length, const How &how)
{
	Bytes x = encode(wire_.local(), wire_.remote(), p);

	x.resize(ip_header(v6()) + udp_header + length);
	fix_lengths(x);
	send(x, to_text(p) + " (trimmed)", how);
}

void Bench::need_trimming() const
{
	if (!options_.trimming)
		throw Skipped("the target does not answer trimmed packets");
}

void Bench::need_srv6() const
{
	if (options_.planes.sids.empty())
		throw Skipped("the run has no SRv6 (--srv6)");
}

void Bench::need_planes() const
{
	if (options_.planes.netdevs.size() < 2)
		throw Skipped("the run has one plane (--interface)");
}

Clock::time_point Bench::deadline() const
{
	return Clock::now() + std::chrono::seconds(options_.patience);
}

/*
 * The target tests reverse paths by endpoint requests at any time, §11.8, and
 * would judge paths bad that are not answered.
 */
void Bench::answer_endpoint(const Datagram &d)
{
	Packet r(op_endpoint_response);

	r[F::sport] = default_sport;
	r[F::dport] = options_.port;
	r[F::tos] = options_.dscp.control << 2;
	r[F::dqp] = endpoint_qpn;
	r[F::psn] = d.packet[F::psn];
	r[F::eeth_op] = d.packet[F::erth_op];
	r[F::eeth_timestamp] = d.packet[F::erth_timestamp];
	wire_.send(encode(wire_.local(), wire_.remote(), r),
		   {.plane = std::max(d.packet.plane, 1u)});
}

bool Bench::receive(Clock::time_point end)
{
	Bytes raw;
	const auto d = wire_.next(end, raw);

	if (!d)
		return false;
	if (cut_ && d->packet.plane == cut_) {
		lost_.push_back(d->packet);
		return true;
	}
	if (d->fault.empty() && d->packet.opcode() == op_endpoint_request) {
		answer_endpoint(*d);
		return true;
	}
	note('<', to_text(d->packet) + way(d->packet.plane, d->packet.outer) +
			  (d->fault.empty() ? "" : " (" + d->fault + ")"));
	/* No case expects such a packet, so each one may judge it. */
	if (!d->fault.empty())
		throw Failed(fmt::format(
			"packets of MRC 1.0 from the target; this one is {}",
			d->fault));
	if (!d->packet.icrc_ok)
		throw Failed("packets with a right ICRC from the target");
	inbox_.push_back(d->packet);
	return true;
}

Packet Bench::expect(const Match &match, const std::string &what)
{
	const auto end = deadline();
	size_t looked = 0;

	for (;;) {
		for (; looked < inbox_.size(); looked++) {
			if (!match(inbox_[looked]))
				continue;

			Packet p = std::move(inbox_[looked]);

			inbox_.erase(inbox_.begin() +
				     static_cast<long>(looked));
			return p;
		}
		if (!receive(end))
			throw Failed(fmt::format("{} within {} s", what,
						 options_.patience));
	}
}

std::vector<Packet> Bench::take(const Match &match)
{
	std::vector<Packet> list;

	while (receive(Clock::now()))
		;
	std::erase_if(inbox_, [&](const Packet &p) {
		if (!match(p))
			return false;
		list.push_back(p);
		return true;
	});
	return list;
}

void Bench::expect_none(const Match &match, const std::string &what)
{
	const auto list = take(match);

	if (!list.empty())
		throw Failed(fmt::format("{}; but there came: {}", what,
					 to_text(list.front())));
}

void Bench::until(const std::function<bool()> &done, const std::string &what)
{
	const auto end = deadline();

	while (!done()) {
		if (Clock::now() >= end)
			throw Failed(fmt::format("{} within {} s", what,
						 options_.patience));
		receive(std::min(end,
				 Clock::now() + std::chrono::milliseconds(2)));
	}
}

/* Twice, because feedback may wait for the end of a burst. */
void Bench::fence()
{
	for (int i = 0; i < 2; i++) {
		const uint16_t id = next_id();

		send(endpoint_request(*this, 1, id));
		endpoint_response(*this, id);
	}
}

Packet endpoint_request(const Bench &b, uint64_t op, uint16_t id)
{
	Packet p(op_endpoint_request);

	p[F::sport] = default_sport;
	p[F::flow] = b.v6() ? default_flow : 0;
	p[F::dport] = b.options().port;
	p[F::tos] = b.options().dscp.data << 2 | ect0;
	p[F::dqp] = endpoint_qpn;
	p[F::psn] = id;
	p[F::erth_op] = op;
	return p;
}

Packet endpoint_response(Bench &b, uint16_t id)
{
	return b.expect(
		[id](const Packet &p) {
			return p.opcode() == op_endpoint_response &&
			       p[F::psn] == id;
		},
		fmt::format("an endpoint response with id {:#x}", id));
}
} // namespace mrcconform

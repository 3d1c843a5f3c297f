// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "watch.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "text.hpp"
#include "words.hpp"

namespace mrcctl
{
namespace
{
uint64_t counter(const Port &p, std::string_view name)
{
	for (const Counter &c : p.counters)
		if (c.name == name)
			return c.value;
	return 0;
}

double rate(uint64_t before, uint64_t after, uint64_t ns)
{
	if (!ns || after < before)
		return 0;
	return static_cast<double>(after - before) * 1e9 /
	       static_cast<double>(ns);
}

/* 1234567 as 1.2M */
std::string short_number(double v)
{
	static constexpr char unit[] = " kMGTPE";
	std::size_t i = 0;

	while (v >= 999.5 && i + 2 < sizeof(unit)) {
		v /= 1000;
		i++;
	}
	if (!i)
		return fmt::format("{:.0f}", v);
	return fmt::format("{:.{}f}{}", v, v < 9.95 ? 1 : 0, unit[i]);
}

struct EvCount {
	unsigned good = 0, all = 0;
};

EvCount count_evs(const Qp &q)
{
	EvCount n;

	for (const QpEv &e : q.evs) {
		n.all++;
		n.good += e.state == 0;
	}
	return n;
}

uint64_t bytes_of(const Qp &q)
{
	uint64_t sum = 0;

	for (const QpPort &p : q.ports)
		sum += p.tx_bytes;
	return sum;
}

double rounded(double v)
{
	return std::round(v * 10) / 10;
}
} // namespace

std::vector<StateChange> changes(const States &before, const States &after)
{
	std::vector<StateChange> out;

	for (const auto &[what, to] : after.of) {
		const auto it = before.of.find(what);

		if (it == before.of.end())
			out.push_back({what, "", to});
		else if (it->second != to)
			out.push_back({what, it->second, to});
	}
	for (const auto &[what, from] : before.of)
		if (!after.of.contains(what))
			out.push_back({what, from, ""});
	return out;
}

std::string text_of(const StateChange &c)
{
	if (c.from.empty())
		return fmt::format("{} new, {}", c.what, c.to);
	if (c.to.empty())
		return fmt::format("{} gone, was {}", c.what, c.from);
	return fmt::format("{} {} -> {}", c.what, c.from, c.to);
}

Json json_of(const StateChange &c)
{
	const auto or_null = [](const std::string &s) {
		return s.empty() ? Json(nullptr) : Json(s);
	};

	return {{"event", "state"},
		{"what", c.what},
		{"from", or_null(c.from)},
		{"to", or_null(c.to)}};
}

std::string timestamp(uint64_t wall_us)
{
	const auto seconds = static_cast<std::time_t>(wall_us / 1000000);

	return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(seconds),
			   wall_us % 1000000);
}

Frame frame(const Sample &before, const Sample &after, uint64_t wall_us)
{
	const uint64_t ns = after.mono_ns - before.mono_ns;
	Frame f;

	f.wall_us = wall_us;
	for (const Port &p : after.ports) {
		const auto old = std::find_if(
			before.ports.begin(), before.ports.end(),
			[&](const Port &o) { return o.num == p.num; });
		PortRate r{.port = p};
		const auto per_second = [&](std::string_view name) {
			return old == before.ports.end()
				       ? 0
				       : rate(counter(*old, name),
					      counter(p, name), ns);
		};

		r.tx_bytes = per_second("tx_data_bytes");
		r.rx_bytes = per_second("rx_data_bytes");
		r.tx_pkts = per_second("tx_data_pkts");
		r.rtx_pkts = per_second("tx_rtx_pkts");
		f.ports.push_back(r);
	}
	std::unordered_map<uint32_t, const Qp *> old_qps;

	for (const Qp &q : before.qps)
		old_qps.emplace(q.name.qpn, &q);
	for (const Qp &q : after.qps) {
		const auto found = old_qps.find(q.name.qpn);
		QpRate r{.qp = q};

		if (found != old_qps.end()) {
			const Qp &old = *found->second;

			r.tx_bytes = rate(bytes_of(old), bytes_of(q), ns);
			r.tx_pkts = rate(old.tx_pkts, q.tx_pkts, ns);
			r.rtx_pkts = rate(old.rtx_pkts, q.rtx_pkts, ns);
		}
		f.qps.push_back(r);
	}
	std::stable_sort(f.qps.begin(), f.qps.end(),
			 [](const QpRate &a, const QpRate &b) {
				 return a.tx_pkts > b.tx_pkts;
			 });
	return f;
}

std::string text_of(const Frame &f, std::size_t rows)
{
	std::string s = timestamp(f.wall_us) + "\n\n";
	std::size_t used = 5 + f.ports.size();

	s += fmt::format("{:>4} {:<10} {:<8} {:<12} {:>8} {:>8} {:>8} {:>8}\n",
			 "PORT", "STATE", "ADMIN", "NETDEV", "TX B/s", "RX B/s",
			 "PKT/s", "RTX/s");
	for (const PortRate &p : f.ports)
		s += fmt::format(
			"{:>4} {:<10} {:<8} {:<12} {:>8} {:>8} {:>8} {:>8}\n",
			p.port.num, p.port.state,
			!p.port.enabled	  ? "?"
			: *p.port.enabled ? "enabled"
					  : "disabled",
			p.port.netdev.empty() ? "none" : p.port.netdev,
			short_number(p.tx_bytes), short_number(p.rx_bytes),
			short_number(p.tx_pkts), short_number(p.rtx_pkts));
	s += fmt::format("\n{:>8} {:>8} {:<15} {:<5} {:>8} {:>8} {:>9} {:>8} "
			 "{:>8} {:>8} {:>9}\n",
			 "QP", "PID", "PROGRAM", "STATE", "CWND", "INFLIGHT",
			 "SRTT", "TX B/s", "PKT/s", "RTX/s", "EVS GOOD");
	for (const QpRate &r : f.qps) {
		const EvCount evs = count_evs(r.qp);

		if (rows && ++used >= rows)
			break;
		s += fmt::format(
			"{:>8} {:>8} {:<15.15} {:<5} {:>8} {:>8} {:>9} {:>8} "
			"{:>8} {:>8} {:>9}\n",
			r.qp.name.qpn,
			r.qp.name.pid ? std::to_string(r.qp.name.pid) : "-",
			r.qp.name.program, r.qp.name.state,
			short_number(static_cast<double>(r.qp.cwnd)),
			short_number(static_cast<double>(r.qp.inflight)),
			show_time(r.qp.srtt_ns), short_number(r.tx_bytes),
			short_number(r.tx_pkts), short_number(r.rtx_pkts),
			fmt::format("{}/{}", evs.good, evs.all));
	}
	return s;
}

Json rates_json(const PortRate &p)
{
	return {{"tx_bytes_per_s", rounded(p.tx_bytes)},
		{"rx_bytes_per_s", rounded(p.rx_bytes)},
		{"tx_pkts_per_s", rounded(p.tx_pkts)},
		{"rtx_pkts_per_s", rounded(p.rtx_pkts)}};
}

Json rates_json(const QpRate &q)
{
	return {{"tx_bytes_per_s", rounded(q.tx_bytes)},
		{"tx_pkts_per_s", rounded(q.tx_pkts)},
		{"rtx_pkts_per_s", rounded(q.rtx_pkts)}};
}

Json json_of(const Frame &f)
{
	Json ports = Json::array(), qps = Json::array();

	for (const PortRate &p : f.ports) {
		Json j = {{"port", p.port.num}, {"state", p.port.state}};

		j.update(rates_json(p));
		ports.push_back(j);
	}
	for (const QpRate &r : f.qps) {
		const EvCount evs = count_evs(r.qp);

		Json j = {{"qpn", r.qp.name.qpn},
			  {"pid", r.qp.name.pid},
			  {"program", r.qp.name.program},
			  {"state", r.qp.name.state},
			  {"cwnd", r.qp.cwnd},
			  {"inflight", r.qp.inflight},
			  {"srtt_ns", r.qp.srtt_ns}};

		j.update(rates_json(r));
		j["evs_good"] = evs.good;
		j["evs"] = evs.all;
		qps.push_back(j);
	}
	return {{"time", timestamp(f.wall_us)}, {"ports", ports}, {"qps", qps}};
}
} // namespace mrcctl

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "metrics.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "names.hpp"
#include "words.hpp"

namespace mrcctl
{
namespace
{
using Labels = std::vector<std::pair<const char *, std::string>>;

/* One family: its samples follow its HELP and TYPE. */
class Family
{
public:
	Family(std::string &out, const std::string &name, const char *type,
	       const std::string &help)
		: out_(out), name_("mrc_" + name)
	{
		out_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name_,
				    help, type);
	}

	template <typename T> void add(const Labels &labels, T value)
	{
		std::string s;

		for (const auto &[key, text] : labels)
			s += fmt::format("{}{}=\"{}\"", s.empty() ? "" : ",",
					 key, label_value(text));
		out_ += fmt::format("{}{{{}}} {}\n", name_, s, value);
	}

private:
	std::string &out_;
	const std::string name_;
};

/* The smallest, the mean and the largest of figures. */
struct Spread {
	double min = 0, mean = 0, max = 0;
};

std::optional<Spread> spread_of(const std::vector<double> &values)
{
	double sum = 0;

	if (values.empty())
		return {};
	for (const double v : values)
		sum += v;
	return Spread{*std::min_element(values.begin(), values.end()),
		      sum / static_cast<double>(values.size()),
		      *std::max_element(values.begin(), values.end())};
}

/* Sums of what the present queue pairs have sent through each port. */
struct PortSums {
	double bytes = 0, packets = 0;
};

std::map<uint32_t, PortSums> port_sums(const std::vector<Qp> &qps)
{
	std::map<uint32_t, PortSums> out;

	for (const Qp &q : qps)
		for (std::size_t i = 0; i < q.ports.size(); i++) {
			PortSums &s = out[static_cast<uint32_t>(i + 1)];

			s.bytes += static_cast<double>(q.ports[i].tx_bytes);
			s.packets += static_cast<double>(q.ports[i].tx_pkts);
		}
	return out;
}

/* Queue pairs that can send, and have measured a round trip. */
bool is_measured(const Qp &q)
{
	return q.srtt_ns != 0;
}

double seconds_of(uint64_t ns)
{
	return static_cast<double>(ns) / 1e9;
}

class Exposition
{
public:
	explicit Exposition(const std::vector<MetricsOfDevice> &devices)
		: devices_(devices)
	{
	}

	std::string take()
	{
		collectors();
		device_info();
		ports();
		counters();
		qp_states();
		qp_evs();
		qp_spreads();
		qp_shares();
		profiles();
		return std::move(out_);
	}

private:
	Family family(const std::string &name, const char *type,
		      const std::string &help)
	{
		return {out_, name, type, help};
	}

	/* Without this, a missing right and a quiet device look alike. */
	void collectors()
	{
		Family f =
			family("collector_success", "gauge",
			       "1 if this part of the device could be read.");

		for (const MetricsOfDevice &d : devices_) {
			const auto add = [&](const char *part, bool good) {
				f.add({{"device", d.name}, {"collector", part}},
				      good ? 1 : 0);
			};

			add("device", d.device.has_value());
			add("ports", d.ports.has_value());
			add("qp_names", d.qp_names.has_value());
			add("qps", d.qps.has_value());
			add("ev_profiles", d.ev_profiles.has_value());
		}
	}

	void device_info()
	{
		Family info = family("device_info", "gauge",
				     "Always 1; the labels have attributes of "
				     "the device.");

		for (const MetricsOfDevice &d : devices_)
			if (d.device)
				info.add({{"device", d.name},
					  {"extension",
					   !d.device->extension	  ? "unknown"
					   : *d.device->extension ? "on"
								  : "off"},
					  {"cc", d.device->qp ? d.device->qp->cc
							      : "unknown"}},
					 1);
		Family used =
			family("device_evs_free", "gauge",
			       "EVs that profiles of the device may still "
			       "have.");

		for (const MetricsOfDevice &d : devices_)
			if (d.device)
				used.add({{"device", d.name}},
					 d.device->free_evs);
	}

	void ports()
	{
		Family up = family("port_up", "gauge",
				   "1 if the port (plane) is ACTIVE.");

		for_ports([&](const Labels &labels, const Port &p) {
			Labels all = labels;

			all.emplace_back("netdev", p.netdev);
			up.add(all, p.state == "ACTIVE" ? 1 : 0);
		});
		Family enabled = family("port_enabled", "gauge",
					"0 if a controller has disabled the "
					"port.");

		for_ports([&](const Labels &labels, const Port &p) {
			if (p.enabled)
				enabled.add(labels, *p.enabled ? 1 : 0);
		});
	}

	/* Each counter of the kernel is a family, under its own name. */
	void counters()
	{
		std::set<std::string> names;

		for_ports([&](const Labels &, const Port &p) {
			for (const Counter &c : p.counters)
				if (is_name(c.name))
					names.insert(c.name);
		});
		for (const std::string &name : names) {
			Family f = family("port_" + name + "_total", "counter",
					  "Counter " + name +
						  " of the port, see "
						  "Documentation/counters.md.");

			for_ports([&](const Labels &labels, const Port &p) {
				for (const Counter &c : p.counters)
					if (c.name == name)
						f.add(labels, c.value);
			});
		}
	}

	static bool is_name(const std::string &s)
	{
		return !s.empty() &&
		       std::all_of(s.begin(), s.end(), [](char c) {
			       return (c >= 'a' && c <= 'z') ||
				      (c >= '0' && c <= '9') || c == '_';
		       });
	}

	void qp_states()
	{
		static constexpr std::array<const char *, 7> states{
			"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
		Family f = family("qps", "gauge",
				  "Connected (RC) queue pairs by state.");

		for (const MetricsOfDevice &d : devices_)
			for (const char *state : states)
				if (d.qp_names)
					f.add({{"device", d.name},
					       {"state", state}},
					      std::count_if(
						      d.qp_names->begin(),
						      d.qp_names->end(),
						      [&](const QpName &q) {
							      return q.state ==
								     state;
						      }));
	}

	void qp_evs()
	{
		Family f = family("qp_evs", "gauge",
				  "EVs of all queue pairs by port and state.");

		for (const MetricsOfDevice &d : devices_) {
			std::map<std::pair<uint32_t, uint32_t>, uint64_t> n;

			if (!d.qps)
				continue;
			/* All states of all ports, so that series go on. */
			for (const Port &p : d.ports.value_or(no_ports_))
				for (uint32_t state = 0; state < 4; state++)
					n[{p.num, state}] = 0;
			for (const Qp &q : *d.qps)
				for (const QpEv &e : q.evs)
					n[{e.port, e.state}]++;
			for (const auto &[key, count] : n)
				f.add({{"device", d.name},
				       {"port", std::to_string(key.first)},
				       {"state", qp_ev_state(key.second)}},
				      count);
		}
	}

	/* Three families, since the sum of such figures means nothing. */
	void spreads(const std::string &name, const std::string &unit,
		     const std::string &help,
		     const std::function<double(const Qp &)> &value)
	{
		static constexpr std::array<
			std::pair<const char *, double Spread::*>, 3>
			parts{{{"min", &Spread::min},
			       {"mean", &Spread::mean},
			       {"max", &Spread::max}}};

		for (const auto &[part, member] : parts) {
			Family f = family(
				fmt::format("{}_{}_{}", name, part, unit),
				"gauge", fmt::format("{} ({}).", help, part));

			for (const MetricsOfDevice &d : devices_) {
				std::vector<double> values;

				for (const Qp &q : d.qps.value_or(no_qps_))
					if (is_measured(q))
						values.push_back(value(q));
				if (const auto s = spread_of(values))
					f.add({{"device", d.name}},
					      (*s).*member);
			}
		}
	}

	void qp_spreads()
	{
		spreads("qp_cwnd", "bytes",
			"Congestion window of queue pairs that have sent",
			[](const Qp &q) {
				return static_cast<double>(q.cwnd);
			});
		spreads("qp_inflight", "bytes",
			"Bytes in flight of queue pairs that have sent",
			[](const Qp &q) {
				return static_cast<double>(q.inflight);
			});
		spreads("qp_srtt", "seconds",
			"Smoothed round-trip time of queue pairs that have "
			"sent",
			[](const Qp &q) { return seconds_of(q.srtt_ns); });
		spreads("qp_base_rtt", "seconds",
			"Base round-trip time of queue pairs that have sent",
			[](const Qp &q) { return seconds_of(q.base_rtt_ns); });
	}

	void qp_shares()
	{
		shares("qp_port_bytes_ratio",
		       "Share of the payload of the present queue pairs that "
		       "they have sent through the port.",
		       &PortSums::bytes);
		shares("qp_port_packets_ratio",
		       "Share of the packets of the present queue pairs that "
		       "they have sent through the port.",
		       &PortSums::packets);
	}

	void shares(const char *name, const char *help, double PortSums::*part)
	{
		Family f = family(name, "gauge", help);

		for (const MetricsOfDevice &d : devices_) {
			const std::map<uint32_t, PortSums> sums =
				port_sums(d.qps.value_or(no_qps_));
			double all = 0;

			for (const auto &[port, s] : sums)
				all += s.*part;
			for (const auto &[port, s] : sums)
				if (all > 0)
					f.add({{"device", d.name},
					       {"port", std::to_string(port)}},
					      s.*part / all);
		}
	}

	void profiles()
	{
		Family evs = family("ev_profile_evs", "gauge",
				    "EVs of a profile by port and state.");

		for_profiles([&](const MetricsOfDevice &d, const EvProfile &p) {
			std::map<std::pair<uint32_t, std::string>, uint64_t> n;

			for (const EvEntry &e : p.evs) {
				for (const EvState s :
				     {EvState::good, EvState::assumed_bad,
				      EvState::denied})
					n.try_emplace({e.ev.port, name_of(s)});
				n[{e.ev.port, name_of(e.state)}]++;
			}
			for (const auto &[key, count] : n)
				evs.add({{"device", d.name},
					 {"profile", std::to_string(p.id)},
					 {"port", std::to_string(key.first)},
					 {"state", key.second}},
					count);
		});
		Family online = family("ev_profile_online", "gauge",
				       "1 if the EV profile is ONLINE.");

		for_profiles([&](const MetricsOfDevice &d, const EvProfile &p) {
			online.add({{"device", d.name},
				    {"profile", std::to_string(p.id)}},
				   p.state == State::online ? 1 : 0);
		});
		Family users = family("ev_profile_qps", "gauge",
				      "Queue pairs by EV profile; \"none\" "
				      "makes its own EVs.");

		for (const MetricsOfDevice &d : devices_) {
			std::map<uint64_t, uint64_t> n;

			for (const Qp &q : d.qps.value_or(no_qps_))
				n[q.ev_profile]++;
			for (const auto &[id, count] : n)
				users.add({{"device", d.name},
					   {"profile", show_profile(id)}},
					  count);
		}
		Family rtt = family("ev_profile_srtt_mean_seconds", "gauge",
				    "Mean of the smoothed round-trip times of "
				    "the queue pairs of an EV profile.");

		for (const MetricsOfDevice &d : devices_) {
			std::map<uint64_t, std::vector<double>> of;

			for (const Qp &q : d.qps.value_or(no_qps_))
				if (is_measured(q))
					of[q.ev_profile].push_back(
						seconds_of(q.srtt_ns));
			for (const auto &[id, values] : of)
				rtt.add({{"device", d.name},
					 {"profile", show_profile(id)}},
					spread_of(values)->mean);
		}
	}

	template <typename Fn> void for_ports(Fn fn) const
	{
		for (const MetricsOfDevice &d : devices_)
			if (d.ports)
				for (const Port &p : *d.ports)
					fn(Labels{{"device", d.name},
						  {"port",
						   std::to_string(p.num)}},
					   p);
	}

	template <typename Fn> void for_profiles(Fn fn) const
	{
		for (const MetricsOfDevice &d : devices_)
			if (d.ev_profiles)
				for (const EvProfile &p : *d.ev_profiles)
					fn(d, p);
	}

	const std::vector<MetricsOfDevice> &devices_;
	const std::vector<Port> no_ports_;
	const std::vector<Qp> no_qps_;
	std::string out_;
};
} // namespace

std::string label_value(const std::string &text)
{
	std::string out;

	for (const char c : text)
		if (c == '\n')
			out += "\\n";
		else if (c == '"' || c == '\\')
			out += std::string("\\") + c;
		/* The format is UTF-8, which other bytes may not be. */
		else if (c < ' ' || c > '~')
			out += '?';
		else
			out += c;
	return out;
}

std::string metrics_of(const std::vector<MetricsOfDevice> &devices)
{
	return Exposition(devices).take();
}
} // namespace mrcctl

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "names.hpp"
#include "words.hpp"

namespace mrcctl
{
namespace
{
std::string list(const std::vector<std::string> &names)
{
	return names.empty() ? "none"
			     : fmt::format("{}", fmt::join(names, ","));
}

template <typename T> std::string numbers(const std::vector<T> &v)
{
	return v.empty() ? "none" : fmt::format("{}", fmt::join(v, ","));
}

/* "good 6 denied 2", in the order in which the states first appear. */
template <typename List, typename Name>
std::string tally(const List &entries, Name name)
{
	std::vector<std::pair<std::string, unsigned>> n;
	std::string out;

	for (const auto &e : entries) {
		const std::string s = name(e);
		auto it = std::find_if(n.begin(), n.end(), [&](const auto &p) {
			return p.first == s;
		});

		if (it == n.end())
			it = n.insert(n.end(), {s, 0});
		it->second++;
	}
	for (const auto &[s, count] : n)
		out += fmt::format(" {} {}", s, count);
	return out;
}

std::string ev_state_name(const EvEntry &e)
{
	return name_of(e.state);
}

std::string qp_ev_name(const QpEv &e)
{
	return qp_ev_state(e.state);
}
} // namespace

std::string show_time(uint64_t ns)
{
	if (ns < 1000)
		return fmt::format("{}ns", ns);
	if (ns < 1000000)
		return fmt::format("{:.1f}us", static_cast<double>(ns) / 1e3);
	if (ns < 1000000000)
		return fmt::format("{:.1f}ms", static_cast<double>(ns) / 1e6);
	return fmt::format("{:.1f}s", static_cast<double>(ns) / 1e9);
}

std::string text_of(const Device &d)
{
	std::string s =
		fmt::format("{}: protocol {} ctl_protocol {} ports {}\n",
			    d.name, numbers(bits_of(d.protocol_version << 1)),
			    numbers(bits_of(d.ctl_protocol_version << 1)),
			    numbers(bits_of(d.port_mask)));

	if (d.extension)
		s += fmt::format("    extension {}\n",
				 *d.extension ? "on" : "off");
	if (d.qp)
		s += fmt::format("    attr num_evs {}{} cwnd {} cc {}\n", d.qp->num_evs,
				 d.qp->mpr ? fmt::format(" mpr {}", d.qp->mpr) : "",
				 d.qp->cwnd, d.qp->cc);
	s += fmt::format("    cap {}\n    opt {}\n", list(cap_names(d.cap)),
			 list(opt_names(d.opt)));
	s += fmt::format("    max_wimm {} max_wimm_dest {} max_mpr {} "
			 "mpr_resolution {} max_qp_hint {}\n",
			 d.max_wimm, d.max_wimm_dest, d.max_mpr,
			 d.mpr_resolution, d.max_qp_hint);
	s += fmt::format("    fmt max_profiles {} modes {}\n",
			 d.max_fmt_profiles, list(fmt_modes(d.fmt_modes)));
	s += fmt::format("    ev max_profiles {} modes {} max_count {} "
			 "free_count {}\n       max_count_profile {} "
			 "count_align {} max_width {} op_max_entries {}\n",
			 d.max_ev_profiles, list(ev_modes(d.ev_modes)),
			 d.max_evs, d.free_evs, d.max_evs_profile,
			 d.ev_count_align, d.ev_max_width, d.ev_op_max_entries);
	s += fmt::format("    cc max_profiles {} algorithms {}\n",
			 d.max_cc_profiles, list(d.algorithms));
	return s;
}

std::string text_of(const Port &p)
{
	std::string s = fmt::format("port {} state {} admin {} netdev {}\n",
				    p.num, p.state,
				    !p.enabled	 ? "?"
				    : *p.enabled ? "enabled"
						 : "disabled",
				    p.netdev.empty() ? "none" : p.netdev);

	for (const Counter &c : p.counters)
		s += fmt::format("    {} {}\n", c.name, c.value);
	return s;
}

std::string text_of(const TrafficClasses &tc)
{
	std::string s;

	for (std::size_t i = 0; i < tc.dscp.size(); i++)
		s += fmt::format("{} {} ", dscp_names[i], tc.dscp[i]);
	return s + fmt::format("trimming {}\n", tc.trimming ? "on" : "off");
}

std::string text_of(const Limits &l)
{
	std::string s;

	for (std::size_t i = 0; i < l.max.size(); i++)
		s += fmt::format("{} {} of {}\n", limit_names[i], l.now[i],
				 l.max[i]);
	return s;
}

std::string text_of(const Default &d)
{
	std::string s = fmt::format("{} ev {} cc {}", show_prefix(d.prefix),
				    show_profile(d.ev_profile),
				    show_profile(d.cc_profile));

	if (d.udp_port)
		s += fmt::format(" udp_port {}", d.udp_port);
	return s + "\n";
}

std::string text_of(const Fmt &f)
{
	return fmt::format("fmt {} state {} mode {} fields {}\n", f.id,
			   name_of(f.state), name_of(f.mode),
			   numbers(f.fields));
}

std::string text_of(const EvProfile &p, bool evs)
{
	std::string s = fmt::format("ev {} state {} mode {}", p.id,
				    name_of(p.state), name_of(p.mode));

	if (p.fmt)
		s += fmt::format(" fmt {}", *p.fmt);
	if (p.mode != EvMode::automatic)
		s += fmt::format(" count {}", p.count);
	s += fmt::format(" min_active {} events {}\n", p.min_active,
			 list(event_names(p.event_mask)));
	if (!p.fields.empty()) {
		s += "    fields";
		for (const EvField &f : p.fields)
			s += " " + show_field(f);
		s += "\n";
	}
	if (!p.evs.empty())
		s += "    evs" + tally(p.evs, ev_state_name) + "\n";
	for (std::size_t i = 0; evs && i < p.evs.size(); i++)
		s += fmt::format("    {:4} {} {}\n", i, show_ev(p.evs[i].ev),
				 name_of(p.evs[i].state));
	return s;
}

std::string text_of(const CcProfile &p)
{
	std::string s = fmt::format("cc {} state {} algorithm {}\n", p.id,
				    name_of(p.state),
				    p.algorithm.empty() ? "off" : p.algorithm);

	if (!p.nscc)
		return s;
	for (const NsccParam &param : nscc_params())
		s += fmt::format(
			"    {} {}{}{}\n", param.name,
			param.whole ? fmt::format("{:.0f}", param.get(*p.nscc))
				    : fmt::format("{}",
						  static_cast<float>(
							  param.get(*p.nscc))),
			param.unit.empty() ? "" : " ", param.unit);
	return s;
}

std::string text_of(const EvEvent &e)
{
	std::string s = fmt::format("ev profile {} {} state {}", e.profile,
				    show_ev(e.ev), name_of(e.state));

	if (e.dropped)
		s += fmt::format(" dropped {}", e.dropped);
	return s;
}

std::string text_of(const Qp &q, bool evs)
{
	std::string s = fmt::format("qp {} state {} dest {} sched {}",
				    q.name.qpn, q.name.state, q.dest_qpn,
				    sched_state(q.sched_state));

	if (q.name.pid)
		s += fmt::format(" pid {}", q.name.pid);
	if (!q.name.program.empty())
		s += fmt::format(" comm {}", q.name.program);
	s += fmt::format("\n    ev_profile {} cc_profile {} cc {} cwnd {} "
			 "inflight {} window {}\n",
			 show_profile(q.ev_profile), show_profile(q.cc_profile),
			 q.cc.empty() ? "none" : q.cc, q.cwnd, q.inflight,
			 q.window);
	s += fmt::format("    base_rtt {} srtt {} tx_pkts {} rtx_pkts {} "
			 "timeouts {}\n",
			 show_time(q.base_rtt_ns), show_time(q.srtt_ns),
			 q.tx_pkts, q.rtx_pkts, q.timeouts);
	for (uint32_t i = 0; i < q.ports.size(); i++) {
		std::vector<QpEv> of;

		std::copy_if(q.evs.begin(), q.evs.end(), std::back_inserter(of),
			     [&](const QpEv &e) { return e.port == i + 1; });
		s += fmt::format("    port {} {} peer {} tx_pkts {} tx_bytes "
				 "{} evs{}\n",
				 i + 1,
				 q.ports_up >> (i + 1) & 1 ? "up" : "down",
				 q.peer_ports >> (i + 1) & 1 ? "up" : "down",
				 q.ports[i].tx_pkts, q.ports[i].tx_bytes,
				 of.empty() ? " none" : tally(of, qp_ev_name));
	}
	for (std::size_t i = 0; evs && i < q.evs.size(); i++)
		s += fmt::format("    {:4} {:#010x} port {} {} drops {}\n", i,
				 q.evs[i].entropy, q.evs[i].port,
				 qp_ev_state(q.evs[i].state), q.evs[i].drops);
	return s;
}
} // namespace mrcctl

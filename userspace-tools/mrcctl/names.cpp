// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "names.hpp"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "error.hpp"

namespace mrcctl
{
namespace
{
struct Name {
	uint32_t value;
	std::string_view name;
};

constexpr Name states[] = {{0, "init"}, {1, "offline"}, {2, "online"}};
constexpr Name fmts[] = {{4, "udp"}, {1, "stev"}, {2, "srv6"}};
constexpr Name modes[] = {{1, "auto"}, {2, "explicit"}, {4, "generated"}};
constexpr Name ev_states[] = {
	{1, "good"}, {2, "assumed_bad"}, {4, "denied"}, {1u << 31, "unknown"}};
constexpr Name events[] = {{1, "good"}, {2, "assumed_bad"}};
constexpr Name caps[] = {
	{1, "trim_nack"}, {2, "dynamic_mpr"}, {4, "service_time"}};
constexpr Name opts[] = {{1, "ev_modify_online"},  {2, "cc_modify_online"},
			 {4, "ev_event"},	   {8, "ev_explicit_range"},
			 {16, "ev_event_precise"}, {32, "ep_ev_probe"}};
constexpr Name qp_evs[] = {
	{0, "good"}, {1, "denied"}, {2, "skip"}, {3, "assumed_bad"}};
constexpr Name scheds[] = {
	{0, "idle"}, {1, "active"}, {2, "ready"}, {3, "pending"}};
constexpr std::string_view dscps[] = {"no_trim",	 "trimmable",
				      "trimmable_retx",	 "trimmed",
				      "trimmed_lasthop", "control"};
constexpr std::string_view limits[] = {"pd", "ah", "cq", "mr", "mw", "qp", "srq"};

std::string show(std::span<const Name> names, uint32_t value)
{
	for (const Name &n : names)
		if (n.value == value)
			return std::string(n.name);
	return fmt::format("{:#x}", value);
}

uint32_t parse(std::span<const Name> names, std::string_view s,
	       std::string_view what)
{
	std::vector<std::string_view> all;

	for (const Name &n : names) {
		if (n.name == s)
			return n.value;
		all.push_back(n.name);
	}
	throw UsageError(fmt::format("\"{}\" is no {}: {}", s, what,
				     fmt::join(all, ", ")));
}

/* A bit without a name is shown as a number. */
std::vector<std::string> set_bits(std::span<const Name> names, uint32_t mask)
{
	std::vector<std::string> out;

	for (const Name &n : names)
		if (mask & n.value) {
			out.emplace_back(n.name);
			mask &= ~n.value;
		}
	if (mask)
		out.push_back(fmt::format("{:#x}", mask));
	return out;
}

template <auto member> double get(const Nscc &c)
{
	return static_cast<double>(c.*member);
}

template <auto member> void set(Nscc &c, double v)
{
	c.*member =
		static_cast<std::remove_reference_t<decltype(c.*member)>>(v);
}

template <auto member>
constexpr NsccParam param(std::string_view name, std::string_view unit,
			  double max, bool whole)
{
	return {name, unit, get<member>, set<member>, max, whole};
}

constexpr double u32 = UINT32_MAX;
constexpr NsccParam params[] = {
	param<&Nscc::adjust_bytes_threshold>("adjust_bytes_threshold", "bytes",
					     u32, true),
	param<&Nscc::adjust_period_threshold>("adjust_period_threshold", "ns",
					      u32, true),
	param<&Nscc::base_rtt>("base_rtt", "ns", u32, true),
	param<&Nscc::eta>("eta", "bytes", u32, false),
	param<&Nscc::fi>("fi", "bytes", u32, false),
	param<&Nscc::fi_scale>("fi_scale", "", u32, false),
	param<&Nscc::gamma>("gamma", "", u32, false),
	param<&Nscc::max_md_jump>("max_md_jump", "", u32, false),
	param<&Nscc::max_cwnd>("max_cwnd", "bytes", u32, true),
	param<&Nscc::qa_gate>("qa_gate", "", 255, true),
	param<&Nscc::qa_threshold>("qa_threshold", "ns", u32, true),
	param<&Nscc::target_delay>("target_delay", "ns", u32, true),
	param<&Nscc::disable_qa>("disable_qa", "", 1, true),
};
} // namespace

const std::span<const std::string_view> dscp_names = dscps;
const std::span<const std::string_view> limit_names = limits;

std::string name_of(State s)
{
	return show(states, static_cast<uint32_t>(s));
}

std::string name_of(FmtMode m)
{
	return show(fmts, static_cast<uint32_t>(m));
}

std::string name_of(EvMode m)
{
	return show(modes, static_cast<uint32_t>(m));
}

std::string name_of(EvState s)
{
	return show(ev_states, static_cast<uint32_t>(s));
}

std::string qp_ev_state(uint32_t state)
{
	return show(qp_evs, state);
}

std::string sched_state(uint32_t state)
{
	return show(scheds, state);
}

State parse_state(std::string_view s)
{
	return static_cast<State>(parse(states, s, "state of a profile"));
}

FmtMode parse_fmt_mode(std::string_view s)
{
	return static_cast<FmtMode>(parse(fmts, s, "mode of an EV format"));
}

EvMode parse_ev_mode(std::string_view s)
{
	return static_cast<EvMode>(parse(modes, s, "mode of an EV profile"));
}

EvState parse_ev_state(std::string_view s)
{
	return static_cast<EvState>(parse(ev_states, s, "state of an EV"));
}

uint32_t parse_event(std::string_view s)
{
	return parse(events, s, "EV event");
}

std::vector<std::string> fmt_modes(uint32_t mask)
{
	return set_bits(fmts, mask);
}

std::vector<std::string> ev_modes(uint32_t mask)
{
	return set_bits(modes, mask);
}

std::vector<std::string> event_names(uint32_t mask)
{
	return set_bits(events, mask);
}

std::vector<std::string> cap_names(uint32_t cap)
{
	return set_bits(caps, cap);
}

std::vector<std::string> opt_names(uint32_t opt)
{
	return set_bits(opts, opt);
}

std::vector<uint32_t> bits_of(uint32_t mask)
{
	std::vector<uint32_t> out;

	for (uint32_t i = 0; i < 32; i++)
		if (mask & 1u << i)
			out.push_back(i);
	return out;
}

std::span<const NsccParam> nscc_params()
{
	return params;
}

const NsccParam *nscc_param(std::string_view name)
{
	for (const NsccParam &p : params)
		if (p.name == name)
			return &p;
	return nullptr;
}

void set_nscc(Nscc &c, const NsccParam &p, double value)
{
	if (!(value >= 0) || value > p.max)
		throw UsageError(fmt::format("{} is out of range: 0 to {}",
					     p.name, p.max));
	if (p.whole && value != std::floor(value))
		throw UsageError(
			fmt::format("{} must be a whole number", p.name));
	p.set(c, value);
}
} // namespace mrcctl

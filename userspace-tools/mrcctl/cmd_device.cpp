// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Devices, ports, traffic classes, defaults. */
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "error.hpp"
#include "names.hpp"
#include "text.hpp"

namespace mrcctl
{
namespace
{
template <typename T> std::string lines(const std::vector<T> &list)
{
	std::string s;

	for (const T &t : list)
		s += text_of(t);
	return s;
}

uint32_t port_num(const std::string &s)
{
	return static_cast<uint32_t>(parse_number(s, 255));
}
} // namespace

void dev_show(Context &c, Words &w)
{
	w.done();
	const std::vector<Device> list = {c.dev.device()};

	c.show(list, [&] { return lines(list); });
}

void dev_set(Context &c, Words &w)
{
	const std::string &name = w.next("attribute");
	DeviceChange change;

	if (name == "extension")
		change.extension = parse_switch(w.next("on or off"));
	else if (name == "num_evs")
		change.num_evs = static_cast<uint32_t>(
			parse_number(w.next("N"), UINT32_MAX));
	else if (name == "cwnd")
		change.cwnd = static_cast<uint32_t>(
			parse_number(w.next("BYTES"), UINT32_MAX));
	else if (name == "mpr")
		change.mpr = static_cast<uint32_t>(
			parse_number(w.next("N"), UINT32_MAX));
	else if (name == "cc")
		change.cc = w.next("ALGORITHM");
	else
		throw UsageError(fmt::format(
			"\"{}\" is not extension, num_evs, mpr, cwnd or cc", name));
	w.done();
	c.dev.change(change);
}

void port_show(Context &c, Words &w)
{
	std::vector<Port> list = c.dev.ports();

	if (!w.empty()) {
		const uint32_t num = port_num(w.next("PORT"));

		w.done();
		std::erase_if(list,
			      [&](const Port &p) { return p.num != num; });
		if (list.empty())
			throw DeviceError(fmt::format("no port {}", num));
		list[0].counters = c.dev.counters(num);
	} else if (c.opt.json) {
		for (Port &p : list)
			p.counters = c.dev.counters(p.num);
	}
	c.show(list, [&] { return lines(list); });
}

void port_set(Context &c, Words &w)
{
	const uint32_t num = port_num(w.next("PORT"));
	const std::string &state = w.next("enable or disable");

	w.done();
	if (state != "enable" && state != "disable")
		throw UsageError(
			fmt::format("\"{}\" is not enable or disable", state));
	c.dev.enable_port(num, state == "enable");
}

void limit_show(Context &c, Words &w)
{
	w.done();
	const Limits l = c.dev.limits();

	c.show(l, [&] { return text_of(l); });
}

void limit_set(Context &c, Words &w)
{
	LimitChange change;

	if (w.empty())
		throw UsageError("KIND is missing");
	while (!w.empty()) {
		const std::string &name = w.next("KIND");
		const auto it = std::find(limit_names.begin(),
					  limit_names.end(), name);

		if (it == limit_names.end())
			throw UsageError(fmt::format("\"{}\" is not {}", name,
						     fmt::join(limit_names, ", ")));
		change[static_cast<std::size_t>(it - limit_names.begin())] =
			static_cast<uint32_t>(
				parse_number(w.next("N"), UINT32_MAX));
	}
	c.dev.set_limits(change);
}

void tc_show(Context &c, Words &w)
{
	w.done();
	const TrafficClasses tc = c.dev.traffic_classes();

	c.show(tc, [&] { return text_of(tc); });
}

void tc_set(Context &c, Words &w)
{
	TrafficClasses tc{};
	std::array<bool, TrafficClasses::count> given{};
	std::optional<bool> trimming;

	if (w.empty())
		throw UsageError("CLASS is missing");
	while (!w.empty()) {
		const std::string &name = w.next("CLASS");
		const auto it =
			std::find(dscp_names.begin(), dscp_names.end(), name);

		if (name == "trimming") {
			trimming = parse_switch(w.next("on or off"));
			continue;
		}
		if (it == dscp_names.end())
			throw UsageError(fmt::format(
				"\"{}\" is no traffic class: {}, trimming",
				name, fmt::join(dscp_names, ", ")));
		const auto i =
			static_cast<std::size_t>(it - dscp_names.begin());

		tc.dscp[i] =
			static_cast<uint8_t>(parse_number(w.next("DSCP"), 63));
		given[i] = true;
	}
	const TrafficClasses now = c.dev.traffic_classes();

	for (std::size_t i = 0; i < given.size(); i++)
		if (!given[i])
			tc.dscp[i] = now.dscp[i];
	tc.trimming = trimming.value_or(now.trimming);
	c.dev.set_traffic_classes(tc);
}

void default_show(Context &c, Words &w)
{
	w.done();
	const std::vector<Default> list = c.dev.defaults();

	c.show(list, [&] { return lines(list); });
}

void default_set(Context &c, Words &w)
{
	Default d;

	d.prefix = parse_prefix(w.next("PREFIX"));
	while (!w.empty()) {
		const std::string &key = w.next("ev, cc or udp_port");

		if (key == "ev")
			d.ev_profile = parse_profile(w.next("ID"));
		else if (key == "cc")
			d.cc_profile = parse_profile(w.next("ID"));
		else if (key == "udp_port")
			d.udp_port = parse_udp_port(w.next("N"));
		else
			throw UsageError(fmt::format("what is \"{}\"?", key));
	}
	if (d.empty())
		throw UsageError("a default names a profile or a port: ev ID, cc ID, "
				 "udp_port N");
	c.dev.set_default(d);
}

void default_del(Context &c, Words &w)
{
	Default d;

	d.prefix = parse_prefix(w.next("PREFIX"));
	w.done();
	c.dev.set_default(d);
}
} // namespace mrcctl

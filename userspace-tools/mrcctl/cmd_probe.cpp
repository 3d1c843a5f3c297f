// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Endpoint operations: EV probes and port status updates. */
#include <fmt/format.h>

#include "commands.hpp"
#include "error.hpp"
#include "names.hpp"
#include "text.hpp"

namespace mrcctl
{
namespace
{
constexpr uint64_t ms = 1000000;

EpRequest request_words(Context &c, Words &w, bool status)
{
	bool src = false, dst = false;
	EpRequest r;

	r.timeout_ns = 100 * ms;
	while (!w.empty()) {
		const std::string &key = w.next("key");

		if (key == "src") {
			r.src = parse_address(w.next("ADDR"));
			src = true;
		} else if (key == "dst") {
			r.dst = parse_address(w.next("ADDR"));
			dst = true;
		} else if (key == "evs") {
			r.evs = parse_evs(w.next("EVS"), c.env.in);
		} else if (key == "fmt") {
			r.mode = parse_fmt_mode(w.next("MODE"));
		} else if (key == "tc") {
			r.tc = static_cast<uint8_t>(
				parse_number(w.next("N"), 255));
		} else if (key == "timeout") {
			r.timeout_ns = static_cast<uint32_t>(
				parse_time(w.next("TIME"), ms, UINT32_MAX));
		} else if (status && key == "ports") {
			r.port_status = parse_ports(w.next("PORTS"));
		} else {
			throw UsageError(fmt::format("what is \"{}\"?", key));
		}
	}
	if (!src || !dst || r.evs.empty() || (status && !r.port_status))
		throw UsageError(status ? "src, dst, evs and ports are needed"
					: "src, dst and evs are needed");
	if (r.evs.size() > UINT16_MAX)
		throw UsageError("too many evs");
	return r;
}

Json json_row(const Ev &ev, const EpResponse *a)
{
	Json j = {{"ev", show_ev(ev)}, {"answered", a != nullptr}};

	if (a) {
		j["port"] = a->port;
		j["rtt_ns"] = a->rtt_ns;
		j["service_time_removed"] = a->service_time_removed;
	}
	return j;
}

std::string text_row(const Ev &ev, const EpResponse *a)
{
	if (!a)
		return fmt::format("{} no answer\n", show_ev(ev));
	return fmt::format("{} port {} rtt {}{}\n", show_ev(ev), a->port,
			   show_time(a->rtt_ns),
			   a->service_time_removed ? " without service time"
						   : "");
}

void run(Context &c, const EpRequest &r)
{
	const Backend::EpResult result = c.dev.endpoint(r);
	std::vector<const EpResponse *> by_ev(r.evs.size());
	std::size_t lost = 0;
	std::string text;
	Json json = Json::array();

	for (const EpResponse &a : result.responses)
		if (a.request < by_ev.size())
			by_ev[a.request] = &a;
	for (std::size_t i = 0; i < r.evs.size(); i++) {
		lost += by_ev[i] == nullptr;
		json.push_back(json_row(r.evs[i], by_ev[i]));
		text += text_row(r.evs[i], by_ev[i]);
	}
	if (c.opt.json)
		c.print_json(json);
	else
		c.print_text(text);
	if (lost)
		throw DeviceError(
			fmt::format("{} of {} requests were not answered", lost,
				    r.evs.size()));
}
} // namespace

void probe_ev(Context &c, Words &w)
{
	run(c, request_words(c, w, false));
}

void probe_status(Context &c, Words &w)
{
	run(c, request_words(c, w, true));
}
} // namespace mrcctl

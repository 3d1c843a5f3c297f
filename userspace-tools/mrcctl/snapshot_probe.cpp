// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcctl doctor: probes of the EVs to a peer. */
#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "error.hpp"
#include "expand.hpp"
#include "names.hpp"
#include "snapshot_read.hpp"
#include "text.hpp"
#include "words.hpp"

namespace mrcctl::doctor
{
namespace
{
/* Each batch waits for its last answer, so one lost packet costs this once. */
constexpr uint64_t probe_timeout_ns = 1000000000;
constexpr uint64_t all_probes_ns = probe_seconds * 1000000000;
constexpr std::size_t batch = 256;
constexpr uint32_t first_source_port = 0xc000;
constexpr uint32_t most_source_ports = 0x10000 - first_source_port;
constexpr std::size_t most_silent = 3;

/* What is probed: EVs as on the wire, and how the profile shows them. */
struct Evs {
	FmtMode mode = FmtMode::udp;
	std::vector<Ev> wire;
	std::vector<std::string> shown; /* none if there is no profile */
};

bool holds(const Prefix &prefix, const std::array<uint8_t, 16> &addr)
{
	for (uint32_t bit = 0; bit < std::min(prefix.len, 128u); bit++) {
		const auto shift = static_cast<unsigned int>(7 - bit % 8);

		if ((prefix.addr[bit / 8] ^ addr[bit / 8]) >> shift & 1)
			return false;
	}
	return true;
}

/* Of the default of this peer; none if its EVs are made by the device. */
Evs evs_of_profile(Backend &dev, const std::array<uint8_t, 16> &peer)
{
	std::optional<Default> best;
	std::set<std::pair<std::array<uint8_t, 32>, uint8_t>> seen;
	Evs out;

	for (const Default &x : dev.defaults())
		if (x.ev_profile != no_profile && holds(x.prefix, peer) &&
		    (!best || best->prefix.len < x.prefix.len))
			best = x;
	if (!best || dev.ev_state(best->ev_profile) == State::init)
		return out;
	const EvProfile p = dev.ev(best->ev_profile);

	if (!p.fmt || dev.fmt_state(*p.fmt) == State::init)
		return out;
	const Fmt fmt = dev.fmt(*p.fmt);

	out.mode = fmt.mode;
	for (const EvEntry &e : p.evs) {
		/* Entries without a port have no value yet. */
		if (e.state == EvState::denied || !e.ev.port)
			continue;
		const std::optional<Ev> ev = expand(fmt, p, e.ev);

		/* One that has more weight is there several times. */
		if (!ev || !seen.emplace(ev->val, ev->port).second)
			continue;
		out.wire.push_back(*ev);
		out.shown.push_back(show_ev(e.ev));
	}
	return out;
}

/* As many source ports as a queue pair has EVs. */
Evs evs_made_up(const SeenDevice &d, uint32_t num_evs)
{
	const uint32_t each = std::clamp<uint32_t>(
		num_evs / static_cast<uint32_t>(d.ports.size()), 1,
		most_source_ports);
	Evs out;

	for (const SeenPort &p : d.ports)
		for (uint32_t i = 0; i < each; i++) {
			const uint32_t n = first_source_port + i;
			Ev ev;

			ev.val[0] = static_cast<uint8_t>(n >> 8);
			ev.val[1] = static_cast<uint8_t>(n);
			ev.port = static_cast<uint8_t>(p.num);
			out.wire.push_back(ev);
		}
	return out;
}

/* The ports take turns: no batch has those of one only, while others wait. */
Evs taking_turns(const Evs &evs)
{
	std::map<uint32_t, std::vector<std::size_t>> of_port;
	Evs out{.mode = evs.mode, .wire = {}, .shown = {}};

	for (std::size_t i = 0; i < evs.wire.size(); i++)
		of_port[evs.wire[i].port].push_back(i);
	for (std::size_t turn = 0; out.wire.size() < evs.wire.size(); turn++)
		for (const auto &[port, at] : of_port) {
			if (turn >= at.size())
				continue;
			out.wire.push_back(evs.wire[at[turn]]);
			if (!evs.shown.empty())
				out.shown.push_back(evs.shown[at[turn]]);
		}
	return out;
}

SeenPath *path_of(std::span<SeenPath> paths, uint32_t port)
{
	for (SeenPath &p : paths)
		if (p.port == port)
			return &p;
	return nullptr;
}

/* @from: of the first EV of the batch. */
void count_answers(const EpRequest &r, const Backend::EpResult &result,
		   const Evs &evs, std::size_t from, std::span<SeenPath> paths)
{
	std::vector<bool> answered(r.evs.size());

	for (const EpResponse &a : result.responses) {
		if (a.request >= r.evs.size())
			continue;
		answered[a.request] = true;
		SeenPath *const path = path_of(paths, r.evs[a.request].port);

		if (path && (!path->rtt_ns || a.rtt_ns < path->rtt_ns))
			path->rtt_ns = a.rtt_ns;
	}
	for (std::size_t i = 0; i < r.evs.size(); i++) {
		SeenPath *const path = path_of(paths, r.evs[i].port);

		if (!path)
			continue;
		path->probes++;
		path->answers += answered[i];
		if (!answered[i] && from + i < evs.shown.size() &&
		    path->silent.size() < most_silent)
			path->silent.push_back(evs.shown[from + i]);
	}
}

/* How far the probes of a peer are; the line goes when they end or fail. */
class ProgressLine
{
public:
	ProgressLine(const Probing &how, const std::string &peer,
		     std::size_t all)
		: how_(how), peer_(peer), all_(all)
	{
	}

	ProgressLine(const ProgressLine &) = delete;
	ProgressLine &operator=(const ProgressLine &) = delete;

	~ProgressLine()
	{
		if (shown_)
			how_.progress(peer_, all_, all_);
	}

	void show(std::size_t done)
	{
		if (done >= all_)
			return;
		shown_ = true;
		how_.progress(peer_, done, all_);
	}

private:
	const Probing &how_;
	const std::string &peer_;
	std::size_t all_;
	bool shown_ = false;
};

/* Of batches of which no probe could be sent. */
struct Unsent {
	std::optional<DeviceError> why; /* of the last one */
	bool all = true;		/* no batch was sent */
};

/*
 * The kernel refuses a batch with EIO if it could send none of its probes, as
 * through planes that are down. So none is answered.
 */
Backend::EpResult probe_batch(Backend &dev, const EpRequest &r, Unsent &unsent)
{
	try {
		Backend::EpResult result = dev.endpoint(r);

		unsent.all = false;
		return result;
	} catch (const DeviceError &e) {
		if (e.err != EIO)
			throw;
		unsent.why = e;
	}
	return {};
}

void probe_all(Backend &dev, EpRequest r, const Evs &evs,
	       const std::string &peer, const Probing &how,
	       std::span<SeenPath> paths)
{
	const uint64_t end = how.now_ns() + all_probes_ns;
	ProgressLine line(how, peer, evs.wire.size());
	std::size_t done = 0;
	Unsent unsent;

	for (SeenPath &path : paths)
		path.mode = evs.mode;
	while (done < evs.wire.size() && (!done || how.now_ns() < end)) {
		const std::size_t n = std::min(batch, evs.wire.size() - done);
		const auto from =
			evs.wire.begin() + static_cast<std::ptrdiff_t>(done);

		r.evs.assign(from, from + static_cast<std::ptrdiff_t>(n));
		count_answers(r, probe_batch(dev, r, unsent), evs, done, paths);
		done += n;
		line.show(done);
	}
	/* Nothing is known of the planes: the device itself may be the cause.
	 */
	if (unsent.all && unsent.why) {
		for (SeenPath &path : paths) {
			path.probes = 0;
			path.silent.clear();
		}
		throw DeviceError(*unsent.why);
	}
	for (; done < evs.wire.size(); done++)
		if (SeenPath *const path = path_of(paths, evs.wire[done].port))
			path->unprobed++;
}
} // namespace

void probe_peer(Backend *dev, const SeenDevice &d, const std::string &peer,
		uint32_t num_evs, const Probing &how, std::span<SeenPath> paths,
		std::vector<SeenSilence> &silences)
{
	SeenSilence n{.device = d.name, .peer = peer};
	EpRequest r;

	if (!dev) {
		n.why = "the device cannot be opened";
		silences.push_back(n);
		return;
	}
	r.dst = parse_address(peer);
	const auto own =
		std::find_if(paths.begin(), paths.end(),
			     [](const SeenPath &p) { return !p.own.empty(); });

	if (own == paths.end()) {
		n.why = fmt::format("the device has no {} address",
				    is_ipv4(r.dst) ? "IPv4" : "IPv6");
		silences.push_back(n);
		return;
	}
	try {
		r.src = parse_address(own->own);
		r.timeout_ns = probe_timeout_ns;
		Evs evs = evs_of_profile(*dev, r.dst);

		if (evs.wire.empty())
			evs = evs_made_up(d, num_evs);
		r.mode = evs.mode;
		probe_all(*dev, r, taking_turns(evs), peer, how, paths);
	} catch (const DeviceError &e) {
		n.why = e.what();
		n.privilege = e.err == EPERM || e.err == EACCES;
		silences.push_back(n);
	}
}
} // namespace mrcctl::doctor

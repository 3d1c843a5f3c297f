// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "topo_file.hpp"

#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "error.hpp"
#include "lines.hpp"

namespace mrcsim
{
using mrclab::FileError;

namespace
{
constexpr u64 default_gbps = 100;
constexpr u64 default_link_ns = 1000;

struct TierKey {
	const char *name;
	u64 min, max;
};

enum TierKeys { speed, down, up, queue_up, queue_down, over, bundle, sw, link };

constexpr TierKey tier_keys[] = {
	{"downlink_speed_gbps", 1, 10000},
	{"radix_down", 1, 1 << 16},
	{"radix_up", 1, 0xffff},
	{"queue_up", 1, 1 << 30},
	{"queue_down", 1, 1 << 30},
	{"oversubscribed", 1, 1 << 16},
	{"bundle", 1, 0xffff},
	{"switch_latency_ns", 0, 1'000'000'000},
	{"downlink_latency_ns", 0, 1'000'000'000},
};

struct Tier {
	int line = 0; /* 0: it is not in the file */
	std::map<int, u64> value;

	u64 get(int key, u64 otherwise) const
	{
		const auto v = value.find(key);

		return v == value.end() ? otherwise : v->second;
	}
};

struct TopoReader {
	const std::string &file;
	Lines in;
	std::array<Tier, 3> tier{};
	std::map<std::string, u64> head{};

	void read()
	{
		std::vector<std::string_view> w;
		Tier *at = nullptr;

		while (in.next(w)) {
			const std::string key = lower(w[0]);

			if (w.size() != 2)
				in.fail(fmt::format(
					"a line is a key and a value, here "
					"there are {} words",
					w.size()));
			if (key == "tier") {
				at = &tier[in.number(w[1], "the tier", 0, 2)];
				if (at->line)
					in.fail(fmt::format("tier {} twice",
							    w[1]));
				at->line = in.line();
			} else if (at) {
				tier_key(*at, key, w[1]);
			} else {
				head_key(key, w[1]);
			}
		}
	}

	void head_key(const std::string &key, std::string_view word)
	{
		if (key != "nodes" && key != "tiers" && key != "podsize")
			in.fail(fmt::format("there is no key \"{}\" before the "
					    "first tier; Nodes, Tiers and "
					    "Podsize are",
					    key));
		if (!head.emplace(key, in.number(word, key.c_str(), 1, 1 << 20))
			     .second)
			in.fail(fmt::format("\"{}\" twice", key));
	}

	void tier_key(Tier &t, const std::string &key, std::string_view word)
	{
		std::string known;

		for (int n = 0; n < static_cast<int>(std::size(tier_keys));
		     n++) {
			const TierKey &k = tier_keys[n];

			known += (n ? ", " : "") + std::string(k.name);
			if (key != k.name)
				continue;
			if (!t.value.emplace(n, in.number(word, k.name, k.min,
							  k.max))
				     .second)
				in.fail(fmt::format("\"{}\" twice in this tier",
						    key));
			return;
		}
		in.fail(fmt::format("a tier has no key \"{}\"; its keys are {}",
				    key, known));
	}

	u64 must(const char *key) const
	{
		const auto v = head.find(key);

		if (v == head.end())
			throw FileError(file, 0,
					fmt::format("\"{}\" is missing", key));
		return v->second;
	}

	u64 must(std::size_t t, int key) const
	{
		if (!tier[t].line)
			throw FileError(file, 0,
					fmt::format("tier {} is missing", t));
		if (!tier[t].value.contains(key))
			throw FileError(file, tier[t].line,
					fmt::format("tier {} has no \"{}\"", t,
						    tier_keys[key].name));
		return tier[t].value.at(key);
	}

	/* @whole / @part, if that is a number. */
	u32 parts(u64 whole, u64 part, int line, const char *what) const
	{
		if (!part || whole % part)
			throw FileError(file, line,
					fmt::format("{}: {} is no multiple of "
						    "{}",
						    what, whole, part));
		return static_cast<u32>(whole / part);
	}

	Shape shape() const
	{
		const u64 nodes = must("nodes");
		const u64 tiers = must("tiers");
		Shape s;

		if (tiers != 2 && tiers != 3)
			throw FileError(file, 0,
					fmt::format("{} tiers; 2 and 3 are "
						    "possible",
						    tiers));
		const u64 pod = tiers == 2 ? nodes : must("podsize");

		if (tiers == 2 && head.contains("podsize") &&
		    head.at("podsize") != nodes)
			throw FileError(file, 0,
					"with two tiers the only pod has all "
					"nodes");
		s.tiers = static_cast<u32>(tiers);
		s.srv6 = true;
		s.hosts = static_cast<u32>(must(0, down));
		s.pods = parts(nodes, pod, 0, "nodes of pods");
		s.t0 = parts(pod, s.hosts, tier[0].line, "hosts of T0s");
		s.bundle = static_cast<u32>(tier[1].get(bundle, 1));
		s.t1 = parts(must(0, up), s.bundle, tier[0].line,
			     "uplinks of a T0");
		same(must(1, down), u64{s.t0} * s.bundle, 1,
		     "downlinks of a T1");
		if (tiers == 3) {
			s.t1_uplinks = static_cast<u32>(must(1, up));
			same(must(2, down),
			     u64{s.pods} * tier[2].get(bundle, 1), 2,
			     "downlinks of a T2");
		} else if (tier[2].line) {
			throw FileError(file, tier[2].line,
					"a third tier in a fabric of two");
		}
		link_kind(s, Kind::host_up, 0, 0, {});
		link_kind(s, Kind::host_down, 0, -1, queue_down);
		link_kind(s, Kind::t0_up, 1, 1, queue_up);
		link_kind(s, Kind::t1_down, 1, 0, queue_down);
		if (tiers == 3) {
			link_kind(s, Kind::t1_up, 2, 2, queue_up);
			link_kind(s, Kind::t2_down, 2, 1, queue_down);
		}
		return s;
	}

	void same(u64 is, u64 must_be, std::size_t t, const char *what) const
	{
		if (is != must_be)
			throw FileError(file, tier[t].line,
					fmt::format("{}: {}, but there are {}",
						    what, is, must_be));
	}

	/*
	 * Links below tier @t, which lead to a switch of tier @to, or to a
	 * host. Their queue is that of the switch in front of them.
	 */
	void link_kind(Shape &s, Kind k, std::size_t t, int to,
		       std::optional<TierKeys> queue) const
	{
		LinkSpec &l = s.of(k);
		const u64 delay =
			tier[t].get(link, default_link_ns) +
			(to < 0 ? 0
				: tier[static_cast<std::size_t>(to)].get(sw,
									 0));

		l.rate = tier[t].get(speed, default_gbps) * 1'000'000'000;
		l.delay = delay * 1000;
		if (!queue)
			return;
		/* A queue up belongs to the tier below the links. */
		l.trim = tier[*queue == queue_up ? t - 1 : t].get(*queue, 0);
	}
};
} // namespace

Shape parse_topo(std::string_view text, const std::string &file)
{
	TopoReader r{file, Lines(text, file)};

	r.read();
	return r.shape();
}

Shape read_topo(const std::string &file)
{
	return parse_topo(read_lines(file), file);
}
} // namespace mrcsim

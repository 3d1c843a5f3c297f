// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "shape.hpp"

#include <charconv>

#include <fmt/format.h>

#include "error.hpp"
#include "link.hpp"
#include "units.hpp"

namespace mrcsim
{
using mrclab::UsageError;

namespace
{
/* The kinds that the longest way takes, in its order. */
std::vector<Kind> way(const Shape &s)
{
	if (s.hops() == 2)
		return {Kind::host_up, Kind::host_down};
	if (s.hops() == 4)
		return {Kind::host_up, Kind::t0_up, Kind::t1_down,
			Kind::host_down};
	return {Kind::host_up, Kind::t0_up,   Kind::t1_up,
		Kind::t2_down, Kind::t1_down, Kind::host_down};
}

constexpr const char *kind_names[kinds] = {
	"from hosts to T0s", "from T0s to hosts", "from T0s to T1s",
	"from T1s to T0s",   "from T1s to T2s",	  "from T2s to T1s",
};

/* A letter and a number from 1 to @most at the front of @w, taken off. */
bool take(std::string_view &w, char letter, u64 most, u32 &number)
{
	u64 n = 0;

	if (w.empty() || w[0] != letter)
		return false;
	const auto r = std::from_chars(w.data() + 1, w.data() + w.size(), n);

	if (r.ec != std::errc() || n < 1 || n > most)
		return false;
	w.remove_prefix(static_cast<std::size_t>(r.ptr - w.data()));
	number = static_cast<u32>(n - 1);
	return true;
}
} // namespace

u64 Shape::count(Kind k) const
{
	switch (k) {
	case Kind::host_up:
	case Kind::host_down:
		return all_hosts();
	case Kind::t0_up:
	case Kind::t1_down:
		return u64{all_t0()} * uplinks();
	default:
		return tiers == 3 ? u64{all_t1()} * t1_uplinks : 0;
	}
}

u64 Shape::links_of_plane() const
{
	return 2 *
	       (count(Kind::host_up) + count(Kind::t0_up) + count(Kind::t1_up));
}

u32 Shape::paths() const
{
	const u32 n = uplinks() * (tiers == 3 ? t1_uplinks : 1);

	return n ? n : 1;
}

u32 Shape::id(u32 plane, Kind k, u64 n) const
{
	u64 at = plane * links_of_plane() + n;

	for (std::size_t i = 0; i < static_cast<std::size_t>(k); i++)
		at += count(static_cast<Kind>(i));
	return static_cast<u32>(at);
}

Kind Shape::kind_of(u32 id) const
{
	u64 at = id % links_of_plane();
	std::size_t k = 0;

	while (at >= count(static_cast<Kind>(k)))
		at -= count(static_cast<Kind>(k++));
	return static_cast<Kind>(k);
}

u32 Shape::plane_of(u32 id) const
{
	return static_cast<u32>(id / links_of_plane());
}

u32 Shape::reverse(u32 link) const
{
	const Kind k = kind_of(link);
	const u32 plane = plane_of(link);
	const auto other = static_cast<Kind>(static_cast<std::size_t>(k) ^ 1);

	return id(plane, other, link - id(plane, k, 0));
}

std::string Shape::name(u32 link) const
{
	const Kind k = kind_of(link);
	const u32 plane = plane_of(link);
	const u32 n = link - id(plane, k, 0);
	const u32 p = plane + 1;

	if (k == Kind::host_up)
		return fmt::format("h{}:p{}", n + 1, p);
	if (k == Kind::host_down)
		return fmt::format("p{}l{}:h{}", p, n / hosts + 1, n + 1);
	if (k == Kind::t0_up || k == Kind::t1_down) {
		const u32 low = n / uplinks();
		const u32 high = low / t0 * t1 + n % uplinks() / bundle;

		return k == Kind::t0_up
			       ? fmt::format("p{}l{}:s{}", p, low + 1, high + 1)
			       : fmt::format("p{}s{}:l{}", p, high + 1,
					     low + 1);
	}
	const u32 low = n / t1_uplinks;
	const u32 high = low % t1 * t1_uplinks + n % t1_uplinks;

	return k == Kind::t1_up
		       ? fmt::format("p{}s{}:c{}", p, low + 1, high + 1)
		       : fmt::format("p{}c{}:s{}", p, high + 1, low + 1);
}

std::vector<u32> Shape::named(const std::string &word) const
{
	std::string_view w = word;
	std::vector<u32> found;
	u32 plane = 0, host = 0, low = 0, high = 0;
	const u32 t2 = t1 * t1_uplinks;
	const auto colon = [&w] {
		const bool ok = w.starts_with(":");

		if (ok)
			w.remove_prefix(1);
		return ok;
	};

	if (take(w, 'h', all_hosts(), host)) {
		if (colon() && take(w, 'p', planes, plane) && w.empty())
			found = {id(plane, Kind::host_up, host)};
		return found;
	}
	if (!take(w, 'p', planes, plane))
		return found;

	const std::string_view rest = w;
	const auto bundles = [&](Kind k) {
		if (low / t0 != high / t1)
			return;
		for (u32 b = 0; b < bundle; b++)
			found.push_back(id(plane, k,
					   u64{low} * uplinks() +
						   high % t1 * bundle + b));
	};

	if (take(w, 'l', all_t0(), low) && colon()) {
		if (take(w, 'h', all_hosts(), host)) {
			if (w.empty() && host / hosts == low)
				found = {id(plane, Kind::host_down, host)};
		} else if (t1 && take(w, 's', all_t1(), high) && w.empty()) {
			bundles(Kind::t0_up);
		}
		return found;
	}
	w = rest;
	if (t1 && take(w, 's', all_t1(), high) && colon()) {
		if (take(w, 'l', all_t0(), low)) {
			if (w.empty())
				bundles(Kind::t1_down);
		} else if (tiers == 3 && take(w, 'c', t2, low) && w.empty() &&
			   low / t1_uplinks == high % t1) {
			found = {id(plane, Kind::t1_up,
				    u64{high} * t1_uplinks + low % t1_uplinks)};
		}
		return found;
	}
	w = rest;
	if (tiers == 3 && take(w, 'c', t2, low) && colon() &&
	    take(w, 's', all_t1(), high) && w.empty() &&
	    low / t1_uplinks == high % t1)
		found = {id(plane, Kind::t2_down,
			    u64{high} * t1_uplinks + low % t1_uplinks)};
	return found;
}

u64 Shape::path_delay() const
{
	u64 sum = 0;

	for (const Kind k : way(*this))
		sum += of(k).delay;
	return sum;
}

u64 Shape::path_sending(u64 bytes) const
{
	u64 sum = 0;

	for (const Kind k : way(*this))
		sum += sending_time(of(k).rate, bytes);
	return sum;
}

u64 sending_time(u64 rate, u64 bytes)
{
	return bytes * byte_time(rate) >> byte_time_shift;
}

void check_shape(const Shape &s, u32 packet)
{
	constexpr u64 most_links = 1ull << 31;
	constexpr u64 most_hosts = 1ull << 20;
	constexpr u64 min_rate = 1'000'000, max_rate = 10'000'000'000'000;

	if (u64{s.pods} * s.t0 * s.hosts > most_hosts)
		throw UsageError(fmt::format("more than {} hosts", most_hosts));
	if (s.all_hosts() < 2)
		throw UsageError("a fabric has at least two hosts");
	if (s.all_t0() > 1 && s.t1 == 0)
		throw UsageError(fmt::format(
			"{} T0 switches are not connected without a T1",
			s.all_t0()));
	if (s.planes < 1 || s.planes > 16)
		throw UsageError("a fabric has 1 to 16 planes");
	if (s.links() > most_links)
		throw UsageError(fmt::format("{} links are more than {}",
					     s.links(), most_links));
	if (s.uplinks() > 0xffff || s.t1_uplinks > 0xffff)
		throw UsageError("a switch has at most 65535 uplinks");

	const auto check = [packet](const LinkSpec &l, const std::string &of) {
		if (l.rate < min_rate || l.rate > max_rate)
			throw UsageError(fmt::format(
				"links {} need a rate of {} to {}", of,
				mrclab::show_rate(min_rate), "10000gbit"));
		for (const u64 room : {l.queue, l.trim})
			if (room && room < packet)
				throw UsageError(fmt::format(
					"links {} have a queue of {} bytes, "
					"too small for a packet of {}",
					of, room, packet));
		if (l.mark_max && l.mark_max < l.mark_min)
			throw UsageError(
				fmt::format("links {} mark from {} to {} bytes",
					    of, l.mark_min, l.mark_max));
		if (l.trim && (l.trim_len < 24 || l.trim_len > packet))
			throw UsageError(fmt::format(
				"links {} trim to {} bytes; 24 to {} are "
				"possible",
				of, l.trim_len, packet));
	};

	for (std::size_t k = 0; k < kinds; k++)
		if (s.count(static_cast<Kind>(k)))
			check(s.spec[k], kind_names[k]);
	for (const LinkException &e : s.exceptions)
		check(e.spec, s.name(e.link));
}
} // namespace mrcsim

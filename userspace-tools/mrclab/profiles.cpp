// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "profiles.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "address.hpp"
#include "error.hpp"

namespace mrclab
{
namespace
{
/* What a device of soft MRC can hold. */
constexpr uint32_t most_evs = 1024;    /* in a profile */
constexpr uint32_t most_defaults = 64; /* two for each peer: IPv6, IPv4 */

/* The number of the only EV format and of the only CC profile. */
constexpr int the_fmt = 1;
constexpr int the_cc = 1;

/* A field of an EV that is the same in all EVs of the profile. */
std::string fixed(uint16_t value)
{
	return fmt::format("16/{:x}/0", value);
}

/* The 16 bits of the T1's uSID. A number of 8 bits is laid over the low ones,
 * and only those from 1 to the number of T1s are generated.
 */
std::string any_t1(const Topology &t)
{
	const uint16_t first = usid(t.t1(1, 1));

	return fmt::format("16/{:x}/ff/1/{:x}", first & 0xff00, t.fabric().t1);
}

/* The fields of usid_path(), one for each 16 bits of an address. */
std::string path_fields(const Topology &t, uint32_t a, uint32_t b)
{
	const Node &from = t.t0(1, t.t0_of(a)), &to = t.t0(1, t.t0_of(b));
	std::string s = fmt::format("{},{},{}", fixed(t.fabric().block),
				    fixed(0), fixed(usid(from)));
	int fields = 3;

	if (&from != &to) {
		s += fmt::format(",{},{}", any_t1(t), fixed(usid(to)));
		fields += 2;
	}
	s += "," + fixed(usid(t.host(b)));
	for (fields++; fields < 8; fields++)
		s += "," + fixed(0);
	return s;
}

/* A generated profile has the same number of EVs in every plane. */
uint32_t path_count(const Topology &t, uint32_t a, uint32_t b)
{
	const Fabric &f = t.fabric();

	if (t.t0_of(a) == t.t0_of(b))
		return f.planes;
	return f.planes * std::min(f.t1, most_evs / f.planes);
}

std::string ev_commands(const Topology &t, uint32_t host, const std::string &cc)
{
	std::string s = fmt::format("fmt add {} mode srv6 fields "
				    "16,16,16,16,16,16,16,16\n",
				    the_fmt);

	for (uint32_t to = 1; to <= t.fabric().all_hosts(); to++) {
		if (to == host)
			continue;
		s += fmt::format("ev add {} mode generated fmt {} count {} "
				 "fields {}\n",
				 to, the_fmt, path_count(t, host, to),
				 path_fields(t, host, to));
		s += fmt::format("default set {}/128 ev {}{}\n", host6(t, to),
				 to, cc);
		s += fmt::format("default set {}/32 ev {}{}\n", host4(t, to),
				 to, cc);
	}
	return s;
}
} // namespace

void check_profiles(const Fabric &f)
{
	const uint32_t most = most_defaults / 2 + 1;

	if (!f.profiles.evs || f.all_hosts() <= most)
		return;

	std::string why = fmt::format(
		"profiles with EVs for {} hosts: a device has {} defaults, two "
		"for each peer, which is enough for {} hosts",
		f.all_hosts(), most_defaults, most);
	int line = f.line_of("profiles/evs");

	if (!line) {
		line = f.line_of("hosts");
		why += "; srv6 without ecmp needs them, or \"profiles: {evs: "
		       "off}\" and profiles of your own";
	}
	throw FileError(f.file, line, why);
}

std::string profile_commands(const Topology &t, uint32_t host)
{
	const Fabric &f = t.fabric();
	const std::string cc =
		f.profiles.cc.empty() ? "" : fmt::format(" cc {}", the_cc);
	std::string s;

	check_profiles(f);
	if (!cc.empty()) {
		s += fmt::format("cc add {} algorithm {}", the_cc,
				 f.profiles.cc);
		for (const auto &[name, value] : f.profiles.cc_params)
			s += fmt::format(" {} {}", name, value);
		s += "\n";
	}
	if (f.profiles.evs)
		return s + ev_commands(t, host, cc);
	if (!cc.empty())
		s += fmt::format("default set {}{}\ndefault set {}{}\n",
				 hosts6(f), cc, hosts4(f), cc);
	return s;
}
} // namespace mrclab

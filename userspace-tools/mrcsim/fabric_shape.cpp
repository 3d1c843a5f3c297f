// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "fabric_shape.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fnmatch.h>

#include "error.hpp"

namespace mrcsim
{
namespace
{
void refuse(const mrclab::Fabric &f, int line, bool is, const char *what)
{
	if (is)
		throw mrclab::FileError(
			f.file, line,
			fmt::format("links with \"{}\" are not simulated",
				    what));
}

LinkSpec spec_of(const mrclab::Fabric &f, int line, const mrclab::LinkProps &p,
		 u64 node_delay)
{
	LinkSpec s;

	refuse(f, line, p.jitter.value_or(0) > 0, "jitter");
	refuse(f, line, p.corrupt.value_or(0) > 0, "corrupt");
	refuse(f, line, p.duplicate.value_or(0) > 0, "duplicate");
	refuse(f, line, p.reorder.value_or(0) > 0, "reorder");
	if (!p.rate.value_or(0))
		throw mrclab::FileError(f.file, line,
					"a link without a rate cannot be "
					"simulated");
	s.rate = *p.rate;
	s.delay = p.delay.value_or(0) * 1000 + node_delay;
	s.queue = p.queue.value_or(0);
	s.trim = p.trim.value_or(0);
	s.trim_len = p.trim_len.value_or(s.trim_len);
	s.mark_min = p.mark_min.value_or(0);
	s.mark_max = p.mark_max.value_or(0);
	s.loss = p.loss.value_or(0);
	return s;
}

/* What a host sends waits in the host, which neither marks nor drops it. */
LinkSpec of_host(LinkSpec s)
{
	s.queue = s.trim = s.mark_min = s.mark_max = 0;
	return s;
}
} // namespace

Shape shape_of(const mrclab::Fabric &f, u64 node_delay)
{
	const int host_line = f.line_of("links/host");
	const int fabric_line = f.line_of("links/fabric");
	Shape s;

	s.planes = f.planes;
	s.t0 = f.t0;
	s.t1 = f.t1;
	s.hosts = f.hosts;
	s.srv6 = f.srv6();

	const LinkSpec host = spec_of(f, host_line, f.host_links, node_delay);

	s.of(Kind::host_up) = of_host(host);
	s.of(Kind::host_down) = host;
	if (f.t1)
		s.of(Kind::t0_up) = s.of(Kind::t1_down) =
			spec_of(f, fabric_line, f.fabric_links, node_delay);
	if (f.rules.empty())
		return s;

	/* The reader of the file limits the number of links. */
	for (u32 id = 0; id < s.links(); id++) {
		const std::string name = s.name(id);
		const Kind k = s.kind_of(id);
		const bool to_host = k == Kind::host_up || k == Kind::host_down;
		mrclab::LinkProps p = to_host ? f.host_links : f.fabric_links;
		int line = 0;

		for (const mrclab::LinkRule &r : f.rules)
			if (fnmatch(r.pattern.c_str(), name.c_str(), 0) == 0) {
				p.apply(r.props);
				line = r.line;
			}
		if (!line)
			continue;

		LinkSpec l = spec_of(f, line, p, node_delay);

		if (k == Kind::host_up)
			l = of_host(l);
		if (!(l == s.of(k)))
			s.exceptions.push_back({id, l});
	}
	return s;
}

void fill_queues(Shape &shape, const QueueRules &rules, const Settings &s)
{
	for (std::size_t n = 0; n < kinds; n++) {
		const auto k = static_cast<Kind>(n);

		if (shape.count(k) && k != Kind::host_up && !shape.spec[n].rate)
			throw mrclab::UsageError("a link needs a rate");
	}

	/* The base RTT does not depend on queues. */
	Settings plain = s;

	plain.column = Column::ecmp;

	const Derived d = derive(shape, plain);
	const u32 depth = rules.depth ? rules.depth : rules.trim ? 100 : 500;

	for (std::size_t n = 0; n < kinds; n++) {
		const auto k = static_cast<Kind>(n);
		LinkSpec &l = shape.spec[n];

		l.trim_len = rules.trim_len;
		if (!shape.count(k) || k == Kind::host_up || l.queue ||
		    l.mark_max)
			continue;

		const u64 bdp = l.rate / 8 * d.base_rtt / 1'000'000'000;
		const auto share = [&](u64 of, u64 percent) {
			const u64 bytes = of * percent / 100;

			return rules.whole ? (bytes + d.packet - 1) / d.packet *
						     d.packet
					   : bytes;
		};
		const u64 whole = share(bdp, 100);
		const bool last = k == Kind::host_down;
		u64 room = l.trim ? l.trim
				  : share(whole,
					  u64{depth} *
						  (last ? rules.last_hop_share
							: 100) /
						  100);

		room = std::max<u64>(room, 2 * d.packet);
		if (!last || rules.last_hop) {
			l.mark_min = share(whole, rules.mark_min);
			l.mark_max = share(whole, rules.mark_max);
		}
		l.trim = rules.trim ? room : 0;
		/* Packets that must not be trimmed may use twice the queue. */
		l.queue = rules.trim ? 2 * room : room;
	}
}
} // namespace mrcsim

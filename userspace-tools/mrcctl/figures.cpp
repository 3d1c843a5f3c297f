// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "figures.hpp"

#include "error.hpp"
#include "profile.hpp"

namespace mrcctl
{
namespace
{
/* What @get returns; no value if the kernel refuses. */
template <typename Fn>
auto if_possible(MetricsOfDevice &m, const char *part, Fn get)
	-> std::optional<decltype(get())>
{
	try {
		return get();
	} catch (const DeviceError &e) {
		m.missing.push_back({part, e.what()});
		return {};
	}
}

} // namespace

std::vector<Port> ports_with_counters(Backend &dev)
{
	std::vector<Port> out = dev.ports();

	for (Port &p : out)
		p.counters = dev.counters(p.num);
	return out;
}

std::vector<Qp> all_qps(Backend &dev, const std::vector<QpName> &names)
{
	std::vector<Qp> out;

	for (const QpName &name : names)
		if (std::optional<Qp> q = dev.qp(name))
			out.push_back(std::move(*q));
	return out;
}

MetricsOfDevice figures_of(System &system, const std::string &name)
{
	MetricsOfDevice m;

	m.name = name;
	/* A device may go away at any time. */
	const auto dev =
		if_possible(m, "all", [&] { return system.open(name); });

	if (!dev)
		return m;
	Backend &d = **dev;

	m.device = if_possible(m, "device", [&] { return d.device(); });
	m.ports =
		if_possible(m, "ports", [&] { return ports_with_counters(d); });
	m.qp_names = if_possible(m, "qp_names", [&] { return d.qps(); });
	m.qps = if_possible(m, "qps", [&] {
		return all_qps(d, m.qp_names ? *m.qp_names : d.qps());
	});
	m.ev_profiles = if_possible(m, "ev_profiles",
				    [&] { return all_of(d).ev_profiles; });
	return m;
}
} // namespace mrcctl

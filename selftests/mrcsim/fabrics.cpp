// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "fabrics.hpp"

#include "fabric_shape.hpp"

namespace mrcsim
{
LinkSpec plain_link()
{
	return {.rate = 100'000'000'000, .delay = 1 * us};
}

Shape plain_clos(u32 planes, u32 t0, u32 t1, u32 hosts)
{
	Shape s;

	s.planes = planes;
	s.t0 = t0;
	s.t1 = t1;
	s.hosts = hosts;
	for (LinkSpec &l : s.spec)
		l = plain_link();
	return s;
}

Shape marking_clos(u32 planes, u32 t0, u32 t1, u32 hosts)
{
	Shape s = plain_clos(planes, t0, t1, hosts);

	fill_queues(s, {}, {});
	return s;
}

void finish(Simulator &sim, u64 end)
{
	while (sim.run(1024) && sim.now() < end)
		;
}

std::vector<u64> times_of(const Simulator &sim)
{
	std::vector<u64> t;

	for (const FlowState &f : sim.flows())
		t.push_back(f.ended == never_ps ? never_ps : f.ended - f.began);
	return t;
}
} // namespace mrcsim

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "random_fabric.hpp"

#include <gtest/gtest.h>

namespace mrclab
{
uint64_t draw(Random &random, uint64_t min, uint64_t max)
{
	return std::uniform_int_distribution<uint64_t>(min, max)(random);
}

Fabric fabric_of(uint32_t planes, uint32_t t0, uint32_t t1, uint32_t hosts,
		 Forwarding forwarding)
{
	Fabric f;

	f.file = "test.yaml";
	f.name = "test";
	f.prefix = "test-";
	f.planes = planes;
	f.t0 = t0;
	f.t1 = t1;
	f.hosts = hosts;
	f.forwarding = forwarding;
	return f;
}

Fabric random_fabric(Random &r)
{
	const auto n = [&r](uint64_t min, uint64_t max) {
		return static_cast<uint32_t>(draw(r, min, max));
	};
	const uint32_t t0 = n(1, 6);
	Fabric f = fabric_of(n(1, 4), t0, n(t0 > 1 ? 1 : 0, 6), n(1, 5),
			     static_cast<Forwarding>(n(0, 2)));

	f.block = static_cast<uint16_t>(n(0xfc00, 0xfdff));
	f.block4 = static_cast<uint16_t>(n(0x0a00, 0x0aff));
	return f;
}

std::vector<Fabric> largest_fabrics()
{
	return {
		fabric_of(16, 2, 2, 127), fabric_of(1, 254, 3, 1),
		fabric_of(1, 3, 255, 2),  fabric_of(1, 1, 0, 254),
		fabric_of(2, 254, 1, 1),
	};
}

void on_topologies(bool largest,
		   const std::function<void(const Topology &, Random &)> &check)
{
	Random r(1);
	std::vector<Fabric> all;

	for (int i = 0; i < 60; i++)
		all.push_back(random_fabric(r));
	for (const Fabric &f : largest_fabrics())
		if (largest)
			all.push_back(f);
	for (const Fabric &f : all) {
		SCOPED_TRACE(testing::PrintToString(f));
		check(Topology(f), r);
	}
}

void PrintTo(const Fabric &f, std::ostream *out)
{
	*out << "planes " << f.planes << " t0 " << f.t0 << " t1 " << f.t1
	     << " hosts " << f.hosts << " forwarding "
	     << static_cast<int>(f.forwarding);
}
} // namespace mrclab

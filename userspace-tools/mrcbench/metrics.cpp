// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "metrics.hpp"

#include <array>

namespace mrcbench
{
namespace
{
constexpr std::array all{
	Metric{"goodput", "goodput", "Mbit/s", 1},
	Metric{"rate", "messages", "1/s", 0},
	Metric{"lat_min", "latency, smallest", "us", 2},
	Metric{"lat_p50", "latency, median", "us", 2},
	Metric{"lat_p90", "latency, 90 %", "us", 2},
	Metric{"lat_p99", "latency, 99 %", "us", 2},
	Metric{"lat_p999", "latency, 99.9 %", "us", 2},
	Metric{"lat_max", "latency, largest", "us", 2},
	Metric{"lat_mean", "latency, mean", "us", 2},
	Metric{"cpu_byte", "processor time per byte", "ns", 3},
	Metric{"cpu_msg", "processor time per message", "ns", 0},
	Metric{"cpu_busy", "processors busy", "%", 1},
	Metric{"cpu_user", "of it user", "%", 1},
	Metric{"cpu_system", "of it system", "%", 1},
	Metric{"cpu_irq", "of it interrupts", "%", 1},
	Metric{"client_cpu", "client process per message", "ns", 0},
	Metric{"server_cpu", "server process per message", "ns", 0},
	Metric{"resent", "packets sent again", "%", 2},
	Metric{"fairness", "fairness (Jain)", "", 3},
	Metric{"qp_memory", "kernel memory per idle QP outside the rings", "bytes", 0},
	Metric{"qp_around", "index trees and mappings per idle QP", "bytes", 0},
	Metric{"qp_rings", "rings per idle QP", "bytes", 0},
};
} // namespace

std::span<const Metric> metrics()
{
	return all;
}

const Metric *find_metric(const std::string &name)
{
	for (const Metric &m : all)
		if (name == m.name)
			return &m;
	return nullptr;
}

std::vector<std::string> usual_metrics(Kind test)
{
	switch (test) {
	case Kind::bw:
		return {"goodput", "cpu_byte"};
	case Kind::rate:
		return {"rate", "cpu_msg"};
	case Kind::lat:
	case Kind::rtt:
		return {"lat_p50", "lat_p99"};
	case Kind::idle:
		break;
	}
	return {"qp_memory", "qp_around", "qp_rings"};
}
} // namespace mrcbench

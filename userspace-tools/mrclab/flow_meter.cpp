// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "flow_meter.hpp"

#include "devices.hpp"
#include "ip_commands.hpp"

namespace mrclab
{
namespace
{
/* The netdev of rxe's only port. */
Direction rxe_link(const Topology &t, uint32_t host)
{
	return t.sent_by(t.host(host)).front();
}

/* What the payload of a packet is on average. */
double payload(uint64_t message, uint64_t mtu)
{
	const uint64_t packets = (message + mtu - 1) / mtu;

	return static_cast<double>(message) / static_cast<double>(packets);
}

/* The largest of RDMA's MTUs with room for the headers of RoCE v2 over IPv6. */
uint64_t path_mtu(uint64_t netdev)
{
	constexpr uint64_t headers = 40 + 8 + 12 + 16 + 4 + 28;
	uint64_t mtu = 256;

	while (mtu < 4096 && 2 * mtu + headers <= netdev)
		mtu *= 2;
	return mtu;
}
} // namespace

FlowMeter::FlowMeter(const Topology &t, Devices devices,
		     const std::vector<Flow> &flows, bool evs, Pids pids)
	: topology_(t), devices_(devices), flows_(flows),
	  pids_(std::move(pids)), sampler_(t)
{
	if (evs)
		evs_ = std::make_unique<EvMeter>(t, flows);
	counters_.resize(flows.size());
	for (std::size_t f = 0; f < flows.size(); f++) {
		if (flows[f].latency)
			continue;
		if (by_packets(f))
			for (const auto *jobs :
			     {&flows[f].servers, &flows[f].clients})
				for (const Job &j : *jobs)
					progress_.try_emplace(
						j.host,
						netns_of(t.fabric(),
							 t.host(j.host)),
						device_of(t.fabric(), j.host),
						devices);
		else if (devices == Devices::mrc)
			for (const uint32_t h : flows[f].counted)
				counters_[f].emplace_back(
					netns_of(t.fabric(), t.host(h)),
					device_of(t.fabric(), h),
					t.fabric().planes,
					flows[f].by_sender ? "tx_data_bytes"
							   : "rx_data_bytes");
	}
}

bool FlowMeter::by_packets(std::size_t flow) const
{
	const Flow &f = flows_[flow];

	return f.message && (devices_ != Devices::mrc || f.by_sender);
}

uint64_t FlowMeter::mrc_bytes(std::size_t flow) const
{
	uint64_t sum = 0;

	for (const HwCounter &c : counters_[flow])
		sum += c.read();
	return sum;
}

uint64_t FlowMeter::packet_bytes(std::size_t flow, const Packets &packets) const
{
	uint64_t sum = 0;

	for (const pid_t pid : pids_(flow))
		for (const auto &[host, of] : packets) {
			const auto p = of.find(pid);

			sum += p == of.end() ? 0 : p->second;
		}
	return static_cast<uint64_t>(static_cast<double>(sum) *
				     payload(flows_[flow].message,
					     path_mtu(topology_.fabric().mtu)));
}

uint64_t FlowMeter::netdev_bytes(std::size_t flow, const Reading &reading) const
{
	const Flow &f = flows_[flow];
	uint64_t sum = 0;

	for (const uint32_t h : f.counted) {
		const auto c = reading.links.find(rxe_link(topology_, h));

		if (c != reading.links.end())
			sum += f.by_sender ? c->second.tx_bytes
					   : c->second.rx_bytes;
	}
	return sum;
}

Reading FlowMeter::read(std::chrono::steady_clock::time_point start)
{
	Packets packets;
	Reading r;

	r.links = sampler_.sample();
	if (evs_)
		r.evs = evs_->read();
	for (auto &[host, progress] : progress_)
		packets[host] = progress.read();
	for (std::size_t f = 0; f < flows_.size(); f++)
		r.flows.push_back(flows_[f].latency ? 0
				  : by_packets(f)   ? packet_bytes(f, packets)
				  : devices_ == Devices::mrc
					  ? mrc_bytes(f)
					  : netdev_bytes(f, r));
	r.at = static_cast<uint64_t>(
		std::chrono::nanoseconds(std::chrono::steady_clock::now() -
					 start)
			.count());
	return r;
}
} // namespace mrclab

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "ev_meter.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <set>

#include <fmt/format.h>

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "address.hpp"
#include "error.hpp"
#include "ev_packet.hpp"
#include "ip_commands.hpp"
#include "netns.hpp"

namespace mrclab
{
namespace
{
/*
 * A ring has room for what a port of 0.5 Gbit/s receives between two samples in
 * full packets, and for slower ones during a pause.
 */
constexpr std::size_t slot = 256, slots = 4096, block = 1 << 16;
constexpr std::size_t ring_size = slot * slots;
static_assert(TPACKET2_HDRLEN + ev_packet_headers <= slot);

/* More would be those of something else than the drill's programs. */
constexpr std::size_t most_paths = 16384;

std::array<uint8_t, 16> address_of(const std::string &text)
{
	std::array<uint8_t, 16> a{};

	if (inet_pton(AF_INET6, text.c_str(), a.data()) == 1)
		return a;
	a[10] = a[11] = 0xff;
	if (inet_pton(AF_INET, text.c_str(), &a[12]) != 1)
		throw SystemError(text, EINVAL);
	return a;
}

void set_option(int fd, int option, const void *value, socklen_t length)
{
	if (setsockopt(fd, SOL_PACKET, option, value, length))
		throw SystemError("a ring of packets", errno);
}

/* What the host sends is left out, and payload is cut off. */
void set_filter(int fd)
{
	std::array<sock_filter, 4> code = {{
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 static_cast<uint32_t>(SKF_AD_OFF + SKF_AD_PKTTYPE)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, ev_packet_headers),
		BPF_STMT(BPF_RET | BPF_K, 0),
	}};
	const sock_fprog program{static_cast<unsigned short>(code.size()),
				 code.data()};

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
		       sizeof(program)))
		throw SystemError("a filter of packets", errno);
}

fd::Fd ring_on(const std::string &netdev)
{
	fd::Fd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
	const int version = TPACKET_V2;
	tpacket_req req{};
	sockaddr_ll to{};

	if (!fd.open())
		throw SystemError("a socket of packets", errno);
	req.tp_block_size = block;
	req.tp_block_nr = ring_size / block;
	req.tp_frame_size = slot;
	req.tp_frame_nr = slots;
	set_filter(fd.get());
	set_option(fd.get(), PACKET_VERSION, &version, sizeof(version));
	set_option(fd.get(), PACKET_RX_RING, &req, sizeof(req));
	to.sll_family = AF_PACKET;
	to.sll_protocol = htons(ETH_P_ALL);
	to.sll_ifindex = static_cast<int>(if_nametoindex(netdev.c_str()));
	if (!to.sll_ifindex ||
	    bind(fd.get(), reinterpret_cast<const sockaddr *>(&to), sizeof(to)))
		throw SystemError(netdev, errno);
	return fd;
}
} // namespace

void EvMeter::Unmap::operator()(std::byte *memory) const
{
	munmap(memory, ring_size);
}

EvMeter::EvMeter(const Topology &t, const std::vector<Flow> &flows)
{
	std::set<uint32_t> hosts;

	for (const Flow &f : flows)
		if (!f.latency)
			for (const auto *jobs : {&f.servers, &f.clients})
				for (const Job &j : *jobs)
					hosts.insert(j.host);
	for (uint32_t h = 1; h <= t.fabric().all_hosts(); h++) {
		hosts_[address_of(host6(t, h))] = h;
		hosts_[address_of(host4(t, h))] = h;
	}
	for (const uint32_t h : hosts)
		in_netns(netns_of(t.fabric(), t.host(h)), [&] {
			for (const Direction d : t.sent_by(t.host(h)))
				open(t, h, d);
		});
}

/* In the namespace of the host. */
void EvMeter::open(const Topology &t, uint32_t host, Direction sent)
{
	Ring ring;

	ring.host = host;
	ring.plane = t.links()[sent.link].plane;
	ring.fd = ring_on(t.from(sent).netdev);

	void *memory = mmap(nullptr, ring_size, PROT_READ | PROT_WRITE,
			    MAP_SHARED, ring.fd.get(), 0);

	if (memory == MAP_FAILED)
		throw SystemError("a ring of packets", errno);
	ring.memory.reset(static_cast<std::byte *>(memory));
	rings_.push_back(std::move(ring));
}

void EvMeter::take(Ring &ring)
{
	/* A call must end, however fast packets come. */
	for (std::size_t n = 0; n < slots; n++) {
		std::byte *const at = ring.memory.get() + ring.next * slot;
		auto *const h = reinterpret_cast<tpacket2_hdr *>(at);
		const std::atomic_ref<uint32_t> status(h->tp_status);

		if (!(status.load(std::memory_order_acquire) & TP_STATUS_USER))
			return;

		const auto packet = parse_ev_packet(
			{reinterpret_cast<const uint8_t *>(at) + h->tp_mac,
			 std::min<std::size_t>(h->tp_snaplen,
					       slot - h->tp_mac)});
		const auto from =
			packet ? hosts_.find(packet->source) : hosts_.end();

		if (from != hosts_.end()) {
			EvCount &c = counts_[{ring.plane, from->second,
					      ring.host, packet->entropy}];

			c.bytes += h->tp_len;
			c.packets++;
		}
		status.store(TP_STATUS_KERNEL, std::memory_order_release);
		ring.next = (ring.next + 1) % slots;
	}
}

const std::map<EvPath, EvCount> &EvMeter::read()
{
	for (Ring &ring : rings_) {
		tpacket_stats stats{};
		socklen_t length = sizeof(stats);

		take(ring);
		if (getsockopt(ring.fd.get(), SOL_PACKET, PACKET_STATISTICS,
			       &stats, &length))
			throw SystemError("a ring of packets", errno);
		if (stats.tp_drops)
			throw SystemError(fmt::format(
				"host {} received more packets in plane {} "
				"than can be counted by EV: {} are missing",
				ring.host, ring.plane, stats.tp_drops));
	}
	if (counts_.size() > most_paths)
		throw SystemError(
			fmt::format("more than {} EVs carry data", most_paths));
	return counts_;
}
} // namespace mrclab

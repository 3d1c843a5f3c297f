/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: sends and receives probes on the netdev of one plane, by a raw socket
 * of protocol 41 (IPv6 in IPv6) that is bound to the netdev.
 *
 * Such a socket gives what is needed, and no more: the kernel makes the outer
 * header with the route and the source address that MRC's own packets have, and
 * returning probes come through the host's IPv6 as far as these do. A packet
 * socket would need the hardware address of the next hop, and the kernel would
 * answer each returning probe by an ICMPv6 error, as nobody else wants protocol
 * 41. MRC's packets never come here: the driver takes them before. What other
 * tunnels receive is kept away by a filter.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../common/fd.hpp"
#include "agent_state.hpp"

namespace mrcmap
{
class ProbePort
{
public:
	/* Throws SystemError. Without CAP_NET_RAW it says so. */
	ProbePort(uint32_t plane, std::string netdev, const Config &config);
	~ProbePort();
	ProbePort(ProbePort &&) noexcept;
	ProbePort &operator=(ProbePort &&) noexcept;

	uint32_t plane() const { return plane_; }
	/* Carrier; none: there is no such netdev. */
	std::optional<bool> carrier() const;
	/* Binds to a netdev that was removed and made again. */
	void check_netdev();

	/* @refused gets those that the kernel did not take. */
	void send(std::span<const Packet> packets,
		  const std::function<void(const Packet &)> &refused);

	/*
	 * All packets that wait, from the inner header on, with the plane and
	 * the times at which they came; these are between @earliest and now.
	 * False if the kernel had to drop some.
	 */
	using Got = std::function<void(std::span<const uint8_t>, uint32_t,
				       uint64_t)>;
	bool receive(uint64_t earliest, const Got &got);

private:
	struct Batch;

	void open();
	std::optional<unsigned int> index_now() const;

	uint32_t plane_;
	std::string netdev_;
	Config config_;
	unsigned int index_ = 0; /* of the netdev */
	fd::Fd socket_;
	uint32_t drops_ = 0; /* of the socket, by the kernel's count */
	std::unique_ptr<Batch> in_, out_;
};
} // namespace mrcmap

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "qp_progress.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "devices.hpp"
#include "error.hpp"
#include "netns.hpp"

namespace mrclab
{
namespace
{
constexpr uint32_t psn_mask = 0xffffff;
/* IBV_QPS_RTR and IBV_QPS_RTS */
constexpr char state_rtr = 2;
constexpr char state_rts = 3;
constexpr std::size_t buffer_size = 1 << 16;

struct Request {
	nlmsghdr header;
	nlattr attr;
	uint32_t index;
};

using Use = std::function<void(uint16_t type, const char *data,
			       std::size_t length)>;

/* Calls @use for each attribute. */
void each_attr(const char *data, std::size_t length, const Use &use)
{
	nlattr a{};

	while (length >= sizeof(a)) {
		std::memcpy(&a, data, sizeof(a));
		if (a.nla_len < sizeof(a) || a.nla_len > length)
			return;
		use(a.nla_type & NLA_TYPE_MASK, data + sizeof(a),
		    a.nla_len - sizeof(a));

		const std::size_t all = NLA_ALIGN(a.nla_len);

		if (all >= length)
			return;
		data += all;
		length -= all;
	}
}

uint32_t number(const char *data, std::size_t length)
{
	uint32_t n = 0;

	if (length >= sizeof(n))
		std::memcpy(&n, data, sizeof(n));
	return n;
}

struct Entry {
	uint32_t pid = 0, qpn = 0, psn = 0;
	bool receives = false; /* connected; before, the PSN is another one */
};

Entry entry_of(const char *data, std::size_t length)
{
	Entry e;

	each_attr(data, length,
		  [&e](uint16_t type, const char *d, std::size_t n) {
			  if (type == RDMA_NLDEV_ATTR_RES_PID)
				  e.pid = number(d, n);
			  if (type == RDMA_NLDEV_ATTR_RES_LQPN)
				  e.qpn = number(d, n);
			  if (type == RDMA_NLDEV_ATTR_RES_RQ_PSN)
				  e.psn = number(d, n);
			  if (type == RDMA_NLDEV_ATTR_RES_STATE && n > 0)
				  e.receives =
					  *d == state_rtr || *d == state_rts;
		  });
	return e;
}
} // namespace

QpProgress::QpProgress(const std::string &netns, const std::string &device)
	: index_(device_index(netns, device))
{
	in_netns(netns, [this] {
		fd_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
		if (fd_ < 0)
			throw SystemError("RDMA netlink", errno);
	});
}

QpProgress::~QpProgress()
{
	close(fd_);
}

void QpProgress::ask() const
{
	Request r{};

	r.header.nlmsg_len = sizeof(r);
	r.header.nlmsg_type =
		RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_QP_GET);
	r.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	r.attr.nla_len = sizeof(r.attr) + sizeof(r.index);
	r.attr.nla_type = RDMA_NLDEV_ATTR_DEV_INDEX;
	r.index = index_;
	if (send(fd_, &r, sizeof(r), 0) < 0)
		throw SystemError("RDMA netlink", errno);
}

/* False at the end of the dump. */
bool QpProgress::take(const char *data, std::size_t length)
{
	nlmsghdr h{};

	while (length >= sizeof(h)) {
		std::memcpy(&h, data, sizeof(h));
		if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > length)
			return false;
		if (h.nlmsg_type == NLMSG_DONE || h.nlmsg_type == NLMSG_ERROR)
			return false;
		each_attr(data + NLMSG_HDRLEN, h.nlmsg_len - NLMSG_HDRLEN,
			  [this](uint16_t type, const char *d, std::size_t n) {
				  if (type != RDMA_NLDEV_ATTR_RES_QP)
					  return;
				  each_attr(d, n,
					    [this](uint16_t, const char *q,
						   std::size_t m) {
						    const Entry e =
							    entry_of(q, m);

						    if (e.receives && e.pid)
							    count(e.pid, e.qpn,
								  e.psn);
					    });
			  });

		const std::size_t all = NLMSG_ALIGN(h.nlmsg_len);

		if (all >= length)
			return true;
		data += all;
		length -= all;
	}
	return true;
}

void QpProgress::count(uint32_t pid, uint32_t qpn, uint32_t psn)
{
	const auto key = std::pair(static_cast<pid_t>(pid), qpn);
	const auto [i, is_new] = seen_.try_emplace(key, Seen{psn, 0});

	if (is_new)
		return;

	const uint32_t more = (psn - i->second.psn) & psn_mask;

	if (more < (psn_mask + 1) / 2)
		i->second.packets += more;
	i->second.psn = psn;
}

std::map<pid_t, uint64_t> QpProgress::read()
{
	std::array<char, buffer_size> buffer;
	std::map<pid_t, uint64_t> all;
	bool more = true;

	ask();
	while (more) {
		const ssize_t n = recv(fd_, buffer.data(), buffer.size(), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			throw SystemError("RDMA netlink", errno);
		more = take(buffer.data(), static_cast<std::size_t>(n));
	}
	for (const auto &[key, seen] : seen_)
		all[key.first] += seen.packets;
	return all;
}
} // namespace mrclab

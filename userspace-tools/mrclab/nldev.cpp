// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "nldev.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include "devices.hpp"
#include "error.hpp"
#include "netns.hpp"

namespace mrclab
{
namespace
{
constexpr std::size_t buffer_size = 1 << 16;

template <typename T> T value_of(AttrBytes value)
{
	T n = 0;

	if (value.size() >= sizeof(n))
		std::memcpy(&n, value.data(), sizeof(n));
	return n;
}

/* The messages of one datagram; false at the end of the answer. */
bool take(AttrBytes bytes, bool dump, const UseAttr &use)
{
	nlmsghdr h{};

	while (bytes.size() >= sizeof(h)) {
		std::memcpy(&h, bytes.data(), sizeof(h));
		if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > bytes.size() ||
		    h.nlmsg_type == NLMSG_DONE)
			return false;
		if (h.nlmsg_type == NLMSG_ERROR) {
			nlmsgerr e{};

			if (h.nlmsg_len >= NLMSG_HDRLEN + sizeof(e))
				std::memcpy(&e, bytes.data() + NLMSG_HDRLEN,
					    sizeof(e));
			if (e.error)
				throw SystemError("RDMA netlink", -e.error);
			return false;
		}
		each_attr(
			bytes.subspan(NLMSG_HDRLEN, h.nlmsg_len - NLMSG_HDRLEN),
			use);

		const std::size_t all = NLMSG_ALIGN(h.nlmsg_len);

		if (all >= bytes.size())
			return dump;
		bytes = bytes.subspan(all);
	}
	return dump;
}
} // namespace

void each_attr(AttrBytes attrs, const UseAttr &use)
{
	nlattr a{};

	while (attrs.size() >= sizeof(a)) {
		std::memcpy(&a, attrs.data(), sizeof(a));
		if (a.nla_len < sizeof(a) || a.nla_len > attrs.size())
			return;
		use(a.nla_type & NLA_TYPE_MASK,
		    attrs.subspan(sizeof(a), a.nla_len - sizeof(a)));

		const std::size_t all = NLA_ALIGN(a.nla_len);

		if (all >= attrs.size())
			return;
		attrs = attrs.subspan(all);
	}
}

uint32_t u32_of(AttrBytes value)
{
	return value_of<uint32_t>(value);
}

uint64_t u64_of(AttrBytes value)
{
	return value_of<uint64_t>(value);
}

std::string_view string_of(AttrBytes value)
{
	return {value.data(), strnlen(value.data(), value.size())};
}

Nldev::Nldev(const std::string &netns, const std::string &device)
	: index_(device_index(netns, device))
{
	in_netns(netns, [this] {
		fd_.set(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
			       NETLINK_RDMA));
		if (!fd_.open())
			throw SystemError("RDMA netlink", errno);
	});
}

void Nldev::send_request(
	uint16_t command, bool dump,
	const std::vector<std::pair<uint16_t, uint32_t>> &numbers) const
{
	std::vector<std::pair<uint16_t, uint32_t>> all = {
		{RDMA_NLDEV_ATTR_DEV_INDEX, index_}};
	std::vector<char> bytes(NLMSG_HDRLEN);
	nlmsghdr h{};

	all.insert(all.end(), numbers.begin(), numbers.end());
	for (const auto &[type, number] : all) {
		const nlattr a{sizeof(nlattr) + sizeof(number), type};
		const std::size_t at = bytes.size();

		bytes.resize(at + a.nla_len);
		std::memcpy(&bytes[at], &a, sizeof(a));
		std::memcpy(&bytes[at + sizeof(a)], &number, sizeof(number));
	}
	h.nlmsg_len = static_cast<uint32_t>(bytes.size());
	h.nlmsg_type =
		static_cast<uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
	h.nlmsg_flags =
		static_cast<uint16_t>(NLM_F_REQUEST | (dump ? NLM_F_DUMP : 0));
	std::memcpy(bytes.data(), &h, sizeof(h));
	if (send(fd_.get(), bytes.data(), bytes.size(), 0) < 0)
		throw SystemError("RDMA netlink", errno);
}

void Nldev::ask(uint16_t command, bool dump,
		const std::vector<std::pair<uint16_t, uint32_t>> &numbers,
		const UseAttr &use) const
{
	std::array<char, buffer_size> buffer;
	bool more = true;

	send_request(command, dump, numbers);
	while (more) {
		const ssize_t n =
			recv(fd_.get(), buffer.data(), buffer.size(), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			throw SystemError("RDMA netlink", errno);
		more = take({buffer.data(), static_cast<std::size_t>(n)}, dump,
			    use);
	}
}
} // namespace mrclab

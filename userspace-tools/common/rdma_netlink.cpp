// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "rdma_netlink.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

namespace rdma_netlink
{
namespace
{
constexpr std::size_t buffer_size = 1 << 16;

[[noreturn]] void fail(int err)
{
	throw std::system_error(err, std::generic_category(), "RDMA netlink");
}

template <typename T> T value_of(Bytes value)
{
	T n = 0;

	if (value.size() >= sizeof(n))
		std::memcpy(&n, value.data(), sizeof(n));
	return n;
}
} // namespace

bool each_message(Bytes bytes, bool dump, const UseMessage &use)
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
				fail(-e.error);
			return false;
		}
		use(bytes.subspan(NLMSG_HDRLEN, h.nlmsg_len - NLMSG_HDRLEN));

		const std::size_t all = NLMSG_ALIGN(h.nlmsg_len);

		if (all >= bytes.size())
			return dump;
		bytes = bytes.subspan(all);
	}
	return dump;
}

void each_attr(Bytes attrs, const UseAttr &use)
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

uint8_t u8_of(Bytes value)
{
	return value_of<uint8_t>(value);
}

uint32_t u32_of(Bytes value)
{
	return value_of<uint32_t>(value);
}

uint64_t u64_of(Bytes value)
{
	return value_of<uint64_t>(value);
}

std::string_view string_of(Bytes value)
{
	return {value.data(), strnlen(value.data(), value.size())};
}

Socket::Socket()
{
	fd_.set(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA));
	if (!fd_.open())
		fail(errno);
}

void Socket::send(uint16_t command, bool dump, const Numbers &numbers) const
{
	std::vector<char> bytes(NLMSG_HDRLEN);
	nlmsghdr h{};

	for (const auto &[type, number] : numbers) {
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
	if (::send(fd_.get(), bytes.data(), bytes.size(), 0) < 0)
		fail(errno);
}

void Socket::ask(uint16_t command, bool dump, const Numbers &numbers,
		 const UseMessage &use) const
{
	std::array<char, buffer_size> buffer;
	bool more = true;

	send(command, dump, numbers);
	while (more) {
		const ssize_t n =
			recv(fd_.get(), buffer.data(), buffer.size(), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail(errno);
		more = each_message(
			{buffer.data(), static_cast<std::size_t>(n)}, dump,
			use);
	}
}

std::optional<uint32_t> Socket::index_of(const std::string &device) const
{
	std::optional<uint32_t> found;

	ask(RDMA_NLDEV_CMD_GET, true, {}, [&](Bytes attrs) {
		std::string_view name;
		uint32_t index = 0;

		each_attr(attrs, [&](uint16_t type, Bytes value) {
			if (type == RDMA_NLDEV_ATTR_DEV_INDEX)
				index = u32_of(value);
			else if (type == RDMA_NLDEV_ATTR_DEV_NAME)
				name = string_of(value);
		});
		if (name == device)
			found = index;
	});
	return found;
}
} // namespace rdma_netlink

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "nldev.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "error.hpp"

namespace mrcctl
{
namespace
{
constexpr std::size_t attr_header = NLA_ALIGN(sizeof(nlattr));

/* Iterates over the attributes in a part of a message. */
class Attrs
{
public:
	Attrs(const unsigned char *data, std::size_t len)
		: at_(data), left_(len)
	{
	}

	bool next()
	{
		if (left_ < sizeof(nlattr))
			return false;
		std::memcpy(&attr_, at_, sizeof(attr_));
		if (attr_.nla_len < attr_header || attr_.nla_len > left_)
			return false;
		data_ = at_ + attr_header;
		const std::size_t step =
			std::min<std::size_t>(NLA_ALIGN(attr_.nla_len), left_);

		at_ += step;
		left_ -= step;
		return true;
	}

	int type() const { return attr_.nla_type & NLA_TYPE_MASK; }
	Attrs nested() const { return {data_, size()}; }

	uint32_t u32() const
	{
		uint32_t v = 0;

		if (size() >= sizeof(v))
			std::memcpy(&v, data_, sizeof(v));
		return v;
	}

	uint64_t u64() const
	{
		uint64_t v = 0;

		if (size() >= sizeof(v))
			std::memcpy(&v, data_, sizeof(v));
		return v;
	}

	uint8_t u8() const { return size() ? *data_ : 0; }

	std::string str() const
	{
		const char *s = reinterpret_cast<const char *>(data_);

		return {s, strnlen(s, size())};
	}

private:
	std::size_t size() const { return attr_.nla_len - attr_header; }

	const unsigned char *at_;
	std::size_t left_;
	const unsigned char *data_ = nullptr;
	nlattr attr_{};
};

class Socket
{
public:
	Socket()
		: fd_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA))
	{
		if (fd_ < 0)
			throw DeviceError("RDMA netlink", errno);
	}
	Socket(const Socket &) = delete;
	Socket &operator=(const Socket &) = delete;
	~Socket() { close(fd_); }

	/* Gets all objects for @cmd; @device restricts them. */
	template <typename Fn>
	void dump(int cmd, std::optional<uint32_t> device, Fn each)
	{
		send(cmd, NLM_F_DUMP, device, {});
		while (part(each))
			;
	}

	/* Gets the data of one port. */
	template <typename Fn>
	void get(int cmd, uint32_t device, uint32_t port, Fn each)
	{
		send(cmd, NLM_F_ACK, device, port);
		while (part(each))
			;
	}

private:
	void send(int cmd, uint16_t flags, std::optional<uint32_t> device,
		  std::optional<uint32_t> port)
	{
		struct {
			nlmsghdr hdr;
			struct {
				nlattr attr;
				uint32_t value;
			} arg[2];
		} req{};
		const auto add = [&](uint16_t type,
				     std::optional<uint32_t> value) {
			auto &a = req.arg[req.hdr.nlmsg_len > sizeof(req.hdr)];

			if (!value)
				return;
			a.attr.nla_type = type;
			a.attr.nla_len = attr_header + sizeof(a.value);
			a.value = *value;
			req.hdr.nlmsg_len += sizeof(a);
		};

		req.hdr.nlmsg_type = static_cast<uint16_t>(
			RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, cmd));
		req.hdr.nlmsg_flags =
			static_cast<uint16_t>(NLM_F_REQUEST | flags);
		req.hdr.nlmsg_len = sizeof(req.hdr);
		add(RDMA_NLDEV_ATTR_DEV_INDEX, device);
		add(RDMA_NLDEV_ATTR_PORT_INDEX, port);
		if (::send(fd_, &req, req.hdr.nlmsg_len, 0) < 0)
			throw DeviceError("RDMA netlink", errno);
	}

	/* Reads one datagram; returns false after the last one. */
	template <typename Fn> bool part(Fn each)
	{
		const ssize_t got = recv(fd_, buf_, sizeof(buf_), 0);

		if (got < 0 && errno == EINTR)
			return true;
		if (got < 0)
			throw DeviceError("RDMA netlink", errno);
		auto left = static_cast<unsigned int>(got);

		for (const auto *h = reinterpret_cast<const nlmsghdr *>(buf_);
		     NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			const auto *data = static_cast<const unsigned char *>(
				NLMSG_DATA(h));

			if (h->nlmsg_type == NLMSG_ERROR ||
			    h->nlmsg_type == NLMSG_DONE) {
				int err = 0;

				if (NLMSG_PAYLOAD(h, 0) >= sizeof(err))
					std::memcpy(&err, data, sizeof(err));
				if (err < 0)
					throw DeviceError("RDMA netlink", -err);
				return false;
			}
			each(Attrs(data, NLMSG_PAYLOAD(h, 0)));
		}
		return got > 0;
	}

	int fd_;
	alignas(nlmsghdr) unsigned char buf_[65536];
};

std::string process_name(uint32_t pid)
{
	std::ifstream f(fmt::format("/proc/{}/comm", pid));
	std::string name;

	std::getline(f, name);
	return name;
}

/* enum ib_qp_state and ib_qp_type, as rdma(8) calls them */
std::string state_name(uint8_t state)
{
	static constexpr const char *names[] = {"RESET", "INIT", "RTR", "RTS",
						"SQD",	 "SQE",	 "ERR"};

	return state < std::size(names) ? names[state]
					: fmt::format("{}", state);
}

constexpr uint8_t type_rc = 2;

std::optional<QpName> qp_of(Attrs a)
{
	uint8_t type = 0;
	QpName q;

	while (a.next())
		switch (a.type()) {
		case RDMA_NLDEV_ATTR_RES_LQPN:
			q.qpn = a.u32();
			break;
		case RDMA_NLDEV_ATTR_RES_TYPE:
			type = a.u8();
			break;
		case RDMA_NLDEV_ATTR_RES_STATE:
			q.state = state_name(a.u8());
			break;
		case RDMA_NLDEV_ATTR_RES_PID:
			q.pid = a.u32();
			break;
		case RDMA_NLDEV_ATTR_RES_KERN_NAME:
			q.program = a.str();
			break;
		default:
			break;
		}
	if (type != type_rc)
		return {};
	q.type = "RC";
	if (q.pid)
		q.program = process_name(q.pid);
	return q;
}

std::optional<Counter> counter_of(Attrs a)
{
	Counter c;

	while (a.next())
		if (a.type() == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME)
			c.name = a.str();
		else if (a.type() == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE)
			c.value = a.u64();
	if (c.name.empty())
		return {};
	return c;
}

uint32_t index_of(Socket &s, const std::string &device)
{
	std::optional<uint32_t> found;

	s.dump(RDMA_NLDEV_CMD_GET, {}, [&](Attrs a) {
		uint32_t index = 0;
		std::string name;

		while (a.next())
			if (a.type() == RDMA_NLDEV_ATTR_DEV_INDEX)
				index = a.u32();
			else if (a.type() == RDMA_NLDEV_ATTR_DEV_NAME)
				name = a.str();
		if (name == device)
			found = index;
	});
	if (!found)
		throw DeviceError(device, ENODEV);
	return *found;
}

/* Calls @fn for the nested tables in the tables of type @type in @a. */
template <typename Fn> void each_in(Attrs a, int type, Fn fn)
{
	while (a.next()) {
		if (a.type() != type)
			continue;
		Attrs list = a.nested();

		while (list.next())
			fn(list.nested());
	}
}
} // namespace

std::vector<QpName> nldev_qps(const std::string &device)
{
	std::vector<QpName> out;
	Socket s;

	s.dump(RDMA_NLDEV_CMD_RES_QP_GET, index_of(s, device), [&](Attrs a) {
		each_in(a, RDMA_NLDEV_ATTR_RES_QP, [&](Attrs entry) {
			if (std::optional<QpName> q = qp_of(entry))
				out.push_back(std::move(*q));
		});
	});
	return out;
}

std::vector<Counter> nldev_counters(const std::string &device, uint32_t port)
{
	std::vector<Counter> out;
	Socket s;

	s.get(RDMA_NLDEV_CMD_STAT_GET, index_of(s, device), port, [&](Attrs a) {
		each_in(a, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, [&](Attrs entry) {
			if (std::optional<Counter> c = counter_of(entry))
				out.push_back(std::move(*c));
		});
	});
	return out;
}
} // namespace mrcctl

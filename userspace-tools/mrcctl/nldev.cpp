// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "nldev.hpp"

#include <cerrno>
#include <fstream>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <rdma/rdma_netlink.h>

#include "../common/rdma_netlink.hpp"
#include "error.hpp"

namespace mrcctl
{
using namespace rdma_netlink;

namespace
{
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

std::optional<QpName> qp_of(Bytes attrs)
{
	uint8_t qp_type = 0;
	QpName q;

	each_attr(attrs, [&](uint16_t type, Bytes value) {
		switch (type) {
		case RDMA_NLDEV_ATTR_RES_LQPN:
			q.qpn = u32_of(value);
			break;
		case RDMA_NLDEV_ATTR_RES_TYPE:
			qp_type = u8_of(value);
			break;
		case RDMA_NLDEV_ATTR_RES_STATE:
			q.state = state_name(u8_of(value));
			break;
		case RDMA_NLDEV_ATTR_RES_PID:
			q.pid = u32_of(value);
			break;
		case RDMA_NLDEV_ATTR_RES_KERN_NAME:
			q.program = string_of(value);
			break;
		default:
			break;
		}
	});
	if (qp_type != type_rc)
		return {};
	q.type = "RC";
	if (q.pid)
		q.program = process_name(q.pid);
	return q;
}

std::optional<Counter> counter_of(Bytes attrs)
{
	Counter c;

	each_attr(attrs, [&c](uint16_t type, Bytes value) {
		if (type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME)
			c.name = string_of(value);
		else if (type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE)
			c.value = u64_of(value);
	});
	if (c.name.empty())
		return {};
	return c;
}

/*
 * Asks for a device, and calls @each for the entries of the tables of this type
 * in the answer.
 */
void each_entry(const std::string &device, uint16_t command, bool dump,
		Numbers numbers, uint16_t table, const UseMessage &each)
try {
	const Socket s;
	const auto index = s.index_of(device);

	if (!index)
		throw DeviceError(device, ENODEV);
	numbers.insert(numbers.begin(), {RDMA_NLDEV_ATTR_DEV_INDEX, *index});
	s.ask(command, dump, numbers, [&](Bytes attrs) {
		each_attr(attrs, [&](uint16_t type, Bytes list) {
			if (type == table)
				each_attr(list, [&](uint16_t, Bytes entry) {
					each(entry);
				});
		});
	});
} catch (const std::system_error &e) {
	throw DeviceError("RDMA netlink", e.code().value());
}
} // namespace

std::vector<QpName> nldev_qps(const std::string &device)
{
	std::vector<QpName> out;

	each_entry(device, RDMA_NLDEV_CMD_RES_QP_GET, true, {},
		   RDMA_NLDEV_ATTR_RES_QP, [&out](Bytes entry) {
			   if (std::optional<QpName> q = qp_of(entry))
				   out.push_back(std::move(*q));
		   });
	return out;
}

std::vector<Counter> nldev_counters(const std::string &device, uint32_t port)
{
	std::vector<Counter> out;

	each_entry(device, RDMA_NLDEV_CMD_STAT_GET, false,
		   {{RDMA_NLDEV_ATTR_PORT_INDEX, port}},
		   RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, [&out](Bytes entry) {
			   if (std::optional<Counter> c = counter_of(entry))
				   out.push_back(std::move(*c));
		   });
	return out;
}
} // namespace mrcctl

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "qp_progress.hpp"

#include <optional>

#include <rdma/rdma_netlink.h>

namespace mrclab
{
using namespace rdma_netlink;

namespace
{
constexpr uint32_t psn_mask = 0xffffff;
/* IBV_QPS_RTR and IBV_QPS_RTS */
constexpr char state_rtr = 2;
constexpr char state_rts = 3;

struct Entry {
	uint32_t pid = 0, qpn = 0;
	std::optional<uint32_t> psn; /* that is expected, or was the last */
	bool receives = false; /* connected; before, the PSN is another one */
};

/*
 * The driver's details: a name, then a value. This one is the last PSN received
 * with all before it. A queue pair that has received nothing does not have it.
 */
std::optional<uint32_t> psn_of_mrc(Bytes details)
{
	std::optional<uint32_t> psn;
	bool named = false;

	each_attr(details, [&](uint16_t type, Bytes v) {
		if (type == RDMA_NLDEV_ATTR_DRIVER_STRING)
			named = string_of(v) == "resp_cack";
		if (type == RDMA_NLDEV_ATTR_DRIVER_U32 && named)
			psn = u32_of(v);
	});
	return psn;
}

Entry entry_of(Bytes qp, bool mrc)
{
	Entry e;

	each_attr(qp, [&](uint16_t type, Bytes v) {
		if (type == RDMA_NLDEV_ATTR_RES_PID)
			e.pid = u32_of(v);
		if (type == RDMA_NLDEV_ATTR_RES_LQPN)
			e.qpn = u32_of(v);
		if (type == RDMA_NLDEV_ATTR_RES_RQ_PSN && !mrc)
			e.psn = u32_of(v);
		if (type == RDMA_NLDEV_ATTR_DRIVER && mrc)
			e.psn = psn_of_mrc(v);
		if (type == RDMA_NLDEV_ATTR_RES_STATE && !v.empty())
			e.receives = v[0] == state_rtr || v[0] == state_rts;
	});
	return e;
}
} // namespace

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
	std::map<pid_t, uint64_t> all;
	const auto qp = [this](uint16_t, Bytes one) {
		const Entry e = entry_of(one, mrc_);

		if (e.receives && e.pid && e.psn)
			count(e.pid, e.qpn, *e.psn);
	};

	nldev_.ask(RDMA_NLDEV_CMD_RES_QP_GET, true, {},
		   [&qp](uint16_t type, Bytes list) {
			   if (type == RDMA_NLDEV_ATTR_RES_QP)
				   each_attr(list, qp);
		   });
	for (const auto &[key, seen] : seen_)
		all[key.first] += seen.packets;
	return all;
}
} // namespace mrclab

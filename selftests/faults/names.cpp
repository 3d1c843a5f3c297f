// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "names.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <linux/netlink.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_netlink.h>
#include <rdma/rdma_user_cm.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/socket.h>

namespace
{
using faults::Name;

constexpr const char *commands[] = {
	"GET_CONTEXT",	"QUERY_DEVICE", "QUERY_PORT",
	"ALLOC_PD",	"DEALLOC_PD",	"CREATE_AH",
	"MODIFY_AH",	"QUERY_AH",	"DESTROY_AH",
	"REG_MR",	"REG_SMR",	"REREG_MR",
	"QUERY_MR",	"DEREG_MR",	"ALLOC_MW",
	"BIND_MW",	"DEALLOC_MW",	"CREATE_COMP_CHANNEL",
	"CREATE_CQ",	"RESIZE_CQ",	"DESTROY_CQ",
	"POLL_CQ",	"PEEK_CQ",	"REQ_NOTIFY_CQ",
	"CREATE_QP",	"QUERY_QP",	"MODIFY_QP",
	"DESTROY_QP",	"POST_SEND",	"POST_RECV",
	"ATTACH_MCAST", "DETACH_MCAST", "CREATE_SRQ",
	"MODIFY_SRQ",	"QUERY_SRQ",	"DESTROY_SRQ",
};

constexpr const char *objects[] = {
	"DEVICE",   "PD",	   "COMP_CHANNEL", "CQ",	  "QP",
	"SRQ",	    "AH",	   "MR",	   "MW",	  "FLOW",
	"XRCD",	    "RWQ_IND_TBL", "WQ",	   "FLOW_ACTION", "DM",
	"COUNTERS", "ASYNC_EVENT",
};

constexpr const char *cm_commands[] = {
	"CREATE_ID",	 "DESTROY_ID",	 "BIND_IP",    "RESOLVE_IP",
	"RESOLVE_ROUTE", "QUERY_ROUTE",	 "CONNECT",    "LISTEN",
	"ACCEPT",	 "REJECT",	 "DISCONNECT", "INIT_QP_ATTR",
	"GET_EVENT",	 "GET_OPTION",	 "SET_OPTION", "NOTIFY",
	"JOIN_IP_MCAST", "LEAVE_MCAST",	 "MIGRATE_ID", "QUERY",
	"BIND",		 "RESOLVE_ADDR", "JOIN_MCAST",
};

constexpr const char *nldev_commands[] = {
	"?",
	"GET",
	"SET",
	"NEWLINK",
	"DELLINK",
	"PORT_GET",
	"SYS_GET",
	"SYS_SET",
	"?",
	"RES_GET",
	"RES_QP_GET",
	"RES_CM_ID_GET",
	"RES_CQ_GET",
	"RES_MR_GET",
	"RES_PD_GET",
	"GET_CHARDEV",
	"STAT_SET",
	"STAT_GET",
	"STAT_DEL",
	"RES_QP_GET_RAW",
	"RES_CQ_GET_RAW",
	"RES_MR_GET_RAW",
	"RES_CTX_GET",
	"RES_SRQ_GET",
};

constexpr const char *states[] = {"RESET", "INIT", "RTR", "RTS",
				  "SQD",   "SQE",  "ERR"};

template <std::size_t N>
const char *word(const char *const (&list)[N], uint64_t i, const char *other)
{
	return i < N ? list[i] : other;
}

template <typename... Args> Name text(const char *fmt, Args... args)
{
	Name n{};

	std::snprintf(n.data(), n.size(), fmt, args...);
	return n;
}

/* Kinds of queue pairs differ in what they allocate. The test says which it is.
 */
const char *label()
{
	const char *l = std::getenv("MRC_FAULTS_LABEL");

	return l ? l : "QP";
}

const ib_uverbs_attr *attribute(const ib_uverbs_ioctl_hdr &hdr, uint16_t id)
{
	for (unsigned i = 0; i < hdr.num_attrs; i++)
		if (hdr.attrs[i].attr_id == id)
			return &hdr.attrs[i];
	return nullptr;
}

Name modify_qp(const ib_uverbs_attr *in)
{
	if (!in || in->len < sizeof(ib_uverbs_modify_qp))
		return text("%s modified", label());
	const auto *cmd = reinterpret_cast<const ib_uverbs_modify_qp *>(
		static_cast<uintptr_t>(in->data));

	if (!(cmd->attr_mask & 1)) /* IBV_QP_STATE */
		return text("%s modified", label());
	return text("%s to %s", label(), word(states, cmd->qp_state, "?"));
}

Name write_command(const ib_uverbs_ioctl_hdr &hdr)
{
	const ib_uverbs_attr *cmd = attribute(hdr, UVERBS_ATTR_WRITE_CMD);
	const uint64_t n =
		cmd ? cmd->data & IB_USER_VERBS_CMD_COMMAND_MASK : ~0U;

	switch (n) {
	case IB_USER_VERBS_CMD_MODIFY_QP:
		return modify_qp(attribute(hdr, UVERBS_ATTR_CORE_IN));
	case IB_USER_VERBS_CMD_CREATE_QP:
		return text("%s created", label());
	case IB_USER_VERBS_CMD_DESTROY_QP:
		return text("%s destroyed", label());
	default:
		return text("%s", word(commands, n, "a verbs command"));
	}
}
} // namespace

namespace faults
{
Name uverbs_name(const void *arg)
{
	const auto &hdr = *static_cast<const ib_uverbs_ioctl_hdr *>(arg);

	if (hdr.object_id == UVERBS_OBJECT_DEVICE &&
	    hdr.method_id == UVERBS_METHOD_INVOKE_WRITE)
		return write_command(hdr);
	if (hdr.object_id == UVERBS_OBJECT_QP)
		return text("%s %s", label(),
			    hdr.method_id == UVERBS_METHOD_QP_CREATE
				    ? "created"
				    : "destroyed");
	if (hdr.object_id & UVERBS_ID_NS_MASK)
		return text("MRC object %u method %u",
			    hdr.object_id & ~UVERBS_ID_NS_MASK,
			    hdr.method_id & ~UVERBS_ID_NS_MASK);
	return text("%s method %u", word(objects, hdr.object_id, "an object"),
		    hdr.method_id);
}

Name cm_name(const void *buf, std::size_t len)
{
	rdma_ucm_cmd_hdr hdr{};

	if (len < sizeof(hdr))
		return text("rdma_cm ?");
	std::memcpy(&hdr, buf, sizeof(hdr));
	return text("rdma_cm %s", word(cm_commands, hdr.cmd, "?"));
}

Name netlink_name(int protocol, const void *buf, std::size_t len)
{
	nlmsghdr hdr{};

	if (len < sizeof(hdr))
		return {};
	std::memcpy(&hdr, buf, sizeof(hdr));
	switch (protocol) {
	case NETLINK_RDMA:
		return text("rdma %s%s",
			    word(nldev_commands, RDMA_NL_GET_OP(hdr.nlmsg_type),
				 "?"),
			    hdr.nlmsg_flags & NLM_F_DUMP ? " dump" : "");
	case NETLINK_ROUTE:
		return text("rtnetlink %u", hdr.nlmsg_type);
	default:
		return {};
	}
}
} // namespace faults

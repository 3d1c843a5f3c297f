// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "objects.hpp"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

void must(int ret, const char *what)
{
	if (ret)
		throw Failure(std::string(what) + ": " +
			      errno_text(ret > 0 ? ret : errno));
}

Verbs open_device(const std::string &name)
{
	int n = 0;
	ibv_device **list = must(ibv_get_device_list(&n), "device list");
	Verbs found;

	for (int i = 0; i < n && !found; i++)
		if (ibv_get_device_name(list[i]) == name)
			found.reset(ibv_open_device(list[i]));
	ibv_free_device_list(list);
	if (!found)
		throw Failure("cannot open " + name);
	return found;
}

/* The first GID that is an IPv4 address. */
static bool find_gid(Node &n)
{
	for (uint32_t i = 0; i < 64; i++) {
		ibv_gid_entry e{};

		if (ibv_query_gid_ex(n.verbs.get(), 1, i, &e, 0) ||
		    e.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		static const uint8_t v4[12] = {0, 0, 0, 0, 0,	 0,
					       0, 0, 0, 0, 0xff, 0xff};
		if (std::memcmp(e.gid.raw, v4, sizeof(v4)))
			continue;
		n.gid = e.gid;
		n.gid_index = static_cast<int>(i);
		return true;
	}
	return false;
}

Node::Node(const std::string &dev)
	: name(dev), verbs(open_device(dev)), ctx(make_context(verbs.get())),
	  pd(must(ibv_alloc_pd(verbs.get()), "PD"))
{
	ibv_port_attr port{};
	int supported = 0;

	must(ibv_query_port(verbs.get(), 1, &port), "port");
	mtu = port.active_mtu;
	if (!find_gid(*this))
		throw Failure(dev + " has no IPv4 GID");
	must(mrc_query_device(verbs.get(), &attr, &supported), "query");
	if (!supported)
		throw Failure(dev + " has no MRC");
}

Context make_context(ibv_context *verbs)
{
	return Context(must(mrc_create_context(verbs, nullptr), "context"));
}

Cq make_cq(const Node &n, int cqe, void *arg, mrc_comp_channel *channel)
{
	return Cq(must(mrc_create_cq(n.ctx.get(), cqe, arg, channel, 0), "CQ"));
}

Channel make_channel(const Node &n)
{
	mrc_comp_channel *ch = nullptr;

	must(mrc_create_comp_channel(n.ctx.get(), &ch), "channel");
	return Channel(must(ch, "channel"));
}

mrc_qp_init_attr qp_init(const Node &n, mrc_cq *send_cq, mrc_cq *recv_cq)
{
	mrc_qp_init_attr init{};

	init.send_cq = send_cq;
	init.recv_cq = recv_cq;
	init.pd = n.pd.get();
	init.cap.max_send_wr = 16;
	init.cap.max_recv_wr = 16;
	init.cap.max_send_sge = 1;
	init.cap.max_recv_sge = 1;
	return init;
}

Qp make_qp(const Node &n, const mrc_qp_init_attr &init)
{
	mrc_qp_init_attr copy = init;

	return Qp(must(mrc_create_qp(n.ctx.get(), &copy), "QP"));
}

Qp make_qp(const Node &n, mrc_cq *cq)
{
	return make_qp(n, qp_init(n, cq, cq));
}

Hint make_hint(mrc_context *ctx)
{
	mrc_qp_hint_init_attr init{};

	init.attr.num_qps_per_peer = 4;
	init.attr.num_send_peers = 2;
	init.attr.num_remote_recv_peers = 1;
	return Hint(must(mrc_create_qp_hint(ctx, &init), "hint"));
}

uint32_t num(mrc_qp *qp)
{
	uint32_t n = 0;

	must(mrc_get_qpn(qp, &n), "number of a QP");
	return n;
}

ibv_qp_state state(mrc_qp *qp)
{
	ibv_qp_attr attr{};

	must(mrc_query_qp(qp, &attr, IBV_QP_STATE, nullptr, 0, nullptr),
	     "state of a QP");
	return attr.qp_state;
}

ibv_qp_attr init_attr()
{
	ibv_qp_attr a{};

	a.qp_state = IBV_QPS_INIT;
	a.port_num = 1;
	a.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	return a;
}

ibv_qp_attr rtr_attr(const Node &n, const ibv_gid &to, uint32_t dest,
		     uint32_t psn)
{
	ibv_qp_attr a{};

	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = n.mtu;
	a.dest_qp_num = dest;
	a.rq_psn = psn;
	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = 1;
	a.ah_attr.grh.dgid = to;
	a.ah_attr.grh.sgid_index = static_cast<uint8_t>(n.gid_index);
	a.ah_attr.grh.hop_limit = 255;
	return a;
}

/* With the numbers of a program for which these are no attributes of MRC. */
ibv_qp_attr rts_attr(uint32_t psn)
{
	ibv_qp_attr a{};

	a.qp_state = IBV_QPS_RTS;
	a.sq_psn = psn;
	a.timeout = 7;
	a.retry_cnt = 14;
	a.rnr_retry = 14;
	return a;
}

void set_state(mrc_qp *qp, ibv_qp_state to)
{
	ibv_qp_attr a{};

	a.qp_state = to;
	must(mrc_modify_qp(qp, &a, IBV_QP_STATE, nullptr, 0), "state");
}

void bring(const Node &n, mrc_qp *qp, ibv_qp_state to)
{
	ibv_qp_attr a = init_attr();

	if (to == IBV_QPS_RESET)
		return;
	must(mrc_modify_qp(qp, &a, init_mask, nullptr, 0), "INIT");
	if (to == IBV_QPS_RTR || to == IBV_QPS_RTS) {
		a = rtr_attr(n, n.gid, num(qp));
		must(mrc_modify_qp(qp, &a, rtr_mask, nullptr, 0), "RTR");
	}
	if (to == IBV_QPS_RTS) {
		a = rts_attr();
		must(mrc_modify_qp(qp, &a, rts_mask, nullptr, 0), "RTS");
	}
	if (to == IBV_QPS_ERR)
		set_state(qp, IBV_QPS_ERR);
}

Pages::Pages(size_t len)
{
	const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));

	len_ = (len + page - 1) / page * page;
	void *p = mmap(nullptr, len_ + page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		throw Failure("no memory");
	data_ = static_cast<uint8_t *>(p);
	must(mprotect(data_ + len_, page, PROT_NONE), "mprotect");
}

Pages::~Pages()
{
	munmap(data_, len_ + static_cast<size_t>(sysconf(_SC_PAGESIZE)));
}

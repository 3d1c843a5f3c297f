// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: libibverbs objects that clean up after themselves.
 */
#include "rdma.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <random>
#include <sys/mman.h>

#include "attr.h"
#include "common.h"

Device::Device(const LocalOptions &l) : port_(static_cast<uint8_t>(l.ib_port))
{
	int n = 0;
	ibv_device **list = ibv_get_device_list(&n);
	ibv_port_attr pattr{};

	if (!list)
		fail("no RDMA devices: %s", std::strerror(errno));
	ibv_device *found = nullptr;
	std::string names;

	for (int i = 0; i < n; i++) {
		const char *name = ibv_get_device_name(list[i]);

		names += std::string(" ") + name;
		if (l.dev.empty() ? n == 1 : l.dev == name)
			found = list[i];
	}
	if (found)
		ctx_ = ibv_open_device(found);
	int err = errno;

	ibv_free_device_list(list);
	if (!found)
		fail("no device '%s'; there are:%s", l.dev.c_str(),
		     names.c_str());
	if (!ctx_)
		fail("cannot open %s: %s", l.dev.c_str(), std::strerror(err));
	if (ibv_query_device(ctx_, &attr_) ||
	    ibv_query_port(ctx_, port_, &pattr))
		fail("cannot query the device or port %d", l.ib_port);
	mtu_ = pattr.active_mtu;
	if (l.ev_profile) {
		mrc_attr_.mask |= MRC_ABI_QP_EV_PROFILE;
		mrc_attr_.ev_profile = *l.ev_profile;
	}
	if (l.cc_profile) {
		mrc_attr_.mask |= MRC_ABI_QP_CC_PROFILE;
		mrc_attr_.cc_profile = *l.cc_profile;
	}
	pick_gid(l);
	pd_ = ibv_alloc_pd(ctx_);
	if (!pd_)
		fail("ibv_alloc_pd: %s", std::strerror(errno));
	int flags = fcntl(ctx_->async_fd, F_GETFL);

	fcntl(ctx_->async_fd, F_SETFL, flags | O_NONBLOCK);
}

Device::~Device()
{
	if (pd_ && ibv_dealloc_pd(pd_))
		std::fprintf(stderr, "mrc_verify: ibv_dealloc_pd failed\n");
	if (ctx_)
		ibv_close_device(ctx_);
}

bool Device::is_mrc() const
{
	return !std::strncmp(ibv_get_device_name(ctx_->device), "mrc", 3);
}

bool Device::has_flush() const
{
	constexpr uint64_t flush_global = 1ull << 38;
	ibv_device_attr_ex a{};

	return !ibv_query_device_ex(ctx_, nullptr, &a) &&
	       a.device_cap_flags_ex & flush_global;
}

static bool parse_gid(const std::string &text, ibv_gid &gid)
{
	in_addr v4;

	if (inet_pton(AF_INET6, text.c_str(), gid.raw) == 1)
		return true;
	if (inet_pton(AF_INET, text.c_str(), &v4) != 1)
		return false;
	std::memset(gid.raw, 0, 10);
	gid.raw[10] = gid.raw[11] = 0xff;
	std::memcpy(gid.raw + 12, &v4, 4);
	return true;
}

/* Address changes reach the GID table a moment after ip(8) has returned. */
void Device::pick_gid(const LocalOptions &l)
{
	double end = now_s() + 5;
	ibv_gid want{};

	if (!l.gid.empty() && !parse_gid(l.gid, want))
		fail("'%s' is no address", l.gid.c_str());
	do {
		int best = -1;
		int best_rank = 0;

		for (int i = 0; i < 256; i++) {
			ibv_gid_entry e{};

			if (ibv_query_gid_ex(ctx_, port_, i, &e, 0))
				continue;
			bool v4 = IN6_IS_ADDR_V4MAPPED(
				reinterpret_cast<in6_addr *>(e.gid.raw));
			bool local = e.gid.raw[0] == 0xfe &&
				     (e.gid.raw[1] & 0xc0) == 0x80;
			int rank = v4 ? 3 : local ? 1 : 2;

			if (e.gid_type != IBV_GID_TYPE_ROCE_V2)
				continue;
			if (l.gid_index >= 0)
				rank = i == l.gid_index ? 9 : 0;
			else if (!l.gid.empty())
				rank = std::memcmp(e.gid.raw, want.raw, 16) ? 0
									    : 9;
			if (rank > best_rank) {
				best_rank = rank;
				best = i;
				gid_ = e.gid;
			}
		}
		if (best >= 0 && best_rank > 1) {
			gid_index_ = best;
			return;
		}
		::poll(nullptr, 0, 50);
	} while (now_s() < end);
	fail("no usable GID on port %u%s%s", port_,
	     l.gid.empty() ? "" : " for ", l.gid.c_str());
}

int mtu_bytes(ibv_mtu mtu)
{
	return 128 << mtu;
}

ibv_ah_attr ah_attr(const Device &dev, const uint8_t (&to)[16])
{
	ibv_ah_attr a{};

	a.is_global = 1;
	a.port_num = dev.port();
	a.grh.sgid_index = static_cast<uint8_t>(dev.gid_index());
	a.grh.hop_limit = 64;
	std::memcpy(a.grh.dgid.raw, to, sizeof(to));
	return a;
}

ibv_ah *create_ah(const Device &dev, ibv_ah_attr attr)
{
	ibv_ah *ah = ibv_create_ah(dev.pd(), &attr);

	if (!ah)
		fail("ibv_create_ah: %s", std::strerror(errno));
	return ah;
}

ibv_mtu mtu_enum(int bytes)
{
	for (int m = IBV_MTU_256; m <= IBV_MTU_4096; m++)
		if (bytes == 128 << m)
			return static_cast<ibv_mtu>(m);
	fail("%d is no path MTU", bytes);
}

Cq::Cq(Device &dev, const Config &c)
{
	if (c.channel) {
		channel_ = ibv_create_comp_channel(dev.ctx());
		if (!channel_)
			fail("ibv_create_comp_channel: %s",
			     std::strerror(errno));
		int flags = fcntl(channel_->fd, F_GETFL);

		fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK);
	}
	if (!c.ex) {
		cq_ = ibv_create_cq(dev.ctx(), c.cqe, this, channel_, 0);
	} else {
		ibv_cq_init_attr_ex a{};

		a.cqe = static_cast<uint32_t>(c.cqe);
		a.cq_context = this;
		a.channel = channel_;
		a.wc_flags = IBV_WC_STANDARD_FLAGS;
		a.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
		a.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
		a.flags = c.single_threaded ? IBV_CREATE_CQ_ATTR_SINGLE_THREADED
					    : 0;
		cqx_ = ibv_create_cq_ex(dev.ctx(), &a);
		timestamps_ = cqx_;
		if (!cqx_ && errno == EOPNOTSUPP && !dev.is_mrc()) {
			a.wc_flags = IBV_WC_STANDARD_FLAGS;
			cqx_ = ibv_create_cq_ex(dev.ctx(), &a);
		}
		cq_ = cqx_ ? ibv_cq_ex_to_cq(cqx_) : nullptr;
	}
	if (!cq_) {
		int err = errno;

		if (channel_)
			ibv_destroy_comp_channel(channel_);
		fail("cannot create a CQ of %d: %s", c.cqe, std::strerror(err));
	}
}

Cq::~Cq()
{
	if (unacked_)
		ibv_ack_cq_events(cq_, unacked_);
	if (ibv_destroy_cq(cq_))
		std::fprintf(stderr, "mrc_verify: ibv_destroy_cq failed\n");
	if (channel_)
		ibv_destroy_comp_channel(channel_);
}

size_t Cq::poll_ex(std::vector<Wc> &out, size_t max)
{
	ibv_poll_cq_attr a{};
	size_t n = 0;
	int ret = ibv_start_poll(cqx_, &a);

	if (ret == ENOENT)
		return 0;
	if (ret)
		fail("ibv_start_poll: %s", std::strerror(ret));
	do {
		Wc w{};

		w.wr_id = cqx_->wr_id;
		w.status = cqx_->status;
		w.opcode = ibv_wc_read_opcode(cqx_);
		w.flags = ibv_wc_read_wc_flags(cqx_);
		w.byte_len = ibv_wc_read_byte_len(cqx_);
		w.qp_num = ibv_wc_read_qp_num(cqx_);
		if (w.flags & IBV_WC_WITH_IMM)
			w.imm = ntohl(ibv_wc_read_imm_data(cqx_));
		else if (w.flags & IBV_WC_WITH_INV)
			w.imm = ibv_wc_read_invalidated_rkey(cqx_);
		if (timestamps_)
			w.timestamp = ibv_wc_read_completion_ts(cqx_);
		w.src_qp = ibv_wc_read_src_qp(cqx_);
		w.sl = ibv_wc_read_sl(cqx_);
		out.push_back(w);
	} while (++n < max && !(ret = ibv_next_poll(cqx_)));
	ibv_end_poll(cqx_);
	if (ret && ret != ENOENT)
		fail("ibv_next_poll: %s", std::strerror(ret));
	return n;
}

size_t Cq::poll(std::vector<Wc> &out, size_t max)
{
	ibv_wc wc[32];

	if (cqx_)
		return poll_ex(out, max);
	int n = ibv_poll_cq(cq_, static_cast<int>(std::min<size_t>(max, 32)),
			    wc);

	if (n < 0)
		fail("ibv_poll_cq: %d", n);
	for (int i = 0; i < n; i++)
		out.push_back({wc[i].wr_id, wc[i].status, wc[i].opcode,
			       wc[i].byte_len,
			       wc[i].wc_flags & IBV_WC_WITH_INV
				       ? wc[i].invalidated_rkey
				       : ntohl(wc[i].imm_data),
			       wc[i].wc_flags, wc[i].qp_num, 0,
			       wc[i].src_qp, wc[i].sl});
	return static_cast<size_t>(n);
}

void Cq::arm(bool solicited)
{
	int ret = ibv_req_notify_cq(cq_, solicited);

	if (ret)
		fail("ibv_req_notify_cq: %s", std::strerror(ret));
}

bool Cq::take_event(int timeout_ms)
{
	pollfd p{channel_->fd, POLLIN, 0};
	ibv_cq *cq;
	void *arg;

	if (::poll(&p, 1, timeout_ms) <= 0)
		return false;
	if (ibv_get_cq_event(channel_, &cq, &arg))
		return false;
	if (cq != cq_ || arg != this)
		fail("completion event of a foreign CQ");
	/* Acknowledging takes a mutex: in batches, as programs do it. */
	if (++unacked_ == 64) {
		ibv_ack_cq_events(cq_, unacked_);
		unacked_ = 0;
	}
	return true;
}

void Cq::resize(int cqe)
{
	int ret = ibv_resize_cq(cq_, cqe);

	if (ret)
		fail("ibv_resize_cq(%d): %s", cqe, std::strerror(ret));
	if (cq_->cqe < cqe)
		fail("ibv_resize_cq(%d) left %d entries", cqe, cq_->cqe);
}

Memory::Memory(size_t size) : size_(size)
{
	void *p = mmap(nullptr, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail("no memory for %zu bytes", size);
	data_ = static_cast<uint8_t *>(p);
}

Memory::~Memory()
{
	munmap(data_, size_);
}

Mr::Mr(ibv_pd *pd, void *addr, size_t len, int access)
	: mr_(ibv_reg_mr(pd, addr, len, access))
{
	if (!mr_)
		fail("ibv_reg_mr of %zu bytes: %s", len, std::strerror(errno));
}

Mr::~Mr()
{
	if (ibv_dereg_mr(mr_))
		std::fprintf(stderr, "mrc_verify: ibv_dereg_mr failed\n");
}

bool Qp::create(const Config &c, unsigned inline_size, Cq &send_cq, Cq &recv_cq)
{
	ibv_qp_init_attr_ex a{};

	a.send_cq = send_cq.get();
	a.recv_cq = recv_cq.get();
	a.qp_type = IBV_QPT_RC;
	a.sq_sig_all = c.sig_all;
	a.cap.max_send_wr = c.max_send;
	a.cap.max_recv_wr = c.max_recv;
	a.cap.max_send_sge = c.sges;
	a.cap.max_recv_sge = c.recv_sges;
	a.srq = c.srq;
	a.cap.max_inline_data = inline_size;
	a.pd = dev_.pd();
	a.comp_mask = IBV_QP_INIT_ATTR_PD;
	if (c.ex) {
		a.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		a.send_ops_flags = c.send_ops;
	}
	qp_ = ibv_create_qp_ex(dev_.ctx(), &a);
	if (!qp_)
		return false;
	qpx_ = c.ex ? ibv_qp_to_qp_ex(qp_) : nullptr;
	cap_ = a.cap;
	return true;
}

Qp::Qp(Device &dev, Cq &send_cq, Cq &recv_cq, const Config &c)
	: dev_(dev), rd_atomic_(c.rd_atomic)
{
	unsigned want = c.inline_size;

	/* How much inline data a device takes can only be found by trying. */
	while (!create(c, want, send_cq, recv_cq)) {
		if (errno == EOPNOTSUPP && c.ex)
			throw Skip("the device has no ibv_wr_*() interface");
		if (want <= 32 || errno == ENOMEM)
			fail("cannot create a QP: %s", std::strerror(errno));
		want /= 2;
	}
	if (cap_.max_send_wr < c.max_send ||
	    (!c.srq && cap_.max_recv_wr < c.max_recv) ||
	    cap_.max_send_sge < c.sges || cap_.max_inline_data < want)
		fail("QP limits are lower than asked for");
	new_psn();
}

Qp::~Qp()
{
	if (ibv_destroy_qp(qp_))
		std::fprintf(stderr, "mrc_verify: ibv_destroy_qp failed\n");
}

void Qp::new_psn()
{
	static std::mt19937 rng(std::random_device{}());

	psn_ = rng() & 0xffffff;
}

QpAddress Qp::address() const
{
	QpAddress a{};

	std::memcpy(a.gid, dev_.gid().raw, sizeof(a.gid));
	a.qpn = qp_->qp_num;
	a.psn = psn_;
	a.mtu = dev_.active_mtu();
	return a;
}

ibv_qp_attr Qp::init_attr(int access, int &mask) const
{
	ibv_qp_attr a{};

	a.qp_state = IBV_QPS_INIT;
	a.port_num = dev_.port();
	a.qp_access_flags = static_cast<unsigned>(access);
	mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
	       IBV_QP_ACCESS_FLAGS;
	return a;
}

ibv_qp_attr Qp::rtr_attr(const QpAddress &peer, const TestOptions &t,
			 int &mask) const
{
	ibv_qp_attr a{};

	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = t.mtu ? mtu_enum(t.mtu)
			   : std::min(dev_.active_mtu(),
				      static_cast<ibv_mtu>(peer.mtu));
	a.dest_qp_num = peer.qpn;
	a.rq_psn = peer.psn;
	a.max_dest_rd_atomic = rd_atomic_;
	a.min_rnr_timer = static_cast<uint8_t>(t.min_rnr);
	a.ah_attr = ah_attr(dev_, peer.gid);
	mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
	       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return a;
}

ibv_qp_attr Qp::rts_attr(const TestOptions &t, int &mask) const
{
	ibv_qp_attr a{};

	a.qp_state = IBV_QPS_RTS;
	a.sq_psn = psn_;
	a.timeout = static_cast<uint8_t>(t.timeout);
	a.retry_cnt = static_cast<uint8_t>(t.retry);
	a.rnr_retry = static_cast<uint8_t>(t.rnr_retry);
	a.max_rd_atomic = rd_atomic_;
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
	       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	return a;
}

void Qp::modify(ibv_qp_attr attr, int mask, const char *to)
{
	int ret = ibv_modify_qp(qp_, &attr, mask);

	if (ret)
		fail("cannot modify a QP to %s: %s", to, std::strerror(ret));
}

void Qp::to_init(int access)
{
	int mask;
	ibv_qp_attr a = init_attr(access, mask);

	modify(a, mask, "INIT");
	if (dev_.mrc_attr().mask)
		set_mrc_attr(qp_, dev_.mrc_attr());
}

void Qp::to_rtr(const QpAddress &peer, const TestOptions &t)
{
	int mask;
	ibv_qp_attr a = rtr_attr(peer, t, mask);

	modify(a, mask, "RTR");
}

void Qp::to_rts(const TestOptions &t, int access)
{
	int mask;
	ibv_qp_attr a = rts_attr(t, mask);

	if (access >= 0) {
		a.qp_access_flags = static_cast<unsigned>(access);
		mask |= IBV_QP_ACCESS_FLAGS;
	}
	modify(a, mask, "RTS");
}

void Qp::to_rts_again(int access)
{
	ibv_qp_attr a{};

	a.qp_state = IBV_QPS_RTS;
	a.qp_access_flags = static_cast<unsigned>(access);
	modify(a, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS, "RTS, access flags");
}

void Qp::to_error()
{
	ibv_qp_attr a{};

	a.qp_state = IBV_QPS_ERR;
	modify(a, IBV_QP_STATE, "ERR");
}

void Qp::to_reset()
{
	ibv_qp_attr a{};

	a.qp_state = IBV_QPS_RESET;
	modify(a, IBV_QP_STATE, "RESET");
}

ibv_qp_state Qp::query_state() const
{
	ibv_qp_attr a{};
	ibv_qp_init_attr i{};
	int ret = ibv_query_qp(qp_, &a, IBV_QP_STATE, &i);

	if (ret)
		fail("ibv_query_qp: %s", std::strerror(ret));
	return a.qp_state;
}

std::vector<ibv_event_type> drain_async(Device &dev)
{
	std::vector<ibv_event_type> out;
	ibv_async_event e;

	while (!ibv_get_async_event(dev.ctx(), &e)) {
		out.push_back(e.event_type);
		ibv_ack_async_event(&e);
	}
	return out;
}

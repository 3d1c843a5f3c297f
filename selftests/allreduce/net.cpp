// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_allreduce: objects of libibverbs and libMRC. The order of calls, their
 * attributes and their masks are those of a collective library's network
 * plug-in.
 */
#include "net.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <random>
#include <sys/mman.h>

namespace
{
constexpr uint8_t ib_port = 1;
constexpr uint8_t guard_byte = 0xc3;
constexpr size_t guard_size = 64;
} // namespace

/* --- device --------------------------------------------------------------- */

Device::Device(const Options &o)
{
	mrc_context_attr attr{};
	mrc_device_attr dattr; /* need not be initialised */
	ibv_port_attr port{};
	int supported = -1;

	open(o.dev);
	if (mrc_query_device(ctx_, &dattr, &supported) || supported != 1)
		fail("%s does not support MRC", o.dev.c_str());
	attr.mrc_api_version_used = MRC_API_VER_USED;
	mrc_ = mrc_create_context(ctx_, &attr);
	if (!mrc_)
		fail("mrc_create_context: %s", std::strerror(errno));
	if (ibv_query_port(ctx_, ib_port, &port))
		fail("ibv_query_port: %s", std::strerror(errno));
	mtu_ = port.active_mtu;
	find_gid(o.gid);
	pd_ = ibv_alloc_pd(ctx_);
	if (!pd_)
		fail("ibv_alloc_pd: %s", std::strerror(errno));
}

Device::~Device()
{
	if (pd_)
		ibv_dealloc_pd(pd_);
	if (mrc_)
		mrc_destroy_context(mrc_);
	if (ctx_)
		ibv_close_device(ctx_);
}

void Device::close()
{
	int err = ibv_dealloc_pd(pd_);

	if (err)
		fail("ibv_dealloc_pd: %s", std::strerror(err));
	pd_ = nullptr;
	if (mrc_destroy_context(mrc_))
		fail("mrc_destroy_context: %s", std::strerror(errno));
	mrc_ = nullptr;
	if (ibv_close_device(ctx_))
		fail("ibv_close_device: %s", std::strerror(errno));
	ctx_ = nullptr;
}

void Device::open(const std::string &name)
{
	int n = 0;
	ibv_device **list = ibv_get_device_list(&n);

	if (!list)
		fail("ibv_get_device_list: %s", std::strerror(errno));
	for (int i = 0; i < n && !ctx_; i++)
		if (name == ibv_get_device_name(list[i]))
			ctx_ = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	if (!ctx_)
		fail("cannot open the device '%s'", name.c_str());
}

/* An address reaches the GID table a moment after ip(8) has returned. */
void Device::find_gid(const std::string &text)
{
	auto end = Clock::now() + std::chrono::seconds(10);
	in_addr v4;
	ibv_gid gid;

	if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
		std::memset(gid_.raw, 0, 10);
		gid_.raw[10] = gid_.raw[11] = 0xff;
		std::memcpy(gid_.raw + 12, &v4, 4);
	} else if (inet_pton(AF_INET6, text.c_str(), gid_.raw) != 1) {
		fail("'%s' is no address", text.c_str());
	}
	do {
		for (int i = 0; i < 128; i++) {
			if (ibv_query_gid(ctx_, ib_port, i, &gid) ||
			    std::memcmp(gid.raw, gid_.raw, sizeof(gid.raw)))
				continue;
			gid_index_ = static_cast<uint8_t>(i);
			return;
		}
		::poll(nullptr, 0, 50);
	} while (Clock::now() < end);
	fail("the device has no GID for %s", text.c_str());
}

/* --- memory --------------------------------------------------------------- */

size_t Memory::needed(size_t len)
{
	return (len + 63) / 64 * 64 + 2 * guard_size;
}

Memory::Memory(Device &dev, size_t size) : size_((size + 4095) / 4096 * 4096)
{
	void *p = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail("no memory for %zu bytes", size_);
	data_ = static_cast<uint8_t *>(p);
	mr_ = ibv_reg_mr(dev.pd(), data_, size_,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				 IBV_ACCESS_RELAXED_ORDERING);
	if (!mr_) {
		int err = errno;

		munmap(data_, size_);
		fail("ibv_reg_mr: %s", std::strerror(err));
	}
}

Memory::~Memory()
{
	if (mr_)
		ibv_dereg_mr(mr_);
	munmap(data_, size_);
}

void Memory::close()
{
	int err = ibv_dereg_mr(mr_);

	if (err)
		fail("ibv_dereg_mr: %s", std::strerror(err));
	mr_ = nullptr;
}

uint8_t *Memory::take(size_t len)
{
	size_t at = used_ + guard_size;
	size_t after = at + len;

	used_ += needed(len);
	if (used_ > size_)
		fail("more memory taken than there is");
	guards_.push_back({at - guard_size, guard_size});
	guards_.push_back({after, used_ - after});
	for (size_t i = guards_.size() - 2; i < guards_.size(); i++)
		std::memset(data_ + guards_[i].first, guard_byte,
			    guards_[i].second);
	return data_ + at;
}

void Memory::check_guards() const
{
	for (const auto &[at, len] : guards_)
		for (size_t i = at; i < at + len; i++)
			if (data_[i] != guard_byte)
				fail("memory beside a buffer was written, "
				     "offset %zu",
				     i);
}

/* --- completion queue ----------------------------------------------------- */

Cq::Cq(Device &dev, int cqe)
	: cq_(mrc_create_cq(dev.mrc(), cqe, this, nullptr, 0))
{
	if (!cq_)
		fail("mrc_create_cq of %d: %s", cqe, std::strerror(errno));
}

Cq::~Cq()
{
	if (cq_)
		mrc_destroy_cq(cq_);
}

void Cq::close()
{
	int err = mrc_destroy_cq(cq_);

	if (err)
		fail("mrc_destroy_cq: %s", std::strerror(err));
	cq_ = nullptr;
}

/* --- queue pair ----------------------------------------------------------- */

Qp::Qp(Device &dev, Cq &cq, const Options &o) : dev_(dev), o_(o)
{
	static std::mt19937 rng(std::random_device{}());
	mrc_qp_hint_init_attr hint{};
	mrc_qp_init_attr init{};
	ibv_qp_attr attr{};
	mrc_qp_attr mattr{};

	hint.attr.num_qps_per_peer = static_cast<int>(o.qps);
	hint.attr.num_send_peers = 1;
	hint_ = mrc_create_qp_hint(dev.mrc(), &hint);
	if (!hint_)
		fail("mrc_create_qp_hint: %s", std::strerror(errno));
	init.qp_context = this;
	init.send_cq = init.recv_cq = cq.get();
	init.cap.max_send_wr = send_depth;
	init.cap.max_recv_wr = recv_depth;
	init.cap.max_send_sge = 1;
	init.cap.max_recv_sge = 1;
	init.cap.max_inline_data = o.inline_data ? 64 : 0;
	init.pd = dev.pd();
	qp_ = mrc_create_qp(dev.mrc(), &init);
	if (!qp_) {
		int err = errno;

		mrc_destroy_qp_hint(hint_);
		fail("mrc_create_qp: %s", std::strerror(err));
	}
	if (mrc_get_qpn(qp_, &qpn_))
		fail("mrc_get_qpn: %s", std::strerror(errno));
	psn_ = rng() & 0xffffff;

	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = ib_port;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	mattr.qp_hint = hint_;
	modify(attr,
	       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		       IBV_QP_ACCESS_FLAGS,
	       &mattr, MRC_QP_HINT, "INIT");
}

Qp::~Qp()
{
	if (qp_)
		mrc_destroy_qp(qp_);
	if (hint_)
		mrc_destroy_qp_hint(hint_);
}

void Qp::close()
{
	int err = mrc_destroy_qp(qp_);

	if (err)
		fail("mrc_destroy_qp: %s", std::strerror(err));
	qp_ = nullptr;
	/* Nobody refers to it any more. */
	if (mrc_destroy_qp_hint(hint_))
		fail("mrc_destroy_qp_hint: %s", std::strerror(errno));
	hint_ = nullptr;
}

void Qp::modify(ibv_qp_attr &attr, int mask, mrc_qp_attr *mattr, int mmask,
		const char *to)
{
	int err = mrc_modify_qp(qp_, &attr, mask, mattr, mmask);

	if (err)
		fail("mrc_modify_qp to %s: %s", to, std::strerror(err));
}

void Qp::connect(const QpAddress &peer, const ibv_gid &gid, ibv_mtu mtu)
{
	ibv_qp_attr attr{};
	mrc_qp_attr mattr{};

	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = mtu;
	attr.dest_qp_num = peer.qpn;
	attr.rq_psn = peer.psn;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = ib_port;
	attr.ah_attr.grh.dgid = gid;
	attr.ah_attr.grh.sgid_index = dev_.gid_index();
	attr.ah_attr.grh.hop_limit = 255;
	modify(attr,
	       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		       IBV_QP_RQ_PSN,
	       nullptr, 0, "RTR");

	attr = {};
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = psn_;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	mattr.timeout = static_cast<uint8_t>(o_.timeout);
	modify(attr,
	       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
		       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY,
	       &mattr, MRC_QP_TIMEOUT, "RTS");
}

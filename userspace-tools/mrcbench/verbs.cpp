// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "verbs.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>

#include "error.hpp"

namespace mrcbench
{
namespace
{
using mrcperf::fail_errno;
using mrcperf::ProtocolError;
using mrcperf::RunError;
using Clock = std::chrono::steady_clock;

constexpr uint8_t port_number = 1;
constexpr uint32_t psn_mask = 0xffffff;
constexpr uint64_t most_memory = 64u << 20;
constexpr uint32_t ack_events_after = 64;
constexpr int most_reads = 16;

template <typename T> T *check(T *object, const std::string &what)
{
	if (!object)
		fail_errno(what, errno);
	return object;
}

ibv_mtu mtu_value(uint32_t bytes)
{
	ibv_mtu mtu = IBV_MTU_256;

	for (uint32_t b = 256; b < bytes && mtu < IBV_MTU_4096; b *= 2)
		mtu = static_cast<ibv_mtu>(mtu + 1);
	return mtu;
}

std::string gid_text(const union ibv_gid &gid)
{
	char text[INET6_ADDRSTRLEN];

	return inet_ntop(AF_INET6, gid.raw, text, sizeof(text));
}

union ibv_gid gid_of(const std::string &text)
{
	union ibv_gid gid {};
	in_addr four{};

	if (inet_pton(AF_INET, text.c_str(), &four) == 1) {
		gid.raw[10] = gid.raw[11] = 0xff;
		std::memcpy(gid.raw + 12, &four, sizeof(four));
	} else if (inet_pton(AF_INET6, text.c_str(), gid.raw) != 1) {
		throw ProtocolError(
			fmt::format("\"{}\" is no address", text));
	}
	return gid;
}

bool is_four(const union ibv_gid &gid)
{
	return !gid.global.subnet_prefix && gid.raw[10] == 0xff &&
	       gid.raw[11] == 0xff;
}

ibv_wr_opcode opcode_of(Op op)
{
	switch (op) {
	case Op::write:
		return IBV_WR_RDMA_WRITE;
	case Op::write_imm:
		return IBV_WR_RDMA_WRITE_WITH_IMM;
	case Op::send:
		return IBV_WR_SEND;
	case Op::read:
		break;
	}
	return IBV_WR_RDMA_READ;
}

uint32_t random_number()
{
	static std::random_device device;

	return device();
}
} // namespace

ibv_context *open_device(const std::string &name)
{
	const Handle<ibv_device *, ibv_free_device_list> list(
		check(ibv_get_device_list(nullptr), "RDMA devices"));

	for (ibv_device **d = list.get(); *d; d++)
		if (name == ibv_get_device_name(*d))
			return check(ibv_open_device(*d), name);
	throw RunError(fmt::format("there is no RDMA device {}", name));
}

VerbsSide::Pages::Pages(size_t bytes) : size(bytes)
{
	void *p = mmap(nullptr, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		fail_errno(fmt::format("{} bytes of memory", size), errno);
	start = static_cast<uint8_t *>(p);
}

VerbsSide::Pages::~Pages()
{
	munmap(start, size);
}

/*
 * Queue pairs share the memory of messages if separate memory would be too
 * large. The first half is sent from, the second half is written to.
 */
size_t VerbsSide::slots_for(const Shape &shape)
{
	return std::clamp<uint64_t>(most_memory / 2 / shape.size, 1,
				    shape.qps);
}

VerbsSide::VerbsSide(const std::string &device, const std::string &address,
		     const Shape &shape, bool server)
	: shape_(shape),
	  receives_(shape.op != Op::write && shape.op != Op::read &&
		    shape.test != Kind::idle &&
		    (server || shape.test == Kind::lat)),
	  size_(shape.size), slots_(slots_for(shape)),
	  memory_(2 * slots_ * shape.size + 4096), verbs_(open_device(device))
{
	ibv_port_attr port{};

	if (ibv_query_port(verbs_.get(), port_number, &port))
		fail_errno(device, errno);
	mtu_ = std::min(shape.mtu, 128u << port.active_mtu);
	find_gid(address);
	pd_.reset(check(ibv_alloc_pd(verbs_.get()), "protection domain"));
	mr_.reset(check(ibv_reg_mr(pd_.get(), memory_.data(), memory_.size,
				   IBV_ACCESS_LOCAL_WRITE | access()),
			"memory region"));
	channel_.reset(
		check(ibv_create_comp_channel(verbs_.get()), "channel"));
	if (fcntl(channel_->fd, F_SETFL,
		  fcntl(channel_->fd, F_GETFL) | O_NONBLOCK))
		fail_errno("channel", errno);
	/* Every message may be signalled and may use a receive at the peer. */
	ibv_device_attr limits{};

	if (ibv_query_device(verbs_.get(), &limits))
		fail_errno(device, errno);
	if (shape.op == Op::read)
		reads_ = static_cast<uint8_t>(
			std::clamp(std::min(limits.max_qp_rd_atom,
					    limits.max_qp_init_rd_atom),
				   1, most_reads));
	const uint64_t entries =
		uint64_t{shape.qps} * shape.depth * (receives_ ? 4 : 2) + 16;

	cq_.reset(check(
		ibv_create_cq(verbs_.get(),
			      static_cast<int>(std::min<uint64_t>(
				      entries,
				      static_cast<uint64_t>(limits.max_cqe))),
			      nullptr, channel_.get(), 0),
		"completion queue"));
	inline_ = size_ <= shape.inline_size && shape.op != Op::read
			  ? static_cast<uint32_t>(size_)
			  : 0;
	for (uint32_t i = 0; i < shape.qps; i++)
		make_qp();
	list_.resize(shape.list);
	sges_.resize(shape.list);
}

/* The events of a completion queue must be acknowledged before it is destroyed.
 */
VerbsSide::~VerbsSide()
{
	if (events_)
		ibv_ack_cq_events(cq_.get(), events_);
}

/* The peer's access rights to the memory. */
int VerbsSide::access() const
{
	return shape_.op == Op::read ? IBV_ACCESS_REMOTE_READ
				     : IBV_ACCESS_REMOTE_WRITE;
}

void VerbsSide::find_gid(const std::string &address)
{
	std::vector<ibv_gid_entry> entries(256);
	const ssize_t n = ibv_query_gid_table(verbs_.get(), entries.data(),
					      entries.size(), 0);
	const ibv_gid_entry *best = nullptr;

	if (n < 0)
		fail_errno("GIDs", static_cast<int>(-n));
	entries.resize(static_cast<size_t>(n));
	for (const ibv_gid_entry &e : entries) {
		if (e.port_num != port_number ||
		    e.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		if (!address.empty()) {
			if (!std::memcmp(&e.gid, gid_of(address).raw, 16))
				best = &e;
			continue;
		}
		if (e.gid.raw[0] == 0xfe)
			continue; /* link-local */
		if (!best || (is_four(e.gid) && !is_four(best->gid)))
			best = &e;
	}
	if (!best)
		throw RunError(fmt::format("no GID {} on {}", address,
					   verbs_->device->name));
	gid_ = best->gid;
	gid_index_ = static_cast<uint8_t>(best->gid_index);
}

void VerbsSide::make_qp()
{
	ibv_qp_init_attr init{};
	ibv_qp_attr attr{};

	init.send_cq = cq_.get();
	init.recv_cq = cq_.get();
	init.qp_type = IBV_QPT_RC;
	init.cap.max_send_wr = shape_.depth;
	init.cap.max_recv_wr = receives_ ? 2 * shape_.depth : 1;
	init.cap.max_send_sge = 1;
	init.cap.max_recv_sge = 1;
	init.cap.max_inline_data = inline_;
	qps_.emplace_back(check(ibv_create_qp(pd_.get(), &init), "queue pair"));
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = port_number;
	attr.qp_access_flags = static_cast<unsigned int>(access());
	if (const int err = ibv_modify_qp(
		    qps_.back().get(), &attr,
		    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS))
		fail_errno("queue pair to INIT", err);
	psns_.push_back(random_number() & psn_mask);
	numbers_.emplace_back(qps_.back()->qp_num,
			      static_cast<uint32_t>(qps_.size() - 1));
	std::sort(numbers_.begin(), numbers_.end());
}

Message VerbsSide::describe() const
{
	Message m;

	m["gid"] = gid_text(gid_);
	m["mtu"] = mtu_;
	m["rkey"] = mr_->rkey;
	m["inbox"] = reinterpret_cast<uintptr_t>(memory_.data() +
						 slots_ * size_);
	m["qps"] = Message::array();
	for (size_t i = 0; i < qps_.size(); i++)
		m["qps"].push_back(
			{{"qpn", qps_[i]->qp_num}, {"psn", psns_[i]}});
	return m;
}

void VerbsSide::connect(const Message &peer)
{
	const union ibv_gid gid = gid_of(text_in(peer, "gid"));
	const auto all = peer.find("qps");

	mtu_ = std::min(mtu_,
			static_cast<uint32_t>(number_in(peer, "mtu", 4096)));
	rkey_ = static_cast<uint32_t>(number_in(peer, "rkey", UINT32_MAX));
	remote_ = number_in(peer, "inbox", UINT64_MAX);
	if (all == peer.end() || !all->is_array() || all->size() != qps_.size())
		throw ProtocolError("the peer's queue pairs are others");
	for (size_t i = 0; i < qps_.size(); i++) {
		const Message &one = (*all)[i];

		connect_qp(qps_[i].get(),
			   {static_cast<uint32_t>(
				    number_in(one, "qpn", psn_mask)),
			    static_cast<uint32_t>(
				    number_in(one, "psn", psn_mask))},
			   gid, psns_[i]);
		for (uint32_t r = 0; receives_ && r < 2 * shape_.depth; r++)
			post_receive(static_cast<uint32_t>(i));
	}
	arm();
}

void VerbsSide::connect_qp(ibv_qp *qp, const Remote &remote,
			   const union ibv_gid &gid, uint32_t psn)
{
	ibv_qp_attr attr{};

	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = mtu_value(mtu_);
	attr.dest_qp_num = remote.qpn;
	attr.rq_psn = remote.psn;
	attr.max_dest_rd_atomic = reads_;
	attr.min_rnr_timer = 1; /* 10 us: a receive is posted soon */
	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.dgid = gid;
	attr.ah_attr.grh.sgid_index = gid_index_;
	attr.ah_attr.grh.hop_limit = 64;
	attr.ah_attr.port_num = port_number;
	int err = ibv_modify_qp(
		qp, &attr,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			IBV_QP_MIN_RNR_TIMER);
	if (err)
		fail_errno("queue pair to RTR", err);
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = psn;
	attr.timeout = static_cast<uint8_t>(shape_.timeout);
	attr.retry_cnt = 7;
	attr.rnr_retry = 7; /* without limit */
	attr.max_rd_atomic = reads_;
	err = ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_MAX_QP_RD_ATOMIC);
	if (err)
		fail_errno("queue pair to RTS", err);
}

uint32_t VerbsSide::qp_of(uint32_t qp_num) const
{
	const auto at = std::lower_bound(numbers_.begin(), numbers_.end(),
					 std::pair<uint32_t, uint32_t>(qp_num,
								       0));

	if (at == numbers_.end() || at->first != qp_num)
		throw RunError("a completion of a queue pair that is not ours");
	return at->second;
}

void VerbsSide::post(uint32_t qp, uint32_t count, bool signal)
{
	const uint64_t at = qp % slots_ * size_;
	ibv_send_wr *bad = nullptr;

	for (uint32_t i = 0; i < count; i++) {
		ibv_send_wr &wr = list_[i];

		sges_[i] = {reinterpret_cast<uintptr_t>(outbox() + at),
			    static_cast<uint32_t>(size_), mr_->lkey};
		wr = {};
		wr.wr_id = qp;
		wr.next = i + 1 < count ? &list_[i + 1] : nullptr;
		wr.sg_list = &sges_[i];
		wr.num_sge = 1;
		wr.opcode = opcode_of(shape_.op);
		wr.send_flags = inline_ ? IBV_SEND_INLINE : 0;
		if (signal && i + 1 == count)
			wr.send_flags |= IBV_SEND_SIGNALED;
		wr.wr.rdma.remote_addr = remote_ + at;
		wr.wr.rdma.rkey = rkey_;
	}
	const int err = ibv_post_send(qps_[qp].get(), list_.data(), &bad);

	if (err)
		fail_errno("posting", err);
}

void VerbsSide::post_receive(uint32_t qp)
{
	ibv_sge sge{reinterpret_cast<uintptr_t>(
			    const_cast<uint8_t *>(inbox()) +
			    qp % slots_ * size_),
		    static_cast<uint32_t>(size_), mr_->lkey};
	ibv_recv_wr wr{};
	ibv_recv_wr *bad = nullptr;

	wr.wr_id = qp;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	const int err = ibv_post_recv(qps_[qp].get(), &wr, &bad);

	if (err)
		fail_errno("posting a receive", err);
}

int VerbsSide::take(std::span<ibv_wc> wc)
{
	const int n = ibv_poll_cq(cq_.get(), static_cast<int>(wc.size()),
				  wc.data());

	if (n < 0)
		throw RunError("polling for completions failed");
	for (int i = 0; i < n; i++)
		if (wc[static_cast<size_t>(i)].status != IBV_WC_SUCCESS)
			throw RunError(fmt::format(
				"completion: {}",
				ibv_wc_status_str(
					wc[static_cast<size_t>(i)].status)));
	return n;
}

void VerbsSide::arm()
{
	if (shape_.wait != Wait::event)
		return;
	if (const int err = ibv_req_notify_cq(cq_.get(), 0))
		fail_errno("asking for an event", err);
}

int VerbsSide::wait(std::span<ibv_wc> wc, double seconds, int also)
{
	const auto end =
		Clock::now() + std::chrono::duration_cast<Clock::duration>(
				       std::chrono::duration<double>(seconds));

	for (unsigned int looks = 0;; looks++) {
		const int n = take(wc);

		if (n)
			return n;
		if (shape_.wait == Wait::event) {
			std::array<pollfd, 2> p{
				{{channel_->fd, POLLIN, 0}, {also, POLLIN, 0}}};
			ibv_cq *cq;
			void *context;
			const auto left =
				std::chrono::ceil<std::chrono::milliseconds>(
					end - Clock::now())
					.count();

			if (left <= 0)
				return 0;
			if (poll(p.data(), p.size(), static_cast<int>(left)) <=
			    0)
				continue;
			if (p[1].revents)
				return 0;
			if (ibv_get_cq_event(channel_.get(), &cq, &context))
				continue;
			if (++events_ == ack_events_after) {
				ibv_ack_cq_events(cq, events_);
				events_ = 0;
			}
			arm();
			continue;
		}
		if (shape_.wait == Wait::yield)
			sched_yield();
		/* Reading the clock and polling descriptors cost more than a
		 * look at the queue.
		 */
		if (looks % 64)
			continue;
		pollfd p{also, POLLIN, 0};

		if (Clock::now() >= end || (also >= 0 && poll(&p, 1, 0) > 0))
			return 0;
	}
}
} // namespace mrcbench

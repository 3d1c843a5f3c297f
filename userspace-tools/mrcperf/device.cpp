// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "device.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include <endian.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>

#include "error.hpp"

namespace mrcperf
{
namespace
{
constexpr uint32_t gid_entries = 256;

/* For the functions of libMRC that return an errno value. */
void check(int err, const char *what)
{
	if (err)
		fail_errno(what, err);
}

template <typename T> T *check(T *object, const std::string &what)
{
	if (!object)
		fail_errno(what, errno);
	return object;
}

template <auto destroy> struct Destroy {
	template <typename T> void operator()(T *object) const
	{
		destroy(object);
	}
};

template <typename T, auto destroy>
using Handle = std::unique_ptr<T, Destroy<destroy>>;

using DeviceList = Handle<ibv_device *, ibv_free_device_list>;
using Pd = Handle<ibv_pd, ibv_dealloc_pd>;
using Mr = Handle<ibv_mr, ibv_dereg_mr>;
using Channel = Handle<mrc_comp_channel, mrc_destroy_comp_channel>;
using Cq = Handle<mrc_cq, mrc_destroy_cq>;
using Qp = Handle<mrc_qp, mrc_destroy_qp>;

/* Separate pages that exist before their first use. */
class Pages
{
public:
	explicit Pages(size_t size) : size_(size)
	{
		void *p = mmap(nullptr, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			fail_errno(fmt::format("{} bytes of memory", size),
				   errno);
		start_ = static_cast<uint8_t *>(p);
	}
	Pages(const Pages &) = delete;
	Pages &operator=(const Pages &) = delete;
	~Pages() { munmap(start_, size_); }

	uint8_t *start() const { return start_; }
	std::span<uint8_t> span() const { return {start_, size_}; }

private:
	uint8_t *start_;
	size_t size_;
};

ibv_mtu mtu_value(uint16_t bytes)
{
	switch (bytes) {
	case 256:
		return IBV_MTU_256;
	case 512:
		return IBV_MTU_512;
	case 1024:
		return IBV_MTU_1024;
	case 2048:
		return IBV_MTU_2048;
	case 4096:
		return IBV_MTU_4096;
	default:
		throw ProtocolError(
			fmt::format("the peer has an MTU of {}", bytes));
	}
}

uint16_t mtu_bytes(ibv_mtu mtu)
{
	return static_cast<uint16_t>(128u << mtu);
}

/* The properties of the device that the endpoint needs. */
struct Port {
	ibv_context *verbs;
	mrc_context *mrc;
	std::string name;
	uint8_t number;
	uint8_t gid_index;
	union ibv_gid gid;
	uint16_t mtu;
	std::optional<uint64_t> ev_profile;
	std::optional<uint64_t> cc_profile;
};

class MrcEndpoint : public Endpoint
{
public:
	MrcEndpoint(const Port &port, const Setup &setup)
		: port_(port), setup_(setup), pages_(setup.memory)
	{
		pd_.reset(check(ibv_alloc_pd(port_.verbs), "ibv_alloc_pd"));
		mr_.reset(check(
			ibv_reg_mr(pd_.get(), pages_.start(), setup_.memory,
				   IBV_ACCESS_LOCAL_WRITE |
					   IBV_ACCESS_REMOTE_WRITE),
			fmt::format("ibv_reg_mr of {} bytes", setup_.memory)));
		if (setup_.events)
			make_channel();
		send_cq_ = make_cq(setup_.depth);
		recv_cq_ = make_cq(setup_.rx_depth);
		make_qps();
		sends_.resize(max_list);
		pieces_.resize(max_list);
		receives_.resize(std::min<uint32_t>(setup_.rx_depth, 256));
	}

	std::span<uint8_t> memory() override { return pages_.span(); }

	Address address() override
	{
		std::random_device random;
		Address a;

		std::memcpy(a.gid.data(), port_.gid.raw, a.gid.size());
		a.base = reinterpret_cast<uintptr_t>(pages_.start());
		a.rkey = mr_->rkey;
		a.mtu = setup_.mtu ? std::min(setup_.mtu, port_.mtu)
				   : port_.mtu;
		a.device = port_.name;
		psns_.clear();
		for (const Qp &qp : qps_) {
			uint32_t qpn = 0;

			if (mrc_get_qpn(qp.get(), &qpn))
				fail_errno("mrc_get_qpn", errno);
			psns_.push_back(random() & 0xffffff);
			a.qps.push_back({.qpn = qpn, .psn = psns_.back()});
		}
		return a;
	}

	void connect(const Address &peer, uint16_t mtu) override
	{
		rkey_ = peer.rkey;
		for (size_t i = 0; i < qps_.size(); i++) {
			to_rtr(qps_[i].get(), peer, peer.qps[i], mtu);
			to_rts(qps_[i].get(), psns_[i]);
		}
	}

	void post_sends(uint32_t qp, std::span<const SendRequest> list) override
	{
		ibv_send_wr *bad = nullptr;

		for (size_t i = 0; i < list.size(); i++)
			fill_send(qp, list[i], i, i + 1 < list.size());
		check(mrc_post_send(qps_[qp].get(), sends_.data(), &bad),
		      "mrc_post_send");
	}

	void post_receives(uint32_t qp, uint32_t count) override
	{
		ibv_recv_wr *bad = nullptr;

		while (count) {
			const uint32_t n =
				std::min<uint32_t>(count, receives_.size());

			for (uint32_t i = 0; i < n; i++) {
				receives_[i] = {};
				receives_[i].wr_id = qp;
				receives_[i].next =
					i + 1 < n ? &receives_[i + 1] : nullptr;
			}
			if (mrc_post_recv(qps_[qp].get(), receives_.data(),
					  &bad))
				fail_errno("mrc_post_recv", errno);
			count -= n;
		}
	}

	size_t poll_sends(std::span<SendDone> done) override
	{
		const std::span<ibv_wc> wcs = poll(send_cq_.get(), done.size());

		for (size_t i = 0; i < wcs.size(); i++)
			done[i] = {
				.qp = static_cast<uint32_t>(wcs[i].wr_id >> 32),
				.tag = static_cast<uint32_t>(wcs[i].wr_id)};
		return wcs.size();
	}

	size_t poll_receives(std::span<ReceiveDone> done) override
	{
		const std::span<ibv_wc> wcs = poll(recv_cq_.get(), done.size());

		for (size_t i = 0; i < wcs.size(); i++) {
			const ibv_wc &wc = wcs[i];

			if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM ||
			    !(wc.wc_flags & IBV_WC_WITH_IMM))
				throw RunError(fmt::format(
					"a receive completion of kind {}",
					static_cast<int>(wc.opcode)));
			done[i] = {.qp = static_cast<uint32_t>(wc.wr_id),
				   .imm = be32toh(wc.imm_data),
				   .length = wc.byte_len};
		}
		return wcs.size();
	}

	void arm() override
	{
		check(mrc_req_notify_cq(send_cq_.get(), 0),
		      "mrc_req_notify_cq");
		check(mrc_req_notify_cq(recv_cq_.get(), 0),
		      "mrc_req_notify_cq");
	}

	void sleep(int fd, int ms) override
	{
		pollfd fds[] = {
			{.fd = channel_fd_, .events = POLLIN, .revents = 0},
			{.fd = fd, .events = POLLIN, .revents = 0}};

		if (::poll(fds, 2, ms) <= 0 || !(fds[0].revents & POLLIN))
			return;
		/* Each of the two queues can have an event. */
		for (int i = 0; i < 2 && channel_readable(); i++) {
			mrc_cq *cq = nullptr;
			void *context = nullptr;

			if (mrc_get_cq_event(channel_.get(), &cq, &context))
				fail_errno("mrc_get_cq_event", errno);
			mrc_ack_cq_events(cq, 1);
		}
	}

private:
	void make_channel()
	{
		mrc_comp_channel *channel = nullptr;

		check(mrc_create_comp_channel(port_.mrc, &channel),
		      "mrc_create_comp_channel");
		channel_.reset(channel);
		if (mrc_get_comp_channel_fd(channel, &channel_fd_))
			fail_errno("mrc_get_comp_channel_fd", errno);
	}

	bool channel_readable() const
	{
		pollfd p{.fd = channel_fd_, .events = POLLIN, .revents = 0};

		return ::poll(&p, 1, 0) > 0;
	}

	Cq make_cq(uint32_t depth) const
	{
		const auto cqe = static_cast<int>(depth * setup_.qps);

		return Cq(check(mrc_create_cq(port_.mrc, cqe, nullptr,
					      channel_.get(), 0),
				fmt::format("mrc_create_cq of {}", cqe)));
	}

	void make_qps()
	{
		for (uint32_t i = 0; i < setup_.qps; i++) {
			mrc_qp_init_attr init{};

			init.send_cq = send_cq_.get();
			init.recv_cq = recv_cq_.get();
			init.cap.max_send_wr = setup_.depth;
			init.cap.max_recv_wr = setup_.rx_depth;
			init.cap.max_send_sge = 1;
			init.cap.max_recv_sge = 1;
			init.cap.max_inline_data = setup_.inline_size;
			init.pd = pd_.get();
			qps_.emplace_back(check(
				mrc_create_qp(port_.mrc, &init),
				fmt::format("mrc_create_qp ({} sends, "
					    "{} receives)",
					    setup_.depth, setup_.rx_depth)));
			to_init(qps_.back().get());
		}
	}

	void to_init(mrc_qp *qp) const
	{
		ibv_qp_attr attr{};
		mrc_qp_attr mrc{};
		int mask = 0;

		attr.qp_state = IBV_QPS_INIT;
		attr.port_num = port_.number;
		attr.qp_access_flags =
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
		if (port_.ev_profile) {
			mrc.profile.ev_profile_id = *port_.ev_profile;
			mask |= MRC_QP_EV_PROFILE_ID;
		}
		if (port_.cc_profile) {
			mrc.profile.cc_profile_id = *port_.cc_profile;
			mask |= MRC_QP_CC_PROFILE_ID;
		}
		check(mrc_modify_qp(qp, &attr,
				    IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					    IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
				    &mrc, mask),
		      mask ? "mrc_modify_qp to INIT (are the profiles online?)"
			   : "mrc_modify_qp to INIT");
	}

	void to_rtr(mrc_qp *qp, const Address &peer, const QpAddress &qp_peer,
		    uint16_t mtu) const
	{
		ibv_qp_attr attr{};

		attr.qp_state = IBV_QPS_RTR;
		attr.path_mtu = mtu_value(mtu);
		attr.dest_qp_num = qp_peer.qpn;
		attr.rq_psn = qp_peer.psn;
		attr.ah_attr.is_global = 1;
		attr.ah_attr.port_num = port_.number;
		attr.ah_attr.grh.sgid_index = port_.gid_index;
		attr.ah_attr.grh.hop_limit = 64;
		attr.ah_attr.grh.traffic_class = setup_.traffic_class;
		std::memcpy(attr.ah_attr.grh.dgid.raw, peer.gid.data(),
			    peer.gid.size());
		check(mrc_modify_qp(qp, &attr,
				    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
				    nullptr, 0),
		      "mrc_modify_qp to RTR");
	}

	void to_rts(mrc_qp *qp, uint32_t psn) const
	{
		ibv_qp_attr attr{};
		mrc_qp_attr mrc{};
		int mask = 0;

		attr.qp_state = IBV_QPS_RTS;
		attr.sq_psn = psn;
		if (setup_.timeout) {
			mrc.timeout = *setup_.timeout;
			mask |= MRC_QP_TIMEOUT;
		}
		if (setup_.retry) {
			mrc.retry.linear_cnt = setup_.retry->linear;
			mrc.retry.exp_cnt = setup_.retry->exponential;
			mask |= MRC_QP_RETRY_CNT;
		}
		check(mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN,
				    &mrc, mask),
		      "mrc_modify_qp to RTS");
	}

	void fill_send(uint32_t qp, const SendRequest &r, size_t i, bool more)
	{
		ibv_send_wr &wr = sends_[i];
		ibv_sge &sge = pieces_[i];

		sge.addr =
			reinterpret_cast<uintptr_t>(pages_.start()) + r.local;
		sge.length = r.length;
		sge.lkey = mr_->lkey;
		wr = {};
		wr.wr_id = uint64_t{qp} << 32 | r.tag;
		wr.next = more ? &sends_[i + 1] : nullptr;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.wr.rdma.remote_addr = r.remote;
		wr.wr.rdma.rkey = rkey_;
		wr.opcode = IBV_WR_RDMA_WRITE;
		if (r.op == Op::write_imm) {
			wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
			wr.imm_data = htobe32(r.imm);
		}
		if (r.signaled)
			wr.send_flags |= IBV_SEND_SIGNALED;
		if (r.inlined)
			wr.send_flags |= IBV_SEND_INLINE;
	}

	std::span<ibv_wc> poll(mrc_cq *cq, size_t most)
	{
		const int n = mrc_poll_cq(
			cq, static_cast<int>(std::min(most, std::size(wcs_))),
			wcs_);

		if (n < 0)
			fail_errno("mrc_poll_cq", errno);
		for (const ibv_wc &wc : std::span(wcs_, static_cast<size_t>(n)))
			if (wc.status != IBV_WC_SUCCESS)
				throw RunError(fmt::format(
					"queue pair {:#x}: {} (status {}, "
					"vendor error {:#x})",
					wc.qp_num, ibv_wc_status_str(wc.status),
					static_cast<int>(wc.status),
					wc.vendor_err));
		return {wcs_, static_cast<size_t>(n)};
	}

	/* Members are destroyed from the last to the first. */
	const Port port_;
	const Setup setup_;
	Pages pages_;
	Pd pd_;
	Mr mr_;
	Channel channel_;
	int channel_fd_ = -1;
	Cq send_cq_;
	Cq recv_cq_;
	std::vector<Qp> qps_;
	std::vector<uint32_t> psns_;
	uint32_t rkey_ = 0;
	std::vector<ibv_send_wr> sends_;
	std::vector<ibv_sge> pieces_;
	std::vector<ibv_recv_wr> receives_;
	ibv_wc wcs_[64];
};

bool does_mrc(ibv_context *verbs)
{
	mrc_device_attr attr{};
	int supported = 0;

	if (mrc_query_device(verbs, &attr, &supported))
		fail_errno("mrc_query_device", errno);
	return supported != 0;
}

bool is_ipv4(const union ibv_gid &gid)
{
	static constexpr uint8_t prefix[12] = {0, 0, 0, 0, 0,	 0,
					       0, 0, 0, 0, 0xff, 0xff};

	return !std::memcmp(gid.raw, prefix, sizeof(prefix));
}

bool is_link_local(const union ibv_gid &gid)
{
	return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
}
} // namespace

Device::Device(const Options &options) : options_(options)
{
	try {
		open();
		if (ibv_query_port(verbs_, options_.ib_port, &port_))
			throw RunError(fmt::format("{} has no port {}", name_,
						   options_.ib_port));
		choose_gid();
		mrc_context_attr attr{.mrc_api_version_used = MRC_API_VER_USED,
				      .mrc_vendor_api_version_used =
					      MRC_VENDOR_API_VER_USED};

		mrc_ = check(mrc_create_context(verbs_, &attr),
			     "mrc_create_context");
	} catch (...) {
		if (verbs_)
			ibv_close_device(verbs_);
		throw;
	}
}

Device::~Device()
{
	mrc_destroy_context(mrc_);
	ibv_close_device(verbs_);
}

/* Opens the named device, or the only one that supports MRC. */
void Device::open()
{
	int n = 0;
	const DeviceList list(ibv_get_device_list(&n));
	std::string several;

	if (!list)
		fail_errno("ibv_get_device_list", errno);
	for (int i = 0; i < n; i++) {
		const std::string name = ibv_get_device_name(list.get()[i]);

		if (!options_.device.empty() && name != options_.device)
			continue;
		ibv_context *verbs = ibv_open_device(list.get()[i]);

		if (!verbs)
			fail_errno("opening " + name, errno);
		if (!does_mrc(verbs)) {
			ibv_close_device(verbs);
			if (!options_.device.empty())
				throw RunError(name + " does no MRC");
			continue;
		}
		several += several.empty() ? name : ", " + name;
		if (verbs_)
			ibv_close_device(verbs);
		else
			verbs_ = verbs;
		name_ = several;
	}
	if (!verbs_)
		throw RunError(options_.device.empty()
				       ? "no MRC device"
				       : "no device " + options_.device);
	if (name_.find(',') != std::string::npos)
		throw UsageError("several devices, choose one with -d: " +
				 name_);
}

void Device::choose_gid()
{
	const uint32_t from = options_.gid_index.value_or(0);
	const uint32_t end = options_.gid_index ? from + 1 : gid_entries;
	bool found = false;

	for (uint32_t i = from; i < end; i++) {
		ibv_gid_entry entry{};

		if (ibv_query_gid_ex(verbs_, options_.ib_port, i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		if (!options_.gid_index && is_link_local(entry.gid))
			continue;
		if (found && !is_ipv4(entry.gid))
			continue;
		gid_ = entry.gid;
		gid_index_ = static_cast<uint8_t>(i);
		found = true;
		if (is_ipv4(gid_))
			break;
	}
	if (!found)
		throw RunError(
			options_.gid_index
				? fmt::format("{} has no RoCE v2 GID {}", name_,
					      from)
				: fmt::format("{} has no RoCE v2 GID", name_));
}

std::unique_ptr<Endpoint> Device::make(const Setup &setup) const
{
	return std::make_unique<MrcEndpoint>(
		Port{.verbs = verbs_,
		     .mrc = mrc_,
		     .name = name_,
		     .number = options_.ib_port,
		     .gid_index = gid_index_,
		     .gid = gid_,
		     .mtu = mtu_bytes(port_.active_mtu),
		     .ev_profile = options_.ev_profile,
		     .cc_profile = options_.cc_profile},
		setup);
}
} // namespace mrcperf

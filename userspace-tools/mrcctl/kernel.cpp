// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "kernel.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <rdma/mrc-ctl-abi.h>

#include "../common/uverbs.hpp"
#include "error.hpp"
#include "nldev.hpp"
#include "sysfs.hpp"
#include "words.hpp"

namespace mrcctl
{
namespace
{
/* The list of all devices; freed with this object. */
class DeviceList
{
public:
	DeviceList() : list_(ibv_get_device_list(&n_))
	{
		/* ENOSYS: this kernel has no RDMA, so there is no device. */
		if (!list_ && errno != ENOSYS)
			throw DeviceError("RDMA devices", errno);
	}
	DeviceList(const DeviceList &) = delete;
	DeviceList &operator=(const DeviceList &) = delete;
	~DeviceList()
	{
		if (list_)
			ibv_free_device_list(list_);
	}

	int size() const { return list_ ? n_ : 0; }
	ibv_device *operator[](int i) const { return list_[i]; }

private:
	int n_ = 0;
	ibv_device **list_;
};

bool does_mrc(ibv_device *dev)
{
	ibv_context *ctx = ibv_open_device(dev);
	mrc_device_attr attr{};
	int supported = 0;

	if (!ctx)
		return false;
	if (mrc_query_device(ctx, &attr, &supported))
		supported = 0;
	ibv_close_device(ctx);
	return supported != 0;
}

void must(int err, const std::string &what)
{
	if (err)
		throw DeviceError(what, err);
}

/* For functions of libMRC that return -1. */
void must_lib(int ret, const std::string &what)
{
	if (ret)
		throw DeviceError(what, errno);
}

/* Changes the attributes that @io names, then fills it. Returns 0 or the errno.
 */
int dev_attr(const ibv_context *ctx, mrc_abi_dev_attr &io)
{
	uverbs::Command cmd(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_ATTR);

	cmd.add_in(MRC_ABI_ATTR_IN, uverbs::bytes_in(io));
	cmd.add_out(MRC_ABI_ATTR_OUT, uverbs::bytes_out(io));
	return cmd.run(ctx->cmd_fd);
}

class Events : public EventSource
{
public:
	Events(mrc_context *mrc, uint32_t depth)
	{
		must(mrc_create_comp_channel(mrc, &channel_), "EV events");
		cq_ = mrc_ctl_create_ev_event_cq(mrc, static_cast<int>(depth),
						 nullptr, channel_, 0);
		if (!cq_ || mrc_get_comp_channel_fd(channel_, &fd_)) {
			const int err = errno;

			drop();
			throw DeviceError("EV events", err);
		}
	}
	Events(const Events &) = delete;
	Events &operator=(const Events &) = delete;
	~Events() override { drop(); }

	/*
	 * Arm first, then check for events: an event in between is found by one
	 * or the other.
	 */
	std::vector<EvEvent> wait(int ms) override
	{
		if (!armed_)
			must(mrc_req_notify_cq(cq_, 0), "EV events");
		armed_ = true;
		std::vector<EvEvent> out = take();

		if (!out.empty())
			return out;
		pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};

		if (poll(&p, 1, ms) <= 0)
			return out;
		mrc_cq *cq = nullptr;
		void *context = nullptr;

		must_lib(mrc_get_cq_event(channel_, &cq, &context),
			 "EV events");
		mrc_ack_cq_events(cq, 1);
		armed_ = false;
		return take();
	}

private:
	std::vector<EvEvent> take()
	{
		mrc_ctl_ev_event ev[64];
		std::vector<EvEvent> out;
		const int n = mrc_ctl_poll_ev_event(
			cq_, static_cast<int>(std::size(ev)), ev);

		if (n < 0)
			throw DeviceError("EV events", -n);
		for (int i = 0; i < n; i++) {
			EvEvent e;

			e.profile = ev[i].profile_id;
			std::copy(std::begin(ev[i].ev.val),
				  std::end(ev[i].ev.val), e.ev.val.begin());
			e.ev.port = ev[i].ev.port;
			e.state = static_cast<EvState>(ev[i].state);
			e.dropped = ev[i].drop_count;
			out.push_back(e);
		}
		return out;
	}

	void drop()
	{
		if (cq_)
			mrc_destroy_cq(cq_);
		mrc_destroy_comp_channel(channel_);
	}

	mrc_comp_channel *channel_ = nullptr;
	mrc_cq *cq_ = nullptr;
	int fd_ = -1;
	bool armed_ = false;
};
} // namespace

std::vector<std::string> Kernel::devices()
{
	std::vector<std::string> out;
	const DeviceList list;

	for (int i = 0; i < list.size(); i++)
		if (does_mrc(list[i]))
			out.emplace_back(ibv_get_device_name(list[i]));
	std::sort(out.begin(), out.end());
	return out;
}

std::unique_ptr<Backend> Kernel::open(const std::string &name)
{
	return std::make_unique<KernelDevice>(name);
}

KernelDevice::KernelDevice(std::string name) : name_(std::move(name))
{
	mrc_context_attr attr{};
	const DeviceList list;

	errno = ENODEV;
	for (int i = 0; i < list.size() && !ctx_; i++)
		if (name_ == ibv_get_device_name(list[i]))
			ctx_ = ibv_open_device(list[i]);
	if (!ctx_)
		throw DeviceError(name_, errno);
	attr.mrc_api_version_used = MRC_API_VER_USED;
	mrc_ = mrc_create_context(ctx_, &attr);
	if (!mrc_) {
		const int err = errno;

		ibv_close_device(ctx_);
		throw DeviceError(name_, err);
	}
}

KernelDevice::~KernelDevice()
{
	mrc_destroy_context(mrc_);
	ibv_close_device(ctx_);
}

Device KernelDevice::device()
{
	mrc_ctl_device_attr ctl{};
	mrc_device_attr attr{};
	int supported = 0;
	Device d;

	must_lib(mrc_query_device_ex(ctx_, mrc_, &attr, &supported), name_);
	if (supported)
		must_lib(mrc_ctl_query_device_ex(ctx_, mrc_, &ctl, &supported),
			 name_);
	if (!supported)
		throw DeviceError(name_, EOPNOTSUPP);
	d.name = name_;
	d.protocol_version = attr.mrc_protocol_version;
	d.ctl_protocol_version = ctl.mrc_ctl_protocol_version;
	d.max_wimm = attr.wimm_attr.max_wimm;
	d.max_wimm_dest = attr.wimm_attr.max_wimm_dest;
	d.max_mpr = attr.mpr_attr.max_mpr;
	d.mpr_resolution = attr.mpr_attr.mpr_resolution;
	d.max_qp_hint = attr.qp_attr.max_qp_hint;
	d.cap = attr.cap;
	d.opt = ctl.opt_attr;
	d.max_fmt_profiles = ctl.ev.ev_max_fmt_profiles;
	d.max_ev_profiles = ctl.ev.ev_max_profiles;
	d.max_cc_profiles = ctl.cc.cc_max_profiles;
	d.max_evs = ctl.ev.ev_max_count;
	d.free_evs = ctl.ev.ev_free_count;
	d.max_evs_profile = ctl.ev.ev_max_count_profile;
	d.ev_count_align = ctl.ev.ev_count_align;
	d.ev_max_width = ctl.ev.ev_max_width;
	d.ev_op_max_entries = ctl.ev.ev_op_max_entries;
	d.fmt_modes = ctl.ev.ev_fmt_mode_mask;
	d.ev_modes = ctl.ev.ev_mode_mask;
	d.port_mask = ctl.phy_port_mask;
	for (const char **a = ctl.cc.algorithms; a && *a; a++)
		d.algorithms.emplace_back(*a);
	mrc_abi_dev_attr abi{};

	/* Modules without these attributes lack the method as well. */
	if (dev_attr(ctx_, abi))
		return d;
	d.extension = abi.extension != 0;
	d.qp = QpDefaults{
		.num_evs = abi.num_evs,
		.mpr = abi.mpr,
		.cwnd = abi.cwnd,
		.cc = {abi.cc, strnlen(abi.cc, sizeof(abi.cc))},
	};
	return d;
}

void KernelDevice::change(const DeviceChange &c)
{
	mrc_abi_dev_attr abi{};

	if (c.extension) {
		abi.mask |= MRC_ABI_DEV_ATTR_EXTENSION;
		abi.extension = *c.extension;
	}
	if (c.num_evs) {
		abi.mask |= MRC_ABI_DEV_ATTR_NUM_EVS;
		abi.num_evs = *c.num_evs;
	}
	if (c.cwnd) {
		abi.mask |= MRC_ABI_DEV_ATTR_CWND;
		abi.cwnd = *c.cwnd;
	}
	if (c.mpr) {
		abi.mask |= MRC_ABI_DEV_ATTR_MPR;
		abi.mpr = *c.mpr;
	}
	if (c.cc) {
		abi.mask |= MRC_ABI_DEV_ATTR_CC;
		if (c.cc->size() >= sizeof(abi.cc))
			throw DeviceError("cc " + *c.cc, EINVAL);
		c.cc->copy(abi.cc, sizeof(abi.cc) - 1);
	}
	must(dev_attr(ctx_, abi), c.extension ? "extension"
				  : c.num_evs ? "num_evs"
				  : c.cwnd    ? "cwnd"
				  : c.mpr     ? "mpr"
					      : "cc");
}

std::vector<Port> KernelDevice::ports()
{
	const uint32_t mask = device().port_mask;
	std::vector<Port> out;

	for (uint32_t i = 1; i < 32; i++) {
		mrc_ctl_port_attr attr{};
		Port p;

		if (!(mask & 1u << i))
			continue;
		p.num = i;
		/* The other attributes are visible to everybody. */
		if (!mrc_ctl_query_port(mrc_, static_cast<uint8_t>(i), &attr,
					MRC_CTL_PORT_ADMIN_STATE))
			p.enabled = attr.port_admin_state ==
				    MRC_CTL_PORT_ADMIN_ENABLED;
		else if (errno != EPERM)
			throw DeviceError(fmt::format("port {}", i), errno);
		p.state = sysfs_port_state(name_, i);
		p.netdev = sysfs_netdev(name_, i);
		out.push_back(std::move(p));
	}
	return out;
}

std::vector<Counter> KernelDevice::counters(uint32_t port)
{
	return nldev_counters(name_, port);
}

void KernelDevice::enable_port(uint32_t port, bool enabled)
{
	mrc_ctl_port_attr attr{};

	attr.port_admin_state = enabled ? MRC_CTL_PORT_ADMIN_ENABLED
					: MRC_CTL_PORT_ADMIN_DISABLED;
	must_lib(mrc_ctl_modify_port(mrc_, static_cast<uint8_t>(port), &attr,
				     MRC_CTL_PORT_ADMIN_STATE),
		 fmt::format("port {}", port));
}

/* --- what libMRC has no function for
 * ------------------------------------------ */

namespace
{
/* Calls a method of the device with @in or @out. Returns 0 or the errno. */
int dev_call(const ibv_context *ctx, uint16_t method,
	     std::span<const std::byte> in, std::span<std::byte> out)
{
	uverbs::Command cmd(MRC_ABI_OBJECT_DEV, method);

	cmd.add_in(MRC_ABI_ATTR_IN, in);
	cmd.add_out(MRC_ABI_ATTR_OUT, out);
	return cmd.run(ctx->cmd_fd);
}
} // namespace

static_assert(TrafficClasses::count == MRC_ABI_DSCP_NAMES);
static_assert(no_profile == MRC_ABI_PROFILE_NONE);

TrafficClasses KernelDevice::traffic_classes()
{
	TrafficClasses tc;
	mrc_abi_tc abi{};

	must(dev_call(ctx_, MRC_ABI_DEV_TC_GET, {}, uverbs::bytes_out(abi)),
	     "tc");
	std::copy(std::begin(abi.dscp), std::end(abi.dscp), tc.dscp.begin());
	tc.trimming = abi.trimming != 0;
	return tc;
}

void KernelDevice::set_traffic_classes(const TrafficClasses &tc)
{
	mrc_abi_tc abi{};

	std::copy(tc.dscp.begin(), tc.dscp.end(), abi.dscp);
	abi.trimming = tc.trimming;
	must(dev_call(ctx_, MRC_ABI_DEV_TC_SET, uverbs::bytes_in(abi), {}),
	     "tc");
}

static_assert(Limits::count == MRC_ABI_LIMITS);

Limits KernelDevice::limits()
{
	mrc_abi_dev_limits abi{};
	Limits l;

	must(dev_call(ctx_, MRC_ABI_DEV_LIMITS, uverbs::bytes_in(abi),
		      uverbs::bytes_out(abi)),
	     "limit");
	std::copy_n(abi.max, l.max.size(), l.max.begin());
	std::copy_n(abi.now, l.now.size(), l.now.begin());
	return l;
}

void KernelDevice::set_limits(const LimitChange &c)
{
	mrc_abi_dev_limits abi{};

	for (std::size_t i = 0; i < c.size(); i++) {
		if (!c[i])
			continue;
		abi.mask |= 1u << i;
		abi.max[i] = *c[i];
	}
	must(dev_call(ctx_, MRC_ABI_DEV_LIMITS, uverbs::bytes_in(abi),
		      uverbs::bytes_out(abi)),
	     "limit");
}

std::vector<Default> KernelDevice::defaults()
{
	std::vector<mrc_abi_default> abi;
	mrc_abi_defaults d{};
	int err = 0;

	/* If the buffer is too small, the kernel returns the required size. */
	do {
		uverbs::Command cmd(MRC_ABI_OBJECT_DEFAULT,
				    MRC_ABI_DEFAULT_GET);

		abi.resize(d.n);
		cmd.add_out(MRC_ABI_ATTR_OUT, uverbs::bytes_out(d));
		cmd.add_out(MRC_ABI_ATTR_ARRAY_OUT,
			    std::as_writable_bytes(std::span(abi)));
		err = cmd.run(ctx_->cmd_fd);
	} while (err == E2BIG && d.n > abi.size());
	must(err, "defaults");
	std::vector<Default> out(std::min<std::size_t>(d.n, abi.size()));

	for (std::size_t i = 0; i < out.size(); i++) {
		std::copy(std::begin(abi[i].prefix), std::end(abi[i].prefix),
			  out[i].prefix.addr.begin());
		out[i].prefix.len = abi[i].prefix_len;
		out[i].ev_profile = abi[i].ev_profile;
		out[i].cc_profile = abi[i].cc_profile;
		out[i].udp_port = static_cast<uint16_t>(abi[i].udp_port);
	}
	return out;
}

void KernelDevice::set_default(const Default &d)
{
	mrc_abi_default abi{};

	std::copy(d.prefix.addr.begin(), d.prefix.addr.end(), abi.prefix);
	abi.prefix_len = d.prefix.len;
	abi.ev_profile = d.ev_profile;
	abi.cc_profile = d.cc_profile;
	abi.udp_port = d.udp_port;
	uverbs::Command cmd(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_SET);

	cmd.add_in(MRC_ABI_ATTR_IN, uverbs::bytes_in(abi));
	must(cmd.run(ctx_->cmd_fd), "default " + show_prefix(d.prefix));
}

std::vector<QpName> KernelDevice::qps()
{
	return nldev_qps(name_);
}

std::optional<Qp> KernelDevice::qp(const QpName &name)
{
	std::vector<mrc_abi_qp_ev> evs(1024);
	mrc_abi_qp_info i{};
	Qp q;

	uverbs::Command cmd(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_QP_QUERY);

	i.qpn = name.qpn;
	cmd.add_in(MRC_ABI_ATTR_IN, uverbs::bytes_in(i));
	cmd.add_out(MRC_ABI_ATTR_OUT, uverbs::bytes_out(i));
	cmd.add_out(MRC_ABI_ATTR_ARRAY_OUT,
		    std::as_writable_bytes(std::span(evs)));
	const int err = cmd.run(ctx_->cmd_fd);

	if (err == ENOENT)
		return {};
	must(err, fmt::format("qp {}", name.qpn));
	q.name = name;
	q.dest_qpn = i.dest_qpn;
	q.ev_profile = i.ev_profile;
	q.cc_profile = i.cc_profile;
	q.cc.assign(i.cc, strnlen(i.cc, sizeof(i.cc)));
	q.sched_state = i.sched_state;
	q.cwnd = i.cwnd;
	q.inflight = i.inflight;
	q.window = i.window;
	q.base_rtt_ns = i.base_rtt;
	q.srtt_ns = i.srtt;
	q.tx_pkts = i.tx_pkts;
	q.rtx_pkts = i.rtx_pkts;
	q.timeouts = i.timeouts;
	q.ports_up = i.ports_up;
	q.peer_ports = i.peer_ports;
	for (std::size_t n = 0;
	     n < std::min<uint32_t>(i.n_ports, MRC_ABI_PORTS); n++)
		q.ports.push_back({.tx_pkts = i.port_tx[n],
				   .tx_bytes = i.port_tx_bytes[n]});
	for (std::size_t n = 0; n < std::min<std::size_t>(i.n_evs, evs.size());
	     n++)
		q.evs.push_back({.entropy = evs[n].entropy,
				 .port = evs[n].port,
				 .state = evs[n].state,
				 .drops = evs[n].drops});
	return q;
}

/* --- endpoint operations, events
 * ---------------------------------------------- */

Backend::EpResult KernelDevice::endpoint(const EpRequest &r)
{
	std::vector<mrc_ctl_ep_req> req(r.evs.size());
	std::vector<mrc_ctl_ep_rsp> rsp(r.evs.size());
	EpResult out;
	int n = 0;

	for (std::size_t i = 0; i < req.size(); i++) {
		req[i].req_id = static_cast<uint16_t>(i);
		std::copy(r.src.begin(), r.src.end(), req[i].sgid.raw);
		std::copy(r.dst.begin(), r.dst.end(), req[i].dgid.raw);
		req[i].ev_fmt_mode = static_cast<mrc_ctl_ev_fmt_mode>(r.mode);
		std::copy(r.evs[i].val.begin(), r.evs[i].val.end(),
			  req[i].req_ev.val);
		req[i].req_ev.port = r.evs[i].port;
		req[i].op.port_status_update.port_status =
			r.port_status.value_or(0);
	}
	if (mrc_ctl_ep_batch_send_wait(
		    mrc_, r.tc,
		    r.port_status ? MRC_CTL_EP_OP_PORT_STATUS_UPDATE
				  : MRC_CTL_EP_OP_EV_PROBE,
		    req.data(), static_cast<int>(req.size()), r.timeout_ns,
		    rsp.data(), &n)) {
		if (errno != ETIMEDOUT)
			throw DeviceError("probe", errno);
		out.timed_out = true;
	}
	for (int i = 0; i < n; i++)
		out.responses.push_back(
			{.request = rsp[static_cast<std::size_t>(i)].req_id,
			 .port = rsp[static_cast<std::size_t>(i)].port,
			 .rtt_ns = rsp[static_cast<std::size_t>(i)].rtt,
			 .service_time_removed =
				 rsp[static_cast<std::size_t>(i)]
					 .adj_svc_time != 0});
	return out;
}

std::unique_ptr<EventSource> KernelDevice::events(uint32_t depth)
{
	return std::make_unique<Events>(mrc_, depth);
}
} // namespace mrcctl

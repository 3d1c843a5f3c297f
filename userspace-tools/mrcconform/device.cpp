// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "device.hpp"

#include <cerrno>

#include <cstring>
#include <utility>

#include <endian.h>
#include <fmt/format.h>
#include <unistd.h>

#include "clock.hpp"
#include "error.hpp"

namespace mrcconform
{
namespace
{
using nlohmann::json;

struct DeviceList {
	int count = 0;
	ibv_device **list = ibv_get_device_list(&count);

	DeviceList() = default;
	DeviceList(const DeviceList &) = delete;
	DeviceList &operator=(const DeviceList &) = delete;
	~DeviceList()
	{
		if (list)
			ibv_free_device_list(list);
	}
};

int access_flags(uint32_t access)
{
	int flags = IBV_ACCESS_LOCAL_WRITE;

	if (access & access_write)
		flags |= IBV_ACCESS_REMOTE_WRITE;
	if (access & access_read)
		flags |= IBV_ACCESS_REMOTE_READ;
	if (access & access_atomic)
		flags |= IBV_ACCESS_REMOTE_ATOMIC;
	return flags;
}

ibv_mtu mtu_of(uint32_t bytes)
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
	default:
		return IBV_MTU_4096;
	}
}

const char *status_name(ibv_wc_status s)
{
	switch (s) {
	case IBV_WC_SUCCESS:
		return "SUCCESS";
	case IBV_WC_LOC_LEN_ERR:
		return "LOC_LEN_ERR";
	case IBV_WC_LOC_QP_OP_ERR:
		return "LOC_QP_OP_ERR";
	case IBV_WC_LOC_PROT_ERR:
		return "LOC_PROT_ERR";
	case IBV_WC_WR_FLUSH_ERR:
		return "WR_FLUSH_ERR";
	case IBV_WC_LOC_ACCESS_ERR:
		return "LOC_ACCESS_ERR";
	case IBV_WC_REM_INV_REQ_ERR:
		return "REM_INV_REQ_ERR";
	case IBV_WC_REM_ACCESS_ERR:
		return "REM_ACCESS_ERR";
	case IBV_WC_REM_OP_ERR:
		return "REM_OP_ERR";
	case IBV_WC_RETRY_EXC_ERR:
		return "RETRY_EXC_ERR";
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return "RNR_RETRY_EXC_ERR";
	default:
		return "OTHER";
	}
}

/* Fields that a completion with an error does not define are left out. */
json completion(const ibv_wc &wc, bool received)
{
	json j{{"id", wc.wr_id},
	       {"status", status_name(wc.status)},
	       {"recv", received}};

	if (wc.status != IBV_WC_SUCCESS)
		return j;
	if (received) {
		j["length"] = wc.byte_len;
		if (wc.wc_flags & IBV_WC_WITH_IMM)
			j["imm"] = be32toh(wc.imm_data);
	}
	return j;
}
} // namespace

Port::Port(Api &api, const std::string &device, const Address &address)
{
	const DeviceList devices;
	bool seen = false;

	if (!devices.list)
		fail_errno("ibv_get_device_list", errno);
	for (int i = 0; i < devices.count; i++) {
		name_ = ibv_get_device_name(devices.list[i]);
		if (!device.empty() && name_ != device)
			continue;
		seen = true;
		try {
			opened_ = api.open(devices.list[i]);
			if (find_gid(address.gid()))
				return;
		} catch (const RunError &) {
			/* One that cannot be opened, or has no MRC. */
			if (!device.empty())
				throw;
		}
	}
	if (!device.empty() && !seen)
		throw RunError(fmt::format("no RDMA device {}", device));
	throw RunError(fmt::format("{} has no RoCE v2 GID for {}",
				   device.empty() ? "no RDMA device" : device,
				   address.text()));
}

bool Port::find_gid(const std::array<uint8_t, 16> &gid)
{
	ibv_device_attr attr{};

	check(ibv_query_device(context(), &attr), "ibv_query_device");
	for (uint8_t n = 1; n <= attr.phys_port_cnt; n++) {
		ibv_port_attr port{};

		if (ibv_query_port(context(), n, &port))
			continue;
		for (int i = 0; i < port.gid_tbl_len && i < 256; i++) {
			ibv_gid_entry e{};

			if (ibv_query_gid_ex(context(), n,
					     static_cast<uint32_t>(i), &e, 0) ||
			    e.gid_type != IBV_GID_TYPE_ROCE_V2 ||
			    std::memcmp(e.gid.raw, gid.data(), gid.size()))
				continue;
			number_ = n;
			gid_index_ = static_cast<uint8_t>(i);
			return true;
		}
	}
	return false;
}

TargetQp::TargetQp(Port &port, const req::MakeQp &r)
	: port_(port), r_(r), memory_(guard + r.memory + guard),
	  pd_(check(ibv_alloc_pd(port_.context()), "ibv_alloc_pd")),
	  mr_(check(ibv_reg_mr(pd_.get(), memory(), r.memory,
			       access_flags(r.mr_access)),
		    "ibv_reg_mr")),
	  qp_(port_.make_qp(pd_.get()))
{
	if (r.state == State::reset)
		return;
	to_init();
	if (r.recvs)
		recv(r.recvs);
	if (r.state == State::init)
		return;
	to_rtr();
	if (r.state != State::rtr)
		to_rts();
}

json TargetQp::describe() const
{
	return {{"qpn", qp_->qpn()},
		{"va", reinterpret_cast<uintptr_t>(memory())},
		{"rkey", mr_->rkey},
		{"device", port_.name()}};
}

void TargetQp::to_init()
{
	ibv_qp_attr attr{};

	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = port_.number();
	attr.qp_access_flags = static_cast<unsigned>(
		access_flags(r_.qp_access) & ~IBV_ACCESS_LOCAL_WRITE);
	qp_->modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				  IBV_QP_ACCESS_FLAGS);
}

void TargetQp::to_rtr()
{
	ibv_qp_attr attr{};
	const auto gid = r_.peer.gid();

	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = mtu_of(r_.mtu);
	attr.dest_qp_num = r_.peer_qpn;
	attr.rq_psn = r_.rq_psn;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 1;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = port_.number();
	attr.ah_attr.grh.sgid_index = port_.gid_index();
	attr.ah_attr.grh.hop_limit = 64;
	std::memcpy(attr.ah_attr.grh.dgid.raw, gid.data(), gid.size());
	qp_->modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC |
				  IBV_QP_MIN_RNR_TIMER);
}

void TargetQp::to_rts()
{
	ibv_qp_attr attr{};

	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = r_.sq_psn;
	attr.timeout = static_cast<uint8_t>(r_.timeout);
	attr.retry_cnt = static_cast<uint8_t>(r_.retry);
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	qp_->modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				  IBV_QP_MAX_QP_RD_ATOMIC);
}

void TargetQp::modify(State to)
{
	ibv_qp_attr attr{};

	switch (to) {
	case State::init:
		to_init();
		return;
	case State::rtr:
		to_rtr();
		return;
	case State::rts:
		to_rts();
		return;
	case State::reset:
		attr.qp_state = IBV_QPS_RESET;
		break;
	case State::error:
		attr.qp_state = IBV_QPS_ERR;
		break;
	}
	qp_->modify(attr, IBV_QP_STATE);
}

State TargetQp::state() const
{
	switch (qp_->state()) {
	case IBV_QPS_RESET:
		return State::reset;
	case IBV_QPS_INIT:
		return State::init;
	case IBV_QPS_RTR:
		return State::rtr;
	case IBV_QPS_RTS:
		return State::rts;
	default:
		return State::error;
	}
}

/* Receives have no memory: an immediate needs none. */
void TargetQp::recv(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		ibv_recv_wr wr{};

		wr.wr_id = next_recv_++;
		qp_->post_recv(wr);
	}
}

void TargetQp::check_range(uint64_t offset, uint64_t length) const
{
	if (offset > r_.memory || length > r_.memory - offset)
		throw FormatError(fmt::format(
			"{} bytes at {} are not in the memory of {} bytes",
			length, offset, r_.memory));
}

void TargetQp::post(const req::Post &r)
{
	ibv_send_wr wr{};
	ibv_sge sge{};

	check_range(r.offset, r.length);
	sge.addr = reinterpret_cast<uintptr_t>(memory()) + r.offset;
	sge.length = r.length;
	sge.lkey = mr_ ? mr_->lkey : 0;
	wr.wr_id = r.id;
	wr.sg_list = &sge;
	wr.num_sge = r.length ? 1 : 0;
	wr.opcode = r.imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
	wr.imm_data = htobe32(r.imm_data);
	wr.send_flags = IBV_SEND_SIGNALED |
			(r.solicited ? unsigned{IBV_SEND_SOLICITED} : 0u);
	wr.wr.rdma.remote_addr = r.va;
	wr.wr.rdma.rkey = r.rkey;
	qp_->post_send(wr);
}

json TargetQp::poll(uint32_t want, uint32_t ms)
{
	const auto end = Clock::now() + std::chrono::milliseconds(ms);
	json list = json::array();

	for (;;) {
		for (const bool received : {false, true}) {
			ibv_wc wc{};

			while (qp_->poll(received, wc))
				list.push_back(completion(wc, received));
		}
		if (list.size() >= want || Clock::now() >= end)
			return list;
		usleep(200);
	}
}

Bytes TargetQp::read(uint64_t offset, uint64_t length) const
{
	check_range(offset, length);

	const uint8_t *from = memory() + offset;

	return {from, from + static_cast<long>(length)};
}

void TargetQp::write(uint64_t offset, const Bytes &data)
{
	check_range(offset, data.size());
	std::copy(data.begin(), data.end(), memory() + offset);
}

void TargetQp::deregister()
{
	if (!mr_)
		throw FormatError("the memory is not registered any more");
	/* ibv_dereg_mr may fail, and the key may then still work. */
	check(ibv_dereg_mr(mr_.get()), "ibv_dereg_mr");
	(void)mr_.release();
}

json TargetQp::events(uint32_t ms)
{
	return qp_->events(ms);
}

Port &Session::port(const Address &address)
{
	auto &p = ports_[address];

	if (!p)
		p = std::make_unique<Port>(api_, device_, address);
	return *p;
}

TargetQp &Session::qp(uint32_t handle)
{
	const auto it = qps_.find(handle);

	if (it == qps_.end())
		throw FormatError(fmt::format("no queue pair {}", handle));
	return *it->second;
}

json Session::carry_out(const Request &request)
{
	struct Visitor {
		Session &s;

		json operator()(const req::Hello &r) const
		{
			if (r.version != proto_version)
				throw FormatError(fmt::format(
					"version {} of the protocol, this is "
					"version {}",
					r.version, proto_version));
			return {{"version", proto_version}};
		}
		json operator()(const req::MakeQp &r) const
		{
			if (s.qps_.size() >= max_qps)
				throw FormatError(fmt::format(
					"there are {} queue pairs already",
					max_qps));

			auto qp =
				std::make_unique<TargetQp>(s.port(r.local), r);
			json j = qp->describe();

			j["qp"] = s.next_;
			s.qps_[s.next_++] = std::move(qp);
			return j;
		}
		json operator()(const req::Modify &r) const
		{
			s.qp(r.qp).modify(r.state);
			return json::object();
		}
		json operator()(const req::Query &r) const
		{
			return {{"state", state_name(s.qp(r.qp).state())}};
		}
		json operator()(const req::Recv &r) const
		{
			s.qp(r.qp).recv(r.count);
			return json::object();
		}
		json operator()(const req::Post &r) const
		{
			s.qp(r.qp).post(r);
			return json::object();
		}
		json operator()(const req::Poll &r) const
		{
			return {{"completions", s.qp(r.qp).poll(r.want, r.ms)}};
		}
		json operator()(const req::Read &r) const
		{
			return {{"data",
				 to_hex(s.qp(r.qp).read(r.offset, r.length))}};
		}
		json operator()(const req::Write &r) const
		{
			s.qp(r.qp).write(r.offset, r.data);
			return json::object();
		}
		json operator()(const req::Deregister &r) const
		{
			s.qp(r.qp).deregister();
			return json::object();
		}
		json operator()(const req::Events &r) const
		{
			return {{"events", s.qp(r.qp).events(r.ms)}};
		}
		json operator()(const req::Destroy &r) const
		{
			s.qp(r.qp);
			s.qps_.erase(r.qp);
			return json::object();
		}
	};

	return std::visit(Visitor{*this}, request);
}

std::string Session::answer(const std::string &line)
{
	json j;

	try {
		j = carry_out(parse_request(line));
		j["ok"] = true;
	} catch (const std::exception &e) {
		j = {{"ok", false}, {"error", e.what()}};
	}
	/* A message may quote bytes of the request that are no UTF-8. */
	return j.dump(-1, ' ', false, json::error_handler_t::replace);
}
} // namespace mrcconform

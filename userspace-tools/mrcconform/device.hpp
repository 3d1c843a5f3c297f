/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcconform: devices and queue pairs of the target. */
#pragma once

#include <map>
#include <memory>

#include <infiniband/verbs.h>
#include <nlohmann/json.hpp>

#include "api.hpp"
#include "proto.hpp"

namespace mrcconform
{
constexpr size_t max_qps = 64; /* of a tester at a time */
constexpr size_t guard = 4096;

using Pd = std::unique_ptr<ibv_pd, Deleter<ibv_dealloc_pd>>;
using Mr = std::unique_ptr<ibv_mr, Deleter<ibv_dereg_mr>>;

/* An opened device, and where its GID table has an address. */
class Port
{
public:
	/* Throws RunError if no device, or not the one named, has it. */
	Port(Api &api, const std::string &device, const Address &address);

	ibv_context *context() const { return opened_->context(); }
	std::unique_ptr<QueuePair> make_qp(ibv_pd *pd)
	{
		return opened_->make_qp(pd);
	}
	const std::string &name() const { return name_; }
	uint8_t number() const { return number_; }
	uint8_t gid_index() const { return gid_index_; }

private:
	bool find_gid(const std::array<uint8_t, 16> &gid);

	std::shared_ptr<Device> opened_;
	std::string name_;
	uint8_t number_ = 0, gid_index_ = 0;
};

/* A queue pair, and memory that only its own protection domain has. */
class TargetQp
{
public:
	TargetQp(Port &port, const req::MakeQp &r);
	TargetQp(const TargetQp &) = delete;
	TargetQp &operator=(const TargetQp &) = delete;

	nlohmann::json describe() const;
	void modify(State to);
	State state() const;
	void recv(uint32_t count);
	void post(const req::Post &r);
	nlohmann::json poll(uint32_t want, uint32_t ms);
	Bytes read(uint64_t offset, uint64_t length) const;
	void write(uint64_t offset, const Bytes &data);
	void deregister();
	nlohmann::json events(uint32_t ms);

private:
	void check_range(uint64_t offset, uint64_t length) const;
	void to_init();
	void to_rtr();
	void to_rts();

	/* Members are given back from the last to the first. */
	Port &port_;
	req::MakeQp r_;
	uint8_t *memory() { return memory_.data() + guard; }
	const uint8_t *memory() const { return memory_.data() + guard; }

	/* With @guard bytes on both sides, for endpoints that write beyond the
	 * region. */
	std::vector<uint8_t> memory_;
	Pd pd_;
	Mr mr_;
	std::unique_ptr<QueuePair> qp_;
	uint64_t next_recv_ = 0;
};

/* The queue pairs of one tester. */
class Session
{
public:
	Session(Api &api, std::string device)
		: api_(api), device_(std::move(device))
	{
	}

	/* The answer to a line; errors are answers, too. */
	std::string answer(const std::string &line);

private:
	nlohmann::json carry_out(const Request &r);
	TargetQp &qp(uint32_t handle);

	Port &port(const Address &address);

	Api &api_;
	std::string device_;
	std::map<Address, std::unique_ptr<Port>> ports_;
	std::map<uint32_t, std::unique_ptr<TargetQp>> qps_;
	uint32_t next_ = 1;
};
} // namespace mrcconform

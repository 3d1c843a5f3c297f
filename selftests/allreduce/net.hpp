/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_allreduce: objects of libibverbs and libMRC that clean up after
 * themselves. What verbs offer and MRC does not is used directly: devices,
 * protection domains, memory. All else goes through mrc.h.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <mrc.h>

#include "common.hpp"

class Device
{
public:
	explicit Device(const Options &o);
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;
	~Device();

	/* In the order in which everything goes away, checked. */
	void close();

	ibv_context *verbs() const { return ctx_; }
	mrc_context *mrc() const { return mrc_; }
	ibv_pd *pd() const { return pd_; }
	const ibv_gid &gid() const { return gid_; }
	uint8_t gid_index() const { return gid_index_; }
	ibv_mtu mtu() const { return mtu_; }

private:
	void open(const std::string &name);
	void find_gid(const std::string &text);

	ibv_context *ctx_ = nullptr;
	ibv_pd *pd_ = nullptr;
	mrc_context *mrc_ = nullptr;
	ibv_gid gid_{};
	uint8_t gid_index_ = 0;
	ibv_mtu mtu_ = IBV_MTU_1024;
};

/* Memory in pieces, each with a guard before and after it, all of one MR. */
class Memory
{
public:
	Memory(Device &dev, size_t size);
	Memory(const Memory &) = delete;
	Memory &operator=(const Memory &) = delete;
	~Memory();

	/* @len bytes, aligned to 64. */
	uint8_t *take(size_t len);
	/* How much take() needs for @len. */
	static size_t needed(size_t len);
	/* Nothing was written outside of what was taken. */
	void check_guards() const;
	void close();

	uint32_t lkey() const { return mr_->lkey; }
	uint32_t rkey() const { return mr_->rkey; }

private:
	size_t size_;
	size_t used_ = 0;
	uint8_t *data_;
	ibv_mr *mr_ = nullptr;
	std::vector<std::pair<size_t, size_t>> guards_;
};

class Cq
{
public:
	Cq(Device &dev, int cqe);
	Cq(const Cq &) = delete;
	Cq &operator=(const Cq &) = delete;
	~Cq();

	mrc_cq *get() const { return cq_; }
	void close();

private:
	mrc_cq *cq_;
};

struct QpAddress {
	uint32_t qpn;
	uint32_t psn;
};

/* A queue pair with a hint of its own. */
class Qp
{
public:
	static constexpr unsigned send_depth = 128;
	static constexpr unsigned recv_depth = 64;

	Qp(Device &dev, Cq &cq, const Options &o);
	Qp(const Qp &) = delete;
	Qp &operator=(const Qp &) = delete;
	~Qp();

	mrc_qp *get() const { return qp_; }
	QpAddress address() const { return {qpn_, psn_}; }
	void connect(const QpAddress &peer, const ibv_gid &gid, ibv_mtu mtu);
	void close();

private:
	void modify(ibv_qp_attr &attr, int mask, mrc_qp_attr *mattr, int mmask,
		    const char *to);

	Device &dev_;
	const Options &o_;
	mrc_qp_hint *hint_ = nullptr;
	mrc_qp *qp_ = nullptr;
	uint32_t qpn_ = 0;
	uint32_t psn_;
};

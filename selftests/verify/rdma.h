/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_verify: libibverbs objects that clean up after themselves.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <infiniband/verbs.h>
#include <rdma/mrc-ctl-abi.h>

#include "options.h"

class Device
{
public:
	explicit Device(const LocalOptions &l);
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;
	~Device();

	ibv_context *ctx() const { return ctx_; }
	ibv_pd *pd() const { return pd_; }
	uint8_t port() const { return port_; }
	int gid_index() const { return gid_index_; }
	const ibv_gid &gid() const { return gid_; }
	ibv_mtu active_mtu() const { return mtu_; }
	const ibv_device_attr &attr() const { return attr_; }
	/* Attributes of every queue pair, from the options. */
	const mrc_abi_qp_attr &mrc_attr() const { return mrc_attr_; }
	/* What only mrc devices promise, or refuse, can be checked. */
	bool is_mrc() const;
	/* FLUSH: kernels before 6.3 have no permission for it. */
	bool has_flush() const;

private:
	void pick_gid(const LocalOptions &l);

	ibv_context *ctx_ = nullptr;
	ibv_pd *pd_ = nullptr;
	ibv_device_attr attr_{};
	mrc_abi_qp_attr mrc_attr_{};
	uint8_t port_ = 1;
	int gid_index_ = 0;
	ibv_gid gid_{};
	ibv_mtu mtu_ = IBV_MTU_1024;
};

int mtu_bytes(ibv_mtu mtu);

/* An address handle's attributes: from the device's port and GID to @to. */
ibv_ah_attr ah_attr(const Device &dev, const uint8_t (&to)[16]);
/* Fails instead of returning NULL. */
ibv_ah *create_ah(const Device &dev, ibv_ah_attr attr);
ibv_mtu mtu_enum(int bytes); /* throws Failure */

/* A completion, whichever interface it was polled through. */
struct Wc {
	uint64_t wr_id;
	ibv_wc_status status;
	ibv_wc_opcode opcode;
	uint32_t byte_len;
	uint32_t imm; /* host order; or the key that was invalidated */
	unsigned flags;
	uint32_t qp_num;
	uint64_t timestamp; /* 0: not asked for */
	uint32_t src_qp;
	uint8_t sl;
};

class Cq
{
public:
	struct Config {
		int cqe = 64;
		bool channel = false;
		bool ex = false;
		bool single_threaded = false;
	};

	Cq(Device &dev, const Config &c);
	Cq(const Cq &) = delete;
	Cq &operator=(const Cq &) = delete;
	~Cq();

	ibv_cq *get() const { return cq_; }
	int fd() const { return channel_ ? channel_->fd : -1; }
	bool timestamps() const { return timestamps_; }

	/* Appends up to @max completions; returns how many. */
	size_t poll(std::vector<Wc> &out, size_t max = 32);
	void arm(bool solicited);
	/* Takes one event if there is one, waiting up to @timeout_ms. */
	bool take_event(int timeout_ms);
	void resize(int cqe);

private:
	size_t poll_ex(std::vector<Wc> &out, size_t max);

	ibv_comp_channel *channel_ = nullptr;
	ibv_cq *cq_ = nullptr;
	ibv_cq_ex *cqx_ = nullptr;
	bool timestamps_ = false;
	unsigned unacked_ = 0;
};

/* Page-aligned memory of its own mapping. */
class Memory
{
public:
	explicit Memory(size_t size);
	Memory(const Memory &) = delete;
	Memory &operator=(const Memory &) = delete;
	~Memory();

	uint8_t *data() const { return data_; }
	size_t size() const { return size_; }

private:
	uint8_t *data_;
	size_t size_;
};

class Mr
{
public:
	Mr(ibv_pd *pd, void *addr, size_t len, int access);
	Mr(const Mr &) = delete;
	Mr &operator=(const Mr &) = delete;
	~Mr();

	uint32_t lkey() const { return mr_->lkey; }
	uint32_t rkey() const { return mr_->rkey; }

private:
	ibv_mr *mr_;
};

/* What the other side must know to connect. */
struct QpAddress {
	uint8_t gid[16];
	uint32_t qpn;
	uint32_t psn;
	uint32_t mtu; /* enum ibv_mtu */
	uint32_t reserved;
};

class Qp
{
public:
	struct Config {
		unsigned max_send = 16;
		unsigned max_recv = 16;
		unsigned sges = 1;
		unsigned inline_size = 0; /* wanted; the most that works */
		bool sig_all = false;
		bool ex = false;
		uint64_t send_ops = IBV_QP_EX_WITH_RDMA_WRITE |
				    IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
		unsigned recv_sges = 1;
		ibv_srq *srq = nullptr;
		uint8_t rd_atomic = 1;
	};

	Qp(Device &dev, Cq &send_cq, Cq &recv_cq, const Config &c);
	Qp(const Qp &) = delete;
	Qp &operator=(const Qp &) = delete;
	~Qp();

	ibv_qp *get() const { return qp_; }
	ibv_qp_ex *ex() const { return qpx_; }
	uint32_t num() const { return qp_->qp_num; }
	const ibv_qp_cap &cap() const { return cap_; }
	QpAddress address() const;

	void to_init(int access = IBV_ACCESS_REMOTE_WRITE |
				  IBV_ACCESS_LOCAL_WRITE);
	void to_rtr(const QpAddress &peer, const TestOptions &t);
	/* @access: flags that the QP has from RTS on, -1 = those of INIT */
	void to_rts(const TestOptions &t, int access = -1);
	/* RTS to RTS with other access flags */
	void to_rts_again(int access);
	void to_error();
	void to_reset();
	ibv_qp_state query_state() const;

	/* attributes and masks of the three connecting transitions */
	ibv_qp_attr init_attr(int access, int &mask) const;
	ibv_qp_attr rtr_attr(const QpAddress &peer, const TestOptions &t,
			     int &mask) const;
	ibv_qp_attr rts_attr(const TestOptions &t, int &mask) const;

	void new_psn();

private:
	void modify(ibv_qp_attr attr, int mask, const char *to);
	bool create(const Config &c, unsigned inline_size, Cq &send_cq,
		    Cq &recv_cq);

	Device &dev_;
	ibv_qp *qp_ = nullptr;
	ibv_qp_ex *qpx_ = nullptr;
	ibv_qp_cap cap_{};
	uint8_t rd_atomic_;
	uint32_t psn_;
};

/* Takes the asynchronous events that are there; returns their types. */
std::vector<ibv_event_type> drain_async(Device &dev);

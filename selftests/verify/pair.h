/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_verify: one connected pair of queue pairs and a small target memory,
 * for tests that provoke errors.
 */
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "oob.h"
#include "pattern.h"
#include "rdma.h"

/* The target memory: three parts of this size, the middle one registered. */
constexpr uint64_t part_size = 65536;

struct PairConfig {
	unsigned max_send = 64;
	unsigned client_recvs = 3; /* posted before connecting */
	int rts_access = -1;	   /* see Qp::to_rts() */
	unsigned server_recvs = 8;
	unsigned inline_size = 0;
};

struct PairInfo {
	QpAddress qp;
	uint64_t addr; /* of the registered part */
	uint64_t addr_private;
	uint32_t rkey;
	uint32_t rkey_private; /* registered without remote access */
	uint32_t rkey_stale;   /* deregistered */
	uint32_t rkey_other;   /* of another protection domain */
};

/* What the client says about the server's memory after a test. */
struct Placed {
	int64_t offset; /* from the start of the registered part */
	uint64_t len;
	uint64_t msg;
	uint32_t must; /* 0: may be there in part or not at all */
	uint32_t reserved;
};

class Pair
{
public:
	Pair(Device &dev, Oob &oob, const TestOptions &t, bool client,
	     const PairConfig &c = {});
	~Pair();

	Qp &qp() { return *qp_; }
	Cq &send_cq() { return *send_cq_; }
	Cq &recv_cq() { return *recv_cq_; }
	const PairInfo &peer() const { return peer_; }
	const PairConfig &config() const { return c_; }

	/* Exchanges addresses and brings the QP from RESET to RTS. */
	void connect();
	void destroy_qp() { qp_.reset(); }

	void post_recv(uint64_t wr_id);

	/* client: a signalled write of message @msg to its usual place */
	static constexpr uint32_t msg_len = 3001;
	static uint64_t msg_offset(uint64_t msg) { return msg % 15 * 4096 + 5; }
	ibv_send_wr write(uint64_t msg, ibv_sge &sge, uint32_t len = msg_len);

	/* The next @n completions, or Failure after @timeout_s. */
	std::vector<Wc> wait(Cq &cq, size_t n, double timeout_s = 30);
	/* Seconds of the last wait() in which this process did not run. */
	double held_up() const { return held_up_; }
	/* No further completions come within @ms. */
	void expect_quiet(Cq &cq, const char *what, int ms = 50);

	/*
	 * client: sends what should be in the server's memory; server: checks.
	 * Everything else in it has to be untouched.
	 */
	void settle(const std::vector<Placed> &placed);
	/* Whatever the registered part holds is right. */
	void forget_region();

private:
	void check_memory(const std::vector<Placed> &placed);

	Device &dev_;
	Oob &oob_;
	const TestOptions &t_;
	bool client_;
	PairConfig c_;
	PairInfo peer_{};
	Memory area_;
	Memory private_;
	Memory scratch_;
	Pattern background_;
	ibv_pd *other_pd_ = nullptr;
	std::unique_ptr<Mr> mr_;
	std::unique_ptr<Mr> mr_private_;
	std::unique_ptr<Mr> mr_other_;
	std::unique_ptr<Mr> mr_scratch_;
	uint32_t rkey_stale_ = 0;
	double held_up_ = 0;
	std::unique_ptr<Cq> send_cq_;
	std::unique_ptr<Cq> recv_cq_;
	std::unique_ptr<Qp> qp_;
};

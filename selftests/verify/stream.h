/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_verify: verified traffic over a set of queue pairs.
 *
 * Each direction of each queue pair has a target region at the receiver, cut
 * into slots. Message n goes to slot n modulo the number of slots, and only
 * after the receiver has verified the message before it there ("credit", over
 * TCP). The rest of a slot holds a background pattern that must stay.
 */
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "layout.h"
#include "mpr.h"
#include "oob.h"
#include "rdma.h"

class Stream
{
public:
	/* @client: direction 0 goes from the client to the server. */
	Stream(Device &dev, Oob &oob, const TestOptions &t, bool client,
	       bool quiet);
	~Stream();

	/*
	 * From now on SIGINT ends a time-limited run of this process as if its
	 * time were over: what is under way completes and is verified.
	 */
	static void stop_on_sigint();

	/* Connects to the peer's Stream, runs, and verifies the end state. */
	Totals run();

private:
	struct Tx;
	struct Rx;
	struct Conn;
	struct PeerInfo;

	void connect();
	void resizer();
	void handle(const Oob::Frame &f);
	bool oob_step();
	bool tx_step(Conn &c);
	void tx_post(Conn &c, unsigned n);
	void tx_completion(const Wc &w);
	void rx_completion(const Wc &w);
	bool rx_step(Conn &c);
	void rx_verify(Conn &c, uint64_t msg);
	void rx_post(Conn &c);
	bool poll_cq(Cq &cq, bool is_send);
	void wait_events();
	void progress_line();
	void final_check();
	bool finished() const;
	Conn &conn_of(const Wc &w);
	std::string describe() const;

	Device &dev_;
	Oob &oob_;
	const TestOptions &t_;
	bool client_;
	bool quiet_;
	std::unique_ptr<Cq> send_cq_;
	std::unique_ptr<Cq> recv_cq_;
	MprWalk mpr_;
	std::vector<std::unique_ptr<Conn>> conns_;
	std::vector<Wc> wcs_;
	std::thread resizer_;
	std::atomic<bool> stop_resizer_{false};
	std::atomic<uint64_t> resizes_{0};
	std::string resizer_error_;
	bool peer_fin_ = false;
	bool stop_now_ = false; /* told to end before the time is over */
	bool stopping_ = false;
	double start_ = 0;
	double last_progress_ = 0;
	double next_line_ = 0;
	unsigned idle_ = 0;
	uint64_t done_ = 0; /* messages completed or verified here */
	Totals totals_;
	uint64_t line_tx_bytes_ = 0, line_tx_msgs_ = 0;
	uint64_t line_rx_bytes_ = 0, line_rx_msgs_ = 0;
};

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Two QPs, the shells around them and the network between them, in virtual
// time. Hosts, links and time are the model's; what is here checks each step
// that they take, or takes a wrong one on purpose.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "model/link.hpp"
#include "model/qp.hpp"
#include "model/time.hpp"

#include "prop_model.hpp"

namespace prop
{

struct Packet : mrc_model::Packet {
	bool forged = false;

	using mrc_model::Packet::Packet;
};

// What was sent and delivered on one side, to compare its counters with.
struct Tally {
	u64 tx[256] = {}; // by opcode
	u64 rx[256] = {};
	u64 rx_trimmed = 0;
	u64 rx_ce = 0;
	u64 rx_trimmed_dup = 0;
	u64 rx_penalty = 0;
	u64 refused = 0;
	u64 trains_cut = 0;
};

struct Endpoint : mrc_model::Qp {
	Tally tally;
	mrc_counters ctr{};
	mrc_evset set{};
	mrc_model::Mem set_mem;
	bool dead = false; // the QP is in ERROR
	u32 ports_up = 0;
	u64 tx_free = 0;     // the link is busy until then
	bool kicked = false; // a send loop is scheduled at tx_free
	u64 failed_at = 0;
	u64 train_at = 0;     // a probe was answered by a train
	u32 told_ports = ~0u; // of the peer, by what it says itself
	u32 peer_denies = 0;  // and by other status updates
	bool waits = false;   // an ACK, for the end of a burst
	u32 wait_from = 0;    // what was executed before it

	u64 count(mrc_counter id) const { return mrc_test::counter(ctr, id); }
};

class Sim
{
public:
	explicit Sim(const Plan &plan, bool trace = false);

	// The whole schedule; afterwards verdict() says how it went.
	void run();

	// As run() without the final quiet phase and its checks; stops when
	// nothing is left to do, at @until or when @stop says so.
	void run_until(u64 until, const std::function<bool()> &stop = {});
	void settle(); // perfect network until both sides are idle
	void check_final();

	bool failed() const { return v_.failed(); }
	const std::string &what() const { return v_.what(); }
	u64 now() const { return time_.now(); }
	u64 events() const { return events_; }
	bool delivered() const;

	void set_ports(int side, u32 mask);
	void deliver_forged(int to, const Packet &p) { arrive(to, p); }
	void service(int side);
	void note(const char *fmt, ...) __attribute__((format(printf, 2, 3)));
	void fail(const std::string &what);

	// Tests may look at, change, delay or drop what is sent.
	std::function<bool(int from, Packet &p, u64 &delay)> on_send;
	std::function<void(int side, const mrc_tx_desc &d)> on_desc;

	const Plan plan;
	Endpoint ep[2];
	std::unique_ptr<Direction> dir[2]; // index = sending side
	bool calm = false;
	mrc_model::Faults faults[2]; // of what a side sends

private:
	enum class Type {
		Arrive,
		Kick,
		Post,
		OutageOn,
		OutageOff,
		Change,
		Burst,
		Placed,
		Calm
	};
	struct Event {
		Type type;
		int side;
		u32 which;
		Packet packet;
	};

	void init_endpoint(int side);
	void make_set(int side);
	void check_counters(int side);
	void change(const Change &c);
	void peer_status(int side);
	void schedule(u64 at, Type type, int side, u32 which = 0,
		      Packet packet = {});
	bool step(u64 until);
	void expire(int side);
	void dispatch(Event &e);
	void outage(const Outage &o, bool on);
	void become_calm();
	u64 deadline(int side) const;

	// Shell, sending side
	void post(int side);
	void reap(int side);
	void check_usable(int side, const mrc_tx_desc &d);
	void transmit(int side, const mrc_tx_desc &d);
	void check_after(int side, bool drained);
	void die(int side);

	// A packet that was handed to the responder.
	struct Taken {
		int to;
		Packet packet;
		mrc_hdr hdr;
		mrc_rx rx; // of @hdr
		Direction::Rx want = Direction::Rx::Unknown;
		bool again = false; // a copy came before its payload was in place
		u8 reason = 0;
	};

	// Shell, receiving side
	void arrive(int to, const Packet &p);
	void receive_data(int to, const Packet &p, const mrc_hdr &h);
	void receive_probe(int to, const Packet &p, const mrc_hdr &h);
	void receive_feedback(int to, const Packet &p, const mrc_hdr &h);
	void place(int to, Taken &t);
	void early_copy(int to, u32 psn);
	void end_placement(int to, u32 which);
	void after_data(int to, const Taken &t, u32 was, bool waited);
	void drain_feedback(int to, std::vector<mrc_hdr> &sent);
	bool wait_for_burst(int to, u32 was);
	void end_burst(int to);
	void check_progress(int to, u32 was);
	void check_answer(const Taken &t, bool waited, u16 echo,
			  const std::vector<mrc_hdr> &sent);

	// Network
	void network(int from, Packet p);
	bool lost(int from, const Packet &p);
	bool sabotage(Sabotage which);
	void forge(int to);

	Verdict v_;
	Rng rng_;
	bool trace_;
	bool strict_; // no forger: everything is checked
	mrc_model::Time<Event> time_;
	mrc_model::Way way_[MRC_MAX_PORTS + 1]; // by port, either direction
	u64 events_ = 0;
	u64 spared_ = 0; // sabotage opportunities let pass
	bool sabotaged_ = false;
	u64 calm_limit_ = MRC_NEVER;
	Packet seen_[2]; // feedback to mutate, index = receiver
	std::map<u32, Taken> placing_;
	u32 placements_ = 0;
};

// "PSN 000012 WRITE_ONLY a rtx" and the like, for traces.
std::string describe(const Packet &p);

} // namespace prop

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The extension (Documentation/extension.md) under random schedules: all
// operations in random order in both directions, each side with a second pair
// of engines for the answer channel.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "prop_plan.hpp"
#include "prop_sim.hpp"

namespace prop
{

// What is wrong with one operation of a schedule of kind exterror.
enum class ExtFault {
	None,
	BadKey,	    // the key of a WRITE or of a request
	LongSend,   // a SEND that its receive cannot hold
	NoReceive,  // the receive is never posted
	NotAllowed, // the responder's queue pair allows no atomics
	NoExt,	    // the responder has no extension
};

// Deliberate mistakes of the shell, to prove that the checks notice.
enum class ExtSabotage {
	None,
	ExecuteTwice,	// an atomic operation
	EarlyAnswered,	// an answer counts as acknowledged when it is queued
	LoseAnswer,	// a request is executed and never answered
	CorruptAnswer,	// one byte of an answer
	NoReceiveCheck, // SENDs are taken without a receive
	SkipLocal,	// a local operation is not executed
	LoseCompletion,
	EarlyComplete, // an answer counts as complete with its first packet
	SwapReceives,  // two messages change places
};

// Someone else who sends packets with the right addresses and numbers of the
// queue pairs.
enum class ExtAttacker {
	None,
	OffPath, // knows no packet number, no key and no window
	OnPath,	 // sees everything, and changes and repeats what it sees
};

struct ExtOp {
	u8 op = MRC_WR_WRITE; // enum mrc_wr_op
	bool fence = false;
	bool se = false;
	u32 len = 0;
	u64 off = 0; // in the receiver's memory
	u64 swap = 0;
	u64 compare = 0;
	u64 original = 0; // atomics: what the model says they return
	u64 post_at = 0;
	u64 recv_at = 0;  // when the receive that it consumes is posted
	u32 recv_len = 0; // and how long that is
	ExtFault fault = ExtFault::None;

	bool request() const { return mrc_wr_is_request(op); }
	bool consumes() const { return mrc_wr_consumes_recv(op); }
	bool send() const
	{
		return op == MRC_WR_SEND || op == MRC_WR_SEND_IMM ||
		       op == MRC_WR_SEND_INV;
	}
	bool atomic() const
	{
		return op == MRC_WR_CMP_SWAP || op == MRC_WR_FETCH_ADD;
	}
	// Bytes that its own packets carry.
	u32 payload() const { return request() ? 0 : len; }
	u32 packets(u32 pmtu) const;
};

constexpr u32 kCounters = 4;	   // u64 at the start of the memory
constexpr u32 kStaticBytes = 9000; // after them: never written
constexpr u32 kCounterBytes = kCounters * 8;
constexpr u32 kGoodKey = 0x00C0FFEE; // of all the memory of either side

struct ExtPlan {
	Plan net; // attributes and network
	std::vector<ExtOp> ops[2];
	u64 counters[2][kCounters] = {}; // initial values
	u64 memory[2] = {};		 // bytes at the receiver
	u8 max_rd[2] = {1, 1};		 // requester's limit, of each direction
	u16 max_dest[2] = {1, 1};	 // responder's
	u8 rnr_retry = 7;
	u8 rnr_timer = 1;
	bool snapshot = true; // READs are copied when they are executed
	bool tells = false;   // ACKs say how far the receives reach
	u32 late_local_ppm = 0;
	int fault = -1; // operation of direction 0
	ExtAttacker attacker = ExtAttacker::None;
	u32 attack_ppm = 0; // forged packets per genuine arrival
	ExtSabotage sabotage = ExtSabotage::None;
	u64 sabotage_after = 0; // eligible events to let pass
};

ExtPlan ext_plan(u64 seed);
ExtPlan ext_error_plan(u64 seed);
ExtPlan ext_attack_plan(u64 seed);

// An answer that the responder has to give.
struct ExtAnswer {
	u32 op = 0;
	u16 num = 0;
	u32 len = 0;
	bool atomic = false;
	std::vector<u8> data; // a copy, where READs are copied
};

// One direction: what was posted, what has happened to it, what must be.
class ExtFlow
{
public:
	ExtFlow(const ExtPlan &plan, int dir, Verdict &v);
	virtual ~ExtFlow() = default;

	struct Op {
		ExtOp plan;
		u32 first = 0; // packet index
		u32 npkts = 0;
		u16 msn = 0;
		u16 rqmsn = 0; // or number of the request
		u32 imm = 0;
		u32 rkey = 0;
		bool answered = false; // at the requester
		bool done = false;     // LOCAL: executed
		int status = -1;
		std::vector<u8> result;	    // of a request
		std::vector<u8> result_got; // bytes of it that were placed
		std::vector<u8> receive;
	};

	mrc_wr make_wr();
	void on_posted(int slot);
	bool all_posted() const { return ops.size() == plan_.ops[dir_].size(); }
	bool all_reaped() const { return reaped == plan_.ops[dir_].size(); }
	const ExtOp &next() const { return plan_.ops[dir_][ops.size()]; }

	// Requester
	void on_tx(const mrc_tx_desc &d);
	void payload(const mrc_tx_desc &d, u8 *out) const;
	void on_local(u32 slot);
	// False: bytes of the answer are missing.
	virtual bool on_answered(u32 slot);
	virtual bool place_answer(const mrc_hdr &h, const u8 *p);
	virtual void on_reap(u32 slot, int status);

	// Responder
	bool has_receives(u32 n) const;
	u32 receives() const;
	virtual u8 place(const mrc_hdr &h, u16 rqmsn, const u8 *p);
	virtual u8 on_recv(const mrc_recv_msg &imm);
	// Execute a request; returns the syndrome of a refusal.
	virtual u8 on_request(const mrc_rd &rd, ExtAnswer &answer);
	void execute(const Op &op);
	void read(u32 op, u32 off, u32 len, u8 *out) const;
	virtual void check_ack(const mrc_hdr &h, u32 oldest_unacked);
	virtual void check_answer_tx(u32 op, const mrc_tx_desc &d);

	void check_final();
	u32 index_of(u32 psn) const
	{
		return (psn - first_psn_) & MRC_PSN_MASK;
	}
	u32 psn_of(u32 index) const
	{
		return (first_psn_ + index) & MRC_PSN_MASK;
	}
	// The operation that is request number @n, ~0 if none was posted.
	u32 request_op(u32 n) const
	{
		return n < requests.size() ? requests[n] : ~0u;
	}
	const std::vector<ExtOp> &planned() const { return plan_.ops[dir_]; }
	u64 base_va() const { return base_va_; }

	std::vector<Op> ops;	   // posted
	std::vector<u32> owner;	   // packet index -> operation
	std::vector<u32> requests; // number -> operation
	std::vector<u32> consumers;
	std::vector<u8> placed; // per packet
	std::vector<u8> memory;
	u32 sent = 0;	   // packets sent for the first time
	u32 answered = 0;  // requests, at the requester
	u32 executed = 0;  // requests, at the responder
	u32 acked = 0;	   // answers acknowledged, at the responder
	u32 delivered = 0; // receives completed
	std::size_t reaped = 0;
	u32 strange_requests = 0; // executed, and the peer meant another
	u32 strange_receives = 0; // likewise
	u64 now = 0;

protected:
	bool receive_posted(u32 n) const;
	const ExtPlan &plan_;
	const int dir_;
	Verdict &v_;

private:
	u8 pattern(u32 op, u32 off) const
	{
		return (u8)(salt_ + op * 41 + off * 13 + (off >> 8) * 97);
	}
	void check_header(const mrc_tx_desc &d, const Op &op, u32 i);
	void check_before(u32 op, const char *what);
	void check_read(const Op &op, u32 id);
	void check_result(const Op &op, u32 id);
	u32 first_psn_;
	u64 base_va_;
	u32 salt_;
	u32 pmtu_;
};

// One direction with an attacker on the path, who can make anything happen that
// the peer could have asked for. What is left to check is what no packet may do.
class ExtAttacked : public ExtFlow
{
public:
	ExtAttacked(const ExtPlan &plan, int dir, Verdict &v);

	bool place_answer(const mrc_hdr &h, const u8 *p) override;
	bool on_answered(u32 slot) override;
	void on_reap(u32 slot, int status) override;
	u8 place(const mrc_hdr &h, u16 rqmsn, const u8 *p) override;
	u8 on_recv(const mrc_recv_msg &imm) override;
	u8 on_request(const mrc_rd &rd, ExtAnswer &answer) override;
	void check_ack(const mrc_hdr &, u32) override {}
	void check_answer_tx(u32, const mrc_tx_desc &) override {}

private:
	u8 *reach(u64 va, u32 len, u32 rkey);
	std::vector<u32> recv_len_;	// by receive
	std::unordered_set<u32> taken_; // PSNs that were placed
	bool ended_ = false;
	bool blamed_ = false;
};

class ExtSim
{
public:
	ExtSim(const ExtPlan &plan, bool trace);

	void run(const std::function<void()> &look = {});
	void check_final();
	void check_error();
	bool failed() const { return v_.failed(); }
	const std::string &what() const { return v_.what(); }
	u64 events() const { return events_; }
	u64 elapsed() const { return now() - plan_.net.start; }
	u64 now() const { return time_.now(); }
	bool dead(int side) const { return side_[side].dead; }
	// Operations of one side that the other one saw, forged ones included.
	const ExtFlow &flow(int side) const { return *flow_[side]; }
	void run_attacked();
	// Of both sides, or of their answer channels.
	u64 count(int ans, mrc_counter id) const
	{
		return mrc_test::counter(side_[0].half[ans].ctr, id) +
		       mrc_test::counter(side_[1].half[ans].ctr, id);
	}
	void note(const char *fmt, ...) __attribute__((format(printf, 2, 3)));

	// Tests may look at, delay or drop what is sent.
	std::function<bool(int from, const Packet &p, u64 &delay)> on_send;

private:
	struct Half : mrc_model::Qp {
		mrc_counters ctr{};
	};
	struct Side {
		Half half[2]; // [1] is the answer channel
		bool dead = false;
		u64 tx_free = 0;
		bool kicked = false;
		bool local_due = false;
		std::deque<ExtAnswer> waiting;  // no slot yet
		std::vector<ExtAnswer> answers; // by slot of the channel
	};
	enum class Type { Arrive, Kick, OutageOn, OutageOff, Placed, Calm };
	struct Event {
		Type type;
		int side;
		u32 which;
		Packet packet;
	};

	// A packet whose payload is being placed.
	struct Taken {
		Packet packet;
		mrc_hdr hdr;
		mrc_rx rx; // of @hdr
	};

	void init_half(int side, int ans);
	void schedule(u64 at, Type type, int side, u32 which = 0,
		      Packet packet = {});
	bool sabotage(ExtSabotage which);
	void outage(const Outage &o, bool on);
	void become_calm();
	bool step();
	void expire(int side);
	void dispatch(Event &e);
	bool finished() const;
	void fail(const std::string &what);

	// Shell
	void service(int side);
	bool send(int side, int ans);
	void reap(int side);
	void post(int side);
	void post_answers(int side);
	void transmit(int side, int ans, const mrc_tx_desc &d);
	void arrive(int to, Packet p);
	void receive_data(int to, const Packet &p, const mrc_hdr &h);
	void place(int to, Taken &t);
	void end_placement(int to, u32 which);
	void after_data(int to, bool ans);
	void execute(int to);
	void take_answers(int to);
	void feedback(int to, int ans);
	void die(int side);
	void check(int side);
	u64 deadline(int side) const;

	// Network
	void network(int from, Packet p);
	bool lost(int from, const Packet &p);
	void forge(int to);
	Packet invent(int to);
	void fill(int to, mrc_hdr &h);
	void fill_control(int to, mrc_hdr &h);
	void fill_data(int to, mrc_hdr &h);
	u32 forged_psn(int to, bool to_req, bool ans);

	Verdict v_;
	const ExtPlan plan_;
	Rng rng_;
	bool trace_;
	bool calm_ = false;
	bool sabotaged_ = false;
	u64 spared_ = 0;
	u32 ports_up_[2];
	mrc_model::Time<Event> time_;
	mrc_model::Way way_[MRC_MAX_PORTS + 1]; // by port, either direction
	mrc_model::Faults faults_[2];		// of what a side sends
	u64 events_ = 0;
	u64 calm_limit_ = MRC_NEVER;
	std::unique_ptr<ExtFlow> flow_[2]; // index = requesting side
	Side side_[2];
	std::vector<Packet> seen_[2]; // by an attacker on the path
	bool aimed_ = false;	      // it takes the place of the next packet
	std::map<u32, Taken> placing_;
	u32 placements_ = 0;
};

} // namespace prop

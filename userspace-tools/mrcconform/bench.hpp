/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcconform: what cases are written with. A Bench has the connection to the
 * target and the wire. A Qp is a queue pair of the target; the tester is its
 * peer.
 *
 * A case sends, expects, and throws Failed if something else comes. Nothing
 * waits for a time to pass: that no packet comes is shown by a fence, which is
 * a later packet that has been answered.
 */
#pragma once

#include <deque>
#include <functional>
#include <map>

#include <nlohmann/json_fwd.hpp>

#include "link.hpp"
#include "proto.hpp"
#include "wire.hpp"

namespace mrcconform
{
/* The target broke the rule. The text says what was expected. */
struct Failed : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* The case cannot be judged here. The text says why. */
struct Skipped : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* The tester's source port and flow label, where a case needs no others. */
constexpr uint64_t default_sport = 0xC0DE;
constexpr uint64_t default_flow = 0x1234;
constexpr uint32_t ect0 = 2;

/* Codepoints of a deployment, §15. */
struct Codepoints {
	uint32_t data = 0, trimmed = 12, trimmed_lasthop = 16, control = 46;
};

struct RunOptions {
	HostPort target{"127.0.0.1", default_port};
	std::vector<Address> addresses;
	std::optional<Address> source;
	uint16_t port = 4791;
	/* The limit of any wait, in seconds. */
	int patience = 10;
	/* Of most cases; a few use all path MTUs up to max_mtu. */
	uint32_t mtu = 1024, max_mtu = 4096;
	/* PSNs that the target's responder tracks: 128 times its MPR. */
	uint32_t window = 1024;
	Codepoints dscp;
	Planes planes;
	/* Whether the target answers trimmed packets, which is optional. */
	bool trimming = true;
	std::vector<std::string> patterns;
	std::string json, junit, pcap;
	bool verbose = false;
};

/* A line of what happened, for the report. */
struct TraceLine {
	char what; /* '>' sent, '<' came */
	double at; /* seconds since the case began */
	std::string text;
};

struct Completion {
	uint64_t id = 0;
	std::string status;
	bool recv = false;
	uint32_t length = 0;
	std::optional<uint32_t> imm;
};

using Match = std::function<bool(const Packet &)>;

class Bench
{
public:
	Bench(Link &control, const Address &remote, const RunOptions &options,
	      Pcap &pcap);

	const RunOptions &options() const { return options_; }
	bool v6() const { return wire_.local().v6(); }
	Wire &wire() { return wire_; }

	/* Before each case: forgets the trace and what came. */
	void begin();
	/* After each case: the target forgets its queue pairs. */
	void end();
	const std::vector<TraceLine> &trace() const { return trace_; }

	/* The target's answer. Throws RunError if it reports an error. */
	nlohmann::json ask(const Request &r);
	void remember_qp(uint32_t handle) { handles_.push_back(handle); }

	/* Sends a whole IP packet. @about: for the trace. */
	void send(const Bytes &ip_packet, const std::string &about,
		  const How &how = {});
	/* Sends a packet with the given fields. */
	void send(const Packet &p, const How &how = {});

	/*
	 * As a switch trims it: @length bytes after the UDP header are left.
	 * The traffic class is not changed.
	 */
	void send_trimmed(const Packet &p, size_t length, const How &how = {});

	/*
	 * Throw Skipped if the run has no SRv6, fewer than two planes, or a
	 * target that does not answer trimmed packets.
	 */
	void need_srv6() const;
	void need_planes() const;
	void need_trimming() const;
	/*
	 * What comes through this plane is lost from now on, until the case
	 * ends. 0: nothing is.
	 */
	void cut(uint32_t plane) { cut_ = plane; }
	const std::vector<Packet> &lost() const { return lost_; }

	/* Waits for a packet and takes it. @what: for the report. */
	Packet expect(const Match &match, const std::string &what);
	/* Throws Failed if such a packet has come. To be called after a fence. */
	void expect_none(const Match &match, const std::string &what);
	/* Takes the packets that have come and match. */
	std::vector<Packet> take(const Match &match);
	/* Waits until @done or until the patience is over; reads packets. */
	void until(const std::function<bool()> &done, const std::string &what);
	/* The target's node has handled what was sent before. */
	void fence();

	uint16_t next_id() { return ++id_; }
	/* The tester's number of a queue pair; no earlier one had it. */
	uint32_t next_qpn() { return qpn_ += 0x11; }

private:
	bool receive(Clock::time_point end);
	Clock::time_point deadline() const;
	void note(char what, std::string text);
	void answer_endpoint(const Datagram &d);

	Link &control_;
	const RunOptions &options_;
	Wire wire_;
	std::deque<Packet> inbox_;
	std::vector<TraceLine> trace_;
	std::vector<uint32_t> handles_;
	Clock::time_point began_ = Clock::now();
	uint32_t qpn_ = 0x4D5200;
	uint16_t id_ = 0x1000;
	uint32_t cut_ = 0;
	std::vector<Packet> lost_;
};

/* A request to the target's node, and its answer, §12. @op: 1 is an EV probe. */
Packet endpoint_request(const Bench &b, uint64_t op, uint16_t id);
Packet endpoint_response(Bench &b, uint16_t id);

/* Opcode tests for expect() */
Match is_op(uint8_t opcode);

/* Throws Failed unless the values are equal. */
void check_equal(const std::string &what, uint64_t value, uint64_t want);
void check(bool holds, const std::string &what);
/* The field of a packet must have this value. */
void check_field(const Packet &p, F f, uint64_t want);

/* The tester as a responder: what it received, and the SACK that says so. */
class Responder
{
public:
	explicit Responder(uint32_t rq_psn) : cack_(psn_add(rq_psn, -1)) {}

	/* Returns whether the packet is new. */
	bool take(const Packet &p);
	uint32_t cack() const { return cack_; }
	bool has(uint32_t psn) const;
	/* @trigger: the packet that it answers; the map begins at @base. */
	Packet sack(const Packet &trigger, bool v6,
		    std::optional<uint32_t> base = {}) const;

private:
	uint32_t cack_;
	std::map<uint32_t, bool> above_;
	uint64_t nominal_ = 0;
};

class Qp
{
public:
	/* @r: the fields local, peer and peer_qpn are filled in. */
	Qp(Bench &bench, req::MakeQp r);
	/* With the defaults of the run. */
	explicit Qp(Bench &bench);

	Bench &bench() const { return bench_; }
	uint32_t qpn() const { return qpn_; }
	uint32_t peer_qpn() const { return r_.peer_qpn; }
	uint32_t rkey() const { return rkey_; }
	uint64_t va() const { return va_; }
	uint32_t mtu() const { return r_.mtu; }
	/* First PSNs */
	uint32_t rq_psn() const { return r_.rq_psn; }
	uint32_t sq_psn() const { return r_.sq_psn; }
	/* The @n-th PSN of the tester's packets, and of the target's. */
	uint32_t rx(int32_t n) const { return psn_add(r_.rq_psn, n); }
	uint32_t tx(int32_t n) const { return psn_add(r_.sq_psn, n); }

	/* ---- the target as responder ---- */

	/* A packet with the queue pair's numbers and the default entropy. */
	Packet make(uint8_t opcode, uint32_t psn = 0) const;
	/*
	 * A packet of a write: the @n-th PSN, @data at @offset of the target's
	 * memory, of a message of @total bytes (0: as many as @data).
	 */
	Packet write(uint8_t opcode, int32_t n, uint64_t offset,
		     const Bytes &data, uint32_t total = 0) const;
	/* WRITE_ONLY with BTH.a */
	Packet only(int32_t n, uint64_t offset, const Bytes &data) const;
	Packet only_imm(int32_t n, uint32_t imm, uint16_t rqmsn) const;
	Packet probe(uint16_t id) const;
	void send(const Packet &p, const How &how = {}) { bench_.send(p, how); }
	/* With changes after the ICRC was computed. */
	void send_spoiled(const Packet &p,
			  const std::function<void(Bytes &)> &spoil);
	/* With changes before. */
	void send_changed(const Packet &p,
			  const std::function<void(Bytes &)> &change);

	/* Packets for this queue pair. */
	Packet expect(const Match &match, const std::string &what);
	Packet expect_sack(const std::string &what, const Match &match = {});
	/* A SACK that shows cack = the @n-th PSN. */
	Packet expect_cack(int32_t n);
	/* A transport ACK of the @n-th PSN. */
	Packet expect_ack(int32_t n);
	Packet expect_nak(int32_t n, uint8_t syndrome);
	Packet expect_nack(int32_t n, uint8_t reason);
	/* The queue pair has handled what was sent before. */
	void fence();
	/* After a fence: nothing such came. */
	void expect_none(const Match &match, const std::string &what);
	void expect_no_reply(const std::string &what);
	/* A good write, which must be placed and acknowledged. */
	void check_alive(int32_t n);

	/* Memory of the target. */
	Bytes read(uint64_t offset, uint64_t length);
	void fill(uint64_t offset, const Bytes &data);
	void check_memory(uint64_t offset, const Bytes &want);
	/* Bytes that are not 0. */
	static Bytes pattern(size_t length, uint8_t seed = 1);

	/* ---- the target as requester ---- */

	/* Posts a write; returns its id. */
	uint64_t post(uint32_t length, std::optional<uint32_t> imm = {},
		      uint64_t offset = 0, bool solicited = false);
	/* A data packet with the @n-th PSN, of a first or later copy. */
	Packet expect_data(int32_t n, std::optional<bool> rtx = false);
	/*
	 * The same, sent again. Until it comes probes are answered: a requester
	 * may ask before it sends again. @answer takes the place of
	 * send_sack().
	 */
	Packet
	expect_copy(int32_t n,
		    const std::function<void(const Packet &)> &answer = {});
	/* Takes packets until those before the @n-th PSN have come. */
	std::vector<Packet> collect(int32_t n);
	Responder &responder() { return responder_; }
	/* The SACK of all that was taken. */
	Packet sack(const Packet &trigger,
		    std::optional<uint32_t> base = {}) const;
	void send_sack(const Packet &trigger,
		       std::optional<uint32_t> base = {});
	void send_ack(int32_t n, uint8_t syndrome = 0x1F);
	void send_nack(const Packet &refused, uint8_t reason);
	/* Acknowledges all that was taken, by SACK and ACK. */
	void acknowledge(const Packet &newest);

	/* ---- both ---- */

	void recv(uint32_t count);
	/* The next completion of any kind. */
	Completion completion();
	/* The next completion must be that of the work request. */
	void expect_done(uint64_t id, const std::string &status = "SUCCESS");
	/* None has come until now. */
	void expect_no_completion(const std::string &why);
	State state();
	void expect_state(State s);
	void modify(State s);
	/* The memory keeps its bytes; its key dies. */
	void deregister();
	std::vector<std::string> events();

private:
	bool mine(const Packet &p) const;

	Bench &bench_;
	req::MakeQp r_;
	uint32_t handle_ = 0, qpn_ = 0, rkey_ = 0;
	uint64_t va_ = 0, next_id_ = 100;
	std::deque<Completion> completions_;
	Responder responder_;
};
} // namespace mrcconform

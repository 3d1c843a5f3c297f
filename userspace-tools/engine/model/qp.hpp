// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// One end of a queue pair: its engines, their memory, and the code of a host
// around them.
#pragma once

#include "model/owner.hpp"
#include "model/packet.hpp"

namespace mrc_model
{

// The configuration of the engines, see their headers. Counters belong to the
// caller (mrc_counters is large) and may be shared by the QPs of a thread.
struct QpCfg {
	mrc_paths_cfg paths{};
	const mrc_cc_ops *algorithm = &mrc_cc_none;
	mrc_cc_cfg cc{};
	mrc_req_cfg req{}; // @rev is the responder's if there is one
	mrc_resp_cfg resp{};
	bool requester = true;
	bool responder = true;
	bool resp_paths = true; // the responder picks reverse EVs
};

class Qp
{
public:
	mrc_paths paths{};
	mrc_cc cc{};
	mrc_req req{};
	mrc_resp resp{};

	Qp() = default;
	// The engines contain pointers to each other.
	Qp(const Qp &) = delete;
	Qp &operator=(const Qp &) = delete;

	// Returns false if an engine refuses its configuration. Call it only
	// once.
	bool init(const QpCfg &cfg);

	// A SACK, NACK or transport ACK arrived on @port.
	void feedback(const mrc_hdr &h, u8 port, u64 now)
	{
		switch (h.opcode) {
		case MRC_OP_SACK:
			mrc_req_on_sack(&req, &h, port, now);
			break;
		case MRC_OP_NACK:
			mrc_req_on_nack(&req, &h, port, now);
			break;
		default:
			mrc_req_on_ack(&req, &h, port, now);
			break;
		}
	}

	// Whether the responder needs memory for its stash, which it gets when
	// the first packet needs it. Call it before mrc_resp_on_data().
	bool wants_stash(const mrc_rx &rx) const
	{
		return mrc_resp_wants_stash(&resp, &rx);
	}
	void give_stash();
	bool wants_requests(const mrc_rx &rx) const
	{
		return mrc_resp_wants_rd(&resp, &rx);
	}
	void give_requests();

	// The work of the shell after every event of the sending side:
	// completions, work requests, and packets until there is none to send.
	// Functions of @user:
	//
	//   void completed(u32 slot, mrc_wc_status status)
	//   bool next(mrc_wr &wr)             another work request to post
	//   void send(const mrc_tx_desc &d)   data or a probe
	template <typename User> void pump(u64 now, User &&user)
	{
		mrc_wc_status status;
		mrc_tx_desc d;
		mrc_wr wr{};
		u32 slot;

		while (mrc_req_reap(&req, &slot, &status))
			user.completed(slot, status);
		while (mrc_req_can_post(&req) && user.next(wr))
			mrc_assert(mrc_req_post(&req, &wr, now) >= 0);
		while (mrc_req_next(&req, now, &d) == MRC_TX_PACKET)
			user.send(d);
	}

	// The work of the shell for a data packet or a probe. Supports WRITEs
	// and SENDs: requests of the extension would need another QP for the
	// answers. Functions of @user:
	//
	//   u32 receives()                    posted, and not used up
	//   u8 place(const mrc_rx &rx)        the payload; 0 or MRC_SYN_NAK_*
	//   u8 deliver(const mrc_recv_msg &imm)    a receive completion; likewise
	//   void send(const mrc_tx_desc &d)   feedback
	template <typename User>
	void receive(const mrc_rx &rx, u64 now, User &&user)
	{
		mrc_tx_desc d;
		mrc_recv_msg imm;
		u32 need;

		if (rx.hdr->opcode == MRC_OP_PROBE) {
			mrc_resp_on_probe(&resp, &rx, now);
		} else {
			if (wants_stash(rx))
				give_stash();
			if (mrc_resp_wants_recv(&resp, &rx, &need) &&
			    need > user.receives())
				mrc_resp_refuse_rnr(&resp, &rx, kRnrTimer, now);
			else if (mrc_resp_on_data(&resp, &rx, now) ==
				 MRC_RX_PLACE)
				mrc_resp_placed(&resp, &rx, user.place(rx), now);
		}
		while (mrc_resp_next_recv(&resp, &imm))
			mrc_resp_recv_done(&resp, user.deliver(imm));
		if (mrc_resp_tells_recvs(&resp))
			mrc_resp_set_recvs(&resp, user.receives());
		while (mrc_resp_next_feedback(&resp, now, &d))
			user.send(d);
	}

private:
	static constexpr u8 kRnrTimer = 12; // 0.64 ms, IB's code

	Mem paths_mem_, req_mem_, resp_mem_, stash_, requests_;
};

} // namespace mrc_model

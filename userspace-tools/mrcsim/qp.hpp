/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: the engines of a queue pair. A connection carries data in one
 * direction: its sender has a requester, its receiver a responder. Both are
 * made when the first flow starts or the first packet arrives, and given back
 * after the last flow.
 */
#pragma once

#include "mrc_req.h"
#include "mrc_resp.h"

#include "memory.hpp"
#include "random.hpp"
#include "settings.hpp"

namespace mrcsim
{
class Recorder;

/* Which of the fabric's paths an EV takes: different ones for neighbouring EVs.
 */
struct PathMap {
	u32 start;
	u32 stride; /* shares no factor with the number of paths */
};

constexpr u32 send_slots =
	16; /* work requests of a requester, a power of two */

struct Sender {
	mrc_req req;
	mrc_paths paths;
	mrc_cc cc;
	PathMap map;
	u32 walk;	      /* packets sent obliviously */
	u32 flow[send_slots]; /* by slot, which is the message's number, too */
};

struct Receiver {
	mrc_resp resp;
	mrc_paths paths;
	PathMap map;
	u32 walk;
};

/* Number of the first queue pair, of a host that has reserved the ones below.
 */
constexpr u32 first_qpn = MRC_QPN_FIRST;

class QpMaker
{
public:
	QpMaker(const Shape &shape, const Settings &s, const Derived &d);

	/* Bytes of both ends of a queue pair. */
	u64 qp_memory() const { return senders_.size() + receivers_.size(); }
	/* Bytes that are allocated, when there are @n queue pairs and now. */
	u64 memory_of(u64 n) const
	{
		return senders_.memory_of(n) + receivers_.memory_of(n);
	}
	u64 memory() const { return senders_.memory() + receivers_.memory(); }

	/*
	 * Throw std::bad_alloc. @host: where it is; @now: ns of the engine;
	 * @recorder may be NULL.
	 */
	Sender *make_sender(u32 qp, u32 host, u64 now, mrc_counters *ctr,
			    Recorder *recorder);
	Receiver *make_receiver(u32 qp, u32 host, mrc_counters *ctr,
				Recorder *recorder);
	void give(Sender *s) { senders_.give(s); }
	void give(Receiver *r) { receivers_.give(r); }

private:
	PathMap map_of(u64 who, u32 host) const;

	u64 seed_;
	u32 path_count_;
	u32 t0_hosts_; /* 0: paths are random */
	const mrc_cc_ops *algorithm_;
	mrc_nscc_cfg nscc_;
	mrc_paths_cfg paths_{};
	mrc_cc_cfg cc_{};
	mrc_req_cfg req_{};
	mrc_resp_cfg resp_{};
	Blocks senders_{64}, receivers_{64};
};
} // namespace mrcsim

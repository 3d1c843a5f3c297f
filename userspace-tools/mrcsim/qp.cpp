// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "qp.hpp"

#include <cstring>
#include <new>
#include <numeric>

#include "error.hpp"
#include "record.hpp"

namespace mrcsim
{
namespace
{
std::size_t aligned(std::size_t n)
{
	return (n + 63) / 64 * 64;
}

/* Both ends see the same entropies only in feedback, so each may have its own.
 */
enum End : u64 { at_sender, at_receiver };
} // namespace

QpMaker::QpMaker(const Shape &shape, const Settings &s, const Derived &d)
	: seed_(s.seed), path_count_(shape.paths()),
	  t0_hosts_(s.aligned ? shape.hosts : 0),
	  algorithm_(s.cc), nscc_(s.nscc)
{
	paths_.n_evs = static_cast<u16>(d.evs);
	paths_.n_ports = static_cast<u8>(shape.planes);
	paths_.ipv6 = true;
	paths_.trim_nack = d.trim;
	paths_.rto = s.rto;
	paths_.base_rtt = d.base_rtt;

	cc_.mtu = d.nominal;
	cc_.max_pkts = MRC_CC_WINDOW_PKTS(d.mpr * 128);
	cc_.base_rtt = d.base_rtt;
	cc_.line_rate = d.nic_rate / 8;
	cc_.trim_nack = d.trim;

	req_.sq_depth = send_slots;
	req_.pmtu = s.pmtu;
	req_.mpr = static_cast<u16>(d.mpr);
	req_.max_wimm = 1;
	req_.pkey = MRC_PKEY_DEFAULT;
	req_.rto = s.rto;
	req_.linear_cnt = MRC_RETRY_LINEAR_MAX;
	req_.exp_cnt = MRC_RETRY_EXP_INFINITE;
	req_.base_rtt = d.base_rtt;
	req_.use_ts = true;
	req_.trim_nack = d.trim;
	req_.n_ports = static_cast<u8>(shape.planes);

	resp_.pmtu = s.pmtu;
	resp_.mpr = static_cast<u16>(d.mpr);
	resp_.max_wimm = 1;
	resp_.pkey = MRC_PKEY_DEFAULT;
	resp_.remote_write = true;
	resp_.trim_nack = d.trim;
	resp_.late_stash = true;
	resp_.late_rd = true;
	resp_.base_rtt = d.base_rtt;
	resp_.sack_threshold = s.sack_bytes;

	const std::size_t paths = mrc_paths_mem(&paths_);
	const std::size_t req = mrc_req_mem(&req_);
	const std::size_t resp = mrc_resp_mem(&resp_);

	if (!paths || !req || !resp)
		throw mrclab::UsageError(
			"the transport engine refuses these settings");
	senders_ =
		Blocks(aligned(sizeof(Sender)) + aligned(paths) + aligned(req));
	receivers_ = Blocks(aligned(sizeof(Receiver)) + aligned(resp));
}

PathMap QpMaker::map_of(u64 who, u32 host) const
{
	if (t0_hosts_)
		return {host % t0_hosts_ % path_count_, 1};

	const u32 start = below(draw(seed_, Draws::paths, who, 0), path_count_);
	u32 stride = 1;

	/* One of any few random numbers has no common factor. */
	for (u64 n = 1; n < 64; n++) {
		stride = 1 +
			 below(draw(seed_, Draws::paths, who, n), path_count_);
		if (std::gcd(stride, path_count_) == 1)
			return {start, stride};
	}
	return {start, 1};
}

Sender *QpMaker::make_sender(u32 qp, u32 host, u64 now, mrc_counters *ctr,
			     Recorder *recorder)
{
	void *mem = senders_.take();
	auto *at = static_cast<std::byte *>(mem);

	std::memset(mem, 0, senders_.size());
	auto *s = new (mem) Sender{};
	mrc_paths_cfg paths = paths_;
	mrc_req_cfg req = req_;
	mrc_cc_cfg cc = cc_;
	const u64 who = u64{qp} << 1 | at_sender;

	s->map = map_of(who, host);
	paths.seed = draw(seed_, Draws::engine, who, 0);
	paths.ctr = ctr;
	req.sq_psn = static_cast<u32>(draw(seed_, Draws::engine, qp, 1)) &
		     MRC_PSN_MASK;
	req.qpn = req.dqpn = (qp + first_qpn) & 0xFFFFFF;
	req.ctr = ctr;
	if (recorder)
		recorder->hook(host, qp, paths, &req);
	cc.now = now;
	cc.nscc = &nscc_;
	at += aligned(sizeof(Sender));
	mrc_cc_init(&s->cc, algorithm_, &cc);
	mrc_assert(!mrc_paths_init(&s->paths, &paths, at));
	at += aligned(mrc_paths_mem(&paths));
	mrc_assert(!mrc_req_init(&s->req, &req, &s->paths, &s->cc, at));
	return s;
}

Receiver *QpMaker::make_receiver(u32 qp, u32 host, mrc_counters *ctr,
				 Recorder *recorder)
{
	void *mem = receivers_.take();
	auto *at = static_cast<std::byte *>(mem);

	std::memset(mem, 0, receivers_.size());
	auto *r = new (mem) Receiver{};
	mrc_paths_cfg paths = paths_;
	mrc_resp_cfg resp = resp_;
	const u64 who = u64{qp} << 1 | at_receiver;

	r->map = map_of(who, host);
	paths.seed = draw(seed_, Draws::engine, who, 0);
	paths.ctr = ctr;
	resp.rq_psn = static_cast<u32>(draw(seed_, Draws::engine, qp, 1)) &
		      MRC_PSN_MASK;
	resp.qpn = resp.dqpn = (qp + first_qpn) & 0xFFFFFF;
	resp.seed = draw(seed_, Draws::engine, who, 2);
	resp.ctr = ctr;
	if (recorder)
		recorder->hook(host, qp, paths, nullptr);
	mrc_assert(!mrc_paths_prepare(&r->paths, &paths));
	at += aligned(sizeof(Receiver));
	mrc_assert(!mrc_resp_init(&r->resp, &resp, &r->paths, at));
	return r;
}
} // namespace mrcsim

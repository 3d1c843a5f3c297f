// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What the tests of loss inference share.
#pragma once

#include "engine_fixture.hpp"
#include "mrc_req_priv.h"

#include <algorithm>

namespace mrc_test
{

// The fixture's window of 8 packets gives R = 12.
constexpr int kRange = 12;

// All EVs on one plane: what arrives later is proof.
struct OnePlane : Requester {
	OnePlane() { pcfg.n_ports = 1; }
};

// n packets, 30 us apart: always beyond the time guard of base_rtt / 4.
inline std::vector<mrc_tx_desc> spaced(Requester &r, int n)
{
	std::vector<mrc_tx_desc> out;
	for (int i = 0; i < n; i++) {
		auto one = r.send_n(1);
		out.insert(out.end(), one.begin(), one.end());
		r.now += 30 * kUs;
	}
	return out;
}

// A SACK that shows exactly PSN number n received. It answers a probe nobody
// sent, so that it is no RTT sample.
inline void show(Requester &r, s64 n)
{
	s32 d = mrc_psn_diff(r.psn(n), r.req.cack);
	r.sack({.cack = r.req.cack, .base = d, .map = 1, .probe = 60000});
}

// As if all round trips had taken @rtt for long.
inline void known_rtt(Requester &r, u64 rtt)
{
	r.req.samples = 255;
	r.req.srtt = r.req.base_rtt = rtt;
	r.req.rttvar = 0;
	for (u8 port = 1; port <= r.paths.n_ports; port++) {
		r.req.plane[port].srtt = rtt;
		r.req.plane[port].rttvar = 0;
	}
	mrc_req_slowest_update(&r.req);
}

// Sends a tail probe now. Return: its id.
inline u16 probe_at_once(Requester &r)
{
	r.probes.clear();
	r.req.probe_by = r.req.tail_probe_at = r.now;
	r.send();
	EXPECT_EQ(r.probes.size(), 1u);
	return r.probes.empty() ? 0 : r.probes[0].hdr.peth.probe_id;
}

// Waits until a tail probe is due, and sends it. Return: its id.
inline u16 silence_probe(Requester &r)
{
	r.probes.clear();
	// What was sent or heard meanwhile puts it off.
	for (int i = 0; i < 4 && r.probes.empty(); i++) {
		r.now = std::max(r.now, r.req.tail_probe_at);
		r.send();
	}
	EXPECT_EQ(r.probes.size(), 1u);
	return r.probes.empty() ? 0 : r.probes[0].hdr.peth.probe_id;
}

} // namespace mrc_test

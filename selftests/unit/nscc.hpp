// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// One NSCC controller with its parameters and a clock.
#pragma once

#include "engine.hpp"

#include "mrc_nscc.h"

#include <gtest/gtest.h>

namespace mrc_test
{

constexpr u32 kQ16 = 65536;

// By default the reference point of §13.3: 100 Gbit/s, 12 us, MTU 4096.
class Nscc
{
public:
	mrc_cc cc{};
	mrc_cc_cfg cfg{};
	mrc_nscc_cfg par{};
	u64 now = 1000000;

	explicit Nscc(bool trim = true)
	{
		cfg.mtu = 4096;
		cfg.base_rtt = 12000;
		cfg.line_rate = 12500000000ull;
		cfg.trim_nack = trim;
		cfg.nscc = &par;
	}

	Nscc(const Nscc &) = delete;

	Nscc &init()
	{
		// Initialisation must not depend on what was there.
		std::memset(&cc, 0xA5, sizeof(cc));
		cfg.now = now;
		mrc_cc_init(&cc, &mrc_cc_nscc, &cfg);
		return *this;
	}

	mrc_nscc &s() { return *mrc_nscc_of(&cc); }

	void send(u32 size) { cc.ops->on_send(&cc, size, now); }

	// A SACK for @n bytes; plenty is out, so that nothing is
	// resynchronised.
	void ack(u64 n, u64 rtt, bool ce = false, u8 pen = 0,
		 bool restore = false)
	{
		ack_of(n, rtt, cc.mtu, ce, pen, restore);
	}

	// The same; @size: bytes of the packet whose RTT it is.
	void ack_of(u64 n, u64 rtt, u32 size, bool ce = false, u8 pen = 0,
		    bool restore = false)
	{
		mrc_cc_ack a{};
		a.newly = n;
		a.freed = n;
		a.ce = ce;
		a.rtt = rtt;
		a.size = size;
		a.pen = pen;
		a.restore = restore;
		a.out = kPlenty;
		a.waiting = kPlenty;
		a.now = now;
		cc.ops->on_ack(&cc, &a);
	}

	void nack(u32 size, u8 reason, u64 rtt = MRC_CC_NONE_RTT)
	{
		cc.ops->on_nack(&cc, size, reason, rtt, now);
	}

	void loss(u32 size) { cc.ops->on_loss(&cc, size, now); }

	mrc_nscc_cfg resolve() const
	{
		mrc_nscc_cfg out;
		std::memset(&out, 0xA5, sizeof(out));
		mrc_nscc_resolve(&cfg, &out);
		return out;
	}

	static constexpr u64 kPlenty = 1ull << 40;
};

} // namespace mrc_test

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A program with one queue pair to PEER that writes, and compares what arrived,
 * until it is told to stop by SIGINT.
 *
 * usage: libmrc_ctl DEV traffic PEER EV-PROFILE CC-PROFILE, a "-" for none
 * Prints "qpn N" when it is connected, "writes N" now and then, "done N" at the
 * end.
 */
#include <csignal>
#include <cstdio>

#include "pair.hpp"
#include "tests.hpp"

namespace
{
volatile std::sig_atomic_t stop;

void on_signal(int)
{
	stop = 1;
}

uint64_t profile(const std::string &arg)
{
	return arg == "-" ? no_profile : std::stoull(arg);
}
} // namespace

bool run_traffic(const Device &dev, const Args &args)
{
	const Device peer(args.at(0));
	unsigned long n = 0;
	QpSpec spec;

	std::signal(SIGINT, on_signal);
	spec.ev = profile(args.at(1));
	spec.cc = profile(args.at(2));
	Pair p(dev, peer, spec);
	const mrc_qp_attr attr = p.a.query();

	if (spec.ev != no_profile && attr.profile.ev_profile_id != spec.ev)
		throw Failure("another EV profile");
	if (spec.cc != no_profile && attr.profile.cc_profile_id != spec.cc)
		throw Failure("another CC profile");
	std::printf("qpn %u\n", p.a.num());
	while (!stop) {
		p.a.write(p.b);
		if (++n % 4)
			continue;
		std::printf("writes %lu\n", n);
		std::fflush(stdout);
	}
	std::printf("done %lu\n", n);
	return true;
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_ctl DEVICE COMMAND...: the device's control interface for test scripts,
 * through the bare ioctl. Plain words in, lines of "name value" out.
 *
 *	dev | port N [enable|disable] | tc [NAME=DSCP...] [trimming=0|1]
 *	default [PREFIX/LEN [ev=ID] [cc=ID]]
 *	fmt|ev|cc ID ...		see cmd_profile.cpp
 *	ep probe|status ...		see cmd_device.cpp
 *	qp QPN				somebody's queue pair, its EVs
 *	events [depth=N] [count=N] [timeout=MS]
 *	-				one command a line from standard input
 *	selftest rules|qp|modify|events|fuzz [SEED [ROUNDS]]
 *	selftest unprivileged | absent QPN...
 *	wait SRC DST EV...		probes, until something else than time
 *					ends it
 *
 * Exit status: 0, 1 the device refused (the errno's name is in the message), 2
 * wrong usage.
 */
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>

#include "commands.hpp"
#include "selftest.hpp"

namespace
{
void wait(Dev &dev, const Words &w)
{
	if (w.size() < 4)
		throw Failure("wait SRC DST EV...");
	std::vector<mrc_abi_ep_req> req(w.size() - 3);
	std::vector<mrc_abi_ep_addr> addr(req.size());
	std::vector<mrc_abi_ep_rsp> rsp(req.size());
	With<mrc_abi_ep_batch> b{};
	int err;

	for (std::size_t i = 0; i < req.size(); i++) {
		std::copy_n(parse_gid(w[1]).begin(), 16, addr[i].sgid);
		std::copy_n(parse_gid(w[2]).begin(), 16, addr[i].dgid);
		req[i].id = static_cast<uint16_t>(i);
		req[i].fmt_mode = mrc::UDP;
		req[i].ev = parse_ev(w[3 + i]);
	}
	b.timeout = 4000000000;
	b.arrays = {array_in(MRC_ABI_ATTR_ARRAY_IN, std::span(req)),
		    array_in(MRC_ABI_ATTR_SECOND_IN, std::span(addr)),
		    array_out(MRC_ABI_ATTR_ARRAY_OUT, std::span(rsp))};
	do {
		err = dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_EP_BATCH, b);
	} while (err == ETIMEDOUT);
	must(err, "wait");
	throw Failure("all were answered");
}

using Command = void (*)(Dev &, const Words &);

const std::map<std::string, Command> commands = {
	{"dev", cmd_dev},	  {"port", cmd_port}, {"tc", cmd_tc},
	{"default", cmd_default}, {"fmt", cmd_fmt},   {"ev", cmd_ev},
	{"cc", cmd_cc},		  {"ep", cmd_ep},     {"events", cmd_events},
	{"qp", cmd_qp},		  {"wait", wait},
};

bool selftest(Dev &dev, const Words &w)
{
	const std::string name = w.size() > 1 ? w[1] : "";

	if (name == "rules")
		return selftest_rules(dev);
	if (name == "qp")
		return selftest_qp(dev);
	if (name == "modify")
		return selftest_modify(dev);
	if (name == "events")
		return selftest_events(dev);
	if (name == "fuzz")
		return selftest_fuzz(dev, w.size() > 2 ? number(w[2]) : 1,
				     w.size() > 3 ? number(w[3]) : 20000);
	if (name == "unprivileged")
		return selftest_unprivileged(dev);
	if (name == "absent") {
		std::vector<uint32_t> qpns;

		for (std::size_t i = 2; i < w.size(); i++)
			qpns.push_back(static_cast<uint32_t>(
				number(w[i], UINT32_MAX)));
		return selftest_absent(dev, qpns);
	}
	throw Failure("selftest rules|qp|modify|events|fuzz [SEED "
		      "[ROUNDS]]|unprivileged|absent QPN...");
}

void run(Dev &dev, const Words &w)
{
	const auto it = commands.find(w.at(0));

	if (it == commands.end())
		throw Failure("unknown command: " + w[0]);
	it->second(dev, w);
}

void run_lines(Dev &dev)
{
	std::string line, word;

	while (std::getline(std::cin, line)) {
		std::istringstream in(line);
		Words w;

		while (in >> word)
			w.push_back(word);
		if (!w.empty() && w[0][0] != '#')
			run(dev, w);
	}
}
} // namespace

int main(int argc, char **argv)
{
	const Words w(argv + 1, argv + argc);

	if (w.size() < 2) {
		std::fprintf(stderr, "usage: mrc_ctl DEVICE COMMAND...\n");
		return 2;
	}
	try {
		Dev dev(w[0]);

		if (w[1] == "-")
			run_lines(dev);
		else if (w[1] == "selftest")
			return selftest(dev, Words(w.begin() + 1, w.end())) ? 0
									    : 1;
		else
			run(dev, Words(w.begin() + 1, w.end()));
	} catch (const Refused &e) {
		std::fprintf(stderr, "mrc_ctl: %s\n", e.what());
		return 1;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "mrc_ctl: %s\n", e.what());
		return 2;
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_ctl DEVICE COMMAND...: what no controller would ask of a device, through
 * the bare ioctl. Controllers of test scripts are mrcctl, as a user runs it.
 *
 *	selftest rules|qp|modify|events	tables of requests and their errnos
 *	selftest fuzz [SEED [ROUNDS]]	hostile calls
 *	selftest unprivileged		for a caller without rights: all refused
 *	selftest absent QPN...		no such queue pairs
 *	wait SRC DST EV...		probes, again and again as long as
 *					nothing but the time runs out
 *
 * wait has its place here because libMRC does not tell a signal from a lack of
 * room (both are EAGAIN), and because only one program can wait all the time: a
 * tool that is started anew for each batch leaves gaps.
 *
 * Exit status: 0, 1 the device refused (the errno's name is in the message) or
 * a selftest failed, 2 wrong usage.
 */
#include <charconv>
#include <cstdio>

#include <arpa/inet.h>

#include "selftest.hpp"

namespace
{
using Words = std::vector<std::string>;

constexpr const char *usage =
	"usage: mrc_ctl DEVICE selftest rules|qp|modify|events|unprivileged\n"
	"       mrc_ctl DEVICE selftest fuzz [SEED [ROUNDS]]\n"
	"       mrc_ctl DEVICE selftest absent QPN...\n"
	"       mrc_ctl DEVICE wait SRC DST EV...";

uint64_t number(const std::string &s, uint64_t max = UINT64_MAX)
{
	uint64_t v = 0;
	const char *end = s.data() + s.size();
	const auto r = std::from_chars(s.data(), end, v);

	if (s.empty() || r.ec != std::errc() || r.ptr != end || v > max)
		throw Failure("not a number up to " + std::to_string(max) +
			      ": " + s);
	return v;
}

void ipv4_gid(const std::string &s, uint8_t (&gid)[16])
{
	gid[10] = gid[11] = 0xff;
	if (inet_pton(AF_INET, s.c_str(), &gid[12]) != 1)
		throw Failure("not an IPv4 address: " + s);
}

bool selftest(Dev &dev, const Words &w)
{
	const std::string name = w.empty() ? "" : w[0];

	if (name == "rules")
		return selftest_rules(dev);
	if (name == "qp")
		return selftest_qp(dev);
	if (name == "modify")
		return selftest_modify(dev);
	if (name == "events")
		return selftest_events(dev);
	if (name == "unprivileged")
		return selftest_unprivileged(dev);
	if (name == "fuzz")
		return selftest_fuzz(dev, w.size() > 1 ? number(w[1]) : 1,
				     w.size() > 2 ? number(w[2]) : 20000);
	if (name == "absent" && w.size() > 1) {
		std::vector<uint32_t> qpns;

		for (std::size_t i = 1; i < w.size(); i++)
			qpns.push_back(static_cast<uint32_t>(
				number(w[i], UINT32_MAX)));
		return selftest_absent(dev, qpns);
	}
	throw Failure(usage);
}

/* A UDP path, as mrcctl has it: c001@1. */
mrc_abi_ev udp_ev(const std::string &s)
{
	mrc_abi_ev ev{};
	int end = 0;

	if (std::sscanf(s.c_str(), "%2hhx%2hhx@%hhu%n", &ev.val[0], &ev.val[1],
			&ev.port, &end) != 3 ||
	    s.size() != static_cast<std::size_t>(end))
		throw Failure("no UDP path: " + s);
	return ev;
}

[[noreturn]] void wait(Dev &dev, const Words &w)
{
	if (w.size() < 3)
		throw Failure(usage);
	std::vector<mrc_abi_ep_req> req(w.size() - 2);
	std::vector<mrc_abi_ep_addr> addr(req.size());
	std::vector<mrc_abi_ep_rsp> rsp(req.size());
	With<mrc_abi_ep_batch> b{};
	int err;

	for (std::size_t i = 0; i < req.size(); i++) {
		ipv4_gid(w[0], addr[i].sgid);
		ipv4_gid(w[1], addr[i].dgid);
		req[i].id = static_cast<uint16_t>(i);
		req[i].fmt_mode = mrc::UDP;
		req[i].ev = udp_ev(w[2 + i]);
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
} // namespace

int main(int argc, char **argv)
{
	const Words w(argv + 1, argv + argc);

	try {
		if (w.size() < 2)
			throw Failure(usage);
		Dev dev(w[0]);
		const Words rest(w.begin() + 2, w.end());

		if (w[1] == "selftest")
			return selftest(dev, rest) ? 0 : 1;
		if (w[1] == "wait")
			wait(dev, rest);
		throw Failure(usage);
	} catch (const Refused &e) {
		std::fprintf(stderr, "mrc_ctl: %s\n", e.what());
		return 1;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "mrc_ctl: %s\n", e.what());
		return 2;
	}
}

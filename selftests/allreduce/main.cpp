// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_allreduce: a ring all-reduce over the MRC API, as collective libraries
 * do it; one process for each rank. Every result is compared with one that is
 * computed here. Exit status 0 only if all was right.
 */
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstring>
#include <exception>
#include <getopt.h>

#include "ring.hpp"

namespace
{
const char usage_text[] =
	"usage: mrc_allreduce --rank R --ranks N -d DEVICE --gid ADDRESS\n"
	"                     --root ADDRESS-OF-RANK-0 [OPTIONS]\n"
	"  --port P            TCP port of rank 0\n"
	"  --qps K             queue pairs to each neighbour, up to 8\n"
	"  --op imm|flag|mixed how the end of a message is told\n"
	"  --inline            announcements and flags as inline data\n"
	"  --rounds N          0: until SIGINT reaches rank 0\n"
	"  --counts N,N,...    elements to sum, of the rounds in turn\n"
	"  --piece BYTES       of one WRITE\n"
	"  --timeout T         MRC_QP_TIMEOUT\n"
	"  --stall SECONDS     without progress: give up\n"
	"  --report N          a line every N rounds\n"
	"  --seed S\n"
	"  --timed             rounds begin and end together; rank 0 says how\n"
	"                      long each took: 'took N us'\n";

static_assert(std::atomic<bool>::is_always_lock_free);
std::atomic<bool> interrupted;

[[noreturn]] void usage(const std::string &why)
{
	std::fprintf(stderr, "mrc_allreduce: %s\n%s", why.c_str(), usage_text);
	std::exit(2);
}

uint64_t number(const char *name, const std::string &s, uint64_t min,
		uint64_t max)
{
	uint64_t v = 0;
	const char *end = s.data() + s.size();
	auto [p, err] = std::from_chars(s.data(), end, v);

	if (err != std::errc() || p != end || v < min || v > max)
		usage(std::string("--") + name + " " + s + ": a number from " +
		      std::to_string(min) + " to " + std::to_string(max));
	return v;
}

std::vector<uint32_t> numbers(const char *name, const std::string &s)
{
	std::vector<uint32_t> v;

	for (size_t at = 0; at <= s.size();) {
		size_t comma = std::min(s.find(',', at), s.size());

		v.push_back(static_cast<uint32_t>(
			number(name, s.substr(at, comma - at), 1, 1u << 24)));
		at = comma + 1;
	}
	return v;
}

Op op_of(const std::string &s)
{
	if (s == "imm")
		return Op::imm;
	if (s == "flag")
		return Op::flag;
	if (s == "mixed")
		return Op::mixed;
	usage("--op " + s);
}

Options parse(int argc, char **argv)
{
	enum {
		rank = 256,
		ranks,
		gid,
		root,
		port,
		qps,
		op,
		inline_,
		rounds,
		counts,
		piece,
		timeout,
		stall,
		report,
		seed,
		timed,
	};
	static const option longs[] = {
		{"rank", 1, nullptr, rank},
		{"ranks", 1, nullptr, ranks},
		{"device", 1, nullptr, 'd'},
		{"gid", 1, nullptr, gid},
		{"root", 1, nullptr, root},
		{"port", 1, nullptr, port},
		{"qps", 1, nullptr, qps},
		{"op", 1, nullptr, op},
		{"inline", 0, nullptr, inline_},
		{"rounds", 1, nullptr, rounds},
		{"counts", 1, nullptr, counts},
		{"piece", 1, nullptr, piece},
		{"timeout", 1, nullptr, timeout},
		{"stall", 1, nullptr, stall},
		{"report", 1, nullptr, report},
		{"seed", 1, nullptr, seed},
		{"timed", 0, nullptr, timed},
		{nullptr, 0, nullptr, 0},
	};
	Options o;
	bool have_rank = false;
	int c, which = 0;

	while ((c = getopt_long(argc, argv, "d:", longs, &which)) != -1) {
		std::string a = optarg ? optarg : "";
		const char *name = c == 'd' ? "device" : longs[which].name;
		auto num = [&](uint64_t min, uint64_t max) {
			return number(name, a, min, max);
		};

		switch (c) {
		case rank:
			o.rank = static_cast<unsigned>(num(0, 15));
			have_rank = true;
			break;
		case ranks:
			o.ranks = static_cast<unsigned>(num(2, 16));
			break;
		case 'd':
			o.dev = a;
			break;
		case gid:
			o.gid = a;
			break;
		case root:
			o.root = a;
			break;
		case port:
			o.port = static_cast<uint16_t>(num(1, 65535));
			break;
		case qps:
			o.qps = static_cast<unsigned>(num(1, max_qps));
			break;
		case op:
			o.op = op_of(a);
			break;
		case inline_:
			o.inline_data = true;
			break;
		case rounds:
			o.rounds = num(0, UINT32_MAX);
			break;
		case counts:
			o.counts = numbers(name, a);
			break;
		case piece:
			o.piece = static_cast<uint32_t>(num(4, 1u << 24));
			break;
		case timeout:
			o.timeout = static_cast<unsigned>(num(0, 24));
			break;
		case stall:
			o.stall = static_cast<unsigned>(num(1, 3600));
			break;
		case report:
			o.report = num(1, UINT32_MAX);
			break;
		case seed:
			o.seed = num(0, UINT64_MAX);
			break;
		case timed:
			o.timed = true;
			break;
		default:
			usage("no such option");
		}
	}
	if (optind != argc)
		usage("too many arguments");
	if (!have_rank || !o.ranks || o.rank >= o.ranks || o.dev.empty() ||
	    o.gid.empty() || o.root.empty())
		usage("--rank, --ranks, -d, --gid and --root are needed");
	return o;
}

void run(const Options &o)
{
	Star star(o);
	Ring ring(o, star);

	ring.run(interrupted);
	/* Nobody goes while another may still need to hear from it. */
	star.barrier("end after " + std::to_string(ring.totals().rounds));
	ring.close();

	const Totals &t = ring.totals();
	auto n = [](uint64_t v) { return static_cast<unsigned long long>(v); };

	say("mrc_allreduce: OK rank=%u rounds=%llu elements=%llu imm=%llu "
	    "flags=%llu announced=%llu quiet=%llu chain=%llu port_err=%u "
	    "port_active=%u",
	    o.rank, n(t.rounds), n(t.elements), n(t.immediates), n(t.flags),
	    n(t.announcements), n(t.quiet), n(t.chain),
	    ring.events().ports_lost(), ring.events().ports_back());
}
} // namespace

int main(int argc, char **argv)
{
	Options o = parse(argc, argv);
	struct sigaction sa {
	};

	/* Reading from others goes on: the signal only asks for the end. */
	sa.sa_flags = SA_RESTART;
	sa.sa_handler = [](int) { interrupted = true; };
	sigaction(SIGINT, &sa, nullptr);
	try {
		run(o);
	} catch (const std::exception &e) {
		std::fflush(stdout);
		std::fprintf(stderr, "mrc_allreduce: FAIL rank %u: %s\n",
			     o.rank, e.what());
		return 1;
	}
	return 0;
}

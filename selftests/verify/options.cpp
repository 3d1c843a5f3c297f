// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: command line, and the test options as text for the other side.
 */
#include "options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>

#include "common.h"

static const char usage_text[] =
	R"(usage: mrc_verify [LOCAL OPTIONS]                          server, one session
       mrc_verify [LOCAL OPTIONS] [TEST OPTIONS] SERVER    client

Moves data by RDMA WRITE between two programs and verifies every byte, every
completion and every immediate. Test options are given to the client only.

Local options:
  -d, --dev DEV            device (default: the only one)
  --ib-port N              port of the device (1)
  --gid-index N            GID by index, or
  --gid ADDR               by address (default: the first RoCE v2 IPv4 one,
                           else the first IPv6 one that is not link-local)
  --port P                 TCP port for coordination (18600)
  --bind ADDR              server: address to listen on
  --accept-timeout S       server: wait for a client (30)
  --connect-timeout S      client: wait for the server (30)
  --ev-profile ID, --cc-profile ID
                           profiles that the queue pairs of this side name
  --quiet                  no progress lines
Test options:
  --mtu N                  path MTU in bytes (the smaller active MTU)
  --size LIST              message sizes, used in turn (4096)
  --iters N                messages per QP and direction (200)
  --duration S             run for S seconds instead, a line per second
  --op write|write_imm|mixed                                  (write_imm)
  --inline                 small messages as inline data
  --sges N                 gather each message from N pieces (1)
  --unaligned              odd addresses and lengths everywhere
  --unsignalled K          signal each K-th work request only (1)
  --sig-all                queue pairs with sq_sig_all
  --post-list N            work requests per post call (1)
  --ex                     post through ibv_wr_*()
  --cq-ex                  extended completion queues with timestamps
  --events                 completion channels instead of polling
  --solicited              with --events: receiver waits for solicited only
  --resize-cq              resize both completion queues all the time
  --qps N                  queue pairs (1)
  --bidir                  data in both directions
  --depth N                messages in flight per queue pair (16)
  --timeout T --retry N --rnr-retry N --min-rnr N             (14 7 7 12)
  --seed N                 of all patterns and choices (1)
  --watchdog S             no progress for so long is a failure (30)
  --mpr LIST               Dynamic MPR with these ranges of 128 PSNs: the
                           first at the start, the next one, and in the end
                           the first again, at each SIGUSR1 to a receiver
Other tests than traffic:
  --peer-gone              peer destroys its QPs: time to RETRY_EXC_ERR
  --blackhole              the same while the caller cuts the network after
                           the line BLACKHOLE-READY
  --expect-min-ms N, --expect-max-ms N
  --churn N                N times create, connect, transfer, destroy
  --error-test NAME        bad-rkey, oob, no-permission, qp-access, no-recv,
                           late-recv, bad-opcode, bad-lkey, sq-overflow,
                           modify-masks, objects, flush, flush-many,
                           sq-drain, all
  --ext-test NAME          what there is beyond WRITE: send, read, atomic,
                           fence, mixed, rnr, refused, windows, srq,
                           datagrams, groups, gone (as --peer-gone), all; with
                           --iters, --bidir, --post-list, --ex and --cq-ex;
                           and what there is not: strict (at neither end),
                           strict-peer (at the server)
  --ext-max N              longest message of send, atomic, fence, mixed, srq
                           (120000)
  --hostile                scribble on the own rings for --duration (5)
Exit status: 0 verified, 1 failed, 2 usage, 77 not applicable here.
)";

[[noreturn]] static void usage_error(const std::string &why)
{
	std::fprintf(stderr, "mrc_verify: %s\n%s", why.c_str(), usage_text);
	std::exit(2);
}

uint32_t TestOptions::max_size() const
{
	return *std::max_element(sizes.begin(), sizes.end());
}

template <typename T> static bool to_number(const std::string &s, T &out)
{
	const char *end = s.data() + s.size();
	auto [p, ec] = std::from_chars(s.data(), end, out);

	return ec == std::errc() && p == end && !s.empty();
}

static std::string from_list(const std::vector<uint32_t> &list)
{
	std::string s;

	for (uint32_t v : list)
		s += (s.empty() ? "" : ",") + std::to_string(v);
	return s;
}

static bool to_sizes(const std::string &s, std::vector<uint32_t> &out)
{
	std::istringstream in(s);
	std::string item;

	out.clear();
	while (std::getline(in, item, ',')) {
		uint32_t v;

		if (!to_number(item, v) || v > (1u << 30))
			return false;
		out.push_back(v);
	}
	return !out.empty();
}

static bool to_op(const std::string &s, Op &out)
{
	if (s == "write")
		out = Op::write;
	else if (s == "write_imm")
		out = Op::write_imm;
	else if (s == "mixed")
		out = Op::mixed;
	else
		return false;
	return true;
}

static const char *op_name(Op op)
{
	switch (op) {
	case Op::write:
		return "write";
	case Op::write_imm:
		return "write_imm";
	default:
		return "mixed";
	}
}

/*
 * One entry per test option serves the command line, encode() and decode().
 * Flags take no argument on the command line and are sent as 0 or 1.
 */
struct Field {
	const char *name;
	bool flag;
	std::function<bool(TestOptions &, const std::string &)> set;
	std::function<std::string(const TestOptions &)> get;
};

template <typename T> static Field number(const char *name, T TestOptions::*m)
{
	return {name, false,
		[m](TestOptions &t, const std::string &s) {
			return to_number(s, t.*m);
		},
		[m](const TestOptions &t) {
			std::ostringstream out;

			out << t.*m;
			return out.str();
		}};
}

static Field flag(const char *name, bool TestOptions::*m)
{
	return {name, true,
		[m](TestOptions &t, const std::string &s) {
			t.*m = s == "1";
			return s == "0" || s == "1";
		},
		[m](const TestOptions &t) { return t.*m ? "1" : "0"; }};
}

static const std::vector<Field> &fields()
{
	using T = TestOptions;
	static const std::vector<Field> all = {
		number("mtu", &T::mtu),
		{"size", false,
		 [](T &t, const std::string &s) {
			 return to_sizes(s, t.sizes);
		 },
		 [](const T &t) { return from_list(t.sizes); }},
		number("iters", &T::iters),
		number("duration", &T::duration),
		{"op", false,
		 [](T &t, const std::string &s) { return to_op(s, t.op); },
		 [](const T &t) { return std::string(op_name(t.op)); }},
		flag("inline", &T::inline_data),
		number("sges", &T::sges),
		flag("unaligned", &T::unaligned),
		number("unsignalled", &T::unsignalled),
		flag("sig-all", &T::sig_all),
		number("post-list", &T::post_list),
		flag("ex", &T::ex),
		flag("cq-ex", &T::cq_ex),
		flag("events", &T::events),
		flag("solicited", &T::solicited),
		flag("resize-cq", &T::resize_cq),
		number("qps", &T::qps),
		flag("bidir", &T::bidir),
		number("depth", &T::depth),
		number("timeout", &T::timeout),
		number("retry", &T::retry),
		number("rnr-retry", &T::rnr_retry),
		number("min-rnr", &T::min_rnr),
		number("seed", &T::seed),
		number("watchdog", &T::watchdog),
		{"mpr", false,
		 [](T &t, const std::string &s) {
			 return s.empty() || to_sizes(s, t.mpr);
		 },
		 [](const T &t) { return from_list(t.mpr); }},
		flag("peer-gone", &T::peer_gone),
		flag("blackhole", &T::blackhole),
		number("expect-min-ms", &T::expect_min_ms),
		number("expect-max-ms", &T::expect_max_ms),
		number("churn", &T::churn),
		{"error-test", false,
		 [](T &t, const std::string &s) {
			 t.error_test = s;
			 return true;
		 },
		 [](const T &t) { return t.error_test; }},
		{"ext-test", false,
		 [](T &t, const std::string &s) {
			 t.ext_test = s;
			 return true;
		 },
		 [](const T &t) { return t.ext_test; }},
		number("ext-max", &T::ext_max),
		flag("hostile", &T::hostile),
	};
	return all;
}

static const Field *find_field(const std::string &name)
{
	for (const Field &f : fields())
		if (name == f.name)
			return &f;
	return nullptr;
}

static bool sane(const TestOptions &t)
{
	return t.sges >= 1 && t.sges <= 32 && t.unsignalled >= 1 &&
	       t.post_list >= 1 && t.qps >= 1 && t.qps <= 4096 &&
	       t.depth >= 1 && t.depth <= 8192 && t.timeout >= 0 &&
	       t.timeout <= 31 && t.retry >= 0 && t.retry <= 7 &&
	       t.rnr_retry >= 0 && t.rnr_retry <= 7 && t.min_rnr >= 0 &&
	       t.min_rnr <= 31 && t.watchdog > 0 && t.duration >= 0 &&
	       t.iters >= 1 && (!t.solicited || t.events) &&
	       std::all_of(t.mpr.begin(), t.mpr.end(),
			   [](uint32_t v) { return v >= 1 && v <= 255; });
}

std::string TestOptions::encode() const
{
	std::string s;

	for (const Field &f : fields())
		s += std::string(f.name) + "=" + f.get(*this) + "\n";
	return s;
}

TestOptions TestOptions::decode(const std::string &text)
{
	std::istringstream in(text);
	std::string line;
	TestOptions t;

	while (std::getline(in, line)) {
		size_t eq = line.find('=');
		const Field *f = find_field(line.substr(0, eq));

		if (eq == std::string::npos || !f ||
		    !f->set(t, line.substr(eq + 1)))
			fail("peer sent an unknown option: %s", line.c_str());
	}
	if (!sane(t))
		fail("peer sent options out of range");
	return t;
}

static bool set_local(LocalOptions &l, const std::string &name,
		      const std::string &v)
{
	if (name == "dev")
		l.dev = v;
	else if (name == "gid")
		l.gid = v;
	else if (name == "bind")
		l.bind = v;
	else if (name == "ib-port")
		return to_number(v, l.ib_port);
	else if (name == "gid-index")
		return to_number(v, l.gid_index);
	else if (name == "port")
		return to_number(v, l.port);
	else if (name == "ev-profile")
		return to_number(v, l.ev_profile.emplace());
	else if (name == "cc-profile")
		return to_number(v, l.cc_profile.emplace());
	else if (name == "accept-timeout")
		return to_number(v, l.accept_timeout);
	else if (name == "connect-timeout")
		return to_number(v, l.connect_timeout);
	else
		return false;
	return true;
}

static bool is_local(const std::string &name)
{
	static const char *const names[] = {"dev",
					    "gid",
					    "bind",
					    "ib-port",
					    "gid-index",
					    "port",
					    "ev-profile",
					    "cc-profile",
					    "accept-timeout",
					    "connect-timeout"};

	return std::any_of(std::begin(names), std::end(names),
			   [&](const char *n) { return name == n; });
}

Options parse_options(int argc, char **argv)
{
	Options o;
	bool test_given = false;

	for (int i = 1; i < argc; i++) {
		std::string arg = argv[i];
		std::string value;
		bool has_value = false;

		if (arg == "-h" || arg == "--help") {
			std::fputs(usage_text, stdout);
			std::exit(0);
		}
		if (arg == "-d")
			arg = "--dev";
		if (arg.rfind("--", 0) != 0) {
			if (!o.local.server.empty() || arg.empty() ||
			    arg[0] == '-')
				usage_error("unexpected argument " + arg);
			o.local.server = arg;
			continue;
		}
		arg = arg.substr(2);
		if (size_t eq = arg.find('='); eq != std::string::npos) {
			value = arg.substr(eq + 1);
			arg.resize(eq);
			has_value = true;
		}
		if (arg == "quiet") {
			o.local.quiet = true;
			continue;
		}
		const Field *f = find_field(arg);
		bool local = is_local(arg);

		if (!f && !local)
			usage_error("unknown option --" + arg);
		if (f && f->flag) {
			if (has_value)
				usage_error("--" + arg + " takes no argument");
			value = "1";
		} else if (!has_value) {
			if (i + 1 >= argc)
				usage_error("--" + arg + " needs an argument");
			value = argv[++i];
		}
		if (!(local ? set_local(o.local, arg, value)
			    : f->set(o.test, value)))
			usage_error("bad argument of --" + arg + ": " + value);
		test_given |= !local;
	}
	if (o.local.server.empty() && test_given)
		usage_error("test options belong to the client");
	if (!o.test.iters)
		o.test.iters = o.test.churn ? 4 : 200;
	if (o.test.hostile && o.test.duration <= 0)
		o.test.duration = 5;
	if (!sane(o.test))
		usage_error("an option is out of range");
	return o;
}

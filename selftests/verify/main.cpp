// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: verbs traffic that is checked byte by byte, and work requests
 * that must fail. See options.cpp for the usage.
 */
#include <csignal>

#include "common.h"
#include "tests.h"

namespace
{
constexpr int exit_skip = 77;
constexpr char protocol[] = "mrc_verify 1\n";

TestOptions agree(Oob &oob, const Options &o, bool client)
{
	if (client) {
		oob.send(Msg::hello, protocol + o.test.encode());
		if (oob.expect(Msg::hello) != protocol)
			fail("the server speaks another version");
		return o.test;
	}
	std::string s = oob.expect(Msg::hello);

	if (s.rfind(protocol, 0) != 0)
		fail("the client speaks another version");
	oob.send(Msg::hello, protocol);
	return TestOptions::decode(s.substr(sizeof(protocol) - 1));
}

Totals run(Session &s)
{
	if (!s.t.error_test.empty()) {
		run_error_tests(s);
		return {};
	}
	if (!s.t.ext_test.empty()) {
		run_ext_tests(s);
		return {};
	}
	if (s.t.peer_gone) {
		test_peer_gone(s);
		return {};
	}
	if (s.t.blackhole) {
		test_blackhole(s);
		return {};
	}
	if (s.t.hostile)
		return test_hostile(s);
	if (s.t.churn)
		return test_churn(s);
	if (s.client && s.t.duration > 0)
		Stream::stop_on_sigint();
	Stream stream(s.dev, s.oob, s.t, s.client, s.quiet);

	return stream.run();
}
} // namespace

int main(int argc, char **argv)
{
	Options o = parse_options(argc, argv);
	bool client = !o.local.server.empty();

	std::signal(SIGPIPE, SIG_IGN);
	try {
		Oob oob = client ? Oob::connect(o.local)
				 : Oob::listen_accept(o.local);

		try {
			TestOptions t = agree(oob, o, client);
			Device dev(o.local);
			Session s{dev, oob, t, client, o.local.quiet};

			run(s).print_ok();
			return 0;
		} catch (const Failure &e) {
			/* Tell the other side why this one ends. */
			try {
				oob.send(Msg::failed, std::string(e.what()));
			} catch (const Failure &) {
				/* It is gone already. */
			}
			throw;
		}
	} catch (const Skip &e) {
		say("mrc_verify: SKIP: %s", e.what());
		return exit_skip;
	} catch (const std::exception &e) {
		say("mrc_verify: FAIL: %s", e.what());
		return 1;
	}
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requests between tester and target: as they are, and as they must not be. */
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link.hpp"
#include "proto.hpp"

namespace mrcconform
{
namespace
{
const char *make_qp =
	R"({"op":"make_qp","local":"10.1.0.2","peer":"10.1.0.1","peer_qpn":7,)"
	R"("sq_psn":1,"rq_psn":16777215,"mtu":1024,"timeout":14,"retry":7,)"
	R"("recvs":0,"memory":4096,"qp_access":1,"mr_access":1,"state":"rts"})";

std::string refused(const std::string &line)
{
	try {
		parse_request(line);
	} catch (const FormatError &e) {
		return e.what();
	}
	return "taken";
}

/* A good request with one change. */
std::string changed(std::string line, const std::string &from,
		    const std::string &to)
{
	const size_t at = line.find(from);

	EXPECT_NE(at, std::string::npos) << from;
	return line.replace(at, from.size(), to);
}

TEST(Requests, EachComesBackAsItWent)
{
	req::MakeQp m;

	m.local = Address::parse("fd00:1::2");
	m.peer = Address::parse("fd00:1::1");
	m.rq_psn = 0xFFFFFF;
	m.mtu = 2048;
	m.state = State::rtr;

	const Request all[] = {
		req::Hello{1},
		m,
		req::Modify{3, State::error},
		req::Query{4},
		req::Recv{1, 64},
		req::Post{1, 2, 3, UINT64_MAX, 5, UINT64_MAX, true, false, 6},
		req::Poll{1, 2, 100},
		req::Read{1, 2, 3},
		req::Write{1, 2, {3, 4}},
		req::Deregister{9},
		req::Events{1, 5},
		req::Destroy{0xFFFFFFFF}};

	EXPECT_EQ(std::size(all), std::variant_size_v<Request>);
	for (const Request &r : all) {
		const std::string line = format_request(r);
		const Request back = parse_request(line);

		EXPECT_EQ(back.index(), r.index());
		EXPECT_EQ(format_request(back), line);
	}
}

TEST(Requests, GoodOneIsTaken)
{
	const auto m = std::get<req::MakeQp>(parse_request(make_qp));

	EXPECT_EQ(m.peer.text(), "10.1.0.1");
	EXPECT_EQ(m.rq_psn, 0xFFFFFFu);
	EXPECT_EQ(m.state, State::rts);
}

TEST(Requests, BadOnesAreRefusedWithAReason)
{
	EXPECT_EQ(refused(""), "not a JSON object");
	EXPECT_EQ(refused("[1]"), "not a JSON object");
	EXPECT_EQ(refused("{}"), "member 'op' is missing or no string");
	EXPECT_EQ(refused(R"({"op":1})"),
		  "member 'op' is missing or no string");
	EXPECT_EQ(refused(R"({"op":"fly"})"), "unknown request 'fly'");
	EXPECT_EQ(refused(R"({"op":"query"})"), "member 'qp' is missing");
	EXPECT_EQ(refused(R"({"op":"query","qp":1,"x":2})"),
		  "unknown member 'x'");
	EXPECT_EQ(refused(changed(make_qp, "\"mtu\":1024", "\"mtu\":1000")),
		  "'mtu' must be 256, 512, 1024, 2048 or 4096");
	EXPECT_EQ(refused(changed(make_qp, "\"mtu\":1024", "\"mtu\":8192")),
		  "'mtu' must be a number from 256 to 4096");
	EXPECT_EQ(refused(changed(make_qp, "16777215", "16777216")),
		  "'rq_psn' must be a number from 0 to 16777215");
	EXPECT_EQ(refused(changed(make_qp, "16777215", "-1")),
		  "'rq_psn' must be a number from 0 to 16777215");
	EXPECT_EQ(refused(changed(make_qp, "16777215", "1.5")),
		  "'rq_psn' must be a number from 0 to 16777215");
	EXPECT_EQ(refused(changed(make_qp, "16777215", "\"1\"")),
		  "'rq_psn' must be a number from 0 to 16777215");
	EXPECT_EQ(refused(changed(make_qp, "\"rts\"", "\"up\"")),
		  "no state 'up'");
	EXPECT_EQ(refused(changed(make_qp, "\"10.1.0.1\"", "\"10.1.0\"")),
		  "'10.1.0' is no address");
	EXPECT_EQ(refused(changed(make_qp, "\"10.1.0.1\"", "\"::1\"")),
		  "'local' and 'peer' must be of one address family");
	EXPECT_EQ(refused(changed(make_qp, "\"10.1.0.1\"", "10")),
		  "'peer' must be a string");
	EXPECT_EQ(refused(changed(make_qp, "\"memory\":4096", "\"memory\":0")),
		  "'memory' must be a number from 1 to 16777216");
	EXPECT_EQ(refused(R"({"op":"write","qp":1,"offset":0,"data":"0x"})"),
		  "'0x' is not hexadecimal");
	EXPECT_EQ(refused(R"({"op":"post","qp":1,"id":1,"offset":0,"length":1,)"
			  R"("va":0,"rkey":0,"imm":1,"imm_data":0,)"
			  R"("solicited":false})"),
		  "'imm' must be true or false");
}

TEST(Requests, AnyTextIsJudged)
{
	std::mt19937 rng(1);

	for (int i = 0; i < 5000; i++) {
		std::string line = make_qp;

		for (int n = 0; n < 4; n++)
			line[rng() % line.size()] = static_cast<char>(rng());
		line.resize(rng() % (line.size() + 1));
		EXPECT_NE(refused(line), "");
	}
}

struct Pair {
	int fds[2];

	Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0); }
};

TEST(Lines, AreTakenOneByOne)
{
	const Pair p;
	Link link{fd::Fd(p.fds[0])};
	const std::string text = "one\ntwo\nthree";

	EXPECT_EQ(write(p.fds[1], text.data(), text.size()),
		  static_cast<ssize_t>(text.size()));
	EXPECT_EQ(link.receive(5), "one");
	EXPECT_EQ(link.receive(5), "two");
	close(p.fds[1]);
	EXPECT_FALSE(link.receive(5));
}

TEST(Lines, TooLongOnesAndSilence)
{
	const Pair p, silent;
	Link link{fd::Fd(p.fds[0])};

	{
		Link other{fd::Fd(silent.fds[0])};

		EXPECT_THROW(other.receive(0), RunError);
		/* What comes later is no answer to the next request. */
		EXPECT_LT(send(silent.fds[1], "late\n", 5, MSG_NOSIGNAL), 0);
		EXPECT_FALSE(other.receive(30));
	}
	close(silent.fds[1]);

	std::thread writer([&] {
		const std::string part(65536, 'x');

		for (size_t n = 0; n <= max_line + 2 * part.size();
		     n += part.size())
			if (send(p.fds[1], part.data(), part.size(),
				 MSG_NOSIGNAL) < 0)
				break;
	});

	EXPECT_THROW(link.receive(30), FormatError);
	/* Unblocks the writer. */
	shutdown(p.fds[1], SHUT_RDWR);
	writer.join();
	close(p.fds[1]);
}

TEST(HostPorts, Text)
{
	const auto parsed = [](const std::string &s) {
		const HostPort h = HostPort::parse(s);

		return h.host + "|" + h.port;
	};

	EXPECT_EQ(parsed("host:1"), "host|1");
	EXPECT_EQ(parsed("10.0.0.1"), std::string("10.0.0.1|") + default_port);
	EXPECT_EQ(parsed(":7"), "|7");
	EXPECT_EQ(parsed("[fd00::1]:9"), "fd00::1|9");
	EXPECT_EQ(parsed("[fd00::1]"), std::string("fd00::1|") + default_port);
	EXPECT_EQ(parsed("fd00::1"), std::string("fd00::1|") + default_port);
	for (const char *bad : {"host:", "host:0", "host:65536", "host:x",
				"[::1", "[::1]x", "host:123456789"})
		EXPECT_THROW(HostPort::parse(bad), UsageError) << bad;
}
} // namespace
} // namespace mrcconform

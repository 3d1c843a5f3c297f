// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Peers that speak something else, or the right words at the wrong time. */
#include <functional>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake.hpp"
#include "session.hpp"

namespace mrcperf
{
namespace
{
Hello hello_for(uint32_t qps)
{
	Hello h;

	h.seed = 1;
	h.largest = 4096;
	h.qps = qps;
	h.depth = 4;
	h.rx_depth = 4;
	h.stall_ms = 500;
	h.verify = 1;
	return h;
}

Address address_for(uint32_t qps)
{
	Address a;

	a.mtu = 1024;
	a.rkey = 7;
	a.device = "evil";
	a.qps.resize(qps);
	return a;
}

void say(int fd, const std::string &bytes)
{
	EXPECT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
		  static_cast<ssize_t>(bytes.size()));
}

/* What the server makes of a client that says this and then nothing. */
Outcome server_hears(const std::string &bytes, bool close_then = true)
{
	const auto fds = socket_pair();
	std::ostringstream out, err;
	Fabric fabric;
	Outcome o;
	Link link(fds[0]);

	say(fds[1], bytes);
	if (close_then)
		shutdown(fds[1], SHUT_WR);
	try {
		const Hello hello = greet(link);

		o.status = serve(hello, link, fabric.server(), out, err);
	} catch (const RunError &e) {
		err << "refused: " << e.what();
	}
	close(fds[1]);
	o.out = out.str();
	o.err = err.str();
	return o;
}

void expect_says(const Outcome &o, int status, const std::string &text)
{
	EXPECT_EQ(o.status, status) << o.err;
	EXPECT_NE(o.err.find(text), std::string::npos) << o.err;
	EXPECT_EQ(o.out, "");
}

/* Up to the point where runs may start. */
std::string joined()
{
	return encode(hello_for(2)) + encode(address_for(2)) + encode(Ready{});
}

Start start_of(Kind test, Op op, uint64_t size)
{
	return {.run = 1, .test = test, .op = op, .size = size};
}

/* What the client makes of a server that answers this. */
Outcome client_hears(const std::string &bytes)
{
	const auto fds = socket_pair();
	std::ostringstream out, err;
	Fabric fabric;
	Outcome o;
	const auto options = parse_options(
		words("-s 8 -n 4 -q 2 --verify --stall 0.5 peer"), out);
	const auto report = make_report(Format::text, out);

	say(fds[1], bytes);
	shutdown(fds[1], SHUT_WR);
	o.status = run_client(
		*options, fabric.client(), [&] { return Link(fds[0]); },
		*report, err);
	close(fds[1]);
	o.err = err.str();
	return o;
}
} // namespace

TEST(HostileClient, IsNoClient)
{
	expect_says(server_hears(""), -1, "closed the connection");
	expect_says(server_hears("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), -1,
		    "refused: the peer is not mrcperf");
	expect_says(server_hears(std::string(100000, '\0')), -1,
		    "is not mrcperf");
	std::string other = encode(hello_for(1));

	other[5] = 9;
	expect_says(server_hears(other), -1,
		    "the peer's protocol has version 9, this one 1");
	other = encode(hello_for(1));
	other[8] = '\x7f';
	expect_says(server_hears(other), -1, "sent a frame of 2130706");
	expect_says(server_hears(encode(hello_for(1)).substr(0, 30)), -1,
		    "closed the connection");
	expect_says(server_hears(encode(Bye{})), -1, "out of step");
}

/* Who only listens does not keep the server from others for long. */
TEST(HostileClient, ThatSaysNothing)
{
	const auto fds = socket_pair();
	Link link(fds[0]);

	say(fds[1], encode(hello_for(1)));
	const Hello hello = greet(link);
	std::ostringstream out, err;
	Fabric fabric;
	const auto from = Clock::now();

	EXPECT_EQ(serve(hello, link, fabric.server(), out, err), exit_failed);
	EXPECT_LT(Clock::now() - from, std::chrono::seconds(20));
	EXPECT_NE(err.str().find("no answer from the peer within 0.5 s"),
		  std::string::npos);
	/* It was told, too. */
	char buf[4096];
	const ssize_t n = recv(fds[1], buf, sizeof(buf), 0);

	ASSERT_GT(n, 0);
	EXPECT_NE(std::string(buf, static_cast<size_t>(n)).find("no answer"),
		  std::string::npos);
	close(fds[1]);
}

TEST(HostileClient, AsksForTooMuch)
{
	Hello h = hello_for(1024);

	h.largest = max_size;
	expect_says(server_hears(encode(h)), -1, "too much memory");
	h = hello_for(1);
	h.list = 5;
	expect_says(server_hears(encode(h)), -1, "what cannot be");
}

TEST(HostileClient, HasOtherQueuePairs)
{
	expect_says(server_hears(encode(hello_for(2)) + encode(address_for(3))),
		    exit_failed, "the peer has 3 queue pairs, not 2");
	expect_says(server_hears(encode(hello_for(2)) + encode(address_for(0))),
		    exit_failed, "the peer has 0 queue pairs, not 2");
}

TEST(HostileClient, IsOutOfStep)
{
	const std::string stream =
		joined() + encode(start_of(Kind::bw, Op::write, 64));
	const auto round = [](uint64_t first, uint32_t count) {
		return encode(Round{.first = first, .count = count});
	};
	const std::string wrong[] = {
		encode(hello_for(2)) + encode(Ready{}),
		joined() + encode(Ready{}),
		joined() + encode(Done{{1, 2}}),
		/* Larger than was agreed upon; not the next run. */
		joined() + encode(start_of(Kind::bw, Op::write, 4097)),
		joined() + encode(Start{.run = 2, .size = 8}),
		joined() + encode(Start{.run = 0, .size = 8}),
		/* Rounds that are too long, or not the next. */
		stream + round(0, 5),
		stream + round(0, max_depth),
		stream + round(1, 1),
		stream + round(0, 2) + round(1, 2),
		stream + round(~uint64_t{0}, 1),
		/* More or fewer queue pairs. */
		stream + encode(Done{{0}}),
		stream + encode(Done{{0, 0, 0}}),
		stream + encode(hello_for(2)),
		stream + encode(Checked{}),
		/* Ping-pong that was not played. */
		joined() + encode(start_of(Kind::lat, Op::write, 8)) +
			encode(Alive{}),
	};

	for (const std::string &bytes : wrong)
		expect_says(server_hears(bytes), exit_failed, "out of step");
	expect_says(server_hears(stream + encode(Done{{1, 1}})), exit_failed,
		    "messages that were not verified");
	expect_says(server_hears(joined() +
				 encode(start_of(Kind::lat, Op::write, 8)) +
				 encode(Done{{1, 1}})),
		    exit_failed, "did not arrive");
}

/* Immediates that are only told of. */
TEST(HostileClient, WhoseMessagesDoNotCome)
{
	const auto o = server_hears(
		joined() + encode(start_of(Kind::bw, Op::write_imm, 8)) +
			encode(Round{.first = 0, .count = 1}),
		false);

	expect_says(o, exit_failed, "no progress for 0.5 s");
}

/* Rounds that say that messages are there: they are not, so they are bad. */
TEST(HostileClient, LiesAboutData)
{
	const auto o = server_hears(joined() +
				    encode(start_of(Kind::bw, Op::write, 8)) +
				    encode(Round{.first = 0, .count = 2}) +
				    encode(Done{{2, 2}}) + encode(Bye{}));

	EXPECT_EQ(o.status, exit_data);
	EXPECT_NE(o.err.find("4 of 4 messages are bad"), std::string::npos)
		<< o.err;
}

TEST(HostileClient, LeavesAnyWhere)
{
	const std::string whole =
		joined() + encode(start_of(Kind::bw, Op::write, 8)) +
		encode(Round{.first = 0, .count = 2}) + encode(Done{{2, 2}});

	for (size_t n = 0; n <= whole.size(); n += 5) {
		const auto o = server_hears(whole.substr(0, n));

		EXPECT_NE(o.status, exit_ok) << n;
		EXPECT_NE(o.err.find("the peer closed the connection"),
			  std::string::npos)
			<< n << ": " << o.err;
	}
}

TEST(HostileServer, IsNone)
{
	const std::string ours = encode(address_for(2));
	const auto failed = [](const std::string &bytes, const char *text) {
		expect_says(client_hears(bytes), exit_failed, text);
	};

	failed("", "the peer closed the connection");
	failed("SSH-2.0-OpenSSH_9.2\r\n", "the peer is not mrcperf");
	failed(encode(address_for(1)), "the peer has 1 queue pairs, not 2");
	failed(encode(Ready{}), "out of step");
	failed(ours + encode(Failed{"I do not want to"}),
	       "the peer failed: I do not want to");
	failed(ours + ours, "out of step");
	failed(ours.substr(0, 40), "the peer closed the connection");
	failed(ours + encode(Ready{}) + encode(Ready{}), "out of step");
	/* Sends what nobody can have asked for in the middle of a run. */
	failed(ours + encode(Ready{}) +
		       encode(start_of(Kind::bw, Op::write, 8)) +
		       encode(Result{}),
	       "");
}
} // namespace mrcperf

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Frames: what is written is read again, and nothing else is. */
#include <array>
#include <chrono>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake.hpp"
#include "frame.hpp"

namespace mrcperf
{
namespace
{
template <typename T> Frame frame_of(const T &message)
{
	const std::string bytes = encode(message);

	return {T::type, bytes.substr(frame_header)};
}

template <typename T> T again(const T &message)
{
	return decode<T>(frame_of(message));
}

Hello good_hello()
{
	Hello h;

	h.seed = 0x0123456789abcdef;
	h.largest = 4096;
	h.qps = 3;
	h.depth = 16;
	h.rx_depth = 32;
	h.signal = 4;
	h.list = 2;
	h.stall_ms = 30000;
	return h;
}

/* A header with these fields. */
std::array<uint8_t, frame_header> header(uint32_t magic, uint16_t version,
					 uint16_t type, uint32_t length)
{
	std::array<uint8_t, frame_header> b{};
	const auto put = [&](size_t at, uint32_t v, size_t n) {
		while (n--) {
			b[at + n] = static_cast<uint8_t>(v);
			v >>= 8;
		}
	};

	put(0, magic, 4);
	put(4, version, 2);
	put(6, type, 2);
	put(8, length, 4);
	return b;
}

void write_all(int fd, const std::string &bytes)
{
	ASSERT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
		  static_cast<ssize_t>(bytes.size()));
}
} // namespace

TEST(Frame, ComesOutAsItWentIn)
{
	Hello h = good_hello();

	h.mtu = 1024;
	h.timeout = 24;
	h.linear = 7;
	h.exponential = 25;
	h.verify = 1;
	h.traffic_class = 255;
	const Hello h2 = again(h);

	EXPECT_EQ(encode(h2), encode(h));
	EXPECT_EQ(h2.seed, 0x0123456789abcdefu);
	EXPECT_EQ(h2.linear, 7);
	EXPECT_NO_THROW(h2.check());

	Address a;

	a.gid[15] = 9;
	a.base = ~uint64_t{0};
	a.rkey = 5;
	a.mtu = 4096;
	a.device = "mrc0";
	a.qps = {{.qpn = 0xffffff, .psn = 1}, {.qpn = 2, .psn = 0xffffff}};
	const Address a2 = again(a);

	EXPECT_EQ(a2.gid[15], 9);
	EXPECT_EQ(a2.device, "mrc0");
	ASSERT_EQ(a2.qps.size(), 2u);
	EXPECT_EQ(a2.qps[1].psn, 0xffffffu);
	EXPECT_EQ(again(Done{{1, 2, 3}}).sent,
		  (std::vector<uint64_t>{1, 2, 3}));
	EXPECT_EQ(again(Start{.run = 4,
			      .test = Kind::lat,
			      .op = Op::write_imm,
			      .size = 9})
			  .test,
		  Kind::lat);
	EXPECT_EQ(again(Failed{"why"}).why, "why");
}

/* On the wire: magic, version, type, length, each with its highest byte first.
 */
TEST(Frame, HasThisHeader)
{
	const std::string bytes = encode(Round{.first = 1, .count = 2});
	const std::string want("MRCP\0\1\0\6\0\0\0\14"
			       "\0\0\0\0\0\0\0\1\0\0\0\2",
			       24);

	EXPECT_EQ(bytes, want);
}

TEST(Frame, HeadersOfOthersAreRefused)
{
	EXPECT_EQ(parse_header(header(frame_magic, 1, 11, 65536).data()).length,
		  65536u);
	EXPECT_THROW(parse_header(header(0, 1, 1, 0).data()), ProtocolError);
	EXPECT_THROW(parse_header(header(0x5043524d, 1, 1, 0).data()),
		     ProtocolError);
	EXPECT_THROW(parse_header(header(frame_magic, 0, 1, 0).data()),
		     ProtocolError);
	EXPECT_THROW(parse_header(header(frame_magic, 2, 1, 0).data()),
		     ProtocolError);
	EXPECT_THROW(parse_header(header(frame_magic, 1, 0, 0).data()),
		     ProtocolError);
	EXPECT_THROW(parse_header(header(frame_magic, 1, 12, 0).data()),
		     ProtocolError);
	EXPECT_THROW(parse_header(header(frame_magic, 1, 1, 65537).data()),
		     ProtocolError);
	EXPECT_THROW(parse_header(header(frame_magic, 1, 1, ~0u).data()),
		     ProtocolError);
}

/* Each frame, cut off anywhere, or with bytes behind it. */
TEST(Frame, MustHaveItsLength)
{
	Address a;

	a.mtu = 256;
	a.device = "device";
	a.qps.resize(3);
	Frame f = frame_of(a);
	const std::string whole = f.payload;

	for (size_t n = 0; n < whole.size(); n++) {
		f.payload = whole.substr(0, n);
		EXPECT_THROW(decode<Address>(f), ProtocolError) << n;
	}
	f.payload = whole + '\0';
	EXPECT_THROW(decode<Address>(f), ProtocolError);
	EXPECT_THROW(decode<Ready>({FrameType::ready, "x"}), ProtocolError);
	EXPECT_THROW(decode<Ready>({FrameType::bye, ""}), ProtocolError);
}

TEST(Frame, ValuesHaveBounds)
{
	const auto refused = [](auto change) {
		Hello h = good_hello();

		change(h);
		EXPECT_THROW(again(h).check(), ProtocolError);
	};

	EXPECT_NO_THROW(again(good_hello()).check());
	refused([](Hello &h) { h.qps = 0; });
	refused([](Hello &h) { h.qps = max_qps + 1; });
	refused([](Hello &h) { h.largest = 0; });
	refused([](Hello &h) { h.largest = max_size + 1; });
	refused([](Hello &h) { h.largest = max_size; });
	refused([](Hello &h) { h.depth = 0; });
	refused([](Hello &h) { h.depth = max_depth + 1; });
	refused([](Hello &h) { h.rx_depth = 0; });
	refused([](Hello &h) { h.rx_depth = max_rx_depth + 1; });
	refused([](Hello &h) { h.signal = 0; });
	refused([](Hello &h) { h.signal = h.depth + 1; });
	refused([](Hello &h) { h.list = 0; });
	refused([](Hello &h) { h.list = h.depth + 1; });
	refused([](Hello &h) { h.rx_depth = h.list - 1; });
	refused([](Hello &h) { h.inline_size = max_inline + 1; });
	refused([](Hello &h) { h.stall_ms = 0; });
	refused([](Hello &h) { h.mtu = 1500; });
	refused([](Hello &h) { h.mtu = 128; });
	refused([](Hello &h) { h.timeout = 25; });
	refused([](Hello &h) { h.linear = 1; });
	refused([](Hello &h) { h.linear = 8, h.exponential = 0; });
	refused([](Hello &h) { h.linear = 0, h.exponential = 26; });
	refused([](Hello &h) { h.verify = 2; });
	EXPECT_THROW(again(Start{.test = static_cast<Kind>(0), .size = 1}),
		     ProtocolError);
	EXPECT_THROW(again(Start{.test = static_cast<Kind>(4), .size = 1}),
		     ProtocolError);
	EXPECT_THROW(again(Start{.op = static_cast<Op>(3), .size = 1}),
		     ProtocolError);
	EXPECT_THROW(again(Round{.first = 0, .count = 0}), ProtocolError);
	Address a;

	a.mtu = 4096;
	a.qps = {{.qpn = 0x1000000, .psn = 0}};
	EXPECT_THROW(again(a), ProtocolError);
}

/* A list that is said to be long costs no memory before it is there. */
TEST(Frame, ListsAreNotBelieved)
{
	EXPECT_THROW(
		decode<Done>({FrameType::done, std::string("\0\0\4\1", 4)}),
		ProtocolError);
	EXPECT_THROW(decode<Done>({FrameType::done,
				   std::string("\xff\xff\xff\xff", 4)}),
		     ProtocolError);
	EXPECT_THROW(
		decode<Done>({FrameType::done, std::string("\0\0\4\0", 4)}),
		ProtocolError);
}

TEST(Frame, TextIsMadeHarmless)
{
	EXPECT_EQ(again(Failed{"a\x1b[2J\nb\x7f\xff"}).why, "a?[2J?b??");
	EXPECT_EQ(again(Failed{std::string(5000, 'x')}).why.size(), max_text);
	EXPECT_THROW(decode<Failed>({FrameType::failed,
				     std::string("\xff\xff", 2) +
					     std::string(65535, 'x')}),
		     ProtocolError);
}

/* Whatever bytes come, they are a frame or an error, never more. */
TEST(Frame, SurvivesAnyBytes)
{
	std::mt19937 random(3);
	Address a;

	a.mtu = 512;
	a.device = "mrc0";
	a.qps.resize(2);
	const std::string good = encode(a) + encode(good_hello());

	for (int i = 0; i < 20000; i++) {
		std::string bytes = good.substr(random() % 40);

		for (int flips = static_cast<int>(random() % 6); flips--;)
			bytes[random() % bytes.size()] ^= 1 << random() % 8;
		try {
			Frame f{FrameType::address, bytes};

			decode<Address>(f);
		} catch (const ProtocolError &) {
		}
		try {
			decode<Hello>({FrameType::hello, bytes});
		} catch (const ProtocolError &) {
		}
	}
}

TEST(Link, PutsPiecesTogether)
{
	const auto fds = socket_pair();
	Link link(fds[0]);
	const std::string bytes = encode(Failed{"x"}) + encode(Ready{});
	const std::string two = encode(Done{{7}}) + encode(Ready{});

	for (size_t i = 0; i < two.size(); i++) {
		EXPECT_EQ(link.pending(), i >= encode(Done{{7}}).size()) << i;
		write_all(fds[1], {two[i]});
	}
	EXPECT_EQ(link.expect<Done>().sent, std::vector<uint64_t>{7});
	EXPECT_TRUE(link.pending());
	link.expect<Ready>();
	EXPECT_FALSE(link.pending());
	write_all(fds[1], bytes);
	EXPECT_THROW(link.next(), PeerFailed);
	close(fds[1]);
}

/* What was said before the connection ended is still heard. */
TEST(Link, EndOfTheConnection)
{
	const auto fds = socket_pair();
	Link link(fds[0]);

	write_all(fds[1], encode(Ready{}) + encode(Ready{}).substr(0, 5));
	close(fds[1]);
	link.expect<Ready>();
	EXPECT_THROW(link.next(), RunError);
	EXPECT_THROW(link.send(Done{{1}}), RunError);
}

TEST(Link, PatienceEnds)
{
	const auto fds = socket_pair();
	Link link(fds[0]);
	const auto from = Clock::now();

	link.set_patience(Seconds(0.05));
	EXPECT_THROW(link.next(), RunError);
	EXPECT_GE(Clock::now() - from, std::chrono::milliseconds(50));
	/* Who does not read is not waited for either. */
	EXPECT_THROW(for (;;) link.send(Failed{std::string(1000, 'x')}),
		     RunError);
	close(fds[1]);
}

/* What was sent to it meanwhile, and nobody reads, does not reset it. */
TEST(Link, TheLastWordIsHeard)
{
	const auto fds = socket_pair();
	const std::string said = encode(Failed{"enough"});
	std::string heard;

	write_all(fds[1], "GET / HTTP/1.1\r\n");
	std::jthread teller([&] {
		Link link(fds[0]);

		link.send_last(Failed{"enough"});
	});
	for (;;) {
		std::array<char, 64> buf{};
		const ssize_t n = read(fds[1], buf.data(), buf.size());

		ASSERT_GE(n, 0) << "connection reset";
		heard.append(buf.data(), static_cast<size_t>(n));
		if (!n)
			break;
	}
	EXPECT_EQ(heard, said);
	close(fds[1]);
}

TEST(Link, ReasonOfThePeerCountsMoreThanItsEnd)
{
	const auto fds = socket_pair();
	Link link(fds[0]);

	write_all(fds[1], encode(Failed{"no device"}));
	close(fds[1]);
	try {
		link.send(Ready{});
		link.next();
		ADD_FAILURE();
	} catch (const PeerFailed &e) {
		EXPECT_STREQ(e.what(), "the peer failed: no device");
	}
}

TEST(Listener, ServesBothFamilies)
{
	for (const char *address : {"127.0.0.1", "::1"}) {
		std::string who;
		std::unique_ptr<Listener> listener;
		uint16_t port = 20000 + getpid() % 20000;

		/* Somebody else may have the port. */
		for (int tries = 0; !listener && tries < 100; tries++)
			try {
				listener =
					std::make_unique<Listener>("", ++port);
			} catch (const RunError &) {
			}
		ASSERT_TRUE(listener);
		std::unique_ptr<Link> mine;

		try {
			mine = std::make_unique<Link>(
				connect_to(address, port, Seconds(1)));
		} catch (const RunError &) {
			/* A machine without IPv6 has one family to show. */
			ASSERT_STREQ(address, "::1");
			GTEST_SKIP() << "no IPv6 here";
		}
		Link theirs = listener->accept(who);

		EXPECT_EQ(who, address);
		mine->send(Ready{});
		theirs.expect<Ready>();
	}
}

/* Somebody who has it in one family would get half of the clients. */
TEST(Listener, WantsThePortInBothFamilies)
{
	const int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	sockaddr_in a{};
	socklen_t len = sizeof(a);

	a.sin_family = AF_INET;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ASSERT_EQ(bind(other, reinterpret_cast<sockaddr *>(&a), sizeof(a)), 0);
	ASSERT_EQ(listen(other, 1), 0);
	ASSERT_EQ(getsockname(other, reinterpret_cast<sockaddr *>(&a), &len),
		  0);
	EXPECT_THROW(Listener("", ntohs(a.sin_port)), RunError);
	close(other);
}

/* Nobody is asked for a name like these, and nothing listens at port 1. */
TEST(Connect, NobodyThere)
{
	try {
		connect_to("127.0.0.1", 1, Seconds(0.1));
		ADD_FAILURE();
	} catch (const RunError &e) {
		EXPECT_NE(std::string(e.what()).find("127.0.0.1 port 1: "),
			  std::string::npos);
	}
	EXPECT_THROW(connect_to("::1%nowhere", 1, Seconds(0.1)), RunError);
}
} // namespace mrcperf

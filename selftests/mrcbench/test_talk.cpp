// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the sides say to each other, and what a hostile one may say. */
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "error.hpp"
#include "talk.hpp"

namespace mrcbench
{
namespace
{
/* Seconds: the limit of a whole test is no longer. */
constexpr double patience = 60;

struct Ends {
	Ends() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0); }
	Ends(const Ends &) = delete;
	Ends &operator=(const Ends &) = delete;
	~Ends()
	{
		if (fd[1] >= 0)
			close(fd[1]);
	}
	void say(const std::string &bytes) const
	{
		EXPECT_EQ(write(fd[1], bytes.data(), bytes.size()),
			  static_cast<ssize_t>(bytes.size()));
	}
	int fd[2];
};

std::string framed(const std::string &text)
{
	const size_t n = text.size();

	return {std::string{static_cast<char>(n >> 24),
			    static_cast<char>(n >> 16),
			    static_cast<char>(n >> 8), static_cast<char>(n)} +
		text};
}

std::string refusal(const std::string &bytes)
{
	Ends ends;
	const Talk talk(ends.fd[0]);

	ends.say(bytes);
	close(ends.fd[1]);
	ends.fd[1] = -1;
	try {
		talk.receive(patience);
	} catch (const mrcperf::RunError &e) {
		return e.what();
	}
	return "accepted";
}
} // namespace

TEST(Talk, BothWays)
{
	Ends ends;
	const Talk a(ends.fd[0]);
	const Talk b(std::exchange(ends.fd[1], -1));

	/* More than a socket holds. */
	std::thread sender(
		[&a] { a.send({{"text", std::string(900000, 'x')}}); });

	EXPECT_EQ(text_in(b.receive(patience), "text").size(), 900000u);
	sender.join();
	b.send({{"n", 7u}});
	EXPECT_EQ(number_in(a.receive(patience), "n", 7), 7u);
}

TEST(Talk, HostilePeers)
{
	EXPECT_NE(refusal(std::string("\xff\xff\xff\xff", 4)).find("too long"),
		  std::string::npos);
	EXPECT_NE(refusal(framed("{")).find("no JSON object"),
		  std::string::npos);
	EXPECT_NE(refusal(framed("[1]")).find("no JSON object"),
		  std::string::npos);
	EXPECT_NE(refusal(framed("")).find("no JSON object"),
		  std::string::npos);
	EXPECT_NE(refusal("\1").find("closed"), std::string::npos);
	EXPECT_NE(refusal(framed("{}").substr(0, 5)).find("closed"),
		  std::string::npos);
	EXPECT_NE(refusal(framed(R"({"error":"no device"})"))
			  .find("the peer failed: no device"),
		  std::string::npos);
}

TEST(Talk, ValuesOutOfBounds)
{
	const Message m = {{"n", 5u}, {"neg", -1}, {"real", 1.5}, {"s", "x"}};

	EXPECT_EQ(number_in(m, "n", 5), 5u);
	EXPECT_THROW(number_in(m, "n", 4), mrcperf::ProtocolError);
	EXPECT_THROW(number_in(m, "neg", 100), mrcperf::ProtocolError);
	EXPECT_THROW(number_in(m, "real", 100), mrcperf::ProtocolError);
	EXPECT_THROW(number_in(m, "none", 100), mrcperf::ProtocolError);
	EXPECT_THROW(text_in(m, "n"), mrcperf::ProtocolError);
	EXPECT_EQ(text_in(m, "s"), "x");
}
} // namespace mrcbench

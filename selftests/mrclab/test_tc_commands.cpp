// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The queues of links: to the letter, and what cannot be. */
#include "tc_commands.hpp"

#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "error.hpp"
#include "fabric_file.hpp"
#include "golden.hpp"
#include "random_fabric.hpp"
#include "units.hpp"

namespace mrclab
{
namespace
{
/* From "KEY VALUE KEY VALUE ...". */
LinkProps props(const std::string &words)
{
	std::istringstream in(words);
	std::string key, value;
	LinkProps p;

	while (in >> key >> value)
		set_link_prop(p, key, value);
	return p;
}

std::string refusal(const std::string &words)
{
	try {
		queues_of("p1", props(words), false);
	} catch (const UsageError &e) {
		return e.what();
	}
	return "";
}

std::string text(const Queues &q)
{
	std::string s = q.commands;

	if (q.port)
		s += fmt::format("# ecn_min {} ecn_max {} trim_bytes {} "
				 "trim_len {} data_limit {}\n",
				 q.port->ecn_min, q.port->ecn_max,
				 q.port->trim_bytes, q.port->trim_len,
				 q.port->data_limit);
	return s + q.port_command;
}
} // namespace

TEST(TcCommands, AreTheGoldenOnes)
{
	const char *everything = "rate 10mbit burst 20k delay 1ms jitter 1us "
				 "loss 1% corrupt 2% duplicate 3% reorder 4% "
				 "queue 100k mark 1k..2k trim 3k trim_len 150";
	const char *all[] = {
		"",
		"rate none",
		"delay 0 jitter 0 loss 0 trim 0 mark none",
		"rate 1kbit",
		"rate 100mbit",
		"rate 1gbit",
		"rate 1tbit",
		"rate 10mbit burst 20k",
		"rate 10mbit queue 256k",
		"delay 10us",
		"delay 1ms jitter 200us",
		"jitter 1ns",
		"loss 0.1%",
		"corrupt 1 duplicate 2 loss 33.3333%",
		"loss 0.000001%",
		"delay 5ms reorder 25%",
		"rate 40mbit delay 20us loss 1%",
		"rate 40mbit mark 64k",
		"rate 40mbit mark 64k..128k",
		"rate 40mbit mark all queue 1m",
		"rate 40mbit trim 256k",
		"rate 40mbit trim 256k trim_len 200",
		"rate 40mbit mark 60000..200000 trim 256k queue 512k",
		everything,
		/* Of no use by themselves. */
		"queue 64k",
		"burst 64k",
		"trim_len 100",
		"rate 1mbit trim_len 100",
	};
	std::string s = "# SPDX-License-Identifier: GPL-2.0 OR "
			"Linux-OpenIB\n";

	for (const char *words : all) {
		const bool lasts = std::string(words).find("trim 256k") !=
				   std::string::npos;

		s += fmt::format("# {}\n{}", *words ? words : "(nothing)",
				 text(queues_of("p1", props(words), false)));
		if (lasts)
			s += fmt::format(
				"# {}: last hop\n{}", words,
				text(queues_of("h2", props(words), true)));
	}
	golden("tc.txt", s);
}

TEST(TcCommands, RefuseMarksWithoutARate)
{
	const std::string why = "marking and trimming need a rate: without "
				"one no queue builds up";

	EXPECT_EQ(refusal("mark 64k"), why);
	EXPECT_EQ(refusal("mark all"), why);
	EXPECT_EQ(refusal("trim 64k"), why);
	EXPECT_EQ(refusal("trim 64k rate none"), why);
	EXPECT_EQ(refusal("mark none trim 0"), "");
}

TEST(TcCommands, RefuseReorderingWithoutADelay)
{
	const std::string why =
		"reordering needs a delay, which some packets skip";

	EXPECT_EQ(refusal("reorder 1%"), why);
	EXPECT_EQ(refusal("reorder 1% delay 0"), why);
	EXPECT_EQ(refusal("reorder 1% jitter 1ms"), why);
	EXPECT_EQ(refusal("reorder 0"), "");
}

TEST(TcCommands, RefuseDelaysThatTcDoesNotTake)
{
	const std::string why = "delay and jitter are at most 274s";

	EXPECT_EQ(refusal("delay 274s jitter 274s"), "");
	EXPECT_EQ(refusal("delay 274.001s"), why);
	EXPECT_EQ(refusal("delay 1ms jitter 275s"), why);
}

/* tc of iproute2 6.1 knows no unit below microseconds. */
TEST(TcCommands, HaveDelaysThatTcTakes)
{
	Random r(3);

	for (int i = 0; i < 1000; i++) {
		LinkProps p;

		p.delay = draw(r, 1, 274'000'000'000);

		const std::string s = queues_of("p1", p, false).commands;
		const std::string us = s.substr(s.find(" delay ") + 7);

		EXPECT_EQ(us.substr(us.find_first_not_of("0123456789.")),
			  "us\n");
		EXPECT_EQ(parse_time(us.substr(0, us.size() - 1)), *p.delay);
	}
}

TEST(TcCommands, RefuseRatesWithoutRoom)
{
	const std::string why =
		"a rate needs a burst and a queue of more than 0 bytes";

	EXPECT_EQ(refusal("rate 1mbit burst 0"), why);
	EXPECT_EQ(refusal("rate 1mbit queue 0"), why);
	EXPECT_EQ(refusal("burst 0 queue 0"), "");
	EXPECT_EQ(refusal("rate none burst 0 queue 0"), "");
}

/* A packet that does not fit into the bucket never leaves. */
TEST(TcCommands, RefuseRoomForLessThanAPacket)
{
	const auto check = [](const std::string &words, uint32_t mtu) {
		try {
			check_room(props(words), mtu);
		} catch (const UsageError &e) {
			return std::string(e.what());
		}
		return std::string();
	};

	EXPECT_EQ(check("rate 1mbit burst 1513", 1500),
		  "a burst of 1513 bytes has no room for a packet of 1514 "
		  "bytes");
	EXPECT_EQ(check("rate 1mbit queue 1k", 1500),
		  "a queue of 1024 bytes has no room for a packet of 1514 "
		  "bytes");
	EXPECT_EQ(check("rate 1mbit burst 1514 queue 1514", 1500), "");
	EXPECT_NE(check("rate 1mbit burst 1514 queue 1514", 1501), "");
	EXPECT_EQ(check("rate 1mbit", 9216), "");
	EXPECT_EQ(check("burst 1 queue 1", 9216), "");
	EXPECT_EQ(check("rate none burst 1 queue 1", 9216), "");
}

/* tc(8) reads a burst into 32 bits. */
TEST(TcCommands, HaveBurstsThatTcTakes)
{
	Random r(1);

	for (int i = 0; i < 1000; i++) {
		LinkProps p;

		p.rate = i ? draw(r, 1000, 1000000000000) : 1000000000000;

		const std::string s = queues_of("p1", p, false).commands;
		const std::size_t at = s.find(" burst ") + 7;
		const uint64_t burst = std::stoull(s.substr(at));

		ASSERT_LE(burst, UINT32_MAX) << s;
		ASSERT_GE(burst, 9216u + 14) << s;
	}
}

/* Each queue is in the one before it, and the names are those in order. */
TEST(TcCommands, FormAChain)
{
	Random r(2);

	for (int i = 0; i < 500; i++) {
		LinkProps p;

		if (draw(r, 0, 1))
			p.rate = 1000000;
		if (draw(r, 0, 1))
			p.delay = 1000;
		if (draw(r, 0, 1))
			p.loss = 0.1;
		if (p.rate && draw(r, 0, 1))
			p.trim = 1000;

		const Queues q = queues_of("p1", p, false);
		std::istringstream lines(q.commands + q.port_command);
		std::string line, at = "root";
		int n = 0;

		while (std::getline(lines, line)) {
			EXPECT_EQ(line.find("qdisc add dev p1 " + at +
					    " handle "),
				  0u)
				<< line;
			const std::string handle =
				line.substr(line.find("handle ") + 7, 2);

			at = "parent " + handle + "1";
			n++;
		}
		EXPECT_EQ(n, (p.delay || p.loss) + !!p.rate + !!p.trim);
		EXPECT_EQ(q.port.has_value(), !q.port_command.empty());
	}
}
} // namespace mrclab

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Whole sessions: every test, and data that is wrong in every way. */
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "error.hpp"
#include "fake.hpp"
#include "frame.hpp"
#include "plan.hpp"

namespace mrcperf
{
namespace
{
using Json = nlohmann::json;

/* The report of a session in which all is well. */
Json good(const std::string &line, Fabric &fabric)
{
	const SessionResult r = run_session(line + " -j", fabric);

	EXPECT_EQ(r.client.status, exit_ok) << line << ": " << r.client.err;
	EXPECT_EQ(r.server.status, exit_ok) << line << ": " << r.server.err;
	EXPECT_EQ(r.client.err, "") << line;
	EXPECT_EQ(r.server.err, "") << line;
	return Json::parse(r.report);
}

Json good(const std::string &line)
{
	Fabric fabric;

	return good(line, fabric);
}

/* A stream's message, not what tells how many were taken. */
bool is_message(const Passing &p, uint64_t size)
{
	return p.direction == Direction::to_server && p.request.length == size;
}

/* @changes happens to the tenth message of the client. */
SessionResult tenth(const std::string &line, uint64_t size,
		    const std::function<Fate(const Passing &)> &changes)
{
	Fabric fabric;
	int n = 0;

	fabric.meddle = [&](const Passing &p) {
		return is_message(p, size) && ++n == 10 ? changes(p)
							: Fate::arrives;
	};
	return run_session(line, fabric);
}

void expect_bad(const SessionResult &r, const std::string &says)
{
	EXPECT_EQ(r.client.status, exit_data) << r.client.err;
	EXPECT_EQ(r.server.status, exit_data) << r.server.err;
	EXPECT_NE(r.client.err.find("1 of "), std::string::npos)
		<< r.client.err;
	EXPECT_NE(r.client.err.find(says), std::string::npos) << r.client.err;
	EXPECT_NE(r.server.err.find(says), std::string::npos) << r.server.err;
}
} // namespace

/* Every test, with one and with several queue pairs, verified or not. */
TEST(Session, CountsAreExact)
{
	for (const char *verify : {"", " --verify"})
		for (const char *events : {"", " -e"})
			for (uint64_t qps : {1u, 3u}) {
				Fabric fabric;
				const Json j =
					good("-T all --op write,write_imm -s "
					     "1,8,4097 -n 50 -w 3 -t 8 -q " +
						     std::to_string(qps) +
						     verify + events,
					     fabric);

				ASSERT_EQ(j["results"].size(), 3u * 2 * 3);
				for (const Json &p : j["results"]) {
					const Json &run = p["runs"][0];
					const bool both = p["test"] == "lat";

					EXPECT_EQ(run["messages"], 50 * qps);
					EXPECT_EQ(run["bytes"],
						  p["size"].get<uint64_t>() *
							  50 * qps);
					EXPECT_EQ(run["checked"],
						  *verify ? 53 * qps *
								    (1 + both)
							  : 0);
					EXPECT_EQ(run["bad"], 0);
					EXPECT_GT(run["seconds"], 0);
					EXPECT_EQ(run.contains("latency_us"),
						  both);
				}
				EXPECT_EQ(fabric.sleeps > 0, *events != 0);
			}
}

/* No combination of these waits for what does not come. */
TEST(Session, QueuesAreUsedAndNotOverrun)
{
	for (const char *line :
	     {"-t 1 -r 1", "-t 1 -r 2", "-t 2 -Q 2 -l 2 -r 2", "-t 3 -Q 3 -l 2",
	      "-t 16 -Q 16 -l 16", "-t 16 -Q 1 -l 5 -r 7", "-t 16 -l 16 -r 16",
	      "-t 5 -Q 5 -l 1 -r 100"})
		for (const char *verify : {"", " --verify"}) {
			Fabric fabric;
			const Json j =
				good(std::string("-T all --op write,write_imm "
						 "-s 64 -n 101 -w 7 -q 2 -R 2 "
						 "--stall 10 ") +
					     line + verify,
				     fabric);

			EXPECT_EQ(j["totals"]["messages"], 101 * 2 * 6 * 2);
			/* One more is there to tell what was taken. */
			EXPECT_LE(fabric.longest_queue,
				  j["parameters"]["tx_depth"].get<uint64_t>() +
					  1);
		}
}

TEST(Session, ForSoLong)
{
	const Json j = good("-T all --op write,write_imm -s 8 -D 0.05 -q 2 "
			    "--verify -t 8");

	for (const Json &p : j["results"]) {
		const Json &run = p["runs"][0];

		EXPECT_GT(run["messages"], 0);
		EXPECT_EQ(run["bytes"], run["messages"].get<uint64_t>() * 8);
	}
	EXPECT_EQ(j["parameters"]["duration"], 0.05);
	EXPECT_TRUE(j["parameters"]["iterations"].is_null());
	EXPECT_GT(good("-D 0.05 -s 8 -w 0")["totals"]["messages"], 0);
	EXPECT_GT(good("-D 0.05 -s 8 --op write_imm -Q 7 -l 3")["totals"]
							       ["messages"],
		  0);
}

TEST(Session, RepetitionsTakeTurns)
{
	std::vector<uint64_t> sizes;
	Fabric fabric;

	fabric.meddle = [&](const Passing &p) {
		if (sizes.empty() || sizes.back() != p.request.length)
			sizes.push_back(p.request.length);
		return Fate::arrives;
	};
	const Json j = good("-s 8,16 -R 3 -n 5", fabric);

	EXPECT_EQ(sizes, (std::vector<uint64_t>{8, 16, 8, 16, 8, 16}));
	ASSERT_EQ(j["results"].size(), 2u);
	EXPECT_EQ(j["results"][1]["runs"].size(), 3u);
	EXPECT_EQ(j["results"][1]["runs"][2]["repetition"], 3);
}

/* Messages larger than a slot's share of memory, and than a packet. */
TEST(Session, LargeMessages)
{
	const Json j = good("-T bw,lat --op write,write_imm -s 3M,1 -n 3 -w 1 "
			    "--verify -q 2");

	EXPECT_EQ(j["results"][0]["runs"][0]["bytes"], 3 * 2 * (3u << 20));
	EXPECT_EQ(j["totals"]["bad"], 0);
}

TEST(Session, SmallestMtuCounts)
{
	Fabric fabric;

	fabric.server_mtu = 1024;
	EXPECT_EQ(good("-T lat -s 5000 -n 20 --verify",
		       fabric)["parameters"]["mtu"],
		  1024);
}

TEST(Session, InlineIsUpToItsSize)
{
	uint64_t inlined = 0, others = 0;
	Fabric fabric;

	fabric.meddle = [&](const Passing &p) {
		(p.request.inlined ? inlined : others)++;
		return Fate::arrives;
	};
	good("-s 63,64,65 -I 64 -n 10 -w 0", fabric);
	EXPECT_EQ(inlined, 20u);
	EXPECT_EQ(others, 10u);
}

TEST(Bad, ByteInAStream)
{
	for (const char *op : {"write", "write_imm"}) {
		const auto r = tenth(
			std::string("-s 100 -n 20 --verify -t 4 --op ") + op,
			100, [](const Passing &p) {
				p.target[57] ^= 0x10;
				return Fate::arrives;
			});

		expect_bad(r, "message 9 of queue pair 0: byte 57 of 100");
	}
}

/*
 * Keys are random: one message in 256 begins like the one that was there, and
 * the byte that is told of is the first that differs.
 */
TEST(Bad, MessageThatDoesNotArrive)
{
	std::ptrdiff_t differs = -1;
	const auto r = tenth(
		"-s 100 -n 20 --verify -t 4", 100, [&](const Passing &p) {
			differs = std::ranges::mismatch(p.target, p.before).in1 -
				  p.target.begin();
			return Fate::lost;
		});

	EXPECT_LT(differs, 100);
	expect_bad(r, fmt::format("message 9 of queue pair 0: byte {} of 100",
				  differs));
}

TEST(Bad, ByteBehindAMessage)
{
	expect_bad(tenth("-s 100 -n 20 --verify -t 4", 100,
			 [](const Passing &p) {
				 p.target[102] = 0;
				 return Fate::arrives;
			 }),
		   "message 9 of queue pair 0: byte 2 behind it");
}

/* Immediates and lengths are looked at in any case. */
TEST(Bad, Immediate)
{
	for (const char *verify : {"", " --verify"}) {
		const auto r = tenth(
			std::string("-s 100 -n 20 --op write_imm") + verify,
			100, [](const Passing &p) {
				p.completion.imm ^= 1;
				return Fate::arrives;
			});

		expect_bad(r, "message 9 of queue pair 0 has immediate 8");
	}
}

TEST(Bad, Length)
{
	expect_bad(tenth("-s 100 -n 20 --op write_imm", 100,
			 [](const Passing &p) {
				 p.completion.length--;
				 return Fate::arrives;
			 }),
		   "message 9 of queue pair 0 has 99 bytes, not 100");
}

TEST(Bad, PingAndItsImmediate)
{
	expect_bad(tenth("-T lat -s 100 -n 20 --verify", 100,
			 [](const Passing &p) {
				 p.target[57] ^= 1;
				 return Fate::arrives;
			 }),
		   "message 9 of queue pair 0: byte 57 of 100");
	expect_bad(tenth("-T lat -s 100 -n 20 --op write_imm", 100,
			 [](const Passing &p) {
				 p.completion.imm = 77;
				 return Fate::arrives;
			 }),
		   "message 9 of queue pair 0 has immediate 77");
}

/* What the client gets it counts itself. */
TEST(Bad, Pong)
{
	for (const char *op : {"write", "write_imm"}) {
		Fabric fabric;
		int n = 0;

		fabric.meddle = [&](const Passing &p) {
			if (p.direction == Direction::to_client && ++n % 5 == 0)
				p.target[8] ^= 1;
			return Fate::arrives;
		};
		const auto r = run_session(
			std::string("-T lat -s 100 -n 20 -w 0 --verify -j "
				    "--op ") +
				op,
			fabric);

		EXPECT_EQ(r.client.status, exit_data);
		EXPECT_EQ(r.server.status, exit_ok);
		EXPECT_NE(r.client.err.find("4 of 40 messages are bad"),
			  std::string::npos)
			<< r.client.err;
		EXPECT_NE(r.client.err.find("here: message 4 of queue pair 0"),
			  std::string::npos)
			<< r.client.err;
		const Json j = Json::parse(r.report);

		EXPECT_EQ(j["status"], "bad data");
		EXPECT_EQ(j["results"][0]["runs"][0]["bad"], 4);
	}
}

/* Each of them is counted, and the rest of the session goes on. */
TEST(Bad, AllAreCounted)
{
	Fabric fabric;
	uint64_t n = 0;

	fabric.meddle = [&](const Passing &p) {
		if (p.request.length == 64 && ++n % 3 == 0)
			p.target[0] ^= 1;
		return Fate::arrives;
	};
	const auto r = run_session("-s 64,32 -n 90 -w 0 -q 2 -t 16 --verify -j",
				   fabric);
	const Json j = Json::parse(r.report);

	EXPECT_EQ(r.client.status, exit_data);
	EXPECT_EQ(j["results"][0]["runs"][0]["bad"], 60);
	EXPECT_EQ(j["results"][1]["runs"][0]["bad"], 0);
	EXPECT_EQ(j["results"][1]["runs"][0]["checked"], 180);
	EXPECT_TRUE(j["error"].is_null());
}

/* Without --verify bytes are not looked at. */
TEST(Bad, IsNotNoticedUnverified)
{
	const auto r = tenth("-s 100 -n 20", 100, [](const Passing &p) {
		p.target[57] ^= 1;
		return Fate::arrives;
	});

	EXPECT_EQ(r.client.status, exit_ok);
}

TEST(Failure, IsToldToThePeer)
{
	const auto r = tenth("-s 100 -n 20 -j", 100,
			     [](const Passing &) { return Fate::error; });
	const Json j = Json::parse(r.report);

	EXPECT_EQ(r.client.status, exit_failed);
	EXPECT_EQ(r.server.status, exit_failed);
	EXPECT_EQ(r.client.err, "mrcperf: transport retry counter exceeded\n");
	EXPECT_EQ(r.server.err, "mrcperf: the peer failed: transport retry "
				"counter exceeded\n");
	EXPECT_EQ(j["status"], "failed");
	EXPECT_EQ(j["error"], "transport retry counter exceeded");
	EXPECT_EQ(j["results"].size(), 0u);
}

/* The points that were complete are in the report, with their figures. */
TEST(Failure, LeavesWhatWasComplete)
{
	Fabric fabric;

	fabric.meddle = [](const Passing &p) {
		return p.request.length == 16 ? Fate::error : Fate::arrives;
	};
	const auto r = run_session("-s 8,16 -n 20 -j", fabric);
	const Json j = Json::parse(r.report);

	EXPECT_EQ(r.client.status, exit_failed);
	ASSERT_EQ(j["results"].size(), 1u);
	EXPECT_EQ(j["results"][0]["size"], 8);
}

TEST(Failure, OfTheServer)
{
	Fabric fabric;

	fabric.server_cannot = "mrc_create_qp: Cannot allocate memory";
	const auto r = run_session("-s 8", fabric);

	EXPECT_EQ(r.client.status, exit_failed);
	EXPECT_EQ(r.server.status, exit_failed);
	EXPECT_EQ(r.client.err, "mrcperf: the peer failed: mrc_create_qp: "
				"Cannot allocate memory\n");
}

TEST(Failure, OfAPong)
{
	Fabric fabric;

	fabric.meddle = [](const Passing &p) {
		return p.direction == Direction::to_client ? Fate::error
							   : Fate::arrives;
	};
	const auto r = run_session("-T lat -s 8", fabric);

	EXPECT_EQ(r.client.status, exit_failed);
	EXPECT_EQ(r.server.status, exit_failed);
	EXPECT_NE(r.client.err.find("the peer failed: transport retry"),
		  std::string::npos);
}

/*
 * A message that is lost without an error: both sides stop waiting. Each other's
 * frames before that they await as patiently, so that this must not be short.
 */
TEST(Failure, Stall)
{
	Fabric fabric;

	fabric.meddle = [](const Passing &p) {
		return p.direction == Direction::to_client ? Fate::lost
							   : Fate::arrives;
	};
	const auto r = run_session("-T lat -s 8 --stall 2", fabric);

	EXPECT_EQ(r.client.status, exit_failed);
	EXPECT_EQ(r.server.status, exit_failed);
	EXPECT_NE((r.client.err + r.server.err).find("no progress for 2 s"),
		  std::string::npos)
		<< r.client.err << r.server.err;
}

/* A peer that claims to have taken what was never sent. */
TEST(Failure, CreditsThatCannotBe)
{
	Fabric fabric;

	fabric.meddle = [](const Passing &p) {
		if (p.direction == Direction::to_client)
			p.target[5] = 1;
		return Fate::arrives;
	};
	const auto r =
		run_session("-s 100 -n 2000 --op write_imm -t 8", fabric);

	EXPECT_EQ(r.client.status, exit_failed);
	EXPECT_NE(r.client.err.find("took immediates that were not sent"),
		  std::string::npos)
		<< r.client.err;
}
} // namespace mrcperf

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Schedules of applications: when their operations start. */
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "fabrics.hpp"
#include "goal_file.hpp"
#include "scenario.hpp"

namespace mrcsim
{
namespace
{
const std::string goal_file = "s.goal";

/* The flows of a schedule after a run, in the order of @t. */
std::vector<FlowState> after_goal(const Traffic &t, u32 threads = 1)
{
	const Shape s = plain_clos(2, 2, 2, 2);
	Simulator sim(s, {}, t, {}, threads);

	finish(sim);
	EXPECT_EQ(sim.check(), "");
	EXPECT_EQ(sim.totals().finished, t.flows.size());
	return sim.flows();
}

std::vector<FlowState> run_goal(const std::string &text)
{
	return after_goal(parse_goal(text, goal_file, 4));
}

/* The flow from @src to @dst. */
std::size_t flow_between(const Traffic &t, u32 src, u32 dst)
{
	const auto f = std::find_if(
		t.flows.begin(), t.flows.end(),
		[&](const Flow &g) { return g.src == src && g.dst == dst; });

	return static_cast<std::size_t>(f - t.flows.begin());
}

TEST(Goal, answerStartsWhenTheMessageIsThere)
{
	const Traffic t = parse_goal("num_ranks 2 # two hosts\n"
				     "rank 0 {\n"
				     "l1: send 100000b to 1 tag 7 cpu 0 nic 0\n"
				     "l2: recv 8b from 1 tag 8\n"
				     "}\n"
				     "rank 1 { // the other one\n"
				     "a: recv 100000b from 0 tag 7\n"
				     "b: send 8b to 0 tag 8\n"
				     "b requires a\n"
				     "}\n",
				     goal_file, 4);
	const std::vector<FlowState> f = after_goal(t);

	EXPECT_EQ(t.connections, 2U);
	EXPECT_EQ(f[flow_between(t, 0, 1)].began, 0U);
	EXPECT_EQ(f[flow_between(t, 1, 0)].began,
		  f[flow_between(t, 0, 1)].received);
}

TEST(Goal, messagesAfterASendWaitForItsEnd)
{
	const std::vector<FlowState> f =
		run_goal("num_ranks 2\n"
			 "rank 0 {\n"
			 "l1: send 100000b to 1 tag 1\n"
			 "l2: send 10b to 1 tag 2\n"
			 "l2 requires l1\n"
			 "l3: send 20b to 1 tag 3\n"
			 "l3 irequires l1\n"
			 "}\n"
			 "rank 1 {\n"
			 "recv 100000b from 0 tag 1\n"
			 "recv 10b from 0 tag 2\n"
			 "recv 20b from 0 tag 3\n"
			 "}\n");

	EXPECT_EQ(f[1].began, f[0].ended);
	EXPECT_EQ(f[2].began, 0U);
}

/* Two calculations of 5 us on one processor, and one on another. */
TEST(Goal, calculationsOfAProcessorFollowEachOther)
{
	const std::vector<FlowState> f = run_goal("num_ranks 2\n"
						  "rank 0 {\n"
						  "c1: calc 5000\n"
						  "c2: calc 5000 cpu 0\n"
						  "c3: calc 5000 cpu 1\n"
						  "s1: send 1b to 1 tag 1\n"
						  "s2: send 2b to 1 tag 2\n"
						  "s3: send 3b to 1 tag 3\n"
						  "s1 requires c1\n"
						  "s2 requires c2\n"
						  "s3 requires c3\n"
						  "}\n"
						  "rank 1 {\n"
						  "recv 1b from 0 tag 1\n"
						  "recv 2b from 0 tag 2\n"
						  "recv 3b from 0 tag 3\n"
						  "}\n");

	EXPECT_EQ(f[0].began, 5 * us);
	EXPECT_EQ(f[1].began, 10 * us);
	EXPECT_EQ(f[2].began, 5 * us);
}

/* A start may need an end, a start and a message; a calculation of 0 ns ends
 * at once. */
TEST(Goal, allThatIsRequiredIsWaitedFor)
{
	const Traffic t = parse_goal("num_ranks 3\n"
				     "rank 0 {\n"
				     "c1: calc 3000\n"
				     "c2: calc 0 cpu 1\n"
				     "r: recv 50000b from 2\n"
				     "s: send 9b to 1\n"
				     "s requires c1\n"
				     "s irequires c2\n"
				     "s requires r\n"
				     "}\n"
				     "rank 1 {\nrecv 9b from 0\n}\n"
				     "rank 2 {\nsend 50000b to 0\n}\n",
				     goal_file, 4);
	const std::vector<FlowState> f = after_goal(t);

	EXPECT_EQ(f[flow_between(t, 0, 1)].began,
		  f[flow_between(t, 2, 0)].received);
}

TEST(Goal, equalTagsMatchInOrder)
{
	const Traffic t = parse_goal("num_ranks 2\n"
				     "rank 0 {\n"
				     "send 11b to 1 tag 5\n"
				     "send 22b to 1 tag 5\n"
				     "}\n"
				     "rank 1 {\n"
				     "recv 11b from 0 tag 5\n"
				     "recv 22b from 0 tag 5\n"
				     "}\n",
				     goal_file, 4);

	EXPECT_EQ(t.flows[0].bytes, 11U);
	EXPECT_EQ(t.flows[1].bytes, 22U);
	EXPECT_EQ(t.connections, 1U);
}

/*
 * A ring of many steps on four ranks with calculations, which no trigger ties:
 * the threads do not matter. A chain of 100,000 operations without time takes
 * no stack.
 */
TEST(Goal, ringIsTheSameOnTwoThreads)
{
	std::string text = "num_ranks 4\n";

	for (int r = 0; r < 4; r++) {
		text += "rank " + std::to_string(r) + " {\n";
		for (int s = 0; s < 12; s++) {
			const std::string n = std::to_string(s);

			text += "c" + n + ": calc " +
				std::to_string(100 * (r + s)) + "\n" + "s" + n +
				": send 30000b to " +
				std::to_string((r + 1) % 4) + " tag " + n +
				"\n" + "r" + n + ": recv 30000b from " +
				std::to_string((r + 3) % 4) + " tag " + n +
				"\n" + "s" + n + " requires c" + n + "\n";
			if (s)
				text += "c" + n + " requires r" +
					std::to_string(s - 1) + "\n";
		}
		text += "}\n";
	}

	const Traffic t = parse_goal(text, goal_file, 4);
	const std::vector<FlowState> one = after_goal(t),
				     two = after_goal(t, 2);

	EXPECT_EQ(t.flows.size(), 48U);
	for (std::size_t n = 0; n < one.size(); n++)
		EXPECT_EQ(one[n].ended, two[n].ended);
}

TEST(Goal, longChainsTakeNoStack)
{
	std::string text = "num_ranks 2\nrank 0 {\nl0: calc 0\n";

	for (int n = 1; n < 100'000; n++) {
		const std::string now = std::to_string(n);

		text += "l" + now + ": calc 0\nl" + now + " requires l" +
			std::to_string(n - 1) + "\n";
	}
	text += "s: send 1b to 1\ns requires l99999\n}\n"
		"rank 1 {\nrecv 1b from 0\n}\n";
	EXPECT_EQ(run_goal(text)[0].began, 0U);
}

std::string goal_error(const std::string &text)
{
	return message_of([&] { parse_goal(text, goal_file, 4); });
}

std::string in_rank(const std::string &lines)
{
	return goal_error("num_ranks 3\nrank 0 {\n" + lines + "}\n");
}

TEST(Goal, wrongFilesAreRefusedWithTheLine)
{
	EXPECT_EQ(goal_error(""), "s.goal: there is no \"num_ranks\"");
	EXPECT_EQ(goal_error("rank 0 {\n"),
		  "s.goal:1: \"num_ranks\" comes first");
	EXPECT_EQ(goal_error("num_ranks 5\n"),
		  "s.goal:1: 5 ranks; the fabric has 4 hosts");
	EXPECT_EQ(goal_error("num_ranks 2\nnum_ranks 2\n"),
		  "s.goal:2: \"num_ranks\" twice");
	EXPECT_EQ(goal_error("num_ranks 2\nrank 2 {\n"),
		  "s.goal:2: a rank is 2; 0 to 1 are possible");
	EXPECT_EQ(goal_error("num_ranks 2\nrank 0 {\n}\nrank 0 {\n"),
		  "s.goal:4: rank 0 twice");
	EXPECT_EQ(goal_error("num_ranks 2\nrank 0 {\n"),
		  "s.goal:2: rank 0 has no end");
	EXPECT_EQ(goal_error("num_ranks 2\nhello\n"),
		  "s.goal:2: \"hello\" is neither \"num_ranks N\" nor \"rank N "
		  "{\"");
	EXPECT_EQ(goal_error("num_ranks 2\nrank 0 {\n}\n"),
		  "s.goal:3: there are no messages");
	for (const char *line :
	     {"jump 5\n", "l1:\n", "send\n", "send 5b\n", "send 5b from 1\n",
	      "recv 5b to 1\n", "send 5 to 1\n", "send 5b to 1 tag\n",
	      "send 5b to 1 gpu 3\n", "calc\n", "l1 needs l2\n"})
		EXPECT_TRUE(
			in_rank(line).starts_with("s.goal:3: an operation is "))
			<< line << in_rank(line);
	EXPECT_EQ(in_rank("send 0b to 1\n"),
		  "s.goal:3: the size in bytes is 0; 1 to 2147483648 are "
		  "possible");
	EXPECT_EQ(in_rank("send 4b to 3\n"),
		  "s.goal:3: a rank is 3; 0 to 2 are possible");
	EXPECT_EQ(in_rank("send 4b to 0\n"),
		  "s.goal:3: rank 0 sends to itself");
	EXPECT_EQ(in_rank("l: calc -1\n"),
		  "s.goal:3: \"-1\" is no number; the time in ns is expected");
	EXPECT_EQ(in_rank("l: calc 1\nl: calc 2\n"), "s.goal:4: label l twice");
	EXPECT_EQ(in_rank("l: calc 1\nl requires m\n"),
		  "s.goal:4: rank 0 has no label m before this line");
	EXPECT_EQ(in_rank("send 4b to 1\n"), "s.goal:3: nobody receives this");
	EXPECT_EQ(in_rank("recv 4b from 1\n"), "s.goal:3: nobody sends this");
	EXPECT_EQ(in_rank("send 4b to 1\n}\nrank 1 {\nrecv 5b from 0\n"),
		  "s.goal:6: 5 bytes; line 3 sends 4");
	EXPECT_EQ(in_rank("l: calc 1\nl requires l\n"),
		  "s.goal:3: this waits for itself, by what it requires");
	/* Each of two ranks waits for the other. */
	EXPECT_EQ(in_rank("s: send 4b to 1\nr: recv 4b from 1\ns requires r\n"
			  "}\nrank 1 {\n"
			  "s: send 4b to 0\nr: recv 4b from 0\ns requires "
			  "r\n"),
		  "s.goal:3: this waits for itself, by what it requires");
}
} // namespace
} // namespace mrcsim

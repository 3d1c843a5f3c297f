// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Files of htsim, right and wrong. */
#include <gtest/gtest.h>

#include "fabrics.hpp"
#include "matrix_file.hpp"
#include "random.hpp"
#include "topo_file.hpp"

namespace mrcsim
{
namespace
{
const std::string topo = "# two tiers\n"
			 "Nodes 16\n"
			 "Tiers 2\n"
			 "Podsize 16\n"
			 "Tier 0\n"
			 "Downlink_speed_Gbps 200\n"
			 "Radix_Down 4\n"
			 "Radix_Up 2\n"
			 "Queue_Up 50000\n"
			 "Queue_Down 60000\n"
			 "Downlink_Latency_ns 500\n"
			 "Switch_Latency_ns 100\n"
			 "TIER 1\n"
			 "downlink_speed_gbps 100\n"
			 "radix_down 4\n"
			 "Queue_Down 70000\n";

std::string replaced(std::string text, const std::string &what,
		     const std::string &by)
{
	return text.replace(text.find(what), what.size(), by);
}

std::string topo_error(const std::string &text)
{
	return message_of([&] { parse_topo(text, "f.topo"); });
}

TEST(Topo, isRead)
{
	const Shape s = parse_topo(topo, "f.topo");

	EXPECT_EQ(s.all_hosts(), 16U);
	EXPECT_EQ(s.all_t0(), 4U);
	EXPECT_EQ(s.all_t1(), 2U);
	EXPECT_EQ(s.of(Kind::host_down).rate, 200'000'000'000U);
	EXPECT_EQ(s.of(Kind::host_down).delay, 500'000U);
	EXPECT_EQ(s.of(Kind::host_down).trim, 60'000U);
	EXPECT_EQ(s.of(Kind::host_up).delay, 600'000U);
	EXPECT_EQ(s.of(Kind::t0_up).trim, 50'000U);
	EXPECT_EQ(s.of(Kind::t0_up).delay, 1'000'000U);
	EXPECT_EQ(s.of(Kind::t1_down).trim, 70'000U);
	EXPECT_EQ(s.of(Kind::t1_down).delay, 1'100'000U);
}

TEST(Topo, threeTiersAreRead)
{
	const Shape s = parse_topo("Nodes 64\nTiers 3\nPodsize 16\n"
				   "Tier 0\nRadix_Down 4\nRadix_Up 4\n"
				   "Tier 1\nRadix_Down 4\nRadix_Up 2\n"
				   "Tier 2\nRadix_Down 4\n",
				   "f.topo");

	EXPECT_EQ(s.pods, 4U);
	EXPECT_EQ(s.t0, 4U);
	EXPECT_EQ(s.t1, 4U);
	EXPECT_EQ(s.paths(), 8U);
}

TEST(Topo, errorsNameTheLine)
{
	EXPECT_EQ(topo_error(replaced(topo, "Nodes 16", "Nodes sixteen")),
		  "f.topo:2: \"sixteen\" is no number; nodes is expected");
	EXPECT_EQ(topo_error(replaced(topo, "Tiers 2", "Tiers 4")),
		  "f.topo: 4 tiers; 2 and 3 are possible");
	EXPECT_EQ(topo_error(replaced(topo, "_Gbps 200", "_Gbps 0")),
		  "f.topo:6: downlink_speed_gbps is 0; 1 to 10000 are "
		  "possible");
	EXPECT_EQ(
		topo_error(replaced(topo, "Queue_Up 50000", "Radix_Up 50000")),
		"f.topo:9: \"radix_up\" twice in this tier");
	EXPECT_EQ(topo_error(replaced(topo, "TIER 1", "TIER 0")),
		  "f.topo:13: tier 0 twice");
	EXPECT_EQ(topo_error(replaced(topo, "radix_down 4", "radix_down 5")),
		  "f.topo:13: downlinks of a T1: 5, but there are 4");
	EXPECT_EQ(topo_error(replaced(topo, "Radix_Down 4", "Radix_Down 3")),
		  "f.topo:5: hosts of T0s: 16 is no multiple of 3");
	EXPECT_EQ(topo_error(replaced(topo, "Switch_Latency_ns 100",
				      "Switch_Latency_ns")),
		  "f.topo:12: a line is a key and a value, here there are 1 "
		  "words");
	EXPECT_EQ(topo_error(topo.substr(0, topo.find("TIER 1"))),
		  "f.topo: tier 1 is missing");
	EXPECT_EQ(topo_error(""), "f.topo: \"nodes\" is missing");
}

const std::string matrix = "Nodes 16\n"
			   "Connections 4\n"
			   "Triggers 2\n"
			   "1->0 id 1 start 0 size 5000 send_done_trigger 1\n"
			   "2->0 id 2 start 7 size 5000 recv_done_trigger 2\n"
			   "0->3 id 3 trigger 1 size 6000 "
			   "send_done_trigger 2\n"
			   "4->5 id 4 trigger 2 size 7000\n"
			   "trigger id 1 oneshot\n"
			   "trigger id 2 barrier count 2\n";

std::string matrix_error(const std::string &text, u32 hosts = 16)
{
	return message_of([&] { parse_matrix(text, "f.cm", hosts); });
}

TEST(Matrix, isRead)
{
	const Traffic t = parse_matrix(matrix, "f.cm", 16);

	ASSERT_EQ(t.flows.size(), 4U);
	EXPECT_EQ(t.flows[1].start, 7'000'000U);
	EXPECT_EQ(t.flows[2].start, not_yet);
	EXPECT_EQ(t.triggers[t.flows[0].sent_trigger].flows,
		  std::vector<u32>{2});
	EXPECT_EQ(t.triggers[t.flows[1].received_trigger].count, 2U);
}

TEST(Matrix, triggersStartFlows)
{
	const Shape s = plain_clos(1, 4, 4, 4);
	const Traffic t = parse_matrix(matrix, "f.cm", 16);
	Simulator sim(s, {}, t, {});

	finish(sim);
	const auto &f = sim.flows();

	ASSERT_EQ(sim.totals().finished, 4U);
	EXPECT_EQ(f[2].began, f[0].ended);
	EXPECT_EQ(f[3].began, std::max(f[1].received, f[2].ended));
}

TEST(Matrix, messagesShareConnections)
{
	const Traffic t = parse_matrix("Nodes 4\nConnections 3\n"
				       "0->1 id 1 msg 1 start 0 size 100\n"
				       "0->1 id 1 msg start 0 size 200\n"
				       "0->1 id 2 start 0 size 300\n",
				       "f.cm", 4);

	EXPECT_EQ(t.connections, 2U);
	EXPECT_EQ(t.flows[0].connection, t.flows[1].connection);

	Simulator sim(plain_clos(1, 2, 2, 2), {}, t, {});

	finish(sim);
	EXPECT_EQ(sim.totals().finished, 3U);
	EXPECT_EQ(sim.check(), "");
}

TEST(Matrix, errorsNameTheLine)
{
	EXPECT_EQ(matrix_error(matrix), "");
	EXPECT_EQ(matrix_error(matrix, 8),
		  "f.cm:1: 16 nodes; the fabric has 8 hosts");
	EXPECT_EQ(matrix_error(replaced(matrix, "4->5", "4->16")),
		  "f.cm:7: a host is 16; 0 to 15 are possible");
	EXPECT_EQ(matrix_error(replaced(matrix, "4->5", "4->4")),
		  "f.cm:7: host 4 sends to itself");
	EXPECT_EQ(matrix_error(replaced(matrix, "size 7000", "size 0")),
		  "f.cm:7: the size in bytes is 0; 1 to 2147483648 are "
		  "possible");
	EXPECT_EQ(matrix_error(replaced(matrix, "size 7000", "sise 7000")),
		  "f.cm:7: a flow has no \"sise\"; its words are id, msg, "
		  "start, trigger, size, send_done_trigger, "
		  "recv_done_trigger, prio");
	EXPECT_EQ(matrix_error(
			  replaced(matrix, "trigger 2 size", "trigger 3 size")),
		  "f.cm:7: there is no trigger 3");
	EXPECT_EQ(matrix_error(replaced(matrix, "start 7", "start 7000000")),
		  "f.cm:5: the start in us is 7000000; 0 to 1000000 are "
		  "possible");
	EXPECT_EQ(matrix_error(replaced(matrix, "id 4", "id 1")),
		  "f.cm:7: id 1 twice");
	EXPECT_EQ(matrix_error(replaced(matrix, "count 2", "count")),
		  "f.cm:9: \"barrier\" is none of oneshot, multishot, barrier "
		  "count M");
	EXPECT_EQ(matrix_error(matrix + "failure switch_type AGG\n"),
		  "f.cm:10: failures are part of the scenario, not of the "
		  "matrix");
	EXPECT_EQ(matrix_error(""), "f.cm: there is no \"Nodes\"");
}

/* A file that was cut off is noticed, wherever that happened. */
TEST(Matrix, truncatedFilesAreRefused)
{
	const std::size_t last = matrix.size() - 3;

	for (std::size_t n = 0; n < last; n++)
		EXPECT_NE(matrix_error(matrix.substr(0, n)), "") << n;
}

/* Random changes of the files: an error or none, and no crash. */
TEST(Files, mutationsDoNoHarm)
{
	for (u64 n = 0; n < 3'000; n++) {
		std::string a = topo, b = matrix;

		for (u64 k = 0; k <= n % 3; k++) {
			const u64 r = draw(5, Draws::traffic, n, k);
			constexpr std::string_view with = " \n#->0189aZ\xff";

			a[r % a.size()] = b[r % b.size()] =
				with[(r >> 32) % with.size()];
		}
		topo_error(a);
		matrix_error(b);
	}
}
} // namespace
} // namespace mrcsim

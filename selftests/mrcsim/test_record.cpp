// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Traces of queue pairs and captures of links. */
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "fabrics.hpp"
#include "header.hpp"

namespace mrcsim
{
namespace
{
constexpr u32 recorded_bytes = 400'000; /* 98 packets */

struct Recorded {
	std::vector<TraceLine> trace;
	std::vector<Captured> packets;
	u64 digest;
};

/* Two hosts send to the same one; some of their packets are lost. */
Recorded run(const Watch &watch, u32 threads = 1)
{
	Shape s = marking_clos(2, 2, 2, 2);
	Settings settings;
	Traffic t;

	s.of(Kind::t0_up).loss = 0.02;
	settings.evs = 8;
	settings.watch = watch;
	t.add(0, 2, recorded_bytes, 0);
	t.add(1, 2, recorded_bytes, 5 * us);

	Simulator sim(s, settings, t, {}, threads);

	finish(sim);
	EXPECT_EQ(sim.totals().finished, 2U);
	return {sim.trace(), sim.captured(), sim.digest()};
}

std::map<std::string, unsigned> names_in(const std::vector<TraceLine> &lines)
{
	std::map<std::string, unsigned> n;

	for (const TraceLine &l : lines)
		n[l.text.substr(0, l.text.find(':'))]++;
	return n;
}

std::string text_of_file(const char *name)
{
	std::ostringstream all;

	all << std::ifstream(name).rdbuf();
	return all.str();
}

/* What is between @begin, some text without a quote, a quote, and the next
 * quote. */
std::vector<std::string> quoted(const std::string &text,
				const std::string &begin)
{
	std::vector<std::string> all;

	for (std::size_t at = text.find(begin); at != std::string::npos;
	     at = text.find(begin, at + 1)) {
		const std::size_t from = text.find('"', at) + 1;

		all.push_back(text.substr(from, text.find('"', from) - from));
	}
	return all;
}

/* One tool reads the traces of both. */
TEST(Record, hasTheFormatsOfTheDriver)
{
	const std::string driver = text_of_file(TRACE_HEADER);
	std::vector<std::string> formats = quoted(driver, "TP_printk(\"");

	ASSERT_EQ(formats.size(), 5U);
	/* A simulation begins with queue pairs that are ready. */
	EXPECT_EQ(formats.back(), "qpn=0x%06x %s->%s");
	formats.pop_back();
	EXPECT_EQ(formats, std::vector<std::string>(trace_formats().begin(),
						    trace_formats().end()));
}

TEST(Record, hasTheWordsOfTheDriver)
{
	const std::string driver = text_of_file(TRACE_HEADER);
	std::set<std::string_view> ops, states, causes;

	for (unsigned n = 0; n < 256; n++) {
		ops.insert(opcode_word(static_cast<u8>(n)));
		states.insert(ev_state_word(static_cast<u8>(n)));
		causes.insert(loss_word(static_cast<u8>(n)));
	}
	for (auto *all : {&ops, &states, &causes})
		all->erase("?");
	const auto same = [](const std::set<std::string_view> &ours,
			     std::vector<std::string> theirs) {
		std::sort(theirs.begin(), theirs.end());
		EXPECT_EQ(std::vector<std::string>(ours.begin(), ours.end()),
			  theirs);
	};

	same(ops, quoted(driver, "{ MRC_OP_"));
	same(states, quoted(driver, "{ MRC_EV_"));
	same(causes, quoted(driver, "{ MRC_LOSS_"));
}

TEST(Record, tracesWhatTheQueuePairDoes)
{
	const Recorded r = run({{1}, {}});
	const auto n = names_in(r.trace);

	ASSERT_FALSE(r.trace.empty());
	EXPECT_EQ(n.size(), 5U) << trace_text(r.trace);
	EXPECT_GT(n.at("mrc_send"), 98U);
	EXPECT_GT(n.at("mrc_receive"), 98U);
	EXPECT_GT(n.at("mrc_sack"), 0U);
	EXPECT_GT(n.at("mrc_loss"), 0U);
	EXPECT_GT(n.at("mrc_ev_state"), 0U);

	std::set<u32> hosts;

	for (const TraceLine &l : r.trace) {
		EXPECT_EQ(l.qp, 1U);
		hosts.insert(l.host);
	}
	EXPECT_EQ(hosts, (std::set<u32>{1, 2}));
	EXPECT_NE(trace_text(r.trace).find(
			  "              h2-2       [000] .....     "
			  "0.000005000: mrc_send: qpn=0x000004 dqp=0x000004 "
			  "WRITE_FIRST psn=0x"),
		  std::string::npos)
		<< trace_text(r.trace).substr(0, 1000);
}

/* What is received has the entropy that it was sent with, feedback too. */
TEST(Record, knowsTheEntropyOfFeedback)
{
	const auto fields_of = [](const std::string &text) {
		return text.substr(text.find(": "),
				   text.find(" len=") - text.find(": "));
	};

	for (const u32 threads : {1U, 2U}) {
		std::multiset<std::string> sent;
		std::set<std::string> entropies;
		unsigned received = 0;

		std::vector<TraceLine> lines = run(Watch{{1}, {}}, threads).trace;

		std::erase_if(lines, [](const TraceLine &l) {
			return l.text.find(" SACK ") == std::string::npos;
		});
		for (const TraceLine &l : lines) {
			if (l.text.starts_with("mrc_send"))
				sent.insert(fields_of(l.text));
			entropies.insert(
				l.text.substr(l.text.find("entropy="), 18));
		}
		for (const TraceLine &l : lines) {
			if (!l.text.starts_with("mrc_receive"))
				continue;

			const auto it = sent.find(fields_of(l.text));

			ASSERT_NE(it, sent.end()) << l.text;
			sent.erase(it);
			received++;
		}
		EXPECT_GT(received, 10U);
		EXPECT_FALSE(entropies.contains("entropy=0x00000000"));
	}
}

/* Recording does not change the run. */
TEST(Record, isTheSameWithThreads)
{
	const Watch all{{0, 1}, {0, 1, 2, 3, 4, 5, 6, 7}};
	const Recorded one = run(all), two = run(all, 2), none = run({});

	EXPECT_TRUE(none.trace.empty() && none.packets.empty());
	EXPECT_EQ(one.digest, none.digest);
	EXPECT_EQ(two.digest, none.digest);
	EXPECT_EQ(trace_text(one.trace), trace_text(two.trace));
	EXPECT_EQ(pcap_of(one.packets), pcap_of(two.packets));
}

/* The engine reads the headers that were captured as it reads those of a NIC.
 */
TEST(Record, capturesWhatArrives)
{
	const Shape s = marking_clos(2, 2, 2, 2);
	const std::vector<u32> link = s.named("p1l2:h3");

	ASSERT_EQ(link.size(), 1U);

	const Recorded r = run({{0, 1}, link});
	std::vector<std::string> lines;
	u64 before = 0;

	for (const TraceLine &l : r.trace)
		if (l.host == 2 && l.text.starts_with("mrc_receive") &&
		    l.text.find("port=1 ") != std::string::npos)
			lines.push_back(l.text);
	std::erase_if(lines, [](const std::string &l) {
		return l.find("ENDPOINT") != std::string::npos;
	});

	std::size_t n = 0;

	for (const Captured &c : r.packets) {
		const auto *frame =
			reinterpret_cast<const u8 *>(c.bytes.data());
		const u8 *ip = frame + 14, *udp = ip + 40, *bth = udp + 8;
		const auto avail = static_cast<u32>(c.bytes.size() - 62);
		const u32 udp_len = u32{udp[4]} << 8 | udp[5];
		const u32 dscp = (u32{ip[0]} << 8 | ip[1]) >> 6 & 0x3F;
		const bool trimmed = dscp == 12 || dscp == 16;
		mrc_hdr h{};

		EXPECT_EQ(c.length, 54 + udp_len);
		EXPECT_EQ(ip[0] >> 4, 6);
		EXPECT_EQ(ip[6], 17);
		EXPECT_EQ(u32{udp[2]} << 8 | udp[3], 4791U);
		EXPECT_GE(c.at, before);
		before = c.at;
		if (!trimmed) {
			EXPECT_EQ(mrc_hdr_parse(bth, avail, udp_len - 8, &h),
				  MRC_DROP_NONE);
		}
		if (h.opcode == MRC_OP_ENDPOINT_REQ ||
		    h.opcode == MRC_OP_ENDPOINT_RESP)
			continue;
		ASSERT_LT(n, lines.size());

		char psn[32];

		std::snprintf(psn, sizeof(psn), "psn=0x%06x", h.psn);
		if (!trimmed) {
			EXPECT_NE(lines[n].find(psn), std::string::npos)
				<< lines[n];
		}
		n++;
	}
	EXPECT_EQ(n, lines.size());
	EXPECT_GT(n, 50U);
}

/* As tcpdump writes it. */
TEST(Record, writesCaptures)
{
	const std::string one = pcap_of(
		{{3'000'000'123'000, 1, 100, "abcd"}, {1000, 1, 4, "wxyz"}});

	EXPECT_EQ(one, std::string("\xa1\xb2\x3c\x4d\0\2\0\4\0\0\0\0\0\0\0\0"
				   "\0\0\1\0\0\0\0\1"
				   "\0\0\0\0\0\0\0\1\0\0\0\4\0\0\0\4wxyz"
				   "\0\0\0\3\0\0\0\x7b\0\0\0\4\0\0\0\x64"
				   "abcd",
				   24 + 20 + 20));
	EXPECT_EQ(pcap_of({}).size(), 24U);
}

TEST(Record, knowsFlowsByTheNumbersOfTheResults)
{
	Traffic t;

	t.add(0, 1, 1, 0);
	t.add(1, 0, 1, 0);
	EXPECT_EQ(connections_of(t, {}), std::vector<u32>{0});
	EXPECT_EQ(connections_of(t, {2, 1, 2}), (std::vector<u32>{0, 1}));
	for (const u32 n : {0U, 3U})
		EXPECT_EQ(message_of([&] { connections_of(t, {n}); }),
			  "there is no flow " + std::to_string(n) +
				  "; they are 1 to 2");
}
} // namespace
} // namespace mrcsim

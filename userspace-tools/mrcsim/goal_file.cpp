// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "goal_file.hpp"

#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "error.hpp"
#include "lines.hpp"

namespace mrcsim
{
namespace
{
constexpr u32 most_ops = u32{1} << 27;
constexpr u64 most_ns = 1'000'000'000'000;
constexpr u32 no_flow = ~0u;

using Words = std::vector<std::string_view>;

enum class What : u8 { send, recv, calc };

struct Op {
	What what = What::calc;
	int line = 0;
	u32 rank = 0;
	u64 amount = 0; /* bytes, or ns */
	u32 cpu = 0;
	u32 needs = 0; /* how much must happen before it starts */
	std::vector<u32> then, meanwhile; /* after its end, after its start */
	u32 flow = no_flow;		  /* of a message */
};

/* Source, destination, tag. */
using Match = std::tuple<u32, u32, u64>;

class GoalReader
{
public:
	GoalReader(std::string_view text, const std::string &file, u32 hosts)
		: in_(text, file), file_(file), hosts_(hosts)
	{
	}

	Traffic read()
	{
		Words w;

		while (in_.next(w)) {
			drop_comment(w);
			if (!w.empty())
				line(w);
		}
		if (in_rank_)
			in_.fail(fmt::format("rank {} has no end", rank_));
		if (!ranks_)
			in_.fail("there is no \"num_ranks\"");
		match();
		check_order();
		if (t_.flows.empty())
			in_.fail("there are no messages");
		make_triggers();
		t_.name = fmt::format("{} messages of {}", t_.flows.size(),
				      file_);
		return std::move(t_);
	}

private:
	static void drop_comment(Words &w)
	{
		for (std::size_t n = 0; n < w.size(); n++)
			if (w[n].starts_with("//"))
				w.resize(n);
	}

	void line(const Words &w)
	{
		if (in_rank_) {
			if (w.size() == 1 && w[0] == "}")
				in_rank_ = false;
			else
				operation(w);
		} else if (w[0] == "num_ranks" && w.size() == 2) {
			if (ranks_)
				in_.fail("\"num_ranks\" twice");
			ranks_ = static_cast<u32>(in_.number(
				w[1], "the number of ranks", 1, 1 << 20));
			if (ranks_ > hosts_)
				in_.fail(fmt::format("{} ranks; the fabric has "
						     "{} hosts",
						     ranks_, hosts_));
			seen_.resize(ranks_);
		} else if (w[0] == "rank" && w.size() == 3 && w[2] == "{") {
			rank_ = rank(w[1]);
			if (seen_[rank_])
				in_.fail(fmt::format("rank {} twice", rank_));
			seen_[rank_] = in_rank_ = true;
			labels_.clear();
		} else {
			in_.fail(fmt::format("\"{}\" is neither \"num_ranks "
					     "N\" nor \"rank N {{\"",
					     w[0]));
		}
	}

	u32 rank(std::string_view word) const
	{
		if (!ranks_)
			in_.fail("\"num_ranks\" comes first");
		return static_cast<u32>(
			in_.number(word, "a rank", 0, ranks_ - 1));
	}

	/* "LABEL: WHAT ...", "LABEL requires LABEL" */
	void operation(const Words &w)
	{
		if (w.size() == 3 &&
		    (w[1] == "requires" || w[1] == "irequires")) {
			const u32 after = label(w[0]);
			Op &before = ops_[label(w[2])];

			(w[1] == "requires" ? before.then : before.meanwhile)
				.push_back(after);
			ops_[after].needs++;
			return;
		}

		std::size_t at = 0;

		if (w[0].size() > 1 && w[0].ends_with(":")) {
			if (!labels_.emplace(w[0].substr(0, w[0].size() - 1),
					     static_cast<u32>(ops_.size()))
				     .second)
				in_.fail(fmt::format(
					"label {} twice",
					w[0].substr(0, w[0].size() - 1)));
			at = 1;
		}
		if (ops_.size() == most_ops)
			in_.fail(fmt::format("more than {} operations",
					     most_ops));
		if (at + 1 >= w.size())
			return wrong();
		Op op;

		op.line = in_.line();
		op.rank = rank_;
		if (w[at] == "calc")
			calc(w, at, op);
		else if (w[at] == "send" || w[at] == "recv")
			message(w, at, op);
		else
			return wrong();
		ops_.push_back(std::move(op));
	}

	[[noreturn]] void wrong() const
	{
		in_.fail("an operation is \"[LABEL:] send BYTESb to RANK tag "
			 "N\", \"... recv BYTESb from RANK tag N\", \"... calc "
			 "NS\" or \"LABEL requires LABEL\"");
	}

	u32 label(std::string_view word) const
	{
		const auto l = labels_.find(word);

		if (l == labels_.end())
			in_.fail(fmt::format("rank {} has no label {} before "
					     "this line",
					     rank_, word));
		return l->second;
	}

	/* "cpu N" and "nic N" from word @n on. */
	void places(const Words &w, std::size_t n, Op &op)
	{
		for (; n < w.size(); n += 2) {
			if (n + 1 == w.size() ||
			    (w[n] != "cpu" && w[n] != "nic"))
				wrong();

			const u64 number =
				in_.number(w[n + 1], "a place", 0, 1 << 20);

			if (w[n] == "cpu")
				op.cpu = cpu(static_cast<u32>(number));
		}
	}

	/* Processors get numbers when they are first used. */
	u32 cpu(u32 number)
	{
		return cpus_
			.emplace(std::pair(rank_, number),
				 static_cast<u32>(cpus_.size()))
			.first->second;
	}

	void calc(const Words &w, std::size_t at, Op &op)
	{
		op.what = What::calc;
		op.cpu = cpu(0);
		op.amount = in_.number(w[at + 1], "the time in ns", 0, most_ns);
		places(w, at + 2, op);
	}

	void message(const Words &w, std::size_t at, Op &op)
	{
		const bool send = w[at] == "send";
		std::string_view size = w[at + 1];
		u64 tag = 0;

		if (w.size() < at + 4 || w[at + 2] != (send ? "to" : "from"))
			wrong();
		if (!size.ends_with("b"))
			wrong();
		size.remove_suffix(1);
		op.what = send ? What::send : What::recv;
		op.amount =
			in_.number(size, "the size in bytes", 1, most_bytes);

		const u32 peer = rank(w[at + 3]);

		if (peer == rank_)
			in_.fail(fmt::format("rank {} sends to itself", rank_));
		at += 4;
		if (at + 1 < w.size() && w[at] == "tag") {
			tag = in_.number(w[at + 1], "a tag", 0, ~0ull);
			at += 2;
		}
		places(w, at, op);
		if (send)
			sends_[{rank_, peer, tag}].push_back(
				static_cast<u32>(ops_.size()));
		else
			recvs_[{peer, rank_, tag}].push_back(
				static_cast<u32>(ops_.size()));
	}

	[[noreturn]] void fail(const Op &op, const std::string &why) const
	{
		throw mrclab::FileError(file_, op.line, why);
	}

	/* The n-th send with a tag belongs to the n-th receive with it. */
	void match()
	{
		std::map<std::pair<u32, u32>, u32> connections;

		for (auto &[key, sends] : sends_) {
			const auto [src, dst, tag] = key;
			std::deque<u32> &recvs = recvs_[key];
			const u32 connection =
				connections
					.emplace(std::pair(src, dst),
						 static_cast<u32>(
							 connections.size()))
					.first->second;

			for (const u32 s : sends) {
				if (recvs.empty())
					fail(ops_[s], "nobody receives this");

				Op &send = ops_[s], &recv = ops_[recvs.front()];

				recvs.pop_front();
				if (send.amount != recv.amount)
					fail(recv,
					     fmt::format("{} bytes; line {} "
							 "sends {}",
							 recv.amount, send.line,
							 send.amount));
				send.flow = recv.flow =
					static_cast<u32>(t_.flows.size());
				t_.flows.push_back(
					{.src = src,
					 .dst = dst,
					 .connection = connection,
					 .bytes = static_cast<u32>(send.amount),
					 .start = not_yet});
				arrives_.push_back(
					static_cast<u32>(&recv - ops_.data()));
				recv.needs++;
			}
		}
		for (const auto &[key, recvs] : recvs_)
			if (!recvs.empty())
				fail(ops_[recvs.front()], "nobody sends this");
		t_.connections = static_cast<u32>(connections.size());
	}

	/* Is there an order in which everything happens? */
	void check_order() const
	{
		std::vector<u32> needs, ready;
		std::size_t done = 0;

		for (const Op &op : ops_) {
			if (!op.needs)
				ready.push_back(static_cast<u32>(needs.size()));
			needs.push_back(op.needs);
		}
		for (; !ready.empty(); done++) {
			const Op &op = ops_[ready.back()];
			const auto happened = [&](u32 next) {
				if (!--needs[next])
					ready.push_back(next);
			};

			ready.pop_back();
			for (const u32 next : op.then)
				happened(next);
			for (const u32 next : op.meanwhile)
				happened(next);
			if (op.what == What::send)
				happened(arrives_[op.flow]);
		}
		if (done == ops_.size())
			return;
		for (std::size_t n = 0; n < ops_.size(); n++)
			if (needs[n])
				fail(ops_[n], "this waits for itself, by what "
					      "it requires");
	}

	/*
	 * Trigger n starts operation n. Another one stands for the end of an
	 * operation that takes time, if anything waits for it.
	 */
	void make_triggers()
	{
		const auto ends = static_cast<u32>(ops_.size());

		t_.cpus = static_cast<u32>(cpus_.size());
		t_.triggers.resize(ends);
		for (u32 n = 0; n < ends; n++) {
			Op &op = ops_[n];
			u32 end = no_trigger;

			if (op.what != What::recv && !op.then.empty()) {
				end = static_cast<u32>(t_.triggers.size());
				t_.triggers.push_back(
					{.kind = Trigger::Kind::barrier,
					 .host = op.rank,
					 .fires = op.then});
			}

			Trigger &t = t_.triggers[n];

			t.kind = Trigger::Kind::barrier;
			t.count = op.needs;
			t.host = op.rank;
			t.fires = op.meanwhile;
			if (op.what == What::send) {
				t.flows = {op.flow};
				t_.flows[op.flow].sent_trigger = end;
			} else if (op.what == What::recv) {
				t.fires.insert(t.fires.end(), op.then.begin(),
					       op.then.end());
				t_.flows[op.flow].received_trigger = n;
			} else {
				t.calc = op.amount * 1000;
				t.cpu = op.cpu;
				t.ended = end;
			}
		}
	}

	Lines in_;
	const std::string &file_;
	u32 hosts_, ranks_ = 0, rank_ = 0;
	bool in_rank_ = false;
	std::vector<bool> seen_;
	std::unordered_map<std::string_view, u32> labels_; /* of this rank */
	std::map<std::pair<u32, u32>, u32> cpus_;
	std::map<Match, std::deque<u32>> sends_, recvs_;
	std::vector<Op> ops_;
	std::vector<u32> arrives_; /* the receive of each flow */
	Traffic t_;
};
} // namespace

Traffic parse_goal(std::string_view text, const std::string &file, u32 hosts)
{
	return GoalReader(text, file, hosts).read();
}

Traffic read_goal(const std::string &file, u32 hosts)
{
	return parse_goal(read_lines(file), file, hosts);
}
} // namespace mrcsim

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "fault.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "error.hpp"
#include "fabric_file.hpp"
#include "tc_commands.hpp"
#include "units.hpp"

namespace mrclab
{
namespace
{
/* The kernel drops one packet of 10000, or more. */
constexpr double min_path_loss = 1e-4;

bool is_pattern(const std::string &word)
{
	return word.find_first_of("*?[") != std::string::npos;
}

uint32_t host_number(const Topology &t, const std::string &word)
{
	const Node &n = t.node(word);

	if (n.kind != Kind::host)
		throw UsageError(fmt::format("a path is between hosts; \"{}\" "
					     "is a switch",
					     word));
	return n.number;
}
} // namespace

std::vector<Direction> Faults::take_target(const Topology &t,
					   const std::string &word,
					   const Node *&node) const
{
	const bool both = word.ends_with("+");
	const std::string name = word.substr(0, word.size() - both);
	std::vector<Direction> found;

	node = nullptr;
	if (is_pattern(name)) {
		found = t.matching(name);
		if (found.empty())
			throw UsageError(fmt::format(
				"\"{}\" matches no link of fabric {}", name,
				t.fabric().name));
	} else if (name.find(':') != std::string::npos) {
		found = {t.direction(name)};
	} else {
		node = &t.node(name);
		found = t.sent_by(*node);
	}
	if (both) {
		for (std::size_t i = found.size(); i-- > 0;)
			found.push_back({found[i].link, !found[i].up});
		std::sort(found.begin(), found.end());
		found.erase(std::unique(found.begin(), found.end()),
			    found.end());
		node = nullptr;
	}
	return found;
}

/* A netdev cannot be up while its node is down. */
void Faults::check_node_up(const Topology &t, Direction d) const
{
	const uint32_t n = t.from(d).node;

	if (nodes_down_.contains(n))
		throw UsageError(fmt::format("{} stays down: {} is down",
					     t.name(d), t.nodes()[n].name));
}

void Faults::apply_path(const Topology &t,
			const std::vector<std::string> &words)
{
	const Fabric &f = t.fabric();
	PathName name;
	std::size_t i = 3;
	const auto word = [&](std::size_t n) -> const std::string & {
		if (n >= words.size())
			throw UsageError("a path is \"path A B plane P [t1 S] "
					 "loss PERCENT\" or \"... clear\"");
		return words[n];
	};

	if (!f.srv6())
		throw UsageError(fmt::format(
			"fabric {} has no SRv6 paths: its forwarding is ecmp",
			f.name));
	name.a = host_number(t, word(1));
	name.b = host_number(t, word(2));
	if (name.a == name.b)
		throw UsageError("a path is between two hosts");
	if (word(i) != "plane")
		throw UsageError("which plane? \"plane P\" is missing");
	name.plane =
		static_cast<uint32_t>(parse_count(word(i + 1), 1, f.planes));
	i += 2;
	if (word(i) == "t1") {
		name.t1 = static_cast<uint32_t>(
			parse_count(word(i + 1), 1, f.t1));
		i += 2;
	}
	if ((name.t1 == 0) != (t.t0_of(name.a) == t.t0_of(name.b)))
		throw UsageError(fmt::format(
			"{} and {} are behind {}", words[1], words[2],
			name.t1 ? "the same T0: their path has no T1"
				: "different T0s: \"t1 S\" is missing"));

	double share = 0;

	if (word(i) == "loss") {
		share = parse_percent(word(++i));
		if (share > 0 && share < min_path_loss)
			throw UsageError(
				fmt::format("the smallest loss of a path is {}",
					    show_percent(min_path_loss)));
	} else if (word(i) != "clear")
		throw UsageError(fmt::format(
			"\"{}\" is neither \"loss\" nor \"clear\"", words[i]));
	if (++i != words.size())
		throw UsageError(
			fmt::format("\"{}\" is one word too many", words[i]));
	if (share > 0)
		paths_[name] = share;
	else
		paths_.erase(name);
}

void Faults::apply(const Topology &t, const std::vector<std::string> &words)
{
	const Node *node = nullptr;

	if (words.empty())
		throw UsageError("what is to be wrong?");
	if (words == std::vector<std::string>{"clear"}) {
		*this = Faults();
		return;
	}
	if (words[0] == "path")
		return apply_path(t, words);
	if (words.size() < 2)
		throw UsageError(
			fmt::format("what is to happen to \"{}\"?", words[0]));

	const std::vector<Direction> target = take_target(t, words[0], node);
	const std::string &what = words[1];
	const bool one_word = what == "down" || what == "up" ||
			      what == "drop" || what == "clear";

	if (one_word && words.size() > 2)
		throw UsageError(
			fmt::format("\"{}\" is one word too many", words[2]));
	if (what == "down") {
		if (node)
			nodes_down_.insert(t.index(*node));
		else
			ends_down_.insert(target.begin(), target.end());
		return;
	}
	if (what == "up" || what == "clear") {
		if (node)
			nodes_down_.erase(t.index(*node));
		for (const Direction d : target)
			check_node_up(t, d);
		for (const Direction d : target)
			ends_down_.erase(d);
		if (what == "up")
			return;
		for (const Direction d : target)
			props_.erase(d);
		return;
	}

	LinkProps change;

	if (what == "drop") {
		change.loss = 1;
	} else {
		if (words.size() % 2 == 0)
			throw UsageError(fmt::format("\"{}\" has no value",
						     words.back()));
		for (std::size_t i = 1; i < words.size(); i += 2)
			set_link_prop(change, words[i], words[i + 1]);
	}
	/* All of them must be possible before the first one changes. */
	std::map<Direction, LinkProps> changed = props_;

	for (const Direction d : target) {
		LinkProps all = t.props(d);

		changed[d].apply(change);
		all.apply(changed[d]);
		queues_of(t.from(d).netdev, all, t.last_hop(d));
		check_room(all, t.fabric().mtu);
	}
	props_ = std::move(changed);
}

std::set<Direction> Faults::down(const Topology &t) const
{
	std::set<Direction> all = ends_down_;

	for (const uint32_t n : nodes_down_)
		for (const Direction d : t.sent_by(t.nodes()[n]))
			all.insert(d);
	return all;
}

LinkProps Faults::props(const Topology &t, Direction d) const
{
	const auto i = props_.find(d);
	LinkProps p = t.props(d);

	if (i != props_.end())
		p.apply(i->second);
	return p;
}

bool Faults::any() const
{
	return !props_.empty() || !ends_down_.empty() || !nodes_down_.empty() ||
	       !paths_.empty();
}

std::vector<std::vector<std::string>> Faults::words(const Topology &t) const
{
	std::vector<std::vector<std::string>> all;

	for (const uint32_t n : nodes_down_)
		all.push_back({t.nodes()[n].name, "down"});
	for (const Direction d : ends_down_)
		all.push_back({t.name(d), "down"});
	for (const auto &[d, props] : props_) {
		std::vector<std::string> w = {t.name(d)};

		for (const auto &[key, value] : link_prop_words(props)) {
			w.push_back(key);
			w.push_back(value);
		}
		if (w.size() > 1)
			all.push_back(w);
	}
	for (const auto &[p, share] : paths_) {
		std::vector<std::string> w = {"path", t.host(p.a).name,
					      t.host(p.b).name, "plane",
					      std::to_string(p.plane)};

		if (p.t1)
			w.insert(w.end(), {"t1", std::to_string(p.t1)});
		w.insert(w.end(), {"loss", show_percent(share)});
		all.push_back(w);
	}
	return all;
}
} // namespace mrclab

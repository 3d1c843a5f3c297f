// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The commands between two states of faults. A model of tc and of netdevs runs
 * them: whatever came before, a state has the same queues as when it is made
 * from a new fabric.
 */
#include <sstream>

#include <gtest/gtest.h>

#include "error.hpp"
#include "fault_commands.hpp"
#include "random_fabric.hpp"
#include "words.hpp"

namespace mrclab
{
namespace
{
/* The kernel as far as these commands see it. */
class Model
{
public:
	void run(const FaultCommands &c)
	{
		for (const auto &of : c.tc)
			each(of.second, [&](const Words &w) { tc(of.first, w); });
		for (const auto &of : c.ip)
			each(of.second, [&](const Words &w) { ip(of.first, w); });
		for (const PortQueue &p : c.ports)
			each(p.command, [&](const Words &w) {
				tc(p.node, w);
				ports[{p.node, w.at(3)}] = p.port;
			});
	}

	/* By node and netdev: the qdiscs by their handle. */
	std::map<std::pair<std::string, std::string>,
		 std::map<std::string, Words>>
		qdiscs;
	std::map<std::pair<std::string, std::string>, SwitchPort> ports;
	std::map<std::pair<std::string, std::string>, std::vector<Words>>
		filters;
	std::set<std::pair<std::string, std::string>> clsact, down;
	int made = 0; /* qdiscs that were added */

private:
	template <typename Use>
	static void each(const std::string &lines, const Use &use)
	{
		std::istringstream in(lines);
		std::string line;

		while (std::getline(in, line))
			use(split(line));
	}

	void tc(const std::string &node, const Words &w)
	{
		const std::pair dev(node, w.at(3));
		auto &have = qdiscs[dev];

		ASSERT_EQ(w.at(2), "dev");
		if (w[0] == "filter") {
			EXPECT_TRUE(clsact.contains(dev));
			filters[dev].push_back(w);
		} else if (w[1] == "add" && w[4] == "clsact") {
			EXPECT_TRUE(clsact.insert(dev).second);
		} else if (w[1] == "del" && w[4] == "clsact") {
			EXPECT_EQ(clsact.erase(dev), 1u);
			filters.erase(dev);
		} else if (w[1] == "del") {
			EXPECT_EQ(w[4], "root");
			EXPECT_FALSE(have.empty()) << node << " " << w[3];
			have.clear();
			ports.erase(dev);
		} else {
			add(have, w);
		}
	}

	void add(std::map<std::string, Words> &have, const Words &w)
	{
		const bool root = w.at(4) == "root";
		const std::string handle = root ? w.at(6) : w.at(7);

		EXPECT_EQ(have.contains(handle), w[1] == "change");
		if (w[1] == "add") {
			made++;
			EXPECT_EQ(root, have.empty());
			if (!root) {
				EXPECT_TRUE(have.contains(
					w[5].substr(0, w[5].find(':') + 1)))
					<< w[5];
			}
		}
		have[handle] = Words(w.begin() + 4, w.end());
	}

	void ip(const std::string &node, const Words &w)
	{
		if (w[0] == "link" && w[1] == "set" && w.back() == "down") {
			EXPECT_TRUE(down.insert({node, w[2]}).second);
			return;
		}
		if (w[0] == "link" && w[1] == "set")
			down.erase({node, w[2]});
		else
			expect_up(node, w);
	}

	/* Addresses and routes can be set on netdevs that are up alone. */
	void expect_up(const std::string &node, const Words &w) const
	{
		for (std::size_t i = 0; i + 1 < w.size(); i++) {
			if (w[i] == "dev") {
				EXPECT_FALSE(down.contains({node, w[i + 1]}))
					<< node << ": " << w[i + 1];
			}
		}
	}
};

void expect_same(const Model &a, const Model &b)
{
	const auto filled = [](const auto &all) {
		auto some = all;

		std::erase_if(some,
			      [](const auto &i) { return i.second.empty(); });
		return some;
	};

	EXPECT_EQ(filled(a.qdiscs), filled(b.qdiscs));
	EXPECT_TRUE(a.ports == b.ports);
	EXPECT_EQ(a.filters, b.filters);
	EXPECT_EQ(a.clsact, b.clsact);
	EXPECT_EQ(a.down, b.down);
}

Fabric with_rates(Random &random)
{
	Fabric f = random_fabric(random);

	f.t0 = std::max(f.t0, 2u);
	f.t1 = std::max(f.t1, 1u);
	if (draw(random, 0, 1)) {
		f.host_links.rate = 10000000;
		f.fabric_links.rate = 10000000;
		f.fabric_links.delay = 50000;
		f.fabric_links.trim = 100000;
	}
	return f;
}

Words random_words(const Topology &t, Random &random)
{
	const Direction d{
		static_cast<uint32_t>(draw(random, 0, t.links().size() - 1)),
		draw(random, 0, 1) == 1};
	const char *const what[] = {"down",
				    "up",
				    "clear",
				    "drop",
				    "loss 1%",
				    "loss 0",
				    "delay 2ms loss 2%",
				    "delay 0 loss 0",
				    "rate 5mbit",
				    "rate none",
				    "rate 5mbit mark 20k trim 60k",
				    "mark none trim 0"};
	const std::string target =
		draw(random, 0, 3) ? t.name(d) + (draw(random, 0, 1) ? "+" : "")
				   : t.nodes()[t.from(d).node].name;
	Words words = split(what[draw(random, 0, 11)]);

	if (!draw(random, 0, 30))
		return {"clear"};
	if (t.fabric().srv6() && !draw(random, 0, 4)) {
		/* From the first host to the last: different T0s. */
		words = {"path",  "h1", t.host(t.fabric().all_hosts()).name,
			 "plane", "1",	"t1",
			 "1"};
		words.insert(words.end(),
			     {"loss", draw(random, 0, 2) ? "30%" : "0"});
		return words;
	}
	words.insert(words.begin(), target);
	return words;
}
} // namespace

TEST(FaultCommands, LeadToTheSameStateFromAnywhere)
{
	Random random(11);

	for (int fabric = 0; fabric < 40; fabric++) {
		const Topology t(with_rates(random));
		Model model;
		Faults now;

		model.run(first_commands(t));
		for (int step = 0; step < 25; step++) {
			Faults next = now;

			try {
				next.apply(t, random_words(t, random));
			} catch (const UsageError &) {
				continue;
			}
			model.run(change_commands(t, now, next));
			now = next;

			Model fresh;

			fresh.run(first_commands(t));
			fresh.run(change_commands(t, {}, now));
			expect_same(model, fresh);
			if (testing::Test::HasFailure())
				return;
		}
	}
}

TEST(FaultCommands, NoChangeIsNoCommand)
{
	const Topology t(fabric_of(2, 2, 2, 2));
	Faults f;

	f.apply(t, {"p1s1", "down"});
	f.apply(t, {"p1l1", "loss", "1%"});
	f.apply(t, {"path", "h1", "h3", "plane", "1", "t1", "2", "loss", "5%"});

	const FaultCommands c = change_commands(t, f, f);

	EXPECT_TRUE(c.ip.empty());
	EXPECT_TRUE(c.tc.empty());
	EXPECT_TRUE(c.ports.empty());
}

/* Packets in queues stay where only numbers change. */
TEST(FaultCommands, OtherNumbersMakeNoQueueAnew)
{
	const Topology t(fabric_of(1, 2, 1, 1));
	Faults a, b;
	Model model;

	a.apply(t, {"p1l1:s1", "rate", "10mbit", "delay", "2ms"});
	b.apply(t, {"p1l1:s1", "rate", "20mbit", "delay", "3ms"});
	model.run(change_commands(t, {}, a));
	EXPECT_EQ(model.made, 2);
	model.run(change_commands(t, a, b));
	EXPECT_EQ(model.made, 2);
}

TEST(FaultCommands, RestoresBothEndsOfALink)
{
	const Topology t(fabric_of(1, 2, 2, 1));
	Faults f;

	f.apply(t, {"p1l1:s2", "down"});

	const FaultCommands c = change_commands(t, f, {});

	EXPECT_EQ(c.ip.size(), 2u);
	EXPECT_TRUE(c.ip.contains("p1l1"));
	EXPECT_TRUE(c.ip.contains("p1s2"));
}

/* One action drops one of N: what several drop together is the share. */
TEST(FaultCommands, PathsLoseTheShareThatIsAsked)
{
	const Topology t(fabric_of(1, 2, 1, 1));

	for (const char *percent :
	     {"0.01%", "0.1%", "1%", "3%", "12.5%", "20%", "30%", "50%", "66%",
	      "90%", "99%", "100%"}) {
		Faults f;
		double pass = 1;

		f.apply(t, {"path", "h1", "h2", "plane", "1", "t1", "1", "loss",
			    percent});
		const Words w =
			split(change_commands(t, {}, f).tc.at("p1l1").substr(
				std::string("qdisc add dev h1 clsact\n")
					.size()));

		for (std::size_t i = 0; i + 1 < w.size(); i++) {
			if (w[i] == "action" && w[i + 1] == "drop")
				pass = 0;
			if (w[i] == "netrand")
				pass *= 1 - 1 / std::stod(w.at(i + 2));
		}
		EXPECT_NEAR(1 - pass, std::stod(percent) / 100, 1e-3)
			<< percent;
	}
}
} // namespace mrclab

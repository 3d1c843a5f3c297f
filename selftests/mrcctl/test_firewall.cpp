// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* doctor: what a ruleset does with packets to the UDP port. */
#include <fmt/format.h>

#include "fake_planes.hpp"
#include "firewall.hpp"

namespace mrcctl::doctor
{
namespace
{
using Fate = Passage::Fate;

std::string chain_json(const std::string &name, const std::string &more)
{
	return fmt::format(R"({{"chain":{{"family":"inet","table":"t",)"
			   R"("name":"{}"{}}}}})",
			   name, more);
}

std::string rule_json(const std::string &chain, const std::string &expr)
{
	return fmt::format(R"({{"rule":{{"family":"inet","table":"t",)"
			   R"("chain":"{}","expr":[{}]}}}})",
			   chain, expr);
}

std::string match_json(const std::string &left, const std::string &right,
		       const std::string &op = "==")
{
	return fmt::format(R"({{"match":{{"op":"{}","left":{},"right":{}}}}})",
			   op, left, right);
}

const std::string dport = R"({"payload":{"protocol":"udp","field":"dport"}})";
const std::string iifname = R"({"meta":{"key":"iifname"}})";
const std::string accept_it = R"(,{"counter":{}},{"accept":null})";
const std::string drop_it = R"(,{"log":null},{"drop":null})";

/* The fate with one input chain that accepts at its end and has these rules. */
Fate with_rules(const std::vector<std::string> &rules,
		const std::string &policy = "accept",
		const std::string &others = "")
{
	std::string all = chain_json("in", R"(,"hook":"input","policy":")" +
						   policy + "\"");

	for (const std::string &r : rules)
		all += "," + rule_json("in", r);
	return passage(Json::parse(R"({"nftables":[)" + all + others + "]}"),
		       Way::in, "eth0", 4791)
		.fate;
}
} // namespace

TEST(Firewall, HasPolicies)
{
	EXPECT_EQ(with_rules({}), Fate::passes);
	EXPECT_EQ(with_rules({}, "drop"), Fate::drops);
	EXPECT_EQ(with_rules({match_json(dport, "4791") + accept_it}, "drop"),
		  Fate::passes);
	EXPECT_EQ(with_rules({match_json(dport, "22") + accept_it}, "drop"),
		  Fate::drops);
}

TEST(Firewall, MatchesPorts)
{
	for (const char *right :
	     {"4791", R"({"range":[4000,5000]})", R"({"set":[22,4791]})",
	      R"({"set":[{"range":[1,9999]}]})"})
		EXPECT_EQ(with_rules({match_json(dport, right) + drop_it}),
			  Fate::drops)
			<< right;
	for (const char *right :
	     {"4790", R"({"range":[1,4790]})", R"({"set":[22,23]})"})
		EXPECT_EQ(with_rules({match_json(dport, right) + drop_it}),
			  Fate::passes)
			<< right;
	EXPECT_EQ(with_rules({match_json(dport, "4791", "!=") + drop_it}),
		  Fate::passes);
	EXPECT_EQ(with_rules({match_json(dport, "22", "!=") + drop_it}),
		  Fate::drops);
	EXPECT_EQ(with_rules({match_json(dport, "22", "<") + drop_it}),
		  Fate::may_drop);
	EXPECT_EQ(with_rules({match_json(dport, "\"odd\"") + drop_it}),
		  Fate::may_drop);
}

TEST(Firewall, MatchesProtocols)
{
	const std::string tcp =
		R"({"payload":{"protocol":"tcp","field":"dport"}})";
	const std::string l4 = R"({"meta":{"key":"l4proto"}})";
	const std::string ip =
		R"({"payload":{"protocol":"ip","field":"protocol"}})";
	const std::string saddr =
		R"({"payload":{"protocol":"ip","field":"saddr"}})";

	EXPECT_EQ(with_rules({match_json(tcp, "4791") + drop_it}),
		  Fate::passes);
	EXPECT_EQ(with_rules({match_json(l4, "\"tcp\"") + drop_it}),
		  Fate::passes);
	EXPECT_EQ(with_rules({match_json(l4, "\"udp\"") + drop_it}),
		  Fate::drops);
	EXPECT_EQ(
		with_rules({match_json(l4, R"({"set":["tcp",17]})") + drop_it}),
		Fate::drops);
	EXPECT_EQ(with_rules({match_json(ip, "\"udp\"") + drop_it}),
		  Fate::drops);
	/* Whose packets is not known. */
	EXPECT_EQ(with_rules({match_json(saddr, "\"10.0.0.1\"") + drop_it}),
		  Fate::may_drop);
}

TEST(Firewall, MatchesNetdevs)
{
	EXPECT_EQ(with_rules({match_json(iifname, "\"lo\"") + drop_it}),
		  Fate::passes);
	EXPECT_EQ(with_rules({match_json(iifname, "\"eth*\"") + drop_it}),
		  Fate::drops);
	EXPECT_EQ(with_rules({match_json(iifname, R"({"set":["eth0"]})") +
			      drop_it}),
		  Fate::drops);
	EXPECT_EQ(with_rules({match_json(R"({"meta":{"key":"oifname"}})",
					 "\"eth0\"") +
			      drop_it}),
		  Fate::may_drop);
}

TEST(Firewall, KnowsThatPacketsOfPeersAreNew)
{
	const std::string ct = R"({"ct":{"key":"state"}})";

	EXPECT_EQ(with_rules({match_json(ct, R"(["established","related"])",
					 "in") +
			      accept_it},
			     "drop"),
		  Fate::drops);
	EXPECT_EQ(with_rules({match_json(ct, R"(["established","new"])", "in") +
			      accept_it},
			     "drop"),
		  Fate::passes);
}

TEST(Firewall, FollowsJumpsMapsAndSets)
{
	const std::string sub =
		"," + chain_json("sub", "") + "," +
		rule_json("sub", match_json(dport, "4791") + drop_it);

	EXPECT_EQ(with_rules({R"({"jump":{"target":"sub"}})"}, "accept", sub),
		  Fate::drops);
	EXPECT_EQ(with_rules({match_json(dport, "4791") + accept_it,
			      R"({"jump":{"target":"sub"}})"},
			     "accept", sub),
		  Fate::passes);
	EXPECT_EQ(with_rules({match_json(dport, "22") +
			      R"(,{"jump":{"target":"sub"}})"},
			     "accept", sub),
		  Fate::passes);
	EXPECT_EQ(with_rules({R"({"vmap":{"key":)" + dport +
			      R"(,"data":{"set":[[22,{"accept":null}],)"
			      R"([4791,{"jump":{"target":"sub"}}]]}}})"},
			     "accept", sub),
		  Fate::drops);
	EXPECT_EQ(with_rules({match_json(dport, "\"@s\"") + drop_it}, "accept",
			     R"(,{"set":{"family":"inet","table":"t",)"
			     R"("name":"s","elem":[22,4791]}})"),
		  Fate::drops);
	EXPECT_EQ(with_rules({match_json(dport, "\"@s\"") + drop_it}),
		  Fate::may_drop);
	EXPECT_EQ(with_rules({R"({"queue":null})"}), Fate::may_drop);
	EXPECT_EQ(with_rules({R"({"xt":null},{"reject":null})"}),
		  Fate::may_drop);
}

TEST(Firewall, EndsWhereChainsCallThemselves)
{
	EXPECT_EQ(with_rules({R"({"jump":{"target":"in"}})",
			      R"({"jump":{"target":"in"}})",
			      R"({"jump":{"target":"in"}})",
			      R"({"jump":{"target":"in"}})"}),
		  Fate::passes);
}

TEST(Firewall, KnowsHooks)
{
	const auto of = [](const std::string &more, Way way) {
		return passage(Json::parse(R"({"nftables":[)" +
					   chain_json("c", more) + "]}"),
			       way, "eth0", 4791)
			.fate;
	};
	const std::string drop = R"(,"policy":"drop")";

	EXPECT_EQ(of(R"(,"hook":"prerouting")" + drop, Way::in), Fate::drops);
	EXPECT_EQ(of(R"(,"hook":"forward")" + drop, Way::in), Fate::passes);
	EXPECT_EQ(of(R"(,"hook":"output")" + drop, Way::in), Fate::passes);
	EXPECT_EQ(of(R"(,"hook":"output")" + drop, Way::out), Fate::drops);
	EXPECT_EQ(of(R"(,"hook":"ingress","dev":"eth0")" + drop, Way::in),
		  Fate::drops);
	EXPECT_EQ(of(R"(,"hook":"ingress","dev":["eth1","eth0"])" + drop,
		     Way::in),
		  Fate::drops);
	EXPECT_EQ(of(R"(,"hook":"ingress","dev":"eth1")" + drop, Way::in),
		  Fate::passes);
	EXPECT_EQ(of(drop, Way::in), Fate::passes);
}
} // namespace mrcctl::doctor

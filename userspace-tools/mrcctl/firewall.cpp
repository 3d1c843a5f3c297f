// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "firewall.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "host.hpp"

namespace mrcctl::doctor
{
namespace
{
enum class Truth { no, maybe, yes };

Truth negated(Truth t)
{
	return t == Truth::yes	? Truth::no
	       : t == Truth::no ? Truth::yes
				: Truth::maybe;
}

Truth either(Truth a, Truth b)
{
	return std::max(a, b);
}

/* Member @key of an object; null for everything else. */
const Json &member(const Json &j, const char *key)
{
	static const Json none;

	if (!j.is_object())
		return none;
	const auto it = j.find(key);

	return it == j.end() ? none : *it;
}

std::string word(const Json &j)
{
	return j.is_string() ? j.get<std::string>() : "";
}

/* What the rules of a chain may do with a packet. */
struct Outcome {
	bool accept = false;
	bool drop = false;
	bool pass = false; /* the end of the chain, or "return" */
};

class Firewall
{
public:
	Firewall(const Json &ruleset, Way way, const std::string &netdev,
		 uint64_t udp_port)
		: objects_(member(ruleset, "nftables")), way_(way),
		  netdev_(netdev), udp_port_(udp_port)
	{
		if (!objects_.is_array())
			throw Json::type_error::create(302, "no ruleset",
						       &ruleset);
	}

	Passage worst()
	{
		Passage out;

		for (const Json &o : objects_) {
			const Json &chain = member(o, "chain");

			if (!is_hook(chain))
				continue;
			const Passage p = of_base_chain(chain);

			if (p.fate > out.fate)
				out = p;
		}
		return out;
	}

private:
	/* Chains call each other this deep in the kernel at most. */
	static constexpr unsigned int max_depth = 16;
	/* Rules that are looked at, in all. */
	static constexpr unsigned int max_rules = 100000;

	bool is_hook(const Json &chain) const
	{
		static const std::set<std::string> in{"ingress", "prerouting",
						      "input"};
		static const std::set<std::string> out{"egress", "postrouting",
						       "output"};
		const std::string hook = word(member(chain, "hook"));

		if (!(way_ == Way::in ? in : out).contains(hook))
			return false;
		if (hook != "ingress" && hook != "egress")
			return true;
		const Json &dev = member(chain, "dev");

		if (!dev.is_array())
			return word(dev) == netdev_;
		return std::any_of(dev.begin(), dev.end(), [&](const Json &d) {
			return word(d) == netdev_;
		});
	}

	Passage of_base_chain(const Json &chain)
	{
		Passage p;

		p.family = word(member(chain, "family"));
		p.table = word(member(chain, "table"));
		p.chain = word(member(chain, "name"));
		if (p.family == "arp" || p.family == "bridge")
			return p;
		Outcome o = outcome(p.family, p.table, p.chain, 0);

		if (o.pass && word(member(chain, "policy")) == "drop")
			o.drop = true;
		else if (o.pass)
			o.accept = true;
		if (o.drop)
			p.fate = o.accept ? Passage::Fate::may_drop
					  : Passage::Fate::drops;
		return p;
	}

	Outcome outcome(const std::string &family, const std::string &table,
			const std::string &chain, unsigned int depth)
	{
		Outcome all;

		if (depth >= max_depth) {
			all.pass = true;
			return all;
		}
		for (const Json &o : objects_) {
			const Json &rule = member(o, "rule");

			if (!rule.is_object() || ++rules_ > max_rules ||
			    word(member(rule, "chain")) != chain ||
			    word(member(rule, "table")) != table ||
			    word(member(rule, "family")) != family)
				continue;
			const Outcome r = of_rule(member(rule, "expr"), family,
						  table, depth);

			all.accept |= r.accept;
			all.drop |= r.drop;
			if (!r.pass)
				return all;
		}
		all.pass = true;
		return all;
	}

	/* pass means here: the next rule. */
	Outcome of_rule(const Json &exprs, const std::string &family,
			const std::string &table, unsigned int depth)
	{
		Truth matches = Truth::yes;
		Outcome out;

		table_ = table;
		family_ = family;
		if (!exprs.is_array()) {
			out.pass = true;
			return out;
		}
		for (const Json &e : exprs) {
			if (!e.is_object() || e.empty())
				continue;
			const std::string name = e.begin().key();
			const Json &value = e.begin().value();

			if (name == "match") {
				matches = std::min(matches, match(value));
				if (matches == Truth::no)
					break;
			} else if (name == "limit" || name == "xt" ||
				   name == "quota" || name == "ct count" ||
				   name == "fib") {
				matches = std::min(matches, Truth::maybe);
			} else if (name == "vmap") {
				return of_map(value, matches, depth);
			} else if (is_verdict(name)) {
				return of_verdict(name, value, matches, depth);
			}
		}
		out.pass = true;
		return out;
	}

	static bool is_verdict(const std::string &name)
	{
		return name == "accept" || name == "drop" || name == "reject" ||
		       name == "queue" || name == "jump" || name == "goto" ||
		       name == "return";
	}

	Outcome of_verdict(const std::string &name, const Json &value,
			   Truth matches, unsigned int depth)
	{
		Outcome out;

		if (name == "accept") {
			out.accept = true;
		} else if (name == "drop" || name == "reject") {
			out.drop = true;
		} else if (name == "queue") {
			/* A program decides. */
			out.accept = out.drop = true;
		} else if (name == "jump" || name == "goto") {
			const std::string family = family_, table = table_;

			out = outcome(family, table,
				      word(member(value, "target")), depth + 1);
			table_ = table;
			family_ = family;
			/*
			 * After "goto" the caller of this chain goes on. What
			 * is left of this chain does not count then, which is
			 * taken for possible here.
			 */
			out.pass = out.pass || name == "goto";
		} else {
			/* "return": the same holds. */
			out.pass = true;
		}
		if (matches != Truth::yes)
			out.pass = true;
		return out;
	}

	Outcome of_map(const Json &value, Truth matches, unsigned int depth)
	{
		const Json &list = member(member(value, "data"), "set");
		Outcome out;
		bool certain = false;

		for (const Json &entry :
		     list.is_array() ? list : Json::array()) {
			if (!entry.is_array() || entry.size() != 2 ||
			    !entry[1].is_object() || entry[1].empty())
				continue;
			const Truth t = std::min(
				matches, is(member(value, "key"), entry[0]));

			if (t == Truth::no)
				continue;
			const Outcome o =
				of_verdict(entry[1].begin().key(),
					   entry[1].begin().value(), t, depth);

			out.accept |= o.accept;
			out.drop |= o.drop;
			out.pass |= o.pass;
			certain |= t == Truth::yes;
		}
		out.pass |= !certain;
		return out;
	}

	Truth match(const Json &m)
	{
		const std::string op = word(member(m, "op"));
		const Json &left = member(m, "left");
		const Json &right = member(m, "right");

		if (op == "==" || op == "in")
			return is(left, right);
		if (op == "!=")
			return negated(is(left, right));
		return Truth::maybe;
	}

	/* Whether the packet's value of @left is @right, or in it. */
	Truth is(const Json &left, const Json &right)
	{
		if (right.is_string() && word(right).starts_with('@'))
			return in_set(left, word(right).substr(1));
		if (const Json &set = member(right, "set"); set.is_array())
			return in_list(left, set);
		if (right.is_array())
			return in_list(left, right);
		const Json &payload = member(left, "payload");
		const Json &meta = member(left, "meta");
		const Json &ct = member(left, "ct");

		if (payload.is_object())
			return payload_is(word(member(payload, "protocol")),
					  word(member(payload, "field")),
					  right);
		if (meta.is_object())
			return meta_is(word(member(meta, "key")), right);
		/*
		 * A peer's packets have source ports that packets to it do not
		 * answer, so that the first of each path is new.
		 */
		if (word(member(ct, "key")) == "state" && right.is_string())
			return word(right) == "new" ? Truth::yes : Truth::no;
		return Truth::maybe;
	}

	Truth in_list(const Json &left, const Json &list)
	{
		Truth t = Truth::no;

		for (const Json &value : list)
			t = either(t, is(left, value));
		return t;
	}

	Truth in_set(const Json &left, const std::string &name)
	{
		for (const Json &o : objects_) {
			const Json &set = member(o, "set");

			if (!set.is_object() ||
			    word(member(set, "name")) != name ||
			    word(member(set, "table")) != table_ ||
			    word(member(set, "family")) != family_)
				continue;
			const Json &elem = member(set, "elem");

			return elem.is_array() ? in_list(left, elem)
					       : Truth::no;
		}
		return Truth::maybe;
	}

	Truth payload_is(const std::string &protocol, const std::string &field,
			 const Json &right) const
	{
		if ((protocol == "udp" || protocol == "th") && field == "dport")
			return port_is(right);
		if ((protocol == "ip" && field == "protocol") ||
		    (protocol == "ip6" && field == "nexthdr"))
			return udp_is(right);
		static const std::set<std::string> others{
			"tcp", "icmp", "icmpv6",  "sctp", "dccp", "esp",
			"ah",  "comp", "udplite", "igmp", "arp"};

		return others.contains(protocol) ? Truth::no : Truth::maybe;
	}

	Truth port_is(const Json &right) const
	{
		const Json &range = member(right, "range");

		if (right.is_number_unsigned())
			return right.get<uint64_t>() == udp_port_ ? Truth::yes
								  : Truth::no;
		if (range.is_array() && range.size() == 2 &&
		    range[0].is_number_unsigned() &&
		    range[1].is_number_unsigned())
			return range[0].get<uint64_t>() <= udp_port_ &&
					       udp_port_ <=
						       range[1].get<uint64_t>()
				       ? Truth::yes
				       : Truth::no;
		return Truth::maybe;
	}

	static Truth udp_is(const Json &right)
	{
		if (right.is_number_unsigned())
			return right.get<uint64_t>() == 17 ? Truth::yes
							   : Truth::no;
		if (right.is_string())
			return word(right) == "udp" ? Truth::yes : Truth::no;
		return Truth::maybe;
	}

	Truth meta_is(const std::string &key, const Json &right) const
	{
		const bool mine = way_ == Way::in
					  ? key == "iifname" || key == "iif"
					  : key == "oifname" || key == "oif";
		std::string name = word(right);

		if (key == "l4proto")
			return udp_is(right);
		if (!mine || name.empty())
			return Truth::maybe;
		if (name.ends_with('*')) {
			name.pop_back();
			return netdev_.starts_with(name) ? Truth::yes
							 : Truth::no;
		}
		return name == netdev_ ? Truth::yes : Truth::no;
	}

	const Json &objects_;
	const Way way_;
	const std::string netdev_;
	const uint64_t udp_port_;
	unsigned int rules_ = 0;
	/* Of the rule that is looked at: sets belong to a table. */
	std::string family_, table_;
};
} // namespace

Passage passage(const Json &ruleset, Way way, const std::string &netdev,
		uint64_t udp_port)
{
	return Firewall(ruleset, way, netdev, udp_port).worst();
}
} // namespace mrcctl::doctor

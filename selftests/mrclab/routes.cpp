// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "routes.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include <arpa/inet.h>

#include "ip_commands.hpp"
#include "text.hpp"

namespace mrclab
{
namespace
{
using Words = std::vector<std::string>;

[[noreturn]] void fail(const std::string &what)
{
	throw std::runtime_error(what);
}

/* Takes words from the front. */
class Reader
{
public:
	explicit Reader(Words words) : words_(std::move(words)) {}

	bool end() const { return at_ == words_.size(); }
	std::string next()
	{
		if (end())
			fail("a word is missing");
		return words_[at_++];
	}
	bool skip(const std::string &w)
	{
		if (end() || words_[at_] != w)
			return false;
		at_++;
		return true;
	}
	void want(const std::string &w)
	{
		if (!skip(w))
			fail("\"" + w + "\" is missing");
	}

private:
	Words words_;
	std::size_t at_ = 0;
};

/* "via" and "dev", in this order; "via inet6" for another family. */
Hop hop(Reader &r)
{
	Hop h;

	if (r.skip("via")) {
		r.skip("inet6");
		h.via = address(r.next());
	}
	r.want("dev");
	h.dev = r.next();
	return h;
}

/* What End with next-csid does: the next uSID takes the place of this one. */
void shift(Address &dst)
{
	constexpr int lblen = 4, nflen = 2;

	if (std::all_of(dst.begin() + lblen + nflen, dst.end(),
			[](uint8_t b) { return b == 0; }))
		fail("the list of uSIDs ends at a switch");
	std::copy(dst.begin() + lblen + nflen, dst.end(), dst.begin() + lblen);
	std::fill(dst.end() - nflen, dst.end(), 0);
}

const Route *lookup(const NodeState &n, const Address &dst,
		    const std::function<bool(const Route &)> &usable)
{
	const Route *best = nullptr;

	for (const Route &r : n.routes) {
		if (!r.to.has(dst) || !usable(r))
			continue;
		if (!best || r.to.length > best->to.length ||
		    (r.to.length == best->to.length && r.metric < best->metric))
			best = &r;
	}
	return best;
}

bool has_address(const NodeState &n, const Address &a)
{
	for (const auto &[name, dev] : n.netdevs)
		for (const Prefix &p : dev.addresses)
			if (p.bits == a)
				return true;
	return false;
}
} // namespace

Address address(const std::string &text)
{
	const bool six = text.find(':') != std::string::npos;
	Address a(six ? 16 : 4);

	if (inet_pton(six ? AF_INET6 : AF_INET, text.c_str(), a.data()) != 1)
		fail("\"" + text + "\" is no address");
	return a;
}

std::string text_of(const Address &a)
{
	char text[INET6_ADDRSTRLEN];

	if (a.empty())
		return "none";
	inet_ntop(a.size() == 4 ? AF_INET : AF_INET6, a.data(), text,
		  sizeof(text));
	return text;
}

bool Prefix::has(const Address &a) const
{
	if (a.size() != bits.size())
		return false;
	for (unsigned int i = 0; i < length; i++)
		if ((a[i / 8] ^ bits[i / 8]) & (0x80 >> i % 8))
			return false;
	return true;
}

Prefix prefix(const std::string &text)
{
	const std::size_t slash = text.find('/');
	Prefix p;

	p.bits = address(text.substr(0, slash));
	p.length = static_cast<unsigned int>(
		slash == std::string::npos
			? p.bits.size() * 8
			: std::stoul(text.substr(slash + 1)));
	if (p.length > p.bits.size() * 8)
		fail("\"" + text + "\" is no prefix");
	return p;
}

Network::Network(const Topology &t, const std::set<Direction> &down)
{
	std::istringstream links(link_commands(t));
	std::string line;

	while (std::getline(links, line))
		link(line, t.fabric().prefix);
	for (const Node &n : t.nodes()) {
		std::istringstream commands(node_commands(t, n, down));

		while (std::getline(commands, line))
			node(n.name, line);
	}
}

/* "link add name D netns N [mtu M] [address A] type T [peer ...]" */
void Network::link(const std::string &line, const std::string &namespaces)
try {
	Reader r(words_of(line));
	std::vector<std::pair<std::string, std::string>> ends;
	std::string type;

	for (const char *w : {"link", "add"})
		r.want(w);
	do {
		r.want("name");
		const std::string dev = r.next();

		r.want("netns");
		const std::string netns = r.next();

		if (netns.compare(0, namespaces.size(), namespaces) != 0)
			fail("namespace " + netns);

		const std::string name = netns.substr(namespaces.size());
		Netdev d;

		if (r.skip("mtu"))
			r.next();
		if (r.skip("address"))
			d.mac = r.next();
		if (!nodes_[name].netdevs.emplace(dev, d).second)
			fail("netdev " + dev + " twice in " + name);
		ends.emplace_back(name, dev);
		if (r.skip("type"))
			type = r.next();
	} while (r.skip("peer"));
	if (!r.end() || (type != "dummy" && type != "veth") ||
	    ends.size() != (type == "veth" ? 2 : 1))
		fail("what is this?");
	for (std::size_t i = 0; i < ends.size() && type == "veth"; i++) {
		const auto &peer = ends[1 - i];

		nodes_[ends[i].first].netdevs[ends[i].second].peer =
			peer.first + ":" + peer.second;
	}
} catch (const std::runtime_error &e) {
	fail(line + ": " + e.what());
}

void Network::node(const std::string &name, const std::string &line)
try {
	NodeState &n = nodes_.at(name);
	Reader r(words_of(line));
	const std::string object = r.next();
	const auto netdev = [&n](const std::string &dev) -> Netdev & {
		const auto i = n.netdevs.find(dev);

		if (i == n.netdevs.end())
			fail("no netdev " + dev);
		return i->second;
	};

	if (object == "link") {
		r.want("set");
		const std::string dev = r.next();

		r.want("up");
		if (dev == "lo")
			n.netdevs[dev];
		netdev(dev).up = true;
	} else if (object == "addr") {
		r.want("replace");
		const Prefix a = prefix(r.next());

		r.want("dev");
		netdev(r.next()).addresses.push_back(a);
		if (r.skip("scope"))
			r.want("link");
		r.skip("nodad");
	} else if (object == "neigh") {
		r.want("replace");
		const Address a = address(r.next());

		r.want("lladdr");
		const std::string mac = r.next();

		r.want("dev");
		netdev(r.next()).neighbours[a] = mac;
		r.want("nud");
		r.want("permanent");
	} else if (object == "route") {
		Words rest;

		while (!r.end())
			rest.push_back(r.next());
		route(n, rest);
	} else {
		fail("object " + object);
	}
	if (!r.end())
		fail("\"" + r.next() + "\" is too much");
} catch (const std::runtime_error &e) {
	fail(name + ": " + line + ": " + e.what());
}

void Network::route(NodeState &n, std::vector<std::string> words)
{
	Reader r(std::move(words));
	Route to;

	r.want("replace");
	if (r.skip("local"))
		to.kind = Route::Kind::local;
	to.to = prefix(r.next());
	if (r.skip("encap")) {
		for (const char *w :
		     {"seg6local", "action", "End", "flavors", "next-csid",
		      "lblen", "32", "nflen", "16"})
			r.want(w);
		to.kind = Route::Kind::end;
	}
	while (r.skip("nexthop"))
		to.hops.push_back(hop(r));
	if (to.hops.empty())
		to.hops.push_back(hop(r));
	r.skip("onlink");
	if (r.skip("src"))
		to.src = address(r.next());
	if (r.skip("metric"))
		to.metric = static_cast<uint32_t>(std::stoul(r.next()));
	if (!r.end())
		fail("\"" + r.next() + "\" is too much");
	for (const Hop &h : to.hops)
		if (!n.netdevs.contains(h.dev) || !n.netdevs.at(h.dev).up)
			fail("netdev " + h.dev + " is not up");
	for (const Route &old : n.routes)
		if (old.to.bits == to.to.bits &&
		    old.to.length == to.to.length && old.metric == to.metric)
			fail("this route was there");
	n.routes.push_back(to);
}

std::vector<std::string> Network::follow(const std::string &host,
					 const std::string &netdev,
					 Address &dst,
					 const Choose &choose) const
{
	constexpr int hop_limit = 64;
	std::vector<std::string> path;
	std::string at = host;

	for (int i = 0; i < hop_limit; i++) {
		const NodeState &n = nodes_.at(at);
		bool ended = false;
		const Route *r = nullptr;

		if (i > 0 && has_address(n, dst))
			return path;
		for (;;) {
			/* The first netdev is given, as a plane's is. */
			r = lookup(n, dst, [&](const Route &c) {
				if (i == 0)
					return c.hops[0].dev == netdev;
				/* Linux takes no netdev "lo" behind End. */
				return !ended || c.hops[0].dev != "lo";
			});
			if (!r || r->kind != Route::Kind::end)
				break;
			if (ended)
				fail(at + ": its own uSID twice");
			shift(dst);
			ended = true;
		}
		if (!r)
			fail(at + ": no route to " + text_of(dst));
		if (r->kind == Route::Kind::local)
			return path;

		const Hop &h = r->hops[choose(r->hops.size())];
		const Netdev &out = n.netdevs.at(h.dev);
		const auto mac = out.neighbours.find(h.via);

		path.push_back(at + ":" + h.dev);
		if (mac == out.neighbours.end())
			fail(path.back() + ": no neighbour " + text_of(h.via));
		at = out.peer.substr(0, out.peer.find(':'));

		const Netdev &in = nodes_.at(at).netdevs.at(
			out.peer.substr(out.peer.find(':') + 1));

		if (!in.up || in.mac != mac->second)
			fail(path.back() + ": nobody has " + mac->second);
	}
	fail("it goes round and round");
}
} // namespace mrclab

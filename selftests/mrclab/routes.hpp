/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A network that consists of nothing but the commands for its nodes. It reads
 * them as ip(8) does, as far as mrclab uses it, and throws std::runtime_error
 * for a word that it does not know.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "topology.hpp"

namespace mrclab
{
/* 4 or 16 bytes, from the text. */
using Address = std::vector<uint8_t>;
Address address(const std::string &text);
std::string text_of(const Address &a);

struct Prefix {
	Address bits;
	unsigned int length = 0;

	bool has(const Address &a) const;
};
/* "A/N", or an address alone. */
Prefix prefix(const std::string &text);

struct Hop {
	Address via;
	std::string dev;
};

struct Route {
	enum class Kind { local, end, via } kind = Kind::via;
	Prefix to;
	std::vector<Hop> hops; /* several: one of them by a hash */
	Address src;
	uint32_t metric = 0;
};

struct Netdev {
	std::string mac;
	std::string peer; /* NODE:NETDEV */
	bool up = false;
	std::vector<Prefix> addresses;
	std::map<Address, std::string> neighbours; /* and their MACs */
};

struct NodeState {
	std::map<std::string, Netdev> netdevs;
	std::vector<Route> routes;
};

class Network
{
public:
	/* Runs all commands. Netdevs in @down stay down. */
	explicit Network(const Topology &t,
			 const std::set<Direction> &down = {});

	const std::map<std::string, NodeState> &nodes() const { return nodes_; }

	/* Which of several next hops a packet takes. */
	using Choose = std::function<std::size_t(std::size_t count)>;
	/*
	 * The directions that a packet takes from a host's netdev to where it
	 * is delivered, as names. Throws if it is dropped. @dst is what it has
	 * at the end.
	 */
	std::vector<std::string> follow(const std::string &host,
					const std::string &netdev, Address &dst,
					const Choose &choose) const;

private:
	void link(const std::string &line, const std::string &prefix);
	void node(const std::string &name, const std::string &line);
	void route(NodeState &n, std::vector<std::string> words);

	std::map<std::string, NodeState> nodes_;
};
} // namespace mrclab

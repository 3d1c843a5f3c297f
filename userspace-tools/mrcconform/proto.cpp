// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "proto.hpp"

#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "error.hpp"

namespace mrcconform
{
namespace
{
using nlohmann::json;

constexpr uint64_t u24 = 0xFFFFFF;
constexpr uint64_t u32 = 0xFFFFFFFF;
constexpr uint64_t u64 = UINT64_MAX;
constexpr uint64_t max_wait_ms = 10'000;

constexpr const char *states[] = {"reset", "init", "rtr", "rts", "error"};

/*
 * One description of each request serves both directions: a Reader takes the
 * members from JSON and checks them, a Writer puts them there.
 */
class Reader
{
public:
	explicit Reader(const json &j) : j_(j) { seen_.insert("op"); }

	template <typename T>
	void number(const char *name, T &out, uint64_t max, uint64_t min = 0)
	{
		const json &v = member(name);

		if (!v.is_number_unsigned() || v.get<uint64_t>() < min ||
		    v.get<uint64_t>() > max)
			throw FormatError(fmt::format(
				"'{}' must be a number from {} to {}", name,
				min, max));
		out = static_cast<T>(v.get<uint64_t>());
	}
	void flag(const char *name, bool &out)
	{
		const json &v = member(name);

		if (!v.is_boolean())
			throw FormatError(fmt::format(
				"'{}' must be true or false", name));
		out = v.get<bool>();
	}
	void state(const char *name, State &out)
	{
		out = state_named(text(name));
	}
	void address(const char *name, Address &out)
	{
		try {
			out = Address::parse(text(name));
		} catch (const UsageError &e) {
			throw FormatError(e.what());
		}
	}
	void bytes(const char *name, Bytes &out) { out = from_hex(text(name)); }
	void finish() const
	{
		for (const auto &[name, value] : j_.items())
			if (!seen_.contains(name))
				throw FormatError(fmt::format(
					"unknown member '{}'", name));
	}

private:
	const json &member(const char *name)
	{
		const auto it = j_.find(name);

		seen_.insert(name);
		if (it == j_.end())
			throw FormatError(
				fmt::format("member '{}' is missing", name));
		return *it;
	}
	std::string text(const char *name)
	{
		const json &v = member(name);

		if (!v.is_string())
			throw FormatError(
				fmt::format("'{}' must be a string", name));
		return v.get<std::string>();
	}

	const json &j_;
	std::set<std::string> seen_;
};

class Writer
{
public:
	explicit Writer(json &j) : j_(j) {}

	template <typename T>
	void number(const char *name, const T &v, uint64_t, uint64_t = 0)
	{
		j_[name] = static_cast<uint64_t>(v);
	}
	void flag(const char *name, bool v) { j_[name] = v; }
	void state(const char *name, State v) { j_[name] = state_name(v); }
	void address(const char *name, const Address &v)
	{
		j_[name] = v.text();
	}
	void bytes(const char *name, const Bytes &v) { j_[name] = to_hex(v); }

private:
	json &j_;
};

/* The name of each request, and its members. R may be const. */
const char *name_of(const req::Hello &)
{
	return "hello";
}
const char *name_of(const req::MakeQp &)
{
	return "make_qp";
}
const char *name_of(const req::Modify &)
{
	return "modify";
}
const char *name_of(const req::Query &)
{
	return "query";
}
const char *name_of(const req::Recv &)
{
	return "recv";
}
const char *name_of(const req::Post &)
{
	return "post";
}
const char *name_of(const req::Poll &)
{
	return "poll";
}
const char *name_of(const req::Read &)
{
	return "read";
}
const char *name_of(const req::Write &)
{
	return "write";
}
const char *name_of(const req::Deregister &)
{
	return "deregister";
}
const char *name_of(const req::Events &)
{
	return "events";
}
const char *name_of(const req::Destroy &)
{
	return "destroy";
}

template <typename Io, typename R> void members(Io &io, R &r)
{
	using T = std::remove_const_t<R>;

	if constexpr (std::is_same_v<T, req::Hello>) {
		io.number("version", r.version, INT32_MAX);
		return;
	} else {
		if constexpr (!std::is_same_v<T, req::MakeQp>)
			io.number("qp", r.qp, u32);
	}
	if constexpr (std::is_same_v<T, req::MakeQp>) {
		io.address("local", r.local);
		io.address("peer", r.peer);
		io.number("peer_qpn", r.peer_qpn, u24);
		io.number("sq_psn", r.sq_psn, u24);
		io.number("rq_psn", r.rq_psn, u24);
		io.number("mtu", r.mtu, 4096, 256);
		io.number("timeout", r.timeout, 31);
		io.number("retry", r.retry, 7);
		io.number("recvs", r.recvs, 64);
		io.number("memory", r.memory, max_memory, 1);
		io.number("qp_access", r.qp_access, 7);
		io.number("mr_access", r.mr_access, 7);
		io.state("state", r.state);
	} else if constexpr (std::is_same_v<T, req::Modify>) {
		io.state("state", r.state);
	} else if constexpr (std::is_same_v<T, req::Recv>) {
		io.number("count", r.count, 64, 1);
	} else if constexpr (std::is_same_v<T, req::Post>) {
		io.number("id", r.id, u64);
		io.number("offset", r.offset, max_memory);
		io.number("length", r.length, max_memory);
		io.number("va", r.va, u64);
		io.number("rkey", r.rkey, u32);
		io.flag("imm", r.imm);
		io.number("imm_data", r.imm_data, u32);
		io.flag("solicited", r.solicited);
	} else if constexpr (std::is_same_v<T, req::Poll>) {
		io.number("want", r.want, 4096, 1);
		io.number("ms", r.ms, max_wait_ms);
	} else if constexpr (std::is_same_v<T, req::Read>) {
		io.number("offset", r.offset, max_memory);
		io.number("length", r.length, max_memory);
	} else if constexpr (std::is_same_v<T, req::Write>) {
		io.number("offset", r.offset, max_memory);
		io.bytes("data", r.data);
	} else if constexpr (std::is_same_v<T, req::Events>) {
		io.number("ms", r.ms, max_wait_ms);
	}
}

/* Tries each alternative of the variant. */
template <size_t I = 0> Request read_named(const std::string &op, const json &j)
{
	if constexpr (I < std::variant_size_v<Request>) {
		std::variant_alternative_t<I, Request> r;

		if (op != name_of(r))
			return read_named<I + 1>(op, j);

		Reader reader(j);

		members(reader, r);
		reader.finish();
		return r;
	}
	throw FormatError(fmt::format("unknown request '{}'", op));
}
} // namespace

Request parse_request(const std::string &line)
{
	const json j = json::parse(line, nullptr, false);

	if (!j.is_object())
		throw FormatError("not a JSON object");
	if (!j.contains("op") || !j["op"].is_string())
		throw FormatError("member 'op' is missing or no string");

	Request r = read_named(j["op"].get<std::string>(), j);

	if (const auto *m = std::get_if<req::MakeQp>(&r)) {
		if (m->mtu & (m->mtu - 1))
			throw FormatError(
				"'mtu' must be 256, 512, 1024, 2048 or 4096");
		if (m->local.v6() != m->peer.v6())
			throw FormatError("'local' and 'peer' must be of one "
					  "address family");
	}
	return r;
}

std::string format_request(const Request &request)
{
	json j;

	std::visit(
		[&](const auto &r) {
			Writer w(j);

			j["op"] = name_of(r);
			members(w, r);
		},
		request);
	return j.dump();
}

const char *state_name(State s)
{
	return states[static_cast<size_t>(s)];
}

State state_named(const std::string &name)
{
	for (size_t i = 0; i < std::size(states); i++)
		if (name == states[i])
			return static_cast<State>(i);
	throw FormatError(fmt::format("no state '{}'", name));
}
} // namespace mrcconform

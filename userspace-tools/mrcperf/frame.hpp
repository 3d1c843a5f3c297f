/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcperf: the protocol of the two programs over TCP. A frame is a header and
 * the fields of one of the structures below in sequence, with numbers in
 * network byte order. Received data is not trusted: the header is checked
 * before its length is used, every field is checked against its bounds, and the
 * fields must fill the frame exactly.
 */
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "error.hpp"
#include "options.hpp"

namespace mrcperf
{
constexpr uint32_t frame_magic = 0x4d524350; /* "MRCP" */
constexpr uint16_t frame_version = 1;
constexpr size_t frame_header = 12;
constexpr uint32_t max_payload = 64 * 1024;
constexpr size_t max_text = 1000;

enum class FrameType : uint16_t {
	hello = 1, /* client: parameters of the session */
	address,   /* both: own address */
	ready,	   /* both: packets may be sent */
	start,	   /* client: a run; server: memory is prepared */
	alive,	   /* client: still running */
	round,	   /* client: messages have arrived, check them */
	checked,   /* server: the number of wrong messages */
	done,	   /* client: the run is over */
	result,	   /* server: its results of the run */
	bye,	   /* client: end of the session */
	failed,	   /* both: the sender gave up */
	last = failed
};

struct FrameHeader {
	FrameType type;
	uint32_t length;
};

FrameHeader parse_header(const uint8_t *bytes);

/* Writes fields into a frame. */
class FieldWriter
{
public:
	explicit FieldWriter(FrameType type);

	template <typename T>
	void number(const T &v, uint64_t /*min*/, uint64_t /*max*/)
	{
		put(static_cast<uint64_t>(v), sizeof(T));
	}
	void text(const std::string &s);
	void bytes(const uint8_t *p, size_t n) { out_.append(chars(p), n); }
	template <typename T, typename F>
	void list(const std::vector<T> &v, uint32_t /*max*/, F each)
	{
		put(v.size(), 4);
		for (const T &entry : v)
			each(*this, const_cast<T &>(entry));
	}
	/* The whole frame. */
	std::string finish();

private:
	static const char *chars(const uint8_t *p)
	{
		return reinterpret_cast<const char *>(p);
	}
	void put(uint64_t v, size_t n);

	std::string out_;
};

/* Reads fields from a frame; throws ProtocolError if a field is invalid. */
class FieldReader
{
public:
	explicit FieldReader(const std::string &payload) : in_(payload) {}

	template <typename T> void number(T &v, uint64_t min, uint64_t max)
	{
		const uint64_t value = take(sizeof(T));

		if (value < min || value > max)
			bad_value();
		v = static_cast<T>(value);
	}
	void text(std::string &s);
	void bytes(uint8_t *p, size_t n);
	template <typename T, typename F>
	void list(std::vector<T> &v, uint32_t max, F each)
	{
		const uint64_t n = take(4);

		if (n > max)
			bad_value();
		v.clear();
		/* Grows with each entry, regardless of the announced number. */
		for (uint64_t i = 0; i < n; i++)
			each(*this, v.emplace_back());
	}
	void finish() const;

private:
	[[noreturn]] static void bad_value();
	uint64_t take(size_t n);

	const std::string &in_;
	size_t at_ = 0;
};

constexpr uint64_t any64 = std::numeric_limits<uint64_t>::max();
constexpr uint32_t any32 = std::numeric_limits<uint32_t>::max();

/* "Not set" for a number that may be 0. */
constexpr uint8_t unset8 = 0xff;

struct Hello {
	static constexpr FrameType type = FrameType::hello;
	uint64_t seed = 0;
	uint64_t largest = 1;
	uint32_t qps = 1;
	uint32_t depth = 1;
	uint32_t rx_depth = 1;
	uint32_t signal = 1;
	uint32_t list = 1;
	uint32_t inline_size = 0;
	uint32_t stall_ms = 0;
	uint16_t mtu = 0;
	uint8_t traffic_class = 0;
	uint8_t timeout = unset8;
	uint8_t linear = unset8;
	uint8_t exponential = unset8;
	uint8_t verify = 0;
	uint8_t events = 0;

	template <typename A> void fields(A &a)
	{
		a.number(seed, 0, any64);
		a.number(largest, 1, max_size);
		a.number(qps, 1, max_qps);
		a.number(depth, 1, max_depth);
		a.number(rx_depth, 1, max_rx_depth);
		a.number(signal, 1, max_depth);
		a.number(list, 1, max_list);
		a.number(inline_size, 0, max_inline);
		a.number(stall_ms, 100, 3600 * 1000);
		a.number(mtu, 0, 4096);
		a.number(traffic_class, 0, 255);
		a.number(timeout, 0, 255);
		a.number(linear, 0, 255);
		a.number(exponential, 0, 255);
		a.number(verify, 0, 1);
		a.number(events, 0, 1);
	}
	/* Checks beyond the bounds of single fields. */
	void check() const;
};

struct QpAddress {
	uint32_t qpn = 0;
	uint32_t psn = 0;
};

struct Address {
	static constexpr FrameType type = FrameType::address;
	std::array<uint8_t, 16> gid{};
	uint64_t base = 0;
	uint32_t rkey = 0;
	uint16_t mtu = 0;
	std::string device;
	std::vector<QpAddress> qps;

	template <typename A> void fields(A &a)
	{
		a.bytes(gid.data(), gid.size());
		a.number(base, 0, any64);
		a.number(rkey, 0, any32);
		a.number(mtu, 256, 4096);
		a.text(device);
		a.list(qps, max_qps, [](auto &b, QpAddress &qp) {
			b.number(qp.qpn, 0, 0xffffff);
			b.number(qp.psn, 0, 0xffffff);
		});
	}
};

struct Ready {
	static constexpr FrameType type = FrameType::ready;
	template <typename A> void fields(A &) {}
};

struct Start {
	static constexpr FrameType type = FrameType::start;
	uint32_t run = 0;
	Kind test = Kind::bw;
	Op op = Op::write;
	uint64_t size = 0;

	template <typename A> void fields(A &a)
	{
		a.number(run, 0, any32);
		a.number(test, 1, 3);
		a.number(op, 1, 2);
		a.number(size, 1, max_size);
	}
};

struct Alive {
	static constexpr FrameType type = FrameType::alive;
	template <typename A> void fields(A &) {}
};

/* Messages @first to @first + @count - 1 of every queue pair have arrived. */
struct Round {
	static constexpr FrameType type = FrameType::round;
	uint64_t first = 0;
	uint32_t count = 0;

	template <typename A> void fields(A &a)
	{
		a.number(first, 0, any64);
		a.number(count, 1, max_depth);
	}
};

struct Checked {
	static constexpr FrameType type = FrameType::checked;
	uint64_t messages = 0;
	uint64_t bad = 0;

	template <typename A> void fields(A &a)
	{
		a.number(messages, 0, any64);
		a.number(bad, 0, any64);
	}
};

/* Messages that were sent in the run, for each queue pair. */
struct Done {
	static constexpr FrameType type = FrameType::done;
	std::vector<uint64_t> sent;

	template <typename A> void fields(A &a)
	{
		a.list(sent, max_qps,
		       [](auto &b, uint64_t &n) { b.number(n, 0, any64); });
	}
};

/* The results of the whole run, including those in Checked. */
struct Result {
	static constexpr FrameType type = FrameType::result;
	uint64_t checked = 0;
	uint64_t bad = 0;
	std::string first_bad;

	template <typename A> void fields(A &a)
	{
		a.number(checked, 0, any64);
		a.number(bad, 0, any64);
		a.text(first_bad);
	}
};

struct Bye {
	static constexpr FrameType type = FrameType::bye;
	template <typename A> void fields(A &) {}
};

struct Failed {
	static constexpr FrameType type = FrameType::failed;
	std::string why;

	template <typename A> void fields(A &a) { a.text(why); }
};

struct Frame {
	FrameType type = FrameType::bye;
	std::string payload;
};

template <typename T> std::string encode(const T &message)
{
	FieldWriter w(T::type);

	/* fields() serves both reading and writing; writing changes no field.
	 */
	const_cast<T &>(message).fields(w);
	return w.finish();
}

template <typename T> T decode(const Frame &frame)
{
	T message;
	FieldReader r(frame.payload);

	if (frame.type != T::type)
		throw ProtocolError("the peer is out of step");
	message.fields(r);
	r.finish();
	return message;
}
} // namespace mrcperf

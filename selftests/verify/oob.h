/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_verify: coordination of the two programs over TCP.
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "options.h"

enum class Msg : uint32_t {
	hello = 1,
	conn,	 /* connection data of QPs */
	barrier, /* u32 tag */
	sent,	 /* {u32 qp, u64 count}: completed at the sender */
	credit,	 /* {u32 qp, u64 count}: verified at the receiver */
	total,	 /* {u32 qp, u64 count}: there will be so many */
	stop,	 /* time is over, before its time */
	fin,
	reset,	/* hostile test: put your QP back to work */
	life,	/* hostile test: begin with new objects */
	over,	/* hostile test: that was it for these objects */
	failed, /* text: this side gives up */
};

struct QpCount {
	uint32_t qp;
	uint32_t reserved;
	uint64_t count;
};

/* A framed TCP connection. Throws Failure when the peer is gone. */
class Oob
{
public:
	static Oob listen_accept(const LocalOptions &l);
	static Oob connect(const LocalOptions &l);
	Oob(Oob &&o) noexcept : fd_(o.fd_), in_(std::move(o.in_))
	{
		o.fd_ = -1;
	}
	Oob(const Oob &) = delete;
	Oob &operator=(const Oob &) = delete;
	~Oob();

	int fd() const { return fd_; }

	void send(Msg type, const void *data, size_t len);
	void send(Msg type, const std::string &s)
	{
		send(type, s.data(), s.size());
	}
	void send(Msg type) { send(type, nullptr, 0); }

	template <typename T> void send_pod(Msg type, const T &v)
	{
		static_assert(std::is_trivially_copyable_v<T>);
		send(type, &v, sizeof(v));
	}

	template <typename T> void send_vec(Msg type, const std::vector<T> &v)
	{
		static_assert(std::is_trivially_copyable_v<T>);
		send(type, v.data(), v.size() * sizeof(T));
	}

	struct Frame {
		Msg type;
		std::string data;

		template <typename T> T pod() const
		{
			T v;

			check_size(sizeof(T));
			std::memcpy(&v, data.data(), sizeof(v));
			return v;
		}

	private:
		void check_size(size_t want) const;
	};

	/* The next frame if one is there; "failed" frames throw. */
	std::optional<Frame> poll();
	/* Waits for a frame. */
	Frame next(double timeout_s = 60);
	/* Waits for a frame of this type, any other is a Failure. */
	std::string expect(Msg type, double timeout_s = 60);

	template <typename T>
	std::vector<T> expect_vec(Msg type, size_t n, double timeout_s = 60)
	{
		std::string s = expect(type, timeout_s);
		std::vector<T> v(n);

		static_assert(std::is_trivially_copyable_v<T>);
		if (s.size() != n * sizeof(T))
			bad_size();
		if (n)
			std::memcpy(v.data(), s.data(), s.size());
		return v;
	}

	/* Both sides have come this far. */
	void barrier(uint32_t tag, double timeout_s = 60);

private:
	explicit Oob(int fd);
	[[noreturn]] static void bad_size();
	bool fill(int timeout_ms);

	int fd_;
	std::string in_;
};

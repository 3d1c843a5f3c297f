/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcperf: the TCP connection between the two programs. */
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "frame.hpp"

namespace mrcperf
{
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/* Frames over a connected stream socket, which it owns. Throws RunError. */
class Link
{
public:
	explicit Link(int fd);
	Link(const Link &) = delete;
	Link &operator=(const Link &) = delete;
	Link(Link &&o) noexcept;
	Link &operator=(Link &&) = delete;
	~Link();

	int fd() const { return fd_; }

	/* How long to wait for frames, and for the peer to take some. */
	void set_patience(Seconds patience) { patience_ = patience; }
	Seconds patience() const { return patience_; }

	template <typename T> void send(const T &message)
	{
		send_bytes(encode(message));
	}

	/*
	 * The last thing to say. Waits up to a second for the peer to close,
	 * and drops what it still sends: a socket that is closed with bytes
	 * unread resets the connection, and what was said may be lost.
	 */
	template <typename T> void send_last(const T &message)
	{
		send(message);
		finish();
	}

	/*
	 * Waits for the next frame. Here and below one by which the peer says
	 * that it failed is thrown as PeerFailed.
	 */
	Frame next();
	template <typename T> T expect() { return decode<T>(next()); }
	/* Is a frame there? Does not wait; throws if none will come. */
	bool pending();

private:
	void send_bytes(const std::string &bytes);
	void finish();
	bool complete() const;
	void read_some();
	/* @events of poll(2). False: time is up. */
	bool wait(short events, Clock::time_point end) const;

	int fd_;
	Seconds patience_{10};
	bool eof_ = false;
	std::string in_;
};

/* Waits for the server to listen, as long as it may take. */
Link connect_to(const std::string &host, uint16_t port, Seconds timeout);

/*
 * Listens on every address that @bind means, or on all: then the port must be free
 * in both families.
 */
class Listener
{
public:
	Listener(const std::string &bind, uint16_t port);
	Listener(const Listener &) = delete;
	Listener &operator=(const Listener &) = delete;
	~Listener();

	/* Whichever comes first; @who becomes its address. */
	Link accept(std::string &who);

private:
	void close_all();

	std::vector<int> fds_;
};
} // namespace mrcperf

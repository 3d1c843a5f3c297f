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

/* Frames over a connected stream socket. Owns the socket. Throws RunError. */
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

	/* The timeout for frames from the peer, and for the peer to accept
	 * frames.
	 */
	void set_patience(Seconds patience) { patience_ = patience; }
	Seconds patience() const { return patience_; }

	template <typename T> void send(const T &message)
	{
		send_bytes(encode(message));
	}

	/*
	 * Sends the last frame. Waits up to a second for the peer to close, and
	 * discards data that the peer still sends: closing a socket with unread
	 * data resets the connection, and the last frame might be lost.
	 */
	template <typename T> void send_last(const T &message)
	{
		send(message);
		finish();
	}

	/*
	 * Waits for the next frame. This and the functions below throw
	 * PeerFailed if the frame says that the peer failed.
	 */
	Frame next();
	template <typename T> T expect() { return decode<T>(next()); }
	/* Whether a frame is there. Does not wait; throws if none can come. */
	bool pending();

private:
	void send_bytes(const std::string &bytes);
	void finish();
	bool complete() const;
	void read_some();
	/* @events of poll(2). Returns false when the time is up. */
	bool wait(short events, Clock::time_point end) const;

	int fd_;
	Seconds patience_{10};
	bool eof_ = false;
	std::string in_;
};

/* Waits until the server listens, at most @timeout. */
Link connect_to(const std::string &host, uint16_t port, Seconds timeout);

/*
 * Listens on every address of @bind, or on all addresses: then the port must be
 * free in both address families.
 */
class Listener
{
public:
	Listener(const std::string &bind, uint16_t port);
	Listener(const Listener &) = delete;
	Listener &operator=(const Listener &) = delete;
	~Listener();

	/* Accepts the first connection; sets @who to its address. */
	Link accept(std::string &who);

private:
	void close_all();

	std::vector<int> fds_;
};
} // namespace mrcperf

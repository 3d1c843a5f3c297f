/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcbench: the control connection between client and server. */
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace mrcbench
{
using Message = nlohmann::json;

/* The timeout for the peer to make queue pairs, or to report an error. */
constexpr double setup_seconds = 60;

/*
 * Messages of JSON, each after its length in four bytes, over a connected
 * stream socket. Owns the socket. The peer is not trusted: lengths are limited,
 * and invalid JSON or an unexpected message is a RunError.
 */
class Talk
{
public:
	static constexpr uint32_t max_length = 1u << 20;

	explicit Talk(int fd) : fd_(fd) {}
	Talk(const Talk &) = delete;
	Talk &operator=(const Talk &) = delete;
	Talk(Talk &&o) noexcept;
	Talk &operator=(Talk &&) = delete;
	~Talk();

	int fd() const { return fd_; }
	void send(const Message &message) const;
	/* @seconds: the timeout. */
	Message receive(double seconds) const;

private:
	void read_all(char *to, size_t length, double seconds) const;

	int fd_;
};

/* Required members, of the right type and within limits. */
uint64_t number_in(const Message &m, const char *key, uint64_t max);
std::string text_in(const Message &m, const char *key);
} // namespace mrcbench

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcbench: what client and server say to each other beside the traffic. */
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace mrcbench
{
using Message = nlohmann::json;

/*
 * Messages of JSON, each after its length in four bytes, over a connected
 * stream socket that it owns. The peer is not trusted: lengths are bounded, and
 * what is no JSON, or is not what was expected, is a RunError.
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
	/* @seconds: how long to wait. */
	Message receive(double seconds) const;

private:
	void read_all(char *to, size_t length, double seconds) const;

	int fd_;
};

/* What must be there, of the right type and within limits. */
uint64_t number_in(const Message &m, const char *key, uint64_t max);
std::string text_in(const Message &m, const char *key);
} // namespace mrcbench

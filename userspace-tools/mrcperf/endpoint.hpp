/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcperf: queue pairs and their memory, as the measuring code sees them. The
 * one behind it is in device.cpp; the tests have another one.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "frame.hpp"
#include "options.hpp"

namespace mrcperf
{
/* What it is made for. */
struct Setup {
	uint64_t memory = 0;
	uint32_t qps = 1;
	uint32_t depth = 1;
	uint32_t rx_depth = 1;
	uint32_t inline_size = 0;
	uint16_t mtu = 0; /* 0: no limit but the device's */
	uint8_t traffic_class = 0;
	std::optional<uint8_t> timeout;
	std::optional<Retry> retry;
	bool events = false;
};

struct SendRequest {
	uint64_t local = 0;  /* offset in the memory */
	uint64_t remote = 0; /* address at the peer */
	uint32_t length = 0;
	uint32_t imm = 0;
	uint32_t tag = 0; /* comes back with the completion */
	Op op = Op::write;
	bool signaled = false;
	bool inlined = false;
};

struct SendDone {
	uint32_t qp;
	uint32_t tag;
};

struct ReceiveDone {
	uint32_t qp;
	uint32_t imm;
	uint32_t length;
};

/* Failures, completions with an error among them, are thrown as RunError. */
class Endpoint
{
public:
	Endpoint() = default;
	Endpoint(const Endpoint &) = delete;
	Endpoint &operator=(const Endpoint &) = delete;
	virtual ~Endpoint() = default;

	/* Zeroes to begin with. */
	virtual std::span<uint8_t> memory() = 0;
	virtual Address address() = 0;
	/* From here on packets may come and go. */
	virtual void connect(const Address &peer, uint16_t mtu) = 0;

	virtual void post_sends(uint32_t qp,
				std::span<const SendRequest> list) = 0;
	virtual void post_receives(uint32_t qp, uint32_t count) = 0;
	/* How many there were, at most as many as there is room for. */
	virtual size_t poll_sends(std::span<SendDone> done) = 0;
	virtual size_t poll_receives(std::span<ReceiveDone> done) = 0;

	/*
	 * To sleep: arm, look again whether there are completions, then sleep
	 * until there are, until @fd is readable, or so long.
	 */
	virtual void arm() = 0;
	virtual void sleep(int fd, int ms) = 0;
};

using MakeEndpoint = std::function<std::unique_ptr<Endpoint>(const Setup &)>;
} // namespace mrcperf

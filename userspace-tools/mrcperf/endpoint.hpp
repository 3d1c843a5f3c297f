/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcperf: queue pairs and their memory, as the measuring code sees them. The
 * implementation for devices is in device.cpp; the tests have another one.
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
/* The parameters of an endpoint. */
struct Setup {
	uint64_t memory = 0;
	uint32_t qps = 1;
	uint32_t depth = 1;
	uint32_t rx_depth = 1;
	uint32_t inline_size = 0;
	uint16_t mtu = 0; /* 0: only the device's limit */
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
	uint32_t tag = 0; /* returned with the completion */
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

/* Errors, also in completions, are thrown as RunError. */
class Endpoint
{
public:
	Endpoint() = default;
	Endpoint(const Endpoint &) = delete;
	Endpoint &operator=(const Endpoint &) = delete;
	virtual ~Endpoint() = default;

	/* The memory is zero at first. */
	virtual std::span<uint8_t> memory() = 0;
	virtual Address address() = 0;
	/* After this call packets may be sent and received. */
	virtual void connect(const Address &peer, uint16_t mtu) = 0;

	virtual void post_sends(uint32_t qp,
				std::span<const SendRequest> list) = 0;
	virtual void post_receives(uint32_t qp, uint32_t count) = 0;
	/* Return the number of completions, at most as many as fit into @done.
	 */
	virtual size_t poll_sends(std::span<SendDone> done) = 0;
	virtual size_t poll_receives(std::span<ReceiveDone> done) = 0;

	/*
	 * To sleep: arm, check again for completions, then sleep until there is
	 * a completion, until @fd is readable, or until the time is over.
	 */
	virtual void arm() = 0;
	virtual void sleep(int fd, int ms) = 0;
};

using MakeEndpoint = std::function<std::unique_ptr<Endpoint>(const Setup &)>;
} // namespace mrcperf

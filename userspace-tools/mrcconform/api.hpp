/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcconform: the libraries by which the target makes queue pairs: verbs, or
 * libMRC. */
#pragma once

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "error.hpp"

namespace mrcconform
{
constexpr uint32_t send_depth = 64;
constexpr uint32_t recv_depth = 64;

/* What calls that return a pointer, and calls that return an errno value, say.
 */
template <typename T> T *check(T *p, const char *what)
{
	if (!p)
		fail_errno(what, errno);
	return p;
}

inline void check(int ret, const char *what)
{
	if (ret)
		fail_errno(what, ret);
}

/* Of the events of a queue pair: as in verbs, without the prefix. */
const char *event_name(ibv_event_type e);

template <auto give_back> struct Deleter {
	template <typename T> void operator()(T *p) const { give_back(p); }
};
using Context = std::unique_ptr<ibv_context, Deleter<ibv_close_device>>;

/* A queue pair with completion queues of its own, in the words of verbs. */
class QueuePair
{
public:
	QueuePair() = default;
	QueuePair(const QueuePair &) = delete;
	QueuePair &operator=(const QueuePair &) = delete;
	virtual ~QueuePair() = default;

	virtual uint32_t qpn() const = 0;
	virtual void modify(const ibv_qp_attr &attr, int mask) = 0;
	virtual ibv_qp_state state() const = 0;
	virtual void post_recv(ibv_recv_wr &wr) = 0;
	virtual void post_send(ibv_send_wr &wr) = 0;
	/* Completions taken: 1 or 0. */
	virtual int poll(bool received, ibv_wc &wc) = 0;
	/*
	 * Removes and returns the asynchronous events. Waits up to @ms for the
	 * first one.
	 */
	virtual std::vector<std::string> events(uint32_t ms) = 0;
};

/* Makes queue pairs of an opened device. */
class Device
{
public:
	Device() = default;
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;
	virtual ~Device() = default;

	virtual ibv_context *context() const = 0;
	virtual std::unique_ptr<QueuePair> make_qp(ibv_pd *pd) = 0;
};

/* A library. Its devices may outlive a tester. */
class Api
{
public:
	Api() = default;
	Api(const Api &) = delete;
	Api &operator=(const Api &) = delete;
	virtual ~Api() = default;

	virtual std::shared_ptr<Device> open(ibv_device *device) = 0;
};

std::unique_ptr<Api> verbs_api();
/* Loads libMRC. Throws RunError if it lacks a function. */
std::unique_ptr<Api> mrc_api(const std::string &library);
} // namespace mrcconform

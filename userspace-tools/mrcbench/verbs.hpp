/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcbench: the queue pairs of one side. Uses only standard verbs, so that the
 * code is the same for every RDMA device.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "plans.hpp"
#include "talk.hpp"

namespace mrcbench
{
/* Verbs objects, destroyed in the right order. Throws RunError. */
template <auto destroy> struct Destroy {
	template <typename T> void operator()(T *object) const
	{
		destroy(object);
	}
};
template <typename T, auto destroy>
using Handle = std::unique_ptr<T, Destroy<destroy>>;

/* Throws RunError. */
ibv_context *open_device(const std::string &name);

class VerbsSide
{
public:
	/* @address: text of the GID to use, "" for the first one of the device.
	 */
	VerbsSide(const std::string &device, const std::string &address,
		  const Shape &shape, bool server);
	VerbsSide(const VerbsSide &) = delete;
	VerbsSide &operator=(const VerbsSide &) = delete;
	~VerbsSide();

	/* The data that the peer needs. */
	Message describe() const;
	/* Moves all queue pairs to RTS; posts receives if the operation needs
	 * them.
	 */
	void connect(const Message &peer);

	uint32_t qps() const { return static_cast<uint32_t>(qps_.size()); }
	uint32_t qp_of(uint32_t qp_num) const;
	/* Posts @count messages on queue pair @qp, the last one signalled. */
	void post(uint32_t qp, uint32_t count, bool signal);
	void post_receive(uint32_t qp);
	/* Takes completions without waiting. Throws for failed ones. */
	int take(std::span<ibv_wc> wc);
	/*
	 * The same, but waits as the shape demands, up to @seconds or until
	 * @also, a descriptor or -1, is readable.
	 */
	int wait(std::span<ibv_wc> wc, double seconds, int also);

	/* Memory that the peer writes to; holds one message of queue pair 0. */
	volatile uint8_t *inbox() { return memory_.data() + slots_ * size_; }
	/* Memory that is sent from. */
	uint8_t *outbox() { return memory_.data(); }
	uint32_t mtu() const { return mtu_; }
	bool receives() const { return receives_; }

private:
	struct Pages {
		explicit Pages(size_t size);
		Pages(const Pages &) = delete;
		Pages &operator=(const Pages &) = delete;
		~Pages();
		uint8_t *data() const { return start; }
		uint8_t *start;
		size_t size;
	};
	struct Remote {
		uint32_t qpn;
		uint32_t psn;
	};
	static size_t slots_for(const Shape &shape);
	int access() const;
	void find_gid(const std::string &address);
	void make_qp();
	void connect_qp(ibv_qp *qp, const Remote &remote,
			const union ibv_gid &gid, uint32_t psn);
	void arm();

	const Shape shape_;
	const bool receives_;
	const uint64_t size_;
	const size_t slots_;
	Pages memory_;
	Handle<ibv_context, ibv_close_device> verbs_;
	union ibv_gid gid_ {};
	uint8_t gid_index_ = 0;
	uint32_t mtu_ = 0;
	uint32_t inline_ = 0;
	uint8_t reads_ = 1; /* in flight on a queue pair */
	Handle<ibv_pd, ibv_dealloc_pd> pd_;
	Handle<ibv_mr, ibv_dereg_mr> mr_;
	Handle<ibv_comp_channel, ibv_destroy_comp_channel> channel_;
	Handle<ibv_cq, ibv_destroy_cq> cq_;
	std::vector<Handle<ibv_qp, ibv_destroy_qp>> qps_;
	std::vector<uint32_t> psns_;
	std::vector<std::pair<uint32_t, uint32_t>> numbers_; /* QPN to index */
	uint64_t remote_ = 0;
	uint32_t rkey_ = 0;
	std::vector<ibv_send_wr> list_;
	std::vector<ibv_sge> sges_;
	unsigned int events_ = 0;
};
} // namespace mrcbench

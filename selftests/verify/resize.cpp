// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: several threads change the size of the same queue. The library
 * has a lock there, programs that use the commands have none: entries must
 * neither get lost nor change places, whoever comes first.
 */
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <rdma/ib_user_verbs.h>
#include <rdma/mrc-abi.h>

#include "common.h"
#include "resize.h"

namespace
{
constexpr unsigned entries = 4096;
constexpr unsigned threads = 4;
constexpr unsigned rounds = 40;

/* The library has no part in these: header, command, and what is the driver's.
 */
class Command
{
public:
	explicit Command(uint32_t number) { hdr_.command = number; }

	template <typename T> void add(const T &part, size_t size = sizeof(T))
	{
		const auto *p = reinterpret_cast<const uint8_t *>(&part);

		body_.insert(body_.end(), p, p + size);
	}

	/* @resp_size: of the response that the command names */
	void run(Device &dev, size_t resp_size, const char *what)
	{
		std::vector<uint8_t> m(sizeof(hdr_));

		hdr_.in_words = static_cast<uint16_t>(
			(sizeof(hdr_) + body_.size()) / 4);
		hdr_.out_words = static_cast<uint16_t>(resp_size / 4);
		std::memcpy(m.data(), &hdr_, sizeof(hdr_));
		m.insert(m.end(), body_.begin(), body_.end());
		if (write(dev.ctx()->cmd_fd, m.data(), m.size()) !=
		    static_cast<ssize_t>(m.size()))
			fail("%s: %s", what, std::strerror(errno));
	}

private:
	ib_uverbs_cmd_hdr hdr_{};
	std::vector<uint8_t> body_;
};

/* Where the new ring can be mapped. */
mrc_mmap_info resize_cq(Device &dev, uint32_t handle, uint32_t n)
{
	constexpr size_t common =
		offsetof(ib_uverbs_resize_cq_resp, driver_data);
	uint8_t resp[common + sizeof(mrc_resize_cq_resp)] = {};
	Command c(IB_USER_VERBS_CMD_RESIZE_CQ);
	ib_uverbs_resize_cq cmd{};
	mrc_resize_cq_resp mrc;

	cmd.response = reinterpret_cast<uintptr_t>(resp);
	cmd.cq_handle = handle;
	cmd.cqe = n;
	c.add(cmd, offsetof(ib_uverbs_resize_cq, driver_data));
	c.run(dev, sizeof(resp), "resizing a CQ");
	std::memcpy(&mrc, resp + common, sizeof(mrc));
	return mrc.cq;
}

mrc_mmap_info resize_srq(Device &dev, uint32_t handle, uint32_t n)
{
	Command c(IB_USER_VERBS_CMD_MODIFY_SRQ);
	ib_uverbs_modify_srq cmd{};
	mrc_modify_srq_resp resp{};
	mrc_modify_srq_req req{};

	cmd.srq_handle = handle;
	cmd.attr_mask = IBV_SRQ_MAX_WR;
	cmd.max_wr = n;
	req.resp_size = sizeof(resp);
	req.resp_addr = reinterpret_cast<uintptr_t>(&resp);
	c.add(cmd, offsetof(ib_uverbs_modify_srq, driver_data));
	c.add(req);
	c.run(dev, 0, "resizing an SRQ");
	return resp.srq;
}

/* In all threads at the same time; what one throws is thrown here. */
void everywhere(const std::function<void(unsigned)> &f)
{
	std::vector<std::exception_ptr> bad(threads);
	std::vector<std::jthread> all;

	for (unsigned t = 0; t < threads; t++)
		all.emplace_back([&, t] {
			try {
				f(t);
			} catch (...) {
				bad[t] = std::current_exception();
			}
		});
	all.clear();
	for (const std::exception_ptr &e : bad)
		if (e)
			std::rethrow_exception(e);
}

/* All entries are there in their order; the number comes first in each. */
void check_ring(Device &dev, const mrc_mmap_info &info, const char *what)
{
	void *mem = mmap(nullptr, info.size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 dev.ctx()->cmd_fd, static_cast<off_t>(info.offset));

	if (mem == MAP_FAILED)
		fail("%s: no ring: %s", what, std::strerror(errno));
	const auto *bytes = static_cast<const uint8_t *>(mem);
	mrc_ring_hdr hdr{};
	uint64_t first_bad = entries;

	std::memcpy(&hdr, bytes, sizeof(hdr));
	for (uint32_t i = 0; i < entries && first_bad == entries; i++) {
		uint32_t at = (hdr.cons + i) & (info.depth - 1);
		uint64_t wr_id;

		std::memcpy(&wr_id,
			    bytes + MRC_RING_HDR_SIZE +
				    static_cast<size_t>(at) * info.stride,
			    sizeof(wr_id));
		if (wr_id != i)
			first_bad = i;
	}
	munmap(mem, info.size);
	if (hdr.prod - hdr.cons != entries)
		fail("%s: %u of %u entries are left", what, hdr.prod - hdr.cons,
		     entries);
	if (first_bad != entries)
		fail("%s: entry %llu is not the one that was put there", what,
		     static_cast<unsigned long long>(first_bad));
}

/* Completions of receives that a QP in ERROR has flushed. */
void completion_queue(Session &s)
{
	Cq cq(s.dev, {.cqe = entries});
	Qp qp(s.dev, cq, cq, {.max_recv = entries});
	uint32_t handle = cq.get()->handle;

	qp.to_init();
	for (unsigned i = 0; i < entries; i++) {
		ibv_recv_wr wr{}, *bad = nullptr;

		wr.wr_id = i;
		int ret = ibv_post_recv(qp.get(), &wr, &bad);

		if (ret)
			fail("ibv_post_recv: %s", std::strerror(ret));
	}
	qp.to_error();
	everywhere([&](unsigned t) {
		for (unsigned i = 0; i < rounds; i++)
			resize_cq(s.dev, handle, entries << ((i + t) & 1));
	});
	check_ring(s.dev, resize_cq(s.dev, handle, entries), "the CQ");
}

void shared_receive_queue(Session &s)
{
	ibv_srq_init_attr a{};

	a.attr = {entries, 1, 0};
	ibv_srq *srq = ibv_create_srq(s.dev.pd(), &a);

	if (!srq)
		fail("ibv_create_srq: %s", std::strerror(errno));
	std::unique_ptr<ibv_srq, int (*)(ibv_srq *)> owner(srq,
							   ibv_destroy_srq);
	for (unsigned i = 0; i < entries; i++) {
		ibv_recv_wr wr{}, *bad = nullptr;

		wr.wr_id = i;
		int ret = ibv_post_srq_recv(srq, &wr, &bad);

		if (ret)
			fail("ibv_post_srq_recv: %s", std::strerror(ret));
	}
	everywhere([&](unsigned t) {
		for (unsigned i = 0; i < rounds; i++)
			resize_srq(s.dev, srq->handle,
				   entries << ((i + t) & 1));
	});
	check_ring(s.dev, resize_srq(s.dev, srq->handle, entries), "the SRQ");
}
} // namespace

void resize_from_threads(Session &s)
{
	if (!s.dev.is_mrc())
		return;
	completion_queue(s);
	shared_receive_queue(s);
}

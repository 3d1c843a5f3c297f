/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Objects of libMRC and of verbs that free themselves. Those that a test
 * expects not to get are made by calling the API itself.
 */
#pragma once

#include <memory>
#include <string>

#include <infiniband/verbs.h>
#include <mrc.h>

#include "tap.hpp"

/* Functions that free return an errno or set it. */
template <typename T, int (*Free)(T *)> struct Freed {
	void operator()(T *p) const
	{
		errno = 0;
		const int ret = Free(p);

		if (ret)
			teardown_failed(__PRETTY_FUNCTION__,
					ret > 0 ? ret : errno);
	}
};

template <typename T, int (*Free)(T *)>
using Owned = std::unique_ptr<T, Freed<T, Free>>;

using Context = Owned<mrc_context, mrc_destroy_context>;
using Channel = Owned<mrc_comp_channel, mrc_destroy_comp_channel>;
using Cq = Owned<mrc_cq, mrc_destroy_cq>;
using Hint = Owned<mrc_qp_hint, mrc_destroy_qp_hint>;
using Qp = Owned<mrc_qp, mrc_destroy_qp>;
using Verbs = Owned<ibv_context, ibv_close_device>;
using Pd = Owned<ibv_pd, ibv_dealloc_pd>;
using Mr = Owned<ibv_mr, ibv_dereg_mr>;

/* Throws what was wrong when there is no object. */
template <typename T> T *must(T *p, const char *what)
{
	if (!p)
		throw Failure(std::string(what) + ": " + errno_text(errno));
	return p;
}

/* The same for a return value of either family. */
void must(int ret, const char *what);

Verbs open_device(const std::string &name);

/* A program's share of a device: what most tests begin with. */
struct Node {
	explicit Node(const std::string &dev);

	std::string name;
	Verbs verbs;
	Context ctx;
	Pd pd;
	mrc_device_attr attr{};
	ibv_mtu mtu = IBV_MTU_256;
	ibv_gid gid{};
	int gid_index = 0;
};

Context make_context(ibv_context *verbs);
Cq make_cq(const Node &n, int cqe = 16, void *arg = nullptr,
	   mrc_comp_channel *channel = nullptr);
Channel make_channel(const Node &n);
/* At least one of everything, nothing asked for. */
mrc_qp_init_attr qp_init(const Node &n, mrc_cq *send_cq, mrc_cq *recv_cq);
Qp make_qp(const Node &n, const mrc_qp_init_attr &init);
Qp make_qp(const Node &n, mrc_cq *cq);
Hint make_hint(mrc_context *ctx);

uint32_t num(mrc_qp *qp);
ibv_qp_state state(mrc_qp *qp);

/* The three transitions as most programs make them, with the mask for them. */
constexpr int init_mask =
	IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int rtr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			 IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int rts_mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			 IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;

ibv_qp_attr init_attr();
ibv_qp_attr rtr_attr(const Node &n, const ibv_gid &to, uint32_t dest,
		     uint32_t psn = 0);
ibv_qp_attr rts_attr(uint32_t psn = 0);

/* Bring @qp there from RESET, connected to itself where it matters. */
void bring(const Node &n, mrc_qp *qp, ibv_qp_state to);
void set_state(mrc_qp *qp, ibv_qp_state to);

/* Memory of whole pages, with nothing mapped behind its last byte. */
class Pages
{
public:
	explicit Pages(size_t len);
	Pages(const Pages &) = delete;
	Pages &operator=(const Pages &) = delete;
	~Pages();

	uint8_t *data() const { return data_; }
	uint8_t *end() const { return data_ + len_; }
	size_t size() const { return len_; }

private:
	uint8_t *data_;
	size_t len_;
};

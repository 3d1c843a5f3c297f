/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What queue pairs of test programs need, whichever library they are made with:
 * memory, the attributes of their way up, and a WRITE.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <infiniband/verbs.h>

/* A protection domain with a buffer that peers may write to. */
class Memory
{
public:
	Memory(ibv_context *verbs, std::size_t size); /* throws Failure */
	Memory(const Memory &) = delete;
	Memory &operator=(const Memory &) = delete;
	~Memory();

	ibv_pd *pd() const { return pd_; }
	const ibv_mr *mr() const { return mr_; }

	std::vector<uint8_t> bytes;

private:
	ibv_pd *pd_;
	ibv_mr *mr_;
};

/* A signalled WRITE of the first @len bytes to the same place of the peer. */
struct Write {
	Write(const Memory &from, const Memory &to, uint32_t len);
	Write(const Write &) = delete;
	Write &operator=(const Write &) = delete;

	ibv_sge sge{};
	ibv_send_wr wr{};
};

constexpr int init_mask =
	IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int rtr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			 IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

ibv_qp_attr init_attr();
ibv_qp_attr rtr_attr(uint32_t dest, ibv_mtu mtu, uint8_t sgid_index,
		     const ibv_gid &dgid);

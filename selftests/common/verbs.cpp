// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "verbs.hpp"

#include "check.hpp"

Memory::Memory(ibv_context *verbs, std::size_t size)
	: bytes(size), pd_(made(ibv_alloc_pd(verbs), "PD")),
	  mr_(ibv_reg_mr(pd_, bytes.data(), bytes.size(),
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE))
{
	const int err = errno;

	if (mr_)
		return;
	ibv_dealloc_pd(pd_);
	throw Failure("no MR: " + errno_text(err));
}

Memory::~Memory()
{
	ibv_dereg_mr(mr_);
	ibv_dealloc_pd(pd_);
}

Write::Write(const Memory &from, const Memory &to, uint32_t len)
{
	sge.addr = reinterpret_cast<uintptr_t>(from.bytes.data());
	sge.length = len;
	sge.lkey = from.mr()->lkey;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = reinterpret_cast<uintptr_t>(to.bytes.data());
	wr.wr.rdma.rkey = to.mr()->rkey;
}

ibv_qp_attr init_attr()
{
	ibv_qp_attr attr{};

	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	return attr;
}

ibv_qp_attr rtr_attr(uint32_t dest, ibv_mtu mtu, uint8_t sgid_index,
		     const ibv_gid &dgid)
{
	ibv_qp_attr attr{};

	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = mtu;
	attr.dest_qp_num = dest;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.hop_limit = 64;
	attr.ah_attr.grh.sgid_index = sgid_index;
	attr.ah_attr.grh.dgid = dgid;
	return attr;
}

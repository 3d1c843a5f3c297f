// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: state transitions with wrong attributes are refused, and leave
 * the queue pair where it was.
 */
#include <cerrno>
#include <cstring>

#include "common.h"
#include "pair.h"
#include "tests.h"

namespace
{
/* A bad combination is EINVAL; a bad value may have an error of its own. */
void refuse(Qp &qp, ibv_qp_attr a, int mask, const std::string &what,
	    bool any_error = false)
{
	ibv_qp_state before = qp.query_state();
	int ret = ibv_modify_qp(qp.get(), &a, mask);

	if (!ret)
		fail("%s was accepted", what.c_str());
	if (ret != EINVAL && !any_error)
		fail("%s was refused with %s, not EINVAL", what.c_str(),
		     std::strerror(ret));
	if (qp.query_state() != before)
		fail("%s was refused but changed the state", what.c_str());
}

/* Leave out each needed attribute in turn; add one that is not allowed. */
void refuse_variants(Qp &qp, const ibv_qp_attr &a, int mask, const char *to)
{
	for (int bit = 1; bit <= mask; bit <<= 1) {
		if (!(mask & bit) || bit == IBV_QP_STATE)
			continue;
		refuse(qp, a, mask & ~bit,
		       format("modify to %s without attribute %#x", to,
			      static_cast<unsigned>(bit)));
	}
	refuse(qp, a, mask | IBV_QP_QKEY,
	       format("modify to %s with a Q_Key", to));
}

void refuse_jump(Qp &qp, const ibv_qp_attr &a, int mask, const char *what)
{
	refuse(qp, a, mask, what);
}
} // namespace

void test_modify_masks(Session &s)
{
	if (s.client) {
		Cq::Config cc;
		Cq send_cq(s.dev, cc), recv_cq(s.dev, cc);
		Qp qp(s.dev, send_cq, recv_cq, {});
		QpAddress self = qp.address();
		int mi, mr, ms;
		constexpr int access = IBV_ACCESS_REMOTE_WRITE;
		ibv_qp_attr init = qp.init_attr(access, mi);
		ibv_qp_attr rtr = qp.rtr_attr(self, s.t, mr);
		ibv_qp_attr rts = qp.rts_attr(s.t, ms);
		ibv_qp_attr a;

		refuse_jump(qp, rtr, mr, "RESET to RTR");
		refuse_jump(qp, rts, ms, "RESET to RTS");
		refuse_variants(qp, init, mi, "INIT");
		a = init;
		a.port_num = 200;
		refuse(qp, a, mi, "INIT on port 200", true);
		qp.to_init(access);

		refuse_jump(qp, rts, ms, "INIT to RTS");
		refuse_variants(qp, rtr, mr, "RTR");
		a = rtr;
		a.ah_attr.grh.sgid_index = 255;
		refuse(qp, a, mr, "RTR with GID index 255", true);
		if (s.dev.is_mrc()) {
			a = rtr;
			a.path_mtu = static_cast<ibv_mtu>(9);
			refuse(qp, a, mr, "RTR with a path MTU of 9", true);
		}
		qp.to_rtr(self, s.t);

		refuse_variants(qp, rts, ms, "RTS");
		refuse_jump(qp, init, mi, "RTR to INIT");
		qp.to_rts(s.t);

		refuse_jump(qp, init, mi, "RTS to INIT");
		refuse_jump(qp, rtr, mr, "RTS to RTR");
		qp.to_error();
		refuse_jump(qp, init, mi, "ERR to INIT");
		refuse_jump(qp, rts, ms, "ERR to RTS");
		qp.to_reset();
		if (qp.query_state() != IBV_QPS_RESET)
			fail("the QP is not in RESET");
		qp.to_init(access);
		qp.to_rtr(self, s.t);
		qp.to_rts(s.t);
		if (qp.query_state() != IBV_QPS_RTS)
			fail("the QP is not in RTS after a reset");
	}
	s.oob.barrier(12);
}

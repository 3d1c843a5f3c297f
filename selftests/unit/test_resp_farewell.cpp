// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The last transport ACK of a QP that ends, MRC 1.0 §8.6. */
#include "engine_fixture.hpp"

#include <gtest/gtest.h>

using namespace mrc_test;

namespace
{

std::vector<mrc_tx_desc> part(Responder &r)
{
	std::vector<mrc_tx_desc> out;
	mrc_tx_desc d;
	mrc_resp_repeat_ack(&r.resp);
	while (mrc_resp_next_feedback(&r.resp, r.now, &d))
		out.push_back(d);
	return out;
}

TEST(RespFarewell, SaysTheLastAckAgain)
{
	Responder r;
	r.init();
	r.data({.psn = r.psn(0), .a = true});
	r.data({.psn = r.psn(1), .a = true});
	// Not what was received beyond a hole: that was not executed.
	r.data({.psn = r.psn(3), .a = true});
	const auto fb = part(r);
	ASSERT_EQ(fb.size(), 1U);
	EXPECT_EQ(fb[0].hdr.opcode, MRC_OP_ACK);
	EXPECT_EQ(fb[0].hdr.aeth.syndrome, MRC_SYN_ACK);
	EXPECT_EQ(fb[0].hdr.psn, r.psn(1));
	EXPECT_EQ(fb[0].hdr.aeth.msn, 2U);
}

TEST(RespFarewell, NothingToSay)
{
	Responder r;
	r.init();
	EXPECT_TRUE(part(r).empty());
	r.data({.psn = r.psn(1), .a = true});
	EXPECT_TRUE(part(r).empty());
}

} // namespace

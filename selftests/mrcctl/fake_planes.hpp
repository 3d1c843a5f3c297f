/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fake machine with two planes and nothing wrong: mrc0 has eth0 and eth1,
 * both with 10.1.0.1; the peer is 10.1.0.2. Tests of doctor break one thing.
 */
#pragma once

#include "fake.hpp"

namespace mrcctl
{
class DoctorTest : public MrcctlTest
{
protected:
	static constexpr const char *sys = "/sys/class/infiniband/mrc0/";
	static constexpr const char *peer = "10.1.0.2";
	static constexpr uint32_t evs_per_port = 32;

	DoctorTest();

	/* Adds an entry to the table of GIDs. */
	void add_gid(uint32_t port, uint32_t index, const std::string &gid,
		     const std::string &netdev);
	void drop_gid(uint32_t port, uint32_t index);
	/* The answer to "rdma -j link show". */
	void links(const std::string &json);
	std::string route_question(const std::string &netdev) const;
	void answer_probes(uint32_t port, uint32_t answers);

	/* Runs doctor; the findings. */
	Json findings(const std::string &words = "");
	/* Those of a level and a check, in one line each: "port text | fix". */
	std::string said(const std::string &level, const std::string &check,
			 const std::string &words = "");
	int status_ = -1; /* of the last run */
};

/* Whether @text has @part. */
::testing::AssertionResult has(const std::string &text,
			       const std::string &part);
} // namespace mrcctl

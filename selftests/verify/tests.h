/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_verify: the tests other than plain traffic. Each runs on both sides.
 * They throw Failure or Skip.
 */
#pragma once

#include "oob.h"
#include "rdma.h"
#include "stream.h"

struct Session {
	Device &dev;
	Oob &oob;
	const TestOptions &t;
	bool client;
	bool quiet;
};

void run_error_tests(Session &s);
/* all of verbs but WRITE */
void run_ext_tests(Session &s);
void test_ext_send(Session &s);
void test_ext_rnr(Session &s);
void test_ext_mixed(Session &s);
void test_ext_read(Session &s);
void test_ext_atomic(Session &s);
void test_ext_fence(Session &s);
void test_ext_refused(Session &s);
void test_ext_windows(Session &s);
void test_ext_srq(Session &s);
void test_ext_datagrams(Session &s);
void test_ext_groups(Session &s);
void test_ext_gone(Session &s);
void test_ext_strict(Session &s);
void test_ext_strict_peer(Session &s);
void test_modify_masks(Session &s);
void test_objects(Session &s);
void test_sq_drain(Session &s);
void test_flush_many(Session &s);
void test_peer_gone(Session &s);
void test_blackhole(Session &s);
Totals test_churn(Session &s);
Totals test_hostile(Session &s);

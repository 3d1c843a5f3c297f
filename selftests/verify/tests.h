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
void test_modify_masks(Session &s);
void test_objects(Session &s);
void test_sq_drain(Session &s);
void test_peer_gone(Session &s);
void test_blackhole(Session &s);
Totals test_churn(Session &s);
Totals test_hostile(Session &s);

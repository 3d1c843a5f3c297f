/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The tests by theme. @a and @b name two devices that are connected.
 */
#pragma once

#include <string>

#include "tap.hpp"

struct Devices {
	std::string a, b;
};

void test_context(Suite &s, const Devices &d);
void test_foreign(Suite &s, const Devices &d); /* b is not an MRC device */
void test_null(Suite &s, const Devices &d);
void test_teardown(Suite &s, const Devices &d);
void test_hint(Suite &s, const Devices &d);
void test_cq(Suite &s, const Devices &d);
void test_events(Suite &s, const Devices &d);
void test_port_events(Suite &s, const Devices &d);
void test_qp(Suite &s, const Devices &d);
void test_modify(Suite &s, const Devices &d);
void test_data(Suite &s, const Devices &d);
void test_large(Suite &s, const Devices &d);
void test_errors(Suite &s, const Devices &d);
void test_threads(Suite &s, const Devices &d);
void test_gone(Suite &s, const Devices &d);
void test_cycle(Suite &s, const Devices &d);
void test_abandon(Suite &s, const Devices &d);

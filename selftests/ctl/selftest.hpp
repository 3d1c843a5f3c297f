/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_ctl DEV selftest NAME: checks that need more than a command line, with
 * results as ../common/check.hpp prints them.
 */
#pragma once

#include <string>
#include <vector>

#include "../common/check.hpp"
#include "abi.hpp"

using tap::Check;
using tap::Report;

/* Profiles with one call each; they return errnos. */
int fmt_state(Dev &dev, uint64_t id, uint32_t state);
int fmt_make(Dev &dev, uint64_t id, uint32_t mode, std::vector<uint8_t> width,
	     uint32_t to);
uint32_t fmt_now(Dev &dev, uint64_t id);
void fmt_drop(Dev &dev, uint64_t id); /* back to INIT, from wherever it is */

int evp_state(Dev &dev, uint64_t id, uint32_t state);
int evp_make(Dev &dev, uint64_t id, uint64_t fmt,
	     const std::vector<mrc_abi_ev> &evs, uint32_t event_mask,
	     uint32_t to);
int evp_op(Dev &dev, uint64_t id, uint32_t op,
	   std::vector<mrc_abi_ev_entry> &entry, uint32_t *n = nullptr,
	   const std::vector<mrc_abi_ev> &with = {});
uint32_t evp_now(Dev &dev, uint64_t id);
void evp_drop(Dev &dev, uint64_t id);

int ccp_state(Dev &dev, uint64_t id, uint32_t state);
int ccp_make(Dev &dev, uint64_t id, const char *algorithm, uint32_t to);
int ccp_config(Dev &dev, uint64_t id, const mrc_abi_nscc &nscc);
uint32_t ccp_now(Dev &dev, uint64_t id);
void ccp_drop(Dev &dev, uint64_t id);

/* UDP EVs: source ports @first, ... in turn on the ports 1..@ports. */
std::vector<mrc_abi_ev> udp_evs(uint32_t n, uint32_t ports,
				uint16_t first = 0xc001);

/* The selftests themselves: true if all is well. */
bool selftest_rules(Dev &dev);
bool selftest_qp(Dev &dev);
bool selftest_modify(Dev &dev);
bool selftest_events(Dev &dev);
bool selftest_fuzz(Dev &dev, uint64_t seed, uint64_t rounds);
bool selftest_unprivileged(Dev &dev);
bool selftest_absent(Dev &dev, const std::vector<uint32_t> &qpns);

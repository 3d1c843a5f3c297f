/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: names of states, modes and bits, for input and output. */
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"

namespace mrcctl
{
std::string name_of(State s);
std::string name_of(FmtMode m);
std::string name_of(EvMode m);
std::string name_of(EvState s);
std::string qp_ev_state(uint32_t state);
std::string sched_state(uint32_t state);

/* These throw UsageError with the list of valid names. */
State parse_state(std::string_view s);
FmtMode parse_fmt_mode(std::string_view s);
EvMode parse_ev_mode(std::string_view s);
EvState parse_ev_state(std::string_view s);
uint32_t parse_event(std::string_view s); /* good, assumed_bad */

/* Names of the bits that are set. */
std::vector<std::string> fmt_modes(uint32_t mask);
std::vector<std::string> ev_modes(uint32_t mask);
std::vector<std::string> event_names(uint32_t mask);
std::vector<std::string> cap_names(uint32_t cap);
std::vector<std::string> opt_names(uint32_t opt);
std::vector<uint32_t> bits_of(uint32_t mask);

extern const std::span<const std::string_view> dscp_names;
extern const std::span<const std::string_view> limit_names;

/* Parameters of NSCC by name, in the order in which they are shown. */
struct NsccParam {
	std::string_view name;
	std::string_view unit;
	double (*get)(const Nscc &);
	void (*set)(Nscc &, double);
	double max;
	bool whole; /* no fractions */
};
std::span<const NsccParam> nscc_params();
const NsccParam *nscc_param(std::string_view name);
void set_nscc(Nscc &c, const NsccParam &p, double value);
} // namespace mrcctl

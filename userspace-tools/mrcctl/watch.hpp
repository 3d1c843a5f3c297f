/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: what changes with time, without a clock or a device. */
#pragma once

#include <map>
#include <string>
#include <vector>

#include "json.hpp"
#include "model.hpp"

namespace mrcctl
{
/* States that a device does not announce; monitor looks at them now and then.
 */
struct States {
	/* "port 1 state", "fmt 3", "qp 17": what, and its state now */
	std::map<std::string, std::string> of;
};

struct StateChange {
	std::string what;
	std::string from; /* "" = it was not there */
	std::string to;	  /* "" = it is gone */
};

std::vector<StateChange> changes(const States &before, const States &after);
std::string text_of(const StateChange &c);
Json json_of(const StateChange &c);

/* 2026-01-31T23:59:59.123456Z */
std::string timestamp(uint64_t wall_us);

/* What top shows, at one moment. */
struct Sample {
	uint64_t mono_ns = 0;
	std::vector<Port> ports;
	std::vector<Qp> qps;
};

/* The same with rates; those of something new, or set back, are 0. */
struct PortRate {
	Port port;
	double tx_bytes = 0; /* all a second */
	double rx_bytes = 0;
	double tx_pkts = 0;
	double rtx_pkts = 0;
};
struct QpRate {
	Qp qp;
	double tx_bytes = 0; /* payload */
	double tx_pkts = 0;
	double rtx_pkts = 0;
};
struct Frame {
	uint64_t wall_us = 0;
	std::vector<PortRate> ports;
	std::vector<QpRate> qps; /* those that send most come first */
};

Frame frame(const Sample &before, const Sample &after, uint64_t wall_us);
/* @rows: lines at most, 0 = all */
std::string text_of(const Frame &f, std::size_t rows);
Json json_of(const Frame &f);
} // namespace mrcctl

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: changes over time, independent of clock and device. */
#pragma once

#include <map>
#include <string>
#include <vector>

#include "json.hpp"
#include "model.hpp"

namespace mrcctl
{
/* States that a device does not announce; the monitor polls them. */
struct States {
	/* "port 1 state", "fmt 3", "qp 17": object, and its present state */
	std::map<std::string, std::string> of;
};

struct StateChange {
	std::string what;
	std::string from; /* "" = it did not exist */
	std::string to;	  /* "" = it was removed */
};

std::vector<StateChange> changes(const States &before, const States &after);
std::string text_of(const StateChange &c);
Json json_of(const StateChange &c);

/* 2026-01-31T23:59:59.123456Z */
std::string timestamp(uint64_t wall_us);

/* The data of "top" at one moment. */
struct Sample {
	uint64_t mono_ns = 0;
	std::vector<Port> ports;
	std::vector<Qp> qps;
};

/* The same with rates, which are 0 for new or reset counters. */
struct PortRate {
	Port port;
	double tx_bytes = 0; /* per second, like all below */
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
Json rates_json(const PortRate &p);
Json rates_json(const QpRate &q);
} // namespace mrcctl

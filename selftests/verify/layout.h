/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_verify: where each message goes and what it holds, and what to count.
 */
#pragma once

#include <cstdint>

#include "options.h"
#include "pattern.h"

struct Totals {
	uint64_t msgs = 0;  /* verified here and completed here */
	uint64_t bytes = 0; /* verified here and completed here */
	uint64_t imm = 0;
	double seconds = 0;
	double max_gap = 0; /* between two signs of progress, seconds */

	void add(const Totals &o);
	void print_ok() const;
};

/* Layout of one direction of one queue pair; the same on both sides. */
class Layout
{
public:
	Layout(const TestOptions &t, unsigned dir, unsigned qp);

	static constexpr uint32_t guard = 192;

	uint32_t slots() const { return slots_; }
	uint64_t stride() const { return stride_; }
	uint64_t region() const { return stride_ * slots_; }
	/* Distance of the region from a page boundary. */
	uint64_t skew() const { return skew_; }

	uint32_t size(uint64_t msg) const;
	bool imm(uint64_t msg) const;
	uint32_t imm_value(uint64_t msg) const;
	/* Offset of the message's target in the region. */
	uint64_t target(uint64_t msg) const;
	Pattern data(uint64_t msg) const { return Pattern(mix(key_, msg)); }
	const Pattern &background() const { return background_; }

private:
	const TestOptions &t_;
	uint64_t key_;
	Pattern background_;
	uint32_t slots_;
	uint64_t stride_;
	uint64_t skew_;
};

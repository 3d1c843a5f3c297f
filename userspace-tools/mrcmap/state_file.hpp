/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: the file in which the collector leaves what it knows, in all forms in
 * which it is shown: who reads it needs neither the fabric's file nor the
 * collector.
 */
#pragma once

#include <string>

#include "output.hpp"

namespace mrcmap
{
/* Where it is by default. */
extern const char *const state_path;

std::string state_text(const mrclab::Topology &t, const Snapshot &s);

enum class Form { text, json, prometheus, dot, history };

struct Shown {
	std::string text;
	std::size_t findings = 0;
	int64_t wall = 0; /* when it was written: Unix time, ms */
};

/* @text is the file's. Throws mrclab::SystemError. */
Shown shown(const std::string &file, const std::string &text, Form form);
} // namespace mrcmap

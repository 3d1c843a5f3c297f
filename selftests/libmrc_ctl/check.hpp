/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Checks and their results, each with how much was looked at; and calls that a
 * test builds on.
 */
#pragma once

#include <string>

#include "../common/check.hpp"

using tap::Check;
using tap::Report;

/* Throws unless @err is 0: for what a test builds on. */
void must(int err, const std::string &what);

/* What functions say that return 0, or -1 and errno, as one number. */
int failed(int ret);

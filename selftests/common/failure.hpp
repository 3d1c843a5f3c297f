/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the test programs throw.
 */
#pragma once

#include <stdexcept>

/* Something is wrong, and it is pointless to go on; the text says what. */
struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

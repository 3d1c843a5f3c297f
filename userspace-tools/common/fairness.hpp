/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* How evenly something is shared. Shared by mrclab and mrcbench. */
#pragma once

#include <vector>

namespace fairness
{
/*
 * Jain's index: 1 if all shares are equal, 1/n if one of n is everything, 0
 * without any.
 */
inline double jain(const std::vector<double> &shares)
{
	double sum = 0, squares = 0;

	for (const double s : shares) {
		sum += s;
		squares += s * s;
	}
	return squares > 0
		       ? sum * sum /
				 (static_cast<double>(shares.size()) * squares)
		       : 0;
}
} // namespace fairness

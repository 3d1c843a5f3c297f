/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcconform: the table of cases. */
#pragma once

#include "bench.hpp"

namespace mrcconform
{
enum class Level { must, should };

struct Case {
	/* part.subject.detail */
	std::string_view name;
	/* "2.4", of MRC 1.0 */
	std::string_view section;
	Level level;
	/* One sentence. */
	std::string_view rule;
	/* Throws Failed or Skipped. */
	void (*run)(Bench &);
};

std::span<const Case> wire_cases();
std::span<const Case> write_cases();
std::span<const Case> imm_cases();
std::span<const Case> sack_cases();
std::span<const Case> ack_cases();
std::span<const Case> trim_cases();
std::span<const Case> endpoint_cases();
std::span<const Case> req_cases();
std::span<const Case> req_loss_cases();
std::span<const Case> srv6_cases();
std::span<const Case> planes_cases();

/* All of them, in the order in which they run. */
std::vector<const Case *> all_cases();
/*
 * Those that match any of the patterns of glob(7), or a part of a name that a
 * dot ends; all if there are no patterns. Throws UsageError if a pattern
 * matches none.
 */
std::vector<const Case *>
chosen_cases(const std::vector<std::string> &patterns);

const char *level_name(Level level);
} // namespace mrcconform

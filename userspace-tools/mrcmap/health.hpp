/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: findings over time. One evaluation alone neither raises nor clears a
 * finding.
 */
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "locate.hpp"

namespace mrcmap
{
struct Alarm {
	Finding finding;   /* as it was seen last */
	int64_t since = 0; /* when it was raised: Unix time, ms */
};

struct Change {
	enum class What { raised, changed, cleared } what = What::raised;
	int64_t at = 0; /* Unix time, ms */
	Finding finding;
};

const char *what_name(Change::What what);

class Health
{
public:
	explicit Health(const Config &config) : config_(config) {}

	/*
	 * @seen are the findings of one evaluation. Returns what has changed.
	 * "changed" is another state of the same place.
	 */
	std::vector<Change> update(const std::vector<Finding> &seen,
				   int64_t wall);

	/* What is raised now, sorted by place. */
	std::vector<Alarm> alarms() const;
	/* The last Config::history changes, the oldest first. */
	const std::deque<Change> &history() const { return history_; }

private:
	struct Track {
		Alarm alarm;
		State pending = State::gray; /* a new state, not yet raised */
		bool raised = false;
		uint32_t seen = 0;   /* evaluations in a row */
		uint32_t unseen = 0; /* evaluations in a row */
	};

	Change note(Change::What what, const Finding &f, int64_t wall);

	Config config_;
	std::map<Place, Track> tracks_;
	std::deque<Change> history_;
};
} // namespace mrcmap

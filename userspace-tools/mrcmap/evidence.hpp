/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: what the collector knows about each path over the last seconds and
 * minutes. Times are the collector's clock, at which reports came.
 */
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "config.hpp"
#include "plan.hpp"
#include "window.hpp"

namespace mrcmap
{
struct PathCount {
	uint32_t sent = 0;
	uint32_t lost = 0;
};

/*
 * Counts of all paths over a time that ends now, in slices of equal length.
 * slices[0] is the oldest one; each has an entry for every path.
 */
struct Slices {
	uint64_t length = 0; /* ns of one slice */
	std::vector<std::vector<PathCount>> slices;
	std::vector<PathCount> total; /* by path */
};

struct PathDelay {
	bool known = false;
	/* The usual minimum, ns; 0 for one-way paths. */
	uint64_t base = 0;
	/* The minimum of the last seconds over the usual one. */
	uint64_t excess = 0;
	/* Mean of the windows' minima over the least: large in congestion. */
	uint64_t spread = 0;
};

class Evidence
{
public:
	/* @plan must live longer. */
	Evidence(const Plan &plan, const Config &config);

	/* A window of a path that comes back, or of a sender to a peer. */
	void on_window(const PathWindow &w, uint64_t now);
	/* What the receiver of a one-way path says. */
	void on_peer(const PeerWindow &w, uint64_t now);
	/*
	 * An agent has reported at @now. A one-way window that it has not named
	 * although it had time has no received probe. Without reports nothing
	 * is known.
	 */
	void on_report_of(uint32_t host, uint64_t now);
	/* Moves time on; to be called before what follows. */
	void advance(uint64_t now);

	/*
	 * The last @time, divided into @slices, and no less: slices are as long
	 * as a ring allows.
	 */
	Slices slices(uint64_t time, uint32_t slices) const;
	/* By path. Learns what is usual, so call it once per evaluation. */
	std::vector<PathDelay> delays();

	/* Since the start, for figures. */
	struct Totals {
		uint64_t sent = 0, received = 0, lost = 0, duplicates = 0,
			 late = 0, disturbed = 0;
	};
	const std::vector<Totals> &totals() const { return totals_; }

private:
	/* The last counts; each of its slices has an entry for every path. */
	struct Ring {
		uint64_t length = 0; /* ns of a slice */
		uint64_t last = 0;   /* number of the slice that is filled */
		std::vector<std::vector<PathCount>> slices;

		std::vector<PathCount> &current();
		/* True when a new slice has begun. */
		bool advance(uint64_t now);
		/* Takes losses back, the newest ones first. */
		void unlose(uint32_t path, uint32_t count);
		uint64_t covers() const { return length * slices.size(); }
	};
	/* A one-way window that waits for what the receiver says of it. */
	struct Half {
		PathWindow sent;
		uint64_t since = 0;
	};
	using Id = std::pair<uint32_t, uint32_t>; /* path, window */
	using Minimum = std::optional<int64_t>;
	struct Samples {
		uint32_t probes = 0;
		uint32_t windows = 0;
		double sum = 0; /* of the windows' minima, ns */
	};

	void roll(uint64_t now);
	void count(uint32_t path, uint32_t sent, uint32_t received);
	void note_delay(uint32_t path, int64_t delay, uint32_t probes);
	void join(uint64_t now);
	Minimum minimum(uint32_t path) const;
	uint64_t spread(uint32_t path, int64_t least) const;
	void round_trip_delays(std::vector<PathDelay> &out);
	void one_way_delays(std::vector<PathDelay> &out);

	const Plan &plan_;
	Config config_;
	Ring fine_, coarse_;
	std::map<Id, Half> sent_;
	std::map<Id, std::pair<PeerWindow, uint64_t>> received_;
	std::vector<std::optional<uint64_t>> reported_; /* by host - 1 */
	/* Smallest delays in slices of slow_time, as Ring. */
	uint64_t minima_last_ = 0;
	std::vector<std::vector<Minimum>> minima_;
	std::vector<std::vector<Samples>> samples_;
	std::vector<Minimum> base_; /* by path */
	std::vector<Totals> totals_;
};
} // namespace mrcmap

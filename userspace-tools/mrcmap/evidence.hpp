/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: what the collector knows about each path over the last seconds and
 * minutes. Times are the collector's clock, at which reports came.
 */
#pragma once

#include <cstdint>
#include <deque>
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
	uint64_t base = 0; /* the usual minimum, ns; 0 for one-way paths */
	uint64_t excess =
		0; /* minimum of the last seconds over the usual one */
};

class Evidence
{
public:
	Evidence(const Plan &plan, const Config &config);

	/* A window of a path that comes back, or of a sender to a peer. */
	void on_window(const PathWindow &w, uint64_t now);
	/* What the receiver of a one-way path says. */
	void on_peer(const PeerWindow &w, uint64_t now);
	/*
	 * The receiver's agent has reported: one-way windows that it has not
	 * named although it had time are windows without a received probe.
	 */
	void on_report_of(uint32_t host, uint64_t now);
	/* Forgets what waits for an agent that is gone. */
	void on_gone(uint32_t host);
	/* Moves time on; to be called before what follows. */
	void advance(uint64_t now);

	/* The last @time, divided into @slices. */
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
	/* Rings of counts: fine ones for seconds, coarse ones for minutes. */
	struct Ring {
		uint64_t length = 0;
		uint64_t last = 0; /* number of the slice that is filled now */
		std::vector<std::vector<PathCount>> slices;

		void init(uint64_t slice, uint32_t count, std::size_t paths);
		void advance(uint64_t now);
		void add(uint32_t path, uint32_t sent, uint32_t lost);
	};
	/* The smallest delay in each of some slices. */
	struct Minimum {
		std::vector<std::optional<int64_t>> slices;
		uint64_t samples = 0;
	};
	/* A one-way window that waits for one side. */
	struct Half {
		uint64_t since = 0; /* the first word of it */
		std::optional<PathWindow> sent;
		std::optional<PeerWindow> received;
	};
	using Id = std::pair<uint32_t, uint32_t>; /* path, window */

	void count(uint32_t path, uint32_t sent, uint32_t received);
	void note_delay(uint32_t path, int64_t delay);
	void join(const Id &id, const Half &half);
	std::optional<int64_t> minimum(uint32_t path) const;
	void round_trip_delays(std::vector<PathDelay> &out);
	void one_way_delays(std::vector<PathDelay> &out);

	const Plan &plan_;
	Config config_;
	Ring fine_, coarse_;
	std::map<Id, Half> halves_;
	std::vector<Minimum> minima_;
	uint64_t minima_slice_ = 0;
	std::vector<std::optional<int64_t>> base_; /* by path */
	std::vector<Totals> totals_;
};
} // namespace mrcmap

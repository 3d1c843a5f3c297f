/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: what an agent counts, by path and window. A window is closed when its
 * last probe has waited long enough; what comes later is late, and not lost:
 * it is reported as an entry with late probes alone.
 */
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config.hpp"
#include "plan.hpp"

namespace mrcmap
{
/* Of a path that comes back. */
struct PathWindow {
	uint32_t path = 0;
	uint32_t window = 0;
	uint32_t sent = 0;
	uint32_t received = 0; /* without duplicates */
	uint32_t duplicates = 0;
	uint32_t late = 0;    /* came after this entry, or one before it */
	uint64_t rtt_min = 0; /* ns; 0 if nothing was received */
	uint64_t rtt_mean = 0;
	uint64_t rtt_max = 0;
	bool disturbed = false; /* the agent was late itself: no evidence */

	bool operator==(const PathWindow &) const = default;
};

/* What one agent received on another one's path. */
struct PeerWindow {
	uint32_t path = 0;
	uint32_t window = 0; /* of the sender */
	uint32_t received = 0;
	uint32_t duplicates = 0;
	/* Receiver's clock less the sender's; the smallest. */
	int64_t delay_min = 0;
	bool disturbed = false; /* the receiver was late itself */

	bool operator==(const PeerWindow &) const = default;
};

/* Which of the sequence numbers of a window came. */
class Seen
{
public:
	/* False if it came before. */
	bool add(uint32_t sequence);
	uint32_t count() const { return count_; }

private:
	uint64_t first_ = 0; /* few windows have more */
	std::vector<uint64_t> more_;
	uint32_t count_ = 0;
};

/* Windows of the paths that an agent sends on. */
class SentWindows
{
public:
	explicit SentWindows(const Config &config) : config_(config) {}
	/* There are pointers into the maps, which stay valid if these move. */
	SentWindows(const SentWindows &) = delete;
	SentWindows(SentWindows &&) = default;
	SentWindows &operator=(const SentWindows &) = delete;
	SentWindows &operator=(SentWindows &&) = default;
	~SentWindows() = default;

	uint32_t window_of(uint64_t now) const;
	/* Counts a probe and returns its sequence number. */
	uint32_t on_sent(uint32_t path, bool one_way, uint64_t now);
	/* Of one that was not sent after all: the socket refused it. */
	void on_unsent(uint32_t path, uint32_t window);
	/* False for sequence numbers that were never sent. */
	bool on_received(uint32_t path, uint32_t window, uint32_t sequence,
			 uint64_t sent, uint64_t now);
	/* The agent did nothing for too long: open windows are disturbed. */
	void on_gap();
	/* What is closed now. */
	std::vector<PathWindow> close(uint64_t now);
	/* How long a probe is waited for. */
	uint64_t wait() const;
	std::size_t open() const { return open_.size(); }

private:
	struct Open {
		PathWindow w;
		Seen seen;
		uint64_t rtt_sum = 0;
		uint64_t last_sent = 0;
		uint32_t unsent = 0;
		bool one_way = false;
	};
	using Id = std::pair<uint32_t, uint32_t>; /* window, path */

	Open *find(uint32_t path, uint32_t window);

	Config config_;
	std::map<Id, Open> open_;
	/* By path, its last two windows in @open_: nearly all probes are of
	 * these.
	 */
	std::vector<std::array<Open *, 2>> newest_;
	std::map<Id, Open> closed_; /* for late ones; the last few windows */
	std::map<Id, uint32_t> late_;
	uint64_t largest_rtt_ = 0;
	uint64_t close_at_ = 0; /* nothing can be closed before */
};

/* Windows of others' paths to this agent. */
class PeerWindows
{
public:
	explicit PeerWindows(const Config &config) : config_(config) {}
	/* There are pointers into the maps, which stay valid if these move. */
	PeerWindows(const PeerWindows &) = delete;
	PeerWindows(PeerWindows &&) = default;
	PeerWindows &operator=(const PeerWindows &) = delete;
	PeerWindows &operator=(PeerWindows &&) = default;
	~PeerWindows() = default;

	void on_received(uint32_t path, uint32_t window, uint32_t sequence,
			 uint64_t sent, uint64_t now);
	void on_gap();
	std::vector<PeerWindow> close(uint64_t now);

private:
	struct Open {
		PeerWindow w;
		Seen seen;
		uint64_t first = 0; /* receiver's clock */
	};
	using Id = std::pair<uint32_t, uint32_t>; /* path, window */

	Open *open(uint32_t path, uint32_t window, uint64_t now);

	Config config_;
	std::map<Id, Open> open_;
	/* By path: the last one that was closed. Older ones are too late. */
	std::unordered_map<uint32_t, uint32_t> closed_;
	/* By path: the one that had the last probe. */
	std::unordered_map<uint32_t, Open *> newest_;
	uint64_t close_at_ = UINT64_MAX; /* the first one that is open */
};
} // namespace mrcmap

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcmap: from paths to faults. Source routing says exactly which directions a
 * probe took, so each fault is looked for as the simplest set of directions,
 * links and switches that makes likely what all paths together have seen.
 */
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evidence.hpp"
#include "plan.hpp"

namespace mrcmap
{
enum class Element { nic_link, t0, fabric_link, t1 };
enum class State { down, gray, lossy, slow };
/* Of a link: what the low end sends (towards the T1), the high end, or both. */
enum class Way { up, down, both };

const char *element_name(Element e);
const char *state_name(State s);
const char *way_name(Way w);

/* What can be the cause: a switch, or a link in one or both directions. */
struct Place {
	Element element = Element::nic_link;
	uint32_t number = 0; /* index of the node, or of the link */
	Way way = Way::both; /* both for switches */

	/* NOLINTNEXTLINE(modernize-use-nullptr): a false alarm */
	auto operator<=>(const Place &) const = default;
};

inline bool is_switch(const Place &p)
{
	return p.element == Element::t0 || p.element == Element::t1;
}

/* A switch's name; "p1l1:s2", or "p1l1:s2+" for both directions. */
std::string place_name(const mrclab::Topology &t, const Place &place);
/* The directions that are concerned; all that a switch sends. */
std::vector<mrclab::Direction> directions_of(const mrclab::Topology &t,
					     const Place &place);

struct Finding {
	Place place;
	/*
	 * Other places that would explain the same, which no probe can tell
	 * from it. Empty if the place is certain.
	 */
	std::vector<Place> others;
	State state = State::gray;
	double loss = 0;	  /* of one passage; 1 for down and gray */
	uint64_t extra_delay = 0; /* of one passage, ns */
	double confidence = 0;	  /* 0 to 1 */
	/* Carrier at the host's end, if the place is a NIC-T0 link. */
	std::optional<bool> carrier;
	/* The evidence: paths over the place, and what they have seen. */
	uint32_t paths = 0;
	uint64_t sent = 0, lost = 0;
};

/* Carrier of each host's port; none: not known. [host - 1][plane - 1] */
using Carriers = std::vector<std::vector<std::optional<bool>>>;

/*
 * Loss of each direction for the map, by 2 * link + (up ? 0 : 1); none where
 * no path has told anything.
 */
using LinkLoss = std::vector<std::optional<double>>;

class Locator
{
public:
	/* Both must live longer. */
	Locator(const mrclab::Topology &topology, const Plan &plan,
		const Config &config);
	~Locator();
	Locator(const Locator &) = delete;
	Locator &operator=(const Locator &) = delete;

	/*
	 * All faults that the evidence shows now, sorted by place. Calls
	 * Evidence::delays(); the evidence must be advanced to now.
	 */
	std::vector<Finding> locate(Evidence &evidence,
				    const Carriers &carriers);
	/* Of the last call of locate(). */
	const LinkLoss &link_loss() const;

private:
	struct Work;
	std::unique_ptr<Work> work_;
};
} // namespace mrcmap

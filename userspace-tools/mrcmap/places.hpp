/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcmap: all places that can be the cause, and the probe paths over them. */
#pragma once

#include <cstdint>
#include <vector>

#include "locate.hpp"

namespace mrcmap
{
/* A path passes a place this often. */
struct Passage {
	uint32_t path = 0;
	uint32_t times = 0;

	bool operator==(const Passage &) const = default;
};

class Places
{
public:
	Places(const mrclab::Topology &t, const Plan &plan);

	std::size_t size() const { return places_.size(); }
	const Place &place(uint32_t i) const { return places_[i]; }
	/* The place that is both directions of a link. */
	static uint32_t of_link(uint32_t link) { return 3 * link + 2; }
	const std::vector<Passage> &passages(uint32_t i) const
	{
		return passages_[i];
	}
	const std::vector<uint32_t> &of_path(uint32_t path) const
	{
		return of_path_[path];
	}
	/*
	 * Places of the same group are on the same paths, in the same
	 * proportions: no result of these can tell them apart.
	 */
	const std::vector<uint32_t> &group_of(uint32_t i) const
	{
		return groups_[group_[i]];
	}
	bool same_group(uint32_t a, uint32_t b) const
	{
		return group_[a] == group_[b];
	}
	std::size_t hops(uint32_t path) const { return hops_[path]; }
	/* Places of the directions that a switch sends; none for links. */
	const std::vector<uint32_t> &parts(uint32_t i) const
	{
		return parts_[i];
	}

private:
	std::vector<Place> places_;
	std::vector<std::vector<Passage>> passages_;
	std::vector<std::vector<uint32_t>> of_path_;
	std::vector<std::vector<uint32_t>> groups_;
	std::vector<uint32_t> group_;
	std::vector<std::size_t> hops_;
	std::vector<std::vector<uint32_t>> parts_;
};

/* A place that is needed to explain what paths have seen. */
struct Cause {
	uint32_t place = 0;
	double keep = 0;		/* log of the share that passes, <= 0 */
	uint64_t delay = 0;		/* of one passage, ns */
	double margin = 0;		/* of likelihood to the next best one */
	std::vector<uint32_t> rivals{}; /* other places that are as likely */
};

/* Losses. The result explains all of @counts, also what is no fault. */
class LossFit
{
public:
	LossFit(const Places &places, const std::vector<PathCount> &counts,
		const Config &config);

	const std::vector<Cause> &causes() const { return causes_; }
	/*
	 * How much more likely @counts, of some part of the time, are with the
	 * cause than with a loss that is tolerated.
	 */
	double gain(const Cause &c, const std::vector<PathCount> &counts) const;
	/* Losses that the cause lets expect, beside those of others. */
	double expected(const Cause &c,
			const std::vector<PathCount> &counts) const;
	/* And those that there are. */
	double excess(const Cause &c,
		      const std::vector<PathCount> &counts) const;

private:
	struct Term {
		double keep; /* log of what passes without the place */
		double times;
		double passed, lost;
	};
	using Terms = std::vector<Term>;

	void find_background();
	void add_keep(uint32_t place, double keep);
	const Terms &terms(uint32_t place,
			   const std::vector<PathCount> &counts) const;
	bool suspect(uint32_t place) const;
	bool uniform(uint32_t place, double keep) const;
	std::optional<Cause> best(const std::vector<uint32_t> &places) const;
	std::vector<uint32_t> suspects() const;
	void refit();
	void drop_needless();
	void exchange();
	void find_rivals();

	const Places &places_;
	const std::vector<PathCount> &counts_;
	const Config &config_;
	std::vector<double> keep_; /* by path: log, of all causes */
	std::vector<Cause> causes_;
	mutable Terms terms_;
};

/* Delays. Only what is too slow needs an explanation. */
std::vector<Cause> explain_delays(const Places &places,
				  const std::vector<PathDelay> &delays,
				  const Config &config);

/* The order in which one of several places that explain the same is named. */
void name_first(const Places &places, Cause &cause);
} // namespace mrcmap

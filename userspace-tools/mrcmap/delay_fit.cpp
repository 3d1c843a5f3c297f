// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Delays as the simplest set of places that each add some. Every probe over a
 * place waits for it, so a place adds no more than the least that any path over
 * it shows, and a path that is as fast as ever clears all places on it.
 */
#include "places.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mrcmap
{
namespace
{
/* A path is explained if so much of its excess is. */
constexpr double tolerance = 0.2;
/* A place that adds less than this share of what is slow is none. */
constexpr double least_share = 0.25;
/*
 * A place that adds some adds it to all probes. In congestion even the fastest
 * probes of some windows wait much longer than those of others.
 */
constexpr double spread_factor = 2;
constexpr std::size_t most_pairs = 100; /* places of which pairs are tried */
constexpr int most_causes = 32;

class DelayFit
{
public:
	DelayFit(const Places &places, const std::vector<PathDelay> &delays,
		 const Config &config)
		: places_(places), left_(delays.size()), slack_(delays.size()),
		  least_(static_cast<double>(config.slow_alarm) * least_share),
		  separation_(config.separation)
	{
		for (uint32_t p = 0; p < delays.size(); p++) {
			const PathDelay &d = delays[p];
			const double limit =
				std::max(static_cast<double>(config.slow_alarm),
					 config.slow_ratio *
						 static_cast<double>(d.base));
			const auto excess = static_cast<double>(d.excess);
			const double noise =
				spread_factor * static_cast<double>(d.spread);

			left_[p] = d.known ? excess : unknown;
			/* What is not slow may also be explained in part. */
			slack_[p] = std::max(limit / 2, tolerance * excess) +
				    noise;
			if (d.known && excess > limit + noise)
				slow_.push_back(p);
		}
	}

	std::vector<Cause> causes()
	{
		std::vector<Cause> out;

		for (int i = 0; i < most_causes && !slow_.empty(); i++) {
			const std::vector<uint32_t> c = candidates();

			if (single(c, out) || pair(c, out) || !most(c, out))
				break;
		}
		for (Cause &c : out)
			name_first(places_, c);
		return out;
	}

private:
	static constexpr double unknown = -1;

	/* What a place adds at most, if @other adds @more. */
	double least(uint32_t place, const std::vector<double> &left) const
	{
		double d = std::numeric_limits<double>::infinity();

		for (const Passage &p : places_.passages(place))
			if (left[p.path] != unknown)
				d = std::min(d, left[p.path] / p.times);
		return std::isfinite(d) ? d : 0;
	}

	std::vector<uint32_t> candidates() const
	{
		std::vector<uint32_t> out;

		for (const uint32_t path : slow_)
			for (const uint32_t place : places_.of_path(path))
				out.push_back(place);
		std::sort(out.begin(), out.end());
		out.erase(std::unique(out.begin(), out.end()), out.end());
		std::erase_if(out, [&](uint32_t place) {
			return least(place, left_) < least_;
		});
		return out;
	}

	void take(uint32_t place, double delay, std::vector<double> &left) const
	{
		for (const Passage &p : places_.passages(place))
			if (left[p.path] != unknown)
				left[p.path] = std::max(
					0.0, left[p.path] - delay * p.times);
	}

	/* Paths that are still slow. */
	std::size_t unexplained(const std::vector<double> &left) const
	{
		std::size_t n = 0;

		for (const uint32_t p : slow_)
			n += left[p] > slack_[p] ? 1 : 0;
		return n;
	}

	double remainder(const std::vector<double> &left) const
	{
		double sum = 0;

		for (const uint32_t p : slow_)
			sum += left[p];
		return sum;
	}

	Cause cause(uint32_t place, double delay) const
	{
		Cause c{.place = place, .margin = 4 * separation_};

		c.delay = static_cast<uint64_t>(delay);
		for (const uint32_t other : places_.group_of(place))
			if (other != place)
				c.rivals.push_back(other);
		return c;
	}

	/*
	 * All places that explain everything alone. One that leaves much more
	 * over than the best one is no rival.
	 */
	bool single(const std::vector<uint32_t> &from, std::vector<Cause> &out)
	{
		std::vector<std::pair<double, uint32_t>> good;
		double total = remainder(left_);

		for (const uint32_t place : from) {
			std::vector<double> left = left_;

			take(place, least(place, left), left);
			if (unexplained(left) == 0)
				good.emplace_back(remainder(left), place);
		}
		if (good.empty())
			return false;
		std::sort(good.begin(), good.end());

		Cause c = cause(good[0].second, least(good[0].second, left_));

		for (const auto &[rest, place] : good)
			if (place != c.place &&
			    rest <= good[0].first + total * tolerance / 4)
				c.rivals.push_back(place);
		out.push_back(std::move(c));
		return true;
	}

	/* What of two places leaves the least over. */
	bool pair(const std::vector<uint32_t> &from, std::vector<Cause> &out)
	{
		double best = std::numeric_limits<double>::infinity();
		std::pair<uint32_t, uint32_t> which;
		std::pair<double, double> delay;

		if (from.size() > most_pairs)
			return false;
		for (const uint32_t a : from)
			for (const uint32_t b : from) {
				std::vector<double> left = left_;

				if (a == b)
					continue;

				const double d = alone(a, b);

				take(a, d, left);

				const double e = least(b, left);

				take(b, e, left);
				if (d < least_ || e < least_ ||
				    unexplained(left) ||
				    remainder(left) >= best)
					continue;
				best = remainder(left);
				which = {a, b};
				delay = {d, e};
			}
		if (!std::isfinite(best))
			return false;
		out.push_back(cause(which.first, delay.first));
		out.push_back(cause(which.second, delay.second));
		return true;
	}

	/* What @place adds by the paths that do not pass @other. */
	double alone(uint32_t place, uint32_t other) const
	{
		double d = std::numeric_limits<double>::infinity();

		for (const Passage &p : places_.passages(place)) {
			const auto &on = places_.of_path(p.path);

			if (left_[p.path] != unknown &&
			    std::find(on.begin(), on.end(), other) == on.end())
				d = std::min(d, left_[p.path] / p.times);
		}
		return std::isfinite(d) ? std::max(d, least(place, left_)) : 0;
	}

	/* The place that explains the most, and then the others. */
	bool most(const std::vector<uint32_t> &from, std::vector<Cause> &out)
	{
		std::size_t best = unexplained(left_);
		std::optional<uint32_t> which;

		for (const uint32_t place : from) {
			std::vector<double> left = left_;

			take(place, least(place, left), left);
			if (unexplained(left) < best) {
				best = unexplained(left);
				which = place;
			}
		}
		if (!which)
			return false;

		const double d = least(*which, left_);

		out.push_back(cause(*which, d));
		take(*which, d, left_);
		std::erase_if(slow_, [&](uint32_t p) {
			return left_[p] <= slack_[p];
		});
		return true;
	}

	const Places &places_;
	std::vector<double> left_;  /* excess that is not explained, by path */
	std::vector<double> slack_; /* that need not be */
	std::vector<uint32_t> slow_;
	double least_;
	double separation_;
};
} // namespace

std::vector<Cause> explain_delays(const Places &places,
				  const std::vector<PathDelay> &delays,
				  const Config &config)
{
	return DelayFit(places, delays, config).causes();
}
} // namespace mrcmap

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Losses as the simplest set of places with a share of loss each. A probe comes
 * back if every place on its path lets it pass. With n probes on a path, of
 * which k are lost, and x the sum of the logarithms of what its places let
 * pass, the logarithm of the likelihood is (n - k) x + k log(1 - exp(x)). It is
 * concave in each place's logarithm.
 *
 * Places are added one after the other, the one that makes the counts most
 * likely first, until no place makes them significantly more likely. After each
 * step all shares are fitted again, and places that are not needed any more go.
 */
#include "places.hpp"

#include <algorithm>
#include <cmath>

namespace mrcmap
{
namespace
{
constexpr double dead_keep = -12; /* one in 160000 passes */
constexpr double no_keep = -1e-9;
constexpr int halvings = 60;
constexpr int fit_rounds = 30;
constexpr std::size_t most_causes = 64;

/* Background loss: that of all paths but the worst share of them. */
constexpr double worst_share = 0.3;

/* A path with so many expected losses and this share of them seen is good. */
constexpr double sure_losses = 20;
constexpr double good_share = 0.25;
/* Share of good paths over a switch that is bad. */
constexpr double good_paths = 0.02;

double log_lost(double x)
{
	return std::log(-std::expm1(std::min(x, no_keep)));
}
} // namespace

LossFit::LossFit(const Places &places, const std::vector<PathCount> &counts,
		 const Config &config)
	: places_(places), counts_(counts), config_(config)
{
	find_background();
	while (causes_.size() < most_causes) {
		const std::optional<Cause> next = best(suspects());

		if (!next)
			break;
		add_keep(next->place, next->keep);
		causes_.push_back(*next);
		refit();
		drop_needless();
		/* It was not needed: there is nothing better to be found. */
		if (std::none_of(causes_.begin(), causes_.end(),
				 [&](const Cause &c) {
					 return c.place == next->place;
				 }))
			break;
	}
	if (causes_.size() > 1)
		exchange();
	find_rivals();
}

/*
 * Losses that are no fault are spread over all links. The worst paths do not
 * count, so that a fault does not become the background.
 */
void LossFit::find_background()
{
	std::vector<std::pair<double, uint32_t>> shares;
	double lost = 0, passages = 0;

	for (uint32_t p = 0; p < counts_.size(); p++)
		if (counts_[p].sent)
			shares.emplace_back(
				static_cast<double>(counts_[p].lost) /
					counts_[p].sent,
				p);
	const auto used = static_cast<std::size_t>(
		static_cast<double>(shares.size()) * (1 - worst_share));

	if (used < shares.size())
		std::nth_element(shares.begin(),
				 shares.begin() +
					 static_cast<std::ptrdiff_t>(used),
				 shares.end());
	shares.resize(used);
	for (const auto &[share, p] : shares) {
		lost += counts_[p].lost;
		passages += static_cast<double>(counts_[p].sent) *
			    static_cast<double>(places_.hops(p));
	}

	const double each = std::clamp(passages > 0 ? lost / passages : 0,
				       config_.loss_tolerated / 1000,
				       config_.loss_tolerated);

	keep_.resize(counts_.size());
	for (uint32_t p = 0; p < keep_.size(); p++)
		keep_[p] = std::log1p(-each) *
			   static_cast<double>(places_.hops(p));
}

void LossFit::add_keep(uint32_t place, double keep)
{
	for (const Passage &p : places_.passages(place))
		keep_[p.path] += keep * p.times;
}

/* Many paths have the same terms. */
const LossFit::Terms &LossFit::terms(uint32_t place,
				     const std::vector<PathCount> &counts) const
{
	terms_.clear();
	for (const Passage &p : places_.passages(place)) {
		const PathCount &c = counts[p.path];
		const double keep = std::min(keep_[p.path], no_keep);
		const double lost = c.lost, passed = c.sent - c.lost;

		if (!c.sent)
			continue;

		const auto same = std::find_if(
			terms_.begin(), terms_.end(), [&](const Term &t) {
				return t.times == p.times &&
				       std::abs(t.keep - keep) <= -1e-9 * keep;
			});

		if (same == terms_.end()) {
			terms_.push_back({keep, static_cast<double>(p.times),
					  passed, lost});
		} else {
			same->passed += passed;
			same->lost += lost;
		}
	}
	return terms_;
}

namespace
{
template <typename Terms> double likelihood(const Terms &terms, double keep)
{
	double sum = 0;

	for (const auto &t : terms) {
		const double x = t.keep + t.times * keep;

		sum += t.passed * x;
		if (t.lost > 0)
			sum += t.lost * log_lost(x);
	}
	return sum;
}

/* By which the likelihood grows with @keep. */
template <typename Terms> double slope(const Terms &terms, double keep)
{
	double sum = 0;

	for (const auto &t : terms) {
		const double x = std::min(t.keep + t.times * keep, no_keep);

		sum += t.times * (t.passed + t.lost * (1 + 1 / std::expm1(x)));
	}
	return sum;
}

template <typename Terms> double most_likely(const Terms &terms)
{
	double low = std::log(-no_keep), high = std::log(-dead_keep);

	if (slope(terms, no_keep) >= 0)
		return 0;
	if (slope(terms, dead_keep) <= 0)
		return dead_keep;
	for (int i = 0; i < halvings && high - low > 1e-7; i++) {
		const double middle = (low + high) / 2;

		(slope(terms, -std::exp(middle)) < 0 ? low : high) = middle;
	}
	return -std::exp((low + high) / 2);
}
} // namespace

/* More is lost than the causes so far explain. */
bool LossFit::suspect(uint32_t place) const
{
	double more = 0;

	for (const Passage &p : places_.passages(place)) {
		const PathCount &c = counts_[p.path];

		more += c.lost + c.sent * std::expm1(keep_[p.path]);
	}
	return more > 1;
}

/*
 * A switch is the cause only if all its links are concerned: no path over it,
 * and no direction that it sends, shows much less loss than it should.
 */
bool LossFit::uniform(uint32_t place, double keep) const
{
	const std::vector<uint32_t> &parts = places_.parts(place);
	std::vector<double> with(parts.empty() ? 0 : keep_.size());
	double all = 0, good = 0;

	if (parts.empty())
		return true;
	for (const Passage &p : places_.passages(place)) {
		const PathCount &c = counts_[p.path];

		with[p.path] = keep_[p.path] + keep * p.times;

		const double lost = -c.sent * std::expm1(with[p.path]);

		if (lost < sure_losses)
			continue;
		all++;
		if (c.lost < lost * good_share)
			good++;
	}
	if (good > all * good_paths)
		return false;
	return std::none_of(parts.begin(), parts.end(), [&](uint32_t part) {
		double expected = 0, seen = 0;

		for (const Passage &p : places_.passages(part)) {
			const PathCount &c = counts_[p.path];

			expected -= c.sent * std::expm1(with[p.path]);
			seen += c.lost;
		}
		return expected >= sure_losses &&
		       seen < expected * good_share;
	});
}

std::vector<uint32_t> LossFit::suspects() const
{
	std::vector<bool> seen(places_.size());
	std::vector<uint32_t> out;

	for (uint32_t p = 0; p < counts_.size(); p++) {
		if (counts_[p].lost == 0)
			continue;
		for (const uint32_t place : places_.of_path(p)) {
			if (seen[place])
				continue;
			seen[place] = true;
			if (suspect(place))
				out.push_back(place);
		}
	}
	std::sort(out.begin(), out.end());
	return out;
}

/* The place that makes the counts most likely, and significantly so. */
std::optional<Cause> LossFit::best(const std::vector<uint32_t> &places) const
{
	std::optional<Cause> found;

	for (const uint32_t place : places) {
		const Terms &t = terms(place, counts_);
		const double keep = most_likely(t);
		const double gain = likelihood(t, keep) - likelihood(t, 0);

		if (gain < config_.significance ||
		    (found && gain <= found->margin) || !uniform(place, keep))
			continue;
		found = Cause{.place = place, .keep = keep, .margin = gain};
	}
	return found;
}

void LossFit::refit()
{
	for (int round = 0; round < fit_rounds; round++) {
		double change = 0;

		for (Cause &c : causes_) {
			add_keep(c.place, -c.keep);

			const double keep =
				most_likely(terms(c.place, counts_));

			change = std::max(change, std::abs(keep - c.keep) /
							  (1e-6 - c.keep));
			c.keep = keep;
			add_keep(c.place, c.keep);
		}
		if (change < 1e-4 || causes_.size() == 1)
			break;
	}
}

/* Takes the least needed cause away as long as nothing is lost by it. */
void LossFit::drop_needless()
{
	while (causes_.size() > 1) {
		std::size_t least = causes_.size();
		double least_gain = config_.significance;

		for (std::size_t i = 0; i < causes_.size(); i++) {
			Cause &c = causes_[i];

			add_keep(c.place, -c.keep);

			const Terms &t = terms(c.place, counts_);

			c.margin = likelihood(t, c.keep) - likelihood(t, 0);
			add_keep(c.place, c.keep);
			if (c.margin < least_gain) {
				least = i;
				least_gain = c.margin;
			}
		}
		if (least == causes_.size())
			break;
		add_keep(causes_[least].place, -causes_[least].keep);
		causes_.erase(causes_.begin() +
			      static_cast<std::ptrdiff_t>(least));
		refit();
	}
}

/* A cause that was found early may be worse than another one by now. */
void LossFit::exchange()
{
	bool again = true;

	for (int round = 0; again && round < 4; round++) {
		again = false;
		for (std::size_t i = 0; i < causes_.size(); i++) {
			const Cause old = causes_[i];

			add_keep(old.place, -old.keep);

			const Terms &t = terms(old.place, counts_);
			const double gain =
				likelihood(t, old.keep) - likelihood(t, 0);
			const std::optional<Cause> other = best(suspects());

			if (other && other->margin > gain + 0.1 &&
			    !places_.same_group(other->place, old.place)) {
				causes_[i] = *other;
				again = true;
			}
			add_keep(causes_[i].place, causes_[i].keep);
		}
		refit();
		drop_needless();
	}
}

void LossFit::find_rivals()
{
	for (Cause &c : causes_) {
		double next = -1;

		add_keep(c.place, -c.keep);

		const Terms &own = terms(c.place, counts_);
		const double gain =
			likelihood(own, c.keep) - likelihood(own, 0);

		for (const uint32_t place : suspects()) {
			if (place == c.place)
				continue;

			const Terms &t = terms(place, counts_);
			const double keep = most_likely(t);
			const double other =
				likelihood(t, keep) - likelihood(t, 0);

			if (other < gain - config_.separation) {
				next = std::max(next, other);
			} else if (places_.same_group(place, c.place) ||
				   uniform(place, keep)) {
				c.rivals.push_back(place);
			}
		}
		c.margin = next < 0 ? gain : gain - next;
		add_keep(c.place, c.keep);
	}
}

double LossFit::gain(const Cause &c, const std::vector<PathCount> &counts) const
{
	/* The terms have the cause in them. */
	const Terms &t = terms(c.place, counts);

	return likelihood(t, 0) -
	       likelihood(t, std::log1p(-config_.loss_tolerated) - c.keep);
}

double LossFit::expected(const Cause &c,
			 const std::vector<PathCount> &counts) const
{
	double sum = 0;

	for (const Passage &p : places_.passages(c.place)) {
		const double without = keep_[p.path] - c.keep * p.times;

		sum += counts[p.path].sent *
		       (std::expm1(without) - std::expm1(keep_[p.path]));
	}
	return sum;
}

double LossFit::excess(const Cause &c,
		       const std::vector<PathCount> &counts) const
{
	double sum = 0;

	for (const Passage &p : places_.passages(c.place)) {
		const double without = keep_[p.path] - c.keep * p.times;

		sum += counts[p.path].lost +
		       counts[p.path].sent * std::expm1(without);
	}
	return sum;
}
} // namespace mrcmap

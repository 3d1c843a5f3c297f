// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "window.hpp"

#include <algorithm>

namespace mrcmap
{
namespace
{
/* More probes of one path do not fit into a window: the shortest interval is
 * some us, the longest window some s.
 */
constexpr uint32_t most_in_window = 1 << 20;

/* A peer whose windows are so much older has started anew. */
constexpr uint32_t new_start = 1000;
} // namespace

bool Seen::add(uint32_t sequence)
{
	const std::size_t word = sequence / 64;
	const uint64_t bit = uint64_t{1} << sequence % 64;

	if (word > more_.size())
		more_.resize(word);

	uint64_t &bits = word ? more_[word - 1] : first_;

	if (bits & bit)
		return false;
	bits |= bit;
	count_++;
	return true;
}

uint32_t SentWindows::window_of(uint64_t now) const
{
	return static_cast<uint32_t>(now / config_.window);
}

SentWindows::Open *SentWindows::find(uint32_t path, uint32_t window)
{
	if (path < newest_.size())
		for (Open *o : newest_[path])
			if (o && o->w.window == window)
				return o;

	const auto i = open_.find({window, path});

	return i == open_.end() ? nullptr : &i->second;
}

uint32_t SentWindows::on_sent(uint32_t path, bool one_way, uint64_t now)
{
	const uint32_t window = window_of(now);
	Open *o = find(path, window);

	if (!o) {
		o = &open_[{window, path}];
		o->w.path = path;
		o->w.window = window;
		o->one_way = one_way;
		if (path >= newest_.size())
			newest_.resize(path + 1);
		newest_[path] = {o, newest_[path][0]};
	}
	o->last_sent = now;
	return o->w.sent++;
}

void SentWindows::on_unsent(uint32_t path, uint32_t window)
{
	Open *o = find(path, window);

	/* Sequence numbers are not used again; nothing comes with this one. */
	if (o && o->w.sent > o->unsent)
		o->unsent++;
}

bool SentWindows::on_received(uint32_t path, uint32_t window, uint32_t sequence,
			      uint64_t sent, uint64_t now)
{
	const Id id{window, path};
	Open *open = find(path, window);
	const bool late = !open;

	if (late) {
		const auto i = closed_.find(id);

		if (i == closed_.end())
			return false;
		open = &i->second;
	}

	Open &o = *open;

	if (sequence >= o.w.sent || sent > now)
		return false;

	const uint64_t rtt = now - sent;

	/* Wait longer from now on; but not since the agent itself was late. */
	if (!o.w.disturbed)
		largest_rtt_ = std::max(largest_rtt_, rtt);
	if (!o.seen.add(sequence)) {
		o.w.duplicates += late ? 0 : 1;
		return true;
	}
	if (late) {
		late_[id]++;
		return true;
	}
	o.w.rtt_min = o.w.received ? std::min(o.w.rtt_min, rtt) : rtt;
	o.w.rtt_max = std::max(o.w.rtt_max, rtt);
	o.w.received++;
	o.rtt_sum += rtt;
	return true;
}

void SentWindows::on_gap()
{
	for (auto &[id, o] : open_)
		o.w.disturbed = true;
}

uint64_t SentWindows::wait() const
{
	const double rtts =
		config_.wait_rtts * static_cast<double>(largest_rtt_);

	return std::min(config_.wait_most,
			std::max(config_.wait, static_cast<uint64_t>(rtts)));
}

std::vector<PathWindow> SentWindows::close(uint64_t now)
{
	std::vector<PathWindow> out;
	const uint32_t current = window_of(now);
	const uint64_t remember = config_.wait_most / config_.window + 2;

	if (now < close_at_ && late_.empty())
		return out;
	/* The current windows are open until it has passed. */
	close_at_ = (uint64_t{current} + 1) * config_.window;
	for (const auto &[id, count] : late_)
		out.push_back(
			{.path = id.second, .window = id.first, .late = count});
	late_.clear();
	for (auto i = open_.begin(); i != open_.end();) {
		Open &o = i->second;

		if (i->first.first == current)
			break;
		if (o.last_sent + wait() > now) {
			close_at_ = std::min(close_at_, o.last_sent + wait());
			i++;
			continue;
		}
		for (Open *&newest : newest_[i->first.second])
			if (newest == &o)
				newest = nullptr;

		PathWindow w = o.w;

		w.sent -= o.unsent;
		w.rtt_mean = w.received ? o.rtt_sum / w.received : 0;
		if (w.sent)
			out.push_back(w);
		if (!o.one_way)
			closed_.insert(*i);
		i = open_.erase(i);
		/* One long wait is forgotten after some time. */
		largest_rtt_ -= largest_rtt_ / 1024;
	}
	while (!closed_.empty() &&
	       closed_.begin()->first.first + remember < current)
		closed_.erase(closed_.begin());
	return out;
}

void PeerWindows::on_received(uint32_t path, uint32_t window, uint32_t sequence,
			      uint64_t sent, uint64_t now)
{
	if (sequence >= most_in_window)
		return;

	Open *o = open(path, window, now);

	if (!o)
		return;

	/* The clocks have nothing in common. */
	const auto delay = static_cast<int64_t>(now - sent);

	if (!o->seen.add(sequence)) {
		o->w.duplicates++;
		return;
	}
	if (!o->w.received++ || delay < o->w.delay_min)
		o->w.delay_min = delay;
}

PeerWindows::Open *PeerWindows::open(uint32_t path, uint32_t window,
				     uint64_t now)
{
	Open *&newest = newest_[path];
	const auto last = closed_.find(path);

	if (newest && newest->w.window == window)
		return newest;
	if (last != closed_.end() && window <= last->second) {
		if (last->second - window < new_start)
			return nullptr;
		closed_.erase(last);
	}

	const auto [i, fresh] = open_.try_emplace(Id{path, window});

	newest = &i->second;
	if (fresh) {
		newest->w.path = path;
		newest->w.window = window;
		newest->first = now;
		close_at_ = std::min(close_at_,
				     now + config_.window + config_.wait);
	}
	return newest;
}

void PeerWindows::on_gap()
{
	for (auto &[id, o] : open_)
		o.w.disturbed = true;
}

std::vector<PeerWindow> PeerWindows::close(uint64_t now)
{
	std::vector<PeerWindow> out;

	if (now < close_at_)
		return out;
	close_at_ = UINT64_MAX;
	for (auto i = open_.begin(); i != open_.end();) {
		const Open &o = i->second;
		const uint64_t at = o.first + config_.window + config_.wait;

		if (at > now) {
			close_at_ = std::min(close_at_, at);
			i++;
			continue;
		}

		Open *&newest = newest_[o.w.path];

		if (newest == &o)
			newest = nullptr;
		out.push_back(o.w);
		closed_[o.w.path] = o.w.window;
		i = open_.erase(i);
	}
	return out;
}
} // namespace mrcmap

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

	if (word >= bits_.size())
		bits_.resize(word + 1);
	if (bits_[word] & bit)
		return false;
	bits_[word] |= bit;
	count_++;
	return true;
}

uint32_t SentWindows::window_of(uint64_t now) const
{
	return static_cast<uint32_t>(now / config_.window);
}

uint32_t SentWindows::on_sent(uint32_t path, bool one_way, uint64_t now)
{
	const uint32_t window = window_of(now);
	Open &o = open_[{window, path}];

	o.w.path = path;
	o.w.window = window;
	o.one_way = one_way;
	o.last_sent = now;
	return o.w.sent++;
}

void SentWindows::on_unsent(uint32_t path, uint32_t window)
{
	const auto i = open_.find({window, path});

	/* Sequence numbers are not used again; nothing comes with this one. */
	if (i != open_.end() && i->second.w.sent > i->second.unsent)
		i->second.unsent++;
}

bool SentWindows::on_received(uint32_t path, uint32_t window, uint32_t sequence,
			      uint64_t sent, uint64_t now)
{
	const Id id{window, path};
	auto i = open_.find(id);
	const bool late = i == open_.end();

	if (late) {
		i = closed_.find(id);
		if (i == closed_.end())
			return false;
	}

	Open &o = i->second;

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

	for (const auto &[id, count] : late_)
		out.push_back(
			{.path = id.second, .window = id.first, .late = count});
	late_.clear();
	for (auto i = open_.begin(); i != open_.end();) {
		Open &o = i->second;

		if (i->first.first == current)
			break;
		if (o.last_sent + wait() > now) {
			i++;
			continue;
		}
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

	const auto last = closed_.find(path);

	if (last != closed_.end() && window <= last->second) {
		if (last->second - window < new_start)
			return;
		closed_.erase(last);
	}

	const auto [i, fresh] = open_.try_emplace(Id{path, window});
	Open &o = i->second;
	/* The clocks have nothing in common. */
	const auto delay = static_cast<int64_t>(now - sent);

	if (fresh) {
		o.w.path = path;
		o.w.window = window;
		o.first = now;
		o.w.delay_min = delay;
	}
	if (!o.seen.add(sequence)) {
		o.w.duplicates++;
		return;
	}
	o.w.received++;
	o.w.delay_min = std::min(o.w.delay_min, delay);
}

void PeerWindows::on_gap()
{
	for (auto &[id, o] : open_)
		o.w.disturbed = true;
}

std::vector<PeerWindow> PeerWindows::close(uint64_t now)
{
	std::vector<PeerWindow> out;

	for (auto i = open_.begin(); i != open_.end();) {
		const Open &o = i->second;

		if (o.first + config_.window + config_.wait > now) {
			i++;
			continue;
		}
		out.push_back(o.w);
		closed_[o.w.path] = o.w.window;
		i = open_.erase(i);
	}
	return out;
}
} // namespace mrcmap

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "health.hpp"

#include <utility>

namespace mrcmap
{
const char *what_name(Change::What what)
{
	switch (what) {
	case Change::What::raised:
		return "raised";
	case Change::What::changed:
		return "changed";
	default:
		return "cleared";
	}
}

Change Health::note(Change::What what, const Finding &f, int64_t wall)
{
	history_.push_back({what, wall, f});
	while (history_.size() > config_.history)
		history_.pop_front();
	return history_.back();
}

std::vector<Change> Health::update(const std::vector<Finding> &seen,
				   int64_t wall)
{
	std::vector<Change> changes;

	for (auto &[place, track] : tracks_)
		track.unseen++;
	for (const Finding &f : seen) {
		Track &track = tracks_[f.place];

		track.unseen = 0;
		if (!track.raised) {
			track.alarm.finding = f;
			if (++track.seen < config_.raise_after)
				continue;
			track.raised = true;
			track.seen = 0;
			track.alarm.since = wall;
			changes.push_back(note(Change::What::raised, f, wall));
		} else if (f.state == track.alarm.finding.state) {
			track.alarm.finding = f;
			track.seen = 0;
		} else {
			if (track.seen++ == 0 || track.pending != f.state)
				track.seen = 1;
			track.pending = f.state;
			if (track.seen < config_.raise_after)
				continue;
			track.alarm.finding = f;
			track.seen = 0;
			changes.push_back(note(Change::What::changed, f, wall));
		}
	}
	for (auto i = tracks_.begin(); i != tracks_.end();) {
		Track &track = i->second;

		if (track.unseen)
			track.seen = 0;
		if (track.raised && track.unseen >= config_.clear_after)
			changes.push_back(note(Change::What::cleared,
					       track.alarm.finding, wall));
		if (track.unseen &&
		    (!track.raised || track.unseen >= config_.clear_after))
			i = tracks_.erase(i);
		else
			i++;
	}
	return changes;
}

std::vector<Alarm> Health::alarms() const
{
	std::vector<Alarm> out;

	for (const auto &[place, track] : tracks_)
		if (track.raised)
			out.push_back(track.alarm);
	return out;
}
} // namespace mrcmap

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queue pairs, events and changes, the live view. */
#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "commands.hpp"
#include "error.hpp"
#include "figures.hpp"
#include "names.hpp"
#include "text.hpp"
#include "watch.hpp"

namespace mrcctl
{
namespace
{
constexpr uint32_t event_depth = 1024;

template <typename Of>
void profile_states(States &s, const char *kind, uint32_t max, Of of)
{
	for (uint64_t id = 0; id < max; id++)
		if (const State st = of(id); st != State::init)
			s.of[fmt::format("{} {}", kind, id)] = name_of(st);
}

States states_now(Backend &dev, const Device &d)
{
	States s;

	for (const Port &p : dev.ports()) {
		s.of[fmt::format("port {} state", p.num)] = p.state;
		if (p.enabled)
			s.of[fmt::format("port {} admin", p.num)] =
				*p.enabled ? "enabled" : "disabled";
	}
	profile_states(s, "fmt", d.max_fmt_profiles,
		       [&](uint64_t id) { return dev.fmt_state(id); });
	profile_states(s, "ev", d.max_ev_profiles,
		       [&](uint64_t id) { return dev.ev_state(id); });
	profile_states(s, "cc", d.max_cc_profiles,
		       [&](uint64_t id) { return dev.cc_state(id); });
	for (const QpName &q : dev.qps())
		s.of[fmt::format("qp {}", q.qpn)] = q.state;
	return s;
}

/* Prints until the number of lines or the time is reached. */
class Monitor
{
public:
	Monitor(Context &c, bool ev, bool state)
		: c_(c), device_(c.dev.device()), state_(state)
	{
		/* Subscribe to events before the present states are read, so
		 * that no change is missed.
		 */
		if (ev)
			events_ = c.dev.events(event_depth);
		if (state)
			before_ = states_now(c.dev, device_);
		start_ = look_ = c.env.clock.mono_ns();
	}

	void run()
	{
		while (!finished()) {
			wait();
			if (state_ && now() >= look_)
				look();
		}
	}

private:
	uint64_t now() const { return c_.env.clock.mono_ns(); }

	bool finished() const
	{
		return (c_.opt.count && shown_ >= c_.opt.count) ||
		       (c_.opt.timeout_ns &&
			now() - start_ >= c_.opt.timeout_ns);
	}

	/* Waits until an event comes or the next poll is due. */
	void wait()
	{
		uint64_t ns = c_.opt.interval_ns;
		const uint64_t t = now();

		if (state_)
			ns = look_ > t ? look_ - t : 0;
		if (c_.opt.timeout_ns) {
			const uint64_t end = start_ + c_.opt.timeout_ns;

			ns = std::min(ns, end > t ? end - t : 0);
		}
		if (!events_) {
			c_.env.clock.sleep_ns(ns);
			return;
		}
		const int ms = static_cast<int>(
			std::min<uint64_t>((ns + 999999) / 1000000, 3600000));

		for (const EvEvent &e : events_->wait(ms))
			show(e);
	}

	void look()
	{
		const States after = states_now(c_.dev, device_);

		for (const StateChange &change : changes(before_, after))
			show(change);
		before_ = after;
		look_ = now() + c_.opt.interval_ns;
	}

	template <typename T> void show(const T &t)
	{
		if (c_.opt.count && shown_ >= c_.opt.count)
			return;
		shown_++;
		const std::string time = timestamp(c_.env.clock.wall_us());

		if (c_.opt.json) {
			Json j = {{"time", time}};

			j.update(json_of(t));
			c_.print_json(j);
		} else {
			c_.print_text(fmt::format("{} {}\n", time, text_of(t)));
		}
	}

	Context &c_;
	Device device_;
	bool state_;
	std::unique_ptr<EventSource> events_;
	States before_;
	uint64_t start_ = 0;
	uint64_t look_ = 0;
	uint64_t shown_ = 0;
};

Sample sample(Context &c)
{
	Sample s;

	s.ports = ports_with_counters(c.dev);
	s.qps = all_qps(c.dev, c.dev.qps());
	s.mono_ns = c.env.clock.mono_ns();
	return s;
}
} // namespace

void qp_show(Context &c, Words &w)
{
	std::vector<Qp> list;
	const bool one = !w.empty();

	if (one) {
		const auto qpn = static_cast<uint32_t>(
			parse_number(w.next("QPN"), 0xffffff));

		w.done();
		for (const QpName &name : c.dev.qps())
			if (name.qpn == qpn)
				if (std::optional<Qp> q = c.dev.qp(name))
					list.push_back(std::move(*q));
		if (list.empty())
			throw DeviceError(fmt::format("qp {}", qpn), ENOENT);
	} else {
		list = all_qps(c.dev, c.dev.qps());
	}
	c.show(list, [&] {
		std::string s;

		for (const Qp &q : list)
			s += text_of(q, one);
		return s;
	});
}

void monitor(Context &c, Words &w)
{
	const std::string what = w.empty() ? "all" : w.next("ev or state");

	w.done();
	if (what != "all" && what != "ev" && what != "state")
		throw UsageError(
			fmt::format("\"{}\" is not ev or state", what));
	Monitor(c, what != "state", what != "ev").run();
}

void top(Context &c, Words &w)
{
	w.done();
	Sample before = sample(c);

	for (uint64_t n = 0; !c.opt.count || n < c.opt.count; n++) {
		c.env.clock.sleep_ns(c.opt.interval_ns);
		Sample after = sample(c);
		const Frame f = frame(before, after, c.env.clock.wall_us());

		if (c.opt.json) {
			c.print_json(json_of(f));
		} else {
			/* Move to the top left corner and clear the screen. */
			if (c.env.tty)
				c.print_text("\033[H\033[J");
			else if (n)
				c.print_text("\n");
			c.print_text(text_of(f, c.env.rows));
		}
		before = std::move(after);
	}
}
} // namespace mrcctl

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* EV events: what is reported, what is dropped, exactly counted. */
#include <poll.h>
#include <unistd.h>

#include "profile.hpp"

namespace
{
std::vector<mrc_abi_ev_event> read_all(int fd)
{
	std::vector<mrc_abi_ev_event> out;
	mrc_abi_ev_event ev[7];
	pollfd p{.fd = fd, .events = POLLIN, .revents = 0};

	while (poll(&p, 1, 0) > 0) {
		const ssize_t n = read(fd, ev, sizeof(ev));

		if (n <= 0)
			throw Refused("reading events", errno);
		for (std::size_t i = 0;
		     i < static_cast<std::size_t>(n) / sizeof(ev[0]); i++)
			out.push_back(ev[i]);
	}
	return out;
}

int queue(Dev &dev, uint32_t depth)
{
	const int fd = dev.events(depth);

	if (fd < 0)
		throw Refused("event queue", -fd);
	return fd;
}

/* A denied EV that is allowed again enters GOOD, in every QP: an event each. */
void flip(Profile &prof, std::size_t i)
{
	must(prof.entry(mrc::MODIFY_EV_STATE, i, mrc::DENIED), "deny");
	must(prof.entry(mrc::MODIFY_EV_STATE, i, mrc::GOOD), "allow");
}

void event_counts(Dev &dev, Check &c)
{
	Profile prof(dev, ports_of(dev), mrc::GOOD | mrc::BAD);
	const int large = queue(dev, 1024), small = queue(dev, 4);
	Pair p(dev, with_profile(EVP));

	p.a.write(p.b, 1, 4096);
	c.eq(read_all(large).size(), 0, "events before anything changed");
	for (int i = 0; i < 10; i++)
		flip(prof, 2);
	auto all = read_all(large);

	c.eq(all.size(), 20, "events of 10 flips in 2 QPs");
	for (const auto &ev : all) {
		c.eq(ev.profile_id, EVP, "profile");
		c.eq(ev.state, mrc::GOOD, "state");
		c.eq(ev.drop_count, 0, "drops");
		c.eq(ev.ev.val[0] << 8 | ev.ev.val[1], 0xc003, "EV");
		c.eq(ev.ev.port, prof.evs[2].port, "port");
	}
	auto some = read_all(small);

	c.eq(some.size(), 4, "events that fit");
	for (const auto &ev : some)
		c.eq(ev.drop_count, 0, "drops of those that fitted");
	flip(prof, 3);
	some = read_all(small);
	c.eq(some.size(), 2, "events after the drops");
	if (some.size() == 2) {
		c.eq(some[0].drop_count, 16, "drops, with the next event");
		c.eq(some[1].drop_count, 0, "drops of the one after that");
	}
	close(small);

	/* Nobody asked for GOOD any more. */
	mrc_abi_evp e{};

	read_all(large);
	e.id = EVP;
	e.mask = mrc::EVP_EVENT_MASK;
	e.event_mask = mrc::BAD;
	must(dev.call(MRC_ABI_OBJECT_EV_PROFILE, MRC_ABI_EVP_MODIFY, e),
	     "event mask");
	flip(prof, 2);
	c.eq(read_all(large).size(), 0, "events that nobody asked for");
	close(large);
}

void queue_rules(Dev &dev, Check &c)
{
	std::vector<int> fds;
	mrc_abi_ev_event ev{};
	const uint32_t max = dev.query().max_event_depth;

	c.err(-dev.events(0), EINVAL, "depth 0");
	c.err(-dev.events(max + 1), EINVAL, "depth above the maximum");
	const int fd = queue(dev, 1);

	c.err(read(fd, &ev, sizeof(ev) - 1) < 0 ? errno : 0, EINVAL,
	      "read of less than an event");
	close(fd);
	for (int i = 0; i < 1000; i++) {
		const int one = dev.events(16);

		if (one < 0) {
			c.err(-one, ENOSPC, "too many queues");
			break;
		}
		fds.push_back(one);
	}
	c.that(fds.size() < 1000, "the number of queues is not bounded");
	for (const int one : fds)
		close(one);
}
} // namespace

bool selftest_events(Dev &dev)
{
	Report r;

	r.run("event queues: depth, size, number",
	      [&](Check &c) { queue_rules(dev, c); });
	r.run("events and what was dropped, exactly",
	      [&](Check &c) { event_counts(dev, c); });
	return r.good();
}

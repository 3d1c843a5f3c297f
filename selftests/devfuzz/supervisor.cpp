// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "supervisor.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "../common/say.hpp"
#include "actions.hpp"
#include "life.hpp"
#include "packets.hpp"

namespace devfuzz
{
namespace
{
using namespace std::chrono_literals;

/* Parts of the seed of a run: each place, and behind these each plane. */
constexpr uint64_t part_planes = 1000;

unsigned long long ull(uint64_t n)
{
	return n;
}

pid_t forked()
{
	const pid_t pid = fork();

	if (pid < 0)
		fail("no process: %s", std::strerror(errno));
	return pid;
}
} // namespace

Supervisor::Supervisor(Board &board, Places &places, const Options &options)
	: board_(board), places_of_driver_(places), options_(options),
	  places_(options.programs)
{
}

void Supervisor::start(unsigned place)
{
	Place &p = places_[place];

	p.seed = derive(derive(options_.seed, place), p.lives++);
	p.begun = board_.begun[place];
	p.since = Clock::now();
	board_.lives[kind_of(options_, p.seed)]++;
	p.pid = forked();
	if (!p.pid)
		live(board_, places_of_driver_, options_, place, p.seed);
}

void Supervisor::start_planes()
{
	uint64_t part = part_planes;

	if (!options_.packets)
		return;
	for (const Host &h : options_.hosts) {
		for (const std::string &netdev : h.netdevs) {
			const uint64_t seed = derive(options_.seed, part++);
			const pid_t pid = forked();

			if (!pid)
				disturb_plane(board_, options_, h.netns, netdev,
					      seed);
			planes_.push_back(pid);
		}
	}
}

void Supervisor::blame(const Place &p, unsigned place, const std::string &why)
{
	const Kind kind = kind_of(options_, p.seed);
	const uint32_t action = board_.current[place];

	good_ = false;
	say("mrc_devfuzz: FAIL: %s: program %d of kind %s, action %s, life %u "
	    "of place %u",
	    why.c_str(), p.pid, kind_names[kind],
	    action < all_actions().size() ? all_actions()[action].name : "?",
	    p.lives, place);
}

void Supervisor::ended(Place &p, unsigned place, int status)
{
	const Kind kind = kind_of(options_, p.seed);

	board_.forget_all_of(p.pid);
	if (WIFSIGNALED(status)) {
		/* The end that was meant for it; the ones of those that harm
		 * themselves. */
		if (WTERMSIG(status) == SIGKILL)
			killed_++;
		else if (WTERMSIG(status) == SIGALRM && kind != wild)
			blame(p, place, "a call does not return");
		else if (kind == wild)
			(WTERMSIG(status) == SIGALRM ? hung_ : crashed_)++;
		else
			blame(p, place,
			      std::string("ended by ") +
				      strsignal(WTERMSIG(status)));
	} else if (WEXITSTATUS(status) == end_no_device) {
		no_device_++;
	} else if (WEXITSTATUS(status) == end_guard) {
		blame(p, place, "its memory was overwritten");
	} else if (WEXITSTATUS(status) != end_well && kind != wild) {
		blame(p, place, format("status %d", WEXITSTATUS(status)));
	}
	p.pid = 0;
}

/* A program that makes no step although its alarm must have killed it. */
void Supervisor::watch(Place &p, unsigned place)
{
	const uint64_t begun = board_.begun[place];

	if (begun != p.begun) {
		p.begun = begun;
		p.since = Clock::now();
		return;
	}
	if (Clock::now() - p.since <
	    std::chrono::seconds(2 * options_.patience))
		return;
	kill(p.pid, SIGKILL);
	if (Clock::now() - p.since <
	    std::chrono::seconds(3 * options_.patience))
		return;
	blame(p, place, "cannot be killed");
	std::ifstream stack("/proc/" + std::to_string(p.pid) + "/stack");

	for (std::string line; std::getline(stack, line);)
		say("# %s", line.c_str());
}

void Supervisor::progress()
{
	if (Clock::now() - said_ < 10s)
		return;
	said_ = Clock::now();
	uint64_t done = 0, refused = 0;

	for (unsigned i = 0; i < max_actions; i++) {
		done += board_.done[i];
		refused += board_.refused[i];
	}
	const auto [least, most] =
		std::minmax_element(places_.begin(), places_.end(),
				    [](const Place &a, const Place &b) {
					    return a.lives < b.lives;
				    });

	say("life %u to %u of %u, actions %llu and %llu refused, completions "
	    "%llu, packets %llu",
	    least->lives, most->lives, options_.lives, ull(done), ull(refused),
	    ull(board_.completions), ull(board_.packets_sent));
}

bool Supervisor::run()
{
	start_planes();
	for (unsigned i = 0; i < places_.size(); i++)
		start(i);
	for (;;) {
		unsigned alive = 0;

		for (unsigned i = 0; i < places_.size() && good_; i++) {
			Place &p = places_[i];
			int status;

			if (p.pid &&
			    waitpid(p.pid, &status, WNOHANG) == p.pid) {
				ended(p, i, status);
				if (good_ && p.lives < options_.lives)
					start(i);
			}
			if (p.pid)
				watch(p, i);
			alive += p.pid != 0;
		}
		if (!alive || !good_)
			break;
		progress();
		std::this_thread::sleep_for(10ms);
	}
	for (const Place &p : places_)
		if (p.pid)
			kill(p.pid, SIGKILL);
	for (const pid_t pid : planes_) {
		int status;

		kill(pid, SIGTERM);
		if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		    WEXITSTATUS(status) == end_itself)
			good_ = false;
	}
	return good_;
}

void Supervisor::print_summary() const
{
	const Board &b = board_;

	for (unsigned i = 0; i < all_actions().size(); i++)
		if (b.lives[control] || b.done[i] || b.refused[i])
			say("# %-24s %8llu done %8llu refused",
			    all_actions()[i].name, ull(b.done[i]),
			    ull(b.refused[i]));
	say("# programs: %llu plain, %llu wild, %llu with faults, %llu "
	    "controllers; %u killed, "
	    "%u crashed, %u hung, %u without a device",
	    ull(b.lives[plain]), ull(b.lives[wild]), ull(b.lives[faults]),
	    ull(b.lives[control]), killed_, crashed_, hung_, no_device_);
	say("# connected %llu, completions %llu, calls changed %llu, repeated "
	    "%llu, without memory "
	    "%llu, words of rings %llu, packets seen %llu, sent %llu",
	    ull(b.connected), ull(b.completions), ull(b.calls_changed),
	    ull(b.calls_repeated), ull(b.no_memory), ull(b.rings_changed),
	    ull(b.packets_seen), ull(b.packets_sent));
	if (!places_of_driver_.count()) {
		say("# coverage: this kernel has no KCOV");
		return;
	}
	const auto missing = places_of_driver_.unreached("mrc");

	say("# coverage: %llu places of the driver, all but %zu of its "
	    "functions, by system calls",
	    ull(places_of_driver_.count()), missing.size());
	if (!options_.coverage.empty())
		for (const std::string &name : missing)
			say("# unreached: %s", name.c_str());
}
} // namespace devfuzz

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "life.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "../common/failure.hpp"
#include "actions.hpp"
#include "calls.hpp"
#include "coverage.hpp"
#include "netns.hpp"
#include "rings.hpp"
#include "world.hpp"

namespace devfuzz
{
namespace
{
/* Parts of a seed. */
enum : uint64_t {
	part_kind,
	part_world,
	part_between,
	part_racer,
	part_end,
	part_choice
};

/* The commands from before there was an ioctl. */
void old_command(int fd, Rng &rng)
{
	struct {
		ib_uverbs_cmd_hdr hdr;
		uint64_t words[16];
	} m{};
	uint64_t answer[64];

	m.hdr.command = rng.u32(60);
	m.hdr.in_words = static_cast<uint16_t>(rng.range(2, sizeof(m) / 4));
	m.hdr.out_words = static_cast<uint16_t>(rng.below(32));
	for (uint64_t &w : m.words)
		w = rng.chance(60) ? rng.below(8) | rng.below(8) << 32
				   : rng.nasty();
	m.words[0] = reinterpret_cast<uintptr_t>(answer);
	(void)!write(fd, &m, m.hdr.in_words * std::size_t{4});
}

/* A thread that disturbs the program's own calls. */
class Racer
{
public:
	Racer(Board &board, Between &between, int fd, uint64_t seed)
		: thread_([&board, &between, fd, seed, this] {
			  run(board, between, fd, seed);
		  })
	{
	}
	Racer(const Racer &) = delete;
	Racer &operator=(const Racer &) = delete;
	~Racer()
	{
		stop_ = true;
		thread_.join();
	}

private:
	void run(Board &board, Between &between, int fd, uint64_t seed)
	{
		Rng rng(seed);
		std::vector<Mapping> rings;

		while (!stop_) {
			switch (rng.below(4)) {
			case 0:
				between.repeat(rng);
				break;
			case 1:
				old_command(fd, rng);
				break;
			default:
				if (rings.empty() || rng.chance(5))
					rings = find_rings();
				for (unsigned n = 0; n < 20 && !rings.empty();
				     n++)
					if (scribble(rng.pick(rings), rng))
						board.rings_changed++;
					else
						rings.clear();
			}
			if (rng.chance(30))
				usleep(static_cast<unsigned>(rng.below(3000)));
		}
	}

	std::atomic<bool> stop_ = false;
	std::thread thread_;
};

/* The program is killed @us microseconds from now, wherever it is then. */
void kill_in(uint64_t us)
{
	sigevent how{};
	timer_t timer;
	itimerspec when{};

	how.sigev_notify = SIGEV_SIGNAL;
	how.sigev_signo = SIGKILL;
	when.it_value.tv_sec = static_cast<time_t>(us / 1000000);
	when.it_value.tv_nsec = static_cast<long>(us % 1000000) * 1000;
	if (!timer_create(CLOCK_MONOTONIC, &how, &timer))
		timer_settime(timer, 0, &when, nullptr);
}

/* What a program waits for longer is its own fault if it changed its rings. */
unsigned patience(const Options &o, Kind kind)
{
	return kind == wild ? 1 + o.patience / 10 : o.patience;
}

void end_by(int sig)
{
	/* Its handler is gone by now, and it is not blocked. */
	std::raise(sig);
}

/* The kernel writes a warning about a program whose fault nobody handles. A
 * wild program may crash, so its faults are handled: it ends by the same signal
 * as without the handler. */
void crash_without_warning()
{
	struct sigaction how = {};

	how.sa_handler = end_by;
	how.sa_flags = SA_RESETHAND | SA_NODEFER;
	for (int sig : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
		sigaction(sig, &how, nullptr);
}

/* What every program begins with, as far as its kind lets it. */
void furnish(World &w, const Options &o, Kind kind)
{
	static const char *const first[] = {
		"alloc_pd",	 "create_cq",	 "reg_mr",
		"reg_mr",	 "reg_paged_mr", "mrc_create_context",
		"mrc_create_cq", "create_qp"};

	for (const char *name : first)
		for (const Action &a : all_actions())
			if (!std::strcmp(a.name, name)) {
				alarm(patience(o, kind));
				(void)a.run(w);
				alarm(0);
			}
}

/* Runs the next action that has what it needs; false: there is no device any
 * more. */
bool act(World &w, const Options &o, Kind kind, unsigned place,
	 const Choice &choice, Rng &rng)
{
	for (unsigned tries = 0; tries < 20; tries++) {
		const unsigned i = choice.next(rng);
		const Action &a = all_actions()[i];

		w.board.current[place] = i;
		w.board.begun[place]++;
		alarm(patience(o, kind));
		const int err = a.run(w);

		alarm(0);
		if (err == nothing_to_do)
			continue;
		if (o.trace)
			std::fprintf(stderr, "%d %s: %s\n", getpid(), a.name,
				     err ? std::strerror(err) : "done");
		(err ? w.board.refused : w.board.done)[i]++;
		return err != EIO && err != ENODEV;
	}
	return true;
}

int actions(Board &board, Places &places, const Options &o, unsigned place,
	    uint64_t seed)
{
	const Kind kind = kind_of(o, seed);
	const Host &host = o.hosts[place % o.hosts.size()];
	Rng end(derive(seed, part_end)), choices(derive(seed, part_choice));
	const Choice choice(kind, o.only);
	Coverage coverage(places);
	Between between(board, kind, derive(seed, part_between));

	enter_netns(host.netns);
	World w(board, host, derive(seed, part_world));
	std::optional<Racer> racer;

	if (kind == wild) {
		crash_without_warning();
		racer.emplace(board, between, w.ctx->cmd_fd,
			      derive(seed, part_racer));
	}
	furnish(w, o, kind);
	const unsigned killed_at =
		end.chance(25) ? end.u32(o.actions + 1) : ~0u;

	for (unsigned n = 0; n < o.actions; n++) {
		if (n == killed_at)
			kill_in(end.below(5000));
		if (!act(w, o, kind, place, choice, choices))
			break;
		coverage.collect();
	}
	racer.reset();
	if (kind != wild && !w.guard_intact())
		return end_guard;
	if (end.chance(60)) {
		alarm(patience(o, kind));
		w.destroy_all();
		coverage.collect();
	}
	return end_well;
}
} // namespace

Kind kind_of(const Options &options, uint64_t seed)
{
	return options.kinds[derive(seed, part_kind) % options.kinds.size()];
}

void live(Board &board, Places &places, const Options &options, unsigned place,
	  uint64_t seed)
{
	try {
		_exit(actions(board, places, options, place, seed));
	} catch (const No_device &e) {
		std::fprintf(stderr, "# %s\n", e.what());
		_exit(end_no_device);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "mrc_devfuzz: %s\n", e.what());
		_exit(end_itself);
	}
}
} // namespace devfuzz

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <gtest/gtest.h>

#include "prop_options.hpp"
#include "prop_tail.hpp"

namespace prop
{

Options options;

namespace
{

std::string failure(const std::string &what, const std::string &kind, u64 seed)
{
	if (what.empty())
		return {};
	return strf("%s\n  to see it: mrc_prop --replay=%s:%llu --trace",
		    what.c_str(), kind.c_str(), (unsigned long long)seed);
}

} // namespace

std::string run_schedule(const std::string &kind, u64 seed, bool trace)
{
	if (kind.rfind("ext", 0) == 0)
		return failure(run_ext(kind, seed, trace), kind, seed);
	if (kind == "nics")
		return failure(run_nics(seed, trace), kind, seed);
	if (kind.rfind("tail", 0) == 0)
		return failure(run_tail(kind, seed, trace), kind, seed);

	Plan plan = kind == "error"    ? error_plan(seed)
		    : kind == "attack" ? attack_plan(seed)
				       : random_plan(seed);
	Sim sim(plan, trace);

	if (kind == "random") {
		sim.run();
	} else if (kind == "error") {
		sim.run_until(MRC_NEVER);
		check_error_outcome(sim);
	} else {
		// A forger can stall a QP or fail it, no more.
		sim.run_until(MRC_NEVER, [&sim] {
			return sim.delivered() || sim.events() > 4000 ||
			       sim.now() - sim.plan.start > 100000000000;
		});
	}
	return failure(sim.what(), kind, seed);
}

} // namespace prop

namespace
{

bool number(const std::string &arg, const char *name, u64 &out)
{
	const std::string prefix = std::string("--") + name + "=";

	if (arg.rfind(prefix, 0) != 0)
		return false;
	out = std::strtoull(arg.c_str() + prefix.size(), nullptr, 0);
	return true;
}

int replay()
{
	const std::string &what = prop::options.replay;
	std::size_t colon = what.find(':');
	std::string bad;

	if (colon == std::string::npos) {
		std::fprintf(stderr, "--replay=KIND:SEED\n");
		return 2;
	}
	bad = prop::run_schedule(
		what.substr(0, colon),
		std::strtoull(what.c_str() + colon + 1, nullptr, 0),
		prop::options.trace);
	std::fprintf(stderr, "%s: %s\n", what.c_str(),
		     bad.empty() ? "ok" : bad.c_str());
	return bad.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
	const char *env = std::getenv("MRC_PROP_SCHEDULES");

	testing::InitGoogleTest(&argc, argv);
	if (env)
		prop::options.schedules = std::strtoull(env, nullptr, 0);
	for (int i = 1; i < argc; i++) {
		const std::string arg = argv[i];

		if (number(arg, "schedules", prop::options.schedules) ||
		    number(arg, "first", prop::options.first))
			continue;
		if (arg == "--trace") {
			prop::options.trace = true;
		} else if (arg.rfind("--replay=", 0) == 0) {
			prop::options.replay = arg.substr(9);
		} else {
			std::fprintf(stderr, "unknown argument %s\n", argv[i]);
			return 2;
		}
	}
	if (!prop::options.replay.empty())
		return replay();
	return RUN_ALL_TESTS();
}

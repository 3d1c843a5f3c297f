// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "run.hpp"

#include <iostream>

#include <nlohmann/json.hpp>
#include <sched.h>

namespace mrcconform
{
namespace
{
/*
 * Between two namespaces of one machine the receiver runs on the processor of
 * the sender. All packets from one processor arrive in the order in which they
 * were sent, and a fence comes last.
 */
void stay_on_one_processor()
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

Result run_one(const Case &c, Bench &bench, const Address &address)
{
	const auto began = Clock::now();
	Result r;

	r.test = &c;
	r.address = address.text();
	bench.begin();
	try {
		c.run(bench);
	} catch (const Failed &e) {
		r.verdict = Verdict::failed;
		r.text = e.what();
	} catch (const Skipped &e) {
		r.verdict = Verdict::skipped;
		r.text = e.what();
	} catch (const std::exception &e) {
		r.verdict = Verdict::error;
		r.text = e.what();
	}
	r.trace = bench.trace();
	r.seconds = std::chrono::duration<double>(Clock::now() - began).count();
	/* A connection that is gone ends the run here. */
	bench.end();
	return r;
}
} // namespace

void run_cases(const RunOptions &options, std::vector<Result> &results)
{
	const auto cases = chosen_cases(options.patterns);
	Pcap pcap;

	stay_on_one_processor();
	if (!options.pcap.empty())
		pcap.open(options.pcap);

	Link control = connect_to(options.target, options.patience);

	for (const Address &address : options.addresses) {
		Bench bench(control, address, options, pcap);

		bench.ask(req::Hello{proto_version});
		for (const Case *c : cases) {
			results.push_back(run_one(*c, bench, address));
			print_text(std::cout, results.back(), options.verbose);
			/* Passed cases need no trace any more. */
			if (results.back().verdict == Verdict::passed)
				results.back().trace.clear();
		}
	}
}
} // namespace mrcconform

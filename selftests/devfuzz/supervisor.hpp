/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Starts programs one after the other in each place, and looks how they end. */
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "board.hpp"
#include "coverage.hpp"
#include "options.hpp"

namespace devfuzz
{
class Supervisor
{
public:
	Supervisor(Board &board, Places &places, const Options &options);

	/* Until all programs have ended, or one is at fault: false. */
	bool run();
	void print_summary() const;

private:
	using Clock = std::chrono::steady_clock;

	/* A place for one program at a time. */
	struct Place {
		pid_t pid = 0;
		unsigned lives = 0; /* begun */
		uint64_t seed = 0;  /* of the current one */
		uint64_t begun = 0; /* actions, when it was last looked at */
		Clock::time_point since;
	};

	void start(unsigned place);
	void start_planes();
	void ended(Place &p, unsigned place, int status);
	void watch(Place &p, unsigned place);
	void progress();
	void blame(const Place &p, unsigned place, const std::string &why);

	Board &board_;
	Places &places_of_driver_;
	const Options &options_;
	std::vector<Place> places_;
	std::vector<pid_t> planes_;
	Clock::time_point said_ = Clock::now();
	unsigned no_device_ = 0, killed_ = 0, crashed_ = 0, hung_ = 0;
	bool good_ = true;
};
} // namespace devfuzz

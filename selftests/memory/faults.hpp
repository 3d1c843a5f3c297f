/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Page faults that a program serves itself, late or never (userfaultfd). */
#pragma once

#include <functional>
#include <string>

#include "paging.hpp"

/* How long (ms) to wait for what must come; longer on slow machines (LAB_TIME). */
int patience_ms();

/* Waits until @done, for so long at most. */
bool in_time(const std::function<bool()> &done);

/* Does the kernel have it? */
bool has_userfaultfd();

/* The faults of a region that has no pages yet. */
class Faults
{
public:
	explicit Faults(Region &r); /* throws Failure */
	Faults(const Faults &) = delete;
	Faults &operator=(const Faults &) = delete;
	~Faults();

	/* Waits until somebody needs a page, for @what: its address. Throws
	 * Failure. */
	uint64_t await(const std::string &what) const;

	/* Does somebody need a page for which await() was not called yet? */
	bool any() const;

	/* Waits until somebody needs a page of one of them. Throws Failure. */
	static const Faults *first_of(const Faults &a, const Faults &b);

	/* All of its pages become zeros. */
	void serve() const { serve(r_.addr(), r_.size); }
	void serve(uint64_t at, uint64_t len) const;

private:
	Region &r_;
	const int fd_;
};

/* @run(name, fn), or a line that says that there is no paging or no
 * userfaultfd. */
void run_served(const Part &run, const char *name,
		void (*fn)(Dev &, tap::Check &));

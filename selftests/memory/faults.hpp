/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Page faults that a program serves itself, late or never (userfaultfd). */
#pragma once

#include <string>

#include "paging.hpp"

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

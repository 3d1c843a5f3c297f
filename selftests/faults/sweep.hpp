/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Failing allocations, one after the other. A kind of call ("write MODIFY_QP to
 * RTR") is swept when it has failed, or gone on all the same, at its first
 * allocation, at its second and so on, until it has none left that could fail.
 *
 * How far each kind is, is kept in a file that all programs of a test share: a
 * call that goes on although an allocation failed has done its work and cannot
 * be repeated, so the next call of that kind takes the next allocation.
 *
 * Which allocations the kernel counts is chosen in /sys/kernel/debug/failslab
 * and fail_page_alloc; the counting itself is that of fail-nth
 * (Documentation/fault-injection in the kernel's source).
 */
#pragma once

#include <cstdint>
#include <string>

namespace faults
{
constexpr unsigned max_kinds = 512;
constexpr unsigned name_size = 56;
/* No call allocates so often; one that does is not swept, which is a failure.
 */
constexpr uint32_t max_nth = 20000;

/* A kind of call. All programs of a test change these at the same time. */
struct Kind {
	char name[name_size];
	uint32_t used;	   /* 0 free, 1 being named, 2 named */
	uint32_t next;	   /* the allocation that fails next, from 1 */
	uint32_t swept;	   /* a call had fewer than that */
	uint32_t refused;  /* calls that failed for it */
	uint32_t survived; /* calls that went on without it */
	uint32_t odd; /* calls that failed with an errno of something else */
	uint32_t errnos[4]; /* the errnos of these, the first few */
};

struct State {
	Kind kinds[max_kinds];
};

/* The file's mapping; null with errno. */
State *open_state(const char *path);

/* The kind of that name, made where there is none; null when the table is full.
 */
Kind *find(State *state, const char *name);

/* What a lack of memory may be called. */
bool lack_of_memory(int err);

/*
 * Armed for its life: the @nth allocation of this thread fails. Not armed where
 * the kernel has no fault injection, or this thread may not.
 */
class Armed
{
public:
	explicit Armed(uint32_t nth);
	Armed(const Armed &) = delete;
	Armed &operator=(const Armed &) = delete;
	~Armed();

	/* Ends it. Did an allocation fail? */
	bool hit();

private:
	bool armed_;
	bool hit_ = false;
};

/* Can allocations be made to fail here? */
bool available();

void note_odd(Kind &k, int err);

/*
 * Calls @call, a function that returns less than 0 and errno when it fails,
 * until no allocation of it fails any more, or until it has gone on without
 * one.
 */
template <typename F> auto sweep(Kind *k, F call) -> decltype(call());

/*
 * One call with one failing allocation, for what cannot be repeated or does not
 * return what became of it.
 */
template <typename F> auto once(Kind *k, F call) -> decltype(call());
} // namespace faults

#include "sweep_impl.hpp"

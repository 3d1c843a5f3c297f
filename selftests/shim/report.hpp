/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_shim: counts how often each replaced function is entered, and how often
 * of that from inside of a call to libMRC, which must never happen. Written to
 * the file MRC_SHIM_REPORT when the program ends, a line "NAME CALLS INSIDE"
 * for each function.
 */
#pragma once

enum class Entry {
	open_device,
	close_device,
	create_cq,
	create_cq_ex,
	destroy_cq,
	create_qp,
	create_qp_ex,
	destroy_qp,
	modify_qp,
	query_qp,
	post_send,
	post_recv,
	poll_cq,
	mrc, /* any function of libMRC, called from here */
	count,
};

/* Counts. false, and errno, when libMRC itself has come here. */
bool enter(Entry e);

/* Calls a function of libMRC. */
class Inside
{
public:
	Inside();
	Inside(const Inside &) = delete;
	Inside &operator=(const Inside &) = delete;
	~Inside();
};

template <typename F, typename... A> auto call(F *f, A... args)
{
	Inside inside;

	return f(args...);
}

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the tests of mrc_modify_qp() share: steps, and rows of a table that make
 * a step with one attribute.
 */
#pragma once

#include <functional>
#include <vector>

#include <mrc_ctl.h>

#include "objects.hpp"
#include "tests.hpp"

/* Where attributes can be: with a transition, or without one in a state. */
enum Step {
	RESET_INIT,
	INIT_INIT,
	INIT_RTR,
	RTR_RTS,
	RTS_RTS,
	IN_RESET,
	IN_INIT,
	IN_RTR,
	IN_RTS,
	IN_ERR,
	TO_RESET,
	TO_ERR,
	STEPS
};

struct StepInfo {
	const char *name;
	ibv_qp_state from, to;
	bool transition;
};

extern const StepInfo steps[STEPS];

constexpr uint32_t bits(std::initializer_list<Step> l)
{
	uint32_t m = 0;

	for (Step s : l)
		m |= 1u << s;
	return m;
}

constexpr uint32_t everywhere = (1u << STEPS) - 1;
/* Steps in which MRC attributes are looked at. */
constexpr uint32_t looked_at = everywhere & ~bits({TO_RESET, TO_ERR});
/* What the connection to come is made with. */
constexpr uint32_t until_rtr =
	bits({RESET_INIT, INIT_INIT, INIT_RTR, IN_RESET, IN_INIT});
/* What the requester is made with. */
constexpr uint32_t until_rts = until_rtr | bits({RTR_RTS, IN_RTR});

constexpr uint64_t ev_online = 200, ev_offline = 201, ev_never = 202;
constexpr uint64_t cc_online = 60, cc_offline = 61, cc_never = 62;
constexpr uint64_t nowhere = 1ull << 40;

/* A state further, or back. */
void ev_state(mrc_context *ctx, uint64_t id, mrc_ctl_profile_state to);
void cc_state(mrc_context *ctx, uint64_t id, mrc_ctl_profile_state to);

/* What all rows share, with a profile of each kind in each state. */
struct Env {
	explicit Env(const Devices &d);
	~Env();

	Node n;
	Context elsewhere;
	Cq cq;
	Hint hint, foreign_hint;
};

/* One call of mrc_modify_qp(). */
struct Call {
	ibv_qp_attr v{};
	int vmask = 0;
	mrc_qp_attr m{};
	uint32_t mmask = 0;
};

using Change = std::function<void(Call &)>;

/* The least that a step needs. */
Call minimum(const Env &env, mrc_qp *qp, Step s);

constexpr int all_mrc = 0x3ff | static_cast<int>(MRC_QP_VENDOR_CFG);

/* Everything that a query tells, to see that nothing has changed. */
std::string all_of(mrc_qp *qp);

/*
 * Makes step @s on a fresh queue pair with @change applied to the least that is
 * needed, and looks at what has come of it.
 */
void row(Check &c, const Env &env, Step s, const std::string &what, int want,
	 const Change &change,
	 const std::function<void(mrc_qp *)> &after = nullptr);

/* An MRC attribute with a value that is not its default. */
struct Attribute {
	const char *name;
	uint32_t bit;
	uint32_t may; /* steps that take it */
	std::function<void(mrc_qp_attr &)> set;
	std::function<bool(const mrc_qp_attr &)> is;
};

std::vector<Attribute> attributes(const Env &env);

/* test_modify_verbs.cpp */
void test_modify_verbs(Suite &s, const Env &env);

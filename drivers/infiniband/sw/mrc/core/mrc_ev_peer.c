// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the peer says about its ports, MRC 1.0 §12.3. The update carries no
 * secret, anybody who can send from the peer's address can say it. So its word
 * is kept apart from what was found out: it begins questions, and answers to
 * them decide.
 *
 * A port called down is left at once and asked, by a probe, then at the
 * intervals of a bad EV's probes. It is used again when a packet sent through it
 * after the word was answered through it: what a peer without that port cannot
 * do, although a port that its controller disabled still receives. So the word was
 * wrong, or the one that calls the port up is still on its way, through another
 * plane. If that does not come soon, the peer loses its credit: for a while a port
 * that it calls down goes on being used until a probe was not answered.
 *
 * A port called up, after it was called down, is asked at once and used with the
 * first answer, whichever way that comes: the word and the answer agree. So it is
 * when the word is out of date: a peer repeats one that holds.
 *
 * Ports that were left are used all the same when no other one has a usable EV
 * (mrc_spray.c): a word never stops a QP.
 */
#include "mrc_ev_priv.h"

/* In the past of every clock: due at once. */
#define AT_ONCE			1ull

static bool said_nothing(u32 word)
{
	return word & 1;	/* there is no port 0 */
}

/*
 * How long the word that calls a port up may come after an answer through that port:
 * twice the interval at which a peer repeats a word that was lost.
 */
static u64 word_wait(const struct mrc_paths *p)
{
	u64 t = 2 * (p->cfg.rto ? p->cfg.rto : MRC_EV_RTO_DEFAULT);

	if (t < MRC_EV_PROBE_FLOOR_NS)
		return MRC_EV_PROBE_FLOOR_NS;
	return t < MRC_EV_PROBE_MAX_NS ? t : MRC_EV_PROBE_MAX_NS;
}

static u64 ask_interval(const struct mrc_paths *p, u8 exp)
{
	u64 t = p->cfg.rto < MRC_EV_RTO_DEFAULT ? p->cfg.rto :
						  MRC_EV_RTO_DEFAULT;

	if (p->pace->srtt)
		return mrc_ev_probe_interval(p, exp);
	return t > MRC_EV_PROBE_MAX_NS >> exp ? MRC_EV_PROBE_MAX_NS : t << exp;
}

/* Compute anew when the first question or verdict is due. */
static void ask_rescan(struct mrc_paths *p)
{
	u32 ports = (p->asked & p->ports_up) | p->overruled;
	u64 min = MRC_EV_NO_PROBE;
	u8 port;

	for (port = 1; port <= p->n_ports; port++) {
		if (ports >> port & 1 && p->walk[port].ask_at < min)
			min = p->walk[port].ask_at;
	}
	p->pace->ask_next = min;
}

/* No word came that agrees with the answer. */
static void disbelieve(struct mrc_paths *p, u8 port, u64 now)
{
	p->overruled &= ~(1u << port);
	p->walk[port].doubt_until = now + MRC_EV_DOUBT_NS;
	mrc_ctr_add(p->cfg.ctr, port, MRC_CTR_PORT_STATUS_REFUSED, 1);
}

/* The next question as soon as may be, and the ones after it soon. */
static void ask_soon(struct mrc_paths *p, u8 port)
{
	struct mrc_ev_walk *w = &p->walk[port];

	w->ask_at = w->asked_at ? w->asked_at + MRC_EV_PROBE_MIN_NS : AT_ONCE;
	w->ask_exp = 0;
}

static void ask(struct mrc_paths *p, u8 port, u64 now)
{
	struct mrc_ev_walk *w = &p->walk[port];

	/* A port that is being asked stays so, or repeating would help. */
	if (p->asked >> port & 1)
		return;
	if (p->overruled >> port & 1)
		disbelieve(p, port, now);
	p->asked |= 1u << port;
	w->said_at = now;
	ask_soon(p, port);
}

static void use(struct mrc_paths *p, u32 ports)
{
	u32 was = p->ports_up & p->peer_ports;

	mrc_write_once(p->peer_ports, ports);
	mrc_ev_probe_ports(p, was);
}

void mrc_paths_peer_said(struct mrc_paths *p, u32 word, u64 now)
{
	const u32 mine = (2u << p->n_ports) - 2;
	const u32 was = p->peer_word;
	u32 up, ports = p->peer_ports;
	u8 port;

	if (word == was)
		return;
	if (now > p->now)
		p->now = now;
	p->peer_word = word;
	if (!p->ev) {	/* nobody who could find out */
		mrc_write_once(p->peer_ports, word);
		return;
	}
	up = said_nothing(word) ? 0 : word & (said_nothing(was) ? ~0u : ~was);
	p->overruled &= ~up;
	for (port = 1; port <= p->n_ports; port++) {
		const u32 bit = 1u << port;

		if (was & ~word & bit) {
			ask(p, port, now);
			if (now >= p->walk[port].doubt_until)
				ports &= ~bit;
		} else if (up & p->asked & bit) {
			if (ports & bit)
				p->asked &= ~bit;
			else
				ask_soon(p, port);
		}
	}
	ports = (ports & mine) | (word & ~mine);
	use(p, ports);
	/* Whatever EVs were condemned for may be over with this. */
	mrc_ev_probe_now(p, up & ports & p->ports_up);
	ask_rescan(p);
}

void mrc_ev_peer_equip(struct mrc_paths *p)
{
	u8 port;

	for (port = 1; port <= p->n_ports; port++) {
		if (!(p->peer_ports >> port & 1))
			ask(p, port, 0);
	}
	ask_rescan(p);
}

void mrc_ev_peer_ports(struct mrc_paths *p, u32 up)
{
	u8 port;

	if (!p->asked)
		return;
	for (port = 1; port <= p->n_ports; port++) {
		if (up & p->asked & 1u << port)
			ask_soon(p, port);
	}
	ask_rescan(p);
}

void mrc_ev_peer_answered(struct mrc_paths *p, u8 port, u64 sent_at, u8 via,
			  u64 now)
{
	struct mrc_ev_walk *w = &p->walk[port];
	const u32 bit = 1u << port;
	/* What left before the word may have arrived before the port went. */
	if (sent_at <= w->said_at)
		return;
	/* Of no port at all, any answer shows that the word is wrong. */
	if (via != port && !(p->peer_word & bit) && p->ports_up & p->peer_ports)
		return;
	p->asked &= ~bit;
	if (!(p->peer_word & bit)) {
		p->overruled |= bit;
		w->ask_at = now + word_wait(p);
	}
	use(p, p->peer_ports | bit);
	ask_rescan(p);
}

/* An EV to ask @port with: any one but those denied, another each time. */
static int ask_ev(struct mrc_paths *p, u8 port)
{
	int i = mrc_spray_any(p, port);

	/* Until there is one, mrc_ev_peer_evs(). */
	if (i < 0)
		p->walk[port].ask_at = MRC_EV_NO_PROBE;
	return i;
}

void mrc_ev_peer_evs(struct mrc_paths *p)
{
	u8 port;

	if (!p->asked)
		return;
	for (port = 1; port <= p->n_ports; port++) {
		if (p->asked >> port & 1 &&
		    p->walk[port].ask_at == MRC_EV_NO_PROBE)
			ask_soon(p, port);
	}
	ask_rescan(p);
}

int mrc_ev_peer_due(struct mrc_paths *p, u64 now)
{
	u32 ports = p->peer_ports;
	int due = -1;
	u8 port;

	for (port = 1; port <= p->n_ports; port++) {
		struct mrc_ev_walk *w = &p->walk[port];

		if (w->ask_at > now)
			continue;
		if (p->overruled >> port & 1)
			disbelieve(p, port, now);
		if (!(p->asked & p->ports_up & 1u << port))
			continue;
		/* It was given the benefit of the doubt, and does not answer. */
		if (w->ask_exp)
			ports &= ~(1u << port);
		if (due < 0)
			due = ask_ev(p, port);
	}
	if (ports != p->peer_ports)
		use(p, ports);
	if (due < 0)
		ask_rescan(p);
	return due;
}

void mrc_ev_peer_sent(struct mrc_paths *p, u8 port, u64 now)
{
	struct mrc_ev_walk *w = &p->walk[port];
	u64 wait = ask_interval(p, w->ask_exp);

	/* A probe for another reason; what was asked has its time. */
	if (now < w->ask_at)
		return;
	/* Whoever is doubted gets the time that any answer gets. */
	if (p->peer_ports >> port & 1 && wait < mrc_ev_probe_wait(p, 0))
		wait = mrc_ev_probe_wait(p, 0);
	w->asked_at = now;
	w->ask_at = now + wait;
	if (w->ask_exp < MRC_EV_PROBE_EXP)
		w->ask_exp++;
	ask_rescan(p);
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Port status updates of the peer, MRC 1.0 §12.3. An update carries no secret: anybody
 * who can send from the peer's address can forge one. So the reported status is kept
 * apart from what was verified. An update is a hint: it starts probes, and the answers
 * to these decide.
 *
 * A port that is reported down is no longer used. It is probed at once, then at the
 * intervals of a bad EV's probes. It is used again when a packet that was sent through
 * it after the update is answered through it. A peer without that port cannot do this.
 * An answer through another port is no proof, because a port that the peer's controller
 * disabled still receives. If the answer comes through the port itself, the update was
 * wrong and the peer loses its credit: for MRC_EV_DISTRUST_NS, a port that it reports
 * down stays in use until a probe is not answered. (An answer may also be faster than
 * the update that reports the port up. This costs the credit as well.)
 *
 * A port that is reported up again is probed at once. It is used with the first answer,
 * whichever port that comes through, because update and answer agree. Any answer is
 * also enough when the status has expired: a peer repeats a status that is still valid.
 *
 * Ports that are reported down are used all the same when no other port has a usable
 * EV (mrc_spray.c). So an update never stops a QP.
 */
#include "mrc_ev_priv.h"

/* Earlier than any clock value: due at once. */
#define AT_ONCE			1ull

static bool status_unknown(u32 status)
{
	return status & 1;	/* there is no port 0 */
}

static u64 port_probe_interval(const struct mrc_paths *p, u8 exp)
{
	u64 t = p->cfg.rto < MRC_EV_RTO_DEFAULT ? p->cfg.rto :
						  MRC_EV_RTO_DEFAULT;

	if (p->pace->srtt)
		return mrc_ev_probe_interval(p, exp);
	return t > MRC_EV_PROBE_MAX_NS >> exp ? MRC_EV_PROBE_MAX_NS : t << exp;
}

/* Recompute when the first port probe is due. */
static void port_probe_rescan(struct mrc_paths *p)
{
	u32 ports = p->probing & p->ports_up;
	u64 min = MRC_EV_NO_PROBE;
	u8 port;

	for (port = 1; port <= p->n_ports; port++) {
		if (ports >> port & 1 && p->walk[port].port_probe_at < min)
			min = p->walk[port].port_probe_at;
	}
	p->pace->port_probe_next = min;
}

/* Probe as soon as the minimum interval allows, and restart the doubling. */
static void port_probe_soon(struct mrc_paths *p, u8 port)
{
	struct mrc_ev_walk *w = &p->walk[port];

	w->port_probe_at = w->port_probed_at ? w->port_probed_at + MRC_EV_PROBE_MIN_NS : AT_ONCE;
	w->port_probe_exp = 0;
}

static void port_probe_start(struct mrc_paths *p, u8 port, u64 now)
{
	struct mrc_ev_walk *w = &p->walk[port];

	/*
	 * Already being probed: keep @down_at. Otherwise an attacker who repeats updates
	 * could make every answer look older than the update.
	 */
	if (p->probing >> port & 1)
		return;
	p->probing |= 1u << port;
	w->down_at = now;
	port_probe_soon(p, port);
}

static void use(struct mrc_paths *p, u32 ports)
{
	u32 was = p->ports_up & p->peer_ports;

	mrc_write_once(p->peer_ports, ports);
	mrc_ev_probe_ports(p, was);
}

void mrc_paths_peer_status(struct mrc_paths *p, u32 status, u64 now)
{
	const u32 mine = (2u << p->n_ports) - 2;
	const u32 was = p->reported_ports;
	u32 up, ports = p->peer_ports;
	u8 port;

	if (status == was)
		return;
	if (now > p->now)
		p->now = now;
	p->reported_ports = status;
	if (!p->ev) {	/* no requester yet, so no probes */
		mrc_write_once(p->peer_ports, status);
		return;
	}
	up = status_unknown(status) ? 0 : status & (status_unknown(was) ? ~0u : ~was);
	for (port = 1; port <= p->n_ports; port++) {
		const u32 bit = 1u << port;

		if (was & ~status & bit) {
			port_probe_start(p, port, now);
			if (now >= p->walk[port].distrust_until)
				ports &= ~bit;
		} else if (up & p->probing & bit) {
			if (ports & bit)
				p->probing &= ~bit;
			else
				port_probe_soon(p, port);
		}
	}
	ports = (ports & mine) | (status & ~mine);
	use(p, ports);
	/* The fault for which EVs of these ports were condemned may be over. */
	mrc_ev_probe_now(p, up & ports & p->ports_up);
	port_probe_rescan(p);
}

void mrc_ev_peer_add_tables(struct mrc_paths *p)
{
	u8 port;

	for (port = 1; port <= p->n_ports; port++) {
		if (!(p->peer_ports >> port & 1))
			port_probe_start(p, port, 0);
	}
	port_probe_rescan(p);
}

void mrc_ev_peer_ports(struct mrc_paths *p, u32 up)
{
	u8 port;

	if (!p->probing)
		return;
	for (port = 1; port <= p->n_ports; port++) {
		if (up & p->probing & 1u << port)
			port_probe_soon(p, port);
	}
	port_probe_rescan(p);
}

void mrc_ev_peer_heard(struct mrc_paths *p, u8 port, u64 sent_at, u8 via,
		       u64 now)
{
	struct mrc_ev_walk *w = &p->walk[port];
	const u32 bit = 1u << port;
	/* A packet sent before the update may have arrived before the port went down. */
	if (sent_at <= w->down_at)
		return;
	/*
	 * An answer through another port is no proof. But if no port may be used at all,
	 * any answer shows that the update is wrong.
	 */
	if (via != port && !(p->reported_ports & bit) && p->ports_up & p->peer_ports)
		return;
	if (!(p->reported_ports & bit)) {
		w->distrust_until = now + MRC_EV_DISTRUST_NS;
		mrc_ctr_add(p->cfg.ctr, port, MRC_CTR_PORT_STATUS_REFUSED, 1);
	}
	p->probing &= ~bit;
	use(p, p->peer_ports | bit);
	port_probe_rescan(p);
}

/* The EV for a probe of @port: a random one that is not DENIED, or -1. */
static int port_probe_ev(struct mrc_paths *p, u8 port)
{
	int i = mrc_spray_any(p, port);

	/* No probe is due until mrc_ev_peer_evs() finds an EV. */
	if (i < 0)
		p->walk[port].port_probe_at = MRC_EV_NO_PROBE;
	return i;
}

void mrc_ev_peer_evs(struct mrc_paths *p)
{
	u8 port;

	if (!p->probing)
		return;
	for (port = 1; port <= p->n_ports; port++) {
		if (p->probing >> port & 1 &&
		    p->walk[port].port_probe_at == MRC_EV_NO_PROBE)
			port_probe_soon(p, port);
	}
	port_probe_rescan(p);
}

int mrc_ev_peer_due(struct mrc_paths *p, u64 now)
{
	u32 ports = p->peer_ports;
	int due = -1;
	u8 port;

	for (port = 1; port <= p->n_ports; port++) {
		struct mrc_ev_walk *w = &p->walk[port];

		if (!(p->probing & p->ports_up & 1u << port) || w->port_probe_at > now)
			continue;
		/* The port was kept in use, but a probe was not answered. */
		if (w->port_probe_exp)
			ports &= ~(1u << port);
		if (due < 0)
			due = port_probe_ev(p, port);
	}
	if (ports != p->peer_ports)
		use(p, ports);
	if (due < 0)
		port_probe_rescan(p);
	return due;
}

void mrc_ev_peer_sent(struct mrc_paths *p, u8 port, u64 now)
{
	struct mrc_ev_walk *w = &p->walk[port];
	u64 wait = port_probe_interval(p, w->port_probe_exp);

	/* The probe was sent for another reason; the port probe is not due yet. */
	if (now < w->port_probe_at)
		return;
	/* The port is in use: its answer gets as much time as that of an EV probe. */
	if (p->peer_ports >> port & 1 && wait < mrc_ev_probe_wait(p, 0))
		wait = mrc_ev_probe_wait(p, 0);
	w->port_probed_at = now;
	w->port_probe_at = now + wait;
	if (w->port_probe_exp < MRC_EV_PROBE_EXP)
		w->port_probe_exp++;
	port_probe_rescan(p);
}

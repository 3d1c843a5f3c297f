/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Entropy values: the paths of one QP, their states and the spray policy.
 *
 * EVs are divided equally between ports. A walk first takes the next eligible
 * port in turn and then the next usable EV of that port's own shuffled array,
 * so a bad EV is always replaced by one of the same plane and load moves to
 * another plane only when the port is down (MRC 1.0 §11.5) or when every EV of
 * the port is ASSUMED_BAD or DENIED while another port has usable ones (a
 * plane cut somewhere beyond the local link).
 *
 * States change only by what a requester sends and learns. Until there is one,
 * paths have no tables: every EV is as it was at the beginning, feedback has EVs
 * to go on, and a QP that is idle or only receives keeps nothing for each EV.
 */
#ifndef MRC_EV_H
#define MRC_EV_H

#include "mrc_base.h"
#include "mrc_counters.h"
#include "mrc_evset.h"

MRC_C_BEGIN

#define MRC_MAX_PORTS		16	/* ports are 1-based: 1..16 */
#define MRC_EV_DEFAULT		64	/* per QP, OP-28 */
#define MRC_EV_MAX		1024
#define MRC_EV_RESHUFFLE	16	/* rotations, §11.5 */
#define MRC_EV_PROBES_GOOD	2	/* consecutive replies, OP-29 */
#define MRC_EV_PROBE_MIN_NS	1000000ull	/* pacing of probes, §11.6 */
#define MRC_EV_PROBE_BUSY_NS	100000000ull	/* cap while data flows */
#define MRC_EV_PROBE_MAX_NS	1000000000ull	/* cap */
#define MRC_EV_PROBE_FLOOR_NS	4000000ull	/* what a busy host adds to an answer */
#define MRC_EV_PROBE_GAP_NS	25000000ull	/* per QP, of those not answered */
#define MRC_EV_PROBE_BURST	8u		/* but so many may come at once */
#define MRC_EV_DOUBT_NS		15000000000ull	/* a word that was wrong, §12.3 */
#define MRC_EV_RTO_DEFAULT	4194304ull	/* ns, where a QP has no timer */

/* MRC 1.0 §11.6 */
enum mrc_ev_state {
	MRC_EV_GOOD		= 0,
	MRC_EV_DENIED		= 1,
	MRC_EV_SKIP		= 2,
	MRC_EV_ASSUMED_BAD	= 3,
	MRC_EV_STATES
};

/* Triggers of the state machine, §11.6 */
enum mrc_ev_verdict {
	MRC_EVV_OK,		/* data SACKed, m = 0: no change */
	MRC_EVV_CE,		/* data SACK with m = 1 */
	MRC_EVV_CONDEMNED,	/* SACK with m = 2 */
	MRC_EVV_TRIM,		/* NACK TRIMMED, not LASTHOP */
	MRC_EVV_LOSS,		/* untrimmed loss inferred (SACK or probe) */
	MRC_EVV_TIMEOUT,	/* neither SACK nor trim within the interval */
	MRC_EVV_PROBE_OK,	/* probe answered, m = 0 */
	MRC_EVV_PROBE_CE,	/* probe answered, m = 1 */
	MRC_EVV_PROBE_BAD,	/* probe answered, m = 2 */
	MRC_EVV_PROBE_LOST,	/* reply deadline passed */
	MRC_EVV_DENY,		/* controller */
	MRC_EVV_ALLOW,		/* controller */
	MRC_EVV_MAX
};

/**
 * struct mrc_ev - one entropy value; what it looks like is in the set
 * @probe_id: id of the outstanding probe
 * @drops: losses and timeouts seen on this EV, saturating
 * @state: enum mrc_ev_state
 * @sub: ASSUMED_BAD: MRC_EV_PROBE_*; other states: losses inferred since
 *	anything was heard of the EV, up to MRC_EV_LOSSES_LAST
 */
struct mrc_ev {
	u16 probe_id;
	u16 drops;
	u8 state;
	u8 sub;
};

#define MRC_EV_PROBE_OUT	0x80u	/* a probe is outstanding */
#define MRC_EV_PROBE_ONE	0x40u	/* the last one was answered well */
#define MRC_EV_PROBE_NOW	0x20u	/* due at once, whatever at[] says */
#define MRC_EV_PROBE_EXP	0x1Fu	/* interval is the RTO, doubled so often */

/* Losses in a row that condemn an EV, and the last usable one of a plane. */
#define MRC_EV_LOSSES		2u	/* OP-41 */
#define MRC_EV_LOSSES_LAST	4u

struct mrc_paths;

/**
 * struct mrc_paths_cfg - how to make the EVs of a QP
 * @set: of its profile, NULL = AUTO: made here; owned by the caller, in use until
 *	mrc_paths_update() or the end of the paths. With a set, @n_evs and
 *	@min_active are the set's
 * @n_evs: EVs wanted, 1..MRC_EV_MAX; rounded up to a multiple of @n_ports (down
 *	where that would exceed MRC_EV_MAX)
 * @n_ports: ports of the device, 1..MRC_MAX_PORTS
 * @ipv6: the flow label carries entropy[31:16]
 * @trim_nack: the peer answers trims, so an untrimmed loss condemns the EV at
 *	once; otherwise the first loss is SKIP, a second without a packet of
 *	the same EV acknowledged or trimmed in between ASSUMED_BAD (OP-41).
 *	Either way it takes MRC_EV_LOSSES_LAST in a row where no other EV of
 *	the plane is usable: what is at stake then is all that the plane carries
 * @min_active: GOOD + SKIP EVs that must remain; 0 = a quarter of the set, but
 *	no bound where it comes from @set
 * @rto: ns, first probe interval and reply deadline as long as there is no round
 *	trip time; 0 = MRC_EV_RTO_DEFAULT
 * @base_rtt: ns
 * @seed: unpredictable
 * @ctr: may be NULL
 * @on_state: called at each visible state change; may be NULL. SKIP shows as
 *	GOOD (§11.6), so flips between these two are not reported. For each path
 *	changes to ASSUMED_BAD and to GOOD alternate, unless a controller denies it
 * @ctx: for @on_state
 */
struct mrc_paths_cfg {
	const struct mrc_evset *set;
	u16 n_evs;
	u8 n_ports;
	bool ipv6;
	bool trim_nack;
	u16 min_active;
	u64 rto;
	u64 base_rtt;
	u64 seed;
	struct mrc_counters *ctr;
	void (*on_state)(void *ctx, const struct mrc_paths *paths, u16 ev,
			 u8 from, u8 to);
	void *ctx;
};

/**
 * struct mrc_spray_ops - spray policy, selected by name
 * @name: "shuffle" is the default
 * @pick: next EV for a data packet, -1 if none may be used
 */
struct mrc_spray_ops {
	const char *name;
	int (*pick)(struct mrc_paths *p, u64 now);
};

/* One port's walk; the EVs of ports that the device does not have share one. */
struct mrc_ev_walk {
	u16 first;	/* index of the port's first slot in order[] */
	u16 n;		/* its EVs */
	u16 cursor;
	u16 rotations;
	u16 usable;	/* GOOD + SKIP */
	u16 bad_cursor;	/* of the ASSUMED_BAD round-robin */
	u32 tx;		/* packets sent through the port */
	u8 ask_exp;	/* questions since the pace was set, see mrc_ev_peer.c */
	u64 ask_at;	/* when the next one, or the verdict, is due, ns */
	u64 asked_at;	/* when the last one left */
	u64 said_at;	/* when the peer's port was called down */
	u64 doubt_until; /* its word was wrong: ask before it is believed */
};

/**
 * struct mrc_ev_pace - what the pace of probes depends on
 * @srtt: smoothed round trip time, ns, 0 = unknown
 * @flow_at: when data last took an EV, 0 = never
 * @tat: as if all EVs' probes since the last answer had left at intervals of
 *	MRC_EV_PROBE_GAP_NS: when the next one would
 * @ask_next: when the first question or verdict about a port is due, see
 *	mrc_ev_peer.c
 */
struct mrc_ev_pace {
	u64 srtt;
	u64 flow_at;
	u64 tat;
	u64 ask_next;
};

/*
 * AUTO: what makes entropies out of indices, see mrc_ev_make.c. Two rounds of
 * x * mul + add; inv undoes mul.
 */
struct mrc_ev_auto {
	u16 mul[2];
	u16 inv[2];
	u16 add[2];
	u32 label;
};

/**
 * struct mrc_paths - the EVs of one QP
 * @ops: spray policy
 * @ev: array of @n, in caller memory, as all arrays here; NULL: no tables yet, and
 *	none of the other arrays
 * @at: of each EV, in units of 1.024 us that wrap: ASSUMED_BAD: when the next
 *	probe is due or the outstanding one lost
 * @order: shuffled indices, grouped by port
 * @pos: inverse of @order
 * @good_map: bitmap over positions in @order, EVs in GOOD
 * @skip_map: same, SKIP
 * @bad_map: same, ASSUMED_BAD
 * @n: EVs
 * @n_ports: ports
 * @next_port: whose turn it is
 * @bad: EVs in ASSUMED_BAD
 * @denied: EVs in DENIED
 * @min_active: see struct mrc_paths_cfg
 * @fallback: port whose turn it is in the ASSUMED_BAD round-robin
 * @ports_up: bit N = local port N may send (bit 0 unused)
 * @peer_ports: bit N = peer's port N is used, as far as it decides, §12.3; all
 *	ones initially
 * @peer_word: what the peer says of its ports; bit 0 is set while it says
 *	nothing, and all others are then
 * @asked: ports whose peer's port is being probed because of its word
 * @overruled: ports that answered although the peer calls them down; not in @asked.
 *	The peer has until the walk's ask_at to call them up
 * @probe_next: when the first EV's probe is due or lost, ns
 * @now: newest time that the state machine saw, ns; says what @at means
 * @rng: state of the shuffle
 * @walk: index 1..@n_ports; 0: of ports that there are not
 * @pace: of probes
 * @gen: entropies of an AUTO set
 * @cfg: copy
 */
struct mrc_paths {
	const struct mrc_spray_ops *ops;
	struct mrc_ev *ev;
	u32 *at;
	u16 *order;
	u16 *pos;
	unsigned long *good_map;
	unsigned long *skip_map;
	unsigned long *bad_map;
	u16 n;
	u8 n_ports;
	u8 next_port;
	u16 bad;
	u16 denied;
	u16 min_active;
	u16 fallback;
	u32 ports_up;
	u32 peer_ports;
	u32 peer_word;
	u32 asked;
	u32 overruled;
	u64 probe_next;
	u64 now;
	u64 rng;
	struct mrc_ev_walk *walk;
	struct mrc_ev_pace *pace;
	struct mrc_ev_auto gen;
	struct mrc_paths_cfg cfg;
};

/* Bytes of memory mrc_paths_init() needs for @cfg; 0 if @cfg is invalid. */
size_t mrc_paths_mem(const struct mrc_paths_cfg *cfg);

/**
 * mrc_paths_prepare - the EVs of a QP that sends no data yet
 * @p: state
 * @cfg: copied
 *
 * All EVs start GOOD, or DENIED where the set says so, and all ports up. What a
 * requester needs is missing: there must be none, and until mrc_paths_equip()
 * nothing may be called that picks an EV for data, gives a verdict or probes.
 * Control packets, ports, times, updates of the set and questions about EVs are
 * fine.
 *
 * Return: 0 or -EINVAL, as mrc_paths_init().
 */
int mrc_paths_prepare(struct mrc_paths *p, const struct mrc_paths_cfg *cfg);

/* Bytes that mrc_paths_equip() needs. */
size_t mrc_paths_tables(const struct mrc_paths *p);

/**
 * mrc_paths_equip - what data packets need
 * @p: prepared, with no tables yet
 * @mem: mrc_paths_tables() bytes, 8-aligned, owned by the caller
 *
 * The caller keeps readers (mrc_paths_pick_ctrl()) out. EVs stay as they are.
 */
void mrc_paths_equip(struct mrc_paths *p, void *mem);

/**
 * mrc_paths_init - make the EVs of a QP: prepare and equip
 * @p: state
 * @cfg: copied
 * @mem: mrc_paths_mem(@cfg) bytes, 8-aligned, owned by the caller
 *
 * All EVs start GOOD, or DENIED where the set says so, and all ports up. AUTO:
 * EVs are dealt to the ports in turn, entropies are unique within the QP and
 * source ports lie in 0xC000..0xFFFF. EVs of a set on ports that the device does
 * not have are never used.
 *
 * Return: 0 or -EINVAL, also for a set that needs IPv6 without @cfg->ipv6.
 */
int mrc_paths_init(struct mrc_paths *p, const struct mrc_paths_cfg *cfg,
		   void *mem);

/* The policy called @name, NULL if there is none. */
const struct mrc_spray_ops *mrc_spray_find(const char *name);

/**
 * mrc_paths_retire - the QP does not use its EVs any more
 * @p: state, with or without tables; not used afterwards
 *
 * For each EV that is ASSUMED_BAD @on_state hears that it is GOOD: who follows
 * would take it for bad for ever. Nothing is counted.
 */
void mrc_paths_retire(struct mrc_paths *p);

/**
 * mrc_paths_update - another version of the profile's set
 * @p: state; made from a set with as many EVs
 * @set: replaces the former one, which is not used any more on return
 * @now: ns
 *
 * Entries with another value or port start GOOD (or DENIED, or as a copy that was
 * there before), without an event. Values that were ASSUMED_BAD and of which no
 * entry remains are reported GOOD, by an index of the former set, which is still
 * in @p->cfg then; nothing is counted. Entries that the controller denies or allows
 * change state as by a verdict; all others stay as they are. Packets still under
 * way count for the entry that now has their index. The caller keeps readers
 * (mrc_paths_pick_ctrl()) out as well. A set of another size is ignored.
 */
void mrc_paths_update(struct mrc_paths *p, const struct mrc_evset *set,
		      u64 now);

/*
 * Of EV @i: what it looks like on the wire, its local port, enum mrc_ev_state,
 * losses and timeouts seen on it. The first three may be read while the
 * requester changes states.
 */
u32 mrc_paths_entropy(const struct mrc_paths *p, u16 i);
u8 mrc_paths_port(const struct mrc_paths *p, u16 i);
u8 mrc_paths_state(const struct mrc_paths *p, u16 i);
u16 mrc_paths_drops(const struct mrc_paths *p, u16 i);

/* How many EVs there are. */
static inline u32 mrc_paths_count(const struct mrc_paths *p)
{
	return p->n;
}

/* Bit N = port N may send. */
static inline u32 mrc_paths_ports_up(const struct mrc_paths *p)
{
	return p->ports_up;
}

/* The peer's word that mrc_paths_peer_said() was told last. */
static inline u32 mrc_paths_peer_word(const struct mrc_paths *p)
{
	return p->peer_word;
}

/* RTO of the connection, ns, 0 = not known yet. */
static inline u64 mrc_paths_rto(const struct mrc_paths *p)
{
	return p->cfg.rto;
}

/* Packets sent through @port: data and probes, modulo 2^32. */
u32 mrc_paths_port_tx(const struct mrc_paths *p, u8 port);

/* Next EV for a data packet or -1 (counts and SKIP handling included). */
int mrc_paths_pick(struct mrc_paths *p, u64 now);

/* A usable EV other than @avoid (and if possible on another port), or -1. */
int mrc_paths_pick_other(struct mrc_paths *p, int avoid, u64 now);

/**
 * mrc_paths_pick_away - EV for data that was lost on EV @from
 * @p: EVs of the QP
 * @from: EV of the loss
 * @now: ns
 *
 * As mrc_paths_pick(), but of another port than that of @from if one may be used.
 *
 * Return: the EV, or -1.
 */
int mrc_paths_pick_away(struct mrc_paths *p, int from, u64 now);

/**
 * mrc_paths_pick_ctrl - EV for a control packet, OP-30
 * @p: read only; may run while the requester changes states
 * @cursor: the caller's own walk position
 * @port: port on which the answered packet arrived, preferred if up; 0 = any
 *
 * Return: a GOOD EV, else any EV whose port may be used, else one whose port is up
 * here, else -1.
 */
int mrc_paths_pick_ctrl(const struct mrc_paths *p, u16 *cursor, u8 port);

/*
 * The same for an answer to what arrived on @port: that shows more than what the
 * peer says of its port.
 */
int mrc_paths_pick_back(const struct mrc_paths *p, u16 *cursor, u8 port);

/*
 * Index of @entropy or -1; the lowest of several copies. On IPv4 only the low
 * half is compared.
 */
int mrc_paths_find(const struct mrc_paths *p, u32 entropy);

/*
 * Feed the state machine of §11.6. @ev out of range is ignored. Copies of an EV
 * within a set share what is learnt about any of them, and that is counted and
 * reported once, with the lowest index; DENY and ALLOW concern the one entry, and an
 * entry allowed again joins its copies in their state. That they are ASSUMED_BAD is
 * no news then.
 */
void mrc_paths_verdict(struct mrc_paths *p, int ev, enum mrc_ev_verdict v,
		       u64 now);

/* A packet that went out on EV @ev, and on no other, has arrived. */
static inline void mrc_paths_arrived(struct mrc_paths *p, u16 ev)
{
	if (p->ev[ev].sub || p->ev[ev].state == MRC_EV_DENIED)
		mrc_paths_verdict(p, ev, MRC_EVV_OK, 0);
}

/* Newer base RTT and RTO of the QP, ns. */
void mrc_paths_set_rtt(struct mrc_paths *p, u64 base_rtt, u64 rto);

/* Ports on which we may send; no EV changes state (§11.6). */
void mrc_paths_set_ports(struct mrc_paths *p, u32 ports_up);

/**
 * mrc_paths_peer_said - the peer told about its ports, or it is out of date
 * @p: with or without tables
 * @word: bit N = its port N is up, bit 0 clear; all ones: it says nothing
 * @now: ns
 *
 * No EV changes state. Ports called down are left and probed, see mrc_ev_peer.c.
 */
void mrc_paths_peer_said(struct mrc_paths *p, u32 word, u64 now);

void mrc_ev_peer_answered(struct mrc_paths *p, u8 port, u64 sent_at, u8 via,
			  u64 now);

/**
 * mrc_paths_answered - the peer answered what was sent to it
 * @p: with tables
 * @port: through which it was sent
 * @sent_at: when, ns
 * @via: port through which the answer came, 0 = unknown
 * @now: ns
 */
static inline void mrc_paths_answered(struct mrc_paths *p, u8 port,
				      u64 sent_at, u8 via, u64 now)
{
	if (p->asked && port <= MRC_MAX_PORTS && p->asked >> port & 1)
		mrc_ev_peer_answered(p, port, sent_at, via, now);
}

/* Is @port usable (locally up, peer's not left)? */
bool mrc_paths_port_ok(const struct mrc_paths *p, u8 port);

/* Is @port up here, whatever the peer says of its own? */
bool mrc_paths_port_up(const struct mrc_paths *p, u8 port);

/*
 * Probing of ASSUMED_BAD EVs (§9.5 b, §11.6), at most one outstanding per EV, and of
 * peer's ports (§12.3).
 * next_probe: earliest time anything is due, ~0 if nothing. probe_due: expire
 * lost probes up to @now, then return an EV to probe now (port ok) or -1.
 * probe_sent: record it. probe_match: EV of outstanding probe @id, or -1.
 */
u64 mrc_paths_next_probe(const struct mrc_paths *p);
int mrc_paths_probe_due(struct mrc_paths *p, u64 now);
void mrc_paths_probe_sent(struct mrc_paths *p, int ev, u16 id, u64 now);
int mrc_paths_probe_match(const struct mrc_paths *p, u16 id);

MRC_C_END

#endif /* MRC_EV_H */

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Entropy values: the paths of one QP, their states and the spray policy.
 *
 * EVs are divided equally between ports. The spray policy takes the eligible ports in
 * turn, and on each port the next usable EV of that port's own shuffled array. So a bad
 * EV is always replaced by an EV of the same plane. Load moves to another plane only if
 * the port is down (MRC 1.0 §11.5), or if every EV of the port is ASSUMED_BAD or DENIED
 * while another port has usable EVs (the plane is cut beyond the local link).
 *
 * States change only by what a requester sends and by the feedback that it gets. A QP
 * without a requester therefore has no tables. Each of its EVs is in the initial state,
 * which is enough to send feedback. So a QP that is idle or only receives needs no
 * memory per EV.
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
#define MRC_EV_RUN		8	/* packets in a row on one EV, mrc_paths_begin_batch() */
#define MRC_EV_SKIP_LEVELS	7	/* mrc_ev_skip.c */
#define MRC_EV_SKIP_FREE	2	/* levels up to this one change nothing */
#define MRC_EV_PROBES_GOOD	2	/* consecutive replies, OP-29 */
#define MRC_EV_PROBE_MIN_NS	1000000ull	/* pacing of probes, §11.6 */
#define MRC_EV_PROBE_BUSY_NS	100000000ull	/* cap while data flows */
#define MRC_EV_PROBE_MAX_NS	1000000000ull	/* cap */
#define MRC_EV_PROBE_FLOOR_NS	4000000ull	/* delay of a busy host's reply */
#define MRC_EV_PROBE_GAP_NS	25000000ull	/* per QP, between unanswered probes */
#define MRC_EV_PROBE_BURST	8u		/* unanswered probes sent at once */
#define MRC_EV_DISTRUST_NS		15000000000ull	/* after a wrong update, §12.3 */
#define MRC_EV_RTO_DEFAULT	4194304ull	/* ns, for a QP without a timer */

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
	MRC_EVV_OK,		/* data SACK with m = 0 */
	MRC_EVV_ARRIVED,	/* data arrived; whether it was marked is unknown */
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
 * struct mrc_ev_skip - how often a usable EV takes packets, see mrc_ev_skip.c
 * @level: 0..MRC_EV_SKIP_LEVELS; up to MRC_EV_SKIP_FREE: at each turn; each level above:
 *	half as often
 * @left: SKIP: turns that the EV passes before the one that makes it GOOD
 */
struct mrc_ev_skip {
	u8 level;
	u8 left;
};

/**
 * struct mrc_ev - state of one entropy value; its value is in the set, or computed
 * @probe_id: ASSUMED_BAD: id of the outstanding probe
 * @skip: GOOD, SKIP: how often it is used
 * @drops: losses and timeouts seen on this EV, saturating
 * @state: enum mrc_ev_state
 * @sub: ASSUMED_BAD: MRC_EV_PROBE_*; other states: losses inferred since the EV
 *	last delivered a packet, up to MRC_EV_LOSSES_LAST
 */
struct mrc_ev {
	union {
		u16 probe_id;
		struct mrc_ev_skip skip;
	};
	u16 drops;
	u8 state;
	u8 sub;
};

#define MRC_EV_PROBE_OUT	0x80u	/* a probe is outstanding */
#define MRC_EV_PROBE_ONE	0x40u	/* the last probe had a good reply */
#define MRC_EV_PROBE_NOW	0x20u	/* a probe is due at once, at[] is ignored */
#define MRC_EV_PROBE_EXP	0x1Fu	/* how often the interval was doubled */

/* Losses in a row that condemn an EV; LAST: the last usable EV of a plane. */
#define MRC_EV_LOSSES		2u	/* OP-41 */
#define MRC_EV_LOSSES_LAST	4u

struct mrc_paths;

/**
 * struct mrc_paths_cfg - how to make the EVs of a QP
 * @set: EV set of its profile; NULL = AUTO, the EVs are generated. The caller owns the
 *	set, which is in use until mrc_paths_update() or the end of the paths. The set
 *	then defines the number of EVs and min_active, not @n_evs and @min_active
 * @n_evs: EVs wanted, 1..MRC_EV_MAX; rounded up to a multiple of @n_ports (down
 *	where that would exceed MRC_EV_MAX)
 * @n_ports: ports of the device, 1..MRC_MAX_PORTS
 * @ipv6: the flow label carries entropy[31:16]
 * @trim_nack: the peer answers trims, so an untrimmed loss condemns the EV at
 *	once. Otherwise the first loss makes the EV SKIP. A second loss makes it
 *	ASSUMED_BAD if no packet of this EV was acknowledged or trimmed in between
 *	(OP-41). In both cases the last usable EV of a plane is condemned only after
 *	MRC_EV_LOSSES_LAST losses in a row, because it carries all traffic of the plane
 * @min_active: number of EVs that must stay GOOD or SKIP; 0 = a quarter of the EVs.
 *	In @set 0 means no bound
 * @rto: ns, first probe interval and reply deadline while no round trip time is
 *	known; 0 = MRC_EV_RTO_DEFAULT
 * @base_rtt: ns
 * @seed: unpredictable
 * @ctr: may be NULL
 * @on_state: called at each visible state change; may be NULL. SKIP counts as
 *	GOOD (§11.6), so changes between these two are not reported. For each path,
 *	reports of ASSUMED_BAD and GOOD alternate, unless a controller denies the path
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

/* Walk over the EVs of one port. All EVs on ports that do not exist share one walk. */
struct mrc_ev_walk {
	u16 first;	/* index of the port's first slot in order[] */
	u16 n;		/* its EVs */
	u16 cursor;
	u16 rotations;
	u16 usable;	/* GOOD + SKIP */
	u16 bad_cursor;	/* cursor of the ASSUMED_BAD round-robin */
	u32 tx;		/* packets sent through the port */
	u32 run_tx;	/* of these in runs, since the ports that may be used changed */
	u16 marks;	/* share of answers with mark or trim, smoothed, 1/65535 */
	u8 port_probe_exp;	/* port probes since port_probe_soon(), see mrc_ev_peer.c */
	u64 port_probe_at;	/* when the next port probe is due, ns */
	u64 port_probed_at;	/* when the last port probe was sent, ns */
	u64 down_at;	/* when the peer reported its port down, ns */
	u64 distrust_until; /* until then a "down" update alone is not believed, ns */
};

/**
 * struct mrc_ev_pace - state that determines the pace of probes
 * @srtt: smoothed round trip time, ns, 0 = unknown
 * @flow_at: when an EV was last picked for data, ns, 0 = never
 * @tat: rate limit of EV probes, ns: when the next probe would be sent if all probes
 *	since the last good reply had been sent MRC_EV_PROBE_GAP_NS apart
 * @port_probe_next: when the first port probe is due, ns, see
 *	mrc_ev_peer.c
 * @run_ports: bit N = packets in a row through port N may take one EV
 * @run_mask: bit N = port N could be used when the last run began
 * @run_ev: EV of the run
 * @run_left: packets that may still take @run_ev
 */
struct mrc_ev_pace {
	u64 srtt;
	u64 flow_at;
	u64 tat;
	u64 port_probe_next;
	u32 run_ports;
	u32 run_mask;
	u16 run_ev;
	u8 run_left;
};

/*
 * AUTO: parameters that map an index to an entropy, see mrc_ev_make.c. Two rounds of
 * x * mul + add; inv is the inverse of mul.
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
 * @ev: array of @n, in memory of the caller, like all arrays here; NULL: there are no
 *	tables yet, so none of the other arrays exists either
 * @at: for each EV, in units of 1.024 us that wrap. ASSUMED_BAD: when the next probe is due
 *	or the outstanding one counts as lost. GOOD, SKIP: when skip.level changed
 * @order: shuffled indices, grouped by port
 * @pos: inverse of @order
 * @good_map: bitmap over positions in @order, EVs in GOOD
 * @skip_map: same, SKIP
 * @bad_map: same, ASSUMED_BAD
 * @n: EVs
 * @n_ports: ports
 * @next_port: port that the next data packet takes
 * @bad: EVs in ASSUMED_BAD
 * @denied: EVs in DENIED
 * @min_active: see struct mrc_paths_cfg
 * @fallback: next port of the ASSUMED_BAD round-robin
 * @ports_up: bit N = local port N may send (bit 0 unused)
 * @peer_ports: bit N = the peer's port N is treated as up, §12.3; all ones initially
 * @reported_ports: port status that the peer reports, bit N = its port N is up; all ones,
 *	including bit 0, while it reports nothing
 * @probing: bit N = port N is being probed because the peer reported it down
 * @probe_next: when the first EV probe is due or counts as lost, ns
 * @now: newest time that the state machine saw, ns; the reference for the times in @at
 * @rng: state of the random number generator
 * @walk: by port, 1..@n_ports; 0: EVs on ports that do not exist
 * @pace: pace of probes
 * @gen: parameters of the entropies of AUTO
 * @cfg: copy of the configuration
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
	u32 reported_ports;
	u32 probing;
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
 * All EVs start GOOD, or DENIED where the set says so, and all ports up. The tables that
 * a requester needs are missing, so there must be no requester. Until mrc_paths_add_tables()
 * the caller must not pick an EV for data, give a verdict or probe. The functions for
 * control packets, ports, times, updates of the set and queries of EVs may be called.
 *
 * Return: 0 or -EINVAL, as mrc_paths_init().
 */
int mrc_paths_prepare(struct mrc_paths *p, const struct mrc_paths_cfg *cfg);

/* Bytes that mrc_paths_add_tables() needs. */
size_t mrc_paths_tables(const struct mrc_paths *p);

/**
 * mrc_paths_add_tables - add the tables that data packets need
 * @p: prepared, with no tables yet
 * @mem: mrc_paths_tables() bytes, 8-aligned, owned by the caller
 *
 * The caller excludes concurrent readers (mrc_paths_pick_ctrl()). EVs keep their states.
 */
void mrc_paths_add_tables(struct mrc_paths *p, void *mem);

/**
 * mrc_paths_init - make the EVs of a QP: prepare and equip
 * @p: state
 * @cfg: copied
 * @mem: mrc_paths_mem(@cfg) bytes, 8-aligned, owned by the caller
 *
 * All EVs start GOOD, or DENIED where the set says so, and all ports up. AUTO:
 * EVs are assigned to the ports in turn, entropies are unique within the QP and UDP
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
 * mrc_paths_fini - the QP does not use its EVs any more
 * @p: state, with or without tables; not used afterwards
 *
 * Calls @on_state with GOOD for each EV that is ASSUMED_BAD. Otherwise a listener would
 * regard the path as bad for ever. Nothing is counted.
 */
void mrc_paths_fini(struct mrc_paths *p);

/**
 * mrc_paths_update - another version of the profile's set
 * @p: state; made from a set with as many EVs
 * @set: replaces the former one, which is not used any more on return
 * @now: ns
 *
 * Entries with another value or port start GOOD, or DENIED, or in the state of a copy
 * that was there before; no event is reported for them. Values that were ASSUMED_BAD
 * and have no entry left are reported GOOD with their index in the former set, which
 * is still in @p->cfg at that time; nothing is counted. Entries that the controller
 * denies or allows change state as by a verdict. All other entries keep their state.
 * Feedback for packets in flight applies to the entry that now has their index. The
 * caller excludes concurrent readers (mrc_paths_pick_ctrl()). A set of another size is
 * ignored.
 */
void mrc_paths_update(struct mrc_paths *p, const struct mrc_evset *set,
		      u64 now);

/*
 * Of EV @i: its entropy on the wire, its local port, its enum mrc_ev_state, and the
 * losses and timeouts seen on it. The first three may be read while the requester
 * changes states.
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

/* The port status last passed to mrc_paths_peer_status(). */
static inline u32 mrc_paths_peer_mask(const struct mrc_paths *p)
{
	return p->reported_ports;
}

/* RTO of the connection, ns, 0 = not known yet. */
static inline u64 mrc_paths_rto(const struct mrc_paths *p)
{
	return p->cfg.rto;
}

/* Packets sent through @port: data and probes, modulo 2^32. */
u32 mrc_paths_port_tx(const struct mrc_paths *p, u8 port);

/* Next EV for a data packet or -1. Counts the packet and handles SKIP. */
int mrc_paths_pick(struct mrc_paths *p, u64 now);

/**
 * mrc_paths_begin_batch - the packets that follow leave the host together
 * @p: with tables
 * @ports: bit N = port N takes packets with the same EV as one
 *
 * If all ports that may be used are in @ports, up to MRC_EV_RUN packets of the batch in a
 * row take the same EV, as long as it stays GOOD and its port may be used. Each batch begins
 * with another EV. Runs go to the port that has sent least in runs, so no port is more than
 * MRC_EV_RUN packets ahead. Otherwise each packet takes the next EV.
 */
static inline void mrc_paths_begin_batch(struct mrc_paths *p, u32 ports)
{
	p->pace->run_ports = ports;
	p->pace->run_left = 0;
}

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
 * The same for a reply to a packet that arrived on @port. The arrival is better
 * evidence than the peer's port status, so @port needs to be up only here.
 */
int mrc_paths_pick_back(const struct mrc_paths *p, u16 *cursor, u8 port);

/*
 * Index of @entropy or -1; the lowest of several copies. On IPv4 only the low
 * half is compared.
 */
int mrc_paths_find(const struct mrc_paths *p, u32 entropy);

/*
 * Feed the state machine of §11.6. @ev out of range is ignored. Copies of an EV within
 * a set change state together; the change is counted and reported once, with the lowest
 * index. DENY and ALLOW apply to the one entry only. An entry that is allowed again
 * takes the state of its copies; if they are ASSUMED_BAD this is not reported again.
 */
void mrc_paths_verdict(struct mrc_paths *p, int ev, enum mrc_ev_verdict v,
		       u64 now);

/* A packet that was sent on EV @ev, and on no other EV, has arrived. */
static inline void mrc_paths_arrived(struct mrc_paths *p, u16 ev)
{
	if (p->ev[ev].sub || p->ev[ev].state == MRC_EV_DENIED)
		mrc_paths_verdict(p, ev, MRC_EVV_ARRIVED, 0);
}

/* Newer base RTT and RTO of the QP, ns. */
void mrc_paths_set_rtt(struct mrc_paths *p, u64 base_rtt, u64 rto);

/* Ports on which we may send; no EV changes state (§11.6). */
void mrc_paths_set_ports(struct mrc_paths *p, u32 ports_up);

/**
 * mrc_paths_peer_status - the peer's port status changed or expired
 * @p: with or without tables
 * @status: bit N = the peer's port N is up, bit 0 clear; all ones: no valid status
 * @now: ns
 *
 * No EV changes state. Ports reported down are no longer used and are probed, see
 * mrc_ev_peer.c.
 */
void mrc_paths_peer_status(struct mrc_paths *p, u32 status, u64 now);

void mrc_ev_peer_heard(struct mrc_paths *p, u8 port, u64 sent_at, u8 via,
		       u64 now);

/**
 * mrc_paths_heard - the peer answered a packet
 * @p: with tables
 * @port: port through which the packet was sent
 * @sent_at: when the packet was sent, ns
 * @via: port through which the answer came, 0 = unknown
 * @now: ns
 */
static inline void mrc_paths_heard(struct mrc_paths *p, u8 port,
				   u64 sent_at, u8 via, u64 now)
{
	if (p->probing && port <= MRC_MAX_PORTS && p->probing >> port & 1)
		mrc_ev_peer_heard(p, port, sent_at, via, now);
}

/* Is @port usable: up here, and the peer's port treated as up? */
bool mrc_paths_port_ok(const struct mrc_paths *p, u8 port);

/* Is @port up here, regardless of the peer's port status? */
bool mrc_paths_port_up(const struct mrc_paths *p, u8 port);

/*
 * Probes of ASSUMED_BAD EVs (§9.5 b, §11.6), at most one outstanding per EV, and of
 * the peer's ports (§12.3).
 * next_probe: earliest time at which anything is due, ~0 if nothing is.
 * probe_due: expire lost probes up to @now, then return an EV whose port may send and
 *	which must be probed now, or -1.
 * probe_sent: record the probe.
 * probe_match: EV of outstanding probe @id, or -1.
 */
u64 mrc_paths_next_probe(const struct mrc_paths *p);
int mrc_paths_probe_due(struct mrc_paths *p, u64 now);
void mrc_paths_probe_sent(struct mrc_paths *p, int ev, u16 id, u64 now);
int mrc_paths_probe_match(const struct mrc_paths *p, u16 id);

MRC_C_END

#endif /* MRC_EV_H */

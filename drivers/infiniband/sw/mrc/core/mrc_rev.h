/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reverse EVs: the path that feedback takes, MRC 1.0 §11.8.
 *
 * Forward EVs are not reversible. So SACKs, NACKs and ACKs use EVs of the QP's own set
 * towards the peer, one EV for each plane. The rules:
 *
 *  - An EV that a data SACK without CE confirmed becomes the reverse EV of its plane;
 *    the newest one wins. With data in both directions nothing else is needed.
 *  - If data comes in and no EV was confirmed by a SACK for an interval (one base RTT, at
 *    least MRC_REV_MIN_NS), one endpoint EV probe is due, on a plane on which data came
 *    in. The planes take turns. If the probe is answered, its EV becomes the reverse EV of
 *    the plane. Only one probe is outstanding at a time.
 *  - A probe tests a random EV; but of a plane that has a reverse EV it tests that one,
 *    except every MRC_REV_EXPLORE-th on average. So a reverse EV is known to work, even
 *    where most EVs are dead. Without an answer it is a reverse EV no longer.
 *  - A host that only receives has no other RTT samples. So an answer sets the interval
 *    to the RTT of the probe; a shorter one counts half. An answer is waited for
 *    MRC_REV_WAIT intervals, at least MRC_REV_WAIT_NS and at most the RTO, which a program
 *    may have set to a second. After every MRC_REV_TRIES probes without an answer the wait
 *    doubles, up to MRC_REV_MAX_NS. Otherwise, answers that are queued for longer would
 *    always come too late. As long as no RTT is known, it starts with MRC_REV_WAIT_NS and
 *    doubles with each probe. An answer that comes after the wait counts like any other, if
 *    it is to one of the last MRC_REV_RECENT probes.
 *  - A reverse EV is used for MRC_REV_FRESH intervals for each plane after its
 *    confirmation, as long as it is GOOD and its port is up. Without one, feedback rotates
 *    over the GOOD EVs of the plane (OP-30), so that no dead path swallows all feedback.
 *    Once a probe of the plane had no answer, feedback takes the reverse EV of another
 *    plane instead, if there is one: EVs of the plane are known to be dead, and nobody
 *    knows which. The answer to a probe of a random EV ends that.
 *  - When a reverse EV turns out to be dead, others may be dead too. Until the next answer
 *    they are used for half as long, after a second one for a quarter, and so on, and the
 *    next SACKs are sent on all planes (mrc_rev_copy_port()). A peer whose window a loss has
 *    closed would otherwise wait for a tail probe for each SACK that is lost. The number of
 *    these SACKs is bounded: where queues hold up probes, they must not add to the load.
 *
 * The state belongs to the responder and its lock. Only mrc_rev_confirm() runs under
 * the lock of the requester. It stores single words; if a reader sees the EV of one
 * call with the time of another call, it does no harm.
 */
#ifndef MRC_REV_H
#define MRC_REV_H

#include "mrc_ev.h"

MRC_C_BEGIN

/* §12.1 limits replies to 10 000/s for all QPs between two hosts together. */
#define MRC_REV_MIN_NS		1000000ull
#define MRC_REV_MAX_NS		1000000000ull
#define MRC_REV_FRESH		8u	/* intervals, times the number of ports */
#define MRC_REV_WAIT		4u	/* intervals */
#define MRC_REV_WAIT_NS		4000000ull
#define MRC_REV_TRIES		4u
#define MRC_REV_EXPLORE		4u	/* a power of 2 */
#define MRC_REV_RECENT		8u	/* a power of 2 */
#define MRC_REV_HALVES		4u	/* how often MRC_REV_FRESH is halved, at most */
#define MRC_REV_COPIED		32u	/* SACKs on all planes for a dead reverse EV */

/**
 * struct mrc_rev_plane - reverse EV of one port
 * @at: when it was confirmed, in units of 1.024 us
 * @ev: index, MRC_REV_NONE if there is none
 * @cursor: position of the rotation
 */
struct mrc_rev_plane {
	u32 at;
	u16 ev;
	u16 cursor;
};

#define MRC_REV_NONE		0xFFFFu

/**
 * struct mrc_rev_sent - a probe that was sent
 * @at: when, in units of 1.024 us
 * @id: its request id
 * @ev: EV that it tests, MRC_REV_NONE: it was answered
 */
struct mrc_rev_sent {
	u32 at;
	u16 id;
	u16 ev;
};

/**
 * struct mrc_rev - reverse EVs of a QP
 * @rng: picks EVs to probe
 * @probe_at: when the newest probe was sent, ns; 0 = never
 * @rtt: RTT found by probes, ns; 0 = none
 * @inbound: bit N = data came in on port N since the last probe
 * @searching: bit N = a probe of port N had no answer
 * @sacked_at: when a data SACK last confirmed an EV, in units of 1.024 us
 * @probe_out: the newest probe is outstanding
 * @newest: index of the newest probe in @sent
 * @sent: the last probes
 * @unanswered: probes without an answer since the last answer, up to 255
 * @broken: reverse EVs without an answer since the last answer, up to MRC_REV_HALVES
 * @copied: SACKs that are still to be sent on all planes
 * @probe_port: plane of the newest probe
 * @sacked: @sacked_at is valid
 * @plane: by port; index 0: packets without a port
 */
struct mrc_rev {
	u64 rng;
	u64 probe_at;
	u64 rtt;
	u32 inbound;
	u32 searching;
	u32 sacked_at;
	bool probe_out;
	u8 newest;
	u8 unanswered;
	u8 broken;
	u8 copied;
	u8 probe_port;
	bool sacked;
	struct mrc_rev_sent sent[MRC_REV_RECENT];
	struct mrc_rev_plane plane[MRC_MAX_PORTS + 1];
};

/* Initialise without any reverse EV. @seed: unpredictable. */
void mrc_rev_init(struct mrc_rev *rev, u64 seed);

/*
 * Requester: a SACK with m = 0 confirmed data sent on @ev. An @ev out of range is
 * ignored.
 */
void mrc_rev_confirm(struct mrc_rev *rev, const struct mrc_paths *p, int ev,
		     u64 now);

/* Responder: a data packet came in on @port. */
void mrc_rev_inbound(struct mrc_rev *rev, u8 port);

/**
 * mrc_rev_pick - EV for a control packet
 * @rev: state
 * @p: read only; may run while the requester changes states
 * @port: port on which the packet arrived that feedback answers; preferred if up; 0 =
 *	any
 * @now: ns
 *
 * Return: the reverse EV of the plane, else of another plane if this one is searched, else
 * the result of mrc_paths_pick_back(); -1 if no port is up.
 */
int mrc_rev_pick(struct mrc_rev *rev, const struct mrc_paths *p, u8 port,
		 u64 now);

/**
 * mrc_rev_copy_port - another plane for a SACK
 * @rev: state
 * @p: read only
 * @port: port on which the packet arrived that the SACK answers
 * @copy: what this function returned last for this SACK, 0 at first
 *
 * Return: 0 if there is none, or if the SACK is not to be sent on all planes.
 */
u8 mrc_rev_copy_port(struct mrc_rev *rev, const struct mrc_paths *p, u8 port, u8 copy);

/*
 * The next plane after that of @port that may be used, @port itself being the last; if
 * possible not @other. 0 if there is none.
 */
u8 mrc_rev_beside(const struct mrc_paths *p, u8 port, u8 other);

/*
 * EV for a packet on the plane of @port that is sent again: the next one in turn, because
 * the reverse EV of a plane may have lost it before. -1 if there is no EV.
 */
int mrc_rev_pick_again(struct mrc_rev *rev, const struct mrc_paths *p, u8 port);

/*
 * Like mrc_rev_pick(), for a copy of a SACK on the plane of @port, which is up: the reverse
 * EV of another plane is not taken instead. -1 if there is no EV.
 */
int mrc_rev_pick_copy(struct mrc_rev *rev, const struct mrc_paths *p, u8 port, u64 now);

/**
 * mrc_rev_probe_due - is an endpoint EV probe to be sent now?
 * @rev: state
 * @p: read only
 * @now: ns
 *
 * Call this when data has come in, for instance with each SACK. No timer is needed,
 * because probes are due only while data comes in.
 *
 * Return: EV to probe, followed by mrc_rev_probe_sent(), or -1.
 */
int mrc_rev_probe_due(struct mrc_rev *rev, const struct mrc_paths *p, u64 now);

/* The probe of @ev went out with request id @id. */
void mrc_rev_probe_sent(struct mrc_rev *rev, const struct mrc_paths *p, int ev,
			u16 id, u64 now);

/*
 * A response with request id @id arrived. Return: true if it answers one of the last
 * probes for the first time.
 */
bool mrc_rev_response(struct mrc_rev *rev, const struct mrc_paths *p, u16 id,
		      u64 now);

MRC_C_END

#endif /* MRC_REV_H */

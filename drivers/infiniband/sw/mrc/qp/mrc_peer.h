/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Peers of a device, MRC 1.0 §12.3 (mrc_peer.c), and what endpoint operations
 * lend to them (mrc_endpoint.c).
 */
#ifndef MRC_PEER_H
#define MRC_PEER_H

#include "mrc_qp.h"

/**
 * mrc_peer_join - @qp becomes a connection to its peer
 * @qp: under qp->mutex, its addresses are settled and its paths not in use yet
 *
 * When ports are down here, the peer is told. Return: 0, -ENOMEM, -E2BIG.
 */
int mrc_peer_join(struct mrc_qp *qp);

/* @qp may speak for its connection from now on. Under qp->mutex. */
void mrc_peer_up(struct mrc_qp *qp);

/* The other way round; under qp->mutex, when nothing uses the paths any more. */
void mrc_peer_leave(struct mrc_qp *qp);

/*
 * What the peer says of its ports, for mrc_paths_peer_said(). Under req_lock or
 * qp->mutex.
 */
u32 mrc_peer_word(const struct mrc_qp *qp);

/*
 * Let a requester that is about to send know what its peer told meanwhile.
 * Under req_lock, with req_on.
 */
static inline void mrc_peer_sync(struct mrc_qp *qp)
{
	u32 word = mrc_peer_word(qp);

	if (unlikely(word != qp->paths.peer_word))
		mrc_req_peer_said(&qp->tx->req, word, mrc_now());
}

/**
 * mrc_peer_update - a port status update arrived
 * @dev: device of the port of arrival
 * @self: destination address
 * @peer: source address
 * @port: of arrival
 * @mask: bit N = port N of the peer is up
 *
 * Softirq, under RCU. QPs that send hear of it from here on, all others soon. It
 * costs little however many come: only the newest one is kept.
 *
 * Return: whether it is to be confirmed; false for unknown peers.
 */
bool mrc_peer_update(struct mrc_dev *dev, const struct in6_addr *self,
		     const struct in6_addr *peer, u8 port, u32 mask);

/* A response arrived: did it confirm what the peer is being told? RCU. */
bool mrc_peer_answered(struct mrc_dev *dev, const struct in6_addr *self,
		       const struct in6_addr *peer, u8 port, u16 id);

/*
 * A connection to the peer whose paths answers can take, with a reference, or
 * NULL. Softirq, under RCU.
 */
struct mrc_qp *mrc_peer_speaker(struct mrc_dev *dev,
				const struct in6_addr *self,
				const struct in6_addr *peer, u8 port);

/* mrc_endpoint.c ------------------------------------------------------------*/

/* A request id that is nobody else's, or -EAGAIN; give it back after use. */
int mrc_ep_id_take(struct mrc_dev *dev);
void mrc_ep_id_give(struct mrc_dev *dev, u16 id);

/**
 * mrc_ep_rev_probe - test a reverse path if one is due (MRC 1.0 §11.8)
 * @qp: under resp_lock, with resp_on
 * @list: where the probe is put
 * @now: ns
 */
void mrc_ep_rev_probe(struct mrc_qp *qp, struct sk_buff_head *list, u64 now);

#endif /* MRC_PEER_H */

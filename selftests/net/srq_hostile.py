#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Peers that begin messages and never finish them, at queue pairs that share receives: no
queue pair gets more than its share, the others continue, and its receives become free
when it fails (Documentation/extension.md, receiver not ready)."""
import time

import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR

import ext_target as x
import mrc_packets as m
import mrc_target
from mrc_target import RQ_PSN, SIZE, Mismatch, counters, settle

ENTRIES = 32
ROOM = 64
ARRIVED = {'rx_data_pkts': 1, 'rx_data_bytes': 8, 'tx_sack': 1}
KEPT = {'rx_refused': 1, 'tx_nack': 1}


class Sharer(x.Target):
    """A queue pair with receives of an SRQ."""

    def __init__(self, *args, share):
        self.share = share
        super().__init__(*args)

    def create(self, max_recv_wr):
        self.pd = self.share.pd
        return super().create(0, srq=self.share.srq)

    def number(self, num):
        """The one-packet message with this number."""
        return self.message(m.SEND_ONLY, b'x' * 8, rqmsn=num,
                            psn=RQ_PSN + num & m.PSN_MASK)

    def completions(self, count):
        """The statuses of the next @count completions. No more completions may come."""
        got, end = [], time.monotonic() + m.PATIENCE
        while len(got) < count and time.monotonic() < end:
            got += [w.status for w in self.cq.poll(16)[1]]
        return got + [w.status for w in self.cq.poll(16)[1]]


class Share:
    """An SRQ with all entries posted, and queue pairs that use it."""

    def __init__(self, s):
        self.s, self.pd = s, PD(s.ctx)
        self.srq = SRQ(self.pd, SrqInitAttr(SrqAttr(max_wr=ENTRIES)))
        self.mr = MR(self.pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
        self.post(ENTRIES)

    def post(self, count):
        for _ in range(count):
            self.srq.post_recv(RecvWR(num_sge=1, sg=[
                SGE(self.mr.buf, ROOM, self.mr.lkey)]))

    def member(self):
        return self.s.fresh(Sharer, share=self)

    def close(self, *members):
        for q in members:
            q.qp.close()
        self.srq.close()


def step(member, num, want):
    before = counters()
    member.send(member.number(num))
    settle(before, want)


def ahead(member, num):
    step(member, num, {**ARRIVED, 'rx_out_of_order': 1})


def in_turn(member, first, count):
    for num in range(first, first + count):
        step(member, num, {**ARRIVED, 'rx_send': 1, 'tx_ack': 1})


def told(s, member, num, vendor):
    """The message is refused, for the reason in the vendor byte."""
    s.wire.drain()
    member.send(member.number(num))
    got = [r for r in s.wire.replies(1) if r.opcode == m.NACK]
    if [(r.reason, r.vendor) for r in got] != [(0x0A, vendor)]:
        raise Mismatch('not refused as it should be: %s' % got)


def shares(s):
    def alone():
        share = Share(s)
        a = share.member()
        # Before a queue pair may keep one more, as many receives as it keeps must be
        # free.
        step(a, ENTRIES // 2, KEPT)
        told(s, a, ENTRIES // 2, 0)
        ahead(a, ENTRIES // 2 - 1)
        step(a, ENTRIES // 2, KEPT)
        # The queue pair still works: all earlier messages arrive, and then this one.
        in_turn(a, 0, ENTRIES // 2 - 2)
        step(a, ENTRIES // 2 - 2, {**ARRIVED, 'rx_send': 2, 'tx_ack': (1, 2)})
        in_turn(a, ENTRIES // 2, 1)
        share.close(a)
    s.run('a message far ahead gets no more than half of the receives', alone)

    def several():
        share = Share(s)
        a, b, c = share.member(), share.member(), share.member()
        ahead(a, 15)            # 16 are left
        step(b, 7, KEPT)
        ahead(b, 4)             # 11 are left
        step(a, 16, KEPT)
        step(c, 2, KEPT)        # 8 left would be less than three times 3
        ahead(c, 1)             # 9 are left
        step(c, 0, {**ARRIVED, 'rx_send': 2, 'tx_ack': (1, 2)})
        in_turn(c, 2, 9)
        told(s, c, 11, 0x80 | x.TIMER)
        # A queue pair continues with receives that are posted one by one.
        for num in range(11, 20):
            share.post(1)
            in_turn(c, num, 1)
        if c.completions(20) != [e.IBV_WC_SUCCESS] * 20:
            raise Mismatch('not 20 messages')
        share.close(a, b, c)
    s.run('several that hoard receives do not stop another', several)

    def back():
        share = Share(s)
        a, b = share.member(), share.member()
        ahead(a, 15)
        before = counters()
        a.send(a.message(m.SEND_ONLY, b'x' * 8, va=8, psn=RQ_PSN))
        settle(before, {'rx_data_pkts': 1, 'tx_sack': 1, 'tx_nak': 1,
                        'qp_errors': 1, 'resp_invalid_request': 1})
        if a.completions(16) != [e.IBV_WC_WR_FLUSH_ERR] * 16:
            raise Mismatch('not all of them came back')
        share.post(16)
        # No other queue pair has a receive now.
        step(b, 16, KEPT)
        ahead(b, 15)
        share.close(a, b)
    s.run('receives of a queue pair that fails come back', back)

    def reset():
        share = Share(s)
        a, b = share.member(), share.member()
        ahead(a, 15)
        a.qp.close()
        share.post(16)
        step(b, 16, KEPT)
        ahead(b, 15)
        share.close(b)
    s.run('a queue pair that is gone holds none', reset)


if __name__ == '__main__':
    mrc_target.main(shares, seed=4, suite=x.Suite)

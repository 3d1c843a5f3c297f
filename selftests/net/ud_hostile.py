#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Packets for a UD QP, and a check of the packets that it sends."""
import struct

import pyverbs.enums as e
from pyverbs.addr import AH
from pyverbs.pd import PD
from pyverbs.wr import SGE, SendWR

import mrc_packets as m
import mrc_qp
import mrc_target
from mrc_target import DEV, PEER_QPN, counters, settle

QKEY = 0x11223344
GRH = 40
N = 3


class Target(mrc_target.Target):
    kind, size = e.IBV_QPT_UD, 8192
    access = e.IBV_ACCESS_LOCAL_WRITE
    values = {'qkey': QKEY}

    def body(self, data=b'', *, opcode=m.UD_SEND, qkey=QKEY, dqp=None, imm=b'',
             cut=0, **bits):
        body = m.body(opcode, self.qp.qp_num if dqp is None else dqp, 7,
                      m.deth(qkey, PEER_QPN) + imm, data, **bits)
        return body[:len(body) - cut]

    def send(self, data=b'', *, spoil=0, **args):
        super().send(self.body(data, **args), spoil=spoil)

    def refused(self, want, *args, **kwargs):
        before = counters()
        for _ in range(N):
            self.send(*args, **kwargs)
        settle(before, {want: N})
        assert self.cq.poll()[0] == 0, 'a completion'
        self.check_state(e.IBV_QPS_RTS)


def arrives(t):
    data = bytes(range(250))
    t.recv()
    before = counters()
    t.send(data, se=1)
    wc = t.poll()
    settle(before, {'rx_ud_pkts': 1})
    assert wc.status == e.IBV_WC_SUCCESS and wc.opcode == e.IBV_WC_RECV
    assert wc.byte_len == GRH + len(data), 'length %d' % wc.byte_len
    assert wc.src_qp == PEER_QPN and wc.wc_flags == e.IBV_WC_GRH
    got = t.mr.read(GRH + len(data), 0)
    assert got[GRH:] == data, 'payload'
    sent = m.ip_udp(t.remote, t.local, t.body(data, se=1))
    if ':' in t.local:
        assert got[:40] == sent[:40], 'GRH'
    else:
        assert got[:20] == bytes(20) and got[20:40] == sent[:20], 'GRH'


def immediate(t):
    t.recv()
    t.send(b'', opcode=m.UD_SEND_IMM, imm=b'\x01\x02\x03\x04')
    wc = t.poll()
    assert wc.byte_len == GRH and wc.wc_flags == (e.IBV_WC_GRH |
                                                  e.IBV_WC_WITH_IMM)
    assert struct.pack('=I', wc.imm_data) == b'\x01\x02\x03\x04'


def limited_member(t):
    t.recv()
    t.send(b'limited', pkey=0x7FFF)
    assert t.poll().byte_len == GRH + 7


def leaves(t, qkey=QKEY):
    """Sent packets have the RoCE v2 format."""
    data = b'datagram'
    t.mr.write(data, len(data))
    ah = AH(t.pd, attr=mrc_qp.ah_attr(DEV, t.local, t.remote,
                                      traffic_class=0x28))
    wr = SendWR(num_sge=1, sg=[SGE(t.mr.buf, len(data), t.mr.lkey)],
                opcode=e.IBV_WR_SEND_WITH_IMM,
                send_flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_SOLICITED,
                imm_data=struct.unpack('=I', b'abcd')[0])
    wr.set_wr_ud(ah, PEER_QPN, qkey)
    t.wire.drain()
    t.qp.post_send(wr)
    assert t.poll().status == e.IBV_WC_SUCCESS
    p, = t.wire.replies(1, wanted=lambda p: p.opcode == m.UD_SEND_IMM)
    # The core chooses the hop limit for the route.
    assert p.tos == 0x28, 'tos %#x' % p.tos
    assert p.sport >= 0xC000
    assert p.body == m.body(m.UD_SEND_IMM, PEER_QPN, p.psn, m.deth(
        QKEY, t.qp.qp_num) + b'abcd', data, se=1, mig=1), p.body.hex()
    assert p.ok_icrc, 'ICRC'


def privileged(t):
    """The QP's own Q_Key is sent in place of a privileged one."""
    leaves(t, 0x80010000)


def no_receive(t):
    t.refused('rx_ud_no_receive', b'x')


def too_long(t):
    t.recv(GRH + 10)
    t.refused('rx_drop_length', bytes(11))
    t.send(bytes(10))
    assert t.poll().byte_len == GRH + 10


def works_on(t):
    t.recv()
    t.send(b'still')
    assert t.poll().byte_len == GRH + 5


def refusal(name, want, *args, **kwargs):
    def test(t):
        t.recv()
        t.refused(want, *args, **kwargs)
        t.send(b'now')
        assert t.poll().byte_len == GRH + 3
    return name, test


TESTS = [
    ('a datagram arrives with its GRH', arrives),
    ('immediate without payload', immediate),
    ('a limited member of the partition', limited_member),
    ('a datagram as it leaves', leaves),
    ('a privileged Q_Key', privileged),
    refusal('wrong Q_Key', 'rx_drop_qkey', b'x', qkey=QKEY ^ 1),
    refusal('Q_Key of QP1', 'rx_drop_qkey', b'x', qkey=0x80010000),
    refusal('bad ICRC', 'rx_drop_icrc', b'x', spoil=1),
    refusal('another partition', 'rx_drop_pkey', b'x', pkey=0x7FFE),
    refusal('another transport version', 'rx_drop_tver', b'x', tver=1),
    refusal('unknown QP', 'rx_drop_unknown_qp', b'x', dqp=0xF00001),
    refusal('the multicast QP at an own address', 'rx_drop_unknown_qp', b'x',
            dqp=0xFFFFFF),
    refusal('an RC opcode of the class', 'rx_drop_opcode', b'x', opcode=0x6A),
    refusal('more pad than payload', 'rx_drop_short', b'', pad=3),
    refusal('immediate that is not there', 'rx_drop_short', b'',
            opcode=m.UD_SEND_IMM),
    refusal('no DETH', 'rx_drop_short', b'', cut=8),
    refusal('a garbage MAD for QP1', 'rx_drop_qkey', bytes(256), dqp=1,
            qkey=1),
    ('no receive', no_receive),
    ('longer than the receive', too_long),
    ('the QP works on', works_on),
]


class Suite(mrc_target.Suite):
    target = Target


def foreign_ah(s):
    """An address handle of another protection domain is refused."""
    t = s.fresh()
    ah = AH(PD(s.ctx), attr=mrc_qp.ah_attr(DEV, t.local, t.remote))
    wr = SendWR(num_sge=1, sg=[SGE(t.mr.buf, 8, t.mr.lkey)],
                opcode=e.IBV_WR_SEND, send_flags=e.IBV_SEND_SIGNALED)
    wr.set_wr_ud(ah, PEER_QPN, QKEY)
    before = counters()
    t.qp.post_send(wr)
    assert t.poll().status == e.IBV_WC_LOC_QP_OP_ERR
    settle(before, {})


def any_event(s):
    """A request for solicited completions does not weaken one for all."""
    t = s.fresh()
    t.recv()
    t.done.arm()
    t.cq.req_notify(True)
    t.send(b'any')
    assert t.done.event(), 'no event'
    assert t.poll().byte_len == GRH + 3


def cases(s):
    for name, test in TESTS:
        s.run(name, lambda test=test: test(s.t))
    s.run('an address handle of another domain', foreign_ah, s)
    s.run('the event of any completion', any_event, s)
    # QP1 receives these datagrams and the core discards them.
    s.t.send(bytes(256), dqp=1, qkey=0x80010000)
    s.t.send(bytes(5), dqp=1, qkey=0x80010000)


if __name__ == '__main__':
    mrc_target.main(cases, seed=6, suite=Suite)

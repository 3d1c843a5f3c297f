#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Packets for a UC QP, and a check of the packets that it sends. No packet from the
network may change the state of the QP, and each increments exactly its counters."""
import struct

import pyverbs.enums as e
from pyverbs.mr import MR, MW, MWBindInfo
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

import mrc_packets as m
import mrc_qp
import mrc_target
from mrc_target import DEV, PEER_QPN, counters, settle

MTU = 1024
SQ_PSN = 0xFFFFFE
N = 3
IMM = b'\x01\x02\x03\x04'


class Target(mrc_target.Target):
    kind, size = e.IBV_QPT_UC, 8192
    values = {'path_mtu': e.IBV_MTU_1024, 'sq_psn': SQ_PSN,
              'traffic_class': 0x28}

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.mr.write(bytes(self.size), self.size)
        self.own = MR(self.pd, self.size, e.IBV_ACCESS_LOCAL_WRITE)

    def recv(self, *args, **kwargs):
        super().recv(*args, mr=self.own, **kwargs)

    def send(self, opcode, data=b'', *, dqp=None, psn=None, reth=None, imm=b'',
             spoil=0, cut=0, src=None, **bits):
        """Sends a packet, by default with the next PSN."""
        if psn is None:
            psn = self.psn
        self.psn = psn + 1 & m.PSN_MASK
        body = m.body(opcode, self.qp.qp_num if dqp is None else dqp, psn,
                      (m.reth(*reth) if reth else b'') + imm, data, **bits)
        super().send(body[:len(body) - cut], src=src or self.remote,
                     spoil=spoil)

    def quiet(self):
        assert self.cq.poll()[0] == 0, 'a completion'
        self.check_state(e.IBV_QPS_RTS)

    def refused(self, want, *args, **kwargs):
        before = counters()
        for _ in range(N):
            self.send(*args, **kwargs)
        settle(before, {want: N})
        self.quiet()

    def works(self):
        """A message arrives, whatever happened before."""
        self.recv()
        self.send(m.UC_SEND_ONLY, b'now')
        self.got(b'now')

    def got(self, data, imm=None):
        wc = self.poll()
        assert wc.status == e.IBV_WC_SUCCESS, 'status %d' % wc.status
        assert wc.opcode == e.IBV_WC_RECV and wc.src_qp == PEER_QPN
        assert wc.byte_len == len(data), 'length %d' % wc.byte_len
        assert wc.wc_flags == (e.IBV_WC_WITH_IMM if imm else 0), wc.wc_flags
        if imm:
            assert struct.pack('=I', wc.imm_data) == imm
        assert self.own.read(len(data), 0) == data, 'payload'
        return wc


def pattern(length, start=1):
    return bytes((start + i * 7) & 0xFF for i in range(length))


def one(t):
    t.recv()
    before = counters()
    t.send(m.UC_SEND_ONLY, pattern(250), se=1)
    t.got(pattern(250))
    settle(before, {'rx_uc_pkts': 1, 'rx_uc_msgs': 1})


def three(t):
    data = pattern(2 * MTU + 5)
    t.recv()
    before = counters()
    t.send(m.UC_SEND_FIRST, data[:MTU])
    t.send(m.UC_SEND_MIDDLE, data[MTU:2 * MTU])
    t.send(m.UC_SEND_LAST_IMM, data[2 * MTU:], imm=IMM)
    t.got(data, IMM)
    settle(before, {'rx_uc_pkts': 3, 'rx_uc_msgs': 1})


def empty(t):
    t.recv()
    t.send(m.UC_SEND_ONLY_IMM, b'', imm=IMM)
    t.got(b'', IMM)


def write(t):
    data = pattern(2 * MTU + 5)
    before = counters()
    t.send(m.UC_WRITE_FIRST, data[:MTU],
           reth=(t.mr.buf + 9, t.mr.rkey, len(data)))
    t.send(m.UC_WRITE_MIDDLE, data[MTU:2 * MTU])
    t.send(m.UC_WRITE_LAST, data[2 * MTU:])
    settle(before, {'rx_uc_pkts': 3, 'rx_uc_msgs': 1})
    assert t.mr.read(len(data) + 10, 0) == bytes(9) + data + bytes(1)
    t.quiet()
    # Length 0 with an invalid key, which must not be checked.
    before = counters()
    t.send(m.UC_WRITE_ONLY, b'', reth=(1, 1, 0))
    settle(before, {'rx_uc_pkts': 1, 'rx_uc_msgs': 1})


def write_imm(t):
    data = pattern(77, 3)
    t.recv(0)
    t.send(m.UC_WRITE_ONLY_IMM, data, reth=(t.mr.buf, t.mr.rkey, 77), imm=IMM)
    wc = t.poll()
    assert wc.opcode == e.IBV_WC_RECV_RDMA_WITH_IMM and wc.byte_len == 77
    assert struct.pack('=I', wc.imm_data) == IMM
    assert t.mr.read(77, 0) == data


def leaves(t):
    """Sent packets have the RoCE v2 format."""
    data = pattern(MTU + 3)
    t.own.write(data, len(data))
    wr = SendWR(num_sge=1, sg=[SGE(t.own.buf, len(data), t.own.lkey)],
                opcode=e.IBV_WR_RDMA_WRITE_WITH_IMM,
                send_flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_SOLICITED,
                imm_data=struct.unpack('=I', b'abcd')[0])
    wr.set_wr_rdma(0x11223344, 0x0102030405060708)
    before = counters()
    t.wire.drain()
    t.qp.post_send(wr)
    wc = t.poll()
    assert wc.status == e.IBV_WC_SUCCESS and wc.opcode == e.IBV_WC_RDMA_WRITE
    settle(before, {'tx_uc_pkts': 2})
    seen = t.wire.replies(2, wanted=lambda p: p.opcode >> 5 == 1)
    assert [p.tos for p in seen] == [0x28] * 2, 'tos'
    assert all(p.ok_icrc for p in seen), 'ICRC'
    p, q = seen
    assert p.sport == q.sport >= 0xC000, 'one path'
    assert p.body == m.body(m.UC_WRITE_FIRST, PEER_QPN, SQ_PSN, m.reth(
        0x0102030405060708, 0x11223344, len(data)), data[:MTU], mig=1)
    assert q.body == m.body(m.UC_WRITE_LAST_IMM, PEER_QPN, SQ_PSN + 1, b'abcd',
                            data[MTU:], se=1, mig=1)


def gap(t):
    """The receive of an interrupted message is used for the next one."""
    data = pattern(3 * MTU)
    t.recv(wr_id=5)
    before = counters()
    t.send(m.UC_SEND_FIRST, data[:MTU])
    t.send(m.UC_SEND_MIDDLE, data[:MTU], psn=t.psn + 1 & m.PSN_MASK)
    t.send(m.UC_SEND_LAST, data[:MTU])
    settle(before, {'rx_uc_pkts': 1, 'rx_uc_broken': 1,
                    'rx_drop_uc_sequence': 2})
    t.quiet()
    t.send(m.UC_SEND_FIRST, data[:MTU], psn=123)
    t.send(m.UC_SEND_MIDDLE, data[MTU:2 * MTU])
    t.send(m.UC_SEND_LAST, data[2 * MTU:])
    assert t.got(data).wr_id == 5


def instead(t):
    """A message begins before the previous one is complete."""
    t.recv()
    before = counters()
    t.send(m.UC_SEND_FIRST, pattern(MTU))
    t.send(m.UC_SEND_ONLY, b'other')
    t.got(b'other')
    settle(before, {'rx_uc_pkts': 2, 'rx_uc_msgs': 1, 'rx_uc_broken': 1})


def mixed(t):
    """A WRITE that continues as a SEND, and a SEND that continues as a WRITE."""
    t.recv()
    before = counters()
    t.send(m.UC_WRITE_FIRST, pattern(MTU), reth=(t.mr.buf, t.mr.rkey, 2 * MTU))
    t.send(m.UC_SEND_LAST, pattern(MTU))
    t.send(m.UC_SEND_FIRST, pattern(MTU))
    t.send(m.UC_WRITE_LAST, pattern(MTU))
    settle(before, {'rx_uc_pkts': 2, 'rx_uc_broken': 2,
                    'rx_drop_uc_sequence': 2})
    t.send(m.UC_SEND_ONLY, b'x')
    t.got(b'x')


def no_receive(t):
    t.refused('rx_uc_no_receive', m.UC_SEND_ONLY, b'x')
    before = counters()
    t.send(m.UC_SEND_FIRST, bytes(MTU))
    t.send(m.UC_SEND_LAST, b'x')
    settle(before, {'rx_uc_no_receive': 1, 'rx_drop_uc_sequence': 1})
    before = counters()
    t.send(m.UC_WRITE_ONLY_IMM, b'there', reth=(t.mr.buf, t.mr.rkey, 5), imm=IMM)
    settle(before, {'rx_uc_no_receive': 1})
    t.quiet()
    t.works()


def too_long(t):
    t.recv(MTU + 10)
    t.refused('rx_drop_length', m.UC_SEND_ONLY, bytes(MTU + 1))
    before = counters()
    t.send(m.UC_SEND_FIRST, bytes(MTU))
    t.send(m.UC_SEND_LAST, bytes(11))
    settle(before, {'rx_uc_pkts': 1, 'rx_drop_length': 1})
    t.quiet()
    data = pattern(MTU + 10)
    t.send(m.UC_SEND_FIRST, data[:MTU])
    t.send(m.UC_SEND_LAST, data[MTU:])
    t.got(data)


def lengths(t):
    """Packets with a wrong length: not full in the middle, empty at the end, and others.
    """
    w = (t.mr.buf, t.mr.rkey)
    t.recv()
    for opcode, data, total in (
            (m.UC_SEND_FIRST, bytes(MTU - 1), 0), (m.UC_SEND_FIRST, b'', 0),
            (m.UC_WRITE_ONLY, bytes(5), 6), (m.UC_WRITE_ONLY, bytes(5), 4),
            (m.UC_WRITE_FIRST, bytes(MTU), MTU), (m.UC_WRITE_FIRST, bytes(MTU), 5),
            (m.UC_WRITE_FIRST, bytes(MTU), 0x80000001),
            (m.UC_WRITE_FIRST, bytes(MTU), 0xFFFFFFFF)):
        t.refused('rx_drop_length', opcode, data,
                  reth=(*w, total) if opcode >= m.UC_WRITE_FIRST else None)
    for last, data in ((m.UC_WRITE_LAST, bytes(3)), (m.UC_WRITE_LAST, bytes(5)),
                       (m.UC_WRITE_LAST, b''), (m.UC_WRITE_MIDDLE, bytes(MTU))):
        before = counters()
        t.send(m.UC_WRITE_FIRST, bytes(MTU), reth=(*w, MTU + 4))
        t.send(last, data)
        settle(before, {'rx_uc_pkts': 1, 'rx_uc_broken': 1,
                        'rx_drop_length': 1})
    t.quiet()
    t.send(m.UC_SEND_ONLY, b'x')
    t.got(b'x')


def keys(t):
    """WRITEs that are not permitted: nothing is written and nobody is informed."""
    buf, key = t.mr.buf, t.mr.rkey
    for reth in ((buf, key ^ 1, 4), (buf, key ^ 0x100, 4),
                 (buf - 1, key, 4), (buf + t.size - 3, key, 4),
                 (0xFFFFFFFFFFFFFFFE, key, 4), (t.own.buf, t.own.rkey, 4)):
        t.refused('rx_uc_access', m.UC_WRITE_ONLY, b'evil', reth=reth)
    # The last byte of the message is out of bounds, not one of this packet.
    before = counters()
    t.send(m.UC_WRITE_FIRST, b'e' * MTU, reth=(buf, key, t.size + 1))
    t.send(m.UC_WRITE_MIDDLE, b'e' * MTU)
    settle(before, {'rx_uc_access': 1, 'rx_drop_uc_sequence': 1})
    assert b'e' not in t.mr.read(t.size, 0) and b'e' not in t.own.read(t.size, 0)
    t.works()


def window(t):
    """A window of type 2 may be used only through the QP that has bound it."""
    binder = QP(t.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=t.cq, rcq=t.cq,
                                 cap=QPCap(max_send_wr=8)))
    binder.to_rts(mrc_qp.qp_attr(DEV, t.local, t.remote,
                                 dest_qp_num=PEER_QPN))
    mr = MR(t.pd, 4096, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE |
            e.IBV_ACCESS_MW_BIND)
    mw = MW(t.pd, e.IBV_MW_TYPE_2)
    wr = SendWR(opcode=e.IBV_WR_BIND_MW)
    wr.set_bind_wr(mw, MWBindInfo(mr, mr.buf, 4096, e.IBV_ACCESS_REMOTE_WRITE))
    binder.post_send(wr)
    assert t.poll().status == e.IBV_WC_SUCCESS
    t.refused('rx_uc_access', m.UC_WRITE_ONLY, b'evil',
              reth=(mr.buf, wr.rkey, 4))
    t.works()


def refusal(name, want, *args, **kwargs):
    def test(t):
        t.recv()
        t.refused(want, *args, **kwargs)
        t.send(m.UC_SEND_ONLY, b'now', psn=1)
        t.got(b'now')
    return name, test


def bad_recv(t):
    """A receive with an invalid key is an error of the program itself."""
    t.qp.post_recv(RecvWR(num_sge=1, sg=[SGE(t.own.buf, 10,
                                             t.own.lkey ^ 0x100)]))
    before = counters()
    t.send(m.UC_SEND_ONLY, b'x')
    assert t.poll().status == e.IBV_WC_LOC_PROT_ERR
    settle(before, {'rx_uc_pkts': 1, 'qp_errors': 1})
    t.check_state(e.IBV_QPS_ERR)
    before = counters()
    t.send(m.UC_SEND_ONLY, b'x')
    settle(before, {'rx_drop_qp_state': 1})


TESTS = [
    ('a message of one packet', one),
    ('a message of three packets, immediate', three),
    ('an empty message with immediate', empty),
    ('a write of three packets', write),
    ('a write with immediate', write_imm),
    ('packets as they leave', leaves),
    ('a window of type 2', window),
    ('a gap ends a message', gap),
    ('a message begins instead of going on', instead),
    ('kinds are not mixed', mixed),
    refusal('the middle of nothing', 'rx_drop_uc_sequence', m.UC_SEND_MIDDLE,
            bytes(MTU)),
    refusal('the end of nothing', 'rx_drop_uc_sequence', m.UC_WRITE_LAST, b'x'),
    refusal('bad ICRC', 'rx_drop_icrc', m.UC_SEND_ONLY, b'x', spoil=1),
    refusal('another partition', 'rx_drop_pkey', m.UC_SEND_ONLY, b'x',
            pkey=0x7FFE),
    refusal('another transport version', 'rx_drop_tver', m.UC_SEND_ONLY, b'x',
            tver=1),
    refusal('unknown QP', 'rx_drop_unknown_qp', m.UC_SEND_ONLY, b'x',
            dqp=0xF00001),
    refusal('an opcode that is none', 'rx_drop_opcode', 0x2C, b'x'),
    refusal('the last opcode of the class', 'rx_drop_opcode', 0x3F, b'x'),
    refusal('more pad than payload', 'rx_drop_short', m.UC_SEND_ONLY, b'', pad=3),
    refusal('no RETH', 'rx_drop_short', m.UC_WRITE_ONLY, b''),
    refusal('immediate that is not there', 'rx_drop_short', m.UC_SEND_ONLY_IMM,
            b''),
    refusal('half a BTH', 'rx_drop_short', m.UC_SEND_ONLY, b'', cut=6),
    refusal('a datagram', 'rx_drop_unknown_qp', 0x64, bytes(12)),
    ('no receive', no_receive),
    ('longer than the receive', too_long),
    ('lengths', lengths),
    ('keys', keys),
]


def address(s):
    t = s.fresh()
    other = 'fd00:1::77' if s.v6 else '10.1.0.77'
    t.recv()
    t.refused('rx_drop_address', m.UC_SEND_ONLY, b'x', src=other)
    t.works()


def no_rights(s):
    t = s.fresh(qp_access_flags=0)
    t.refused('rx_uc_access', m.UC_WRITE_ONLY, b'evil',
              reth=(t.mr.buf, t.mr.rkey, 4))
    # Not even a WRITE of no bytes.
    t.refused('rx_uc_access', m.UC_WRITE_ONLY, b'',
              reth=(t.mr.buf, t.mr.rkey, 0))
    t.works()


def established(s):
    """In RTR a packet causes the event that the connection is established."""
    t = s.idle().rtr()
    t.recv()
    t.recv()
    t.send(m.UC_SEND_ONLY, b'x')
    t.poll()
    t.send(m.UC_SEND_ONLY, b'x')
    t.poll()
    event = s.ctx.get_async_event()
    assert event.event_type == e.IBV_EVENT_COMM_EST, event.event_type
    event.ack()
    t.check_state(e.IBV_QPS_RTR)


def own_fault(s):
    t = s.fresh()
    bad_recv(t)
    event = s.ctx.get_async_event()
    assert event.event_type == e.IBV_EVENT_QP_FATAL, event.event_type
    event.ack()
    # The event is destroyed with the QP, which has to exist until here.
    t.check_state(e.IBV_QPS_ERR)


class Suite(mrc_target.Suite):
    target = Target


def cases(s):
    for name, test in TESTS:
        s.run(name, lambda test=test: test(s.fresh()))
    s.run('another address', address, s)
    s.run('a QP that allows no writes', no_rights, s)
    s.run('the event of the first packet', established, s)
    s.run('a receive with a bad key', own_fault, s)


if __name__ == '__main__':
    mrc_target.main(cases, seed=5, suite=Suite)

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Packets made by hand for a UC QP of the device mrcb, and its own looked at on
the wire. Nothing that comes from there may change the state of the QP, and each
moves exactly its counters. Run by uc.sh in the namespace of host A; prints lines
"ok NAME", "not ok NAME" and comments."""
import struct
import sys
import traceback

import pyverbs.enums as e
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

import mrc_events as ev
import mrc_packets as m

DEV = 'mrcb'
PEER_QPN = 0x654321
SIZE = 8192
MTU = 1024
RQ_PSN, SQ_PSN = 0xFFFFF0, 0xFFFFFE
N = 3
(SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM,
 WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY,
 WRITE_ONLY_IMM) = range(0x20, 0x2C)
IMM = b'\x01\x02\x03\x04'


def counters():
    return ev.counters(DEV, lambda name: '_uc_' in name or 'drop' in name or
                       name in ('qp_errors', 'tx_nack', 'tx_nak', 'tx_errors'))
class Target:
    """A UC QP of mrcb, in RTS or before."""

    def __init__(self, ctx, wire, local, remote, *, rts=True,
                 access=e.IBV_ACCESS_REMOTE_WRITE):
        self.wire, self.local, self.remote = wire, local, remote
        self.pd = PD(ctx)
        self.done = ev.Completions(ctx, 64)
        self.cq = self.done.cq
        self.fence = ev.Fence(wire, local, remote)
        self.mr = MR(self.pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE |
                     e.IBV_ACCESS_REMOTE_WRITE)
        self.mr.write(bytes(SIZE), SIZE)
        self.own = MR(self.pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
        self.qp = QP(self.pd, QPInitAttr(
            qp_type=e.IBV_QPT_UC, scq=self.cq, rcq=self.cq,
            cap=QPCap(max_send_wr=8, max_recv_wr=8, max_recv_sge=2)))
        self.psn = RQ_PSN
        attr = QPAttr(port_num=1)
        attr.qp_state = e.IBV_QPS_INIT
        attr.qp_access_flags = access
        self.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_PKEY_INDEX |
                       e.IBV_QP_PORT | e.IBV_QP_ACCESS_FLAGS)
        gr = GlobalRoute(dgid=GID(m.gid_text(remote)),
                         sgid_index=ev.gid_index(DEV, local), hop_limit=64,
                         traffic_class=0x28)
        attr.ah_attr = AHAttr(port_num=1, is_global=1, gr=gr)
        attr.qp_state = e.IBV_QPS_RTR
        attr.path_mtu = e.IBV_MTU_1024
        attr.dest_qp_num = PEER_QPN
        attr.rq_psn = RQ_PSN
        self.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_AV |
                       e.IBV_QP_PATH_MTU | e.IBV_QP_DEST_QPN |
                       e.IBV_QP_RQ_PSN)
        attr.qp_state = e.IBV_QPS_RTS
        attr.sq_psn = SQ_PSN
        if rts:
            self.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_SQ_PSN)

    def state(self):
        return self.qp.query(e.IBV_QP_STATE)[0].qp_state

    def recv(self, length=SIZE, mr=None, wr_id=0):
        mr = mr or self.own
        self.qp.post_recv(RecvWR(wr_id=wr_id, num_sge=1,
                                 sg=[SGE(mr.buf, length, mr.lkey)]))

    def poll(self):
        return self.done.next()

    def settle(self, before, want):
        """Exactly the counters of want must have grown, by as much."""
        ev.settle(lambda: ev.growth(before, counters()), self.fence, want)

    def packet(self, opcode, data=b'', *, dqp=None, psn=None, reth=None,
               imm=b'', spoil=0, cut=0, src=None, dst=None, **bits):
        """By default with the PSN whose turn it is."""
        if psn is None:
            psn = self.psn
        self.psn = psn + 1 & m.PSN_MASK
        body = m.bth(opcode, self.qp.qp_num if dqp is None else dqp, psn,
                     **{'pad': -len(data) % 4, **bits})
        if reth:
            body += m.reth(*reth)
        body += imm + data + bytes(-len(data) % 4)
        if cut:
            body = body[:-cut]
        return m.ip_udp(src or self.remote, dst or self.local, body,
                        spoil=spoil)

    def send(self, *args, **kwargs):
        self.wire.send(self.packet(*args, **kwargs))

    def quiet(self):
        assert self.cq.poll()[0] == 0, 'a completion'
        assert self.state() == e.IBV_QPS_RTS, 'state %d' % self.state()

    def refused(self, want, *args, **kwargs):
        before = counters()
        for _ in range(N):
            self.send(*args, **kwargs)
        self.settle(before, {want: N})
        self.quiet()

    def works(self):
        """A message arrives, whatever was before."""
        self.recv()
        self.send(SEND_ONLY, b'now')
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
    t.send(SEND_ONLY, pattern(250), se=1)
    t.got(pattern(250))
    t.settle(before, {'rx_uc_pkts': 1, 'rx_uc_msgs': 1})


def three(t):
    data = pattern(2 * MTU + 5)
    t.recv()
    before = counters()
    t.send(SEND_FIRST, data[:MTU])
    t.send(SEND_MIDDLE, data[MTU:2 * MTU])
    t.send(SEND_LAST_IMM, data[2 * MTU:], imm=IMM)
    t.got(data, IMM)
    t.settle(before, {'rx_uc_pkts': 3, 'rx_uc_msgs': 1})


def empty(t):
    t.recv()
    t.send(SEND_ONLY_IMM, b'', imm=IMM)
    t.got(b'', IMM)


def write(t):
    data = pattern(2 * MTU + 5)
    before = counters()
    t.send(WRITE_FIRST, data[:MTU],
           reth=(t.mr.buf + 9, t.mr.rkey, len(data)))
    t.send(WRITE_MIDDLE, data[MTU:2 * MTU])
    t.send(WRITE_LAST, data[2 * MTU:])
    t.settle(before, {'rx_uc_pkts': 3, 'rx_uc_msgs': 1})
    assert t.mr.read(len(data) + 10, 0) == bytes(9) + data + bytes(1)
    t.quiet()
    # None of a key that is not even looked at.
    before = counters()
    t.send(WRITE_ONLY, b'', reth=(1, 1, 0))
    t.settle(before, {'rx_uc_pkts': 1, 'rx_uc_msgs': 1})


def write_imm(t):
    data = pattern(77, 3)
    t.recv(0)
    t.send(WRITE_ONLY_IMM, data, reth=(t.mr.buf, t.mr.rkey, 77), imm=IMM)
    wc = t.poll()
    assert wc.opcode == e.IBV_WC_RECV_RDMA_WITH_IMM and wc.byte_len == 77
    assert struct.pack('=I', wc.imm_data) == IMM
    assert t.mr.read(77, 0) == data


def leaves(t):
    """What is sent looks as RoCE v2 has it."""
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
    t.settle(before, {'tx_uc_pkts': 2})
    t.wire.sock.settimeout(m.PATIENCE)
    seen = []
    while len(seen) < 2:
        p = t.wire.sock.recv(9000)[14:]
        udp = 40 if p[0] >> 4 == 6 else 20
        if len(p) > udp + 24 and p[udp + 8] >> 5 == 1:
            seen.append((p, p[udp + 8:], udp))
    for i, (p, b, udp) in enumerate(seen):
        tos = p[1] if udp == 20 else (p[0] << 4 | p[1] >> 4) & 0xFF
        assert tos == 0x28, 'tos %#x' % tos
        assert p[udp + 2:udp + 4] == b'\x12\xb7', 'port'
        assert b[2:8] == struct.pack('>HI', 0xFFFF, PEER_QPN)
        assert b[8:12] == struct.pack('>I', SQ_PSN + i), b[8:12].hex()
        assert m.icrc(p[:-4]) == p[-4:], 'ICRC'
    (p, b, udp), (q, c, _) = seen
    assert p[udp:udp + 2] == q[udp:udp + 2] >= b'\xc0\x00', 'one path'
    assert b[:2] == bytes([WRITE_FIRST, 0x40]), b[:2].hex()
    assert b[12:28] == m.reth(0x0102030405060708, 0x11223344, len(data))
    assert b[28:-4] == data[:MTU]
    assert c[:2] == bytes([WRITE_LAST_IMM, 0xC0 | 1 << 4]), c[:2].hex()
    assert c[12:-4] == b'abcd' + data[MTU:] + bytes(1)


def gap(t):
    """The receive of a message that broke off goes to the next one."""
    data = pattern(3 * MTU)
    t.recv(wr_id=5)
    before = counters()
    t.send(SEND_FIRST, data[:MTU])
    t.send(SEND_MIDDLE, data[:MTU], psn=t.psn + 1 & m.PSN_MASK)
    t.send(SEND_LAST, data[:MTU])
    t.settle(before, {'rx_uc_pkts': 1, 'rx_uc_broken': 1,
                      'rx_drop_uc_sequence': 2})
    t.quiet()
    t.send(SEND_FIRST, data[:MTU], psn=123)
    t.send(SEND_MIDDLE, data[MTU:2 * MTU])
    t.send(SEND_LAST, data[2 * MTU:])
    assert t.got(data).wr_id == 5


def instead(t):
    """A message begins where another was to go on."""
    t.recv()
    before = counters()
    t.send(SEND_FIRST, pattern(MTU))
    t.send(SEND_ONLY, b'other')
    t.got(b'other')
    t.settle(before, {'rx_uc_pkts': 2, 'rx_uc_msgs': 1, 'rx_uc_broken': 1})


def mixed(t):
    """A write that goes on as a SEND, and the other way round."""
    t.recv()
    before = counters()
    t.send(WRITE_FIRST, pattern(MTU), reth=(t.mr.buf, t.mr.rkey, 2 * MTU))
    t.send(SEND_LAST, pattern(MTU))
    t.send(SEND_FIRST, pattern(MTU))
    t.send(WRITE_LAST, pattern(MTU))
    t.settle(before, {'rx_uc_pkts': 2, 'rx_uc_broken': 2,
                      'rx_drop_uc_sequence': 2})
    t.send(SEND_ONLY, b'x')
    t.got(b'x')


def no_receive(t):
    t.refused('rx_uc_no_receive', SEND_ONLY, b'x')
    before = counters()
    t.send(SEND_FIRST, bytes(MTU))
    t.send(SEND_LAST, b'x')
    t.settle(before, {'rx_uc_no_receive': 1, 'rx_drop_uc_sequence': 1})
    before = counters()
    t.send(WRITE_ONLY_IMM, b'there', reth=(t.mr.buf, t.mr.rkey, 5), imm=IMM)
    t.settle(before, {'rx_uc_no_receive': 1})
    t.quiet()
    t.works()


def too_long(t):
    t.recv(MTU + 10)
    t.refused('rx_drop_length', SEND_ONLY, bytes(MTU + 1))
    before = counters()
    t.send(SEND_FIRST, bytes(MTU))
    t.send(SEND_LAST, bytes(11))
    t.settle(before, {'rx_uc_pkts': 1, 'rx_drop_length': 1})
    t.quiet()
    data = pattern(MTU + 10)
    t.send(SEND_FIRST, data[:MTU])
    t.send(SEND_LAST, data[MTU:])
    t.got(data)


def lengths(t):
    """Packets that are not full in the middle, empty at the end, and more."""
    w = (t.mr.buf, t.mr.rkey)
    t.recv()
    for opcode, data, total in (
            (SEND_FIRST, bytes(MTU - 1), 0), (SEND_FIRST, b'', 0),
            (WRITE_ONLY, bytes(5), 6), (WRITE_ONLY, bytes(5), 4),
            (WRITE_FIRST, bytes(MTU), MTU), (WRITE_FIRST, bytes(MTU), 5),
            (WRITE_FIRST, bytes(MTU), 0x80000001),
            (WRITE_FIRST, bytes(MTU), 0xFFFFFFFF)):
        t.refused('rx_drop_length', opcode, data,
                  reth=(*w, total) if opcode >= WRITE_FIRST else None)
    for last, data in ((WRITE_LAST, bytes(3)), (WRITE_LAST, bytes(5)),
                       (WRITE_LAST, b''), (WRITE_MIDDLE, bytes(MTU))):
        before = counters()
        t.send(WRITE_FIRST, bytes(MTU), reth=(*w, MTU + 4))
        t.send(last, data)
        t.settle(before, {'rx_uc_pkts': 1, 'rx_uc_broken': 1,
                          'rx_drop_length': 1})
    t.quiet()
    t.send(SEND_ONLY, b'x')
    t.got(b'x')


def keys(t):
    """Writes that are not allowed: nothing is written and nobody is told."""
    buf, key = t.mr.buf, t.mr.rkey
    for reth in ((buf, key ^ 1, 4), (buf, key ^ 0x100, 4),
                 (buf - 1, key, 4), (buf + SIZE - 3, key, 4),
                 (0xFFFFFFFFFFFFFFFE, key, 4), (t.own.buf, t.own.rkey, 4)):
        t.refused('rx_uc_access', WRITE_ONLY, b'evil', reth=reth)
    # The last byte of the message, not of the packet.
    before = counters()
    t.send(WRITE_FIRST, b'e' * MTU, reth=(buf, key, SIZE + 1))
    t.send(WRITE_MIDDLE, b'e' * MTU)
    t.settle(before, {'rx_uc_access': 1, 'rx_drop_uc_sequence': 1})
    assert b'e' not in t.mr.read(SIZE, 0) and b'e' not in t.own.read(SIZE, 0)
    t.works()


def refusal(name, want, *args, **kwargs):
    def test(t):
        t.recv()
        t.refused(want, *args, **kwargs)
        t.send(SEND_ONLY, b'now', psn=1)
        t.got(b'now')
    return name, test


def bad_recv(t):
    """A receive of a key that is none is the program's own fault."""
    t.qp.post_recv(RecvWR(num_sge=1, sg=[SGE(t.own.buf, 10,
                                             t.own.lkey ^ 0x100)]))
    before = counters()
    t.send(SEND_ONLY, b'x')
    assert t.poll().status == e.IBV_WC_LOC_PROT_ERR
    t.settle(before, {'rx_uc_pkts': 1, 'qp_errors': 1})
    assert t.state() == e.IBV_QPS_ERR
    before = counters()
    t.send(SEND_ONLY, b'x')
    t.settle(before, {'rx_drop_qp_state': 1})


TESTS = [
    ('a message of one packet', one),
    ('a message of three packets, immediate', three),
    ('an empty message with immediate', empty),
    ('a write of three packets', write),
    ('a write with immediate', write_imm),
    ('packets as they leave', leaves),
    ('a gap ends a message', gap),
    ('a message begins instead of going on', instead),
    ('kinds are not mixed', mixed),
    refusal('the middle of nothing', 'rx_drop_uc_sequence', SEND_MIDDLE,
            bytes(MTU)),
    refusal('the end of nothing', 'rx_drop_uc_sequence', WRITE_LAST, b'x'),
    refusal('bad ICRC', 'rx_drop_icrc', SEND_ONLY, b'x', spoil=1),
    refusal('another partition', 'rx_drop_pkey', SEND_ONLY, b'x',
            pkey=0x7FFE),
    refusal('another transport version', 'rx_drop_tver', SEND_ONLY, b'x',
            tver=1),
    refusal('unknown QP', 'rx_drop_unknown_qp', SEND_ONLY, b'x',
            dqp=0xF00001),
    refusal('an opcode that is none', 'rx_drop_opcode', 0x2C, b'x'),
    refusal('the last opcode of the class', 'rx_drop_opcode', 0x3F, b'x'),
    refusal('more pad than payload', 'rx_drop_short', SEND_ONLY, b'', pad=3),
    refusal('no RETH', 'rx_drop_short', WRITE_ONLY, b''),
    refusal('immediate that is not there', 'rx_drop_short', SEND_ONLY_IMM,
            b''),
    refusal('half a BTH', 'rx_drop_short', SEND_ONLY, b'', cut=6),
    refusal('a datagram', 'rx_drop_unknown_qp', 0x64, bytes(12)),
    ('no receive', no_receive),
    ('longer than the receive', too_long),
    ('lengths', lengths),
    ('keys', keys),
]


def address(ctx, wire, local, remote):
    t = Target(ctx, wire, local, remote)
    other = '10.1.0.77' if ':' not in local else 'fd00:1::77'
    t.recv()
    t.refused('rx_drop_address', SEND_ONLY, b'x', src=other)
    t.works()


def no_rights(ctx, wire, local, remote):
    t = Target(ctx, wire, local, remote, access=0)
    t.refused('rx_uc_access', WRITE_ONLY, b'evil',
              reth=(t.mr.buf, t.mr.rkey, 4))
    # Of no bytes either.
    t.refused('rx_uc_access', WRITE_ONLY, b'', reth=(t.mr.buf, t.mr.rkey, 0))
    t.works()


def established(ctx, wire, local, remote):
    """In RTR a packet tells the program that the other side is there."""
    t = Target(ctx, wire, local, remote, rts=False)
    t.recv()
    t.recv()
    t.send(SEND_ONLY, b'x')
    t.poll()
    t.send(SEND_ONLY, b'x')
    t.poll()
    event = ctx.get_async_event()
    assert event.event_type == e.IBV_EVENT_COMM_EST, event.event_type
    event.ack()
    assert t.state() == e.IBV_QPS_RTR


def own_fault(ctx, wire, local, remote):
    t = Target(ctx, wire, local, remote)
    bad_recv(t)
    event = ctx.get_async_event()
    assert event.event_type == e.IBV_EVENT_QP_FATAL, event.event_type
    event.ack()
    # The event goes with the QP, which has to live until here.
    assert t.state() == e.IBV_QPS_ERR


def main():
    peer_mac, local4, remote4, local6, remote6 = sys.argv[1:6]
    ctx = Context(name=DEV)
    wire = m.Wire('pa1', peer_mac)
    bad = 0

    def attempt(name, func, *args):
        nonlocal bad
        try:
            func(*args)
            print('ok', name)
        except Exception:
            print('not ok', name)
            print('# ' + traceback.format_exc().replace('\n', '\n# '))
            bad += 1
        sys.stdout.flush()

    for local, remote in ((local4, remote4), (local6, remote6)):
        v = 'v6: ' if ':' in local else 'v4: '
        for name, test in TESTS:
            attempt(v + name, test, Target(ctx, wire, local, remote))
        for name, test in (('another address', address),
                           ('a QP that allows no writes', no_rights),
                           ('the event of the first packet', established),
                           ('a receive with a bad key', own_fault)):
            attempt(v + name, test, ctx, wire, local, remote)
    sys.exit(1 if bad else 0)


main()

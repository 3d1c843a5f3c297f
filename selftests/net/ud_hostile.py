#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Datagrams made by hand for a UD QP of the device mrcb, and its own looked at
on the wire. Run by ud.sh in the namespace of host A; prints lines "ok NAME",
"not ok NAME" and comments."""
import struct
import sys
import traceback

import pyverbs.enums as e
from pyverbs.addr import AH, GID, AHAttr, GlobalRoute
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

import mrc_events as ev
import mrc_packets as m

DEV = 'mrcb'
QKEY = 0x11223344
PEER_QPN = 0x654321
SIZE = 8192
GRH = 40
SEND, SEND_IMM = 0x64, 0x65
N = 3


def counters():
    return ev.counters(DEV, lambda name: '_ud_' in name or 'drop' in name or
                       name == 'qp_errors')
class Target:
    """A UD QP of mrcb."""

    def __init__(self, ctx, wire, local, remote):
        self.wire, self.local, self.remote = wire, local, remote
        self.pd = PD(ctx)
        self.done = ev.Completions(ctx, 64)
        self.cq = self.done.cq
        self.fence = ev.Fence(wire, local, remote)
        self.mr = MR(self.pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
        self.qp = QP(self.pd, QPInitAttr(
            qp_type=e.IBV_QPT_UD, scq=self.cq, rcq=self.cq,
            cap=QPCap(max_send_wr=8, max_recv_wr=8, max_recv_sge=2)))
        attr = QPAttr(port_num=1)
        attr.qkey = QKEY
        self.qp.to_rts(attr)
        self.ah = None

    def state(self):
        return self.qp.query(e.IBV_QP_STATE)[0].qp_state

    def recv(self, length=SIZE):
        self.qp.post_recv(RecvWR(num_sge=1,
                                 sg=[SGE(self.mr.buf, length, self.mr.lkey)]))

    def poll(self):
        return self.done.next()

    def settle(self, before, want):
        """Exactly the counters of want must have grown, by as much."""
        ev.settle(lambda: ev.growth(before, counters()), self.fence, want)

    def packet(self, data=b'', *, opcode=SEND, qkey=QKEY, dqp=None, imm=b'',
               spoil=0, cut=0, **bits):
        pad = -len(data) % 4
        body = m.bth(opcode, self.qp.qp_num if dqp is None else dqp, 7,
                     **{'pad': pad, **bits})
        body += struct.pack('>II', qkey, PEER_QPN) + imm
        body += data + bytes(pad)
        if cut:
            body = body[:-cut]
        return m.ip_udp(self.remote, self.local, body, spoil=spoil)

    def send(self, *args, **kwargs):
        self.wire.send(self.packet(*args, **kwargs))

    def refused(self, want, *args, **kwargs):
        before = counters()
        for _ in range(N):
            self.send(*args, **kwargs)
        self.settle(before, {want: N})
        assert self.cq.poll()[0] == 0, 'a completion'
        assert self.state() == e.IBV_QPS_RTS, 'state %d' % self.state()


def arrives(t):
    data = bytes(range(250))
    t.recv()
    before = counters()
    t.send(data, se=1)
    wc = t.poll()
    t.settle(before, {'rx_ud_pkts': 1})
    assert wc.status == e.IBV_WC_SUCCESS and wc.opcode == e.IBV_WC_RECV
    assert wc.byte_len == GRH + len(data), 'length %d' % wc.byte_len
    assert wc.src_qp == PEER_QPN and wc.wc_flags == e.IBV_WC_GRH
    got = t.mr.read(GRH + len(data), 0)
    assert got[GRH:] == data, 'payload'
    sent = t.packet(data, se=1)
    if ':' in t.local:
        assert got[:40] == sent[:40], 'GRH'
    else:
        assert got[:20] == bytes(20) and got[20:40] == sent[:20], 'GRH'


def immediate(t):
    t.recv()
    t.send(b'', opcode=SEND_IMM, imm=b'\x01\x02\x03\x04')
    wc = t.poll()
    assert wc.byte_len == GRH and wc.wc_flags == (e.IBV_WC_GRH |
                                                  e.IBV_WC_WITH_IMM)
    assert struct.pack('=I', wc.imm_data) == b'\x01\x02\x03\x04'


def leaves(t):
    """What is sent looks as RoCE v2 has it."""
    data = b'datagram'
    t.mr.write(data, len(data))
    gr = GlobalRoute(dgid=GID(m.gid_text(t.remote)),
                     sgid_index=ev.gid_index(DEV, t.local), hop_limit=64,
                     traffic_class=0x28)
    ah = AH(t.pd, attr=AHAttr(port_num=1, is_global=1, gr=gr))
    wr = SendWR(num_sge=1, sg=[SGE(t.mr.buf, len(data), t.mr.lkey)],
                opcode=e.IBV_WR_SEND_WITH_IMM,
                send_flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_SOLICITED,
                imm_data=struct.unpack('=I', b'abcd')[0])
    wr.set_wr_ud(ah, PEER_QPN, QKEY)
    t.wire.drain()
    t.qp.post_send(wr)
    assert t.poll().status == e.IBV_WC_SUCCESS
    t.wire.sock.settimeout(m.PATIENCE)
    while True:
        frame = t.wire.sock.recv(9000)
        p = frame[14:]
        udp = 40 if p[0] >> 4 == 6 else 20
        if len(p) > udp + 32 and p[udp + 8] == SEND_IMM:
            break
    # The hop limit is what the core finds good for the route.
    tos = p[1] if udp == 20 else (p[0] << 4 | p[1] >> 4) & 0xFF
    assert tos == 0x28, 'tos %#x' % tos
    assert p[udp + 2:udp + 4] == b'\x12\xb7' and p[udp:udp + 2] >= b'\xc0\x00'
    b = p[udp + 8:]
    assert b[1] == 0xC0, 'BTH byte 1 %#x' % b[1]
    assert b[2:8] == struct.pack('>HI', 0xFFFF, PEER_QPN)
    assert b[12:20] == struct.pack('>II', QKEY, t.qp.qp_num), b[12:20].hex()
    assert b[20:24] == b'abcd' and b[24:32] == data and len(b) == 36
    assert m.icrc(p[:-4]) == p[-4:], 'ICRC'


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
    ('a datagram as it leaves', leaves),
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
            opcode=SEND_IMM),
    refusal('no DETH', 'rx_drop_short', b'', cut=8),
    refusal('a garbage MAD for QP1', 'rx_drop_qkey', bytes(256), dqp=1,
            qkey=1),
    ('no receive', no_receive),
    ('longer than the receive', too_long),
    ('the QP works on', works_on),
]


def main():
    peer_mac, local4, remote4, local6, remote6 = sys.argv[1:6]
    ctx = Context(name=DEV)
    wire = m.Wire('pa1', peer_mac)
    bad = 0
    for local, remote in ((local4, remote4), (local6, remote6)):
        t = Target(ctx, wire, local, remote)
        for name, test in TESTS:
            name = ('v6: ' if ':' in local else 'v4: ') + name
            try:
                test(t)
                print('ok', name)
            except Exception:
                print('not ok', name)
                print('# ' + traceback.format_exc().replace('\n', '\n# '))
                bad += 1
                t = Target(ctx, wire, local, remote)
            sys.stdout.flush()
    # QP1 takes it and the core throws it away.
    t.send(bytes(256), dqp=1, qkey=0x80010000)
    t.send(bytes(5), dqp=1, qkey=0x80010000)
    sys.exit(1 if bad else 0)


main()

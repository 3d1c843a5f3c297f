# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Common code of programs that send hand-made packets to a queue pair of the device mrcb.
The programs run in the namespace of host A and print lines "ok NAME", "not ok NAME" and
comments. lib_run.sh starts them (by_hand).

usage of each: PROGRAM MAC-OF-B IPv4-OF-B IPv4-OF-A IPv6-OF-B IPv6-OF-A [ARG...]

With MRC_SRV6=ADDRESS in the environment, every packet is sent in an outer IPv6 header
to that address."""
import os
import random
import sys
import traceback

import pyverbs.enums as e
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR

import mrc_events as ev
import mrc_packets as m
import mrc_qp
import mrc_wire
from mrc_events import Mismatch

DEV = 'mrcb'
PEER_QPN = 0x123456
SQ_PSN = 0x000100
RQ_PSN = 0xFFFFF0       # wraps during the test
SIZE = 65536
N = 5                   # how often each bad packet is sent
SRV6 = os.environ.get('MRC_SRV6')


class Watch:
    """The counters of the device that the programs compare, and the fence."""
    fence = None
    ignored = ('rx_srv6', 'tx_srv6')


def counters():
    total = ev.counters(DEV)
    for name in Watch.ignored:
        total.pop(name, None)
    # A host that only receives sometimes probes for a reverse path.
    if 'tx_rev_probe' in total:
        total['tx_endpoint_req'] -= total.pop('tx_rev_probe')
        total['rx_endpoint_resp'] -= (total.pop('rev_path_ok') +
                                      total.pop('rev_probe_late'))
    return total


def grown(before):
    return ev.growth(before, counters())


def settle(before, want):
    """Waits for the counters in want (name: value or (low, high)). No other counter may
    grow."""
    ev.settle(lambda: grown(before), Watch.fence, want)


def around(packet, tos=0x12):
    """The packet as it is sent."""
    return m.encap(packet, 'fd00:1::1', SRV6, tos=tos) if SRV6 else packet


class Target:
    """A QP of mrcb whose peer is this program."""
    kind, size = e.IBV_QPT_RC, SIZE
    access = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE
    values = {}             # attributes of the connection that differ from the defaults

    def __init__(self, ctx, wire, local, remote, *, access=None, **values):
        """access: rights of the memory; values: like those of the class."""
        self.wire, self.local, self.remote = wire, local, remote
        self.pd = PD(ctx)
        self.done = ev.Completions(ctx, 64)
        self.cq = self.done.cq
        self.mr = MR(self.pd, self.size, self.access if access is None else
                     access)
        self.qp = self.create(max_recv_wr=8)
        self.attr = mrc_qp.qp_attr(DEV, local, remote, **{
            'dest_qp_num': PEER_QPN, 'rq_psn': RQ_PSN, 'sq_psn': SQ_PSN,
            **self.values, **values})
        self.psn = RQ_PSN

    def create(self, max_recv_wr, **init):
        return QP(self.pd, QPInitAttr(
            qp_type=self.kind, scq=self.cq, rcq=self.cq, cap=QPCap(
                max_send_wr=8, max_recv_wr=max_recv_wr, max_recv_sge=2),
            **init))

    def init(self):
        self.qp.to_init(self.attr)
        return self

    def rtr(self):
        self.qp.to_rtr(self.attr)
        return self

    def rts(self):
        self.qp.to_rts(self.attr)
        return self

    def state(self):
        return mrc_qp.state(self.qp)

    def check_state(self, want):
        if self.state() != want:
            raise Mismatch('QP state %d' % self.state())

    def recv(self, length=None, mr=None, wr_id=0):
        mr = mr or self.mr
        self.qp.post_recv(RecvWR(wr_id=wr_id, num_sge=1, sg=[
            SGE(mr.buf, self.size if length is None else length, mr.lkey)]))

    def poll(self):
        return self.done.next()

    def send(self, body, **ip):
        packet = m.ip_udp(ip.pop('src', self.remote), self.local, body, **ip)
        self.wire.send(around(packet, ip.get('tos', 0x12)))

    def take_psn(self):
        psn = self.psn
        self.psn = self.psn + 1 & m.PSN_MASK
        return psn


class MrcTarget(Target):
    """The same for MRC. The expected contents of its memory are in image."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.image = bytearray(random.randbytes(SIZE))
        self.mr.write(bytes(self.image), SIZE)
        self.msn = 0

    def only(self, data, off=0, **args):
        """A correct WRITE_ONLY with the next PSN. Updates the image."""
        body = m.write(m.WRITE_ONLY, self.qp.qp_num, self.take_psn(),
                       self.mr.buf + off, self.mr.rkey, data, msn=self.msn,
                       **{'a': 1, **args})
        self.msn += 1
        self.image[off:off + len(data)] = data
        return body

    def write_at(self, psn, data=b'x' * 8, off=0, opcode=m.WRITE_ONLY, **args):
        """A WRITE that must not be placed."""
        args.setdefault('rkey', self.mr.rkey)
        args.setdefault('va', self.mr.buf + off)
        return m.write(opcode, self.qp.qp_num, psn, args.pop('va'),
                       args.pop('rkey'), data, **{'a': 1, **args})

    def check_memory(self):
        if self.mr.read(SIZE, 0) != bytes(self.image):
            raise Mismatch('memory is not what it should be')

    def check_alive(self):
        before = counters()
        data = random.randbytes(100)
        self.send(self.only(data, random.randrange(SIZE - 100)))
        settle(before, {'rx_data_pkts': 1, 'rx_data_bytes': 100, 'tx_sack': 1,
                        'tx_ack': 1})
        self.check_memory()


class Suite:
    """The test cases of one address family, with a target for those that need none of
    their own."""
    target = MrcTarget

    def __init__(self, ctx, wire, local, remote):
        self.ctx, self.wire = ctx, wire
        Watch.fence = ev.Fence(wire, local, remote, around)
        self.local, self.remote = local, remote
        self.v6 = ':' in local
        self.bad = 0
        self.t = self.fresh()

    def idle(self, target=None, **args):
        """A target in RESET."""
        return (target or self.target)(self.ctx, self.wire, self.local,
                                       self.remote, **args)

    def fresh(self, target=None, **args):
        return self.idle(target, **args).rts()

    def run(self, name, func, *args):
        name = '%s: %s' % ('IPv6' if self.v6 else 'IPv4', name)
        try:
            func(*args)
            print('ok', name, flush=True)
        except Exception as err:  # pylint: disable=broad-except
            self.bad += 1
            if not isinstance(err, Mismatch):
                print('# ' + traceback.format_exc().replace('\n', '\n# '))
            print('# %s' % err)
            print('not ok', name, flush=True)
            self.t = self.fresh()

    def refused(self, name, body, want, **ip):
        """Sends body (bytes, or a function of the attempt) N times. Exactly the counters
        in want must grow."""
        def test():
            before = counters()
            for i in range(N):
                self.t.send(body(i) if callable(body) else body, **ip)
            settle(before, want)
            self.t.check_memory()
            self.t.check_alive()
        self.run(name, test)

    def fatal(self, name, make, want, again, fresh=None):
        """A packet that ends a QP, which fresh() makes for it; another QP stays usable.
        again: a packet that the ended QP must not accept."""
        def test():
            victim = (fresh or self.fresh)()
            before = counters()
            victim.send(make(victim))
            settle(before, want)
            victim.check_memory()
            victim.check_state(e.IBV_QPS_ERR)
            before = counters()
            victim.send(again(victim))
            settle(before, {'rx_drop_qp_state': 1})
            self.t.check_alive()
        self.run(name, test)


def main(cases, seed, suite=Suite):
    """Runs cases(SUITE) for both address families."""
    mac, local4, remote4, local6, remote6 = sys.argv[1:6]
    random.seed(seed)
    wire, ctx, bad = mrc_wire.Wire('pa1', mac), Context(name=DEV), 0
    for local, remote in ((local4, remote4), (local6, remote6)):
        s = suite(ctx, wire, local, remote)
        cases(s)
        bad += s.bad
    sys.exit(1 if bad else 0)

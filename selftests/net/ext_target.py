# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Like mrc_target.py, for the extension: a QP that receives requests, and its answer
channel."""
import time

import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError

import mrc_packets as m
import mrc_target
from mrc_target import RQ_PSN, Mismatch

FLIP = 0x800000         # XOR of the first PSN of answers and that of requests
TIMER = 12              # min_rnr_timer of mrc_qp.qp_attr()
FULL = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE |
        e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC |
        e.IBV_ACCESS_FLUSH_GLOBAL)


class Target(mrc_target.MrcTarget):
    values = {'qp_access_flags': FULL, 'max_rd_atomic': 16,
              'max_dest_rd_atomic': 16,
              'timeout': 22}    # 17 s: no retransmission during the test

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.num = 0
        self.answer = RQ_PSN ^ FLIP     # of the next answer

    def request(self, opcode=m.READ_REQ, off=0, length=8, **args):
        """A request; by default with the next number and the next PSN."""
        num = args.pop('num', self.num)
        if num == self.num:
            self.num += 1
        if opcode != m.READ_REQ:
            args.setdefault('operands', (0, 0))
        psn = args.pop('psn', None)
        body = m.request(opcode, self.qp.qp_num,
                         self.take_psn() if psn is None else psn,
                         args.pop('va', self.mr.buf + off),
                         args.pop('rkey', self.mr.rkey), length,
                         num=num & 0xFFFF, msn=self.msn, **args)
        self.msn += 1
        return body

    def message(self, opcode, data=b'', va=0, **args):
        """A packet of a SEND; by default with the next PSN."""
        psn = args.pop('psn', self.psn)
        return m.write(opcode, self.qp.qp_num, psn, va, args.pop('rkey', 0),
                       data, **{'a': 1, **args})

    def answers(self, count, seconds=m.PATIENCE):
        """The next @count packets of the answer channel."""
        return self.wire.replies(
            count, seconds, lambda p: p.ans and p.opcode < m.SACK)

    def confirm(self, count=1):
        """Acknowledges the next @count answers."""
        self.answer = self.answer + count & m.PSN_MASK
        last = self.answer - 1 & m.PSN_MASK
        self.send(m.sack(self.qp.qp_num, last, reserved=m.ANS))
        self.send(m.ack(self.qp.qp_num, last, reserved=m.ANS))

    def warm(self, length=8):
        """Repeats the first request, which is refused until the answer channel exists."""
        body = self.request(length=length)
        end = time.monotonic() + m.PATIENCE
        # Drain only once: a late answer is not sent again for a long time.
        self.wire.drain()
        while time.monotonic() < end:
            self.send(body)
            if self.answers(1, 0.05):
                self.confirm()
                return self
        raise Mismatch('no answer to the first request')


class Suite(mrc_target.Suite):
    target = Target

    def __init__(self, ctx, *args):
        # A host whose answers are acknowledged late sends probes at any time.
        mrc_target.Watch.ignored = 'rx_srv6', 'tx_srv6', 'tx_probe'
        self.rights = Target.access = self.rights_of_regions(ctx)
        super().__init__(ctx, *args)

    @staticmethod
    def rights_of_regions(ctx):
        """All rights. Before 6.2 a region cannot have the right to FLUSH."""
        try:
            MR(PD(ctx), 4096, FULL)
        except PyverbsRDMAError:
            return FULL & ~e.IBV_ACCESS_FLUSH_GLOBAL
        return FULL

    def warm(self, **args):
        t = self.fresh(**args).warm()
        # The acknowledgment has been processed after this.
        t.check_alive()
        return t

    def ends(self, name, make, want, warm=True):
        """A packet that ends a QP (one of its own) without an answer."""
        self.fatal(name, make, {'rx_data_pkts': 1, 'tx_sack': 1, 'tx_nak': 1,
                                'qp_errors': 1, want: 1},
                   lambda v: v.request(), self.warm if warm else self.fresh)

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""As mrc_target.py, with what the extension adds: a QP that is asked for data, and the
channel of its answers."""
import time

import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError

import mrc_packets as m
import mrc_target
from mrc_target import RQ_PSN, Mismatch

FLIP = 0x800000         # first PSN of answers, against that of the requests
TIMER = 12              # min_rnr_timer of mrc_qp.qp_attr()
FULL = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE |
        e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC |
        e.IBV_ACCESS_FLUSH_GLOBAL)


class Target(mrc_target.MrcTarget):
    values = {'qp_access_flags': FULL, 'max_rd_atomic': 16,
              'max_dest_rd_atomic': 16,
              'timeout': 22}    # 17 s: nothing is sent again meanwhile

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.num = 0
        self.answer = RQ_PSN ^ FLIP     # of the next answer

    def request(self, opcode=m.READ_REQ, off=0, length=8, **args):
        """A request whose number and PSN are those whose turn it is."""
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
        """A packet of a SEND; by default with the PSN whose turn it is."""
        psn = args.pop('psn', self.psn)
        return m.write(opcode, self.qp.qp_num, psn, va, args.pop('rkey', 0),
                       data, **{'a': 1, **args})

    def answers(self, count, seconds=m.PATIENCE):
        """The next packets of answers."""
        return self.wire.replies(
            count, seconds, lambda p: p.chan and p.opcode < m.SACK)

    def confirm(self, count=1):
        """The next answers have arrived."""
        self.answer = self.answer + count & m.PSN_MASK
        last = self.answer - 1 & m.PSN_MASK
        self.send(m.sack(self.qp.qp_num, last, reserved=m.CHAN))
        self.send(m.ack(self.qp.qp_num, last, reserved=m.CHAN))

    def warm(self, length=8):
        """The first request is refused until there is a way to answer."""
        body = self.request(length=length)
        end = time.monotonic() + m.PATIENCE
        # Once: an answer that comes late does not come again for long.
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
        # A host whose answers are acknowledged late asks when it likes.
        mrc_target.Watch.counts = lambda name: name not in ('rx_srv6',
                                                            'tx_probe')
        self.rights = Target.access = self.rights_of_regions(ctx)
        super().__init__(ctx, *args)

    @staticmethod
    def rights_of_regions(ctx):
        """Of kernels before 6.2 they cannot have the right to FLUSH."""
        try:
            MR(PD(ctx), 4096, FULL)
        except PyverbsRDMAError:
            return FULL & ~e.IBV_ACCESS_FLUSH_GLOBAL
        return FULL

    def warm(self, **args):
        t = self.fresh(**args).warm()
        # The acknowledgement has been worked off.
        t.check_alive()
        return t

    def ends(self, name, make, want, warm=True):
        """A packet that ends a QP of its own without an answer."""
        self.fatal(name, make, {'rx_data_pkts': 1, 'tx_sack': 1, 'tx_nak': 1,
                                'qp_errors': 1, want: 1},
                   lambda v: v.request(), self.warm if warm else self.fresh)

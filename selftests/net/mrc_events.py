# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Events that tests with hand-made packets wait for: counters of a device, completions,
and the fence, which shows that all packets sent before have been processed."""
import collections
import os
import signal
import time

from pyverbs.cq import CQ, CompChannel
from pyverbs.pyverbs_error import PyverbsRDMAError

import mrc_nldev
import mrc_packets as m

FENCED = 'rx_drop_unknown_qp'


class Mismatch(Exception):
    """The result differs from the expected one."""


devices = {}


def counters(dev):
    """The counters of a device by name, summed over its ports."""
    if dev not in devices:
        devices[dev] = mrc_nldev.Counters(dev)
    total = collections.Counter()
    for port in devices[dev].read():
        total.update(port)
    return total


def growth(before, now):
    return {k: now[k] - before[k] for k in now if now[k] != before[k]}


def until(ready):
    """Calls @ready until it returns true or PATIENCE is over. Returns its last result."""
    end = time.monotonic() + m.PATIENCE
    while True:
        answer = ready()
        if answer or time.monotonic() > end:
            return answer
        time.sleep(0.001)


class Fence:
    """Packets for a QP that does not exist: the device counts them and does nothing else.
    Each processor delivers its packets in order, but processors work in parallel. So
    one packet is sent from every processor. When all of them are counted, all packets
    that this program sent earlier by the same path have been processed."""

    def __init__(self, wire, local, remote, wrap=None):
        packet = m.ip_udp(remote, local, m.write(
            m.WRITE_ONLY, 0, 0, 0, 0, bytes(8)))
        self.wire, self.packet = wire, wrap(packet) if wrap else packet

    def send(self):
        """Sends a packet from every processor. Returns the number of packets."""
        cpus = os.sched_getaffinity(0)
        try:
            for cpu in cpus:
                os.sched_setaffinity(0, {cpu})
                self.wire.send(self.packet)
        finally:
            os.sched_setaffinity(0, cpus)
        return len(cpus)

    def wait(self, read, already=0):
        """read: returns the counters' growth, which includes @already FENCED packets for
        another reason. Returns the growth without the fence."""
        sent = self.send()
        if not until(lambda: read().get(FENCED, 0) >= already + sent):
            raise Mismatch('the fence is not counted: %s' % read())
        delta = read()
        delta[FENCED] -= sent
        return {k: v for k, v in delta.items() if v}


def settle(read, fence, want):
    """Waits until the counters in @want (name: value or (low, high)) have grown that far,
    and then for the fence, so that unexpected packets are counted too. @read returns
    the counters' growth. No other counter may have grown."""
    def bounds(name):
        w = want.get(name, 0)
        return w if isinstance(w, tuple) else (w, w)

    def reached():
        delta = read()
        return all(delta.get(k, 0) >= bounds(k)[0] for k in want)
    until(reached)
    delta = fence.wait(read, read().get(FENCED, 0))
    for name in set(delta) | set(want):
        low, high = bounds(name)
        if not low <= delta.get(name, 0) <= high:
            raise Mismatch('%s is %s, expected %s; all: %s' % (
                name, delta.get(name, 0), want.get(name, 0), delta))


class Completions:
    """A CQ whose completions can be waited for."""

    def __init__(self, ctx, cqe):
        self.channel = CompChannel(ctx)
        self.cq = CQ(ctx, cqe, None, self.channel)

    def arm(self):
        """From now on a completion causes an event. Earlier completions do not."""
        self.cq.req_notify()

    def event(self):
        """Whether an event came in time."""
        before = signal.signal(signal.SIGALRM, lambda *_: None)
        # A repeated timer, in case its first signal comes before the wait begins.
        signal.setitimer(signal.ITIMER_REAL, m.PATIENCE, 1)
        try:
            self.channel.get_cq_event(self.cq)
            return True
        except PyverbsRDMAError:
            return False
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def next(self):
        """The next completion."""
        while True:
            self.arm()
            n, wcs = self.cq.poll()
            if n:
                return wcs[0]
            if not self.event():
                raise Mismatch('no completion')

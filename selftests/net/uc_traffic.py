#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Messages over an unreliable connection from mrca to mrcb. Every byte is compared.
Messages must arrive complete, in order, and at most once; nothing may fail. Prints how
many arrived; uc.sh compares the number with the counters.

usage: uc_traffic.py ADDRESS-OF-A ADDRESS-OF-B MAC-OF-B MESSAGES [srq|disorder]
                     [COMMAND...]

disorder: the network reorders packets, so a message of one packet may overtake others.
With commands, which a shell runs between rounds, each round sends that many messages,
and all of them must arrive."""
import json
import random
import struct
import subprocess
import sys
import time

import pyverbs.enums as e
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

import mrc_events as ev
import mrc_qp
import mrc_wire

MTU = 1024
SLOT = 8 * MTU
DEPTH = 64
NETDEV = 'pa1'          # of the port by which A sends


class End:
    def __init__(self, dev, address, count, shared):
        self.dev, self.address = dev, address
        self.ctx = Context(name=dev)
        self.pd = PD(self.ctx)
        self.done = ev.Completions(self.ctx, 2 * count + DEPTH)
        self.cq = self.done.cq
        access = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE
        self.mr = MR(self.pd, SLOT * count, access)
        self.into = MR(self.pd, SLOT * count, access)
        self.srq = SRQ(self.pd, SrqInitAttr(SrqAttr(max_wr=count))) \
            if shared else None
        self.qp = QP(self.pd, QPInitAttr(
            qp_type=e.IBV_QPT_UC, scq=self.cq, rcq=self.cq, srq=self.srq,
            cap=QPCap(max_send_wr=DEPTH, max_recv_wr=count, max_send_sge=3,
                      max_recv_sge=1, max_inline_data=200)))

    def connect(self, peer, psn):
        self.qp.to_rts(mrc_qp.qp_attr(
            self.dev, self.address, peer.address, path_mtu=e.IBV_MTU_1024,
            dest_qp_num=peer.qp.qp_num, rq_psn=psn, sq_psn=psn))

    def completions(self):
        while True:
            n, wcs = self.cq.poll(16)
            if not n:
                return
            for wc in wcs:
                assert wc.status == e.IBV_WC_SUCCESS, 'status %d' % wc.status
                yield wc

    def recv(self, slot):
        wr = RecvWR(wr_id=slot, num_sge=1,
                    sg=[SGE(self.into.buf + slot * SLOT, SLOT,
                            self.into.lkey)])
        (self.srq or self.qp).post_recv(wr)


def send(a, b, i, length, rng):
    """Message i: a SEND or a WRITE, in pieces or inline."""
    flags = e.IBV_SEND_SIGNALED
    start = a.mr.buf + i * SLOT
    cut = sorted(rng.randrange(length + 1) for _ in range(2))
    sges = [SGE(start + f, t - f, a.mr.lkey)
            for f, t in zip([0] + cut, cut + [length])]
    if length <= 200 and rng.random() < 0.5:
        flags |= e.IBV_SEND_INLINE
    write = rng.random() < 0.5
    wr = SendWR(wr_id=i, num_sge=3, sg=sges, send_flags=flags,
                opcode=e.IBV_WR_RDMA_WRITE_WITH_IMM if write else
                e.IBV_WR_SEND_WITH_IMM, imm_data=socket_order(i))
    if write:
        wr.set_wr_rdma(b.mr.rkey, b.mr.buf + i * SLOT)
    a.qp.post_send(wr)


def queued(dev):
    """Packets that the network device's queues hold."""
    out = subprocess.run(['tc', '-s', '-j', 'qdisc', 'show', 'dev', dev],
                         check=True, capture_output=True).stdout
    return sum(q['qlen'] for q in json.loads(out))


def nothing_on_its_way(a, b, mac):
    """Returns when every packet that A has sent has arrived or is lost."""
    if not ev.until(lambda: not queued(NETDEV)):
        raise ev.Mismatch('%s keeps packets' % NETDEV)
    wire = mrc_wire.Wire(NETDEV, mac)
    wire.bypass_queues()
    before = ev.counters(b.dev)
    ev.Fence(wire, b.address, a.address).wait(
        lambda: ev.growth(before, ev.counters(b.dev)))


def socket_order(i):
    return struct.unpack('=I', struct.pack('>I', i))[0]


def main():
    addr_a, addr_b, mac, count = *sys.argv[1:4], int(sys.argv[4])
    rest = sys.argv[5:]
    shared, disorder = rest[:1] == ['srq'], rest[:1] == ['disorder']
    rounds = [None] + rest[shared or disorder:]
    total = count * len(rounds)
    rng = random.Random(count)
    a = End('mrca', addr_a, total, False)
    b = End('mrcb', addr_b, total, shared)
    psn = rng.randrange(1 << 24)
    a.connect(b, psn)
    b.connect(a, psn)
    lengths = [rng.choice((0, 1, MTU, 2 * MTU, rng.randrange(SLOT + 1)))
               for _ in range(total)]
    data = [rng.randbytes(n) for n in lengths]
    for i in range(total):
        if lengths[i]:
            a.mr.write(data[i], lengths[i], i * SLOT)
        b.recv(i)
    last, got, done, seen = -1, 0, 0, set()

    def take():
        nonlocal last, got
        for wc in b.completions():
            i = socket_order(wc.imm_data)
            assert disorder or last < i, 'message %d after %d' % (i, last)
            assert i < total and i not in seen, 'message %d' % i
            seen.add(i)
            last = i
            assert wc.byte_len == lengths[i], 'length'
            if wc.opcode == e.IBV_WC_RECV:
                # Receives of lost messages are used for the next messages.
                assert wc.wr_id == got, 'receive %d as number %d' % (
                    wc.wr_id, got)
                there = b.into.read(lengths[i], got * SLOT)
            else:
                there = b.mr.read(lengths[i], i * SLOT)
            assert there == data[i], 'message %d differs' % i
            got += 1

    def until(ready, who, what):
        """Processes completions until ready; waits for those of @who."""
        nonlocal done
        end = time.monotonic() + 30
        while True:
            who.done.arm()
            done += sum(1 for _ in a.completions())
            take()
            if ready():
                return
            if not who.done.event() or time.monotonic() > end:
                raise ev.Mismatch('%s: %d sent, %d arrived' % (what, done, got))

    for n, command in enumerate(rounds):
        if command:
            subprocess.run(command, shell=True, check=True, timeout=60)
        for i in range(n * count, (n + 1) * count):
            until(lambda i=i: i - done < DEPTH, a, 'no room')
            send(a, b, i, lengths[i], rng)
        until(lambda n=n: done == (n + 1) * count, a, 'not all sent')
        if len(rounds) > 1:
            until(lambda n=n: got == (n + 1) * count, b, 'not all arrived')
    # How many messages were lost is not known here.
    if got < total:
        nothing_on_its_way(a, b, mac)
        take()
    for end in (a, b):
        state = mrc_qp.state(end.qp)
        assert state == e.IBV_QPS_RTS, 'state %d' % state
    packets = sum(max(1, -(-n // MTU)) for n in lengths)
    print('%d messages, %d packets, %d arrived' % (total, packets, got))


main()

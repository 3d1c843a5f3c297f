#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Packets of the extension that no correct peer sends: SENDs, requests and answers. Each
packet must cause the error in Documentation/extension.md and increment exactly its
counters. It must bring no data that its sender may not see, and it must not change
memory."""
import random
import sys
import time

import pyverbs.enums as e
from pyverbs.mr import MR

import ext_target as x
import mrc_packets as m
import mrc_target
from mrc_target import N, RQ_PSN, SIZE, SQ_PSN, Mismatch, counters, grown, settle

ANSWERS = SQ_PSN ^ x.FLIP   # the first PSN of answers to the QP
RD_SLOTS = 32           # requests that the driver keeps: twice max_rd_atomic
READ_DONE = {'rx_data_pkts': 1, 'tx_sack': 1, 'rx_requests': 1,
             'tx_data_pkts': 1, 'rx_sack': 1, 'rx_ack': 1}


def proper(s):
    def read():
        t = s.warm()
        before = counters()
        s.wire.drain()
        t.send(t.request(off=100, length=300))
        r, = t.answers(1) or [None]
        if not r or not r.ok_icrc or not r.ans:
            raise Mismatch('no proper answer')
        got = (r.opcode, r.psn, r.msn, r.rqmsn, r.va, r.rkey, r.length)
        want = (m.READ_RESP_ONLY, t.answer, t.num - 1, 0, 0, 0, 300)
        if got != want:
            raise Mismatch('%s, expected %s' % (got, want))
        if r.data != bytes(t.image[100:400]):
            raise Mismatch('other data than there is in memory')
        t.confirm()
        settle(before, {**READ_DONE, 'tx_data_bytes': 300})
        t.check_alive()
    s.run('a proper READ is answered from memory', read)

    def again():
        t = s.warm()
        body = t.request(m.FETCH_ADD, 64, operands=(0, 5))
        value = int.from_bytes(t.image[64:72], sys.byteorder)
        before = counters()
        s.wire.drain()
        t.send(body)
        r, = t.answers(1) or [None]
        if not r or int.from_bytes(r.data, 'big') != value:
            raise Mismatch('another value than there was in memory')
        t.confirm()
        for _ in range(N):
            t.send(body)
        # The answer acknowledges the request: each duplicate asks for that.
        settle(before, {**READ_DONE, 'tx_data_bytes': 8, 'tx_sack': 1 + N,
                        'rx_duplicate': N, 'tx_ack': N})
        t.image[64:72] = (value + 5 & 2**64 - 1).to_bytes(8, sys.byteorder)
        t.check_memory()
        t.check_alive()
    s.run('an atomic operation that comes again is not executed again', again)

    def whole_region():
        t = s.warm()
        before = counters()
        s.wire.drain()
        t.send(t.request(m.FLUSH, va=2**64 - 1, length=2**32 - 1,
                         operands=(0x11, 0)))
        if not t.answers(1):
            raise Mismatch('no answer')
        t.confirm()
        settle(before, READ_DONE)
        t.check_alive()
    if s.rights & e.IBV_ACCESS_FLUSH_GLOBAL:
        s.run('FLUSH of a region with a range that makes no sense',
              whole_region)
    else:
        s.ends('FLUSH of a region that cannot have the right to it',
               lambda v: v.request(m.FLUSH, operands=(0x11, 0)),
               'resp_access_error')


def bad_requests(s):
    inv, acc = 'resp_invalid_request', 'resp_access_error'

    def bad(name, want, *args, **kwargs):
        s.ends(name, lambda v: v.request(*args, **kwargs), want)

    bad('READ longer than 2 GiB', inv, length=0x80000001)
    bad('READ with payload', inv, data=b'x' * 8)
    for op, name in ((m.CMP_SWAP, 'COMPARE_SWAP'), (m.FETCH_ADD, 'FETCH_ADD'),
                     (m.ATOMIC_WRITE, 'ATOMIC_WRITE')):
        bad(name + ', misaligned', inv, op, 4)
        bad(name + ' of 4 bytes', inv, op, length=4)
        bad(name + ' with an unknown key', acc, op, rkey=0x12345678)
        bad(name + ' beyond the region', acc, op, SIZE)
    for flags in (0x00, 0x04, 0x21, 1 << 63 | 1):
        bad('FLUSH with flags %#x' % flags, inv, m.FLUSH, operands=(flags, 0))
    bad('FLUSH that nobody can make persistent', acc, m.FLUSH,
        operands=(2, 0))
    bad('READ with an unknown key', acc, rkey=0x12345678)
    s.ends('READ with another generation of the key',
           lambda v: v.request(rkey=v.mr.rkey ^ 1), acc)
    s.ends('READ from below the region',
           lambda v: v.request(va=v.mr.buf - 1), acc)
    bad('READ beyond the region', acc, off=SIZE - 4)
    bad('READ of 2 GiB', acc, length=0x80000000)
    bad('READ whose address overflows', acc, va=2**64 - 4)

    def foreign(v):
        v.other = s.fresh()
        return v.request(va=v.other.mr.buf, rkey=v.other.mr.rkey)
    s.ends("READ of another program's protection domain", foreign, acc)
    writable = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE

    def secret(v):
        v.hidden = MR(v.pd, SIZE, writable)
        return v.request(va=v.hidden.buf, rkey=v.hidden.rkey)
    s.ends('READ of a region without remote read', secret, acc)

    def no_atomics(v):
        v.hidden = MR(v.pd, SIZE, writable | e.IBV_ACCESS_REMOTE_READ)
        return v.request(m.FETCH_ADD, va=v.hidden.buf, rkey=v.hidden.rkey,
                         operands=(0, 1))
    s.ends('atomic operation on a region without them', no_atomics, acc)

    def read_only(v):
        v.hidden = MR(v.pd, SIZE, e.IBV_ACCESS_REMOTE_READ)
        return v.request(m.ATOMIC_WRITE, va=v.hidden.buf, rkey=v.hidden.rkey)
    s.ends('ATOMIC_WRITE to a region that is only read', read_only, acc)

    def closed(op):
        def test():
            v = s.fresh(qp_access_flags=e.IBV_ACCESS_REMOTE_WRITE)
            before = counters()
            s.wire.drain()
            v.send(v.request(op, operands=(1, 0) if op != m.READ_REQ else None))
            # Any request needs the answer channel first. It is refused until the host
            # has found a reverse path.
            end, again = time.monotonic() + m.PATIENCE, 0
            while v.state() != e.IBV_QPS_ERR and time.monotonic() < end:
                s.wire.replies(1, 0.05)
                v.send(v.request(op, psn=RQ_PSN, num=0, operands=(1, 0)
                                 if op != m.READ_REQ else None))
                again += 1
            settle(before, {'rx_data_pkts': 1, 'tx_sack': 1, 'tx_nak': 1,
                            'qp_errors': 1, inv: 1, 'tx_nack': (0, again),
                            'rx_refused': (0, again)})
            v.check_memory()
        return test
    for op, name in ((m.READ_REQ, 'READ'), (m.FETCH_ADD, 'FETCH_ADD'),
                     (m.FLUSH, 'FLUSH')):
        s.run(name + ' at a QP that allows none', closed(op))


def region_that_ends(s):
    """Permissions are checked for every packet of an answer."""
    def test():
        v = s.warm(timeout=14)      # 67 ms
        region = MR(v.pd, SIZE, s.rights)
        s.wire.drain()
        v.send(v.request(va=region.buf, rkey=region.rkey))
        if not v.answers(1):
            raise Mismatch('no answer')
        before = counters()
        region.close()
        s.wire.drain()
        # The answer was not acknowledged. It must be sent again, and cannot be.
        settle(before, {'tx_errors': (1, 4), 'resp_access_error': 1,
                        'tx_nak': 1, 'qp_errors': 1,
                        **{k: (0, 99) for k in (
                            'retry_timeouts', 'loss_timeout', 'tx_data_pkts',
                            'tx_data_bytes', 'tx_rtx_pkts', 'ev_to_skip',
                            'ev_to_assumed_bad')}})
        v.check_state(e.IBV_QPS_ERR)
        if v.answers(1, 0.2):
            raise Mismatch('an answer from memory that is not there')
    s.run('a region that ends before its answer has arrived', test)


def request_numbers(s):
    inv = 'resp_invalid_request'
    s.ends('request number of long ago', lambda v: v.request(num=v.num - 1),
           inv)
    s.ends('request number that skips', lambda v: v.request(num=v.num + 1),
           inv)

    def twice():
        v = s.warm()
        before = counters()
        first = v.request(psn=v.psn + 1 & m.PSN_MASK)
        v.send(first)
        v.send(v.request(num=v.num - 1, psn=v.psn + 2 & m.PSN_MASK))
        v.send(v.only(b'before'))       # the message that they waited for
        if not v.answers(1):
            raise Mismatch('the first one was not answered')
        v.confirm()
        settle(before, {'rx_data_pkts': 3, 'rx_data_bytes': 6,
                        'rx_out_of_order': 2, 'tx_sack': (3, 6),
                        'tx_ack': (0, 1), 'rx_requests': 1, inv: 1,
                        'tx_data_pkts': 1, 'tx_data_bytes': 8, 'rx_sack': 1,
                        'rx_ack': 1, 'tx_nak': 1, 'qp_errors': 1})
        v.check_memory()
    s.run('request number that stands twice', twice)

    s.t = s.warm()
    s.refused('request number far ahead',
              lambda i: s.t.request(num=s.t.num + RD_SLOTS + i, psn=s.t.psn),
              {'rx_refused': N, 'tx_nack': N})

    def too_many():
        v = s.warm()
        before = counters()
        extra = 4
        bodies = [v.request(off=8 * i) for i in range(RD_SLOTS + extra)]
        for body in bodies:
            v.send(body)
        settle(before, {'rx_requests': RD_SLOTS, 'rx_data_pkts': RD_SLOTS,
                        'tx_sack': RD_SLOTS, 'rx_refused': extra,
                        'tx_nack': extra, 'tx_data_pkts': RD_SLOTS,
                        'tx_data_bytes': 8 * RD_SLOTS})
        before = counters()
        v.confirm(RD_SLOTS)
        settle(before, {'rx_sack': 1, 'rx_ack': 1})
        before = counters()
        s.wire.drain()
        for body in bodies[RD_SLOTS:]:
            v.send(body)
        if len(v.answers(extra)) != extra:
            raise Mismatch('the others were not answered')
        v.confirm(extra)
        settle(before, {'rx_requests': extra, 'rx_data_pkts': extra,
                        'tx_sack': extra, 'tx_data_pkts': extra,
                        'tx_data_bytes': 8 * extra, 'rx_sack': 1,
                        'rx_ack': 1})
        v.check_alive()
    s.run('more requests than may be unanswered', too_many)


def bad_sends(s):
    inv, limit = 'resp_invalid_request', 'resp_imm_limit'

    def bad(name, want, *args, **kwargs):
        s.ends(name, lambda v: v.message(*args, **kwargs), want, warm=False)

    bad('SEND_ONLY with an offset', inv, m.SEND_ONLY, b'x' * 8, 8)
    bad('SEND_ONLY of another length', inv, m.SEND_ONLY, b'x' * 8, total=9)
    bad('SEND_ONLY larger than the path MTU', inv, m.SEND_ONLY, bytes(4100))
    bad('SEND_FIRST that is not full', inv, m.SEND_FIRST, b'x', total=5000)
    bad('SEND_FIRST of a message that fits one packet', inv, m.SEND_FIRST,
        bytes(4096), total=4096)
    bad('SEND_FIRST of more than 2 GiB', inv, m.SEND_FIRST, bytes(4096),
        total=0x80000001)
    bad('SEND_MIDDLE at the start', inv, m.SEND_MIDDLE, bytes(4096),
        total=16384)
    bad('SEND_MIDDLE at an odd place', inv, m.SEND_MIDDLE, bytes(4096), 4097,
        total=16384)
    bad('SEND_MIDDLE beyond the message', inv, m.SEND_MIDDLE, bytes(4096),
        2**63, total=16384)
    bad('SEND_LAST that does not end the message', inv, m.SEND_LAST, b'x' * 8,
        4096, total=8192)
    bad('SEND with a message number far ahead', limit, m.SEND_ONLY, b'x' * 8,
        rqmsn=0x7000)
    bad('answer outside of the channel', inv, m.READ_RESP_ONLY, b'x' * 8)
    bad('atomic answer outside of the channel', inv, m.ATOMIC_RESP, b'x' * 8)

    def posted(make, length=SIZE):
        def packet(v):
            v.recv(length)
            return make(v)
        return packet
    s.ends('SEND longer than its receive',
           posted(lambda v: v.message(m.SEND_ONLY, b'x' * 9), 8), inv,
           warm=False)
    s.ends('SEND that invalidates an unknown key',
           posted(lambda v: v.message(m.SEND_ONLY_INV, rkey=0x12345678)),
           'resp_access_error', warm=False)
    s.ends("SEND that invalidates a program's region",
           posted(lambda v: v.message(m.SEND_ONLY_INV, rkey=v.mr.rkey)),
           'resp_access_error', warm=False)

    def not_ready():
        t = s.fresh()
        body = t.message(m.SEND_ONLY, b'x' * 8)
        before = counters()
        s.wire.drain()
        for _ in range(N):
            t.send(body)
        got = [r for r in s.wire.replies(N) if r.opcode == m.NACK]
        if [(r.reason, r.vendor) for r in got] != [(0x0A, 0x80 | x.TIMER)] * N:
            raise Mismatch('not receiver not ready')
        settle(before, {'resp_rnr': N, 'tx_nack': N})
        t.check_memory()
        t.check_alive()
    s.run('SEND without a receive leaves no trace', not_ready)

    def changed_mind():
        v = s.fresh()
        v.recv()
        before = counters()
        v.send(v.message(m.SEND_FIRST, bytes(v.image[:4096]), total=8192))
        v.send(v.message(m.SEND_LAST, b'x' * 8, 8192, total=8200,
                         psn=v.psn + 2 & m.PSN_MASK))
        v.send(v.write_at(v.psn + 1 & m.PSN_MASK, b''))
        settle(before, {'rx_data_pkts': 3, 'rx_data_bytes': 4096,
                        'rx_out_of_order': 1, 'tx_sack': (3, 6), 'tx_nak': 1,
                        'tx_ack': (0, 1), 'qp_errors': 1, inv: 1})
        v.check_memory()
    s.run('SEND whose packets disagree about its length', changed_mind)


def channel(s):
    n = s.t.qp.qp_num
    inv = 'resp_invalid_request'
    bits = {'reserved': m.ANS}
    s.t = s.fresh()
    n = s.t.qp.qp_num
    for name, body in (
            ('an answer', m.write(m.READ_RESP_ONLY, n, ANSWERS, 0, 0, b'x' * 8,
                                  **bits)),
            ('a SACK', m.sack(n, RQ_PSN ^ x.FLIP, **bits)),
            ('an ACK', m.ack(n, RQ_PSN ^ x.FLIP, **bits)),
            ('a NACK', m.nack(n, RQ_PSN ^ x.FLIP, 0x0A, **bits)),
            ('a probe', m.probe(n, 7, **bits))):
        s.refused('%s at a QP without a channel' % name, body,
                  {'rx_drop_qp_state': N})

    def answer(opcode=m.READ_RESP_ONLY, data=b'x' * 8, **args):
        return lambda v: m.write(opcode, v.qp.qp_num,
                                 args.pop('psn', ANSWERS), args.pop('va', 0),
                                 0, data, **{**bits, 'a': 1, **args})
    s.ends('answer out of nothing', answer(), inv)
    s.ends('answer of no bytes out of nothing', answer(data=b''), inv)
    s.ends('atomic answer out of nothing', answer(m.ATOMIC_RESP), inv)
    s.ends('atomic answer of four bytes', answer(m.ATOMIC_RESP, b'x' * 4), inv)
    s.ends('answer to a request far ahead', answer(msn=0x4000), inv)
    s.ends('answer of more than 2 GiB',
           answer(m.READ_RESP_FIRST, bytes(4096), total=0x80000001), inv)
    for opcode, name in ((m.SEND_ONLY, 'SEND'), (m.WRITE_ONLY, 'WRITE')):
        s.ends(name + ' in the channel', answer(opcode), inv)
    s.ends('READ in the channel',
           lambda v: m.request(m.READ_REQ, v.qp.qp_num, ANSWERS, v.mr.buf,
                               v.mr.rkey, 8, **bits), inv)

    s.t = s.warm()
    n, unsent = s.t.qp.qp_num, s.t.answer + 3 & m.PSN_MASK
    for name, body in (('ack', m.ack(n, unsent, **bits)),
                       ('nak', m.ack(n, unsent, 0x62, **bits)),
                       ('sack', m.sack(n, unsent, **bits)),
                       ('nack', m.nack(n, unsent, 0x0A, **bits))):
        s.refused('%s of an answer that was not sent' % name.upper(), body,
                  {'rx_drop_unsent_psn': N, 'rx_' + name: N,
                   'rx_nack_shortage': N if name == 'nack' else 0})
    s.refused('answer beyond the window',
              answer(psn=ANSWERS + 20000 & m.PSN_MASK)(s.t),
              {'rx_psn_out_of_window': N, 'tx_nack': (1, N)})


def noise(s, count):
    """Access is not permitted, so nothing may be read or written."""
    def test():
        rng = random.Random(47910)
        v, before = None, counters()
        for i in range(count):
            if not v or (i % 8 == 0 and v.state() != e.IBV_QPS_RTS):
                if v:
                    v.check_memory()
                v = s.fresh(access=e.IBV_ACCESS_LOCAL_WRITE).warm(0)
            body = bytearray(rng.choice((
                lambda: v.request(rng.choice((m.READ_REQ, m.CMP_SWAP, m.FLUSH,
                                              m.FETCH_ADD, m.ATOMIC_WRITE)),
                                  operands=(1, 1)),
                lambda: v.message(rng.choice((m.SEND_ONLY, m.SEND_FIRST,
                                              m.SEND_ONLY_INV)), b'x' * 8),
                lambda: m.write(rng.randrange(m.READ_RESP_FIRST,
                                              m.ATOMIC_RESP + 1),
                                v.qp.qp_num, ANSWERS, 0, 0, b'x' * 8,
                                reserved=1),
                lambda: m.sack(v.qp.qp_num, v.answer,
                               bitmap=rng.getrandbits(64), reserved=1)))())
            for _ in range(rng.randrange(4)):
                at = rng.randrange(len(body))
                if at not in (5, 6, 7):         # the QPN stays
                    body[at] = rng.getrandbits(8)
            v.send(bytes(body))
        v.check_memory()
        if grown(before).get('tx_data_bytes', 0):
            raise Mismatch('somebody was answered with data')
        s.t = s.fresh()
        s.t.check_alive()
    s.run('%d packets of random content with a valid ICRC' % count, test)


def cases(s):
    proper(s)
    bad_requests(s)
    region_that_ends(s)
    request_numbers(s)
    bad_sends(s)
    channel(s)
    noise(s, 2000)


if __name__ == '__main__':
    mrc_target.main(cases, seed=3, suite=x.Suite)

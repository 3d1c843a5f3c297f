#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Bad and good packets of MRC 1.0. Each packet must increment exactly its own counters and
must not change memory unless it is a correct WRITE. The QP must keep working. In outer
headers (mrc_target.py) the results are the same."""
import random

import pyverbs.enums as e

import mrc_packets as m
import mrc_target
from mrc_target import (N, PEER_QPN, RQ_PSN, SIZE, SQ_PSN, SRV6, Mismatch,
                        counters, settle)


def malformed(s):
    t, w = s.t, s.t.write_at
    ahead = RQ_PSN + 500 & m.PSN_MASK       # in the window, never received
    good = w(ahead)
    s.refused('shorter than a BTH', good[:8], {'rx_drop_short': N},
              with_icrc=False)
    s.refused('nothing behind the BTH', good[:12], {'rx_drop_short': N})
    for cut in (13, 16, 31):
        s.refused('headers cut to %d bytes' % cut, good[:cut],
                  {'rx_drop_short': N})
    s.refused('UDP length larger than the packet', good,
              {'rx_drop_short': (0, N)}, udp_len=2000)
    s.refused('UDP length 8', good, {'rx_drop_short': N}, udp_len=8)
    s.refused('pad larger than the payload', w(ahead, b'', pad=3),
              {'rx_drop_short': N})
    s.refused('payload not a multiple of four', w(ahead, b'12345', pad=0)[:-3],
              {'rx_drop_length': N})
    s.refused('control packet with a payload', m.ack(t.qp.qp_num, SQ_PSN) +
              bytes(4), {'rx_drop_length': N})
    s.refused('transport version 1', w(ahead, tver=1), {'rx_drop_tver': N})
    s.refused('ICRC one bit off', good, {'rx_drop_icrc': N}, spoil=1 << 17)
    s.refused('ICRC in the wrong byte order', good +
              m.icrc(m.ip_udp(s.remote, s.local, good)[:-4])[::-1],
              {'rx_drop_icrc': N}, with_icrc=False)
    # Linux drops such a packet before the module sees it. Inside an outer packet the
    # UDP checksum is ignored, and only the ICRC counts (OP-2).
    if not SRV6:
        s.refused('wrong UDP checksum', good, {}, udp_sum=0x0101)
    s.refused('foreign partition', w(ahead, pkey=0x1234), {'rx_drop_pkey': N})
    s.refused('unknown QP', m.write(m.WRITE_ONLY, t.qp.qp_num ^ 0x800000, ahead,
                                    t.mr.buf, t.mr.rkey, b'x' * 8),
              {'rx_drop_unknown_qp': N})
    for qpn in (0, 1):
        s.refused('QP number %d' % qpn,
                  m.write(m.WRITE_ONLY, qpn, ahead, t.mr.buf, t.mr.rkey,
                          b'x' * 8), {'rx_drop_unknown_qp': N})
    other = 'fd00:1::99' if s.v6 else '10.1.0.99'
    s.refused('wrong source address', good, {'rx_drop_address': N}, src=other)


def opcodes(s):
    n = s.t.qp.qp_num
    ahead = RQ_PSN + 500 & m.PSN_MASK
    for opcode in (0xC0, 0xC4, 0xCC, 0xD0, 0xDF, 0x0A, 0x00, 0xFF):
        s.refused('opcode 0x%02X within the window' % opcode,
                  m.bth(opcode, n, ahead) + bytes(36),
                  {'rx_drop_opcode': N, 'tx_nack': (1, N)})
    s.refused('undefined opcode beyond the window',
              lambda i: m.bth(0xC0, n, s.t.psn + 5000) + bytes(36),
              {'rx_drop_opcode': N})
    s.refused('endpoint response nobody asked for',
              m.bth(m.ENDPOINT_RESP, 2, 77) + bytes(36),
              {'rx_endpoint_resp': N, 'rx_drop_endpoint': N})
    s.refused('endpoint request to a data QP', m.endpoint_request(1, 1, dqp=n),
              {'rx_drop_endpoint': N})
    s.refused('endpoint request with a reserved operation',
              m.endpoint_request(2, 2),
              {'rx_endpoint_req': N, 'rx_drop_endpoint': N})
    s.refused('port status update of the peer, which is confirmed',
              m.endpoint_request(3, 0, mask=2),
              {'rx_endpoint_req': N, 'rx_port_status': N,
               'tx_endpoint_resp': N})
    s.refused('port status updates of the peer, whatever their ids',
              lambda i: m.endpoint_request(100 - i % 2, 0, mask=2 - i % 2 * 2),
              {'rx_endpoint_req': N, 'rx_port_status': N,
               'tx_endpoint_resp': N})
    other = 'fd00:1::99' if s.v6 else '10.1.0.99'
    s.refused('port status update of somebody else',
              m.endpoint_request(4, 0, mask=0),
              {'rx_endpoint_req': N, 'rx_port_status_refused': N},
              src=other)


def window(s):
    t = s.t

    def summed():
        before = counters()
        t.send(t.only(b'S' * 33), udp_sum=0)
        settle(before, {'rx_data_pkts': 1, 'rx_data_bytes': 33, 'tx_sack': 1,
                        'tx_ack': 1})
        t.check_memory()
    s.run('right UDP checksum, though none is needed', summed)

    s.refused('PSN beyond the window',
              lambda i: t.write_at(t.psn + 1024),
              {'rx_psn_out_of_window': N, 'tx_nack': (1, N)})
    s.refused('PSN at the far end of the space',
              lambda i: t.write_at(t.psn - 1 + (1 << 23)),
              {'rx_psn_out_of_window': N})

    def duplicate():
        body = t.only(b'A' * 64, 100)
        t.send(body)
        old = t.write_at((t.psn - 1) & m.PSN_MASK, b'B' * 64, 100)
        before = counters()
        for _ in range(N):
            t.send(old)
        settle(before, {'rx_duplicate': N, 'tx_sack': N, 'tx_ack': N})
        t.check_memory()
        t.check_alive()
    s.run('duplicate with other contents is not written', duplicate)

    def out_of_order():
        before = counters()
        bodies = [t.only(bytes([i]) * 500, 1000 * i) for i in range(8)]
        for b in reversed(bodies):
            t.send(b)
        settle(before, {'rx_data_pkts': 8, 'rx_data_bytes': 4000,
                        'rx_out_of_order': 7, 'tx_sack': (8, 16), 'tx_ack': 1})
        t.check_memory()
        t.check_alive()
    s.run('eight packets in reverse order', out_of_order)


def feedback(s):
    n = s.t.qp.qp_num
    # This QP never sent a packet, so every acknowledged PSN is unsent.
    for name, body in (
            ('ACK', m.ack(n, SQ_PSN + 3)),
            ('NAK', m.ack(n, SQ_PSN + 3, 0x62)),
            ('SACK', m.sack(n, SQ_PSN + 3, base=1)),
            ('SACK whose map names PSNs',
             m.sack(n, SQ_PSN - 1, base=1, bitmap=0xFF)),
            ('NACK', m.nack(n, SQ_PSN + 3, 0x0A)),
            ('SACK that says nothing new', m.sack(n, SQ_PSN - 1)),
            ('answer to a probe never sent',
             m.sack(n, SQ_PSN - 1, pr=1, offset=99))):
        s.refused(name + ', nothing was sent', body,
                  {'rx_drop_unsent_psn': N})


def answers(s):
    t = s.t

    def written():
        s.wire.drain()
        body = t.only(b'hello, world', 4096, stamp=0x4321)
        t.send(body, sport=0xD00D, flow=0x1234)
        got = s.wire.replies(2)
        sacks = [r for r in got if r.opcode == m.SACK]
        acks = [r for r in got if r.opcode == m.ACK]
        if len(sacks) != 1 or len(acks) != 1:
            raise Mismatch('replies: %s' % [hex(r.opcode) for r in got])
        k, a = sacks[0], acks[0]
        last = t.psn - 1 & m.PSN_MASK
        entropy = 0xD00D | (0x12340000 if s.v6 else 0)
        for what, value, want in (
                ('SACK ICRC', k.ok_icrc, True), ('ACK ICRC', a.ok_icrc, True),
                ('DSCP', k.tos >> 2, 46), ('ECN', k.tos & 3, 0),
                ('destination QP', k.dqp, PEER_QPN), ('cack', k.cack, last),
                ('BTH.psn', k.psn, last), ('offset', k.offset, 0),
                ('entropy', k.entropy, entropy), ('m', k.m, 0),
                ('pr', k.pr, 0), ('stamp', k.stamp, 0x4321),
                ('ACK psn', a.psn, last), ('syndrome', a.syndrome, 0x1F),
                ('destination port', k.dport, m.PORT)):
            if value != want:
                raise Mismatch('%s is %s, expected %s' % (what, value, want))
        t.check_memory()
    s.run('a proper write is placed and answered as MRC 1.0 says', written)

    def hole():
        s.wire.drain()
        first = t.psn
        bodies = [t.only(bytes([65 + i]) * 16, 16 * i) for i in range(4)]
        for i in (0, 1, 3):
            t.send(bodies[i])
        k = [r for r in s.wire.replies(5) if r.opcode == m.SACK][-1]
        if (k.cack != first + 1 & m.PSN_MASK or k.ooo != 1 or
                not k.received(first + 3)):
            raise Mismatch('cack %x base %d map %x ooo %d' %
                           (k.cack, k.base, k.bitmap, k.ooo))
        t.send(bodies[2])
        a = [r for r in s.wire.replies(2) if r.opcode == m.ACK]
        if len(a) != 1 or a[0].psn != first + 3 & m.PSN_MASK:
            raise Mismatch('no transport ACK for all four')
        t.check_memory()
    s.run('a hole shows in the SACK and delays the ACK', hole)

    def marked():
        before = counters()
        s.wire.drain()
        t.send(t.only(b'c' * 20, a=0), tos=0x13)
        got = [r for r in s.wire.replies(1) if r.opcode == m.SACK]
        if len(got) != 1 or got[0].m != 1:
            raise Mismatch('no SACK with m=1 for a CE mark')
        settle(before, {'rx_data_pkts': 1, 'rx_data_bytes': 20, 'tx_sack': 1,
                        'tx_ack': 1, 'rx_ce_marked': 1})
    s.run('a CE mark is answered at once with m = SKIP_ONCE', marked)

    def probed():
        before = counters()
        s.wire.drain()
        t.send(m.probe(t.qp.qp_num, 0xBEEF, 0x77))
        got = [r for r in s.wire.replies(1) if r.opcode == m.SACK]
        if (len(got) != 1 or not got[0].pr or got[0].probe_id != 0xBEEF or
                got[0].stamp != 0x77):
            raise Mismatch('the probe was not answered')
        # The transport ACK before it may be what the prober lacks: it is sent again.
        settle(before, {'rx_probe': 1, 'tx_sack': 1, 'tx_ack': 1})
    s.run('a reliability probe is answered', probed)

    def endpoint():
        before = counters()
        s.wire.drain()
        t.send(m.endpoint_request(0x55, 1, stamp=0x99))
        got = [r for r in s.wire.replies(1) if r.opcode == m.ENDPOINT_RESP]
        if len(got) != 1 or got[0].psn != 0x55 or not got[0].ok_icrc:
            raise Mismatch('the EV probe was not answered')
        settle(before, {'rx_endpoint_req': 1, 'tx_endpoint_resp': 1})
    s.run('an endpoint EV probe is answered', endpoint)

    def trimmed():
        before = counters()
        t.send(t.write_at(t.psn)[:16], tos=12 << 2, with_icrc=False)
        settle(before, {'rx_trimmed': 1, 'tx_nack': 1})
        t.check_memory()
        t.check_alive()
    s.run('a trimmed packet writes nothing', trimmed)


def fatal_errors(s):
    first = RQ_PSN
    base = {'rx_data_pkts': 1, 'tx_sack': 1, 'tx_nak': 1, 'qp_errors': 1}
    access = {**base, 'resp_access_error': 1}
    invalid = {**base, 'resp_invalid_request': 1}

    def fatal(name, make, want):
        s.fatal(name, make, want,
                lambda v: v.write_at(RQ_PSN + 1 & m.PSN_MASK))

    fatal('unknown rkey', lambda v: v.write_at(first, rkey=v.mr.rkey ^ 0x100),
          access)
    fatal('address below the MR', lambda v: v.write_at(first, va=v.mr.buf - 4),
          access)
    fatal('end beyond the MR', lambda v: v.write_at(first, off=SIZE - 4),
          access)
    fatal('address that overflows', lambda v: v.write_at(first, va=2**64 - 4),
          access)
    fatal('ONLY larger than the path MTU',
          lambda v: v.write_at(first, bytes(4200)), invalid)
    fatal('ONLY whose RETH has another length',
          lambda v: v.write_at(first, total=100), invalid)
    fatal('FIRST that is not full',
          lambda v: v.write_at(first, bytes(100), opcode=m.WRITE_FIRST,
                               total=8192), invalid)
    fatal('MIDDLE of a message that fits one packet',
          lambda v: v.write_at(first, bytes(4096), opcode=m.WRITE_MIDDLE,
                               total=64), invalid)
    fatal('message longer than 2 GiB',
          lambda v: v.write_at(first, bytes(4096), opcode=m.WRITE_FIRST,
                               total=0x80000001), invalid)
    fatal('immediate without a receive',
          lambda v: v.write_at(first, b'', opcode=m.WRITE_ONLY_IMM, imm=1),
          {**base, 'resp_no_receive': 1})
    fatal('immediate with a message number far ahead',
          lambda v: v.write_at(first, b'', opcode=m.WRITE_ONLY_IMM, imm=1,
                               rqmsn=0x7000),
          {**base, 'resp_imm_limit': 1})

    def not_connected():
        idle = s.idle()
        for step in (None, idle.init):
            if step:
                step()
            before = counters()
            for _ in range(N):
                idle.send(idle.write_at(first))
            settle(before, {'rx_drop_qp_state': N})
            idle.check_memory()
        idle.rtr()
        before = counters()
        idle.send(m.ack(idle.qp.qp_num, SQ_PSN))
        settle(before, {'rx_drop_qp_state': 1})
        idle.check_alive()
    s.run('QP in RESET, INIT, and feedback in RTR', not_connected)

    def no_remote_write():
        v = s.fresh(access=e.IBV_ACCESS_LOCAL_WRITE)
        before = counters()
        v.send(v.write_at(first))
        settle(before, access)
        v.check_memory()
    s.run('MR without remote write', no_remote_write)

    def after_dereg():
        v = s.fresh()
        va, rkey = v.mr.buf, v.mr.rkey
        v.send(v.only(b'before'))
        v.check_alive()
        psn = v.take_psn()
        v.mr.close()
        before = counters()
        v.send(m.write(m.WRITE_ONLY, v.qp.qp_num, psn, va, rkey, b'after', a=1))
        settle(before, access)
    s.run('no access after the MR was deregistered', after_dereg)

    def foreign_pd():
        v, other = s.fresh(), s.fresh()
        before = counters()
        v.send(m.write(m.WRITE_ONLY, v.qp.qp_num, first, other.mr.buf,
                       other.mr.rkey, b'foreign!', a=1))
        settle(before, access)
        other.check_memory()
    s.run("MR of another program's protection domain", foreign_pd)


def noise(s, count):
    def test():
        rng = random.Random(4791)
        t = s.t
        safe = (lambda: t.write_at(rng.randrange(1 << 24), b'', a=0),
                lambda: m.ack(t.qp.qp_num, rng.randrange(1 << 24)),
                lambda: m.sack(t.qp.qp_num, rng.randrange(1 << 24),
                               bitmap=rng.getrandbits(64)),
                lambda: m.nack(t.qp.qp_num, rng.randrange(1 << 24), 6),
                lambda: m.probe(t.qp.qp_num, rng.getrandbits(16)),
                lambda: m.endpoint_request(rng.getrandbits(16), 1))
        for _ in range(count):
            body = bytearray(rng.choice(safe)())
            for _ in range(rng.randrange(6)):
                i = rng.randrange(len(body))
                # The QPN stays, so that the packets pass the first checks.
                if i not in (5, 6, 7):
                    body[i] = rng.getrandbits(8)
            if rng.randrange(3) == 0:
                body = body[:rng.randrange(12, len(body) + 1)]
            if rng.randrange(3) == 0:
                body += rng.randbytes(4 * rng.randrange(30))
            t.send(bytes(body), tos=rng.choice((0x12, 0x13, 0x30, 0x40, 0xB8)))
        t.check_memory()
        s.t = s.fresh()
        s.t.check_alive()
    s.run('%d packets of random content with a valid ICRC' % count, test)


def cases(s):
    s.run('the QP works', s.t.check_alive)
    malformed(s)
    opcodes(s)
    window(s)
    feedback(s)
    answers(s)
    fatal_errors(s)
    noise(s, 3000)


if __name__ == '__main__':
    mrc_target.main(cases, seed=2)

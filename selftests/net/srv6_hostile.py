#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Packets in an outer IPv6 header: which fields of which header count, which packets are
the driver's, which ones it must ignore, and which ones are bad. Run by decap.sh; the
uSID of host B is a local route of B.

usage: srv6_hostile.py ... uSID-OF-B all|proper|plain|off     (mrc_target.py has the rest)
  all     the QP of B uses SRv6
  proper  the same, only packets that are valid
  plain   the QP of B does not use SRv6, but a profile of its device does
  off     B has no SRv6 profile
MRC_TRIMMED="12 16" in the environment: codepoints of trimmed packets."""
import os
import random
import sys

import mrc_packets as m
import mrc_target
from mrc_target import N, RQ_PSN, Mismatch, counters, settle

TRIMMED, LASTHOP = (int(dscp) << 2 for dscp in
                    os.environ.get('MRC_TRIMMED', '12 16').split())
CONTROL = 46 << 2
PLACED = {'rx_data_pkts': 1, 'tx_sack': 1, 'tx_ack': 1, 'rx_srv6': 1}


class Outside:
    """Sends packets of one family to a fresh QP, in various outer headers."""

    def __init__(self, suite, outer_src, usid):
        self.s, self.src, self.usid = suite, outer_src, usid
        self.v6 = suite.v6

    def inner(self, body, **ip):
        ip.setdefault('src', self.s.remote)
        return m.ip_udp(ip.pop('src'), ip.pop('dst', self.s.local), body, **ip)

    def send(self, inner, **outer):
        self.s.wire.send(m.encap(inner, outer.pop('src', self.src),
                                 outer.pop('dst', self.usid), **outer))

    def wrap(self, inner, **outer):
        """For other(): always this packet, in an outer header."""
        return lambda i: m.encap(inner, self.src, self.usid, **outer)

    def taken(self, name, inner_args, outer_args, want):
        """A correct WRITE in these headers is placed. The counters in want grow too."""
        def test():
            t = self.s.t
            before = counters()
            data = random.randbytes(24)
            self.send(self.inner(t.only(data), **inner_args), **outer_args)
            settle(before, {**PLACED, 'rx_data_bytes': 24, **want})
            t.check_memory()
        self.s.run(name, test)

    def other(self, name, packet, want=None):
        """For each packet(i), only the counters in want may grow, and memory stays
        unchanged."""
        def test():
            t = self.s.t
            before = counters()
            for i in range(N):
                self.s.wire.send(packet(i))
            settle(before, want or {})
            t.check_memory()
            t.check_alive()
        self.s.run(name, test)


def proper(o):
    ecn = {'rx_ce_marked': 1}
    o.taken('plain', {}, {}, {})
    o.taken('with an SRH that is used up', {}, {'segments': [o.usid]}, {})
    o.taken('with an SRH of three segments', {},
            {'segments': [o.usid, 'fcbb:0:7::', 'fcbb:0:8::']}, {})
    o.taken('CE outside counts', {'tos': 0x12}, {'tos': 0x13}, ecn)
    o.taken('CE outside counts, with an SRH', {'tos': 0x12},
            {'tos': 0x13, 'segments': [o.usid]}, ecn)
    o.taken('CE inside does not count', {'tos': 0x13}, {'tos': 0x12}, {})
    o.taken('trimmed codepoint inside does not count', {'tos': TRIMMED | 2},
            {'tos': 0x12}, {})
    o.taken('last hop', {}, {'hops': 1}, {})
    # With another traffic class map, the default codepoint has no meaning.
    if TRIMMED != 12 << 2:
        o.taken('a codepoint that was trimmed once', {'tos': 12 << 2 | 2},
                {'tos': 12 << 2 | 2}, {})

    nacked = {'rx_trimmed': N, 'tx_nack': N}

    def trimmed(name, tos, keep, **outer):
        def packet(i):
            body = o.s.t.write_at(o.s.t.psn, stamp=i)
            whole = o.inner(body + bytes(400))
            return m.encap(whole[:keep], o.src, o.usid, tos=tos, **outer)
        o.other(name, packet, {**nacked, 'rx_srv6': N})

    ip = 40 if o.v6 else 20
    # Inner lengths are those of the full packet; they must be ignored.
    trimmed('trimmed outside', TRIMMED, ip + 8 + 12 + 8)
    trimmed('trimmed outside on the last hop', LASTHOP | 2, ip + 8 + 12 + 8)
    trimmed('trimmed to the BTH', TRIMMED, ip + 8 + 12)
    trimmed('trimmed, with an SRH', TRIMMED, ip + 8 + 12 + 8,
            segments=[o.usid])

    # Switches need not correct the length fields.
    def cut(name, tos, make, want):
        def packet(i):
            body = o.s.t.write_at(o.s.t.psn, stamp=i)
            whole = o.inner(body + bytes(400), tos=tos)
            return make(whole, ip + 8 + 12 + 8)
        o.other(name, packet, want)

    cut('trimmed, all lengths as they were', TRIMMED,
        lambda whole, keep: whole[:keep], nacked)
    cut('trimmed by four bytes, all lengths as they were', TRIMMED,
        lambda whole, keep: whole[:-4], nacked)
    cut('trimmed on the last hop, all lengths as they were', LASTHOP,
        lambda whole, keep: whole[:keep], nacked)
    cut('trimmed outside, all lengths as they were', 2,
        lambda whole, keep: m.encap(whole, o.src, o.usid,
                                    tos=TRIMMED)[:40 + keep],
        {**nacked, 'rx_srv6': N})
    cut('trimmed outside with an SRH, all lengths as they were', 2,
        lambda whole, keep: m.encap(whole, o.src, o.usid, tos=LASTHOP,
                                    segments=[o.usid])[:64 + keep],
        {**nacked, 'rx_srv6': N})
    # Truncated without the codepoint of trimmed packets: broken, and not repaired.
    cut('cut without a codepoint that says so', 2,
        lambda whole, keep: whole[:keep], {})
    cut('cut outside without a codepoint that says so', 2,
        lambda whole, keep: m.encap(whole, o.src, o.usid)[:40 + keep], {})

    def probe():
        before = counters()
        o.s.wire.drain()
        o.send(o.inner(m.endpoint_request(0x66, 1, stamp=0x99)))
        got = [r for r in o.s.wire.replies(1) if r.opcode == m.ENDPOINT_RESP]
        if len(got) != 1 or got[0].psn != 0x66:
            raise Mismatch('the EV probe was not answered')
        settle(before, {'rx_endpoint_req': 1, 'tx_endpoint_resp': 1,
                        'rx_srv6': 1})
    o.s.run('an EV probe is answered', probe)


def strangers(o, on):
    """Packets for QPs that do not use SRv6. With @on a profile of the device does, so the
    driver takes the packets and drops them. Else they are not the driver's."""
    t, s = o.s.t, o.s
    dropped = {'rx_drop_address': N, 'rx_srv6': N} if on else {}

    def wrap(body, **outer):
        return o.wrap(o.inner(body), **outer)

    psn = t.psn
    o.other('a WRITE', wrap(t.write_at(psn)), dropped)
    o.other('a WRITE, with an SRH', wrap(t.write_at(psn), segments=[o.usid]), dropped)
    o.other('a WRITE, trimmed', lambda i: m.trim(
        m.encap(o.inner(t.write_at(psn) + bytes(400)), o.src, o.usid),
        (40 if o.v6 else 20) + 40 + 28, TRIMMED), dropped)
    o.other('an ACK', wrap(m.ack(t.qp.qp_num, mrc_target.SQ_PSN)), dropped)
    o.other('a probe', wrap(m.probe(t.qp.qp_num, 7)), dropped)
    o.other('port status updates', wrap(m.endpoint_request(0x65, 0, mask=0)),
            {'rx_endpoint_req': N, 'rx_srv6': N, 'rx_port_status_refused': N}
            if on else {})
    # Only MRC has outer headers.
    o.other('a datagram', wrap(m.body(m.UD_SEND, 1, 0, m.deth(0x80010000, 1), bytes(8))),
            {'rx_drop_unknown_qp': N} if on else {})

    def endpoint():
        before = counters()
        s.wire.drain()
        o.send(o.inner(m.endpoint_request(0x67, 1, stamp=0x99)))
        settle(before, {'rx_endpoint_req': 1, 'tx_endpoint_resp': 1,
                        'rx_srv6': 1} if on else {})
    s.run('an EV probe', endpoint)


def foreign(o):
    """Packets that the driver must not take."""
    t, s = o.s.t, o.s
    ahead = RQ_PSN + 500 & m.PSN_MASK
    good = o.inner(t.write_at(ahead))
    kind = m.IPV6 if o.v6 else m.IPIP

    def wrap(inner=good, dst=o.usid, **outer):
        return lambda i: m.encap(inner, o.src, dst, **outer)

    o.other('to an address that is not local', wrap(dst='fcbb:0:77::'))
    o.other('another UDP port', wrap(o.inner(t.write_at(ahead), dport=4790)))
    elsewhere = 'fd00:1::77' if o.v6 else '10.1.0.77'
    o.other('to another host inside',
            wrap(o.inner(t.write_at(ahead), dst=elsewhere)))
    o.other('multicast inside',
            wrap(o.inner(t.write_at(ahead),
                         dst='ff02::1' if o.v6 else '224.0.0.1')))
    o.other('TCP inside', wrap(m.put(good, 6 if o.v6 else 9, bytes([m.TCP]))))
    o.other('family that the outer header contradicts',
            wrap(next_header=m.IPIP if o.v6 else m.IPV6))
    o.other('segments left', wrap(segments=['fcbb:0:77::'], left=1))
    o.other('routing header of another type',
            wrap(between=m.srh(kind, [o.usid], kind=2), next_header=m.ROUTING))
    o.other('SRH with a TLV',
            wrap(between=m.srh(kind, [o.usid], tlv=bytes([4, 6]) + bytes(6)),
                 next_header=m.ROUTING))
    o.other('SRH longer than the packet',
            wrap(between=m.srh(kind, [o.usid], hdrlen=254, last=126),
                 next_header=m.ROUTING))
    o.other('SRH of length 0',
            wrap(between=m.srh(kind, [o.usid], hdrlen=0), next_header=m.ROUTING))
    o.other('SRH whose last entry is beyond its end',
            wrap(between=m.srh(kind, [o.usid], last=9), next_header=m.ROUTING))
    o.other('SRH in an SRH',
            wrap(between=m.srh(m.ROUTING, [o.usid]) + m.srh(kind, [o.usid]),
                 next_header=m.ROUTING))
    o.other('destination options before it',
            wrap(between=m.options_header(kind), next_header=m.OPTIONS))
    o.other('a fragment outside',
            wrap(between=m.fragment_header(kind), next_header=m.FRAGMENT))
    o.other('in two outer headers',
            wrap(m.encap(good, o.src, o.usid), next_header=m.IPV6))
    for cut in (0, 1, 19, 20, 27, 39, 47):
        if cut < (48 if o.v6 else 28):
            o.other('only %d bytes inside' % cut,
                    wrap(good[:cut], next_header=kind))

    def again(before=b'', at=40 if o.v6 else 20, **ip):
        """The same packet with another IP header."""
        return wrap(m.ip(s.remote, s.local, before + good[at:], **ip))

    if o.v6:
        o.other('extension header inside',
                again(m.options_header(m.UDP), kind=m.OPTIONS))
    else:
        o.other('IPv4 options inside', again(options=b'\x01' * 4))
        o.other('first fragment inside', again(frag=0x2000))
        o.other('last fragment inside', again(frag=0x0010))


def bad(o):
    """Packets for the driver that are bad."""
    t = o.s.t
    ahead = RQ_PSN + 500 & m.PSN_MASK
    good = o.inner(t.write_at(ahead))
    drop = {'rx_drop_srv6': N}

    wrap = o.wrap
    sources = (('ff02::1', '::1', '::', '::ffff:10.1.0.1') if o.v6 else
               ('224.0.0.1', '127.0.0.1', '127.8.8.8', '0.0.0.0',
                '255.255.255.255'))
    for src in sources:
        o.other('source %s inside' % src,
                wrap(o.inner(t.write_at(ahead), src=src)), drop)
    # Local addresses that must not be reachable from outside.
    for dst in ('::1',) if o.v6 else ('127.0.0.1', '127.8.8.8'):
        o.other('destination %s inside' % dst,
                wrap(o.inner(t.write_at(ahead), dst=dst)), drop)
        o.other('source and destination %s inside' % dst,
                wrap(o.inner(t.write_at(ahead), src=dst, dst=dst)), drop)
        o.other('destination %s inside, trimmed' % dst,
                wrap(o.inner(t.write_at(ahead), dst=dst), tos=TRIMMED), drop)
    if o.v6:
        for name, length, want in (
                ('0', 0, drop), ('too small', 7, drop),
                ('cut', 0x20, {'rx_drop_short': N}),
                ('too large', 0xFFFF, {'rx_drop_icrc': N})):
            o.other('payload length %s inside' % name,
                    wrap(m.put(good, 4, length.to_bytes(2, 'big'))), want)
    else:
        o.other('IPv4 checksum wrong inside',
                wrap(m.put(good, 10, bytes([good[10] ^ 1]))), drop)
        o.other('total length 0 inside', wrap(m.put(good, 2, bytes(2))), drop)
    o.other('ICRC one bit off', wrap(o.inner(t.write_at(ahead), spoil=4)),
            {'rx_drop_icrc': N})

    def trailing():
        before = counters()
        o.send(o.inner(o.s.t.only(b'T' * 16)) + bytes(33))
        settle(before, {**PLACED, 'rx_data_bytes': 16})
        o.s.t.check_memory()
    o.s.run('bytes behind the packet inside do not matter', trailing)


def noise(o, count):
    def test():
        rng = random.Random(4791)
        t = o.s.t
        for i in range(count):
            body = t.write_at(rng.randrange(1 << 24), b'', a=0)
            shape = rng.randrange(4)
            args = {'tos': rng.choice((0x12, 0x13, TRIMMED, LASTHOP, CONTROL))}
            if shape == 1:
                args['segments'] = [o.usid] * rng.randrange(1, 4)
            packet = bytearray(m.encap(o.inner(body), o.src, o.usid, **args))
            for _ in range(rng.randrange(6)):
                at = rng.randrange(len(packet))
                # The outer addresses stay, so that the packets pass the first checks.
                if not 4 <= at < 6 and not 8 <= at < 40:
                    packet[at] = rng.getrandbits(8)
            packet[0] = 0x60 | packet[0] & 15
            if rng.randrange(3) == 0:
                cut = rng.randrange(41, len(packet) + 1)
                del packet[cut:]
                packet[4:6] = (len(packet) - 40).to_bytes(2, 'big')
            o.s.wire.send(bytes(packet))
        t.check_memory()
        o.s.t = o.s.fresh()
        o.s.t.check_alive()
    o.s.run('%d packets with random bytes in random headers' % count, test)


def cases(s):
    remote6, usid, which = sys.argv[5:8]
    o = Outside(s, remote6, usid)
    if which in ('plain', 'off'):
        strangers(o, which == 'plain')
        return
    proper(o)
    if which == 'all':
        foreign(o)
        bad(o)
        noise(o, 2000)


if __name__ == '__main__':
    mrc_target.Watch.ignored = ('tx_srv6',)
    mrc_target.main(cases, seed=3)

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Packets in an outer IPv6 header that come through a netdev that is no plane of the device,
or that are for another address of the host inside. Each is refused, and is taken when it
comes through the plane or for the address of the queue pair. Run by decap.sh; the queue
pairs of host B use SRv6.

usage: srv6_places.py ... uSID-OF-B NETDEV MAC HOST4 HOST6 SECOND4 SECOND6
NETDEV: of host A, leads to a netdev of B that is no plane, MAC is the address of that one.
HOST: addresses of B that no plane has. SECOND: addresses of the plane that the queue pairs
do not have. mrc_target.py has the other arguments."""
import functools
import random
import sys

import mrc_packets as m
import mrc_target
import mrc_wire
from mrc_target import N, Mismatch, counters, settle
from srv6_hostile import PLACED, TRIMMED, Outside

REFUSED = {'rx_drop_address': N, 'rx_srv6': N}
TAKEN = {**PLACED, 'rx_data_bytes': 24}
NACKED = {'rx_trimmed': 1, 'tx_nack': 1, 'rx_srv6': 1}
ASKED = {'rx_endpoint_req': N, 'rx_srv6': N}
ANSWERED = {'rx_endpoint_req': 1, 'tx_endpoint_resp': 1, 'rx_srv6': 1}


def unchanged(t, image):
    if t.mr.read(len(image), 0) != image:
        raise Mismatch('memory is not what it was')


def tried(s, name, make, refused, taken):
    """make(): send and a wrong packet, send and a right one. N of the wrong one count as
    refused only, one of the right one as taken."""
    def test():
        image = bytes(s.t.image)
        (send_wrong, wrong), (send_right, right) = make()
        before = counters()
        for _ in range(N):
            send_wrong(wrong)
        settle(before, refused)
        unchanged(s.t, image)
        before = counters()
        send_right(right)
        settle(before, taken)
        s.t.check_memory()
    s.run(name, test)


def through(s, aside, make):
    """The very same bytes, not through the plane and through it."""
    packet = make(s.local)
    return (aside.send, packet), (s.wire.send, packet)


def address(s, other, make):
    """The same packet, but inside for another address."""
    return (s.wire.send, make(other)), (s.wire.send, make(s.local))


def packets(o):
    """(name, make(DESTINATION INSIDE), what counts if N of it come through a netdev that is
    no plane, if N are for another address, if one is taken)"""
    s = o.s
    kept = []

    def write(dst, **outer):
        """The one for the queue pair follows the one for another address: it has the same
        PSN and data."""
        if not kept:
            kept.append(s.t.only(random.randbytes(24)))
        body = kept[0]
        if dst == s.local:
            kept.clear()
        return m.encap(o.inner(body, dst=dst), o.src, o.usid, **outer)

    def trimmed(dst):
        whole = m.encap(o.inner(s.t.write_at(s.t.psn, stamp=7) + bytes(400), dst=dst),
                        o.src, o.usid)
        return m.trim(whole, 40 + (40 if o.v6 else 20) + 28, TRIMMED)

    def probe(dst):
        return m.encap(o.inner(m.endpoint_request(0x66, 1, stamp=0x99), dst=dst),
                       o.src, o.usid)

    def status(dst):
        return m.encap(o.inner(m.endpoint_request(0x67, 0, mask=1), dst=dst),
                       o.src, o.usid)

    # Without a device there is no counter for endpoint requests.
    return (('a WRITE', write, REFUSED, REFUSED, TAKEN),
            ('a WRITE, with an SRH', lambda dst: write(dst, segments=[o.usid]),
             REFUSED, REFUSED, TAKEN),
            ('a trimmed WRITE', trimmed, REFUSED, REFUSED, NACKED),
            ('an EV probe', probe, {}, {**ASKED, 'rx_drop_endpoint': N}, ANSWERED),
            ('a port status update', status, {}, {**ASKED, 'rx_port_status_refused': N},
             {**ANSWERED, 'rx_port_status': 1}))


def second(o, own):
    """A queue pair of the other address takes packets for that one and for no other."""
    s = o.s

    def test():
        first, t = s.t, mrc_target.MrcTarget(s.ctx, s.wire, own, s.remote).rts()
        before = counters()
        o.send(o.inner(t.only(random.randbytes(24)), dst=own))
        settle(before, TAKEN)
        t.check_memory()
        before = counters()
        for _ in range(N):
            o.send(o.inner(t.write_at(t.psn), dst=s.local))
        settle(before, REFUSED)
        t.check_memory()
        first.check_alive()
    s.run('a queue pair of another address takes packets for its own', test)


def cases(s):
    remote6, usid, netdev, mac, host4, host6, second4, second6 = sys.argv[5:13]
    o = Outside(s, remote6, usid)
    aside = mrc_wire.Wire(netdev, mac)
    host, another = (host6, second6) if s.v6 else (host4, second4)
    for name, make, refused, _, taken in packets(o):
        tried(s, name + ' through a netdev that is no plane',
              functools.partial(through, s, aside, make), refused, taken)
    for name, make, _, refused, taken in packets(o):
        tried(s, name + ' to an address that no plane has',
              functools.partial(address, s, host, make), refused, taken)
    for name, make, _, refused, taken in packets(o):
        # It says that a path to the device works, and nothing of queue pairs.
        if taken is ANSWERED:
            refused = {**ASKED, 'tx_endpoint_resp': N}
        tried(s, name + ' to another address of the plane',
              functools.partial(address, s, another, make), refused, taken)
    second(o, another)
    aside.sock.close()


if __name__ == '__main__':
    mrc_target.Watch.ignored = ('tx_srv6',)
    mrc_target.main(cases, seed=4)

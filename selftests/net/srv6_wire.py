#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Reads SRv6 packets on a netdev of a host and compares every byte of the outer headers
with headers made here, both of packets that the host sends and of packets that arrive
one switch away. Run by srv6.sh in the host's namespace.

usage: srv6_wire.py NETDEV plain|srh COUNT [DATA-TOS CONTROL-TOS]
Ends after COUNT correct packets of each direction. Status 1 if a packet is wrong or if
too few arrive."""
import sys
import time

import mrc_packets as m
import mrc_wire

# MRC 1.0 §18.1: V14 from the outer header on. Only those parts of the inner packet
# matter here from which the outer header is derived.
V14 = bytes.fromhex(
    '6120123900602940fd000001000000000000000000000001fcbb0000002000100022'
    '0032000000006120123900381140fd000001000000000000000000000001fd000001'
    '000000000000000000000002c00612b700380000ca00ffff00000202900000110000'
    '000a0310000100007f1200001000a1b2c3d400000008101112131415161767872251')


def expected(packet, srh, outgoing):
    """The expected packet, made around the inner packet."""
    o = m.Outer(packet)
    if not o.raw:
        raise AssertionError('not encapsulated: ' + packet[:60].hex())
    inner = o.inner
    peer = '32' if outgoing else '31'
    switch = o.dst.exploded.split(':')[2].lstrip('0')
    if outgoing and switch not in ('10', '11'):
        raise AssertionError('sent to %s on plane 1' % o.dst)
    end = 'fcbb:0:%s::' % peer
    if outgoing:
        dst = 'fcbb:0:%s::' % switch if srh else 'fcbb:0:%s:%s::' % (switch,
                                                                      peer)
    else:
        dst = end
    args = {}
    if srh:
        args = {'segments': [end], 'left': 1 if outgoing else 0}
    return m.encap(inner, 'fd00:1::1' if outgoing else 'fd00:1::2', dst,
                   tos=m.tos_of(inner), flow=m.flow_of(inner),
                   hops=64 if outgoing else 63, **args)


def main():
    dev, kind, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    tos = tuple(int(t) for t in sys.argv[4:6]) or (0, 184)
    if m.encap(V14[40:], 'fd00:1::1', 'fcbb:0:20:10:22:32::', tos=0x12,
               flow=0x01239) != V14:
        print('V14 cannot be made')
        return 1
    ring = mrc_wire.Ring(dev)
    print('listening', flush=True)
    seen = {True: 0, False: 0}
    end = time.monotonic() + 120
    while min(seen.values()) < count and time.monotonic() < end:
        got = ring.get(1)
        if not got:
            print('waiting: %d sent, %d received' % (seen[True], seen[False]),
                  flush=True)
            continue
        frame, outgoing = got
        packet = frame[mrc_wire.ETHERNET:]
        if frame[12:14] == b'\x86\xdd' and packet[6] == 58:
            continue        # neighbour discovery
        if not mrc_wire.is_ip(frame):
            continue
        want = expected(packet, kind == 'srh', outgoing)
        if packet != want:
            print('%s packet is\n%s, expected\n%s' % (
                'outgoing' if outgoing else 'incoming', packet[:120].hex(),
                want[:120].hex()))
            return 1
        o = m.Outer(packet)
        r = m.seen(o.inner)
        if not r.ok_icrc:
            print('ICRC of the packet inside: ' + packet.hex())
            return 1
        control = r.opcode in (m.SACK, m.NACK, m.ACK, m.ENDPOINT_RESP)
        if r.opcode != m.ENDPOINT_REQ and o.tos & 0xFC != tos[control]:
            print('opcode 0x%x with traffic class %d' % (r.opcode, o.tos))
            return 1
        if not control and r.opcode < m.ACK and o.tos & 3 != 2:
            print('data is not ECT(0)')
            return 1
        seen[outgoing] += 1
    print('seen: %d sent, %d received' % (seen[True], seen[False]))
    return 0 if min(seen.values()) >= count else 1


if __name__ == '__main__':
    sys.exit(main())

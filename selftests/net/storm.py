#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sends COUNT bad packets to the MRC port of the peer: random bytes, wrong ICRCs,
unknown QPs, unknown sources. Usage: storm.py MAC SRC DST COUNT"""
import random
import sys

import mrc_packets as m
import mrc_wire


def main():
    mac, src, dst, count = sys.argv[1:5]
    wire = mrc_wire.Wire('pa1', mac)
    rng = random.Random(1)
    for i in range(int(count)):
        kind = i % 4
        if kind == 0:
            packet = m.ip_udp(src, dst, rng.randbytes(rng.randrange(200)))
        else:
            body = m.write(m.WRITE_ONLY, rng.getrandbits(24),
                           rng.getrandbits(24), rng.getrandbits(64),
                           rng.getrandbits(32), rng.randbytes(64))
            packet = m.ip_udp('10.1.0.99' if kind == 3 else src, dst, body,
                              spoil=1 if kind == 2 else 0)
        wire.send(packet)


if __name__ == '__main__':
    main()

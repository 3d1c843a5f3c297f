#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sends endpoint requests in the name of its host, as any process there can: from a
plain UDP socket of an unprivileged user (mrc_nobody.py).

usage: port_forger.py OWN-ADDRESS PEER-ADDRESS KIND [RATE]
KIND:
    MASK[,MASK...]  port status updates with these masks in turn; request IDs are random
    probes          EV probes
RATE: packets a second, 0 = as many as possible (default 1000). The program runs until
it is killed. It prints "ready" before the first packet."""
import random
import sys
import time

import mrc_nobody
import mrc_packets as m


def main():
    own, peer, kind = sys.argv[1:4]
    rate = int(sys.argv[4]) if len(sys.argv) > 4 else 1000
    mrc_nobody.become()

    sock = mrc_nobody.udp_socket(peer)
    sock.bind((own, 0))
    ids = [random.randrange(65536) for _ in range(256)]
    if kind == 'probes':
        bodies = [m.endpoint_request(i, 1) for i in ids]
    else:
        masks = [int(x, 0) for x in kind.split(',')]
        bodies = [m.endpoint_request(i, 0, mask=masks[n % len(masks)])
                  for n, i in enumerate(ids)]
    packets = [mrc_nobody.payload(sock, own, peer, b) for b in bodies]
    print('ready', flush=True)
    sent, since = 0, time.monotonic()
    while True:
        try:
            sock.sendto(packets[sent % len(packets)], (peer, m.PORT))
        except OSError:
            pass                # the plane of the route is down at the moment
        sent += 1
        if rate and sent % 16 == 0:
            ahead = sent / rate - (time.monotonic() - since)
            if ahead > 0:
                time.sleep(ahead)


if __name__ == '__main__':
    main()

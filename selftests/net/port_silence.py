# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Watches a host's netdevs while its peer says that a port is down, and tells
what the host sends there afterwards. What it sees, packets as the driver gives
them to the netdevs and takes them from them, it sees in one order.

usage: port_silence.py NETDEV-OF-PORT PORT OTHER-NETDEV
Prints "ready", and later one line of "NAME FIGURE" pairs:
    before      those through the port of the last 200 data packets before the
                message
    after       data packets through it after the message came
    late        those of them after a SACK says that a packet arrived which was
                sent after the message: one round trip later
    other       data packets through the other port after the message
    rtt_us      from the message to that SACK
    last_us     from the message to the last packet through the port, 0: none
"""
import collections
import sys

import mrc_packets as m
import mrc_wire

ENOUGH = 200    # packets before the message, and through the other port after it


def main():
    netdev, port, other = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    tap = mrc_wire.Tap()
    tap.sock.settimeout(30)
    print('ready', flush=True)

    told = first = rtt = last = None
    before = collections.deque(maxlen=ENOUGH)
    after, late, others = 0, 0, 0
    for now, dev, sent, p in tap.packets():
        if sent and p.opcode in m.DATA:
            if told is None:
                before.append(dev)
            elif dev == netdev:
                after += 1
                late += rtt is not None
                last = now - told
            elif dev == other:
                others += 1
                # Of a packet sent again nobody knows which copy is answered.
                if first is None and not p.rtx:
                    first = p.psn
        elif not sent and told is None and p.port_mask is not None:
            if not p.port_mask >> port & 1:
                told = now
        elif not sent and p.opcode == m.SACK and rtt is None:
            if first is not None and p.received(first):
                rtt = now - told
        if others >= ENOUGH and rtt is not None:
            break
    missed = tap.missed()
    if missed:
        print('the machine was too slow:', missed, 'packets not seen')
        return 1
    print('before', before.count(netdev), 'after', after,
          'late', late, 'other', others, 'rtt_us', rtt // 1000,
          'last_us', (last or 0) // 1000)
    return 0


sys.exit(main())

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Watches a host's netdevs while its peer reports that a port is down, and prints what
the host sends through that port afterwards. The tap sees packets that the driver sends
and receives in one order.

usage: port_silence.py NETDEV-OF-PORT PORT OTHER-NETDEV
Prints "ready", and later one line of "NAME FIGURE" pairs:
    before      how many of the last 200 data packets before the update went through
                the port
    after       data packets through the port after the update
    late        those of them sent after a SACK acknowledged a packet that was sent after
                the update, which is one round trip later
    other       data packets through the other port after the update
    rtt_us      from the update to that SACK
    last_us     from the update to the last packet through the port, 0: none
"""
import collections
import sys

import mrc_packets as m
import mrc_wire

ENOUGH = 200    # packets before the update, and through the other port after it


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
                # For a retransmitted packet nobody knows which transmission is
                # acknowledged.
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

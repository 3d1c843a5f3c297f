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
import struct
import sys

import mrc_packets as m
import packet_tap as tap

ENOUGH = 200    # packets before the message, and through the other port after it


def psn_of(bth):
    return int.from_bytes(bth[9:12], 'big')


def has(bth, psn):
    """Does a SACK say that a PSN was received?"""
    seth = bth[12:]
    above = psn - int.from_bytes(seth[13:16], 'big') & 0xffffff
    if above == 0 or above >= 1 << 23:
        return True
    bit = above - struct.unpack('>h', seth[18:20])[0]
    return 0 <= bit < 64 and int.from_bytes(seth[20:28], 'big') >> bit & 1


def main():
    netdev, port, other = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    sock = tap.open_tap()
    sock.settimeout(30)
    print('ready', flush=True)

    told = first = rtt = last = None
    before = collections.deque(maxlen=ENOUGH)
    after, late, others = 0, 0, 0
    for now, dev, sent, bth in tap.packets(sock):
        if sent and bth[0] in tap.DATA:
            if told is None:
                before.append(dev)
            elif dev == netdev:
                after += 1
                late += rtt is not None
                last = now - told
            elif dev == other:
                others += 1
                # Of a packet sent again nobody knows which copy is answered.
                if first is None and not bth[8] & 0x20:
                    first = psn_of(bth)
        elif not sent and told is None and bth[0] == m.ENDPOINT_REQ:
            mask = tap.told_mask(bth)
            if mask is not None and not mask >> port & 1:
                told = now
        elif not sent and bth[0] == m.SACK and rtt is None:
            if first is not None and has(bth, first):
                rtt = now - told
        if others >= ENOUGH and rtt is not None:
            break
    _, drops = struct.unpack('II', sock.getsockopt(263, 6, 8))
    if drops:
        print('the machine was too slow:', drops, 'packets not seen')
        return 1
    print('before', before.count(netdev), 'after', after,
          'late', late, 'other', others, 'rtt_us', rtt // 1000,
          'last_us', (last or 0) // 1000)
    return 0


sys.exit(main())

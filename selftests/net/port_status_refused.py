#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sends port status updates that must be refused, 20 of each kind: from addresses that
are no peer, to an address without connections, with a wrong ICRC.
Usage: port_status_refused.py NETDEV MAC-OF-PEER PEER OWN OTHER-ADDRESS-OF-PEER"""
import sys

import mrc_packets as m
import mrc_wire


def main():
    dev, mac, peer, own, other = sys.argv[1:6]
    wire = mrc_wire.Wire(dev, mac)
    for i in range(20):
        update = m.endpoint_request(0x4000 + i, 0, mask=0)
        wire.send(m.ip_udp('10.1.0.%d' % (70 + i), peer, update))
        wire.send(m.ip_udp(own, peer, update, spoil=1 << i))
        wire.send(m.ip_udp(own, other, update))
    print('sent 60')


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Waits for the notice that a plane is up again, and then until data leaves through it.

usage: plane_back.py NETDEV link|PORT
    link    the notice is the up event of the netdev itself
    PORT    the notice is a port status update of the peer
Prints "ready", and at the end one line:
    us      microseconds from the notice to the first data packet through NETDEV
    route   microseconds from the notice to the last route through NETDEV that was
            added before that packet, -1: none
    probes  probes through NETDEV in between
    first   microseconds from the notice to the first probe, -1: none"""
import select
import socket
import struct
import sys
import time

import mrc_packets as m
import mrc_wire

RTMGRP_LINK, RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_ROUTE = 0x1, 0x40, 0x400
RTM_NEWLINK, RTM_NEWROUTE = 16, 24
RTA_OIF = 4
IFF_UP, IFF_RUNNING = 0x1, 0x40


def leads_through(route, index):
    """Whether a route leads through that netdev. ROUTE: attributes of RTM_NEWROUTE."""
    while len(route) >= 4:
        length, kind = struct.unpack_from('=HH', route)
        if length < 4:
            break
        if kind == RTA_OIF and length >= 8:
            return struct.unpack_from('=i', route, 4)[0] == index
        route = route[length + 3 & ~3:]
    return False


def events(netlink, index):
    """The events of the netdev: "up", "route"."""
    message = netlink.recv(65536)
    while len(message) >= 28:
        length, kind = struct.unpack_from('=IH', message)
        if kind == RTM_NEWLINK:
            which, flags = struct.unpack_from('=iI', message, 20)
            if which == index and flags & IFF_UP and flags & IFF_RUNNING:
                yield 'up'
        elif kind == RTM_NEWROUTE and leads_through(message[28:length], index):
            yield 'route'
        message = message[length + 3 & ~3:]


def main():
    netdev, by = sys.argv[1:3]
    index = socket.if_nametoindex(netdev)
    tap = mrc_wire.Tap()
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    netlink.bind((0, RTMGRP_LINK | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE))
    print('ready', flush=True)

    said, routed, probes, first = None, None, 0, -1
    while True:
        ready, _, _ = select.select([netlink, tap.sock], [], [], 120)
        if not ready:
            sys.exit('nothing was heard')
        if netlink in ready:
            for event in events(netlink, index):
                if event == 'route':
                    routed = time.time_ns()
                elif by == 'link' and said is None:
                    said = time.time_ns()
        got = tap.read() if tap.sock in ready else None
        if not got:
            continue
        now, dev, sent, packet = got
        if by != 'link' and said is None and not sent:
            if (packet.port_mask or 0) >> int(by) & 1:
                said = now
        if said is None or not sent or dev != netdev:
            continue
        gone = max(now - said, 0) // 1000
        if packet.opcode == m.PROBE:
            probes += 1
            first = gone if first < 0 else first
        elif packet.opcode in m.DATA:
            route = max(routed - said, 0) // 1000 if routed else -1
            print('us', gone, 'route', route, 'probes', probes, 'first', first)
            return


main()

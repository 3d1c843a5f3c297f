#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sends packets of MRC in the name of a host, as programs there can. They are correct and
name a queue pair that does not exist, which the receiver counts.

usage: guard.py HOW COUNT FROM OWN TO
HOW: udp       a UDP socket of the user nobody
     freebind  the same, whose address need not be one of the host
     big       the same, with datagrams that are sent as fragments
     raw       a raw socket of root
     nobody    a raw socket of the user nobody: refused
FROM: the source address that arrives. OWN: the socket's address, or - for any.
Prints how many datagrams the kernel took."""
import os
import socket
import sys

import mrc_packets as m

NOBODY = 65534
IP_MTU_DISCOVER, IP_PMTUDISC_DO = 10, 2
IP_FREEBIND, IPV6_FREEBIND = 15, 78


def become_nobody():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def datagrams(how, family, own):
    sock = socket.socket(family, socket.SOCK_DGRAM)
    if how == 'freebind' and family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
    elif how == 'freebind':
        sock.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
    # With this the ID is 0, and the ICRC can be computed.
    if family == socket.AF_INET and how != 'big':
        sock.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
    sock.bind(('' if own == '-' else own, 0))
    return sock


def main():
    how, count, source, own, to = sys.argv[1:]
    family = socket.AF_INET6 if ':' in to else socket.AF_INET
    if how != 'raw':
        become_nobody()
    body = m.write(m.WRITE_ONLY, 0x77, 1, 0, 0, bytes(9000 if how == 'big' else 8))
    if how in ('raw', 'nobody'):
        sock = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW)
        packet, port = m.ip_udp(source, to, body), 0
    else:
        sock = datagrams(how, family, own)
        packet = m.ip_udp(source, to, body, sport=sock.getsockname()[1])
        packet, port = packet[48 if family == socket.AF_INET6 else 28:], m.PORT
    taken = 0
    for _ in range(int(count)):
        try:
            sock.sendto(packet, (to, port))
            taken += 1
        except OSError as err:
            print('# %s' % err)
    print(taken)


if __name__ == '__main__':
    main()

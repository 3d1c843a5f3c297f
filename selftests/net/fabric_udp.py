# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sends UDP datagrams between the hosts of a fabric and counts what arrives.

Each line of the standard input is one flow:
    NODE NETDEV SOURCE SPORT DESTINATION RECEIVER COUNT [expect-none]
RECEIVER is the node where DESTINATION leads; the other words describe the sender. Outer
destinations of uSIDs are shifted on the way, so the packets have no checksums.
Prints "RECEIVER COUNT" for each receiver, and "lost" if an expected packet did not
arrive within ten seconds. One process serves all hosts, because Python starts slowly in
an emulated guest."""
import os
import select
import socket
import sys
import time

PORT = 5001
UDP_NO_CHECK6_TX, UDP_NO_CHECK6_RX = 101, 102
SO_RCVBUFFORCE = 33


def enter(node):
    fd = os.open('/run/netns/' + node, os.O_RDONLY)
    os.setns(fd, os.CLONE_NEWNET)
    os.close(fd)


def receiver(family):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_UDP, UDP_NO_CHECK6_RX, 1)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind(('', PORT))
    s.setblocking(False)
    return s


def sender(family, dev, source, port):
    s = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_UDP, UDP_NO_CHECK6_TX, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, dev.encode())
    s.bind((source, port))
    return s


def drain(sockets, counts):
    for s in select.select(list(sockets), [], [], 0.05)[0]:
        try:
            while s.recv(4096) is not None:
                counts[sockets[s]] += 1
        except BlockingIOError:
            pass


def main():
    flows = [line.split() for line in sys.stdin if line.strip()]
    sockets, counts, wanted = {}, {}, {}
    for node in sorted({f[5] for f in flows}):
        enter(node)
        counts[node] = wanted[node] = 0
        for family in (socket.AF_INET, socket.AF_INET6):
            sockets[receiver(family)] = node
    for node, dev, source, port, to, there, count, *none in flows:
        enter(node)
        family = socket.AF_INET6 if ':' in to else socket.AF_INET
        with sender(family, dev, source, int(port)) as s:
            for n in range(int(count)):
                s.sendto(b'%-64d' % n, (to, PORT))
                if n % 32 == 31:
                    drain(sockets, counts)
        if not none:
            wanted[there] += int(count)
    end = time.monotonic() + 10
    while any(counts[n] < wanted[n] for n in wanted) and time.monotonic() < end:
        drain(sockets, counts)
    drain(sockets, counts)
    for node, count in counts.items():
        print(node, count)
    if counts != wanted:
        print('lost: expected', wanted)
        return 1
    return 0


sys.exit(main())

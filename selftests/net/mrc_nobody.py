# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What any program of a host can send: datagrams of MRC from a plain UDP socket of the user
nobody. IPv4 packets of the socket have the IP ID 0 (IP_PMTUDISC_DO) and IPv6 has no ID, so
the correct ICRC can be computed."""
import os
import socket

import mrc_packets as m

NOBODY = 65534
IP_MTU_DISCOVER, IP_PMTUDISC_DO = 10, 2


def become():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def family(address):
    return socket.AF_INET6 if ':' in address else socket.AF_INET


def udp_socket(peer, whole=True):
    """A socket to send to @peer. Not @whole: IPv4 may send fragments."""
    sock = socket.socket(family(peer), socket.SOCK_DGRAM)
    if whole and sock.family == socket.AF_INET:
        sock.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
    return sock


def payload(sock, source, peer, body):
    """What to send from a bound socket. The kernel adds the IP and UDP headers, with
    @source as the source."""
    packet = m.ip_udp(source, peer, body, sport=sock.getsockname()[1])
    return packet[48 if sock.family == socket.AF_INET6 else 28:]

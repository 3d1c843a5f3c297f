# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""MRC packets of all netdevs of a host, as they go to the driver and come from it, in
one order."""
import socket
import struct

import mrc_packets as m

ETH_P_ALL = 3
SO_RCVBUFFORCE, SO_TIMESTAMPNS = 33, 35
OUTGOING = 4
DATA = range(m.WRITE_FIRST, m.WRITE_ONLY_IMM + 1)


def open_tap():
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                         socket.htons(ETH_P_ALL))
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    return sock


def parse(frame):
    """BTH and what follows, of a packet of MRC; nothing of others."""
    if frame[12:14] == b'\x08\x00' and frame[23] == socket.IPPROTO_UDP:
        udp = 34
    elif frame[12:14] == b'\x86\xdd' and frame[20] == socket.IPPROTO_UDP:
        udp = 54
    else:
        return b''
    if frame[udp + 2:udp + 4] != struct.pack('>H', m.PORT):
        return b''
    return frame[udp + 8:]


def read(sock):
    """The next packet: (nanoseconds, netdev, sent by us, BTH...), None if it is not
    one of MRC."""
    frame, extra, _, addr = sock.recvmsg(256, 64)
    bth = parse(frame)
    if len(bth) < 12:
        return None
    seconds, nanos = struct.unpack('=qq', extra[0][2])
    return seconds * 10**9 + nanos, addr[0], addr[2] == OUTGOING, bth


def packets(sock):
    """Those of MRC, for ever."""
    while True:
        packet = read(sock)
        if packet is not None:
            yield packet


def told_mask(bth):
    """The ports that a port status update says are up, None for other packets."""
    if bth[0] != m.ENDPOINT_REQ or len(bth) < 20 or bth[13] & 3:
        return None
    return int.from_bytes(bth[16:20], 'big')

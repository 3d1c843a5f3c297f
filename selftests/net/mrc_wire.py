# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Raw packet sockets on netdevs: Wire sends and receives packets of one netdev, Tap sees
all netdevs of a host in one order, and Ring keeps packets of one netdev as they were
when they passed."""
import mmap
import select
import socket
import struct

import mrc_packets as m

ETH_P_ALL = 3
SO_RCVBUFFORCE, SO_TIMESTAMPNS = 33, 35
SOL_PACKET, PACKET_RX_RING, PACKET_STATISTICS = 263, 5, 6
PACKET_VERSION, PACKET_QDISC_BYPASS = 10, 20    # of linux/if_packet.h
ETHERNET = 14


def packet_socket(dev=None):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                         socket.htons(ETH_P_ALL))
    if dev:
        sock.bind((dev, 0))
    return sock


def is_ip(frame):
    return frame[12:14] in (b'\x08\x00', b'\x86\xdd')


class Wire:
    """Raw access to one plane: whole IP packets out, RoCE packets in."""

    def __init__(self, dev, peer_mac):
        self.sock = packet_socket(dev)
        with open('/sys/class/net/%s/address' % dev, encoding='ascii') as f:
            self.mac = bytes.fromhex(f.read().strip().replace(':', ''))
        self.peer_mac = bytes.fromhex(peer_mac.replace(':', ''))

    def bypass_queues(self):
        """Packets sent from here bypass the netdev's queues, which might change them."""
        self.sock.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)

    def send(self, packet):
        kind = b'\x08\x00' if packet[0] >> 4 == 4 else b'\x86\xdd'
        self.sock.send(self.peer_mac + self.mac + kind + packet)

    def drain(self):
        self.sock.setblocking(False)
        try:
            while True:
                self.sock.recv(65536)
        except BlockingIOError:
            pass

    # Endpoint requests are left out: the host probes for a reverse path at any time.
    def replies(self, count, seconds=m.PATIENCE,
                wanted=lambda packet: packet.opcode != m.ENDPOINT_REQ):
        """The next packets from the peer, or fewer if the time is over. Those in an
        outer header are taken out of it."""
        found = []
        self.sock.settimeout(seconds)
        try:
            while len(found) < count:
                frame, addr = self.sock.recvfrom(65536)
                if addr[2] == socket.PACKET_OUTGOING or not is_ip(frame):
                    continue
                packet = m.seen(m.inside(frame[ETHERNET:]))
                if packet and wanted(packet):
                    found.append(packet)
        except TimeoutError:
            pass
        return found


class Tap:
    """RoCE packets of all netdevs of a host, in the order in which the driver sends and
    receives them. Data may be truncated."""

    def __init__(self):
        self.sock = packet_socket()
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)

    def read(self):
        """The next frame: (nanoseconds, netdev, whether this host sent it, packet), or
        None if it is not RoCE."""
        frame, extra, _, addr = self.sock.recvmsg(256, 64)
        packet = m.seen(frame[ETHERNET:]) if is_ip(frame) else None
        if not packet:
            return None
        seconds, nanos = struct.unpack('=qq', extra[0][2])
        return (seconds * 10**9 + nanos, addr[0],
                addr[2] == socket.PACKET_OUTGOING, packet)

    def packets(self):
        """All RoCE packets, without end."""
        while True:
            got = self.read()
            if got:
                yield got

    def missed(self):
        """The number of frames lost because the machine was too slow."""
        return struct.unpack('II', self.sock.getsockopt(
            SOL_PACKET, PACKET_STATISTICS, 8))[1]


class Ring:
    """Frames of one netdev as they were when they passed. An ordinary packet socket
    delivers a frame that shares its memory with the packet, and a uSID switch shifts
    the destination in place."""
    FRAME, BLOCK, BLOCKS, TPACKET_V2 = 8192, 131072, 64, 1

    def __init__(self, dev):
        self.sock = packet_socket()
        self.sock.setsockopt(SOL_PACKET, PACKET_VERSION,
                             struct.pack('I', self.TPACKET_V2))
        self.frames = self.BLOCK // self.FRAME * self.BLOCKS
        self.sock.setsockopt(SOL_PACKET, PACKET_RX_RING, struct.pack(
            'IIII', self.BLOCK, self.BLOCKS, self.FRAME, self.frames))
        self.map = mmap.mmap(self.sock.fileno(), self.BLOCK * self.BLOCKS)
        self.sock.bind((dev, 0))
        self.at = 0

    def get(self, seconds):
        """The next frame and whether this host sent it, or None."""
        base = self.at * self.FRAME
        head = struct.Struct('IIIHH')
        if not head.unpack_from(self.map, base)[0] & 1:
            select.select([self.sock], [], [], seconds)
        status, _, length, mac, _ = head.unpack_from(self.map, base)
        if not status & 1:
            return None
        frame = self.map[base + mac:base + mac + length]
        # struct sockaddr_ll is behind the header of 32 bytes.
        kind = self.map[base + 32 + 10]
        struct.pack_into('I', self.map, base, 0)
        self.at = (self.at + 1) % self.frames
        return frame, kind == socket.PACKET_OUTGOING

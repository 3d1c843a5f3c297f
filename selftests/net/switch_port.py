# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A switch port for switch.py: namespaces swa and swb are joined by the netdevs sa and sb,
and sa has one of the qdiscs mrcsw and mrcsw_last. Also packets for it."""
import errno
import os
import socket
import struct
import subprocess

import mrc_packets as m

MACS = bytes.fromhex('020000007702020000007701')    # of sb and sa
A4, B4, A6, B6 = '10.77.0.1', '10.77.0.2', 'fd77::1', 'fd77::2'
OUTER = 'fcbb:0:303::'
TRIMMABLE, RETX, TRIMMED, LASTHOP, CONTROL = 4, 8, 12, 16, 46
FULL = 1514
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23
PARAMS = '/sys/module/sch_mrcsw/parameters/'
DEFAULTS = {'data_limit': 1 << 20, 'ctrl_limit': 1 << 18, 'trim_bytes': 3000,
            'trim_len': 132, 'ecn_min': 0, 'ecn_max': 0, 'dscp_control': CONTROL,
            'ports': m.PORT}


def enter(node):
    fd = os.open('/run/netns/' + node, os.O_RDONLY)
    os.setns(fd, os.CLONE_NEWNET)
    os.close(fd)


def sh(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def tc(*args):
    return sh('tc', '-n', 'swa', *args)


# --- packets -------------------------------------------------------------------

def ip4(payload, kind, dscp, ecn=0, **fields):
    return m.ip(A4, B4, payload, kind=kind, tos=dscp << 2 | ecn, **fields)


def ip6(payload, kind, dscp, ecn=0, to=B6):
    return m.ip(A6, to, payload, kind=kind, tos=dscp << 2 | ecn, flow=0x12345)


def udp(n, length, port=m.PORT):
    """The number n identifies the packet."""
    body = struct.pack('>I', n) + bytes(i * 7 & 0xFF for i in range(length - 12))
    return m.udp(body, sport=4000, dport=port)


def v4(n, l3, dscp, ecn=0, port=m.PORT, **fields):
    return ip4(udp(n, l3 - 20, port), m.UDP, dscp, ecn, **fields)


def v6(n, l3, dscp, ecn=0, port=m.PORT):
    return ip6(udp(n, l3 - 40, port), m.UDP, dscp, ecn)


def sr6(n, l3, dscp, ecn=0):
    return ip6(v6(n, l3 - 40, 1, 2), m.IPV6, dscp, ecn, to=OUTER)


def sr4(n, l3, dscp, ecn=0):
    return ip6(v4(n, l3 - 40, 1, 2), m.IPIP, dscp, ecn, to=OUTER)


def sr6h(n, l3, dscp, ecn=0):
    return ip6(m.srh(m.IPV6, [OUTER]) + v6(n, l3 - 64, 1, 2), m.ROUTING, dscp,
               ecn, to=OUTER)


def ecn_of(packet):
    return m.tos_of(packet) & 3


def with_dscp(packet, dscp):
    return m.put_tos(packet, dscp << 2 | ecn_of(packet))


def marked(packet):
    return m.put_tos(packet, m.tos_of(packet) | 3)


def trimmed(packet, length, dscp):
    """The expected result of trimming a packet without a UDP checksum."""
    return m.trim(packet, length, dscp << 2 | ecn_of(packet))


# --- the port ------------------------------------------------------------------

class Port:
    """The netdev sa with a qdisc of the kind below a token bucket that lets one packet
    through and then none, so that the queues hold the packets of the test. At a byte a
    second the smallest packet of a test waits for most of a minute."""

    def __init__(self, kind='mrcsw', **params):
        self.kind = kind
        enter('swa')
        self.tx = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.tx.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 8 << 20)
        self.tx.bind(('sa', 0))
        enter('swb')
        self.rx = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.rx.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        self.rx.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self.rx.bind(('sb', 0))
        self.rx.settimeout(10)
        configure(**params)

    def close(self):
        self.tx.close()
        self.rx.close()
        subprocess.run(['tc', '-n', 'swa', 'qdisc', 'del', 'dev', 'sa', 'root'],
                       check=False, capture_output=True)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def block(self):
        tc('qdisc', 'add', 'dev', 'sa', 'root', 'handle', '1:', 'tbf', 'rate', '8bit',
           'burst', str(FULL + 6), 'limit', '1m')
        tc('qdisc', 'add', 'dev', 'sa', 'parent', '1:1', 'handle', '2:', self.kind)
        self.send(v4(0, FULL - 14, 0, port=9))
        assert len(self.receive(1)) == 1

    def send(self, *packets):
        for p in packets:
            proto = 0x0800 if p[0] >> 4 == 4 else 0x86DD
            if p[0] >> 4 not in (4, 6):
                proto = 0x88B5
            try:
                self.tx.send(MACS + struct.pack('>H', proto) + p)
            except OSError as e:
                # the error for the sender of a dropped packet
                if e.errno != errno.ENOBUFS:
                    raise

    def receive(self, count):
        return [self.rx.recv(1 << 16)[14:] for _ in range(count)]

    def release(self):
        """All queued packets, in the order of departure."""
        queued = self.tc_stats(2)['qlen']
        tc('qdisc', 'change', 'dev', 'sa', 'root', 'handle', '1:', 'tbf', 'rate', '1gbit',
           'burst', '100000', 'limit', '1m')
        last = v4(999999, 60, 0, port=9)
        self.send(last)
        got = self.receive(queued + 1)
        assert got.pop() == last
        for handle in (1, 2):
            stats = self.tc_stats(handle)
            assert (stats['qlen'], stats['backlog']) == (0, 0), (handle, stats)
        return got

    def stats(self):
        enter('swa')
        with open('/proc/thread-self/net/mrcsw', encoding='ascii') as f:
            lines = [line.split() for line in f]
        assert len(lines) == 1 and lines[0][0] == 'sa' and lines[0][2] == self.kind, lines
        return {k: int(v) for k, v in (w.split('=') for w in lines[0][3:])}

    def tc_stats(self, handle):
        text = tc('-s', 'qdisc', 'show', 'dev', 'sa')
        for part in text.split('qdisc ')[1:]:
            if f' {handle}: ' in part.split('\n')[0]:
                w = part.replace(',', ' ').replace(')', ' ').split()
                backlog = w[w.index('backlog') + 1]
                scale = {'K': 1024, 'M': 1024 * 1024}.get(backlog[-2], 1)
                return {'drops': int(w[w.index('(dropped') + 1]),
                        'overlimits': int(w[w.index('overlimits') + 1]),
                        'backlog': int(backlog.rstrip('KMb')) * scale,
                        'qlen': int(w[w.index('backlog') + 2].rstrip('p'))}
        raise AssertionError(text)


def configure(**params):
    for name, value in {**DEFAULTS, **params}.items():
        with open(PARAMS + name, 'w', encoding='ascii') as f:
            f.write(str(value))


def expect(got, want):
    if got == want:
        return
    if isinstance(got, list):
        for i, (g, w) in enumerate(zip(got, want)):
            if g != w:
                print(f'packet {i}: {len(g)} bytes {g[:140].hex()}\n'
                      f'expected {len(w)} bytes {w[:140].hex()}')
        got, want = len(got), len(want)
    raise AssertionError(f'{got} instead of {want}')

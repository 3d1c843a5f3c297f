# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The qdiscs mrcsw and mrcsw_last with hand-made packets: prints a TAP line
for each test. Namespaces swa and swb, joined by the netdevs sa and sb."""
import errno
import ipaddress
import os
import socket
import struct
import subprocess
import sys
import time
import traceback

PORT = 4791
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
            'ports': PORT}


def enter(node):
    fd = os.open('/run/netns/' + node, os.O_RDONLY)
    os.setns(fd, os.CLONE_NEWNET)
    os.close(fd)


def sh(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def tc(*args):
    return sh('tc', '-n', 'swa', *args)


# --- packets -------------------------------------------------------------------

def checksum(data):
    data += b'\0' * (len(data) % 2)
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip4(payload, proto, dscp, ecn=0, source=A4, to=B4, frag=0x4000):
    head = struct.pack('>BBHHHBBH4s4s', 0x45, dscp << 2 | ecn, 20 + len(payload),
                       0, frag, 64, proto, 0, socket.inet_aton(source),
                       socket.inet_aton(to))
    return head[:10] + struct.pack('>H', checksum(head)) + head[12:] + payload


def ip6(payload, proto, dscp, ecn=0, source=A6, to=B6):
    head = struct.pack('>IHBB', 6 << 28 | (dscp << 2 | ecn) << 20 | 0x12345,
                       len(payload), proto, 64)
    return (head + ipaddress.IPv6Address(source).packed +
            ipaddress.IPv6Address(to).packed + payload)


def srh(payload, proto):
    return struct.pack('>BBBBBBH16s', proto, 2, 4, 0, 0, 0, 0,
                       ipaddress.IPv6Address(OUTER).packed) + payload


def udp(n, length, port=PORT):
    """n tells packets apart."""
    body = struct.pack('>I', n) + bytes(i * 7 & 0xFF for i in range(length - 12))
    return struct.pack('>HHHH', 4000, port, length, 0) + body


def udp_summed(n, length, pseudo, port=PORT):
    raw = udp(n, length, port)
    total = checksum(pseudo + struct.pack('>II', length, 17) + raw) or 0xFFFF
    return raw[:6] + struct.pack('>H', total) + raw[8:]


def pseudo4():
    return socket.inet_aton(A4) + socket.inet_aton(B4)


def pseudo6():
    return ipaddress.IPv6Address(A6).packed + ipaddress.IPv6Address(B6).packed


def v4(n, l3, dscp, ecn=0, port=PORT, **ip):
    return ip4(udp(n, l3 - 20, port), 17, dscp, ecn, **ip)


def v6(n, l3, dscp, ecn=0, port=PORT):
    return ip6(udp(n, l3 - 40, port), 17, dscp, ecn)


def sr6(n, l3, dscp, ecn=0):
    return ip6(v6(n, l3 - 40, 1, 2), 41, dscp, ecn, to=OUTER)


def sr4(n, l3, dscp, ecn=0):
    return ip6(v4(n, l3 - 40, 1, 2), 4, dscp, ecn, to=OUTER)


def sr6h(n, l3, dscp, ecn=0):
    return ip6(srh(v6(n, l3 - 64, 1, 2), 41), 43, dscp, ecn, to=OUTER)


def dsfield(packet):
    if packet[0] >> 4 == 4:
        return packet[1]
    return (packet[0] & 15) << 4 | packet[1] >> 4


def dscp_of(packet):
    return dsfield(packet) >> 2


def with_ds(packet, value):
    packet = bytearray(packet)
    if packet[0] >> 4 == 4:
        packet[1] = value
        packet[10:12] = b'\0\0'
        packet[10:12] = struct.pack('>H', checksum(bytes(packet[:20])))
    else:
        packet[0] = 6 << 4 | value >> 4
        packet[1] = (value & 15) << 4 | packet[1] & 15
    return bytes(packet)


def trimmed(packet, length, dscp):
    """What trimming must make of a packet without a UDP checksum."""
    cut = bytearray(packet[:length])
    offset, proto = 0, None
    while proto != 17:
        if cut[offset] >> 4 == 4:
            struct.pack_into('>H', cut, offset + 2, length - offset)
            struct.pack_into('>H', cut, offset + 10, 0)
            struct.pack_into('>H', cut, offset + 10,
                             checksum(bytes(cut[offset:offset + 20])))
            proto = cut[offset + 9]
            offset += 20
        else:
            struct.pack_into('>H', cut, offset + 4, length - offset - 40)
            proto = cut[offset + 6]
            offset += 40
            if proto == 43:
                proto = cut[offset]
                offset += 24
    struct.pack_into('>H', cut, offset + 4, length - offset)
    return with_ds(bytes(cut), dscp << 2 | dsfield(packet) & 3)


# --- the port ------------------------------------------------------------------

class Port:
    """sa with a qdisc of the kind below a token bucket that lets one packet
    through and then none: queues are what the test put there. At a byte a second
    the smallest packet of a test waits for most of a minute."""

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
                # what the sender of a dropped packet is told
                if e.errno != errno.ENOBUFS:
                    raise

    def receive(self, count):
        return [self.rx.recv(1 << 16)[14:] for _ in range(count)]

    def release(self):
        """All that is queued, in the order of departure."""
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


# --- tests ---------------------------------------------------------------------

def trims(make, kind, code, length, **params):
    """Two fit the queue, the rest is trimmed and overtakes them."""
    with Port(kind, **params) as port:
        port.block()
        packets = [make(n, 1300, TRIMMABLE if n % 2 else RETX, n % 3) for n in range(1, 6)]
        port.send(*packets)
        want = [trimmed(p, length, code) for p in packets[2:]]
        stats = port.stats()
        expect(stats['trimmed'], 3)
        expect(stats['trimmed_bytes'], 3 * (1300 - length))
        expect((stats['data_peak'], stats['ctrl_peak']), (2 * 1314, 3 * (length + 14)))
        queued = 2 * 1314 + 3 * (length + 14)
        for handle in (1, 2):
            now = port.tc_stats(handle)
            expect((now['qlen'], now['drops']), (5, 0))
            # tc rounds what it prints
            assert abs(now['backlog'] - queued) < 1024, (now, queued)
        expect(port.tc_stats(2)['overlimits'], 3)
        expect(port.release(), want + packets[:2])


def test_lengths():
    """trimmed to the configured length, never below the headers"""
    for make, least in ((v4, 48), (v6, 68), (sr6, 108), (sr4, 88), (sr6h, 132)):
        trims(make, 'mrcsw', TRIMMED, 200, trim_len=200)
        trims(make, 'mrcsw', TRIMMED, least, trim_len=0)


def test_lasthop():
    """the last hop has a codepoint of its own"""
    trims(v6, 'mrcsw_last', LASTHOP, 132)
    trims(sr6, 'mrcsw_last', LASTHOP, 132)


def test_short():
    """a packet shorter than the trimmed length keeps it"""
    with Port(trim_bytes=2000, trim_len=400) as port:
        port.block()
        full = v6(1, 1500, TRIMMABLE)
        shorts = [v6(2, 400, TRIMMABLE, 2), v4(3, 300, TRIMMABLE), v4(4, 600, TRIMMABLE)]
        fits = v6(5, 400, TRIMMABLE)
        port.send(full, fits, *shorts)
        expect(port.release(),
               [with_ds(shorts[0], TRIMMED << 2 | 2), with_ds(shorts[1], TRIMMED << 2),
                trimmed(shorts[2], 400, TRIMMED), full, fits])


def test_others():
    """what is not trimmable data of MRC is queued, then dropped"""
    others = [v6(1, 1000, 0), v6(2, 1000, 20), v6(3, 1000, TRIMMABLE, port=4792),
              ip6(udp(4, 960), 6, TRIMMABLE), v4(5, 1000, TRIMMABLE, frag=0x2000),
              v4(6, 1000, RETX, frag=100), ip6(sr6(7, 960, TRIMMABLE), 41, TRIMMABLE),
              ip6(b'', 17, TRIMMABLE) + bytes(960), ip6(bytes(1000), 43, TRIMMABLE),
              ip6(b'\x06' + bytes(999), 41, TRIMMABLE), ip6(b'\x43' + bytes(999), 4, TRIMMABLE)]
    with Port(data_limit=9000) as port:
        port.block()
        whole = [v6(20, 1000, TRIMMABLE), v6(21, 1000, RETX)]
        port.send(*whole)
        fit, size = [], 2 * 1014
        for p in others:
            if size + len(p) + 14 <= 9000:
                size += len(p) + 14
                fit.append(p)
        port.send(*others)
        stats = port.stats()
        expect(stats['trimmed'], 0)
        expect(stats['data_drops'], len(others) - len(fit))
        expect(stats['data_peak'], size)
        expect(port.tc_stats(2)['drops'], len(others) - len(fit))
        expect(port.release(), whole + fit)


def test_ports():
    """several UDP ports can be named"""
    with Port(ports='4791,4971', trim_bytes=1000) as port:
        port.block()
        packets = [v6(n, 1000, TRIMMABLE, port=p) for n, p in enumerate((9, 4791, 4971, 4972))]
        port.send(*packets)
        expect(port.release(), [trimmed(packets[1], 132, TRIMMED),
                                trimmed(packets[2], 132, TRIMMED), packets[0], packets[3]])


def test_priority():
    """control overtakes data, in order among itself"""
    with Port() as port:
        port.block()
        data = [v4(n, 500, 0) for n in (1, 2)]
        control = [v6(3, 100, CONTROL), v4(4, 200, TRIMMED), v4(5, 100, LASTHOP, port=1),
                   b'\x01' + bytes(59)]
        port.send(data[0], *control[:2], data[1], *control[2:])
        expect(port.release(), control + data)
        expect((port.stats()['ctrl_pkts'], port.stats()['data_pkts']), (4, 4))


def test_ctrl_limit():
    """the control queue is bounded, for trimmed packets too"""
    with Port(ctrl_limit=500, trim_bytes=1000) as port:
        port.block()
        packets = [v6(n, 1000, TRIMMABLE) for n in range(6)]
        port.send(v6(10, 986, CONTROL), *packets)
        stats = port.stats()
        # 132 + 14 bytes each
        expect((stats['ctrl_pkts'], stats['trimmed'], stats['ctrl_drops']), (3, 3, 3))
        expect(port.tc_stats(2)['drops'], 3)
        expect(port.tc_stats(1)['qlen'], 4)
        expect(port.release(), [trimmed(p, 132, TRIMMED) for p in packets[1:4]] + packets[:1])


def test_no_trimming():
    """without trimming the queue ends at its limit"""
    with Port(trim_bytes=0, data_limit=3 * 1014 + 80) as port:
        port.block()
        packets = [v6(n, 1000, TRIMMABLE) for n in range(5)]
        port.send(*packets)
        expect(port.stats()['data_drops'], 2)
        expect(port.release(), packets[:3])


def marks(port, packets):
    port.block()
    port.send(*packets)
    return port.release()


def test_ecn_step():
    """packets beyond the step are marked, if they can be"""
    packets = [make(n, 1000, 0, 1 + n % 2) for n in range(6) for make in (v4, v6, sr6)]
    packets += [v4(30, 1000, 0, 0), v6(31, 1000, 0, 3)]
    with Port(ecn_min=9 * 1014, ecn_max=9 * 1014) as port:
        want = [p if n < 9 or dsfield(p) & 3 in (0, 3) else with_ds(p, 3)
                for n, p in enumerate(packets)]
        expect(marks(port, packets), want)
        expect(port.stats()['marked'], 9)
    # Whatever the length of the queue; control is never marked.
    with Port(ecn_min=0, ecn_max=1) as port:
        packets = [v6(1, 200, CONTROL, 2), v6(2, 200, 0, 2), v4(3, 200, TRIMMABLE, 1)]
        expect(marks(port, packets),
               [packets[0], with_ds(packets[1], 3), with_ds(packets[2], TRIMMABLE << 2 | 3)])


def test_ecn_slope():
    """between two lengths of the queue marking grows"""
    with Port(ecn_min=100000, ecn_max=300000, trim_bytes=0) as port:
        got = marks(port, [v6(n, 986, 0, 2) for n in range(400)])
        marked = [dsfield(p) & 3 == 3 for p in got]
        expect(sum(marked), port.stats()['marked'])
        assert not any(marked[:100]) and all(marked[300:])
        low, high = sum(marked[100:200]), sum(marked[200:300])
        # 25 and 75 expected; each bound is more than four deviations away
        assert 5 <= low <= 45 and 55 <= high <= 95, (low, high)


def delivered(packets, checks):
    """Do sockets of the other side get what is left?"""
    enter('swb')
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        if not checks:
            s.setsockopt(socket.IPPROTO_UDP, 102, 1)
        s.bind(('::', PORT))
        s.settimeout(10)
        with Port(trim_bytes=1000) as port:
            port.block()
            port.send(v6(0, 1400, 0, port=9), *packets)
            port.release()
        for p in packets:
            head = 28 if p[0] >> 4 == 4 else 48
            expect(s.recv(4096), p[head:132])


def test_delivered():
    """Linux delivers trimmed packets, with and without checksums"""
    delivered([v4(1, 1000, TRIMMABLE), v6(2, 1000, TRIMMABLE)], False)
    delivered([ip4(udp_summed(1, 980, pseudo4()), 17, TRIMMABLE),
               ip6(udp_summed(2, 960, pseudo6()), 17, TRIMMABLE),
               ip6(udp_summed(3, 961, pseudo6()), 17, TRIMMABLE)], True)


def test_own_socket():
    """trimmed packets of a socket whose checksum the netdev would add"""
    enter('swb')
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as there:
        there.bind(('::', PORT))
        there.settimeout(10)
        enter('swa')
        with Port(trim_bytes=1000) as port:
            port.block()
            port.send(v6(0, 1400, 0, port=9))
            enter('swa')
            with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as here:
                here.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, TRIMMABLE << 2)
                here.sendto(bytes(range(250)) * 4, (B6, PORT))
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
                here.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, TRIMMABLE << 2)
                here.sendto(bytes(range(250)) * 4, (B4, PORT))
            expect(port.stats()['trimmed'], 2)
            port.release()
        for head in (48, 28):
            expect(there.recv(4096), bytes(range(250))[:132 - head])


def tcp_through():
    """A TCP stream, whose packets are large before they are cut to size."""
    enter('swb')
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(('::', 5000))
        server.listen()
        enter('swa')
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as client:
            client.settimeout(30)
            client.connect((B6, 5000))
            server.settimeout(30)
            there, _ = server.accept()
            there.settimeout(30)
            data = bytes(i * 13 & 0xFF for i in range(65536))
            with there:
                got = b''
                for _ in range(8):
                    client.sendall(data)
                    want = len(got) + len(data)
                    while len(got) < want:
                        got += there.recv(1 << 20)
                expect(got == data * 8, True)


def test_gso():
    """large packets of TCP are cut into segments"""
    sh('ip', 'netns', 'exec', 'swa', 'ethtool', '-K', 'sa', 'tso', 'on', 'gso', 'on')
    for limit in (1 << 20, 70000):
        configure(data_limit=limit)
        tc('qdisc', 'add', 'dev', 'sa', 'root', 'handle', '1:', 'tbf', 'rate', '100mbit',
           'burst', '70000', 'limit', '1m')
        tc('qdisc', 'add', 'dev', 'sa', 'parent', '1:1', 'handle', '2:', 'mrcsw')
        with Port() as port:
            tcp_through()
            assert port.stats()['data_pkts'] > 8 * 65536 // 1500
            end = time.monotonic() + 10
            while any(port.tc_stats(h)['qlen'] for h in (1, 2)) and time.monotonic() < end:
                time.sleep(0.05)
            for handle in (1, 2):
                stats = port.tc_stats(handle)
                expect((stats['qlen'], stats['backlog']), (0, 0))


def test_places():
    """as root, below htb and below netem"""
    packets = [v6(n, 1000, TRIMMABLE) for n in range(8)]
    with Port() as port:
        tc('qdisc', 'add', 'dev', 'sa', 'root', 'handle', '2:', 'mrcsw')
        port.send(*packets)
        expect(port.receive(8), packets)
    with Port(trim_bytes=2100) as port:
        tc('qdisc', 'add', 'dev', 'sa', 'root', 'handle', '1:', 'htb', 'default', '1')
        tc('class', 'add', 'dev', 'sa', 'parent', '1:', 'classid', '1:1', 'htb', 'rate', '1kbit',
           'ceil', '1kbit', 'burst', '1514', 'cburst', '1514', 'quantum', '1514')
        tc('qdisc', 'add', 'dev', 'sa', 'parent', '1:1', 'handle', '2:', 'mrcsw')
        port.send(*packets)
        stats = port.stats()
        assert stats['trimmed'] >= 4 and stats['data_pkts'] + stats['trimmed'] == 8, stats
        for handle in (1, 2):
            assert port.tc_stats(handle)['qlen'] >= 2
        tc('class', 'change', 'dev', 'sa', 'parent', '1:', 'classid', '1:1', 'htb',
           'rate', '1gbit', 'burst', '100000', 'cburst', '100000', 'quantum', '1514')
        port.send(v4(100, 60, 0, port=9))
        expect(len(port.receive(9)), 9)
        for handle in (1, 2):
            expect(port.tc_stats(handle)['qlen'], 0)
    with Port(trim_bytes=2100) as port:
        tc('qdisc', 'add', 'dev', 'sa', 'root', 'handle', '3:', 'netem', 'delay', '1ms')
        tc('qdisc', 'add', 'dev', 'sa', 'parent', '3:1', 'handle', '1:', 'tbf', 'rate', '80kbit',
           'burst', str(FULL), 'limit', '1m')
        tc('qdisc', 'add', 'dev', 'sa', 'parent', '1:1', 'handle', '2:', 'mrcsw')
        port.send(*packets)
        expect(len(port.receive(8)), 8)
        for handle in (3, 1, 2):
            stats = port.tc_stats(handle)
            expect((stats['qlen'], stats['backlog']), (0, 0))
        assert port.stats()['trimmed'] >= 2


def test_removed_full():
    """a qdisc that holds packets can be removed"""
    with Port() as port:
        port.block()
        port.send(*[v6(n, 1000, TRIMMABLE) for n in range(10)])
        expect(port.tc_stats(2)['qlen'], 10)
    with Port() as port:
        port.block()
        expect(port.stats()['data_pkts'], 1)


def test_refusals():
    """bad parameters and options are refused; a module in use stays"""
    for params in ({'dscp_control': 64}, {'ecn_min': 2, 'ecn_max': 1},
                   {'data_limit': 1 << 31}, {'trim_len': 65536}, {'ports': 65536}):
        with Port(**params):
            refused('Invalid argument|exceeds|more than|too large',
                    'tc', '-n', 'swa', 'qdisc', 'add', 'dev', 'sa', 'root', 'mrcsw')
    with Port(ports=PORT) as port:
        tc('qdisc', 'add', 'dev', 'sa', 'root', 'handle', '2:', 'mrcsw_last')
        port.kind = 'mrcsw_last'
        refused('in use', 'rmmod', 'sch_mrcsw')
        expect(port.stats()['data_pkts'], 0)
    sh('rmmod', 'sch_mrcsw')
    sh('modprobe', 'sch_mrcsw')


def refused(words, *command):
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    text = done.stdout + done.stderr
    assert done.returncode != 0, f'succeeded: {command}'
    assert any(w in text for w in words.split('|')), text


def main():
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith('test_'):
            continue
        start = time.monotonic()
        try:
            test()
            result = 'ok'
        except Exception:
            print(traceback.format_exc())
            result = 'not ok'
            failed = 1
        configure()
        print(f'{test.__doc__}: {time.monotonic() - start:.1f} s')
        print(f'{result} switch port: {test.__doc__}', flush=True)
    return failed


sys.exit(main())

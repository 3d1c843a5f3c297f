#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The qdiscs mrcsw and mrcsw_last with hand-made packets: prints a TAP line
for each test."""
import socket
import subprocess
import sys
import time
import traceback

import mrc_packets as m
from switch_port import (B4, B6, CONTROL, FULL, LASTHOP, RETX, TRIMMABLE, TRIMMED,
                         Port, configure, ecn_of, enter, expect, ip6, marked, sh,
                         sr4, sr6, sr6h, tc, trimmed, udp, v4, v6, with_dscp)


def trims(make, kind, code, length, **params):
    """Two packets fit into the queue; the others are trimmed and overtake them."""
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
            # tc prints rounded values
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
               [with_dscp(shorts[0], TRIMMED), with_dscp(shorts[1], TRIMMED),
                trimmed(shorts[2], 400, TRIMMED), full, fits])


def test_others():
    """what is not trimmable data of MRC is queued, then dropped"""
    others = [v6(1, 1000, 0), v6(2, 1000, 20), v6(3, 1000, TRIMMABLE, port=4792),
              ip6(udp(4, 960), m.TCP, TRIMMABLE), v4(5, 1000, TRIMMABLE, frag=0x2000),
              v4(6, 1000, RETX, frag=100), ip6(sr6(7, 960, TRIMMABLE), m.IPV6, TRIMMABLE),
              ip6(b'', m.UDP, TRIMMABLE) + bytes(960),
              ip6(bytes(1000), m.ROUTING, TRIMMABLE),
              ip6(b'\x06' + bytes(999), m.IPV6, TRIMMABLE),
              ip6(b'\x43' + bytes(999), m.IPIP, TRIMMABLE)]
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
        want = [p if n < 9 or ecn_of(p) in (0, 3) else marked(p)
                for n, p in enumerate(packets)]
        expect(marks(port, packets), want)
        expect(port.stats()['marked'], 9)
    # With any length of the queue. Control packets are never marked.
    with Port(ecn_min=0, ecn_max=1) as port:
        packets = [v6(1, 200, CONTROL, 2), v6(2, 200, 0, 2), v4(3, 200, TRIMMABLE, 1)]
        expect(marks(port, packets),
               [packets[0], marked(packets[1]), marked(packets[2])])


def test_ecn_slope():
    """between two lengths of the queue marking grows"""
    with Port(ecn_min=100000, ecn_max=300000, trim_bytes=0) as port:
        got = marks(port, [v6(n, 986, 0, 2) for n in range(400)])
        seen = [ecn_of(p) == 3 for p in got]
        expect(sum(seen), port.stats()['marked'])
        assert not any(seen[:100]) and all(seen[300:])
        low, high = sum(seen[100:200]), sum(seen[200:300])
        # 25 and 75 are expected; each bound is more than four deviations away
        assert 5 <= low <= 45 and 55 <= high <= 95, (low, high)


def delivered(packets, checks):
    """Checks whether sockets of the other side receive the rest of the data."""
    enter('swb')
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        if not checks:
            s.setsockopt(socket.IPPROTO_UDP, 102, 1)
        s.bind(('::', m.PORT))
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
    delivered([m.put_udp_sum(p) for p in (
        v4(1, 1000, TRIMMABLE), v6(2, 1000, TRIMMABLE), v6(3, 1001, TRIMMABLE))],
        True)


def test_own_socket():
    """trimmed packets of a socket whose checksum the netdev would add"""
    enter('swb')
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as there:
        there.bind(('::', m.PORT))
        there.settimeout(10)
        enter('swa')
        with Port(trim_bytes=1000) as port:
            port.block()
            port.send(v6(0, 1400, 0, port=9))
            enter('swa')
            with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as here:
                here.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, TRIMMABLE << 2)
                here.sendto(bytes(range(250)) * 4, (B6, m.PORT))
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
                here.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, TRIMMABLE << 2)
                here.sendto(bytes(range(250)) * 4, (B4, m.PORT))
            expect(port.stats()['trimmed'], 2)
            port.release()
        for head in (48, 28):
            expect(there.recv(4096), bytes(range(250))[:132 - head])


def tcp_through():
    """A TCP stream, whose packets are large before they are segmented."""
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
    with Port(ports=m.PORT) as port:
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

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Writes the captures of the tests, and for each one a list of the names of its packets.

usage: captures.py DIRECTORY"""
import pathlib
import struct
import sys

import samples
import session

EPOCH = 1700000000
ETHERNET_LINK = 1


def write_pcap(path, frames):
    """frames: (microseconds, bytes captured, length on the wire)."""
    out = [struct.pack('<IHHiIII', 0xA1B2C3D4, 2, 4, 0, 0, 262144, ETHERNET_LINK)]
    for at, frame, length in frames:
        out.append(struct.pack('<IIII', EPOCH + at // 1000000, at % 1000000, len(frame),
                               length) + frame)
    pathlib.Path(path).write_bytes(b''.join(out))


def block(kind, content):
    content += bytes(-len(content) % 4)
    size = struct.pack('<I', 12 + len(content))
    return struct.pack('<I', kind) + size + content + size


def write_pcapng(path, names, frames):
    """frames: (microseconds, number of the interface, frame)."""
    out = block(0x0A0D0D0A, struct.pack('<IHHq', 0x1A2B3C4D, 1, 0, -1))
    for name in names:
        option = struct.pack('<HH', 2, len(name)) + name.encode()
        out += block(1, struct.pack('<HHI', ETHERNET_LINK, 0, 0) +
                     option + bytes(-len(option) % 4) + bytes(4))
    for at, interface, frame in frames:
        stamp = EPOCH * 1000000 + at
        out += block(6, struct.pack('<IIIII', interface, stamp >> 32, stamp & 0xFFFFFFFF,
                                    len(frame), len(frame)) + frame)
    pathlib.Path(path).write_bytes(out)


def independent(packets):
    """IP packets that have nothing to do with each other, one each millisecond."""
    return [(1000 * i, frame, len(frame))
            for i, frame in enumerate(samples.ethernet(p) for _, p in packets)]


CAPTURES = {
    'opcodes': samples.all_opcodes,
    'wrapped': samples.wrapped,
    'trimmed': samples.trimmed,
    'wrong': samples.wrong,
    'foreign': samples.foreign,
}
SESSIONS = {
    'losses': session.losses,
    'endpoints': session.endpoints,
    'extension': session.extension,
    'wrap': session.wrap,
    'echoes': session.echoes,
}


def write_all(folder):
    vectors = samples.vectors()
    write_pcap(folder / 'vectors.pcap', [(1000 * i, frame, len(frame))
                                         for i, (_, frame) in enumerate(vectors)])
    names = {'vectors': [name for name, _ in vectors]}
    for name, make in CAPTURES.items():
        packets = make()
        write_pcap(folder / (name + '.pcap'), independent(packets))
        names[name] = [p[0] for p in packets]
    for name, make in SESSIONS.items():
        write_pcap(folder / (name + '.pcap'), [(at, frame, len(frame))
                                               for at, frame in make()])
    for name, lines in names.items():
        (folder / (name + '.names')).write_text(''.join(n + '\n' for n in lines),
                                                encoding='ascii')
    plain = samples.ethernet(samples.send6(samples.data_body(0xCA, 1)))
    lab = samples.ethernet(samples.send6(samples.data_body(0xCA, 2)),
                           bytes.fromhex('02f004130101' '02f004310101'))
    write_pcapng(folder / 'interfaces.pcapng', ['p1', 'p2', 'eth0'],
                 [(0, 0, plain), (1, 1, plain), (2, 2, plain), (3, 2, lab)])


if __name__ == '__main__':
    write_all(pathlib.Path(sys.argv[1]))

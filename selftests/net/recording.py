#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Puts the pcap files of tcpdump, one for each plane, into one pcapng file by time, and checks
that it has what recording.sh had the driver send.

usage: recording.py PCAPNG PCAP..."""
import collections
import pathlib
import struct
import sys

import mrc_packets as m

ETHERNET = 1
# SEND_LAST_INVALIDATE is the only one that no program of the tests sends.
OPCODES = [*range(0xC0, 0xD3), 0xD3, 0xD4, 0xD5, 0xD7, 0xD8, 0xD9, 0xDA, m.SACK, m.NACK,
           m.PROBE]


def read_pcap(path):
    """(microseconds, frame); a file that ends within a record is an error."""
    raw = path.read_bytes()
    magic, _, _, _, _, _, link = struct.unpack_from('=IHHiIII', raw)
    assert magic == 0xA1B2C3D4 and link == ETHERNET, path
    at, out = 24, []
    while at < len(raw):
        seconds, micro, size, length = struct.unpack_from('=IIII', raw, at)
        assert size == length, '%s: a packet that is not whole' % path
        frame = raw[at + 16:at + 16 + size]
        assert len(frame) == size, '%s: ends within a packet' % path
        out.append((seconds * 1000000 + micro, frame))
        at += 16 + size
    return out


def block(kind, content):
    content += bytes(-len(content) % 4)
    size = struct.pack('<I', 12 + len(content))
    return struct.pack('<I', kind) + size + content + size


def write_pcapng(path, names, frames):
    """frames: (microseconds, number of the interface, frame)."""
    out = [block(0x0A0D0D0A, struct.pack('<IHHq', 0x1A2B3C4D, 1, 0, -1))]
    for name in names:
        option = struct.pack('<HH', 2, len(name)) + name.encode()
        out.append(block(1, struct.pack('<HHI', ETHERNET, 0, 0) +
                         option + bytes(-len(option) % 4) + bytes(4)))
    for stamp, interface, frame in frames:
        out.append(block(6, struct.pack('<IIIII', interface, stamp >> 32, stamp & 0xFFFFFFFF,
                                        len(frame), len(frame)) + frame))
    path.write_bytes(b''.join(out))


def innermost(packet):
    """The IP packet around UDP, or None."""
    while packet[0] >> 4 == 6 and packet[6] in (m.IPIP, m.IPV6):
        packet = m.Outer(packet).inner
    return packet if packet[9 if packet[0] >> 4 == 4 else 6] == m.UDP else None


def main():
    target, *sources = map(pathlib.Path, sys.argv[1:])
    frames = sorted((stamp, i, frame) for i, path in enumerate(sources)
                    for stamp, frame in read_pcap(path))
    write_pcapng(target, [path.stem for path in sources], frames)
    opcodes, kinds, wrong = collections.Counter(), collections.Counter(), 0
    for _, interface, frame in frames:
        outer = frame[14:]
        packet = innermost(outer)
        if not packet:
            continue
        head = 20 if packet[0] >> 4 == 4 else 40
        kinds['plane %d' % (interface + 1)] += 1
        kinds['SRv6' if outer is not packet else 'IPv%d' % (packet[0] >> 4)] += 1
        if m.tos_of(outer) >> 2 in (12, 16):
            kinds['trimmed'] += 1
            opcodes[packet[head + 8]] += 1
            continue
        p = m.Packet(packet, head)
        if p.opcode not in range(0xC0, 0xE0):
            kinds['RoCE v2'] += 1
            continue
        opcodes[p.opcode] += 1
        wrong += not p.ok_icrc
        kinds['sent again'] += p.opcode < 0xDB and p.rtx
        if p.opcode == m.NACK:
            kinds['refused: 0x%02x' % p.reason] += 1
    for name, count in [*sorted(kinds.items()),
                        *(('0x%02x' % o, n) for o, n in sorted(opcodes.items()))]:
        print('figure: %s: %d packets' % (name, count))
    print('figure: %d packets, %d bytes' % (len(frames), target.stat().st_size))
    missing = ['0x%02x' % o for o in OPCODES if not opcodes[o]]
    assert not missing, 'no packet with the opcodes %s' % ' '.join(missing)
    for name in ('plane 1', 'plane 2', 'SRv6', 'IPv4', 'IPv6', 'trimmed', 'sent again',
                 'refused: 0x01', 'refused: 0x02', 'refused: 0x0a'):
        assert kinds[name], 'no packet: ' + name
    assert not wrong, '%d packets have a wrong ICRC' % wrong


if __name__ == '__main__':
    main()

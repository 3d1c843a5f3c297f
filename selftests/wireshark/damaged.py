# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Packets that are cut at every place, and packets with random errors. Always the same."""
import random

import samples as s
from samples import m

SEED = 22
MUTATIONS = 6000


def sample_frames():
    """(name, frame) of every valid packet."""
    found = s.vectors()
    for packets in (s.all_opcodes(), s.wrapped()):
        found += [(name, s.ethernet(p)) for name, p in packets]
    return found


def headers_end(packet):
    """Where the BTH begins, and whether the IP headers are those that m.trim() knows."""
    at, kind = 0, None
    while kind != m.UDP:
        if kind == m.ROUTING:
            kind, at = packet[at], at + 8 + packet[at + 1] * 8
        elif packet[at] >> 4 == 4:
            if packet[at] != 0x45:
                return 0
            kind, at = packet[at + 9], at + 20
        else:
            kind, at = packet[at + 6], at + 40
    return at + 8


def snapped():
    """Every sample, captured with every length below its own."""
    for _, frame in sample_frames():
        for length in range(14, len(frame)):
            yield frame[:length], len(frame)


def shortened():
    """Every sample, really cut behind each byte of UDP payload, lengths corrected."""
    for _, frame in sample_frames():
        packet = frame[14:]
        start = headers_end(packet)
        for length in range(start + 1, len(packet) if start else 0):
            cut = s.ethernet(m.trim(packet, length, m.tos_of(packet)))
            yield cut, len(cut)


def lying():
    """Every sample, really cut, with lengths that say something else."""
    for _, frame in sample_frames():
        for length in range(14, len(frame)):
            yield frame[:length], length


def trimmed():
    """Every data packet, trimmed behind each byte of the UDP payload."""
    for _, frame in sample_frames():
        packet = frame[14:]
        start = headers_end(packet)
        if start and packet[start] not in (0xD1, *range(0xD8, 0xDA), *range(0xDC, 0xDF)):
            for length in range(start + 12, len(packet)):
                for correct in (True, False):
                    cut = (m.trim(packet, length, s.TRIMMED_TOS) if correct else
                           m.put_tos(packet, s.LASTHOP_TOS)[:length])
                    yield s.ethernet(cut), 14 + len(cut)


def mutate(rng, frames):
    """One frame with some bytes changed, perhaps shorter or longer."""
    frame = bytearray(rng.choice(frames))
    start = headers_end(bytes(frame[14:])) + 14
    first = rng.choice((14, start - 8, start, start))
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(first, len(frame))
        frame[at] = rng.choice((0, 0xFF, frame[at] ^ 1 << rng.randrange(8),
                                rng.randrange(256)))
    if rng.random() < 0.2:
        del frame[rng.randrange(14, len(frame)):]
    elif rng.random() < 0.1:
        frame += rng.randbytes(rng.randrange(1, 64))
    return bytes(frame)


def random_body(rng):
    """An MRC opcode with random bytes behind it, and a right ICRC."""
    body = bytes([rng.randrange(0xC0, 0xE0)]) + rng.randbytes(rng.randrange(0, 90))
    if len(body) > 12 and rng.random() < 0.7:
        body = m.put(body, 1, bytes([body[1] & 0xF0]))
        body = m.put(body, 5, rng.choice((b'\0\1\1', b'\0\2\2', b'\0\0\2')))
    if rng.random() < 0.5:
        return s.ethernet(s.send4(body, tos=rng.randrange(256)))
    return s.ethernet(s.send6(body, back=rng.random() < 0.5, tos=rng.randrange(256)))


def mutations():
    rng = random.Random(SEED)
    frames = [frame for _, frame in sample_frames() if headers_end(frame[14:])]
    for i in range(MUTATIONS):
        frame = random_body(rng) if i % 3 == 0 else mutate(rng, frames)
        yield frame, len(frame)


def write_all(folder, write_pcap):
    """Writes a capture of each kind; returns the number of frames by name."""
    counts = {}
    for make in (snapped, shortened, lying, trimmed, mutations):
        name = 'damaged_' + make.__name__
        frames = [(10 * i, frame, length) for i, (frame, length) in enumerate(make())]
        write_pcap(folder / (name + '.pcap'), frames)
        counts[name] = len(frames)
    return counts

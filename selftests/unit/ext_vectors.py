#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Checks the test vectors of Documentation/extension.md.

Reads each frame's fields and bytes from the document, decodes the bytes by the
tables of the document and of MRC 1.0 with nothing of the driver's code, and
compares every field and the ICRC.

usage: ext_vectors.py [extension.md]
"""
import pathlib
import re
import sys
import zlib

METH, RETH, IMM, OPETH, AETH, SETH, NETH, PETH = range(8)

OPCODES = {
    0xC0: ("SEND_FIRST", (METH, RETH)),
    0xC1: ("SEND_MIDDLE", (METH, RETH)),
    0xC2: ("SEND_LAST", (METH, RETH)),
    0xC3: ("SEND_LAST_IMM", (METH, RETH, IMM)),
    0xC4: ("SEND_ONLY", (METH, RETH)),
    0xC5: ("SEND_ONLY_IMM", (METH, RETH, IMM)),
    0xCC: ("READ_REQUEST", (METH, RETH)),
    0xCD: ("READ_RESPONSE_FIRST", (METH, RETH)),
    0xCE: ("READ_RESPONSE_MIDDLE", (METH, RETH)),
    0xCF: ("READ_RESPONSE_LAST", (METH, RETH)),
    0xD0: ("READ_RESPONSE_ONLY", (METH, RETH)),
    0xD1: ("ACKNOWLEDGE", (AETH,)),
    0xD2: ("ATOMIC_RESPONSE", (METH, RETH)),
    0xD3: ("COMPARE_SWAP", (METH, RETH, OPETH)),
    0xD4: ("FETCH_ADD", (METH, RETH, OPETH)),
    0xD5: ("FLUSH", (METH, RETH, OPETH)),
    0xD6: ("SEND_LAST_INVALIDATE", (METH, RETH)),
    0xD7: ("SEND_ONLY_INVALIDATE", (METH, RETH)),
    0xDA: ("ATOMIC_WRITE", (METH, RETH, OPETH)),
    0xDC: ("RELIABILITY_SACK", (SETH,)),
    0xDD: ("RELIABILITY_NACK", (NETH,)),
    0xDE: ("RELIABILITY_PROBE_REQ", (PETH,)),
}

# (name, first byte, bytes, base of the document's notation, signed)
FIELDS = {
    METH: (4, [("rqmsn", 0, 2, 10, 0), ("msn", 2, 2, 10, 0)]),
    RETH: (16, [("va", 0, 8, 16, 0), ("rkey", 8, 4, 16, 0),
                ("dmalen", 12, 4, 10, 0)]),
    IMM: (4, [("imm", 0, 4, 16, 0)]),
    OPETH: (16, [("swap", 0, 8, 16, 0), ("compare", 8, 8, 16, 0)]),
    AETH: (4, [("syndrome", 0, 1, 16, 0), ("amsn", 1, 3, 10, 0)]),
    SETH: (36, [("ack_offset", 2, 2, 10, 1), ("reflected", 4, 4, 16, 0),
                ("spdcid", 8, 2, 16, 0), ("dpdcid", 10, 2, 16, 0),
                ("cack", 12, 4, 16, 0), ("sack_offset", 18, 2, 10, 1),
                ("bitmap", 20, 8, 16, 0), ("echo", 28, 2, 16, 0),
                ("ooo", 30, 2, 10, 0), ("rcvd", 33, 3, 10, 0)]),
    NETH: (20, [("reason", 2, 1, 16, 0), ("vendor", 3, 1, 16, 0),
                ("reflected", 4, 4, 16, 0), ("spdcid", 8, 2, 16, 0),
                ("dpdcid", 10, 2, 16, 0), ("nack_psn", 12, 4, 16, 0)]),
    PETH: (16, [("probe_id", 4, 2, 16, 0), ("spdcid", 8, 2, 16, 0),
                ("dpdcid", 10, 2, 16, 0), ("tstamp", 12, 2, 16, 0)]),
}


def icrc(packet, l3):
    """CRC of the masked packet, §2.4, as the four bytes on the wire."""
    p = bytearray(packet[:-4])
    if l3 == 40:
        p[0] |= 0x0F
        p[1:4] = b"\xff\xff\xff"
        p[7] = 0xFF
    else:
        p[1] = p[8] = p[10] = p[11] = 0xFF
    p[l3 + 6:l3 + 8] = b"\xff\xff"
    p[l3 + 8 + 4] = 0xFF
    return zlib.crc32(b"\xff" * 8 + bytes(p)).to_bytes(4, "little")


def decode(frame):
    """The fields of a frame: a dictionary of numbers and strings."""
    f = {}
    ip = frame[14:]
    f["ip"] = ip[0] >> 4
    l3 = 40 if f["ip"] == 6 else 20
    assert frame[12:14] == (b"\x86\xdd" if l3 == 40 else b"\x08\x00")
    if l3 == 40:
        word = int.from_bytes(ip[:4], "big")
        f["tc"] = word >> 20 & 0xFF
        label = word & 0xFFFF
        assert int.from_bytes(ip[4:6], "big") == len(ip) - 40
        assert ip[6] == 17 and ip[7] == 64
        f["from"] = "A" if ip[23] == 1 else "B"
    else:
        f["tc"], label = ip[1], 0
        assert int.from_bytes(ip[2:4], "big") == len(ip)
        total = sum(int.from_bytes(ip[i:i + 2], "big") for i in range(0, 20, 2))
        assert (total & 0xFFFF) + (total >> 16) == 0xFFFF
        f["from"] = "A" if ip[15] == 1 else "B"
    udp = ip[l3:]
    f["entropy"] = label << 16 | int.from_bytes(udp[0:2], "big")
    assert udp[2:4] == b"\x12\xb7" and udp[6:8] == b"\0\0"
    assert int.from_bytes(udp[4:6], "big") == len(udp)
    bth = udp[8:]
    f["name"], headers = OPCODES[bth[0]]
    f["se"], f["pad"] = bth[1] >> 7, bth[1] >> 4 & 3
    assert not bth[1] & 0x4F and bth[2:4] == b"\xff\xff" and not bth[4]
    assert int.from_bytes(bth[5:8], "big") == (
        0x202 if f["from"] == "A" else 0x101)
    f["a"], f["rtx"] = bth[8] >> 7, bth[8] >> 5 & 1
    timed, f["c"] = bth[8] >> 4 & 1, bth[8] & 1
    f["recvs"] = bth[8] >> 1 & 1
    assert not bth[8] & 0x4C
    f["psn"] = int.from_bytes(bth[9:12], "big")
    at = 12
    for header in headers:
        size, fields = FIELDS[header]
        for name, first, n, _, signed in fields:
            f[name] = int.from_bytes(bth[at + first:at + first + n], "big",
                                     signed=bool(signed))
        if header == NETH:
            f["cc_type"] = bth[at + 16] >> 4
        at += size
        if header == METH and timed:
            f["tstamp"] = int.from_bytes(bth[at:at + 2], "big")
            assert bth[at + 2:at + 4] == b"\0\x01"
            at += 4
    f["payload"] = bth[at:len(bth) - 4 - f["pad"]]
    assert bth[len(bth) - 4 - f["pad"]:-4] == bytes(f["pad"])
    assert icrc(ip, l3) == frame[-4:], "ICRC"
    return f


def expected(text):
    """The fields that the document gives, and their number bases."""
    words = text.split()
    f = {"name": words[0]}
    bases = {name: base for _, fields in FIELDS.values()
             for name, _, _, base, _ in fields}
    bases.update(tc=16, entropy=16, psn=16, tstamp=16)
    for word in words[1:]:
        key, value = word.split("=")
        if key == "payload":
            f[key] = bytes(range(256)) if value == "00..ff" else \
                bytes.fromhex(value)
        elif key == "from":
            f[key] = value
        else:
            f[key] = int(value, bases.get(key, 10))
    return f


def main():
    here = pathlib.Path(__file__).resolve().parent
    doc = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else \
        here.parent.parent / "Documentation" / "extension.md"
    pattern = re.compile(r"^### (X\d+): .*?\n\n((?:    .*\n)+)\n```hex\n"
                         r"([0-9a-f\n]+)```", re.M)
    bad = 0
    vectors = pattern.findall(doc.read_text(encoding="utf-8"))
    for name, fields, text in vectors:
        want = expected(fields)
        try:
            got = decode(bytes.fromhex(text.replace("\n", "")))
        except (AssertionError, KeyError, IndexError) as why:
            print(f"{name}: cannot be decoded: {why!r}")
            bad += 1
            continue
        for key in sorted(set(want) | set(got)):
            if want.get(key, 0) != got.get(key, 0) and (
                    key != "payload" or got[key] or key in want):
                print(f"{name}: {key} is {got.get(key)!r}, "
                      f"the document says {want.get(key)!r}")
                bad += 1
    if len(vectors) < 10:
        print(f"only {len(vectors)} vectors found in {doc}")
        bad += 1
    print(f"{len(vectors)} vectors, {bad} differences")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())

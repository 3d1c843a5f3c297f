# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Conversations: packets that answer each other, with times. Two hosts of a fabric that is
numbered as mrclab does, two planes, two T1s in each, SRv6."""
import samples as s
from samples import m

HOST_A, HOST_B = 'fcbb:1:1::1', 'fcbb:1:2::2'
IDS_A, IDS_B = (s.QP_A, s.QP_B), (s.QP_B, s.QP_A)    # of packets from A, from B
PATHS = {1: (1, 1), 2: (1, 2), 3: (2, 1), 4: (2, 2)}    # plane and T1 by number of the EV
START_C = 0x800000


def entropy(path):
    return 0x00010000 * path + 0xC000 + path


class Session:
    """Collects (microseconds, frame)."""

    def __init__(self):
        self.now, self.frames = 0, []

    def put(self, packet, wait=10):
        self.now += wait
        self.frames.append((self.now, s.ethernet(packet)))

    def wrap(self, body, path, back, tos, with_icrc=True):
        plane, t1 = PATHS[path]
        ev = entropy(path)
        src, dst = (HOST_B, HOST_A) if back else (HOST_A, HOST_B)
        inner = m.ip_udp(src, dst, body, sport=ev & 0xFFFF, flow=ev >> 16, tos=tos,
                         with_icrc=with_icrc)
        if back:
            return m.encap(inner, 'fcbb:2:%x:2::2' % plane, 'fcbb:0:102:2%02x:101:301::' % t1,
                           tos=tos, flow=ev >> 16)
        return m.encap(inner, 'fcbb:2:%x:1::1' % plane, 'fcbb:0:101:2%02x:102:302::' % t1,
                       tos=tos, flow=ev >> 16)

    def a(self, body, path=1, tos=s.DATA_TOS, wait=10):
        """A packet from A to B."""
        self.put(self.wrap(body, path, False, tos), wait)

    def b(self, body, path=1, tos=s.CTRL_TOS, wait=10):
        """A packet from B to A."""
        self.put(self.wrap(body, path, True, tos), wait)


def write(opcode, psn, stamp, **fields):
    return m.write(opcode, s.QP_B, psn, s.VA + psn * 16, s.RKEY, b'0123456789abcdef',
                   total=64, stamp=stamp, **fields)


def losses():
    """One message of four packets of which two are lost, one with a mark, one trimmed."""
    t = Session()
    t.a(write(m.WRITE_FIRST, 0, 100), 1)
    t.a(write(m.WRITE_MIDDLE, 1, 101), 2)                       # lost
    t.a(write(m.WRITE_MIDDLE, 2, 102), 3, tos=s.DATA_TOS | 3)    # marked
    t.a(write(m.WRITE_LAST_IMM, 3, 103, imm=0x54455354, a=1), 4)
    t.b(s.sack(s.QP_A, 0, offset=2, bitmap=2, m=1, entropy=entropy(3), echo=102, ids=IDS_B,
               ooo=1, rcvd=2), 1)
    t.b(s.sack(s.QP_A, 0, offset=3, bitmap=6, entropy=entropy(4), echo=103, ids=IDS_B,
               ooo=2, rcvd=3), 3)
    t.a(write(m.WRITE_MIDDLE, 1, 110, rtx=1, a=1), 1, tos=s.RETX_TOS)     # lost again
    t.a(s.probe(s.QP_B, 0x77, stamp=120, ids=IDS_A), 3)
    t.b(s.sack(s.QP_A, 0, offset=0x77, pr=1, bitmap=6, entropy=entropy(3), echo=120,
               ids=IDS_B, ooo=2, rcvd=3), 3)
    t.a(write(m.WRITE_MIDDLE, 1, 130, rtx=1, a=1), 4, tos=s.RETX_TOS)
    t.put(m.trim(t.frames[-1][1][14:], 108, s.TRIMMED_TOS))      # the same, trimmed
    t.b(s.nack(s.QP_A, 1, 1, entropy=entropy(4), echo=130, ids=IDS_B), 3)
    t.a(write(m.WRITE_MIDDLE, 1, 140, rtx=1, a=1), 2, tos=s.RETX_TOS)
    t.b(s.sack(s.QP_A, 3, offset=-2, bitmap=0, rtx=1, entropy=entropy(2), echo=140,
               ids=IDS_B, rcvd=4), 1)
    t.b(m.ack(s.QP_A, 3, msn=1), 1)
    t.a(write(m.WRITE_MIDDLE, 1, 150, rtx=1, a=1), 3, tos=s.RETX_TOS)     # not needed
    t.b(s.sack(s.QP_A, 3, offset=-2, bitmap=0, rtx=1, entropy=entropy(3), echo=150,
               ids=IDS_B, rcvd=4), 1)
    t.b(m.ack(s.QP_A, 3, msn=1), 1)
    t.frames.append((t.now + 5, t.frames[0][1]))                # doubled by the network
    t.a(write(m.WRITE_ONLY, 2, 160), 1, wait=20)                 # not marked as sent again
    t.b(s.sack(s.QP_A, 3, offset=-1, bitmap=0, entropy=entropy(1), echo=160, ids=IDS_B,
               mpr=8, rcvd=4), 1)
    t.a(write(m.WRITE_ONLY, 3 + 1025, 170), 1)                   # beyond 8 * 128
    t.b(s.nack(s.QP_A, 3 + 1025, 0x0B, entropy=entropy(1), echo=170, ids=IDS_B), 1)
    t.b(s.nack(s.QP_A, 500, 0x07, entropy=entropy(1), ids=IDS_B), 1)      # never sent
    t.b(m.ack(s.QP_A, 4, 0x62, msn=1), 1)
    return t.frames


def endpoints():
    """Probes of EVs and port status, with and without answers."""
    t = Session()
    for path in PATHS:
        t.a(m.endpoint_request(0x100 + path, 1, stamp=path), path)
        if path != 2:
            t.b(s.endpoint_response(0x100 + path, 1, path), path, wait=20 + path)
    t.a(m.endpoint_request(0x200, 0, mask=0b010), 1, tos=s.CTRL_TOS)
    t.b(s.endpoint_response(0x200, 0), 1)
    t.b(s.endpoint_response(0x999, 1), 1)
    return t.frames


def extension():
    """A SEND that finds no receive, a READ in two packets, an atomic operation, a FLUSH."""
    t = Session()
    send = m.body(m.SEND_ONLY, s.QP_B, 10, m.meth(1, 0) + m.reth(0, 0, 5), b'hello', se=1, a=1)
    t.a(send, 1)
    t.b(s.nack(s.QP_A, 10, 10, vendor=0x81, entropy=entropy(1), ids=IDS_B), 1)
    t.a(m.put(send, 8, b'\xa0'), 2, tos=s.RETX_TOS)
    t.b(m.ack(s.QP_A, 10, msn=9, reserved=2), 2)
    t.a(m.request(m.READ_REQ, s.QP_B, 11, s.VA, s.RKEY, 40, num=0, msn=2), 3)
    t.a(m.request(m.FETCH_ADD, s.QP_B, 12, s.VA, s.RKEY, 8, num=1, msn=3, operands=(0, 5)), 4)
    t.b(s.sack(s.QP_A, 12, entropy=entropy(4), ids=IDS_B), 1)
    def answer(opcode, n, number, payload, va, total, path):
        headers = m.meth(number, 0) + m.reth(va, 0, total)
        t.b(m.body(opcode, s.QP_A, START_C + n, headers, payload, reserved=1, a=1), path,
            tos=s.DATA_TOS)
    answer(m.READ_RESP_FIRST, 0, 0, bytes(32), 0, 40, 1)
    answer(m.READ_RESP_LAST, 1, 0, bytes(8), 32, 40, 2)
    answer(m.ATOMIC_RESP, 2, 1, bytes(8), 0, 8, 3)
    t.a(s.sack(s.QP_B, START_C + 2, entropy=entropy(3), ids=IDS_A, reserved=1), 1,
        tos=s.CTRL_TOS)
    t.a(m.ack(s.QP_B, START_C + 2, msn=2, reserved=1), 1, tos=s.CTRL_TOS)
    t.a(m.request(m.FLUSH, s.QP_B, 13, s.VA, s.RKEY, 64, num=2, msn=4, operands=(3, 0)), 1)
    answer(m.READ_RESP_ONLY, 3, 2, b'', 0, 0, 1)
    return t.frames


def wrap():
    """PSNs that pass 2^24, and feedback without QPNs from two queue pairs."""
    t = Session()
    for i in range(4):
        t.a(write(m.WRITE_ONLY, (0xFFFFFE + i) & m.PSN_MASK, 10 + i), 1 + i)
    t.b(s.sack(s.QP_A, 0xFFFFFE, offset=3, bitmap=0b110, entropy=entropy(4), echo=13), 1)
    t.b(s.sack(s.QP_A, 1, offset=-2, entropy=entropy(2), echo=11), 1)
    other = m.write(m.WRITE_ONLY, 0x333, 900, s.VA, s.RKEY, b'')
    t.a(other, 1)
    t.b(s.sack(0x444, 900, entropy=entropy(1)), 1)
    t.b(m.ack(0x444, 900), 1)
    t.b(m.ack(s.QP_A, 1), 1)
    return t.frames


def echoes():
    """A packet sent twice on one path: the echoed timestamp says which one was answered."""
    t = Session()
    t.a(write(m.WRITE_ONLY, 5, 100, a=1), 1)
    t.a(write(m.WRITE_ONLY, 5, 200, a=1, rtx=1), 1, tos=s.RETX_TOS)
    t.b(s.sack(s.QP_A, 5, entropy=entropy(1), echo=100, ids=IDS_B), 1)
    t.b(s.sack(s.QP_A, 5, rtx=1, entropy=entropy(1), echo=200, ids=IDS_B), 1)
    return t.frames

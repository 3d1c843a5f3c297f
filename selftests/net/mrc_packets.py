# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Packets of MRC 1.0, of its extension and of RoCE v2, made and parsed by hand, for tests
that send packets that no driver would send. It shares no code with the driver on
purpose. It needs no RDMA; the sockets are in mrc_wire.py."""
import functools
import ipaddress
import os
import struct
import zlib

PORT = int(os.environ.get("MRC_PORT", "4791"))
ROCE = PORT.to_bytes(2, 'big')
PATIENCE = 30           # limit of any wait, in seconds
PSN_MASK = 0xFFFFFF
IPIP, TCP, UDP, IPV6, ROUTING, FRAGMENT, OPTIONS = 4, 6, 17, 41, 43, 44, 60

WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST = 0xC6, 0xC7, 0xC8
WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = 0xC9, 0xCA, 0xCB
DATA = range(WRITE_FIRST, WRITE_ONLY_IMM + 1)
ACK, ENDPOINT_REQ, ENDPOINT_RESP = 0xD1, 0xD8, 0xD9
SACK, NACK, PROBE = 0xDC, 0xDD, 0xDE
# The extension, Documentation/extension.md
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0xC0, 0xC1, 0xC2, 0xC4
SEND_ONLY_INV = 0xD7
READ_REQ, CMP_SWAP, FETCH_ADD, FLUSH, ATOMIC_WRITE = (0xCC, 0xD3, 0xD4, 0xD5,
                                                      0xDA)
READ_RESP_FIRST, READ_RESP_LAST, READ_RESP_ONLY = 0xCD, 0xCF, 0xD0
ATOMIC_RESP = 0xD2
ANS = 1                # BTH byte 8: packet of the answer channel
# RoCE v2
(UC_SEND_FIRST, UC_SEND_MIDDLE, UC_SEND_LAST, UC_SEND_LAST_IMM, UC_SEND_ONLY,
 UC_SEND_ONLY_IMM, UC_WRITE_FIRST, UC_WRITE_MIDDLE, UC_WRITE_LAST,
 UC_WRITE_LAST_IMM, UC_WRITE_ONLY, UC_WRITE_ONLY_IMM) = range(0x20, 0x2C)
UD_SEND, UD_SEND_IMM = 0x64, 0x65


# --- headers and what they carry ---------------------------------------------------

def bth(opcode, dqp, psn, *, se=0, mig=0, pad=0, tver=0, pkey=0xFFFF, a=0,
        rtx=0, ts=0, reserved=0):
    flags = a << 7 | rtx << 5 | ts << 4 | reserved
    return struct.pack('>BBHII', opcode, se << 7 | mig << 6 | pad << 4 | tver,
                       pkey, dqp & PSN_MASK, flags << 24 | psn & PSN_MASK)


def meth(msn=0, rqmsn=0):
    return struct.pack('>HH', rqmsn, msn)


def tseth(stamp, ftype=1):
    return struct.pack('>HH', stamp, ftype)


def reth(va, rkey, length):
    return struct.pack('>QII', va, rkey, length)


def deth(qkey, sqp):
    return struct.pack('>II', qkey, sqp)


def body(opcode, dqp, psn, headers=b'', data=b'', **bits):
    """BTH, other headers, payload and padding: a packet without IP, UDP and ICRC."""
    pad = -len(data) % 4
    bits.setdefault('pad', pad)
    return bth(opcode, dqp, psn, **bits) + headers + data + bytes(pad)


def write(opcode, dqp, psn, va, rkey, data, *, total=None, imm=None, msn=0,
          rqmsn=0, stamp=None, **bits):
    """One data packet."""
    headers = meth(msn, rqmsn)
    if stamp is not None:
        headers += tseth(stamp)
    headers += reth(va, rkey, len(data) if total is None else total)
    if imm is not None:
        headers += struct.pack('>I', imm)
    return body(opcode, dqp, psn, headers, data, ts=stamp is not None, **bits)


def request(opcode, dqp, psn, va, rkey, length, *, num=0, msn=0, operands=None,
            data=b'', **bits):
    """A READ or another request. operands: swap and compare."""
    headers = meth(msn, num) + reth(va, rkey, length)
    if operands is not None:
        headers += struct.pack('>QQ', *operands)
    return body(opcode, dqp, psn, headers, data, **{'a': 1, **bits})


def ack(dqp, psn, syndrome=0x1F, msn=0, **bits):
    return bth(ACK, dqp, psn, **bits) + struct.pack('>I', syndrome << 24 | msn)


def sack(dqp, cack, *, offset=0, base=1, bitmap=0, pr=0, m=0, entropy=0,
         rcvd=0, **bits):
    seth = struct.pack('>BBHIHHI', 0, m << 5 | pr << 1, offset & 0xFFFF,
                       entropy, 0, 0, cack & PSN_MASK)
    seth += struct.pack('>BBhQHH', 0, 0, base, bitmap, 0, 0)
    return bth(SACK, dqp, cack, **bits) + seth + struct.pack('>I', rcvd)


def nack(dqp, psn, reason, entropy=0, **bits):
    neth = struct.pack('>HBBIHHIBBH', 0, reason, 0, entropy, 0, 0,
                       psn & PSN_MASK, 0x20, 0, 0)
    return bth(NACK, dqp, psn, **bits) + neth


def probe(dqp, probe_id, stamp=0, **bits):
    peth = struct.pack('>HBBHHHHHH', 0, 0, 0, probe_id, 0, 0, 0, stamp, 1)
    return bth(PROBE, dqp, 0, **bits) + peth


def endpoint_request(request_id, op, mask=0, stamp=0, dqp=2, **bits):
    erth = struct.pack('>BBBBIIHH', 0, op, 0, 0, mask, 0, stamp, 1)
    return bth(ENDPOINT_REQ, dqp, request_id, **bits) + erth


def icrc(ip_packet):
    """ICRC of an IP packet without its last four bytes, MRC 1.0 2.4."""
    p = bytearray(ip_packet)
    if p[0] >> 4 == 4:
        p[1] = 0xFF
        p[8] = 0xFF
        p[10:12] = b'\xff\xff'
        udp = 20
    else:
        p[0] |= 0x0F
        p[1:4] = b'\xff\xff\xff'
        p[7] = 0xFF
        udp = 40
    p[udp + 6:udp + 8] = b'\xff\xff'
    if len(p) > udp + 12:
        p[udp + 12] = 0xFF
    return struct.pack('<I', zlib.crc32(b'\xff' * 8 + bytes(p)))


# --- around them -------------------------------------------------------------------

@functools.cache
def packed(address):
    return ipaddress.ip_address(address).packed


def gid_text(address):
    """Eight groups of four digits, also for IPv4."""
    raw = packed(address)
    raw = raw if len(raw) == 16 else bytes(10) + b'\xff\xff' + raw
    return ':'.join(raw[i:i + 2].hex() for i in range(0, 16, 2))


def checksum(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack('>%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def put(packet, at, new):
    """Returns the packet with the bytes at offset @at replaced by @new."""
    return packet[:at] + new + packet[at + len(new):]


def put_sum(packet):
    """Returns the packet with the correct checksum in the IPv4 header."""
    end = (packet[0] & 15) * 4
    packet = put(packet, 10, bytes(2))
    return put(packet, 10, struct.pack('>H', checksum(packet[:end])))


def ip(src, dst, payload, *, kind=UDP, tos=0x12, flow=0, hops=64, length=None,
       frag=0x4000, options=b''):
    """An IP packet of the address family of src. length: the length that its header states
    for payload and options; flow is for IPv6, frag and options are for IPv4."""
    src, dst = packed(src), packed(dst)
    if length is None:
        length = len(options) + len(payload)
    if len(src) == 16:
        return struct.pack('>IHBB16s16s', 6 << 28 | tos << 20 | flow, length,
                           kind, hops, src, dst) + payload
    return put_sum(struct.pack('>BBHHHBBH4s4s', 0x45 + len(options) // 4, tos,
                               20 + length, 0, frag, hops, kind, 0, src,
                               dst) + options) + payload


def udp(payload, *, sport=0xC0DE, dport=PORT, length=None):
    """A UDP datagram without a checksum."""
    return struct.pack('>HHHH', sport, dport, 8 + len(payload) if length is None
                       else length, 0) + payload


def put_udp_sum(packet, spoil=0):
    """An IP packet with a UDP checksum. spoil: bits to flip in it."""
    at, addresses = (20, 12) if packet[0] >> 4 == 4 else (40, 8)
    pseudo = packet[addresses:at] + struct.pack('>HH', UDP, len(packet) - at)
    value = checksum(pseudo + packet[at:]) ^ spoil
    return put(packet, at + 6, struct.pack('>H', value or 0xFFFF))


def ip_udp(src, dst, payload, *, sport=0xC0DE, dport=PORT, udp_len=None,
           with_icrc=True, spoil=0, udp_sum=None, **fields):
    """An IP packet around BTH and the data after it. spoil: bits to flip in the ICRC;
    udp_sum: bits to flip in a UDP checksum, None for the checksum 0."""
    tail = bytes(4) if with_icrc else b''
    packet = ip(src, dst, udp(payload + tail, sport=sport, dport=dport,
                              length=udp_len), **fields)
    if with_icrc:
        value, = struct.unpack('<I', icrc(packet[:-4]))
        packet = packet[:-4] + struct.pack('<I', value ^ spoil)
    return packet if udp_sum is None else put_udp_sum(packet, udp_sum)


# --- SRv6 and trimming -------------------------------------------------------------

def srh(next_header, segments, left=0, *, kind=4, tlv=b'', **fields):
    """A segment routing header around the given segments."""
    content = b''.join(packed(s) for s in segments) + tlv
    return struct.pack('>BBBBBBH', next_header,
                       fields.get('hdrlen', len(content) // 8), kind, left,
                       fields.get('last', len(segments) - 1), 0, 0) + content


def options_header(next_header):
    """An empty IPv6 options header."""
    return struct.pack('>BB6x', next_header, 0)


def fragment_header(next_header):
    """The header of a first fragment with further fragments to follow."""
    return struct.pack('>BBHI', next_header, 0, 1, 7)


def encap(inner, src, dst, *, segments=None, left=0, next_header=None,
          between=b'', **fields):
    """SRv6: an IP packet in an outer IPv6 header. segments: with an SRH; between: bytes
    after the outer header, next_header: their type."""
    kind = IPV6 if inner[:1] >= b'\x60' else IPIP
    if segments is not None:
        between, kind = srh(kind, segments, left), ROUTING
    return ip(src, dst, between + inner,
              kind=kind if next_header is None else next_header, **fields)


def trim(packet, length, tos):
    """The packet as a switch trims it. The packet has no UDP checksum."""
    cut, at, kind = packet[:length], 0, None
    while kind != UDP:
        if kind == ROUTING:
            kind, at = cut[at], at + 8 + cut[at + 1] * 8
        elif cut[at] >> 4 == 4:
            cut = put(cut, at + 2, struct.pack('>H', length - at))
            cut = cut[:at] + put_sum(cut[at:])
            kind, at = cut[at + 9], at + 20
        else:
            cut = put(cut, at + 4, struct.pack('>H', length - at - 40))
            kind, at = cut[at + 6], at + 40
    return put_tos(put(cut, at + 4, struct.pack('>H', length - at)), tos)


# --- reading -----------------------------------------------------------------------

def tos_of(packet):
    return packet[1] if packet[0] >> 4 == 4 else (
        int.from_bytes(packet[:2], 'big') >> 4 & 0xFF)


def put_tos(packet, tos):
    if packet[0] >> 4 == 4:
        return put_sum(put(packet, 1, bytes([tos])))
    return put(packet, 0, struct.pack('>H', 6 << 12 | tos << 4 |
                                      packet[1] & 15))


def flow_of(packet):
    return 0 if packet[0] >> 4 == 4 else (
        int.from_bytes(packet[:4], 'big') & 0xFFFFF)


class Outer:
    """The headers around an MRC packet on the wire; inner is that packet."""

    def __init__(self, packet):
        self.raw, self.inner = b'', packet
        if packet[0] >> 4 != 6 or packet[6] not in (IPIP, IPV6, ROUTING):
            return
        self.tos, self.flow = tos_of(packet), flow_of(packet)
        self.dst = ipaddress.ip_address(packet[24:40])
        end = 40 + int.from_bytes(packet[4:6], 'big')
        start = 48 + packet[41] * 8 if packet[6] == ROUTING else 40
        self.raw, self.inner = packet[:start], packet[start:end]


class Packet:
    """A packet of RoCE v2 on the wire, from its IP header on. Its headers are parsed on
    demand, because most packets are ignored."""

    def __init__(self, raw, udp_at):
        self.raw, self.udp_at = raw, udp_at
        self.opcode = raw[udp_at + 8]

    def __getattr__(self, name):
        if 'body' in self.__dict__:
            raise AttributeError(name)
        self.read()
        return getattr(self, name)

    def read(self):
        self.tos, self.flow = tos_of(self.raw), flow_of(self.raw)
        self.sport, self.dport = struct.unpack_from('>HH', self.raw,
                                                    self.udp_at)
        self.body = b = self.raw[self.udp_at + 8:-4]    # as body() makes it
        self.ok_icrc = icrc(self.raw[:-4]) == self.raw[-4:]
        self.dqp = int.from_bytes(b[5:8], 'big')
        self.rtx, self.ans = b[8] >> 5 & 1, b[8] & ANS
        self.psn = int.from_bytes(b[9:12], 'big')
        h = b[12:]
        if self.opcode == SACK:
            self.m, self.pr = h[1] >> 5 & 3, h[1] >> 1 & 1
            self.offset, self.entropy = struct.unpack('>hI', h[2:8])
            self.probe_id = self.offset & 0xFFFF
            self.cack = int.from_bytes(h[13:16], 'big')
            self.base, self.bitmap, self.stamp, self.ooo = struct.unpack(
                '>hQHH', h[18:32])
        elif self.opcode == NACK:
            self.reason, self.vendor = h[2], h[3]
            self.nack_psn = int.from_bytes(h[13:16], 'big')
        elif self.opcode == ACK:
            self.syndrome = h[0]
            self.msn = int.from_bytes(h[1:4], 'big')
        elif READ_RESP_FIRST <= self.opcode <= ATOMIC_RESP:
            # These packets have no timestamp.
            self.rqmsn, self.msn = struct.unpack('>HH', h[:4])
            h = h[4 + 4 * (b[8] >> 4 & 1):]
            self.va, self.rkey, self.length = struct.unpack('>QII', h[:16])
            self.data = h[16:len(h) - (b[1] >> 4 & 3)]

    @property
    def port_mask(self):
        """The ports that a port status update reports as up; None for other packets."""
        if self.opcode != ENDPOINT_REQ or self.body[13] & 3:
            return None
        return int.from_bytes(self.body[16:20], 'big')

    def received(self, psn):
        """Whether a SACK says that this PSN was received."""
        above = psn - self.cack & PSN_MASK
        bit = above - self.base
        return (above == 0 or above > PSN_MASK >> 1 or
                0 <= bit < 64 and self.bitmap >> bit & 1)


def inside(packet):
    """What is in an outer header without an SRH, or the packet."""
    return packet[40:] if packet[0] >> 4 == 6 and packet[6] in (IPV6, IPIP) else packet


def seen(packet):
    """The packet of RoCE v2 in @packet, or None."""
    if packet[0] >> 4 == 4:
        kind, at, end = packet[9], 20, packet[2] << 8 | packet[3]
    else:
        kind, at, end = packet[6], 40, 40 + (packet[4] << 8 | packet[5])
    if (kind != UDP or packet[at + 2:at + 4] != ROCE or
            min(end, len(packet)) < at + 8 + 12 + 4):
        return None
    return Packet(packet[:end], at)

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""MRC 1.0 packets made and read by hand, for tests that send what no driver
would send. Independent of the driver's own code on purpose."""
import ipaddress
import socket
import struct
import zlib

PORT = 4791
PATIENCE = 30           # seconds that anything awaited may take
PSN_MASK = 0xFFFFFF

WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST = 0xC6, 0xC7, 0xC8
WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = 0xC9, 0xCA, 0xCB
ACK, ENDPOINT_REQ, ENDPOINT_RESP = 0xD1, 0xD8, 0xD9
SACK, NACK, PROBE = 0xDC, 0xDD, 0xDE
# The extension, Documentation/extension.md
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0xC0, 0xC1, 0xC2, 0xC4
SEND_ONLY_INV = 0xD7
READ_REQ, CMP_SWAP, FETCH_ADD, FLUSH, ATOMIC_WRITE = (0xCC, 0xD3, 0xD4, 0xD5,
                                                      0xDA)
READ_RESP_FIRST, READ_RESP_LAST, READ_RESP_ONLY = 0xCD, 0xCF, 0xD0
ATOMIC_RESP = 0xD2
CHAN = 1                # BTH byte 8: of the answer channel


def bth(opcode, dqp, psn, *, se=0, pad=0, tver=0, pkey=0xFFFF, a=0, rtx=0,
        ts=0, reserved=0):
    flags = a << 7 | rtx << 5 | ts << 4 | reserved
    return struct.pack('>BBHII', opcode, se << 7 | pad << 4 | tver, pkey,
                       dqp & PSN_MASK, flags << 24 | psn & PSN_MASK)


def meth(msn=0, rqmsn=0):
    return struct.pack('>HH', rqmsn, msn)


def tseth(stamp, ftype=1):
    return struct.pack('>HH', stamp, ftype)


def reth(va, rkey, length):
    return struct.pack('>QII', va, rkey, length)


def write(opcode, dqp, psn, va, rkey, data, *, total=None, imm=None, msn=0,
          rqmsn=0, stamp=None, **bits):
    """One data packet, without IP, UDP and ICRC."""
    pad = -len(data) % 4
    bits.setdefault('pad', pad)
    out = bth(opcode, dqp, psn, ts=stamp is not None, **bits)
    out += meth(msn, rqmsn)
    if stamp is not None:
        out += tseth(stamp)
    out += reth(va, rkey, len(data) if total is None else total)
    if imm is not None:
        out += struct.pack('>I', imm)
    return out + data + bytes(pad)


def request(opcode, dqp, psn, va, rkey, length, *, num=0, msn=0, operands=None,
            data=b'', **bits):
    """READ and its like. operands: swap and compare."""
    bits.setdefault('pad', -len(data) % 4)
    out = bth(opcode, dqp, psn, **{'a': 1, **bits}) + meth(msn, num)
    out += reth(va, rkey, length)
    if operands is not None:
        out += struct.pack('>QQ', *operands)
    return out + data + bytes(-len(data) % 4)


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


def gid_text(address):
    """Eight groups of four digits, also for IPv4."""
    ip = ipaddress.ip_address(address)
    raw = ip.packed if ip.version == 6 else bytes(10) + b'\xff\xff' + ip.packed
    return ':'.join(raw[i:i + 2].hex() for i in range(0, 16, 2))


def checksum(data):
    total = sum(struct.unpack('>%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip_udp(src, dst, body, *, tos=0x12, sport=0xC0DE, dport=PORT, udp_len=None,
           with_icrc=True, spoil=0, flow=0, udp_sum=None):
    """An IP packet around body. spoil: bits to flip in the ICRC; udp_sum: bits
    to flip in a UDP checksum, None for the checksum 0."""
    src, dst = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    tail = bytes(4) if with_icrc else b''
    length = 8 + len(body) + len(tail)
    udp = struct.pack('>HHHH', sport, dport,
                      length if udp_len is None else udp_len, 0)
    if src.version == 4:
        head = struct.pack('>BBHHHBBH4s4s', 0x45, tos, 20 + length, 0, 0x4000,
                           64, 17, 0, src.packed, dst.packed)
        head = head[:10] + struct.pack('>H', checksum(head)) + head[12:]
    else:
        head = struct.pack('>IHBB16s16s', 6 << 28 | tos << 20 | flow, length,
                           17, 64, src.packed, dst.packed)
    packet = head + udp + body
    if with_icrc:
        value, = struct.unpack('<I', icrc(packet))
        packet += struct.pack('<I', value ^ spoil)
    if udp_sum is not None:
        udp = len(head)
        pseudo = src.packed + dst.packed + struct.pack('>HH', 17, length)
        data = packet[udp:] + bytes(-length % 2)
        value = checksum(pseudo + data) ^ udp_sum or 0xFFFF
        packet = packet[:udp + 6] + struct.pack('>H', value) + packet[udp + 8:]
    return packet


def srh(next_header, segments, left=0, *, kind=4, tlv=b'', **fields):
    """A segment routing header around the given segments."""
    segments = [ipaddress.ip_address(s).packed for s in segments]
    body = b''.join(segments) + tlv
    return struct.pack('>BBBBBBH', next_header,
                       fields.get('hdrlen', len(body) // 8), kind, left,
                       fields.get('last', len(segments) - 1), 0, 0) + body


def encap(inner, src, dst, *, tos=0x12, flow=0, segments=None, left=0,
          next_header=None, between=b'', hops=64, length=None):
    """SRv6: an IP packet in an outer IPv6 header. segments: with an SRH;
    between: bytes behind the outer header, next_header: what they are."""
    kind = 41 if inner[:1] >= b'\x60' else 4
    if segments is not None:
        between, kind = srh(kind, segments, left), 43
    if next_header is not None:
        kind = next_header
    payload = between + inner
    return struct.pack('>IHBB16s16s', 6 << 28 | tos << 20 | flow,
                       len(payload) if length is None else length, kind, hops,
                       ipaddress.ip_address(src).packed,
                       ipaddress.ip_address(dst).packed) + payload


class Outer:
    """What was around an MRC packet on the wire; inner is that packet."""

    def __init__(self, packet):
        self.raw, self.inner = b'', packet
        if packet[0] >> 4 != 6 or packet[6] not in (4, 41, 43):
            return
        first, self.length, self.next_header, self.hops = struct.unpack(
            '>IHBB', packet[:8])
        self.tos, self.flow = first >> 20 & 0xFF, first & 0xFFFFF
        self.src = ipaddress.ip_address(packet[8:24])
        self.dst = ipaddress.ip_address(packet[24:40])
        off, self.srh, self.inner_kind = 40, b'', self.next_header
        if self.next_header == 43:
            off += 8 + packet[41] * 8
            self.srh, self.inner_kind = packet[40:off], packet[40]
        self.raw, self.inner = packet[:off], packet[off:40 + self.length]


class Reply:
    """An MRC packet seen on the wire."""

    def __init__(self, packet):
        self.ok_icrc = icrc(packet[:-4]) == packet[-4:]
        v4 = packet[0] >> 4 == 4
        self.tos = packet[1] if v4 else (packet[0] << 4 | packet[1] >> 4) & 0xFF
        udp = packet[20 if v4 else 40:]
        self.sport, self.dport = struct.unpack('>HH', udp[:4])
        b = udp[8:]
        self.opcode = b[0]
        self.dqp = int.from_bytes(b[5:8], 'big')
        self.rtx, self.chan = b[8] >> 5 & 1, b[8] & CHAN
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
            # Without a timestamp; pad and ICRC end it.
            self.rqmsn, self.msn = struct.unpack('>HH', h[:4])
            h = h[4 + 4 * (b[8] >> 4 & 1):]
            self.va, self.rkey, self.length = struct.unpack('>QII', h[:16])
            self.data = h[16:len(h) - 4 - (b[1] >> 4 & 3)]


class Wire:
    """Raw access to one plane: whole IP packets out, MRC packets in."""

    def __init__(self, dev, peer_mac):
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                  socket.htons(3))
        self.sock.bind((dev, 0))
        with open('/sys/class/net/%s/address' % dev, encoding='ascii') as f:
            self.mac = bytes.fromhex(f.read().strip().replace(':', ''))
        self.peer_mac = bytes.fromhex(peer_mac.replace(':', ''))

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

    def replies(self, count, seconds=PATIENCE):
        """The next MRC packets from the peer, fewer when time is over."""
        found = []
        self.sock.settimeout(seconds)
        try:
            while len(found) < count:
                frame, addr = self.sock.recvfrom(65536)
                if addr[2] == socket.PACKET_OUTGOING:
                    continue
                packet = frame[14:]
                if packet[0] >> 4 == 4:
                    total = struct.unpack('>H', packet[2:4])[0]
                    if packet[9] != 17 or packet[22:24] != b'\x12\xb7':
                        continue
                else:
                    total = 40 + struct.unpack('>H', packet[4:6])[0]
                    if packet[6] != 17 or packet[42:44] != b'\x12\xb7':
                        continue
                reply = Reply(packet[:total])
                # The host asks by itself for a way back, when it likes.
                if reply.opcode != ENDPOINT_REQ:
                    found.append(reply)
        except TimeoutError:
            pass
        return found

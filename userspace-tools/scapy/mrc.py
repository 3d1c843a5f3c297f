# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Scapy layers of MRC 1.0 and of the extension of Soft MRC.

A field NAME of the layer MRC_HEADER is the field mrc.header.NAME of the Wireshark dissector;
Documentation/wireshark.md lists them. The ICRC and the padding are fields of MRC_BTH, since
they belong to the whole packet: mrc.icrc is MRC_BTH.icrc, mrc.pad is MRC_BTH.padding.

    from mrc import *
    p = (Ether() / IPv6(src='fd00:1::1', dst='fd00:1::2', tc=0x12, fl=0x1234) /
         UDP(sport=0xC001) /
         MRC_BTH(opcode='WRITE_ONLY', dqp=0x202, psn=16, a=1) / MRC_METH(msn=7) /
         MRC_TSETH(timestamp=0x100) / MRC_RETH(va=0x1000, rkey=1) / b'hello')

What is left out is filled in when the packet is built: pad, padding and ts of MRC_BTH,
the ICRC, dmalen of MRC_RETH (the length of the payload), UDP port 4791 and UDP checksum 0.
icrc=-1 builds a packet without an ICRC, as trimmed packets are."""
import sys
import zlib

from scapy.config import conf
from scapy.fields import (BitEnumField, BitField, ByteEnumField, ByteField, ConditionalField,
                          Field, IntField, ShortField, SignedShortField,
                          StrFixedLenField, StrField, XBitField, XByteField, XIntField,
                          XLongField, XShortField)
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw, bind_bottom_up, bind_top_down

__all__ = ['MRC_BTH', 'MRC_METH', 'MRC_TSETH', 'MRC_RETH', 'MRC_IMMDT', 'MRC_OPETH',
           'MRC_AETH', 'MRC_SETH', 'MRC_CC', 'MRC_NETH', 'MRC_PETH', 'MRC_ERTH', 'MRC_EETH',
           'MRC_OPCODES', 'mrc_bind_port', 'mrc_icrc', 'mrc_trimmed_dscp', 'Ether', 'IP',
           'IPv6', 'UDP', 'Raw']

# Values of the fabric. A data packet whose outermost IP header has one of them is trimmed.
mrc_trimmed_dscp = {12, 16}

MRC_OPCODES = {
    0xC0: 'SEND_FIRST', 0xC1: 'SEND_MIDDLE', 0xC2: 'SEND_LAST', 0xC3: 'SEND_LAST_IMM',
    0xC4: 'SEND_ONLY', 0xC5: 'SEND_ONLY_IMM', 0xC6: 'WRITE_FIRST', 0xC7: 'WRITE_MIDDLE',
    0xC8: 'WRITE_LAST', 0xC9: 'WRITE_LAST_IMM', 0xCA: 'WRITE_ONLY', 0xCB: 'WRITE_ONLY_IMM',
    0xCC: 'READ_REQUEST', 0xCD: 'READ_RESPONSE_FIRST', 0xCE: 'READ_RESPONSE_MIDDLE',
    0xCF: 'READ_RESPONSE_LAST', 0xD0: 'READ_RESPONSE_ONLY', 0xD1: 'ACKNOWLEDGE',
    0xD2: 'ATOMIC_RESPONSE', 0xD3: 'COMPARE_SWAP', 0xD4: 'FETCH_ADD', 0xD5: 'FLUSH',
    0xD6: 'SEND_LAST_INVALIDATE', 0xD7: 'SEND_ONLY_INVALIDATE', 0xD8: 'ENDPOINT_REQUEST',
    0xD9: 'ENDPOINT_RESPONSE', 0xDA: 'ATOMIC_WRITE', 0xDC: 'RELIABILITY_SACK',
    0xDD: 'RELIABILITY_NACK', 0xDE: 'RELIABILITY_PROBE_REQ',
}
NACK_REASONS = {0x01: 'TRIMMED', 0x02: 'TRIMMED_LASTHOP', 0x06: 'NO_BITMAP',
                0x07: 'NO_PKT_BUFFER', 0x0A: 'NO_RESOURCE', 0x0B: 'PSN_OOR_WINDOW',
                0x19: 'UNEXP_EVENT'}
SYNDROMES = {0x1F: 'ACK', 0x60: 'NAK_SEQUENCE', 0x61: 'NAK_INVALID_REQUEST',
             0x62: 'NAK_REMOTE_ACCESS', 0x63: 'NAK_REMOTE_OPERATION'}
PATH_STATES = {0: 'NONE', 1: 'SKIP_ONCE', 2: 'ALWAYS_SKIP', 3: 'reserved'}
ENDPOINT_OPS = {0: 'PORT_STATUS_UPDATE', 1: 'EV_PROBE', 2: 'reserved', 3: 'reserved3'}

IMMEDIATES = {0xC3, 0xC5, 0xC9, 0xCB}
OPERANDS = {0xD3, 0xD4, 0xD5, 0xDA}


# --- ICRC --------------------------------------------------------------------------

def mrc_icrc(packet):
    """The ICRC, as a number, of the bytes of an IP packet without its last four bytes. What
    routers and switches may change counts as ones."""
    p = bytearray(packet)
    if p[0] >> 4 == 4:
        udp = (p[0] & 15) * 4
        for at in (1, 8, 10, 11):
            p[at] = 0xFF
    else:
        udp = 40
        p[0] |= 0x0F
        p[1:4] = b'\xff\xff\xff'
        p[7] = 0xFF
    p[udp + 6:udp + 8] = b'\xff\xff'
    if len(p) > udp + 12:
        p[udp + 12] = 0xFF
    return zlib.crc32(b'\xff' * 8 + bytes(p))


class _Icrc(Field):
    """At the end of the packet. None: to be calculated; -1: there is none."""

    def __init__(self, name):
        Field.__init__(self, name, None, '<I')

    def getfield(self, pkt, s):
        if len(s) < 4 or pkt.is_trimmed():
            return s, -1
        return s[:-4], int.from_bytes(s[-4:], 'little')

    def addfield(self, pkt, s, val):
        return s

    def i2repr(self, pkt, x):
        return 'none' if x == -1 else 'auto' if x is None else '0x%08x' % x


class _Padding(StrField):
    """In front of the ICRC. None: as many zeros as are needed."""

    def __init__(self, name):
        StrField.__init__(self, name, None)

    def getfield(self, pkt, s):
        # Behind trimmed headers is payload, as far as it has survived. A pad count that is
        # more than there is names no bytes.
        count = 0 if pkt.icrc == -1 else pkt.pad
        if not count or len(s) < pkt.headers_length() + count:
            return s, b''
        return s[:-count], s[-count:]

    def addfield(self, pkt, s, val):
        return s


# --- headers -----------------------------------------------------------------------

class _Header(Packet):
    """A header behind the BTH. What follows it depends on the opcode."""

    def guess_payload_class(self, payload):
        below = self.underlayer
        while below is not None and not isinstance(below, MRC_BTH):
            below = below.underlayer
        return below.class_after(type(self), payload) if below else conf.raw_layer


class MRC_METH(_Header):
    name = 'MRC METH'
    fields_desc = [ShortField('rqmsn', 0), ShortField('msn', 0)]


class MRC_TSETH(_Header):
    name = 'MRC TSETH'
    fields_desc = [XShortField('timestamp', 0), BitField('tsr', 0, 1),
                   XBitField('res', 0, 11), BitField('ftype', 1, 4)]


class MRC_RETH(_Header):
    name = 'MRC RETH'
    fields_desc = [XLongField('va', 0), XIntField('rkey', 0), IntField('dmalen', None)]

    def post_build(self, p, pay):
        if self.dmalen is None:
            rest = self.payload
            length = len(pay)
            if isinstance(rest, MRC_IMMDT):
                length -= 4
            elif isinstance(rest, MRC_OPETH):
                length = 8
            p = p[:12] + length.to_bytes(4, 'big')
        return p + pay


class MRC_IMMDT(_Header):
    name = 'MRC ImmDt'
    fields_desc = [XIntField('imm', 0)]


class MRC_OPETH(_Header):
    name = 'MRC OPETH'
    fields_desc = [XLongField('swap', 0), XLongField('compare', 0)]


class MRC_AETH(_Header):
    name = 'MRC AETH'
    fields_desc = [ByteEnumField('syndrome', 0x1F, SYNDROMES), BitField('msn', 0, 24)]


class MRC_SETH(_Header):
    name = 'MRC SETH'
    fields_desc = [
        XBitField('type', 0, 4), XBitField('nh', 0, 5), BitEnumField('m', 0, 2, PATH_STATES),
        XBitField('res1', 0, 3), BitField('pr', 0, 1), XBitField('res2', 0, 1),
        ConditionalField(SignedShortField('ack_psn_offset', 0), lambda p: not p.pr),
        ConditionalField(XShortField('probe_id', 0), lambda p: p.pr),
        XIntField('entropy', 0), XShortField('spdcid', 0), XShortField('dpdcid', 0),
        XByteField('res3', 0), BitField('cack_psn', 0, 24),
        BitField('cc_type', 0, 4), XBitField('cc_fl', 0, 4), ByteField('mpr', 0),
        SignedShortField('sack_offset', 1), XLongField('sack_bitmap', 0),
    ]

    def received(self):
        """PSNs that the map says are received, without those up to cack_psn."""
        return [(self.cack_psn + self.sack_offset + i) & 0xFFFFFF for i in range(64)
                if self.sack_bitmap >> i & 1]


class MRC_CC(_Header):
    name = 'MRC CC_STATE'
    fields_desc = [XShortField('timestamp', 0), XBitField('res', 0, 1),
                   BitField('ooo_count', 0, 15), BitField('restore_cwnd', 0, 1),
                   BitField('rcv_cwnd_pen', 0, 7), BitField('rcvd_bytes', 0, 24)]


class MRC_NETH(_Header):
    name = 'MRC NETH'
    fields_desc = [
        XBitField('type', 0, 4), XBitField('nh', 0, 5), XBitField('res1', 0, 7),
        ByteEnumField('reason', 0x0A, NACK_REASONS), XByteField('vendor_info', 0),
        XIntField('entropy', 0), XShortField('spdcid', 0), XShortField('dpdcid', 0),
        XByteField('res2', 0), BitField('nack_psn', 0, 24),
        BitField('cc_type', 2, 4), XBitField('cc_fl', 0, 4), XByteField('res3', 0),
        XShortField('timestamp', 0),
    ]


class MRC_PETH(_Header):
    name = 'MRC PETH'
    fields_desc = [
        XBitField('type', 0, 4), XBitField('nh', 0, 5), XBitField('res1', 0, 7),
        XByteField('res2', 0), XByteField('vendor_info', 0), XShortField('probe_id', 0),
        XShortField('res3', 0), XShortField('spdcid', 0), XShortField('dpdcid', 0),
        XShortField('timestamp', 0), BitField('tsr', 0, 1), XBitField('res4', 0, 11),
        BitField('ftype', 1, 4),
    ]


class MRC_ERTH(_Header):
    name = 'MRC ERTH'
    fields_desc = [
        XBitField('type', 0, 4), XBitField('nh', 0, 5), XBitField('res1', 0, 5),
        BitEnumField('op', 1, 2, ENDPOINT_OPS), XByteField('res2', 0),
        XByteField('vendor_info', 0), XIntField('port_status_mask', 0), XIntField('res3', 0),
        XShortField('timestamp', 0), BitField('tsr', 0, 1), XBitField('res4', 0, 11),
        BitField('ftype', 1, 4),
    ]


class MRC_EETH(_Header):
    name = 'MRC EETH'
    fields_desc = [
        XBitField('type', 0, 4), XBitField('nh', 0, 5), XBitField('res1', 0, 3),
        BitEnumField('op', 1, 2, ENDPOINT_OPS), XBitField('res2', 0, 2),
        StrFixedLenField('res3', bytes(26), 26), XShortField('timestamp', 0),
        StrFixedLenField('res4', bytes(6), 6),
    ]


LENGTHS = {MRC_METH: 4, MRC_TSETH: 4, MRC_RETH: 16, MRC_IMMDT: 4, MRC_OPETH: 16, MRC_AETH: 4,
           MRC_SETH: 28, MRC_CC: 8, MRC_NETH: 20, MRC_PETH: 16, MRC_ERTH: 16, MRC_EETH: 36}
CONTROL = {0xD1: [MRC_AETH], 0xD8: [MRC_ERTH], 0xD9: [MRC_EETH], 0xDC: [MRC_SETH, MRC_CC],
           0xDD: [MRC_NETH], 0xDE: [MRC_PETH]}


class MRC_BTH(Packet):
    name = 'MRC BTH'
    fields_desc = [
        ByteEnumField('opcode', 0xCA, MRC_OPCODES),
        BitField('se', 0, 1), BitField('m', 0, 1), BitField('pad', None, 2),
        BitField('tver', 0, 4), XShortField('pkey', 0xFFFF), XByteField('varres', 0),
        XBitField('dqp', 2, 24),
        BitField('a', 0, 1), XBitField('res6', 0, 1), BitField('rtx', 0, 1),
        BitField('ts', None, 1), XBitField('res', 0, 2), BitField('r', 0, 1),
        BitField('c', 0, 1),
        BitField('psn', 0, 24),
        _Icrc('icrc'), _Padding('padding'),
    ]

    @classmethod
    def dispatch_hook(cls, _pkt=None, *_args, **_kargs):
        """MRC and RoCE v2 share a port; the upper three bits of the opcode differ."""
        if _pkt is None or len(_pkt) >= 12 and _pkt[0] >> 5 == 6:
            return cls
        roce = sys.modules.get('scapy.contrib.roce')
        return roce.BTH if roce and len(_pkt) >= 12 else conf.raw_layer

    def is_data(self):
        """Whether the packet has a PSN of its own."""
        return self.opcode in MRC_OPCODES and self.opcode not in CONTROL

    def is_trimmed(self):
        """Whether the outermost IP header says that a switch has trimmed the packet."""
        layer, dscp = self.underlayer, None
        while layer is not None:
            if isinstance(layer, IP):
                dscp = layer.tos >> 2
            elif isinstance(layer, IPv6):
                dscp = layer.tc >> 2
            layer = layer.underlayer
        return self.is_data() and dscp in mrc_trimmed_dscp

    def headers(self):
        """The classes of the headers behind the BTH, by opcode and ts."""
        if not self.is_data():
            return CONTROL.get(self.opcode, [])
        found = [MRC_METH, MRC_TSETH, MRC_RETH] if self.ts else [MRC_METH, MRC_RETH]
        if self.opcode in IMMEDIATES:
            found.append(MRC_IMMDT)
        elif self.opcode in OPERANDS:
            found.append(MRC_OPETH)
        return found

    def headers_length(self):
        return sum(LENGTHS[header] for header in self.headers())

    def class_after(self, header, payload):
        """What follows the BTH (header: None) or a header, if payload has enough bytes."""
        headers = self.headers()
        at = headers.index(header) + 1 if header in headers else 0 if header is None else None
        if at is None or at >= len(headers) or len(payload) < LENGTHS[headers[at]]:
            return conf.raw_layer
        return headers[at]

    def guess_payload_class(self, payload):
        return self.class_after(None, payload)

    def post_dissect(self, s):
        # The bytes that Scapy keeps of a header would reach into the payload, because ICRC
        # and padding were taken from the end.
        self.raw_packet_cache = None
        # Scapy does not ask fields for which no byte is left.
        self.fields.setdefault('icrc', -1)
        self.fields.setdefault('padding', b'')
        return s

    def post_build(self, p, pay):
        pad = -len(pay) % 4 if self.pad is None else self.pad
        ts = MRC_TSETH in self.payload if self.ts is None else self.ts
        p = p[:1] + bytes([p[1] & 0xCF | pad << 4]) + p[2:8] + bytes(
            [p[8] & 0xEF | ts << 4]) + p[9:]
        pay += bytes(pad) if self.padding is None else self.padding
        if self.icrc == -1:
            return p + pay
        value = self.calculate_icrc(p + pay) if self.icrc is None else self.icrc
        return p + pay + value.to_bytes(4, 'little')

    def calculate_icrc(self, body):
        """The ICRC for the built bytes of BTH, headers, payload and padding; 0 if there are
        no IP and UDP headers."""
        udp = self.underlayer
        ip = udp.underlayer if isinstance(udp, UDP) else None
        if not isinstance(ip, (IP, IPv6)):
            return 0
        around = ip.copy()
        inner = around[UDP]
        # The ports may be there only because MRC is the payload, which goes.
        inner.sport, inner.dport, inner.chksum = udp.sport, udp.dport, 0
        inner.remove_payload()
        return mrc_icrc(bytes(around / Raw(body + bytes(4)))[:-4])


def mrc_bind_port(port):
    """Packets to this UDP port are MRC from now on."""
    bind_bottom_up(UDP, MRC_BTH, dport=port)


mrc_bind_port(4971)
mrc_bind_port(4791)
# MRC sends no UDP checksum.
bind_top_down(UDP, MRC_BTH, dport=4791, chksum=0)

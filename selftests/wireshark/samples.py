# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Packets for the tests of the dissectors: the frames of MRC 1.0 §18.1 and of
Documentation/extension.md, and packets made by selftests/net/mrc_packets.py, which shares
no code with the dissectors. Everything is the same in each run."""
import pathlib
import re
import struct
import sys
import zlib

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(TOP / 'selftests' / 'net'))

import mrc_packets as m  # noqa: E402  pylint: disable=wrong-import-position

A4, B4 = '10.1.0.1', '10.1.0.2'
A6, B6 = 'fd00:1::1', 'fd00:1::2'
QP_A, QP_B = 0x101, 0x202
DATA_TOS, RETX_TOS, CTRL_TOS = 0x12, 0x22, 0xB8
TRIMMED_TOS, LASTHOP_TOS = 12 << 2, 16 << 2
VA, RKEY = 0x7F1200001000, 0xA1B2C3D4
MACS = bytes.fromhex('020000000002' '020000000001')


def ethernet(packet, macs=MACS):
    return macs + (b'\x08\x00' if packet[0] >> 4 == 4 else b'\x86\xdd') + packet


# --- frames of the documents -------------------------------------------------------

def vectors():
    """Name and frame of each vector of MRC 1.0 and of the extension."""
    found = []
    text = (TOP / 'selftests/unit/vectors.hpp').read_text(encoding='utf-8')
    for name, body in re.findall(r'\{ "(V\d+)", \d+, \d+,([^}]*)\}', text):
        found.append((name, bytes.fromhex(''.join(re.findall(r'"([0-9a-f]+)"',
                                                             body)))))
    text = (TOP / 'Documentation/extension.md').read_text(encoding='utf-8')
    for name, body in re.findall(r'^### (X\d+): .*?```hex\n([0-9a-f\n]+)```', text,
                                 re.M | re.S):
        found.append((name, bytes.fromhex(body.replace('\n', ''))))
    if len(found) != 14 + 18:
        raise SystemExit('%d vectors found, not 32' % len(found))
    return found


# --- packets -----------------------------------------------------------------------

def send4(body, **fields):
    return m.ip_udp(A4, B4, body, **{'tos': DATA_TOS, **fields})


def send6(body, back=False, **fields):
    src, dst = (B6, A6) if back else (A6, B6)
    return m.ip_udp(src, dst, body, **{'tos': DATA_TOS, **fields})


def sack(dqp, cack, *, echo=0, ids=(0, 0), mpr=0, ooo=0, pen=0, restore=0, cc=0, **fields):
    """m.sack() with the fields that it leaves 0."""
    body = m.sack(dqp, cack, **fields)
    body = m.put(body, 12 + 8, struct.pack('>HH', *ids))
    body = m.put(body, 12 + 16, bytes([cc << 4, mpr]))
    return m.put(body, 12 + 28, struct.pack('>HHB', echo, ooo, restore << 7 | pen))


def nack(dqp, psn, reason, *, vendor=0, ids=(0, 0), echo=0, **fields):
    body = m.nack(dqp, psn, reason, **fields)
    body = m.put(body, 12 + 3, bytes([vendor]))
    body = m.put(body, 12 + 8, struct.pack('>HH', *ids))
    return m.put(body, 12 + 18, struct.pack('>H', echo))


def probe(dqp, probe_id, *, ids=(0, 0), **fields):
    return m.put(m.probe(dqp, probe_id, **fields), 12 + 8, struct.pack('>HH', *ids))


def endpoint_response(request_id, op, stamp=0):
    eeth = bytearray(36)
    eeth[1] = op << 2
    eeth[28:30] = struct.pack('>H', stamp)
    return m.bth(m.ENDPOINT_RESP, 2, request_id) + bytes(eeth)


IMM = {0xC3, 0xC5, 0xC9, 0xCB}
OPERANDS = {0xD3, 0xD4, 0xD5, 0xDA}
ANSWERS = {0xCD, 0xCE, 0xCF, 0xD0, 0xD2}
PLAIN = {0xCC} | OPERANDS


def data_body(opcode, psn, stamp=None, size=21):
    """A data packet of any opcode."""
    headers = m.meth(3, 4)
    if stamp is not None:
        headers += m.tseth(stamp)
    payload = b'' if opcode in PLAIN else bytes(range(0x20, 0x20 + size))
    headers += m.reth(VA, RKEY, 8 if opcode in PLAIN else len(payload))
    if opcode in IMM:
        headers += b'\xde\xad\xbe\xef'
    if opcode in OPERANDS:
        headers += struct.pack('>QQ', 0x11 if opcode == 0xD5 else 5, 1 << 63)
    return m.body(opcode, QP_B, psn, headers, payload, ts=stamp is not None, a=1,
                  reserved=1 if opcode in ANSWERS else 0)


def all_opcodes():
    """Each opcode once in IPv4 and once in IPv6, data with a timestamp there."""
    found = []
    for opcode in sorted(set(range(0xC0, 0xDB)) - {0xD1, 0xD8, 0xD9}):
        psn = 0x100 + opcode
        found.append(('%02x_v4' % opcode, send4(data_body(opcode, psn))))
        found.append(('%02x_v6' % opcode, send6(data_body(opcode, psn, 0x1234),
                                                flow=0x00ABC)))
    control = [
        ('ack', m.ack(QP_A, 77, msn=9)),
        ('ack_recvs', m.ack(QP_A, 78, msn=9, reserved=2)),
        ('nak_61', m.ack(QP_A, 79, 0x61, 9)),
        ('nak_62', m.ack(QP_A, 79, 0x62, 9)),
        ('nak_63', m.ack(QP_A, 79, 0x63, 9)),
        ('nak_7f', m.ack(QP_A, 79, 0x7F, 9)),
        ('rnr_nak', m.ack(QP_A, 79, 0x2C, 9)),
        ('sack', sack(QP_A, 0xFFFFF0, offset=20, base=3, bitmap=1 << 63 | 0x5A5, entropy=1,
                      echo=7, ids=(QP_B, QP_A), mpr=9, ooo=5, pen=64, restore=1,
                      rcvd=0x123456)),
        ('sack_m2', sack(QP_A, 5, m=2, bitmap=0)),
        ('sack_m3', sack(QP_A, 5, m=3, bitmap=0, base=-3)),
        ('sack_probe', sack(QP_A, 5, offset=0x55, pr=1, bitmap=2, cc=3)),
        ('probe', probe(QP_B, 0x55, stamp=9, ids=(QP_A, QP_B))),
        ('port_status', m.endpoint_request(0xAC, 0, mask=0x8000000A, stamp=2)),
        ('no_port', m.endpoint_request(0xAD, 0)),
        ('ev_probe', m.endpoint_request(0xAE, 1, stamp=3)),
        ('op_3', m.endpoint_request(0xAF, 3, stamp=3)),
        ('response', endpoint_response(0xAE, 1, 3)),
    ]
    for reason in (1, 2, 6, 7, 10, 11, 0x19, 0x30):
        control.append(('nack_%02x' % reason, nack(QP_A, 80, reason, entropy=3)))
    control.append(('rnr', nack(QP_A, 81, 10, vendor=0x8C)))
    control.append(('page', nack(QP_A, 82, 10, vendor=0xC0)))
    control.append(('no_rnr', nack(QP_A, 83, 10, vendor=0x0C)))
    return found + [(name, send6(body, back=True, tos=CTRL_TOS)) for name, body in control]


def with_options(body):
    """A packet with options in its IPv4 header; the ICRC covers them as they are."""
    packet = m.ip(A4, B4, m.udp(body + bytes(4)), options=b'\x01\x01\x01\x00', tos=DATA_TOS)
    masked = packet[:-4]
    for at, size in ((1, 1), (8, 1), (10, 2), (24 + 6, 2), (24 + 8 + 4, 1)):
        masked = m.put(masked, at, b'\xff' * size)
    return packet[:-4] + struct.pack('<I', zlib.crc32(b'\xff' * 8 + masked))


def wrapped():
    """The ways to carry a packet: SRv6 with and without a routing header, IPv4 options."""
    v4 = send4(data_body(0xCA, 1))
    v6 = send6(data_body(0xCA, 1, 5), flow=0x00123)
    src = 'fcbb:2:3:1::1'
    return [
        ('v4', v4), ('v6', v6),
        ('srv6', m.encap(v6, src, 'fcbb:0:101:204:102:303::', tos=DATA_TOS)),
        ('srv6_v4', m.encap(v4, src, 'fcbb:0:204:102:303::', tos=DATA_TOS)),
        ('srv6_last', m.encap(v6, src, 'fcbb:0:303::', tos=DATA_TOS | 3)),
        ('srv6_end', m.encap(v6, src, 'fcbb:0::', tos=DATA_TOS)),
        ('srh', m.encap(v6, src, 'fcbb:0:101::', segments=['fcbb:0:204:303::'], left=1,
                        tos=DATA_TOS)),
        ('srh_v4', m.encap(v4, src, 'fcbb:0:303::', segments=['fcbb:0:303::'], left=0,
                           tos=DATA_TOS)),
        ('roles', m.encap(v6, 'fd00:9::1', 'fcbb:0:1020:1011:1022:1032::', tos=DATA_TOS)),
        ('emu', m.encap(v6, 'fd00:9::1', 'fc02::f003:e001:d000:0:0:0', tos=DATA_TOS)),
        ('ce_v4', m.put_tos(v4, DATA_TOS | 3)),
        ('options', with_options(data_body(0xCA, 1))),
        ('udp_sum', m.put_udp_sum(v6)),
    ]


def trimmed():
    """Trimmed at every place that a switch might, with lengths corrected and not."""
    v4 = send4(data_body(0xCA, 9, 5, size=200))
    v6 = send6(data_body(0xC9, 9, 5, size=200), flow=0x00123)
    outer = {'src': 'fcbb:2:3:1::1', 'dst': 'fcbb:0:303::', 'tos': DATA_TOS}
    around, srh = m.encap(v6, **outer), m.encap(v6, segments=['fcbb:0:303::'], **outer)
    found = []
    for name, packet, head in (('v4', v4, 28), ('v6', v6, 48), ('srv6', around, 88),
                               ('srh', srh, 112)):
        for more in (12, 16, 20, 25, 36, 40, 60):
            found.append(('%s_%d' % (name, more), m.trim(packet, head + more,
                                                         TRIMMED_TOS)))
        found.append((name + '_lasthop', m.trim(packet, head + 20, LASTHOP_TOS)))
        found.append((name + '_raw', m.put_tos(packet, TRIMMED_TOS)[:head + 20]))
    found.append(('not_shorter', m.put_tos(v6, TRIMMED_TOS)))
    found.append(('control', m.put_tos(send6(m.ack(QP_A, 1), back=True), TRIMMED_TOS)))
    return found


def wrong():
    """What receivers would drop or refuse, or what breaks a rule."""
    good = data_body(0xCA, 3)
    return [
        ('icrc_v4', send4(good, spoil=0x80000000)),
        ('icrc_v6', send6(good, spoil=1)),
        ('tver', send6(m.write(m.WRITE_ONLY, QP_B, 3, VA, RKEY, b'12345678', tver=2))),
        ('undefined_db', send6(m.body(0xDB, QP_B, 3, b'abcdefgh'))),
        ('undefined_df', send6(m.body(0xDF, QP_B, 3))),
        ('payload_in_ack', send6(m.ack(QP_A, 3) + b'1234')),
        ('pad_in_ack', send6(m.ack(QP_A, 3, pad=2))),
        ('pad_too_long', send6(m.write(m.WRITE_ONLY, QP_B, 3, VA, RKEY, b'', pad=3))),
        ('no_multiple', send6(good + b'12')),
        ('reserved', send6(m.put(m.put(good, 4, b'\xc0'), 8, b'\xcc'))),
        ('reserved_sack', send6(m.put(sack(QP_A, 3), 12, b'\xf7\x9d'))),
        ('reserved_eeth', send6(m.put(endpoint_response(1, 1), 12 + 20, b'x'))),
        ('c_in_write', send6(m.write(m.WRITE_ONLY, QP_B, 3, VA, RKEY, b'', reserved=1))),
        ('no_c_in_answer', send6(m.write(m.READ_RESP_ONLY, QP_B, 3, 0, 0, b''))),
        ('c_in_endpoint', send6(m.endpoint_request(1, 1, reserved=1))),
        ('only_bth', m.ip_udp(A6, B6, m.bth(m.WRITE_ONLY, QP_B, 3), with_icrc=False)),
        ('half_bth', m.ip_udp(A6, B6, m.bth(m.WRITE_ONLY, QP_B, 3)[:7], with_icrc=False)),
        ('one_byte', m.ip_udp(A6, B6, b'\xca', with_icrc=False)),
        ('nothing', m.ip_udp(A6, B6, b'', with_icrc=False)),
        ('reth_missing', send6(m.bth(m.WRITE_ONLY, QP_B, 3) + m.meth())),
        ('seth_half', send6(sack(QP_A, 3)[:40])),
        ('no_icrc', m.ip_udp(A6, B6, sack(QP_A, 3), with_icrc=False)),
    ]


def foreign():
    """Packets around MRC that are not MRC, and MRC where it is not expected."""
    write = data_body(0xCA, 3)
    v6 = send6(write)
    error = struct.pack('>BBHI', 1, 4, 0, 0) + v6
    return [
        ('uc_send', send4(m.body(m.UC_SEND_ONLY, QP_B, 1, b'', b'abcd', mig=1))),
        ('ud_send', send4(m.body(m.UD_SEND, 1, 1, m.deth(0x80010000, 1), bytes(256),
                                 mig=1))),
        ('rc_send', send6(m.body(0x04, QP_B, 1, b'', b'abcdefgh', mig=1))),
        ('cnp', send6(m.body(0x81, QP_B, 0, bytes(16), mig=1))),
        ('port_4971', send6(write, dport=4971)),
        ('roce_4971', send6(m.body(m.UC_SEND_ONLY, QP_B, 1, b'', b'abcd'), dport=4971)),
        ('port_5000', send6(write, dport=5000)),
        ('from_4791', send6(b'a name server', sport=4791, dport=53)),
        ('icmp_error', m.ip(B6, A6, error, kind=58)),
        ('fragment', m.ip(A6, B6, m.fragment_header(m.UDP) + v6[40:], kind=m.FRAGMENT)),
        ('hop_by_hop', m.ip(A6, B6, m.options_header(m.UDP) + v6[40:], kind=0)),
    ]

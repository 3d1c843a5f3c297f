# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The tests of the Scapy layers: they build the frames of the documents, and read every
packet as the dissector does. check.py runs them."""
import re
import sys

import captures
import damaged
import samples

sys.path.insert(0, str(samples.TOP / 'userspace-tools/scapy'))
import mrc  # noqa: E402  pylint: disable=wrong-import-position
from mrc import (IP, UDP, Ether, IPv6, Raw, MRC_AETH, MRC_BTH, MRC_CC,  # noqa: E402
                 MRC_EETH, MRC_ERTH, MRC_IMMDT, MRC_METH, MRC_NETH, MRC_OPETH, MRC_PETH,
                 MRC_RETH, MRC_SETH, MRC_TSETH)

HEADERS = {cls.__name__[4:].lower(): cls for cls in
           (MRC_BTH, MRC_METH, MRC_TSETH, MRC_RETH, MRC_IMMDT, MRC_OPETH, MRC_AETH, MRC_SETH,
            MRC_CC, MRC_NETH, MRC_PETH, MRC_ERTH, MRC_EETH)}
VA, RKEY = 0x7F1200001000, 0xA1B2C3D4
MAC_A, MAC_B = '02:00:00:00:00:01', '02:00:00:00:00:02'


def field_names(cls):
    return [f.name for f in cls.fields_desc]


def test_names(tap, registered):
    problems = []
    for header, cls in HEADERS.items():
        ours = {'mrc.%s.%s' % (header, n) for n in field_names(cls)
                if n not in ('icrc', 'padding')}
        theirs = {n for n in registered if n.startswith('mrc.%s.' % header)}
        problems += ['%s is not in Scapy' % n for n in sorted(theirs - ours)]
        problems += ['%s is in Scapy only' % n for n in sorted(ours - theirs)]
    tap.result('fields have the names of the dissector', problems)


def same(text, value):
    """Whether a value of tshark is that of Scapy."""
    if isinstance(value, bytes):
        return text.replace(':', '') == value.hex()
    if text in ('True', 'False'):
        return (text == 'True') == bool(value)
    return text != '' and '|' not in text and int(text, 0) == value


def all_frames():
    """Names and frames of what the captures have, by capture."""
    found = {'vectors': samples.vectors()}
    for name, make in captures.CAPTURES.items():
        found[name] = [(n, samples.ethernet(p)) for n, p in make()]
    for name, make in captures.SESSIONS.items():
        found[name] = [(str(at), frame) for at, frame in make()]
    return found


def test_values(tap, shark):
    fields = ['mrc.%s.%s' % (header, n) for header, cls in HEADERS.items()
              for n in field_names(cls) if n not in ('icrc', 'padding')]
    fields += ['mrc.icrc', 'mrc.pad', 'mrc.payload', '_ws.col.Protocol']
    count, problems = 0, []
    for name, frames in all_frames().items():
        for (title, frame), row in zip(frames, shark.fields(name + '.pcap', fields)):
            packet = Ether(frame)
            # Scapy reads on in fragments.
            if title == 'fragment':
                continue
            if (MRC_BTH in packet) != bool(row['mrc.bth.opcode']):
                problems.append('%s, %s: only one of the two sees MRC' % (name, title))
            if MRC_BTH not in packet:
                continue
            wanted = {f: '' for f in fields if f != '_ws.col.Protocol'}
            for header, cls in HEADERS.items():
                layer = packet.getlayer(cls)
                for field, value in layer.fields.items() if layer else ():
                    if field not in ('icrc', 'padding'):
                        wanted['mrc.%s.%s' % (header, field)] = value
            bth = packet[MRC_BTH]
            if bth.icrc != -1:
                wanted['mrc.icrc'] = bth.icrc
            if bth.padding:
                wanted['mrc.pad'] = bth.padding
            # Headers of which a part is missing are payload to Scapy.
            if Raw in packet and not row['mrc.payload']:
                wanted.pop('mrc.payload')
            elif Raw in packet:
                wanted['mrc.payload'] = packet[Raw].load
            for field, value in wanted.items():
                count += value != ''
                if row[field] != '' if value == '' else not same(row[field], value):
                    problems.append('%s, %s: %s is %r, in tshark %r' % (
                        name, title, field, value, row[field]))
    if count < 4000:
        problems.append('only %d values' % count)
    tap.result('%d values are those of the dissector' % count, problems + shark.complaints)


def test_round_trip(tap):
    problems, count = [], 0
    for name, frames in all_frames().items():
        for title, frame in frames:
            count += 1
            if bytes(Ether(frame)) != frame:
                problems.append('%s, %s: changed by reading and building' % (name, title))
    tap.result('%d packets are built as they were read' % count, problems)


def test_filled_in(tap):
    """What may be left out is left out, and comes back."""
    problems, count = [], 0
    for name in ('vectors', 'opcodes', *captures.SESSIONS):
        for title, frame in all_frames()[name]:
            packet = Ether(frame)
            bth = packet[MRC_BTH]
            if bth.is_trimmed():
                continue
            bth.icrc = bth.pad = bth.padding = bth.ts = None
            if MRC_RETH in packet and '_ONLY' in mrc.MRC_OPCODES[bth.opcode] and \
                    packet[MRC_RETH].dmalen == len(packet[Raw] if Raw in packet else b''):
                packet[MRC_RETH].dmalen = None
            count += 1
            if bytes(packet) != frame:
                problems.append('%s, %s: %s' % (name, title, bytes(packet).hex()))
    tap.result('%d packets without ICRC, padding, pad count and ts' % count, problems)


def headers(version, back, tos, ev):
    """Ethernet, IP and UDP of the frames of the documents."""
    link = Ether(src=MAC_B, dst=MAC_A) if back else Ether(src=MAC_A, dst=MAC_B)
    ends = (('10.1.0.1', '10.1.0.2'), ('fd00:1::1', 'fd00:1::2'))[version == 6]
    src, dst = reversed(ends) if back else ends
    if version == 4:
        ip = IP(src=src, dst=dst, tos=tos, id=0, flags='DF', ttl=64)
    else:
        ip = IPv6(src=src, dst=dst, tc=tos, fl=ev >> 16, hlim=64)
    return link / ip / UDP(sport=ev & 0xFFFF)


def from_a(ev, tos=0x12, version=6):
    return headers(version, False, tos, ev)


def from_b(tos=0xB8):
    return headers(6, True, tos, 0x0BADC0FF)


def bth_a(opcode, psn=0, **fields):
    return MRC_BTH(opcode=opcode, dqp=0x202, psn=psn, **fields)


def bth_b(opcode, psn, **fields):
    return MRC_BTH(opcode=opcode, dqp=0x101, psn=psn, **fields)


IDS = {'spdcid': 0x202, 'dpdcid': 0x101}

# MRC 1.0 §18.1, from the values that it states.
VECTORS = {
    'V1': from_a(0xC0DE, version=4) / bth_a('WRITE_ONLY', 0x10, a=1) / MRC_METH(msn=7) /
    MRC_RETH(va=VA, rkey=RKEY) / bytes(range(0x10, 0x18)),
    'V2': from_a(0x1234C001) / bth_a('WRITE_FIRST', 0xFFFFFE) / MRC_METH(rqmsn=3, msn=8) /
    MRC_TSETH(timestamp=0x100) / MRC_RETH(va=VA, rkey=RKEY, dmalen=261) / bytes(range(256)),
    'V3': from_a(0x1235C002) / bth_a('WRITE_LAST_IMM', 0xFFFFFF, a=1) /
    MRC_METH(rqmsn=3, msn=8) / MRC_TSETH(timestamp=0x101) /
    MRC_RETH(va=VA + 256, rkey=RKEY, dmalen=261) / MRC_IMMDT(imm=0xDEADBEEF) / b'hello',
    'V4': from_a(0x1236C003, 0x22) / bth_a('WRITE_ONLY_IMM', 1, a=1, rtx=1) /
    MRC_METH(rqmsn=4, msn=9) / MRC_TSETH(timestamp=0x105) / MRC_RETH() / MRC_IMMDT(imm=0x42),
    'V5': from_b() / bth_b('RELIABILITY_SACK', 0) /
    MRC_SETH(m='SKIP_ONCE', ack_psn_offset=7, sack_bitmap=0x76, entropy=0x1236C003, mpr=8,
             **IDS) / MRC_CC(timestamp=0x105, ooo_count=5, rcvd_bytes=0x1A),
    'V6': from_b() / bth_b('RELIABILITY_SACK', 7) /
    MRC_SETH(pr=1, probe_id=0x55, cack_psn=7, entropy=0x1237C004, mpr=8, **IDS) /
    MRC_CC(timestamp=0x200, restore_cwnd=1, rcvd_bytes=0x21),
    'V7': from_b() / bth_b('RELIABILITY_NACK', 4) /
    MRC_NETH(reason='TRIMMED', nack_psn=4, entropy=0x123AC007, timestamp=0x106, **IDS),
    'V8': from_a(0x1237C004) / bth_a('RELIABILITY_PROBE_REQ') /
    MRC_PETH(probe_id=0x55, timestamp=0x200, spdcid=0x101, dpdcid=0x202),
    'V9': from_b() / bth_b('ACKNOWLEDGE', 7) / MRC_AETH(msn=10),
    'V10': from_b() / bth_b('ACKNOWLEDGE', 8) / MRC_AETH(syndrome=0x62, msn=10),
    'V11': from_a(0x1238C005) / MRC_BTH(opcode='ENDPOINT_REQUEST', psn=0xAB) /
    MRC_ERTH(op='EV_PROBE', timestamp=0x300),
    'V12': from_b() / MRC_BTH(opcode='ENDPOINT_RESPONSE', psn=0xAB) /
    MRC_EETH(op='EV_PROBE', timestamp=0x300),
    'V13': from_a(0x1238C005, 0xB8) / MRC_BTH(opcode='ENDPOINT_REQUEST', psn=0xAC) /
    MRC_ERTH(op='PORT_STATUS_UPDATE', port_status_mask=0b1010, timestamp=0x301),
    'V14': Ether(src=MAC_A, dst=MAC_B) /
    IPv6(src='fd00:1::1', dst='fcbb:0:20:10:22:32::', tc=0x12, fl=0x1239, hlim=64) /
    from_a(0x1239C006).payload / bth_a('WRITE_ONLY', 0x11, a=1) / MRC_METH(msn=10) /
    MRC_TSETH(timestamp=0x310) / MRC_RETH(va=VA, rkey=RKEY) / bytes(range(0x10, 0x18)),
}


def of_document(f):
    """A packet from the fields that extension.md states."""
    opcode = [code for code, name in mrc.MRC_OPCODES.items() if name == f['name']][0]
    back = f['from'] == 'B'

    def pick(**names):
        return {ours: f[theirs] for ours, theirs in names.items() if theirs in f}

    packet = headers(f['ip'], back, f['tc'], f['entropy'])
    packet /= MRC_BTH(opcode=opcode, dqp=0x101 if back else 0x202, psn=f['psn'],
                      **pick(se='se', a='a', rtx='rtx', c='c', r='recvs'))
    ids = pick(spdcid='spdcid', dpdcid='dpdcid')
    if f['name'] == 'ACKNOWLEDGE':
        return packet / MRC_AETH(syndrome=f['syndrome'], msn=f['amsn'])
    if f['name'] == 'RELIABILITY_SACK':
        return packet / MRC_SETH(ack_psn_offset=f['ack_offset'], entropy=f['reflected'],
                                 cack_psn=f['cack'], sack_offset=f['sack_offset'],
                                 sack_bitmap=f['bitmap'], **ids) / MRC_CC(
            timestamp=f['echo'], ooo_count=f['ooo'], rcvd_bytes=f['rcvd'])
    if f['name'] == 'RELIABILITY_NACK':
        return packet / MRC_NETH(reason=f['reason'], vendor_info=f['vendor'],
                                 nack_psn=f['nack_psn'], entropy=f['reflected'],
                                 cc_type=f['cc_type'], **ids)
    if f['name'] == 'RELIABILITY_PROBE_REQ':
        return packet / MRC_PETH(probe_id=f['probe_id'], timestamp=f['tstamp'], **ids)
    packet /= MRC_METH(rqmsn=f['rqmsn'], msn=f['msn'])
    if 'tstamp' in f:
        packet /= MRC_TSETH(timestamp=f['tstamp'])
    packet /= MRC_RETH(va=f['va'], rkey=f['rkey'], dmalen=f['dmalen'])
    if 'imm' in f:
        packet /= MRC_IMMDT(imm=f['imm'])
    if 'swap' in f:
        packet /= MRC_OPETH(swap=f['swap'], compare=f['compare'])
    return packet / f['payload'] if 'payload' in f else packet


def test_documents(tap):
    """All frames of the documents, made from what the documents say of them."""
    sys.path.insert(0, str(samples.TOP / 'selftests/unit'))
    import ext_vectors  # pylint: disable=import-outside-toplevel,import-error
    text = (samples.TOP / 'Documentation/extension.md').read_text(encoding='utf-8')
    packets = dict(VECTORS)
    for name, spec in re.findall(r'^### (X\d+): .*?\n\n((?:    .*\n)+)\n```hex', text, re.M):
        packets[name] = of_document(ext_vectors.expected(spec))
    problems = []
    for name, frame in samples.vectors():
        built = bytes(packets[name])
        if built != frame:
            problems += [name, '  ' + built.hex(), '  ' + frame.hex()]
    tap.result('%d frames of the documents are built' % len(packets), problems)


def test_damaged(tap):
    problems, count = [], 0
    for make, step in ((damaged.mutations, 1), (damaged.shortened, 3), (damaged.trimmed, 5)):
        for i, (frame, _) in enumerate(make()):
            if i % step:
                continue
            count += 1
            try:
                packet = Ether(frame)
                text = packet.show(dump=True) if i % 100 == 0 else 'x'
                if bytes(packet) != frame or not text:
                    problems.append('%s %d: changed' % (make.__name__, i))
            except Exception as why:    # pylint: disable=broad-exception-caught
                problems.append('%s %d: %r' % (make.__name__, i, why))
    tap.result('%d damaged packets are read, and built as they were' % count, problems)


def test_dispatch(tap):
    """Which packets are MRC, with and without Scapy's own layers of RoCE v2."""
    problems = []
    plain = dict(samples.foreign())
    uc = samples.ethernet(plain['uc_send'])
    if MRC_BTH in Ether(uc):
        problems.append('an UC packet is taken for MRC')
    if MRC_BTH in Ether(samples.ethernet(plain['port_5000'])):
        problems.append('port 5000 is taken')
    mrc.mrc_bind_port(5000)
    if MRC_BTH not in Ether(samples.ethernet(plain['port_5000'])):
        problems.append('port 5000 is not taken')
    import scapy.contrib.roce as roce   # pylint: disable=import-outside-toplevel
    mrc.mrc_bind_port(4791)
    if roce.BTH not in Ether(uc) or MRC_BTH in Ether(uc):
        problems.append('RoCE v2 is not handed over')
    if MRC_BTH not in Ether(samples.vectors()[0][1]):
        problems.append('MRC is not taken beside RoCE v2')
    tap.result('MRC and RoCE v2 on one port', problems)


def run(tap, shark, registered):
    """All of these tests; registered: names of the dissector's fields."""
    test_names(tap, registered)
    test_documents(tap)
    test_values(tap, shark)
    test_round_trip(tap)
    test_filled_in(tap)
    test_damaged(tap)
    test_dispatch(tap)

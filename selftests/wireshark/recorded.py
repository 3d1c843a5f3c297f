# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What tshark says of traffic of the driver, recorded by selftests/net/recording.sh. The recording
in the repository, driver.pcapng.gz, has its statistics in golden/driver.txt; all else must hold
for any recording."""
import gzip
import pathlib

from samples import m

RECORDING = pathlib.Path(__file__).resolve().parent / 'driver.pcapng.gz'
# Of packets with a PSN, and of those that say what became of them.
DATA = [*range(0xC0, 0xD1), *range(0xD2, 0xD8), 0xDA]
# SEND_LAST_INVALIDATE: no program of the tests sends it.
OPCODES = [o for o in (*DATA, 0xD1, 0xD8, 0xD9, m.SACK, m.NACK, m.PROBE) if o != 0xD6]
# No packet of the driver may have one of these.
FAULTS = ('icrc', 'short', 'capture', 'length', 'opcode', 'tver', 'reserved', 'channel', 'window',
          'unmarked')
AGAIN = ('retransmission', 'spurious', 'duplicate')
SHOWN = ['frame.number', 'frame.interface_name', '_ws.col.Protocol', '_ws.col.Info',
         '_ws.malformed', 'mrc.bth.opcode', 'mrc.bth.psn', 'mrc.bth.rtx', 'mrc.flow', 'mrc.icrc.status',
         'mrc.trimmed', 'mrc.trimmed.lasthop', 'mrc.plane', 'mrc.srv6.usid', 'mrc.acked_in',
         'mrc.nacked_in', 'mrc.response_in', 'mrc.response_to', 'mrc.same_as', 'mrc.copy', 'mrc.ev',
         *('mrc.expert.' + name for name in (*FAULTS, *AGAIN, 'trimmed', 'nack', 'nak', 'unknown'))]


def read_pcapng(path):
    """Frames, of little-endian files of one section."""
    raw = gzip.decompress(path.read_bytes())
    at, out = 0, []
    while at < len(raw):
        kind = int.from_bytes(raw[at:at + 4], 'little')
        size = int.from_bytes(raw[at + 4:at + 8], 'little')
        if kind == 6:
            length = int.from_bytes(raw[at + 20:at + 24], 'little')
            out.append(raw[at + 28:at + 28 + length])
        at += size
    return out


def number(row, name):
    return int(row['mrc.' + name], 0) if row['mrc.' + name] else None


def whole(rows):
    problems = []
    for row in rows:
        where = 'frame %s (%s)' % (row['frame.number'], row['_ws.col.Info'])
        if row['_ws.col.Protocol'] != 'MRC':
            problems.append('%s: is %s' % (where, row['_ws.col.Protocol']))
        if row['_ws.malformed']:
            problems.append('%s: malformed' % where)
        problems += ['%s: expert information "%s"' % (where, name) for name in FAULTS
                     if row['mrc.expert.' + name]]
        if (row['mrc.icrc.status'] != '1') != bool(row['mrc.trimmed']):
            problems.append('%s: status of the ICRC is "%s"' % (where, row['mrc.icrc.status']))
    found = {number(row, 'bth.opcode') for row in rows}
    problems += ['no packet with opcode 0x%02x' % o for o in OPCODES if o not in found]
    return problems


def paths(rows):
    """The plane is that of the netdev, also where the uSIDs tell it."""
    problems = ['frame %s: plane "%s" on %s' % (row['frame.number'], row['mrc.plane'],
                                                row['frame.interface_name'])
                for row in rows if 'p' + row['mrc.plane'] != row['frame.interface_name']]
    for name in ('p1', 'p2'):
        for srv6 in (True, False):
            if not any(row['frame.interface_name'] == name and bool(row['mrc.srv6.usid']) == srv6
                       for row in rows):
                problems.append('no packet on %s with%s uSIDs' % (name, '' if srv6 else 'out'))
    return problems


def matched(rows):
    """Requests, data and their answers."""
    problems, last, told = [], {}, set()
    for row in rows:
        opcode = number(row, 'bth.opcode')
        if opcode in DATA:
            key = row['mrc.flow'], row['mrc.bth.psn']
            last[key] = row
            # Of a copy, or of an earlier one.
            if row['mrc.acked_in'] or row['mrc.nacked_in']:
                told.add(key)
        if opcode in (0xD1, 0xD9, m.SACK, m.NACK) and not row['mrc.response_to'] and \
                not row['mrc.expert.unknown']:
            problems.append('frame %s (%s): answers nothing, without a word' % (
                row['frame.number'], row['_ws.col.Info']))
    # What is refused for good is not acknowledged, nor is what is behind it.
    failed = {row['mrc.flow'] for row in rows if row['mrc.expert.nak']}
    last = {key: row for key, row in last.items() if key[0] not in failed}
    unacked = [row for key, row in last.items() if key not in told]
    # Programs that have what they want end without waiting for the last answers.
    if len(last) < 300 or len(unacked) > len(last) / 20:
        problems.append('%d of %d PSNs are acknowledged' % (len(last) - len(unacked), len(last)))
        problems += ['frame %s (%s): is never acknowledged' % (
            row['frame.number'], row['_ws.col.Info']) for row in unacked]
    answers = [row for row in rows if number(row, 'bth.opcode') in (0xD1, 0xD9, m.SACK, m.NACK)]
    stray = [row for row in answers if not row['mrc.response_to']]
    # Their requests were lost on the way to this host, or their answers to the sender.
    if len(stray) > len(answers) / 10:
        problems.append('%d of %d answers belong to nothing' % (len(stray), len(answers)))
    for request, answer in ((0xD8, 0xD9), (m.PROBE, m.SACK)):
        pairs = [row for row in rows if number(row, 'bth.opcode') == request and
                 row['mrc.response_in']]
        if not pairs:
            problems.append('no request 0x%02x has an answer' % request)
        for row in pairs:
            got = number(rows[int(row['mrc.response_in']) - 1], 'bth.opcode')
            if got != answer:
                problems.append('frame %s is answered by 0x%02x' % (row['frame.number'], got))
    return problems


def sent_again(rows):
    """Each packet that is sent again is told, and no other one."""
    problems, count = [], 0
    for row in rows:
        told = [name for name in AGAIN if row['mrc.expert.' + name]]
        if row['mrc.bth.rtx'] == '1' and number(row, 'bth.opcode') in DATA:
            count += 1
            if len(told) != 1 and not row['mrc.trimmed']:
                problems.append('frame %s (%s): sent again, told as %s' % (
                    row['frame.number'], row['_ws.col.Info'], told))
        elif told:
            problems.append('frame %s (%s): told as %s' % (
                row['frame.number'], row['_ws.col.Info'], told))
    if not count:
        problems.append('nothing was sent again')
    if not any(int(row['mrc.copy'] or 0) > 1 for row in rows):
        problems.append('no packet is there with an earlier copy')
    return problems


def trims(rows):
    """A NACK answers each trimmed packet that says where it was trimmed."""
    problems = []
    cut = [row for row in rows if row['mrc.trimmed']]
    for last in ('0', '1'):
        if not any(row['mrc.trimmed.lasthop'] == last for row in cut):
            problems.append('no trimmed packet with lasthop %s' % last)
    for row in cut:
        if not row['mrc.expert.trimmed']:
            problems.append('frame %s: no expert information' % row['frame.number'])
        nack = row['mrc.nacked_in'].split('|')[0]
        if not nack or not rows[int(nack) - 1]['mrc.expert.nack']:
            problems.append('frame %s (%s): no NACK' % (row['frame.number'], row['_ws.col.Info']))
    return problems


def run(tap, shark, path, expectation, innermost):
    """Results for one recording; the statistics, which a golden file may have."""
    name = 'driver.pcapng.gz'
    (shark.folder / name).write_bytes(path.read_bytes())
    rows = shark.fields(name, SHOWN, '-2')
    frames = read_pcapng(path)
    count = ['%d frames, should be %d' % (len(rows), len(frames))] if \
        len(rows) != len(frames) or len(rows) < 1000 else []
    tap.result('driver: %d packets, every opcode, right ICRCs, nothing malformed' % len(rows),
               count + whole(rows))
    if count:
        return ''
    tap.result('driver: planes', paths(rows))
    tap.result('driver: packets and their answers', matched(rows))
    tap.result('driver: retransmissions', sent_again(rows))
    tap.result('driver: trimmed packets', trims(rows))
    wanted = []
    for frame in frames:
        packet = innermost(frame[14:])
        wanted.append({} if m.tos_of(frame[14:]) >> 2 in (12, 16) else expectation(packet))
    fields = sorted({f for want in wanted for f in want})
    problems = ['frame %d: %s is %s, should be %s' % (i + 1, f, row[f], value)
                for i, (row, want) in enumerate(zip(shark.fields(name, fields), wanted))
                for f, value in want.items() if row[f] != value]
    tap.result('driver: %d fields are those of mrc_packets.py' % sum(map(len, wanted)), problems)
    return shark.read(name, '-q', '-z', 'expert,note,mrc', script_args=['plane', 'flow'])


def test_cut(tap, shark, write_pcap):
    """A file that ends within a record: what is before it is dissected, and tshark says so."""
    frames = read_pcapng(RECORDING)[:3]
    write_pcap(shark.folder / 'whole.pcap', [(i, f, len(f)) for i, f in enumerate(frames)])
    raw = (shark.folder / 'whole.pcap').read_bytes()
    last = len(raw) - len(frames[2]) - 16
    problems, kept = [], shark.complaints
    # Between records, in the record's header, behind it, in each header of the packet, at its end.
    for size in (last, last + 1, last + 15, last + 16, last + 17, last + 16 + 14, last + 16 + 40,
                 last + 16 + 70, len(raw) - 1, len(raw)):
        (shark.folder / 'cut.pcap').write_bytes(raw[:size])
        shark.complaints = []
        rows = shark.fields('cut.pcap', ['_ws.col.Protocol', 'mrc.icrc.status', '_ws.malformed'])
        got = [row['_ws.col.Protocol'] for row in rows]
        if got != ['MRC'] * (3 if size == len(raw) else 2) or \
                any(row['mrc.icrc.status'] != '1' or row['_ws.malformed'] for row in rows):
            problems.append('%d bytes of %d: %s' % (size, len(raw), rows))
        told = any('cut short in the middle of a packet' in line for line in shark.complaints)
        if told == (size in (last, len(raw))):
            problems.append('%d bytes of %d: said %s' % (size, len(raw), shark.complaints))
    shark.complaints = kept
    tap.result('a file that ends within a packet', problems)

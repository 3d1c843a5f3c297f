#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The tests of the dissector and of the Scapy layers; see check.sh, which runs this.

usage: check.py [--tshark PROGRAM] [--update] [--quick] [--recording FILE] DIRECTORY"""
import argparse
import difflib
import pathlib
import re
import subprocess
import sys
import time

import captures
import check_scapy
import damaged
import recorded
import samples
import tshark as ts
from samples import m

GOLDEN = pathlib.Path(__file__).resolve().parent / 'golden'
LICENCE = '# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB\n'

SHOWN = ['mrc.' + name for name in (
    'ev', 'class', 'plane', 'srv6.usid', 'srv6.t0', 'srv6.t1', 'srv6.host', 'srv6.segment',
    'trimmed', 'trimmed.lasthop', 'icrc.status', 'flow', 'copy', 'same_as', 'first_in',
    'previous_in', 'next_in', 'response_in', 'acked_in', 'nacked_in', 'executed_in',
    'response_to', 'rtt', 'newly')]


def listing(shark, name, *args):
    """Frames of a capture: the columns, the fields that say what was found, and experts."""
    names = shark.folder / (pathlib.Path(name).stem + '.names')
    names = names.read_text(encoding='ascii').split() if names.exists() else []
    rows = shark.fields(name, ['frame.number', '_ws.col.Protocol', '_ws.col.Info',
                               '_ws.expert.message', *SHOWN], '-2', *args)
    out = []
    for i, row in enumerate(rows):
        title = '%s%s' % (row['frame.number'], ' ' + names[i] if names else '')
        # How others show their packets is their matter, and differs with the version.
        if row['_ws.col.Protocol'] != 'MRC':
            out.append('%s: %s' % (title, row['_ws.col.Protocol']))
            continue
        out.append('%s: %s' % (title, row['_ws.col.Info']))
        found = ['%s=%s' % (f[4:], row[f]) for f in SHOWN if row[f]]
        out.append('    ' + ' '.join(found))
        out += ['    ! ' + text for text in row['_ws.expert.message'].split('|') if text]
    return '\n'.join(out) + '\n'


def trees(shark, name):
    """What -V shows of MRC."""
    names = (shark.folder / (pathlib.Path(name).stem + '.names')).read_text(
        encoding='ascii').split()
    out, on, number = [], False, 0
    for line in shark.read(name, '-2', '-O', 'mrc').split('\n'):
        if line and not line.startswith(' '):
            on = line.startswith('Multipath')
            if line.startswith('Frame '):
                out.append('--- ' + names[number])
                number += 1
        if on and line:
            out.append(line)
    return '\n'.join(out) + '\n'


def compare(tap, title, name, text, update):
    path = GOLDEN / (name + '.txt')
    if update:
        path.write_text(LICENCE + text, encoding='utf-8')
    wanted = path.read_text(encoding='utf-8') if path.exists() else ''
    difference = list(difflib.unified_diff(wanted.splitlines(), (LICENCE + text).splitlines(),
                                           str(path.name), 'now', lineterm='', n=1))
    tap.result(title, difference)


def test_loads(tap, shark):
    names = shark.registered()
    problems = [] if len(names) > 150 else [
        'tshark did not load %s: %d fields. Wireshark may refuse scripts to root '
        '(run_user_scripts_when_superuser in init.lua).' % (ts.SCRIPT, len(names))]
    tap.result('tshark loads the dissector (%d fields)' % len(names), problems)
    return names


def test_document(tap, shark, names):
    """The page's tables and what is registered are the same; its filters are valid."""
    text = ts.PAGE.read_text(encoding='utf-8')
    sections = dict(re.findall(r'^## (.*)\n((?:(?!## ).*\n)*)', text, re.M))
    prefs = re.findall(r'^#?(mrc\.[a-z_]+):', shark.run('-G', 'currentprefs'), re.M)
    problems = []
    for section, known in (('Fields', names), ('Preferences', prefs)):
        listed = re.findall(r'^\| `(mrc\.[a-z0-9_.]+)` \|', sections[section], re.M)
        problems += ['%s is not in %s' % (n, ts.PAGE.name) for n in known if n not in listed]
        problems += ['%s is in %s, but not registered' % (n, ts.PAGE.name)
                     for n in listed if n not in known]
        problems += ['%s is in %s twice' % (n, ts.PAGE.name)
                     for n in sorted(set(listed)) if listed.count(n) > 1]
    filters = re.findall(r'^\| `(.*?)` \|', sections['Filters worth knowing'], re.M)
    if len(filters) < 10:
        problems.append('only %d filters found' % len(filters))
    for text in filters:
        shark.read('losses.pcap', '-c', '1', '-Y', text.replace('\\', ''))
    tap.result('the document has every field and preference and no other, and valid filters',
               problems + shark.complaints)


def test_plugin(tap, shark):
    """All files in a plugin folder, in whatever order Wireshark runs them."""
    folder = shark.folder / '.local/lib/wireshark/plugins/mrc'
    folder.mkdir(parents=True)
    for path in ts.SCRIPT.parent.glob('*.lua'):
        (folder / path.name).write_bytes(path.read_bytes())
    command = [shark.program, '-n', '-r', str(shark.folder / 'vectors.pcap'), '-o',
               'mrc.stats:plane']
    done = subprocess.run(command, capture_output=True, timeout=ts.PATIENCE, check=False,
                          text=True)
    lines = done.stdout.splitlines()
    problems = [line for line in lines + done.stderr.splitlines() if 'Lua' in line]
    if sum(' MRC ' in line for line in lines) != 32 or done.returncode:
        problems.append('status %d' % done.returncode)
        problems += lines[:5]
    if 'MRC by plane' not in done.stdout:
        problems.append('no statistics by the preference')
    for path in folder.glob('*.lua'):
        path.unlink()
    tap.result('the folder works as a plugin', problems)


def frames_of(path):
    """Frames of a pcap file that this project has written."""
    raw, at = path.read_bytes(), 24
    while at < len(raw):
        size = int.from_bytes(raw[at + 8:at + 12], 'little')
        yield raw[at + 16:at + 16 + size]
        at += 16 + size


def innermost(packet):
    """The IP packet around UDP, or None."""
    while packet[0] >> 4 == 6 and packet[6] in (m.IPIP, m.IPV6, m.ROUTING):
        packet = m.Outer(packet).inner
    return packet if packet[9 if packet[0] >> 4 == 4 else 6] == m.UDP else None


def expectation(packet):
    """Fields that mrc_packets reads by itself."""
    p = m.Packet(packet, 20 if packet[0] >> 4 == 4 else 40)
    found = {
        'mrc.bth.opcode': '0x%02x' % p.opcode, 'mrc.bth.dqp': '0x%06x' % p.dqp,
        'mrc.bth.psn': '%d' % p.psn, 'mrc.ev': '0x%08x' % ((p.flow & 0xFFFF) << 16 | p.sport),
        'mrc.icrc.calculated': '0x%08x' % int.from_bytes(m.icrc(packet[:-4]), 'little'),
        'mrc.icrc.status': '%d' % p.ok_icrc,
    }
    if p.opcode == m.SACK:
        psns = [(p.cack + p.base + i) & m.PSN_MASK for i in range(64)]
        found['mrc.received'] = '|'.join('%d' % n for i, n in enumerate(psns)
                                         if p.bitmap >> i & 1)
        found['mrc.seth.entropy'] = '0x%08x' % p.entropy
        found['mrc.cc.ooo_count'] = '%d' % (p.ooo & 0x7FFF)
        found['mrc.seth.cack_psn'] = '%d' % p.cack
        for psn in found['mrc.received'].split('|'):
            assert not psn or p.received(int(psn))
    elif p.opcode == m.NACK:
        found['mrc.neth.nack_psn'] = '%d' % p.nack_psn
    elif m.READ_RESP_FIRST <= p.opcode <= m.READ_RESP_ONLY or p.opcode == m.ATOMIC_RESP:
        found['mrc.reth.va'] = '0x%016x' % p.va
        found['mrc.payload_len'] = '%d' % len(p.data)
    return found


def test_builder(tap, shark):
    """Fields and the ICRC, as the other parser of this project reads them."""
    count, problems = 0, []
    for name in ['vectors', 'opcodes', 'wrapped', *captures.SESSIONS]:
        wanted = []
        for frame in frames_of(shark.folder / (name + '.pcap')):
            packet = innermost(frame[14:])
            trimmed = m.tos_of(frame[14:]) >> 2 in (12, 16)
            # It does not know options in IPv4.
            wanted.append({} if trimmed or packet[0] & 0x4F == 0x46 else expectation(packet))
        fields = sorted({f for want in wanted for f in want})
        for i, (row, want) in enumerate(zip(shark.fields(name + '.pcap', fields), wanted)):
            for field, value in want.items():
                count += 1
                if row[field] != value:
                    problems.append('%s, frame %d: %s is %s, should be %s' % (
                        name, i + 1, field, row[field], value))
    if count < 900:
        problems.append('only %d fields' % count)
    tap.result('%d fields and ICRCs are those of mrc_packets.py' % count, problems)


def test_extension_fields(tap, shark):
    """The fields that Documentation/extension.md states beside its frames."""
    sys.path.insert(0, str(samples.TOP / 'selftests/unit'))
    import ext_vectors  # pylint: disable=import-outside-toplevel,import-error
    names = {'psn': 'bth.psn', 'se': 'bth.se', 'a': 'bth.a', 'rtx': 'bth.rtx', 'c': 'bth.c',
             'recvs': 'bth.r', 'pad': 'bth.pad', 'rqmsn': 'meth.rqmsn', 'msn': 'meth.msn',
             'tstamp': ('tseth.timestamp', 'peth.timestamp'), 'va': 'reth.va',
             'rkey': 'reth.rkey', 'dmalen': 'reth.dmalen', 'imm': 'immdt.imm',
             'swap': 'opeth.swap', 'compare': 'opeth.compare', 'syndrome': 'aeth.syndrome',
             'amsn': 'aeth.msn', 'cack': 'seth.cack_psn', 'ack_offset': 'seth.ack_psn_offset',
             'sack_offset': 'seth.sack_offset', 'bitmap': 'seth.sack_bitmap',
             'ooo': 'cc.ooo_count', 'rcvd': 'cc.rcvd_bytes',
             'reflected': ('seth.entropy', 'neth.entropy'),
             'spdcid': ('seth.spdcid', 'neth.spdcid', 'peth.spdcid'),
             'dpdcid': ('seth.dpdcid', 'neth.dpdcid', 'peth.dpdcid'),
             'echo': ('cc.timestamp', 'neth.timestamp'), 'reason': 'neth.reason',
             'vendor': 'neth.vendor_info', 'nack_psn': 'neth.nack_psn',
             'cc_type': ('seth.cc_type', 'neth.cc_type'), 'probe_id': 'peth.probe_id',
             'payload': 'payload', 'entropy': 'ev'}
    fields = []
    for value in names.values():
        fields += ['mrc.' + n for n in ([value] if isinstance(value, str) else value)]
    document = (samples.TOP / 'Documentation/extension.md').read_text(encoding='utf-8')
    specs = re.findall(r'^### (X\d+): .*?\n\n((?:    .*\n)+)\n```hex', document, re.M)
    rows = shark.fields('vectors.pcap', fields)[14:]
    problems, count = [], 0
    for (name, spec), row in zip(specs, rows):
        for key, value in ext_vectors.expected(spec).items():
            if key not in names:
                continue
            choices = [names[key]] if isinstance(names[key], str) else names[key]
            got = [row['mrc.' + n] for n in choices if row['mrc.' + n]]
            if isinstance(value, bytes):
                good = got == [value.hex()]
            else:
                good = len(got) == 1 and int(got[0], 0) == value
            count += 1
            if not good:
                problems.append('%s: %s is %s, should be %s' % (name, key, got, value))
    if count < 150:
        problems.append('only %d fields' % count)
    tap.result('%d fields are what extension.md says of its frames' % count, problems)


PROPERTIES = ['_ws.col.Protocol', 'mrc.expert.short', 'mrc.expert.capture',
              'mrc.expert.length', 'mrc.icrc.status', 'mrc.trimmed', '_ws.malformed',
              'frame.number', '_ws.col.Info']


def judge_snapped(row):
    if row['mrc.expert.short'] or row['mrc.expert.length'] or row['mrc.icrc.status'] == '0' or \
            row['_ws.malformed']:
        return 'a fault of the capture is taken for one of the packet'
    if row['_ws.col.Protocol'] == 'MRC' and not row['mrc.expert.capture']:
        return 'not called cut short'
    return None


def judge_shortened(row):
    if row['_ws.col.Protocol'] != 'MRC':
        return 'not dissected'
    if not row['mrc.expert.short'] and row['mrc.icrc.status'] != '0':
        return 'neither cut short nor a wrong ICRC'
    return None


def judge_lying(row):
    if row['_ws.col.Protocol'] == 'MRC':
        return judge_shortened(row)
    return None


def judge_trimmed(row):
    if not row['mrc.trimmed']:
        return 'not recognised'
    if row['mrc.expert.short'] or row['mrc.expert.length'] or row['mrc.icrc.status']:
        return 'more is said than that it is trimmed'
    # The lengths of the others are not corrected, and Wireshark's UDP says so.
    if row['_ws.malformed'] and int(row['frame.number']) % 2:
        return 'called malformed'
    return None


def judge_mutations(_row):
    return None


def test_damaged(tap, shark):
    counts = damaged.write_all(shark.folder, captures.write_pcap)
    for name, count in counts.items():
        shark.complaints = []
        rows = shark.fields(name + '.pcap', PROPERTIES)
        judge = globals()['judge' + name[len('damaged'):]]
        problems = ['%d frames of %d' % (len(rows), count)] if len(rows) != count else []
        for row in rows:
            fault = judge(row)
            if fault:
                problems.append('frame %s (%s): %s' % (row['frame.number'],
                                                       row['_ws.col.Info'], fault))
        # The text of the tree, too, of what is not the same again and again.
        if name in ('damaged_mutations', 'damaged_shortened'):
            if shark.read(name + '.pcap', '-V', '-2').count('\nFrame ') + 1 != count:
                problems.append('-V does not show all frames')
        tap.result('%d packets %s' % (count, name.replace('damaged_', '')),
                   problems + shark.complaints)


def test_preferences(tap, shark):
    problems = []

    def expect(what, name, field, wanted, *args):
        got = [row[field] for row in shark.fields(name, [field], *args)]
        if got != wanted(got) if callable(wanted) else got != wanted:
            problems.append('%s: %s' % (what, got))

    def protocol(name, *args):
        return [row['_ws.col.Protocol'] for row in shark.fields(name, ['_ws.col.Protocol'],
                                                                *args)]

    if 'MRC' in protocol('vectors.pcap', '-o', 'mrc.roce_port:FALSE'):
        problems.append('port 4791 is taken though it should not')
    if protocol('foreign.pcap').count('MRC') != 2:
        problems.append('foreign.pcap: %s' % protocol('foreign.pcap'))
    if protocol('foreign.pcap', '-o', 'mrc.ports:5000')[4:7] != ['UDP', 'UDP', 'MRC']:
        problems.append('ports: %s' % protocol('foreign.pcap', '-o', 'mrc.ports:5000'))
    expect('no ICRC', 'wrong.pcap', 'mrc.icrc.status',
           lambda got: [x for x in got if x in ('', '2')], '-o', 'mrc.icrc:FALSE')
    expect('no tracking', 'losses.pcap', 'mrc.flow', [''] * 25, '-o', 'mrc.track:FALSE')
    expect('codepoints', 'trimmed.pcap', 'mrc.trimmed', lambda got: [''] * len(got), '-o',
           'mrc.dscp_trimmed:60', '-o', 'mrc.dscp_trimmed_lasthop:61')
    expect('window', 'losses.pcap', 'mrc.expert.window', [''] * 21 + ['1'] + [''] * 3)
    expect('planes by role', 'wrapped.pcap', 'mrc.plane', lambda got: got[:8] + ['1'] + got[9:],
           '-o', 'mrc.plane:uSID: plane, 8 bits of role, 4 bits of index')
    for how, wanted in (("mrclab's addresses, else the name of the interface",
                         ['1', '2', '', '4']),
                        ("mrclab's addresses", ['', '', '', '4']),
                        ('name of the interface: p1 is plane 1', ['1', '2', '', '']),
                        ('number of the interface in the capture', ['1', '2', '3', '3']),
                        ('not at all', [''] * 4)):
        expect(how, 'interfaces.pcapng', 'mrc.plane', wanted, '-o', 'mrc.plane:' + how)
    tap.result('preferences', problems + shark.complaints)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--tshark', default='tshark')
    parser.add_argument('--update', action='store_true')
    parser.add_argument('--quick', action='store_true', help='without damaged packets')
    parser.add_argument('--recording', type=pathlib.Path, help='this one only, none of the tests')
    parser.add_argument('folder', type=pathlib.Path)
    args = parser.parse_args()
    captures.write_all(args.folder)
    tap, shark = ts.Tap(), ts.Tshark(args.tshark, args.folder)
    begin = time.monotonic()
    names = test_loads(tap, shark)
    if tap.bad:
        return tap.end()
    if args.recording:
        recorded.run(tap, shark, args.recording, expectation, innermost)
        tap.result('nothing that tshark complains of', shark.complaints)
        return tap.end()
    test_plugin(tap, shark)
    test_document(tap, shark, names)
    test_builder(tap, shark)
    test_extension_fields(tap, shark)
    compare(tap, 'trees of all vectors', 'vectors', trees(shark, 'vectors.pcap'), args.update)
    for name in (*captures.CAPTURES, *captures.SESSIONS):
        compare(tap, 'listing of ' + name, name, listing(shark, name + '.pcap'), args.update)
    stats = shark.read('losses.pcap', '-q', script_args=['ev,plane', 'flow'])
    compare(tap, 'statistics', 'stats', stats, args.update)
    test_preferences(tap, shark)
    compare(tap, 'statistics of the driver', 'driver',
            recorded.run(tap, shark, recorded.RECORDING, expectation, innermost), args.update)
    recorded.test_cut(tap, shark, captures.write_pcap)
    tap.result('nothing that tshark complains of', shark.complaints)
    shark.complaints = []
    check_scapy.run(tap, shark, names)
    if not args.quick:
        test_damaged(tap, shark)
    print('# %.0f s' % (time.monotonic() - begin))
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())

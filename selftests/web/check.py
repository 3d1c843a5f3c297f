#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What a browser shows of "mrcctl serve". check.sh runs it. Prints TAP."""
import argparse
import os
import re
import struct
import subprocess
import sys
import traceback
import zlib

import dom

HERE = os.path.dirname(os.path.abspath(__file__))
HEALTH = os.path.join(HERE, 'health.json')
OLD_HEALTH = os.path.join(HERE, '../mrcmap/golden/map.json')
HOSTILE = '<img src=x onerror="document.title=\'owned\'"><b>bold</b>'
LIGHT, DARK = (0xf4, 0xf5, 0xf7), (0x11, 0x15, 0x1b)
# The browser's time, which goes on while it waits for nothing. A sample is a second.
BUDGET_MS = 30000
# Ends what stands still.
PATIENCE_S = 120

options = None


class Server:
    """serve_fake with a scene, at a free port."""

    def __init__(self, scene, health=HEALTH):
        words = ['listen', '127.0.0.1:0', '-t', '3600s']
        if health:
            words += ['health', '/health']
        self.process = subprocess.Popen([options.server, scene, health or '/dev/null', *words],
                                        stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def __enter__(self):
        assert self.url.startswith('http://127.0.0.1:'), 'the server does not start'
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE_S)

    def ended_well(self):
        self.process.terminate()
        return self.process.wait(PATIENCE_S) == 0


def browse(url, *args):
    """Runs the browser once. Its standard output; complaints of the page are errors."""
    command = [options.browser, '--headless', '--no-sandbox', '--disable-gpu',
               '--hide-scrollbars', '--no-first-run', '--disable-extensions',
               '--enable-logging=stderr', f'--user-data-dir={options.work}/profile',
               f'--virtual-time-budget={BUDGET_MS}', *args, url]
    r = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    complaints = [line for line in r.stderr.splitlines() if ':CONSOLE' in line]
    return r.stdout, complaints


def page(server, at='', complaints_wanted=None):
    text, complaints = browse(server.url + at, '--dump-dom', '--window-size=1400,1000')
    if complaints_wanted is None:
        assert not complaints, complaints
    d = dom.parse(text)
    assert d.one('html').get('data-drawn'), f'nothing was drawn: {d.one("body").text}'
    assert not d.all('img'), 'there is an image'
    assert 'owned' not in d.one('head').one('title').text
    return d


def cells(row):
    return {td.get('data-label'): td.text for td in row.all('td')}


def columns_of(d, cls):
    return [cells(tr) for tr in d.one('table', cls=cls).one('tbody').all('tr')]


def good(d, what):
    assert what in d.one('body').text, f'{what} is missing'


# --- cases ------------------------------------------------------------------------------
def planes():
    with Server('busy') as s:
        d = page(s)
        assert s.ended_well()
    assert d.one('head').one('title').text == 'mrc: node7'
    assert d.one(id='title').text == 'MRC devices of node7'
    assert 'hidden' in d.one(id='banner').attributes
    cards = d.all('div', cls='plane')
    assert [c.one('b').text for c in cards] == [
        'Plane 1 eth1', 'Plane 2 eth2', 'Plane 3 eth3', 'Plane 4 eth4', 'Plane 5 eth5',
        'Plane 6 eth6']
    chips = [[(c.text, c.get('class')) for c in card.all(cls='chip')] for card in cards]
    assert chips[0] == [('ACTIVE', 'chip good'), ('enabled', 'chip good')], chips
    assert chips[3] == [('DOWN', 'chip dead'), ('enabled', 'chip good')], chips
    assert chips[5] == [('ACTIVE', 'chip good'), ('disabled', 'chip denied')], chips
    sends = [card.all(cls='value')[0].text for card in cards]
    assert all(re.fullmatch(r'\d+\.\d Gbit/s', v) for v in sends[:3]), sends
    assert sends[3:] == ['0 bit/s'] * 3, sends
    # Bars have the scale of their device.
    widths = [float(card.all('rect', cls='tx')[0].get('width')) for card in cards]
    assert 60 < widths[0] <= 100 and 30 < widths[2] < widths[0] and widths[3] == 0, widths
    for card in cards[:3]:
        points = card.one('polyline', cls='tx').get('points').split()
        assert len(points) >= 10, points
        assert len({p.split(',')[1] for p in points}) >= 8, 'the line does not move'


def queue_pairs():
    with Server('busy') as s:
        d = page(s)
    rows = columns_of(d, 'qps')
    assert len(rows) == 5, rows
    by_program = {r['Program']: r for r in rows}
    first = rows[0]
    assert first['Program'] == 'ib_write_bw pid 4242'
    assert first['Queue pair'] == '171 → 1171' and first['State'] == 'RTS', first
    assert first['CC'] == 'vegas' and first['Window'] == '340 KiB', first
    assert first['In flight'] == '170 KiB' and first['RTT'] == '27 µs', first
    assert first['Sends'].endswith(' Gbit/s') and first['Packets'].endswith(' k/s'), first
    assert first['EVs'] == '42 good, 4 skip, 16 assumed bad, 2 denied', first
    assert rows[1]['Timeouts'] == '2' and rows[1]['Sent again'].endswith(' 120 /s'), rows[1]
    assert by_program['nvme_rdma']['CC'] == 'uet-1.0-nscc'
    assert by_program['rping pid 777']['State'] == 'ERR'
    # From the busiest on.
    assert [r['Queue pair'].split()[0] for r in rows] == ['171', '172', '9', '33', '34']
    profiles = columns_of(d, 'profiles')
    assert [p['Profile'] for p in profiles] == ['0', '3']
    assert profiles[1]['EVs'] == '46 good, 16 assumed bad, 2 denied', profiles
    assert profiles[1]['Queue pairs'] == '2'
    bar = d.one('table', cls='profiles').all('svg')[0]
    assert [r.get('class') for r in bar.all('rect')] == ['good', 'lossy', 'denied']


def hostile_names():
    with Server('busy') as s:
        d = page(s, '#mrc0/33')
    names = [b.text for b in d.all('button')]
    assert HOSTILE in names, names
    # Names of the fabric are as bad.
    assert d.one(id='health').one('h2').text == 'Path health of fabric lab <b>7</b>'
    assert not [n for n in d.all('b') if n.text in ('bold', '7')]
    assert not d.all('script')[1:], 'a script was added'
    for n in d.walk():
        assert not [a for a in n.attributes if a.startswith('on')], n.attributes


def evs():
    with Server('busy') as s:
        d = page(s, '#mrc0/171')
    listed = d.one(id='evlist')
    assert [h.text for h in listed.all('h4')] == [f'Plane {i}' for i in range(1, 5)]
    items = [li.text for li in listed.all('li')]
    assert len(items) == 64, len(items)
    assert items[0] == '0x0000c000 good', items[0]
    assert items[-1] == '0x0000c03f assumed bad 72 lost', items[-1]
    assert d.one('button', **{'aria-expanded': 'true'}).text == 'ib_write_bw'


def health_map():
    with Server('busy') as s:
        d = page(s)
    h = d.one(id='health')
    assert 'hidden' not in h.attributes
    good(d, '7 of 8 agents report. Silent: h8')
    maps = h.all('svg', cls='map')
    assert len(maps) == 2
    lines = [line for m in maps for line in m.all('line')]
    assert len(lines) == 2 * 2 * 16, len(lines)
    titles = {line.one('title').text: line.get('class') for line in lines}
    assert titles['p1l1:s2: down or gray, loss 100 %'] == 'dead', titles
    assert titles['p1s2:l1: good, loss 0 %'] == 'good', titles
    assert titles['h3:p2: lossy, loss 1.2 %'] == 'lossy', titles
    assert titles['p2l4:h8: not known'] == 'unknown', titles
    assert [k for k, v in titles.items() if v == 'slow'] == [
        'p2l4:s1: slow, loss 0 %', 'p2s1:l4: slow, loss 0 %'], titles
    labels = {t.text for t in maps[0].all('text')}
    assert labels == {f'h{i}' for i in range(1, 9)} | {f'p1l{i}' for i in range(1, 5)} | \
        {'p1s1', 'p1s2'}, labels
    found = columns_of(d, 'findings')
    assert [(f['Link or switch'], f['State'], f['Loss'], f['More delay']) for f in found] == [
        ('p1l1:s2', 'gray', '100 %', '–'), ('h3:p2', 'lossy', '1.2 %', '–'),
        ('p2l4:s1+', 'slow', '–', '5.0 ms')], found
    assert not h.all(id='health-old') and not h.all(id='health-error')


def health_that_is_old():
    with Server('none', OLD_HEALTH) as s:
        d = page(s)
    assert 'and nothing since' in d.one(id='health-old').text
    assert len(d.one(id='health').all('svg', cls='map')) == 2


def health_that_is_wrong():
    with Server('busy', '/dev/null') as s:
        d = page(s)
    assert d.one(id='health-error').text == '/health: this is no JSON'
    assert d.all('div', cls='plane')
    with Server('busy', None) as s:
        d = page(s)
    assert 'hidden' in d.one(id='health').attributes


def without_rights():
    with Server('user') as s:
        d = page(s)
    notes = [n.text for n in d.all('div', cls='missing')]
    assert notes[0] == ('Details of queue pairs cannot be read: qp: Operation not permitted '
                        '(CAP_NET_ADMIN is needed)EV profiles cannot be read: ev_state: '
                        'Operation not permitted (CAP_NET_ADMIN is needed)'), notes
    rows = columns_of(d, 'qps')
    assert rows[0]['Program'] == 'ib_write_bw pid 4242' and rows[0]['Window'] == '–', rows
    assert not d.all('button')
    # The state of planes is for everybody.
    assert 'Gbit/s' in d.all('div', cls='plane')[0].text


def without_devices():
    with Server('none', None) as s:
        d = page(s)
    assert d.one(id='none').text == 'There is no MRC device on this host.'


def program_that_ends():
    with Server('ends') as s:
        d = page(s, complaints_wanted='the browser complains of refused connections')
        assert s.process.wait(PATIENCE_S) == 0
    banner = d.one(id='banner')
    assert 'hidden' not in banner.attributes
    assert banner.text.startswith('mrcctl serve does not answer ('), banner.text
    assert banner.text.endswith(' and old.'), banner.text
    assert d.one('body').get('class') == 'stale'
    # What was known is still there.
    assert len(d.all('div', cls='plane')) == 6
    assert d.one('html').get('data-drawn') == '6'


def ground_of(path, size):
    """The colour of the first pixel of a picture of that size."""
    with open(path, 'rb') as f:
        data = f.read()
    assert data[:8] == b'\x89PNG\r\n\x1a\n'
    width, height, depth, kind = struct.unpack('>IIBB', data[16:26])
    assert (width, height) == size, (width, height)
    assert depth == 8 and kind in (2, 6), (depth, kind)
    at, pixels = 8, b''
    while at < len(data):
        length, name = struct.unpack('>I4s', data[at:at + 8])
        if name == b'IDAT':
            pixels += data[at + 8:at + 8 + length]
        at += 12 + length
    # The first pixel of the first line is the same with every filter.
    return tuple(zlib.decompress(pixels)[1:4])


def pictures():
    for name, scene, size, at in (('wide', 'busy', (1400, 2400), '#mrc0/171'),
                                  ('narrow', 'busy', (412, 5400), ''),
                                  ('user', 'user', (412, 2400), ''),
                                  ('middle', 'busy', (900, 2800), '#mrc0/9'),
                                  ('figure', 'calm', (1240, 1480), '')):
        for scheme, number, colour in (('light', 1, LIGHT), ('dark', 0, DARK)):
            path = os.path.join(options.out, f'{name}-{scheme}.png')
            if os.path.exists(path):
                os.unlink(path)
            with Server(scene) as s:
                browse(s.url + at, f'--screenshot={path}',
                       f'--window-size={size[0]},{size[1]}',
                       f'--blink-settings=preferredColorScheme={number}')
            assert ground_of(path, size) == colour, path
            print(f'# {path}')


CASES = [planes, queue_pairs, hostile_names, evs, health_map, health_that_is_old,
         health_that_is_wrong, without_rights, without_devices, program_that_ends, pictures]


def main():
    global options
    p = argparse.ArgumentParser()
    for name in ('browser', 'server', 'work', 'out'):
        p.add_argument(f'--{name}', required=True)
    p.add_argument('cases', nargs='*', help='names of functions, default all')
    options = p.parse_args()
    cases = [c for c in CASES if not options.cases or c.__name__ in options.cases]
    bad = 0
    print(f'TAP version 13\n1..{len(cases)}')
    for i, case in enumerate(cases, 1):
        try:
            case()
            result = 'ok'
        except Exception:
            bad += 1
            result = 'not ok'
            for line in traceback.format_exc().splitlines():
                print(f'# {line[:2000]}')
        print(f'{result} {i} - {case.__name__.replace("_", " ")}', flush=True)
    print(f'# {len(cases) - bad} passed, {bad} failed')
    return bad > 0 or not cases


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What one tenant receives beside another that misbehaves, in percent of what it receives
beside one that behaves.

usage: tenants_share.py RED BLUE COUNTER PERCENT
RED, BLUE: cgroups. All processes in BLUE/good and in BLUE/bad are frozen; here they run in
turn, for a fraction of a second each, so that what else the machine does meets both alike.
COUNTER: a file with the bytes that red has received.
Goes on until it has PAIRS turns and at least PERCENT percent, but no longer than for MOST
turns: the more, the less chance is in the result. Status 1 if the percentage is lower."""
import sys
import time

TURN = 0.2
PAIRS, MOST = 40, 200


def content(*path):
    with open('/'.join(path), encoding='ascii') as f:
        return f.read()


def freeze(group, on):
    with open(group + '/cgroup.freeze', 'w', encoding='ascii') as f:
        f.write('1' if on else '0')
    end = time.monotonic() + 30
    while 'frozen %d' % on not in content(group, 'cgroup.events'):
        if time.monotonic() > end:
            sys.exit('%s cannot be frozen' % group)
        time.sleep(0.001)


class Phase:
    """Sums over all turns of one group."""

    def __init__(self, group, red, blue, counter):
        self.group, self.sources = group, (red, blue, counter)
        self.sums = [0.0] * 4

    def read(self):
        red, blue, counter = self.sources
        used = [int(content(g, 'cpu.stat').split()[1]) / 1e6 for g in (red, blue)]
        return [time.monotonic(), int(content(counter))] + used

    def turn(self):
        freeze(self.group, False)
        before = self.read()
        time.sleep(TURN)
        after = self.read()
        freeze(self.group, True)
        self.sums = [s + b - a for s, a, b in zip(self.sums, before, after)]

    def rate(self):
        return self.sums[1] / self.sums[0]

    def text(self):
        seconds, _, red, blue = self.sums
        return '%.1f Mbit/s, %.0f and %.0f %% of a processor' % (
            self.rate() * 8 / 1e6, 100 * red / seconds, 100 * blue / seconds)


def main():
    red, blue, counter, percent = sys.argv[1:5]
    good, bad = (Phase(blue + '/' + name, red, blue, counter) for name in ('good', 'bad'))
    pairs, share = 0, 0
    while pairs < MOST and (pairs < PAIRS or share < int(percent)):
        good.turn()
        bad.turn()
        pairs += 1
        share = 100 * bad.rate() / good.rate() if good.rate() else 0
    print('red beside a blue that computes: %s; beside this one: %s; %.0f %% in %d turns' % (
        good.text(), bad.text(), share, pairs))
    sys.exit(0 if share >= int(percent) else 1)


if __name__ == '__main__':
    main()

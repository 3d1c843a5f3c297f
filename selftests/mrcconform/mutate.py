#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Plants a deviation of the file "mutants" into a copy of the driver.

usage: mutate.py list                 NAME CASE FILE, a line for each mutant
       mutate.py check DRIVER         that each one applies to the sources
       mutate.py apply NAME DRIVER OUT    writes the changed file to OUT"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class Wrong(Exception):
    """A mutant that is not well described, or that does not apply."""


def words(line):
    """A line without what kind and number of blanks it has."""
    return ' '.join(line.split())


class Mutant:
    def __init__(self, name, case):
        self.name, self.case = name, case
        self.file, self.old, self.new = '', [], []

    def check(self):
        if not self.file or not self.old or not self.new:
            raise Wrong('%s: no file, no old or no new lines' % self.name)

    def applied(self, driver):
        """The text of the file with the deviation."""
        with open(os.path.join(driver, self.file), encoding='utf-8') as f:
            lines = f.read().split('\n')
        plain = [words(line) for line in lines]
        n = len(self.old)
        at = [i for i in range(len(plain) - n + 1) if plain[i:i + n] == self.old]
        if len(at) != 1:
            raise Wrong('%s: its lines are %d times in %s' %
                        (self.name, len(at), self.file))
        return '\n'.join(lines[:at[0]] + self.new + lines[at[0] + n:])


def read():
    mutants = []
    with open(os.path.join(HERE, 'mutants'), encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            kind, text = line[:1], line[1:].rstrip('\n')
            if kind in '#\n':
                continue
            if kind == '=':
                name, _, case = text.partition(':')
                mutants.append(Mutant(name.strip(), case.strip()))
            elif not mutants or kind not in '@-+':
                raise Wrong('line %d: %s' % (number, line.rstrip()))
            elif kind == '@':
                mutants[-1].file = text.strip()
            elif kind == '-':
                mutants[-1].old.append(words(text))
            else:
                mutants[-1].new.append(text)
    for m in mutants:
        m.check()
    if len({m.name for m in mutants}) != len(mutants):
        raise Wrong('a name is used twice')
    return mutants


def main():
    mutants = read()
    if sys.argv[1:] == ['list']:
        for m in mutants:
            print(m.name, m.case, m.file)
        return 0
    if sys.argv[1:2] == ['check'] and len(sys.argv) == 3:
        bad = 0
        for m in mutants:
            try:
                m.applied(sys.argv[2])
            except (Wrong, OSError) as err:
                print('mutate.py:', err, file=sys.stderr)
                bad += 1
        print('%d mutants, %d do not apply' % (len(mutants), bad))
        return 1 if bad else 0
    if sys.argv[1:2] == ['apply'] and len(sys.argv) == 5:
        m, = [m for m in mutants if m.name == sys.argv[2]] or [None]
        if not m:
            raise Wrong('no mutant %s' % sys.argv[2])
        text = m.applied(sys.argv[3])
        with open(sys.argv[4], 'w', encoding='utf-8') as f:
            f.write(text)
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == '__main__':
    try:
        sys.exit(main())
    except (Wrong, OSError) as error:
        print('mutate.py:', error, file=sys.stderr)
        sys.exit(1)

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""
Checks that the files of the driver keep to its layers.

usage: layers.py DRIVER SYMBOLS [SEAM]
  DRIVER   folder of the driver's sources, with the table "layers"
  SYMBOLS  output of `nm -A` for its objects, with their paths in that folder
  SEAM     page that lists the functions of the lowest layer that the others use, and
           the functions above it that the lowest layer calls

Prints each error as one line, and ends with status 1 if there is any:
  a file that calls a function or uses data of a layer that it must not use
  a file that includes a header of such a layer, or a private one of another layer
  more files than the table allows that call each other in a circle
  two files with the same name
  a folder that the table does not have, or one of the table without any file
  a source above the lowest layer that accesses what the table lists as closed
  a function that SEAM lacks or should not list; a callback that does not exist
"""
import collections
import fnmatch
import os
import re
import sys

TABLE = 'layers'


class Table:
    """The table of layers: the layers that each may use, and the exceptions."""

    def __init__(self, path):
        self.may = {}
        self.calls = collections.defaultdict(set)
        self.everywhere = set()
        self.circle = 0
        self.headers = []
        self.closed = []
        with open(path, encoding='utf-8') as f:
            for line in f:
                line = line.split('#')[0].strip()
                if line:
                    self.add(*line.split(':', 1))
        for layer in self.may:
            if layer in self.below(layer):
                sys.exit(f'{path}: {layer} may call itself through others')

    def add(self, name, rest):
        words = rest.split()
        if name == 'circle':
            self.circle = int(words[0])
        elif name == 'headers':
            self.headers = words
        elif name == 'closed':
            self.closed.append(re.compile(rest.strip()))
        elif name == 'everywhere':
            self.everywhere = set(words)
        elif name.endswith(' calls'):
            self.calls[name.split()[0]] |= set(words)
        else:
            self.may[name] = set(words)

    def below(self, layer):
        """All layers that @layer can reach."""
        seen, todo = set(), [layer]
        while todo:
            for x in self.may[todo.pop()]:
                if x not in seen:
                    seen.add(x)
                    todo.append(x)
        return seen

    def lowest(self):
        """The layer that may use no other."""
        return next(x for x in self.may if not self.may[x] and x not in self.everywhere)

    def allows(self, layer, other):
        return (layer == other or other in self.may[layer] or
                other in self.everywhere)


def read_symbols(path):
    """For each object, without its suffix: the symbols it defines, and those it needs."""
    defined, wanted = {}, collections.defaultdict(set)
    objects = set()
    with open(path, encoding='utf-8') as f:
        for line in f:
            m = re.match(r'(?:\./)?([^:]+)\.o:\S*\s+([A-Za-z])\s+(\S+)$', line.rstrip())
            if not m or '/' not in m[1]:
                continue
            objects.add(m[1])
            if m[2] == 'U':
                wanted[m[1]].add(m[3])
            elif m[2] in 'TDBRVWC':
                defined.setdefault(m[3], m[1])
    return objects, defined, wanted


def circles(graph):
    """Sets of nodes that reach each other (Tarjan)."""
    index, low, stack, on, found = {}, {}, [], set(), []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        on.add(v)
        for w in sorted(graph.get(v, ())):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            ring = []
            while not ring or ring[-1] != v:
                ring.append(stack.pop())
                on.discard(ring[-1])
            if len(ring) > 1:
                found.append(sorted(ring))

    for v in sorted(graph):
        if v not in index:
            visit(v)
    return found


def check_symbols(table, objects, defined, wanted):
    bad = [] if objects else ['no objects']
    graph = collections.defaultdict(set)
    for o in sorted(objects):
        layer = o.split('/')[0]
        for s in sorted(wanted[o]):
            where = defined.get(s)
            if not where or where == o or layer not in table.may:
                continue
            other = where.split('/')[0]
            if s in table.calls[layer]:
                continue
            graph[o].add(where)
            if not table.allows(layer, other):
                bad.append(f'{o}.c: uses {s} of {where}.c: {layer} must not use {other}')
    for ring in circles(graph):
        if len(ring) > table.circle:
            bad.append(f'{len(ring)} files call each other in a circle, '
                       f'more than {table.circle}: ' + ' '.join(ring))
    return bad


def sources(driver):
    for folder, dirs, files in os.walk(driver):
        dirs.sort()
        for f in sorted(files):
            if f.endswith(('.c', '.h')) and not f.endswith('.mod.c'):
                yield os.path.relpath(os.path.join(folder, f), driver)


def check_files(table, driver):
    bad, names = [], {}
    layers = {f.split('/')[0] for f in sources(driver)}
    bad += [f'{x}: not in the table of layers' for x in sorted(layers - set(table.may))]
    bad += [f'{x}: in the table of layers, but there is no file of it'
            for x in sorted(set(table.may) - layers)]
    for f in sources(driver):
        name = os.path.basename(f)
        if name in names:
            bad.append(f'{f}: {names[name]} has the same name')
        names[name] = f
        layer = f.split('/')[0]
        if layer not in table.may:
            continue
        with open(os.path.join(driver, f), encoding='utf-8') as text:
            for n, line in enumerate(text, 1):
                m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
                if m:
                    bad += check_include(table, driver, f, layer, m[1])
                elif layer != table.lowest() and not line.startswith((' *', '/*')):
                    bad += [f'{f}:{n}: "{m[0]}" is closed to {layer}'
                            for m in (c.search(line) for c in table.closed) if m]
    return bad


def check_include(table, driver, f, layer, header):
    if '/' not in header:
        # The build makes the file if it is not there.
        beside = os.path.join(driver, os.path.dirname(f), header)
        if os.path.exists(beside) or layer in table.everywhere:
            return []
        return [f'{f}: includes "{header}", which is not in its folder']
    other = header.split('/')[0]
    if other not in table.may or not table.allows(layer, other) or other == layer:
        return [f'{f}: includes "{header}": {layer} must not include that of {other}']
    public = [f'{other}/mrc_{other}.h'] + table.headers
    if other in table.everywhere or any(fnmatch.fnmatch(header, p) for p in public):
        return []
    return [f'{f}: includes "{header}", which is private to {other}']


def check_seam(table, driver, defined, wanted, page):
    """Compares @page with the uses of the lowest layer and with the calls of that layer.
    """
    low = table.lowest()
    used, calls = set(), set()
    for o, names in wanted.items():
        for s in names:
            inside = defined.get(s, '').startswith(low + '/')
            if o.startswith(low + '/'):
                calls |= {s} if s in table.calls[low] else set()
            elif inside:
                used.add(s)
    with open(page, encoding='utf-8') as f:
        down, up = f.read().split('\n## Calls up\n')
    bad = []
    for part, there in ((down.split('\n## Calls down\n')[1], used), (up, calls)):
        said = set()
        for line in part.splitlines():
            if line.startswith('|'):
                said |= set(re.findall(r'`(mrc_\w+)(?:\(\))?`', line.split('|')[1]))
        bad += [f'{page}: {s} is missing' for s in sorted(there - said)]
        bad += [f'{page}: {s} is not called' for s in sorted(said - there)]
    text = ''.join(open(os.path.join(driver, f), encoding='utf-8').read()
                   for f in sources(driver) if f.startswith(low + '/') and f.endswith('.h'))
    for struct, member in re.findall(r'`(mrc_\w+)\.(\w+)`', up):
        m = re.search(r'struct ' + struct + r' \{(.*?)\n\};', text, re.S)
        if not m or f'(*{member})(' not in m[1]:
            bad.append(f'{page}: {struct}.{member} is no callback')
    return bad


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.strip())
    driver, symbols = sys.argv[1:3]
    table = Table(os.path.join(driver, TABLE))
    objects, defined, wanted = read_symbols(symbols)
    bad = check_files(table, driver) + check_symbols(table, objects, defined, wanted)
    if len(sys.argv) == 4:
        bad += check_seam(table, driver, defined, wanted, sys.argv[3])
    for line in bad:
        print(line)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())

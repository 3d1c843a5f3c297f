#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Instructions per message, by function, of what plugin.cpp has counted.

usage: report.py DIR LIMITS
  DIR     has kallsyms, runs and counts.N (job.sh)
  LIMITS  lines of a name and the most instructions per message in the module mrc
Writes DIR/functions.txt, with all functions above one instruction per message.
Exit status: 0; 1 bad input; 3 a limit is exceeded.
"""
import bisect
import re
import sys
from collections import defaultdict
from pathlib import Path


def symbols(path):
    table = []
    for line in path.read_text().splitlines():
        address, kind, name, *module = line.split()
        if kind in "tTwW":
            # Parts that the compiler has split off belong to their function.
            name = re.sub(r"\.(constprop|isra|part|cold)(\.\d+)?", "", name)
            table.append((int(address, 16), name, module[0] if module else ""))
    table.sort()
    return [entry[0] for entry in table], table


def by_function(path, addresses, table):
    counts = defaultdict(int)
    for line in path.read_text().splitlines():
        address, insns, executions = line.split()
        address = int(address, 16)
        total = int(insns) * int(executions)
        if not address >> 63:
            counts["programs", ""] += total
            continue
        i = bisect.bisect(addresses, address) - 1
        counts[table[i][1:] if i >= 0 else ("unknown", "")] += total
    return counts


def main():
    folder, limits_file = map(Path, sys.argv[1:])
    limits = {}
    for line in limits_file.read_text().splitlines():
        if line and not line.startswith("#"):
            name, limit = line.split()
            limits[name] = int(limit)
    addresses, table = symbols(folder / "kallsyms")
    failed = False
    out = open(folder / "functions.txt", "w")
    print(f"{'operation':<16} {'kernel':>9} {'of it mrc':>10} {'limit':>9}   "
          "instructions per message")
    runs = [line.split() for line in (folder / "runs").read_text().splitlines()]
    for i, (name, few, many) in enumerate(runs):
        messages = int(many) - int(few)
        base = by_function(folder / f"counts.{2 * i + 1}", addresses, table)
        total = by_function(folder / f"counts.{2 * i + 2}", addresses, table)
        each = {f: (total[f] - base[f]) / messages for f in set(base) | set(total)}
        kernel = sum(n for f, n in each.items() if f[0] != "programs")
        ours = sum(n for f, n in each.items() if f[1] == "[mrc]")
        limit = limits.pop(name)
        over = ours > limit
        failed |= over
        print(f"{name:<16} {kernel:>9.0f} {ours:>10.0f} {limit:>9}"
              + ("   EXCEEDED" if over else ""))
        out.write(f"{name}: {kernel:.0f} in the kernel, {ours:.0f} in mrc\n")
        for f in sorted(each, key=lambda f: -each[f]):
            if each[f] >= 1:
                out.write(f"{each[f]:10.1f}  {f[0]} {f[1]}\n")
    if limits:
        sys.exit(f"not measured: {' '.join(limits)}")
    return 3 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError, KeyError) as e:
        sys.exit(f"report.py: {e!r}")

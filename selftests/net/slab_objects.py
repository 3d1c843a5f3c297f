#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Prints the kernel memory that is allocated and not freed.

usage: slab_objects.py

Prints a line "CACHE OBJECTS SIZE" for each slab cache and finally "total-kB KB 1": the
sum of objects, of allocations too large for caches, and of per-CPU and vmalloc memory.

/proc/slabinfo counts each object of the slab that a processor allocates from, free or
not. So a cache seems to grow by a whole slab (21 objects of 192 bytes) when a processor
begins a new slab. This program shrinks each cache, which takes the slabs (and sheaves)
away from the processors, and reads the cache at once without allocating memory itself.
It repeats this if a processor began a slab in between. Kernels with sheaves do not tell
whether a processor has filled one in between: there the smallest of several readings
counts. The result is exact for a cache that nobody else uses at the moment. For other
caches it may be too large by a part of a slab or by a sheaf, but never too small.
"""

import os
import sys

SLAB = "/sys/kernel/slab"
TRIES = 8


def attribute(directory, name, flags=os.O_RDONLY):
    try:
        return os.open(f"{SLAB}/{directory}/{name}", flags)
    except OSError:
        return None


def number(fd):
    """The first number in an open file."""
    return int(os.pread(fd, 64, 0).split()[0])


def sheaf_capacity(cache):
    """Objects of a sheaf; 0 for caches and kernels without sheaves."""
    try:
        with open(f"{SLAB}/{cache}/sheaf_capacity", encoding="ascii") as f:
            return int(f.read())
    except OSError:
        return 0


def look(cache):
    """The numbers of objects and slabs of one cache."""
    shrink = attribute(cache, "shrink", os.O_WRONLY)
    objects = attribute(cache, "objects")
    slabs = attribute(cache, "slabs")
    # Kernels without per-CPU slabs do not have this attribute, or it is always 0.
    held = attribute(cache, "cpu_slabs")
    sheaves = sheaf_capacity(cache)
    least = None
    try:
        if objects is None or slabs is None:
            return None
        # The first read of each file allocates its buffer.
        for fd in (objects, slabs, held):
            if fd is not None:
                number(fd)
        for _ in range(TRIES):
            if shrink is not None:
                os.pwrite(shrink, b"1", 0)
            n = number(objects)
            exact = not sheaves and held is not None and number(held) == 0
            if least is None or n < least:
                least = n
            if exact:
                break
        return least, number(slabs)
    except OSError:
        # The cache was destroyed.
        return None
    finally:
        for fd in (shrink, objects, slabs, held):
            if fd is not None:
                os.close(fd)


def constant(cache, name):
    with open(f"{SLAB}/{cache}/{name}", encoding="ascii") as f:
        return int(f.read())


def meminfo():
    with open("/proc/meminfo", encoding="ascii") as f:
        return {k: int(v.split()[0]) for k, v in (line.split(":") for line in f)}


def main():
    page = os.sysconf("SC_PAGESIZE")
    used = held = 0
    try:
        names = sorted(os.listdir(SLAB))
    except OSError as e:
        sys.exit(f"slab_objects.py: {SLAB}: {e.strerror}")
    for cache in names:
        # A merged cache is a link to the cache that it shares.
        if os.path.islink(f"{SLAB}/{cache}"):
            continue
        try:
            found = look(cache)
            if found is None:
                continue
            size = constant(cache, "slab_size")
            order = constant(cache, "order")
        except FileNotFoundError:
            continue
        objects, slabs = found
        used += objects * size
        held += slabs * (page << order)
        print(cache, objects, size)
    if not held:
        sys.exit(f"slab_objects.py: {SLAB} lists no objects")
    m = meminfo()
    large = max(0, m["Slab"] * 1024 - held)
    total = (used + large) // 1024 + m["Percpu"] + m["VmallocUsed"]
    print("total-kB", total, 1)


if __name__ == "__main__":
    main()

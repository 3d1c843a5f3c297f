#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Measures for how long the machine pauses. Actions that are due every second and are
not made up for may be missing as often.

Prints "ready", and at SIGTERM the number of whole seconds lost (0.8 s and more count as
one) by the processor that lost most of them. With the argument "longest": the longest
pause of any processor in ms."""
import os
import signal
import sys
import threading
import time

LONGEST = sys.argv[1:] == ['longest']
NAP = .002 if LONGEST else .05
lost = {}


def watch(cpu):
    os.sched_setaffinity(0, [cpu])
    last = time.monotonic()
    while True:
        time.sleep(NAP)
        now = time.monotonic()
        if LONGEST:
            lost[cpu] = max(lost[cpu], int((now - last - NAP) * 1000))
        else:
            lost[cpu] += int(now - last + .2)
        last = now


signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
for n in os.sched_getaffinity(0):
    lost[n] = 0
    threading.Thread(target=watch, args=[n], daemon=True).start()
print('ready', flush=True)
signal.sigwait([signal.SIGTERM])
print(max(lost.values()), flush=True)
os._exit(0)

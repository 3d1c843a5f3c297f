#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""How long the machine stands still meanwhile: what is due every second, and is
not made up for, may be missing as often.

Prints "ready", and at SIGTERM the number of whole seconds, those that lack up to
a fifth included, of the processor that lost most of them."""
import os
import signal
import threading
import time

NAP = .05
lost = {}


def watch(cpu):
    os.sched_setaffinity(0, [cpu])
    last = time.monotonic()
    while True:
        time.sleep(NAP)
        now = time.monotonic()
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

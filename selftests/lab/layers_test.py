#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""
Tests layers.py with a small correct driver, and with errors in it. Prints one line
per case, like the rest of the lab's own test.
"""
import os
import subprocess
import sys
import tempfile

LAYERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'layers.py')

TABLE = """
main: net dev core
net: dev core
dev: core
core:
compat:
everywhere: compat
core calls: mrc_crc
circle: 2
headers: core/*.h compat/*.h
closed: ->req\\.\\w+
"""

FILES = {
    'main/mrc_main.c': '#include "net/mrc_net.h"\n',
    'net/mrc_net.h': '#include "dev/mrc_dev.h"\n',
    'net/mrc_sock.c': '#include "mrc_net.h"\n',
    'net/mrc_xmit.c': '#include "mrc_net.h"\n#include "compat/mrc_compat.h"\n',
    'net/mrc_rcv.c': '#include <linux/skbuff.h>\n#include "mrc_net.h"\n',
    'dev/mrc_dev.h': '#include "core/mrc_core.h"\n',
    'dev/mrc_port.c': '#include "mrc_dev.h"\n',
    'core/mrc_core.h': 'struct mrc_cfg {\n\tvoid (*on_loss)(void *ctx);\n};\n',
    'core/mrc_req.c': '#include "mrc_core.h"\n',
    'compat/mrc_compat.h': '#include "mrc_config.h"\n',
}

SYMBOLS = """
main/mrc_main.o:0000000000000000 T init
main/mrc_main.o:                 U sock_open
main/mrc_main.o:                 U kmalloc
net/mrc_sock.o:0000000000000010 T sock_open
net/mrc_sock.o:                 U port_up
net/mrc_xmit.o:0000000000000020 T xmit
net/mrc_xmit.o:                 U route
net/mrc_rcv.o:0000000000000030 T route
net/mrc_rcv.o:                 U xmit
net/mrc_rcv.o:0000000000000040 T mrc_crc
dev/mrc_port.o:0000000000000050 D port_up
dev/mrc_port.o:                 U mrc_req
core/mrc_req.o:0000000000000060 T mrc_req
core/mrc_req.o:                 U mrc_crc
"""


SEAM = """
## Calls down

| function | what for |
|---|---|
| `mrc_req()` | a request |

## Calls up

| function | what for |
|---|---|
| `mrc_crc()` | a CRC |

| callback | what for |
|---|---|
| `mrc_cfg.on_loss` | a loss |
"""


def run(table=TABLE, files=None, symbols=SYMBOLS, seam=SEAM):
    with tempfile.TemporaryDirectory() as tmp:
        driver = os.path.join(tmp, 'mrc')
        for name, text in {**FILES, **(files or {})}.items():
            if text is None:
                continue
            path = os.path.join(driver, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'w', encoding='utf-8') as f:
                f.write(text)
        for name, text in ((os.path.join(driver, 'layers'), table),
                           (os.path.join(tmp, 'symbols'), symbols),
                           (os.path.join(tmp, 'seam'), seam)):
            with open(name, 'w', encoding='utf-8') as f:
                f.write(text)
        done = subprocess.run([LAYERS, driver, os.path.join(tmp, 'symbols'),
                               os.path.join(tmp, 'seam')],
                              capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


CASES = [
    ('a driver that is right', {}, 0, ''),
    ('a call upward', {'symbols': SYMBOLS + 'dev/mrc_port.o:   U xmit\n'}, 1,
     'dev/mrc_port.c: uses xmit of net/mrc_xmit.c: dev must not use net'),
    ('data of a layer above', {'symbols': SYMBOLS + 'net/mrc_xmit.o:   U limit\n'
                               'main/mrc_main.o:0 B limit\n'}, 1,
     'net/mrc_xmit.c: uses limit of main/mrc_main.c'),
    ('the engine calls what is not in the table',
     {'symbols': SYMBOLS + 'core/mrc_req.o:   U xmit\n'}, 1,
     'core/mrc_req.c: uses xmit of net/mrc_xmit.c: core must not use net'),
    ('a circle of too many files',
     {'symbols': SYMBOLS + 'net/mrc_rcv.o:   U sock_open\nnet/mrc_sock.o:   U xmit\n'}, 1,
     '3 files call each other in a circle, more than 2: net/mrc_rcv net/mrc_sock net/mrc_xmit'),
    ('a header of a layer above',
     {'files': {'dev/mrc_port.c': '#include "net/mrc_net.h"\n'}}, 1,
     'dev/mrc_port.c: includes "net/mrc_net.h": dev must not include that of net'),
    ('a private header of a layer below',
     {'files': {'net/mrc_xmit.c': '#include "dev/mrc_port.h"\n', 'dev/mrc_port.h': ''}}, 1,
     'net/mrc_xmit.c: includes "dev/mrc_port.h", which is private to dev'),
    ('a header that is elsewhere',
     {'files': {'net/mrc_xmit.c': '#include "mrc_dev.h"\n'}}, 1,
     'net/mrc_xmit.c: includes "mrc_dev.h", which is not in its folder'),
    ('two files with one name', {'files': {'net/mrc_req.c': ''}}, 1,
     'net/mrc_req.c: core/mrc_req.c has the same name'),
    ('a folder without a row', {'files': {'extra/mrc_x.c': ''}}, 1,
     'extra: not in the table of layers'),
    ('a row without a folder', {'table': TABLE + 'roce: core\n'}, 1,
     'roce: in the table of layers, but there is no file of it'),
    ('a table with a circle', {'table': TABLE.replace('dev: core', 'dev: core main')}, 1,
     'may call itself through others'),
    ('no objects', {'symbols': ''}, 1, 'no objects'),
    ('state that is closed', {'files': {'dev/mrc_port.c': '\tqp->req.psn++;\n'}}, 1,
     'dev/mrc_port.c:1: "->req.psn" is closed to dev'),
    ('a call down that the page lacks', {'seam': SEAM.replace('`mrc_req()`', '')}, 1,
     'mrc_req is missing'),
    ('a call down that the page has too much',
     {'seam': SEAM.replace('`mrc_req()`', '`mrc_req()`, `mrc_more()`')}, 1,
     'mrc_more is not called'),
    ('a call up that the page lacks', {'seam': SEAM.replace('`mrc_crc()`', '')}, 1,
     'mrc_crc is missing'),
    ('a callback that is not there', {'seam': SEAM.replace('on_loss', 'on_gain')}, 1,
     'mrc_cfg.on_gain is no callback'),
]


def main():
    failures = 0
    for what, change, status, said in CASES:
        got, text = run(**change)
        if got == status and said in text and bool(said) == bool(text):
            print(f'ok layers: {what}')
        else:
            failures += 1
            print(f'not ok layers: {what}: expected {status} and "{said}", got {got} and "{text}"')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())

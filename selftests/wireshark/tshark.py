# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs tshark with the dissector, and reports results as TAP."""
import pathlib
import subprocess
import sys

import samples

sys.path.append(str(samples.TOP / 'selftests/common'))
from tap import Tap  # pylint: disable=wrong-import-position,unused-import

SCRIPT = samples.TOP / 'userspace-tools/wireshark/mrc.lua'
PAGE = samples.TOP / 'Documentation/wireshark.md'
PATIENCE = 900


class Tshark:
    """tshark with the dissector."""

    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)
        self.complaints = []

    def run(self, *args, script=SCRIPT, script_args=()):
        """The output of tshark; a status that is not 0 and complaints are remembered."""
        command = [self.program]
        if args[0] == '-G':
            command += args[:2]
            args = args[2:]
        command += ['-X', 'lua_script:%s' % script]
        for arg in script_args:
            command += ['-X', 'lua_script1:' + arg]
        # A UDP checksum of 0 is what RoCE v2 and MRC send in IPv6, too.
        command += ['-n', '-o', 'udp.ignore_ipv6_zero_checksum:TRUE', *args]
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
        out = done.stdout.decode(errors='replace')
        errors = [line for line in done.stderr.decode(errors='replace').splitlines()
                  if line and 'Running as user "root"' not in line]
        if done.returncode:
            self.complaints.append('status %d: %s' % (done.returncode, ' '.join(command)))
        self.complaints += errors
        # The list of all fields has one for such errors.
        if command[1] != '-G':
            self.complaints += [line.strip() for line in out.splitlines()
                                if 'Lua Error' in line or 'Lua:' in line]
        return out

    def read(self, name, *args, **more):
        return self.run('-r', str(self.folder / name), *args, **more)

    def fields(self, name, fields, *args, **more):
        """A list of dictionaries, one for each frame; values that repeat are joined by |."""
        select = [x for field in fields for x in ('-e', field)]
        out = self.read(name, *args, '-T', 'fields', '-E', 'aggregator=|', '-E',
                        'separator=/t', *select, **more)
        return [dict(zip(fields, line.split('\t'))) for line in out.split('\n')[:-1]]

    def registered(self):
        """Names of all fields and expert informations of the dissector."""
        out = self.run('-G', 'fields')
        return sorted({line.split('\t')[2] for line in out.splitlines()
                       if line.startswith('F\t') and line.split('\t')[2].startswith('mrc.')})

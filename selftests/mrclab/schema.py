#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Validates fabrics and drills with the schemas for editors: the examples, and files
that are good and wrong. What is good and wrong of drills is beside this script, because
the parser's test has it too.

usage: schema.py DIRECTORY-OF-MRCLAB

Needs python3-jsonschema and python3-yaml; without them the test is skipped (77).
"""
import glob
import json
import os
import sys

try:
    import jsonschema
    import yaml
except ImportError as e:
    print(f'skipped: {e}')
    sys.exit(77)

# Keys that every fabric needs.
SMALLEST = {'name': 'x', 'planes': 2, 't0': 2, 't1': 2, 'hosts': 2}

GOOD = [
    '',
    'prefix: ""',
    'mtu: 9000\nblock: fd01\nblock4: "10.10"',
    'block: fc00\nblock4: 192.168',
    'forwarding: srv6+ecmp\ndevices: rxe\ndevice: rxe',
    'links: {}',
    'links: {host: {}, fabric: {}}',
    'links: {host: {rate: 9600, loss: 1, delay: 0, queue: 1500, trim: 0}}',
    'links: {host: {rate: none, mark: none}, "*:h1": {rate: 1.5gbit, loss: 0.1%}}',
    'links: {p1l1:s1: {mark: 16k..64k, trim: 64k, trim_len: 200, jitter: 1us}}',
    'links: {host: {rate: 10Mbit}, fabric: {rate: 1GBIT}}',
    'profiles: {}',
    'profiles: {evs: on}',
    'profiles: {evs: "off", cc: {algorithm: uet-1.0-nscc, gamma: 0.8}}',
]

BAD = [
    'hosts: 10000',
    'hosts: 0',
    'hosts: -1',
    'hosts: two',
    'hosts: [2]',
    'hosts: 1.5',
    'hosts:',
    'planes: 17',
    't1: 0',
    'name: X',
    'name: 5',
    'name: abcdefghijklmnopq',
    'prefix: a/b',
    'nodes: 5',
    'mtu: 1279',
    'mtu: 9k',
    'block: fe80',
    'block: 2001',
    'block: 1fcbb',
    'block4: "8.8"',
    'block4: 8.8',
    'block4: 10.1.2',
    'forwarding: SRv6',
    'devices: mlx5',
    'links: 5',
    'links: [h1:p1]',
    'links: {rate: 1mbit}',
    'links: {host: {rate: 0}}',
    'links: {host: {rate: -1mbit}}',
    'links: {host: {rate: 1mbps}}',
    'links: {host: {rate: [1mbit]}}',
    'links: {host: {delay: 10}}',
    'links: {host: {loss: 101}}',
    'links: {host: {loss: 1e3x}}',
    'links: {host: {queue: 4mb}}',
    'links: {host: {mark: 0}}',
    'links: {host: {mark: 1k..}}',
    'links: {h1:p1: {speed: 1mbit}}',
    'links: {fabric:}',
    'profiles: on',
    'profiles: {ev: on}',
    'profiles: {evs: 1}',
    'profiles: {cc: uet-1.0-nscc}',
    'profiles: {cc: {gamma: 1}}',
    'profiles: {cc: {algorithm: a b}}',
    'profiles: {cc: {algorithm: a, x y: 1}}',
    'profiles: {cc: {algorithm: a, x: [1]}}',
]

# The same for drills.
SMALLEST_DRILL = {
    'drill': 'd',
    'fabric': 'f.yaml',
    'time': '10s',
    'baseline': '1s..3s',
    'traffic': {'w': {'program': 'ib_write_bw', 'from': 'h1', 'to': 'h3'}},
}


def load(*path):
    with open(os.path.join(*path), encoding='utf-8') as f:
        return yaml.safe_load(f)


class Judge:
    """Counts what a schema judges wrongly."""

    def __init__(self, folder, schema):
        with open(os.path.join(folder, schema), encoding='utf-8') as f:
            text = json.load(f)
        jsonschema.Draft7Validator.check_schema(text)
        self.validator = jsonschema.Draft7Validator(text)
        self.wrong = 0

    def judge(self, what, file, good):
        errors = [e.message for e in self.validator.iter_errors(file)]
        if bool(errors) == good:
            self.wrong += 1
            print(f'{what}: {"; ".join(errors) or "is valid"}')

    def judge_all(self, smallest, needed, examples, good, bad):
        for path in examples:
            self.judge(path, load(path), True)
        for keys in good:
            self.judge(keys, smallest | keys, True)
        for keys in bad:
            self.judge(keys, smallest | keys, False)
        for key in needed:
            without = {k: v for k, v in smallest.items() if k != key}
            self.judge(f'without {key}', without, False)
        for file in (None, [], 'x', 5, {}):
            self.judge(repr(file), file, False)
        print(f'{len(examples)} examples, {len(good)} good and {len(bad)} bad files')
        if not examples or not good or not bad:
            print('there is nothing to judge')
            self.wrong += 1
        return self.wrong


def main():
    folder = sys.argv[1]
    here = os.path.dirname(os.path.abspath(__file__))
    fabrics = glob.glob(os.path.join(folder, 'fabrics', '*.yaml'))
    fabrics += glob.glob(os.path.join(folder, 'drills', 'fabrics', '*.yaml'))
    drills = glob.glob(os.path.join(folder, 'drills', '*.yaml'))
    wrong = Judge(folder, 'fabric.schema.json').judge_all(
        SMALLEST, SMALLEST, fabrics,
        [yaml.safe_load(text) or {} for text in GOOD],
        [yaml.safe_load(text) for text in BAD])
    wrong += Judge(folder, 'drill.schema.json').judge_all(
        SMALLEST_DRILL, [key for key in SMALLEST_DRILL if key != 'baseline'], drills,
        load(here, 'drills_good.yaml'), load(here, 'drills_wrong.yaml'))
    return 1 if wrong else 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Validates fabrics with the schema for editors: the examples and what is wrong.

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
    'block: 2001\nblock4: 192.168',
    'forwarding: srv6+ecmp\ndevices: rxe\ndevice: rxe',
    'links: {}',
    'links: {host: {}, fabric: {}}',
    'links: {host: {rate: 9600, loss: 1, delay: 0, queue: 1500, trim: 0}}',
    'links: {host: {rate: none, mark: none}, "*:h1": {rate: 1.5gbit, loss: 0.1%}}',
    'links: {p1l1:s1: {mark: 16k..64k, trim: 64k, trim_len: 200, jitter: 1us}}',
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


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, 'fabric.schema.json'), encoding='utf-8') as f:
        schema = json.load(f)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    wrong = 0

    def judge(what, fabric, good):
        nonlocal wrong
        errors = [e.message for e in validator.iter_errors(fabric)]
        if bool(errors) == good:
            wrong += 1
            print(f'{what}: {"; ".join(errors) or "is valid"}')

    examples = glob.glob(os.path.join(folder, 'fabrics', '*.yaml'))
    for path in examples:
        with open(path, encoding='utf-8') as f:
            judge(path, yaml.safe_load(f), True)
    for text in GOOD:
        judge(text, SMALLEST | (yaml.safe_load(text) or {}), True)
    for text in BAD:
        judge(text, SMALLEST | yaml.safe_load(text), False)
    for key in SMALLEST:
        judge(f'without {key}', {k: v for k, v in SMALLEST.items() if k != key}, False)
    for fabric in (None, [], 'x', 5, {}):
        judge(repr(fabric), fabric, False)
    print(f'{len(examples)} examples, {len(GOOD)} good and {len(BAD)} bad fabrics')
    if not examples:
        print('there are no examples')
    return 1 if wrong or not examples else 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs a composite action as a runner of GitHub does: each "run" step as a script of bash, with
the environment that the step names, GITHUB_ACTION_PATH, GITHUB_WORKSPACE and a new file
GITHUB_OUTPUT. Prints the action's outputs as lines NAME=VALUE; those that are empty are left
out. The exit status is that of the step that failed, or 0.

usage: action.py [-p ACTION-PATH] [-w WORKSPACE] ACTION.YML [INPUT=VALUE]...
ACTION-PATH is where the action finds its own files, by default the directory of ACTION.YML."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

# As the runner calls it for "shell: bash".
BASH = ['bash', '--noprofile', '--norc', '-e', '-o', 'pipefail']
EXPRESSION = re.compile(r'\$\{\{\s*(.*?)\s*\}\}')


class Wrong(Exception):
    """The action, or what it is given, is not as it should be."""


def expand(text, values):
    """Expressions that only name something; the action needs no others."""
    def value(match):
        if match[1] not in values:
            raise Wrong('unknown: ${{ %s }}' % match[1])
        return values[match[1]]
    return EXPRESSION.sub(value, text)


def read_outputs(path):
    """NAME=VALUE lines, and NAME<<END, lines, END."""
    found, lines = {}, iter(path.read_text(encoding='utf-8').splitlines())
    for line in lines:
        name, mark, rest = line.partition('<<') if re.match(r'\w+<<', line) else \
            line.partition('=')
        if not mark:
            raise Wrong('no output: %r' % line)
        if mark == '<<':
            rest = '\n'.join(iter(lambda end=rest: next(lines), rest))
        found[name] = rest
    return found


def run_step(step, values, env, folder):
    if step.get('shell') != 'bash':
        raise Wrong('a step without "shell: bash"')
    if 'uses' in step:
        raise Wrong('a step that uses another action')
    unknown = set(step) - {'id', 'name', 'shell', 'env', 'run'}
    if unknown:
        raise Wrong('a step with %s, which is not understood here' % ', '.join(sorted(unknown)))
    script, output = folder / 'script.sh', folder / 'output'
    script.write_text(expand(step['run'], values), encoding='utf-8')
    output.write_text('', encoding='utf-8')
    own = {k: expand(str(v), values) for k, v in step.get('env', {}).items()}
    done = subprocess.run([*BASH, str(script)], check=False, stdin=subprocess.DEVNULL,
                          cwd=env['GITHUB_WORKSPACE'],
                          env={**env, **own, 'GITHUB_OUTPUT': str(output)})
    if 'id' in step:
        for name, value in read_outputs(output).items():
            values['steps.%s.outputs.%s' % (step['id'], name)] = value
    return done.returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-p', '--path', type=pathlib.Path)
    parser.add_argument('-w', '--workspace', type=pathlib.Path, default=pathlib.Path.cwd())
    parser.add_argument('file', type=pathlib.Path)
    parser.add_argument('inputs', nargs='*')
    args = parser.parse_args()
    action = yaml.safe_load(args.file.read_text(encoding='utf-8'))
    if action['runs']['using'] != 'composite':
        raise Wrong('no composite action')
    given = dict(i.split('=', 1) for i in args.inputs)
    unknown = sorted(set(given) - set(action['inputs']))
    if unknown:
        raise Wrong('no such input: %s' % ' '.join(unknown))
    values = {}
    for name, about in action['inputs'].items():
        if about.get('required') and name not in given:
            raise Wrong('input %s is missing' % name)
        # A default that is no string is an error of the action, which a runner may not see.
        if not isinstance(about.get('default', ''), str):
            raise Wrong('the default of %s is no string' % name)
        values['inputs.' + name] = given.get(name, about.get('default', ''))
    env = {**os.environ, 'GITHUB_ACTIONS': 'true', 'CI': 'true',
           'GITHUB_ACTION_PATH': str((args.path or args.file.parent).resolve()),
           'GITHUB_WORKSPACE': str(args.workspace.resolve())}
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        # A user that the step may become has to reach it.
        os.chmod(folder, 0o755)
        for step in action['runs']['steps']:
            status = run_step(step, values, env, pathlib.Path(folder))
            if status:
                break
    for name, about in action['outputs'].items():
        # What no step has set is empty.
        unset = {e: '' for e in EXPRESSION.findall(about['value']) if e.startswith('steps.')}
        value = expand(about['value'], {**unset, **values})
        if value:
            print('%s=%s' % (name, value))
    return status


if __name__ == '__main__':
    try:
        sys.exit(main())
    except Wrong as e:
        sys.exit('action.py: %s' % e)

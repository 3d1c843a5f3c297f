#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Prints the configuration of an OCI runtime for a service of a compose file, as engines make
# it: what the service drops is dropped, and nothing is added that it does not name.
#
# usage: oci.py COMPOSE-FILE SERVICE ROOTFS [--netns PATH] [--host-network] [--device PATH]...
"""A compose file's service as config.json. An unknown key is an error."""

import argparse
import json
import os
import stat

import yaml

# What has no meaning for a runtime: it gets the name and the files of the image otherwise.
NO_MEANING = {'image', 'build', 'container_name'}


def node(path, inside, access):
    """The node of a device, and the rule that lets programs use it."""
    st = os.stat(path)
    if not stat.S_ISCHR(st.st_mode):
        raise SystemExit(f'{path} is no character device')
    number = {'major': os.major(st.st_rdev), 'minor': os.minor(st.st_rdev)}
    return (dict(number, path=inside, type='c', fileMode=0o666, uid=0, gid=0),
            dict(number, allow=True, type='c', access=access))


def rule(text):
    """A rule such as "c 231:* rw"."""
    kind, numbers, access = text.split()
    out = {'allow': True, 'type': kind, 'access': access}
    for name, value in zip(('major', 'minor'), numbers.split(':')):
        if value != '*':
            out[name] = int(value)
    return out


def config(service, args):
    """config.json as a dictionary."""
    s = dict(service)
    for key in NO_MEANING:
        s.pop(key, None)
    uid, gid = (int(v) for v in s.pop('user').split(':'))
    if s.pop('cap_drop') != ['ALL'] or s.pop('network_mode') != 'none':
        raise SystemExit('the service has capabilities or a network')
    if s.pop('security_opt') != ['no-new-privileges:true']:
        raise SystemExit('security_opt is not what it was')
    memlock = s.pop('ulimits')['memlock']
    unlimited = 2 ** 64 - 1
    nodes, rules = [], [rule(r) for r in s.pop('device_cgroup_rules')]
    devices = [d.split(':') for d in s.pop('devices')] + [[d, d, 'rw'] for d in args.device]
    for path, inside, access in devices:
        n, r = node(path, inside, access)
        nodes.append(n)
        rules.append(r)
    # What every engine allows: to make nodes, and the usual devices of programs.
    allowed = [rule(r) for r in ('c *:* m', 'b *:* m', 'c 1:3 rwm', 'c 1:5 rwm', 'c 1:7 rwm',
                                 'c 1:8 rwm', 'c 1:9 rwm', 'c 5:0 rwm', 'c 5:1 rwm',
                                 'c 5:2 rwm', 'c 136:* rwm')]
    spaces = [{'type': t} for t in ('pid', 'ipc', 'uts', 'mount')]
    if not args.host_network:
        spaces.append({'type': 'network', **({'path': args.netns} if args.netns else {})})
    nothing = ['nosuid', 'noexec', 'nodev']
    out = {
        'ociVersion': '1.0.2',
        'hostname': s.pop('hostname'),
        'root': {'path': args.rootfs, 'readonly': s.pop('read_only')},
        'process': {
            'terminal': False,
            'user': {'uid': uid, 'gid': gid},
            'args': s.pop('command'),
            'env': ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
            'cwd': '/',
            'capabilities': {k: [] for k in ('bounding', 'effective', 'inheritable',
                                             'permitted', 'ambient')},
            'rlimits': [{'type': 'RLIMIT_MEMLOCK',
                         'soft': memlock['soft'] if memlock['soft'] >= 0 else unlimited,
                         'hard': memlock['hard'] if memlock['hard'] >= 0 else unlimited}],
            'noNewPrivileges': True,
        },
        'mounts': [
            {'destination': '/proc', 'type': 'proc', 'source': 'proc', 'options': nothing},
            {'destination': '/dev', 'type': 'tmpfs', 'source': 'tmpfs',
             'options': ['nosuid', 'strictatime', 'mode=755', 'size=65536k']},
            {'destination': '/dev/pts', 'type': 'devpts', 'source': 'devpts',
             'options': ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620']},
            {'destination': '/dev/shm', 'type': 'tmpfs', 'source': 'shm',
             'options': nothing + ['mode=1777', 'size=67108864']},
            {'destination': '/sys', 'type': 'sysfs', 'source': 'sysfs',
             'options': nothing + ['ro']},
        ],
        'linux': {
            'namespaces': spaces,
            'devices': nodes,
            'resources': {'devices': [{'allow': False, 'access': 'rwm'}] + allowed + rules},
            'maskedPaths': ['/proc/kcore', '/proc/keys', '/proc/timer_list', '/sys/firmware'],
            'readonlyPaths': ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys',
                              '/proc/sysrq-trigger'],
        },
    }
    if s:
        raise SystemExit(f'keys that this program does not know: {" ".join(s)}')
    return out


def main():
    """The program."""
    parser = argparse.ArgumentParser()
    parser.add_argument('compose')
    parser.add_argument('service')
    parser.add_argument('rootfs')
    parser.add_argument('--netns')
    parser.add_argument('--host-network', action='store_true')
    parser.add_argument('--device', action='append', default=[])
    args = parser.parse_args()
    with open(args.compose, encoding='utf-8') as f:
        service = yaml.safe_load(f)['services'][args.service]
    print(json.dumps(config(service, args), indent=1))


if __name__ == '__main__':
    main()

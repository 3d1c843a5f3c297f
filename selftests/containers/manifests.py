#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Checks what packaging has for others: each YAML file is one, the manifests have what
Kubernetes demands of their kinds and what this project's pages say of them, names that must be
the same in several files are, and action.yml fits mrc-up.sh. No cluster is needed. Prints what
is wrong, and fails then.

usage: manifests.py [DIRECTORY OF THE REPOSITORY]"""
import json
import pathlib
import re
import sys

import yaml

TOP = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                   pathlib.Path(__file__).resolve().parents[2])
KUBERNETES = TOP / 'packaging/kubernetes'
# The kinds that are used, and where their pods are described.
KINDS = {('apps/v1', 'DaemonSet'): ('spec', 'template'), ('v1', 'Pod'): (),
         ('k8s.cni.cncf.io/v1', 'NetworkAttachmentDefinition'): None}
# RFC 1123, as Kubernetes demands of names; "DOMAIN/NAME" of an extended resource.
NAME = re.compile(r'[a-z0-9]([-a-z0-9]*[a-z0-9])?')
RESOURCE = re.compile(r'[a-z0-9.-]+\.[a-z]+/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?')

problems = []


def need(good, text):
    if not good:
        problems.append(text)
    return good


class NoDuplicates(yaml.SafeLoader):
    """A key that is there twice is an error: other parsers take one of them."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if key.tag == 'tag:yaml.org,2002:merge':
                continue
            name = self.construct_object(key, deep=True)
            if name in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, 'key %r is there twice' % name, key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def documents(path):
    try:
        text = path.read_text(encoding='utf-8')
        need('\t' not in text, '%s: has a tab' % path.relative_to(TOP))
        return [d for d in yaml.load_all(text, NoDuplicates) if d is not None]
    except yaml.YAMLError as e:
        problems.append('%s: %s' % (path.relative_to(TOP), ' '.join(str(e).split())))
        return []


def dig(tree, *keys):
    for key in keys:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(key)
    return tree


def check_container(where, container, volumes):
    need(isinstance(container.get('name'), str) and NAME.fullmatch(container['name']),
         '%s: a container without a valid name' % where)
    need(isinstance(container.get('image'), str), '%s: a container without an image' % where)
    for key in ('args', 'command'):
        # A number there is refused.
        for word in container.get(key, []):
            need(isinstance(word, str), '%s: %s has %r, which is no string' % (where, key, word))
    for mount in container.get('volumeMounts', []):
        need(mount.get('name') in volumes, '%s: no volume %s' % (where, mount.get('name')))
        need(str(mount.get('mountPath', '')).startswith('/'), '%s: mountPath' % where)
    for kind in ('limits', 'requests'):
        for name, amount in (dig(container, 'resources', kind) or {}).items():
            need('/' not in name or RESOURCE.fullmatch(name),
                 '%s: no name of a resource: %s' % (where, name))
            need(isinstance(amount, int) and amount > 0,
                 '%s: %s of %s is not a positive number' % (where, kind, name))


def check_pod(where, pod):
    containers = dig(pod, 'spec', 'containers')
    if not need(isinstance(containers, list) and containers, '%s: no containers' % where):
        return
    volumes = [v.get('name') for v in dig(pod, 'spec', 'volumes') or []]
    names = [c.get('name') for c in containers]
    need(len(set(names)) == len(names), '%s: a name of a container is there twice' % where)
    for container in containers:
        check_container(where, container, volumes)


def check_kind(where, doc):
    kind = (doc.get('apiVersion'), doc.get('kind'))
    if not need(kind in KINDS, '%s: unknown kind %s %s' % (where, *kind)):
        return
    name = dig(doc, 'metadata', 'name')
    need(isinstance(name, str) and NAME.fullmatch(name) and len(name) < 64,
         '%s: %r is no name' % (where, name))
    need(set(doc) <= {'apiVersion', 'kind', 'metadata', 'spec'}, '%s: has %s' % (where, list(doc)))
    if kind[1] == 'DaemonSet':
        wanted = dig(doc, 'spec', 'selector', 'matchLabels')
        labels = dig(doc, 'spec', 'template', 'metadata', 'labels')
        need(wanted and labels and wanted.items() <= labels.items(),
             '%s: the selector does not select the template' % where)
        # A template has no restartPolicy other than Always.
        need(dig(doc, 'spec', 'template', 'spec', 'restartPolicy') in (None, 'Always'),
             '%s: restartPolicy of a DaemonSet' % where)
    if KINDS[kind] is not None:
        check_pod(where, dig(doc, *KINDS[kind]) if KINDS[kind] else doc)


def pods_of(docs):
    for doc in docs:
        path = KINDS.get((doc.get('apiVersion'), doc.get('kind')))
        if path is not None:
            yield dig(doc, *path) if path else doc


def asked_for(docs):
    """The extended resources that pods want."""
    return {name for pod in pods_of(docs) for c in dig(pod, 'spec', 'containers') or []
            for name in dig(c, 'resources', 'limits') or {} if '/' in name}


def check_plugin(docs):
    """generic-device-plugin: --domain NAME, and --device with YAML of its own. Each device has a
    name and groups with paths; "count" is how many may use a group at once."""
    offered = set()
    for pod in pods_of(docs):
        for container in dig(pod, 'spec', 'containers') or []:
            words = container.get('args', [])
            options = list(zip(words[::2], words[1::2]))
            need(len(words) % 2 == 0 and {o for o, _ in options} == {'--domain', '--device'},
                 'device-plugin.yaml: arguments: %s' % words)
            domain = [v for o, v in options if o == '--domain']
            if not need(len(domain) == 1, 'device-plugin.yaml: one --domain'):
                continue
            for text in (v for o, v in options if o == '--device'):
                try:
                    device = yaml.load(text, NoDuplicates)
                except yaml.YAMLError as e:
                    problems.append('device-plugin.yaml: --device: %s' % ' '.join(str(e).split()))
                    continue
                if not need(isinstance(device, dict) and set(device) == {'name', 'groups'} and
                            device['groups'], 'device-plugin.yaml: a device is %s' % device):
                    continue
                offered.add('%s/%s' % (domain[0], device['name']))
                for group in device['groups']:
                    need(set(group) <= {'count', 'paths'}, 'device-plugin.yaml: %s' % group)
                    need(isinstance(group.get('count', 1), int), 'device-plugin.yaml: count')
                    paths = [p.get('path', '') for p in group.get('paths', [])]
                    need(any(re.fullmatch(r'/dev/infiniband/uverbs[0-9*]+', p) for p in paths) and
                         '/dev/infiniband/rdma_cm' in paths,
                         'device-plugin.yaml: the nodes are %s' % paths)
            mounts = {m['mountPath'] for m in container.get('volumeMounts', [])}
            need({'/var/lib/kubelet/device-plugins', '/dev'} <= mounts,
                 'device-plugin.yaml: mounts are %s' % mounts)
    return offered


def check_network(docs):
    """The configuration is one of mrc-cni.sh."""
    script = (KUBERNETES / 'mrc-cni.sh').read_text(encoding='utf-8')
    head = script.split('set -euo')[0]
    documented = set(re.findall(r'"([A-Za-z]+)":', head)) - {'ips'}
    names = set()
    for doc in docs:
        try:
            conf = json.loads(dig(doc, 'spec', 'config'))
        except (TypeError, ValueError) as e:
            problems.append('network.yaml: config: %s' % e)
            continue
        need(set(conf) <= documented, 'network.yaml: mrc-cni.sh does not know all of %s' % list(conf))
        need(conf.get('type') == 'mrc', 'network.yaml: type is %s' % conf.get('type'))
        need(conf.get('cniVersion') in re.findall(r'"(\d\.\d\.\d)"', script),
             'network.yaml: mrc-cni.sh does not support %s' % conf.get('cniVersion'))
        need(re.fullmatch(r'\d+(\.\d+){3}/\d+', conf.get('peers', '')), 'network.yaml: peers')
        need(dig(conf, 'capabilities', 'ips') is True or 'address' in conf,
             'network.yaml: no address')
        names.add(dig(doc, 'metadata', 'name'))
        need(conf.get('device') in names, 'network.yaml: name and device differ')
    return names


def check_unprivileged(name, docs):
    for pod in pods_of(docs):
        for c in dig(pod, 'spec', 'containers') or []:
            rights = c.get('securityContext', {})
            need(rights.get('allowPrivilegeEscalation') is False and
                 dig(rights, 'capabilities', 'drop') == ['ALL'] and
                 not dig(rights, 'capabilities', 'add') and
                 rights.get('runAsUser', 0) > 0 and not rights.get('privileged'),
                 '%s: has rights: %s' % (name, rights))


def check_kubernetes():
    files = {p.name: documents(p) for p in sorted(KUBERNETES.glob('*.y*ml'))}
    for name, docs in files.items():
        need(docs, '%s: has no document' % name)
        for doc in docs:
            if need(isinstance(doc, dict), '%s: no object' % name):
                check_kind(name, doc)
    offered = check_plugin(files['device-plugin.yaml'])
    networks = check_network(files['network.yaml'])
    for name in ('pod-own.yaml', 'pods-shared.yaml'):
        wanted = asked_for(files[name])
        need(wanted and wanted <= offered,
             '%s: wants %s, the plugin has %s' % (name, sorted(wanted), sorted(offered)))
        check_unprivileged(name, files[name])
    for pod in pods_of(files['pod-own.yaml']):
        text = dig(pod, 'metadata', 'annotations', 'k8s.v1.cni.cncf.io/networks')
        try:
            wanted = json.loads(text)
            need({n['name'] for n in wanted} <= networks,
                 'pod-own.yaml: %s, but networks are %s' % (text.strip(), sorted(networks)))
            need(all(re.fullmatch(r'\d+(\.\d+){3}/32', ip) for n in wanted for ip in n['ips']),
                 'pod-own.yaml: addresses: %s' % text.strip())
        except (TypeError, ValueError, KeyError) as e:
            problems.append('pod-own.yaml: networks: %r' % e)
        need({'mrc.example.org/' + n for n in networks} == asked_for(files['pod-own.yaml']),
             'pod-own.yaml: resource and network name different devices')
    for pod in pods_of(files['pods-shared.yaml']):
        need(dig(pod, 'spec', 'hostNetwork') is True, 'pods-shared.yaml: no hostNetwork')
    page = (TOP / 'Documentation/kubernetes.md').read_text(encoding='utf-8')
    for name in files:
        need('`%s`' % name in page, 'kubernetes.md does not name %s' % name)


def check_action():
    """Inputs and outputs are used and known; what a step gets comes by its environment, never in
    the text of a script."""
    [action] = documents(TOP / 'action.yml')
    script = (TOP / 'packaging/ci/mrc-up.sh').read_text(encoding='utf-8')
    published = set(re.findall(r'\b(MRC_[A-Z_]+)=', script))
    steps = action['runs']['steps']
    used = set()
    for step in steps:
        need('${{' not in step['run'], 'action.yml: an expression in the text of a script')
        for name, value in step.get('env', {}).items():
            used |= set(re.findall(r'\$\{\{ inputs\.([\w-]+) \}\}', value))
            need('$' + name in step['run'], 'action.yml: %s is not used' % name)
        for name in re.findall(r'\$(IN_\w+)', step['run']):
            need(name in step['env'], 'action.yml: %s is not set' % name)
    need(used == set(action['inputs']),
         'action.yml: inputs %s, used are %s' % (sorted(action['inputs']), sorted(used)))
    ids = {s.get('id') for s in steps}
    for name, about in action['outputs'].items():
        m = re.fullmatch(r'\$\{\{ steps\.(\w+)\.outputs\.(\w+) \}\}', about['value'])
        need(m and m[1] in ids and m[2] in published,
             'action.yml: output %s: %s' % (name, about['value']))
    for name, about in {**action['inputs'], **action['outputs']}.items():
        need(about.get('description'), 'action.yml: %s has no description' % name)


def main():
    for path in sorted((TOP / 'packaging').glob('**/*.y*ml')):
        if path.parent != KUBERNETES:
            need(documents(path), '%s: has no document' % path.relative_to(TOP))
    check_kubernetes()
    check_action()
    for text in problems:
        print(text)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())

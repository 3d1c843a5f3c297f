#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Writes an OCI image with one layer: busybox, and the directories over which a container gets
those of another root file system.

usage: image.py NAME BUSYBOX ARCHIVE
  NAME     of the image, localhost/NAME:TAG
  BUSYBOX  a static one
  ARCHIVE  the file that is written, for "ctr images import\""""
import hashlib
import io
import json
import sys
import tarfile


def add(tar, name, data=None, link=None, mode=0o755):
    info = tarfile.TarInfo(name)
    info.mode = mode
    if link:
        info.type, info.linkname = tarfile.SYMTYPE, link
    elif data is None:
        info.type = tarfile.DIRTYPE
    else:
        info.size = len(data)
    tar.addfile(info, io.BytesIO(data) if data is not None else None)


def layer(busybox):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w') as tar:
        for d in ('bin', 'usr', 'etc', 'etc/libibverbs.d', 'dev', 'proc', 'sys', 'tmp'):
            add(tar, d)
        for d in ('lib', 'lib64'):
            add(tar, d, link='usr/' + d)
        with open(busybox, 'rb') as f:
            add(tar, 'bin/busybox', f.read())
    return out.getvalue()


class Archive:
    def __init__(self, file):
        self.tar = tarfile.open(file, 'w')
        add(self.tar, 'oci-layout', b'{"imageLayoutVersion": "1.0.0"}', mode=0o644)

    def blob(self, kind, data):
        """Adds it; returns its descriptor."""
        digest = hashlib.sha256(data).hexdigest()
        add(self.tar, 'blobs/sha256/' + digest, data, mode=0o644)
        return {'mediaType': 'application/vnd.oci.image.' + kind, 'digest': 'sha256:' + digest,
                'size': len(data)}


def main(name, busybox, file):
    archive = Archive(file)
    content = layer(busybox)
    content_blob = archive.blob('layer.v1.tar', content)
    config = {'architecture': 'amd64', 'os': 'linux',
              'config': {'Entrypoint': ['/bin/busybox', 'sleep', 'infinity'],
                         'Env': ['PATH=/usr/sbin:/usr/bin:/bin']},
              'rootfs': {'type': 'layers', 'diff_ids': [content_blob['digest']]}}
    manifest = {'schemaVersion': 2, 'mediaType': 'application/vnd.oci.image.manifest.v1+json',
                'config': archive.blob('config.v1+json', json.dumps(config).encode()),
                'layers': [content_blob]}
    top = archive.blob('manifest.v1+json', json.dumps(manifest).encode())
    top['annotations'] = {'io.containerd.image.name': name}
    add(archive.tar, 'index.json', json.dumps({'schemaVersion': 2, 'manifests': [top]}).encode(),
        mode=0o644)
    archive.tar.close()


if len(sys.argv) != 4:
    sys.exit(__doc__)
main(*sys.argv[1:])

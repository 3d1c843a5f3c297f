#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Resources that a program without privileges is charged for, and the limits on them.

limits.py memlock DEV         pinned memory and RLIMIT_MEMLOCK, TAP
limits.py memlock-none DEV    the same with a limit of 0, TAP
limits.py objects DEV FILE    creates an object of each kind and prints for each a line
                              "KIND HANDLES OBJECTS": the change in FILE, which is
                              rdma.current of the program's cgroup
limits.py qps DEV N           in a device with room for N queue pairs, TAP
limits.py rings DEV           completion queues until there is no memory, TAP
limits.py stopped DEV FILE    in a cgroup that allows one handle and three
                              objects, TAP
"""
import ctypes
import errno
import mmap
import os
import re
import sys

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.mr import MR, MW
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.addr import AH
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr

PAGE = mmap.PAGESIZE
WRITE = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE
libc = ctypes.CDLL(None, use_errno=True)
bad = []


def check(what, got, want):
    ok = got == want
    print('%s %s' % ('ok' if ok else 'not ok', what), flush=True)
    if not ok:
        print('# %s: %s, expected %s' % (what, got, want))
        bad.append(what)


def number(call, *args, **kwargs):
    """The errno of a call that fails, or 0."""
    try:
        call(*args, **kwargs)
    except PyverbsRDMAError as err:
        found = re.search(r'Errno: (\d+)', str(err))
        return int(found.group(1)) if found else str(err)
    return 0


def pinned():
    """Pages that the process has pinned."""
    with open('/proc/self/status', encoding='ascii') as f:
        kb = next(x.split()[1] for x in f if x.startswith('VmPin:'))
    return int(kb) * 1024 // PAGE


class Memory:
    """Pages of anonymous memory that are never moved nor given back. The mapping is
    private: older kernels register read-only memory only if it can be copied."""

    def __init__(self, pages):
        self.map = mmap.mmap(-1, pages * PAGE,
                             flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.size = pages * PAGE

    def forbid(self, page, prot=0):
        """Removes access to the pages from number @page on, or allows only @prot."""
        if libc.mprotect(ctypes.c_void_p(self.address + page * PAGE),
                         ctypes.c_size_t(self.size - page * PAGE), prot):
            raise OSError(ctypes.get_errno(), 'mprotect')


def memlock(dev):
    limit = 256
    ctx = Context(name=dev)
    pd = PD(ctx)
    mem = Memory(2 * limit)
    holes = Memory(8)
    holes.forbid(6)
    read_only = Memory(8)
    read_only.forbid(0, mmap.PROT_READ)

    def reg(pages, first=0, access=WRITE, memory=mem):
        return MR(pd, pages * PAGE, access, memory.address + first * PAGE)

    check('nothing is pinned at first', pinned(), 0)
    cq = CQ(ctx, 4096)
    cap = QPCap(max_send_wr=1024, max_recv_wr=1024)
    qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=cap))
    check('rings are not pinned memory of the program', pinned(), 0)
    qp.close()
    cq.close()

    a = reg(128)
    check('a region is charged', pinned(), 128)
    b = reg(128, 128)
    check('up to the limit', pinned(), limit)
    check('one page more', number(reg, 1, 256), errno.ENOMEM)
    check('which costs nothing', pinned(), limit)
    check('nor is it allowed for memory that is pinned already',
          number(reg, 1), errno.ENOMEM)
    b.close()
    check('deregistered', pinned(), 128)

    c = MR(pd, 2, WRITE, mem.address + 200 * PAGE - 1)
    check('two bytes on two pages', pinned(), 130)
    c.close()
    check('and back', pinned(), 128)

    check('memory with a hole at its end', number(reg, 8, memory=holes),
          errno.EFAULT)
    check('it costs nothing', pinned(), 128)
    check('memory that cannot be written', number(reg, 8, memory=read_only),
          errno.EFAULT)
    check('that costs nothing either', pinned(), 128)
    check('remote writes without local ones',
          number(reg, 8, access=e.IBV_ACCESS_REMOTE_WRITE), errno.EINVAL)
    check('and this neither', pinned(), 128)

    trans = e.IBV_REREG_MR_CHANGE_TRANSLATION
    a.rereg(trans, pd, mem.address + 256 * PAGE, 64 * PAGE)
    check('registered anew, smaller', pinned(), 64)
    check('anew beyond the limit',
          number(a.rereg, trans, pd, mem.address, 257 * PAGE), errno.ENOMEM)
    check('leaves what it had', pinned(), 64)
    # For a moment both registrations exist: a peer finds one or the other.
    check('anew, with the old one above the limit',
          number(a.rereg, trans, pd, mem.address, 193 * PAGE), errno.ENOMEM)
    check('leaves it, too', pinned(), 64)
    check('anew, not there', number(a.rereg, trans, pd, holes.address, holes.size),
          errno.EFAULT)
    check('leaves it as well', pinned(), 64)
    a.rereg(trans, pd, mem.address, 192 * PAGE)
    check('anew with the limit reached in between', pinned(), 192)
    a.rereg(e.IBV_REREG_MR_CHANGE_ACCESS, pd, 0, 0, e.IBV_ACCESS_LOCAL_WRITE)
    check('other access, same memory', pinned(), 192)
    a.close()
    check('all deregistered', pinned(), 0)

    r = reg(8, access=0, memory=read_only)
    check('memory that is only read', pinned(), 8)
    check('cannot become writable', number(
        r.rereg, e.IBV_REREG_MR_CHANGE_ACCESS, pd, 0, 0, WRITE), errno.EFAULT)
    check('and that costs nothing', pinned(), 8)
    r.close()

    keep = [reg(16, 16 * i) for i in range(4)]
    check('four regions', pinned(), 64)
    # The file is closed before the regions, as when a program ends.
    null = os.open('/dev/null', os.O_RDWR)
    os.dup2(null, ctx.cmd_fd)
    check('a context that is closed with regions', pinned(), 0)
    finish(keep)


def finish(*_):
    """Ends without destructors: the objects that they would destroy are gone."""
    print('1..%d' % 0 if bad else '# all as expected', flush=True)
    os._exit(1 if bad else 0)


def memlock_none(dev):
    ctx = Context(name=dev)
    pd = PD(ctx)
    mem = Memory(1)
    check('no memory may be locked', number(MR, pd, 1, WRITE, mem.address),
          errno.EPERM)
    check('nothing is pinned', pinned(), 0)
    finish(ctx, pd)


def current(dev, path):
    """Handles and objects that are charged for @dev."""
    with open(path, encoding='ascii') as f:
        for line in f:
            name, *values = line.split()
            if name == dev:
                v = dict(x.split('=') for x in values)
                return int(v['hca_handle']), int(v['hca_object'])
    return 0, 0


def gid_index(dev):
    """The GID index of the first IPv4 address of the first port."""
    for i in range(128):
        with open('/sys/class/infiniband/%s/ports/1/gids/%d' % (dev, i),
                  encoding='ascii') as f:
            gid = f.read().strip()
        if gid.startswith('0000:0000:0000:0000:0000:ffff'):
            return i, gid
    raise LookupError('no address')


def objects(dev, path):
    kept = []

    def count(kind, call, *args, **kwargs):
        before = current(dev, path)
        kept.append(call(*args, **kwargs))
        after = current(dev, path)
        print(kind, after[0] - before[0], after[1] - before[1], flush=True)
        return kept[-1]

    ctx = count('context', Context, name=dev)
    pd = count('pd', PD, ctx)
    channel = count('channel', CompChannel, ctx)
    cq = count('cq', CQ, ctx, 16, None, channel)
    cap = QPCap(max_send_wr=16, max_recv_wr=16)
    for kind, number_ in (('rc', e.IBV_QPT_RC), ('ud', e.IBV_QPT_UD)):
        count(kind, QP, pd, QPInitAttr(qp_type=number_, scq=cq, rcq=cq, cap=cap))
    count('srq', SRQ, pd, SrqInitAttr(SrqAttr(max_wr=16)))
    mem = Memory(1)
    count('mr', MR, pd, PAGE, WRITE, mem.address)
    count('mw', MW, pd, e.IBV_MW_TYPE_1)
    index, gid = gid_index(dev)
    gr = GlobalRoute(dgid=GID(gid), sgid_index=index, hop_limit=64)
    count('ah', AH, pd, attr=AHAttr(port_num=1, is_global=1, gr=gr))
    before = current(dev, path)
    for obj in reversed(kept[1:]):
        obj.close()
    after = current(dev, path)
    print('objects-back', after[0] - before[0], after[1] - before[1])
    ctx.close()
    after = current(dev, path)
    print('left', after[0], after[1], flush=True)


def stopped(dev, path):
    ctx = Context(name=dev)
    check('one handle', current(dev, path), (1, 0))
    check('another handle', number(Context, name=dev), errno.EAGAIN)
    pd = PD(ctx)
    cq = CQ(ctx, 16)
    cap = QPCap(max_send_wr=16, max_recv_wr=16)
    init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=cap)
    qp = QP(pd, init)
    check('three objects', current(dev, path), (1, 3))
    mem = Memory(1)
    check('a region more', number(MR, pd, PAGE, WRITE, mem.address), errno.EAGAIN)
    check('is not pinned', pinned(), 0)
    check('a queue pair more', number(QP, pd, init), errno.EAGAIN)
    check('a CQ more', number(CQ, ctx, 16), errno.EAGAIN)
    check('a window more', number(MW, pd, e.IBV_MW_TYPE_1), errno.EAGAIN)
    check('a shared receive queue more',
          number(SRQ, pd, SrqInitAttr(SrqAttr(max_wr=16))), errno.EAGAIN)
    check('a PD more', number(PD, ctx), errno.EAGAIN)
    check('still three', current(dev, path), (1, 3))
    qp.close()
    check('two are left', current(dev, path), (1, 2))
    mr = MR(pd, PAGE, WRITE, mem.address)
    check('a region in its place', current(dev, path), (1, 3))
    mr.close()
    cq.close()
    pd.close()
    ctx.close()
    check('nothing is left', current(dev, path), (0, 0))
    finish()


def rings(dev):
    """Makes completion queues of the largest size until the program gets no more."""
    ctx = Context(name=dev)
    size = ctx.query_device().max_cqe
    kept, err = [], 0
    # If the program itself finds no memory, the kernel kills it. So it has used before
    # what it will need: for as many objects, for an error, and a reserve for the end.
    for cq in [CQ(ctx, 1) for _ in range(128)]:
        cq.close()
    number(CQ, ctx, size + 1)
    reserve = bytearray(b'x' * (4 << 20))
    try:
        for _ in range(4096):
            kept.append(CQ(ctx, size))
    except PyverbsRDMAError as failed:
        del reserve
        err = int(re.search(r'Errno: (\d+)', str(failed)).group(1))
    print('# %d completion queues, then errno %d' % (len(kept), err))
    check('rings are refused', err, errno.ENOMEM)
    finish()


def qps(dev, room):
    """Makes queue pairs until the device has no room for more."""
    ctx = Context(name=dev)
    pd = PD(ctx)
    cq = CQ(ctx, 16)
    init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq,
                      cap=QPCap(max_send_wr=16, max_recv_wr=16))
    kept = [QP(pd, init) for _ in range(int(room))]
    check('a queue pair more', number(QP, pd, init), errno.ENOMEM)
    kept.pop().close()
    kept.append(QP(pd, init))
    check('another in the place of one', len(kept), int(room))
    check('and no more', number(QP, pd, init), errno.ENOMEM)
    finish()


def main():
    what = {'memlock': memlock, 'memlock-none': memlock_none,
            'objects': objects, 'stopped': stopped, 'rings': rings, 'qps': qps}
    what[sys.argv[1]](*sys.argv[2:])


if __name__ == '__main__':
    main()

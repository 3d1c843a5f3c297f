# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Counters of a device's ports by RDMA netlink, as `rdma statistic show link` reads them.
Tests ask many times, under emulation: so there is no process for each time, and where
an answer has the counters is found out once."""
import os
import socket
import struct

NETLINK_RDMA = 20
# linux/netlink.h
REQUEST, DUMP = 1, 0x300
ERROR, DONE = 2, 3
NESTED = 0x8000
# rdma/rdma_netlink.h
NLDEV = 5 << 10
GET, STAT_GET = 1, 17
DEV_INDEX, DEV_NAME, PORT_INDEX = 1, 2, 3
HWCOUNTERS, ENTRY, ENTRY_NAME, ENTRY_VALUE = 80, 81, 82, 83


def attributes(data, at=0, end=None):
    """The attributes of @data between @at and @end: type, and where the payload is."""
    end = len(data) if end is None else end
    while at + 4 <= end:
        length, kind = struct.unpack_from('=HH', data, at)
        if not 4 <= length <= end - at:
            raise ValueError('attribute of %d bytes' % length)
        yield kind & ~NESTED, at + 4, at + length
        at += length + 3 & ~3


def u32(kind, value):
    return struct.pack('=HHI', 8, kind, value)


def payloads(data):
    return {kind: data[at:end] for kind, at, end in attributes(data)}


def text(payload):
    return payload.rstrip(b'\0').decode()


def messages(s):
    """The messages of an answer: of a dump all up to its end, else one."""
    while True:
        data = s.recv(1 << 20)
        at = 0
        while at + 16 <= len(data):
            length, kind, flags = struct.unpack_from('=IHH', data, at)
            if length < 16:
                raise ValueError('message of %d bytes' % length)
            body = data[at + 16:at + length]
            at += length + 3 & ~3
            if kind == ERROR:
                error = -struct.unpack_from('=i', body)[0]
                raise OSError(error, os.strerror(error))
            if kind == DONE:
                return
            yield body
            if not flags & 2:  # NLM_F_MULTI
                return


def ask(s, command, flags, request=b''):
    s.send(struct.pack('=IHHII', 16 + len(request), NLDEV | command, REQUEST | flags, 1, 0) +
           request)
    return list(messages(s))


class Counters:
    """The counters of a device, for each of its ports a dictionary by name."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)
        self.socket.bind((0, 0))
        self.names, self.values, self.size = (), None, 0
        for body in ask(self.socket, GET, DUMP):
            found = payloads(body)
            if text(found[DEV_NAME]) == name:
                index, ports = (struct.unpack('=I', found[k])[0]
                                for k in (DEV_INDEX, PORT_INDEX))
                self.requests = [u32(DEV_INDEX, index) + u32(PORT_INDEX, port)
                                 for port in range(1, ports + 1)]
                return
        raise LookupError('no device ' + name)

    def learn(self, body):
        """Where @body has which counter."""
        names, form, done = [], '=', 0
        for table, start, end in attributes(body):
            for entry, at, last in attributes(body, start, end) if table == HWCOUNTERS else ():
                where = {k: (a, z) for k, a, z in attributes(body, at, last)}
                if entry != ENTRY:
                    continue
                names.append(text(body[slice(*where[ENTRY_NAME])]))
                value = where[ENTRY_VALUE][0]
                form += '%dxQ' % (value - done)
                done = value + 8
        self.names, self.size = names, len(body)
        self.values = struct.Struct(form)

    def read(self):
        for request in self.requests:
            body, = ask(self.socket, STAT_GET, 0, request)
            if len(body) != self.size:
                self.learn(body)
            yield dict(zip(self.names, self.values.unpack_from(body)))

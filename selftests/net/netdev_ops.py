# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""
Requests of netlink and bpf(2) for netdevs.sh and netdev_changes.sh. iproute2 cannot set the
mode of a team, and it loads XDP programs only from object files.

usage: netdev_ops.py team NETDEV MODE          mode of a team without ports
       netdev_ops.py xdp NETDEV native|generic on|off
                                              a program that passes every packet

Exit status: 0, 1 if the kernel refuses it, 77 if the kernel has no bpf(2).
"""
import ctypes
import errno
import os
import platform
import socket
import struct
import sys

NLM_F_REQUEST, NLM_F_ACK, NLA_F_NESTED = 1, 4, 0x8000
NLMSG_ERROR = 2
NETLINK_GENERIC = 16  # not in the socket module
RTM_SETLINK = 19
IFLA_XDP, IFLA_XDP_FD, IFLA_XDP_FLAGS = 43, 1, 3
XDP_FLAGS = {'generic': 1 << 1, 'native': 1 << 2}
GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 16, 3, 1, 2
TEAM_CMD_OPTIONS_SET = 1
TEAM_TYPE_STRING = 5
BPF_PROG_LOAD, BPF_PROG_TYPE_XDP, BPF_F_XDP_HAS_FRAGS = 5, 6, 1 << 5
SYS_BPF = {'x86_64': 321, 'aarch64': 280}


def attr(kind, data):
    size = 4 + len(data)
    return struct.pack('=HH', size, kind) + data + bytes(-size % 4)


def nested(kind, *attrs):
    return attr(kind | NLA_F_NESTED, b''.join(attrs))


def ask(family, kind, body):
    """Sends one request. Returns the answer's body, or nothing for a mere ACK."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, family) as s:
        s.send(struct.pack('=IHHII', 16 + len(body), kind,
                           NLM_F_REQUEST | NLM_F_ACK, 1, 0) + body)
        answer = s.recv(65536)
    if struct.unpack_from('=H', answer, 4)[0] == NLMSG_ERROR:
        error = -struct.unpack_from('=i', answer, 16)[0]
        if error:
            raise OSError(error, os.strerror(error))
        return b''
    return answer[16:struct.unpack_from('=I', answer)[0]]


def generic_family(name):
    body = ask(NETLINK_GENERIC, GENL_ID_CTRL,
               struct.pack('=BBH', CTRL_CMD_GETFAMILY, 1, 0) +
               attr(CTRL_ATTR_FAMILY_NAME, name.encode() + b'\0'))[4:]
    while body:
        size, kind = struct.unpack_from('=HH', body)
        if kind == CTRL_ATTR_FAMILY_ID:
            return struct.unpack_from('=H', body, 4)[0]
        body = body[(size + 3) & ~3:]
    raise LookupError(name)


def team(netdev, mode):
    option = nested(1, attr(1, b'mode\0'), attr(3, bytes([TEAM_TYPE_STRING])),
                    attr(4, mode.encode() + b'\0'))
    request = (struct.pack('=BBH', TEAM_CMD_OPTIONS_SET, 1, 0) +
               attr(1, struct.pack('=I', socket.if_nametoindex(netdev))) +
               nested(2, option))
    try:
        ask(NETLINK_GENERIC, generic_family('team'), request)
    except ProcessLookupError:
        pass  # the mode is set, but nobody listens to the news about it


def passing_program():
    """r0 = XDP_PASS; exit. Takes packets of several pages."""
    code = (ctypes.c_ubyte * 16)(0xb7, 0, 0, 0, 2, 0, 0, 0, 0x95)
    name = ctypes.create_string_buffer(b'GPL')
    request = struct.pack('=IIQQIIQII', BPF_PROG_TYPE_XDP, 2, ctypes.addressof(code),
                          ctypes.addressof(name), 0, 0, 0, 0, BPF_F_XDP_HAS_FRAGS)
    request = ctypes.create_string_buffer(request.ljust(128, b'\0'), 128)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(SYS_BPF[platform.machine()], BPF_PROG_LOAD, request, 128)
    if fd < 0:
        error = ctypes.get_errno()
        if error == errno.ENOSYS:
            sys.exit(77)
        raise OSError(error, os.strerror(error))
    return fd


def xdp(netdev, how, switch):
    fd = passing_program() if switch == 'on' else -1
    ask(socket.NETLINK_ROUTE, RTM_SETLINK,
        struct.pack('=BxHiII', 0, 0, socket.if_nametoindex(netdev), 0, 0) +
        nested(IFLA_XDP, attr(IFLA_XDP_FD, struct.pack('=i', fd)),
               attr(IFLA_XDP_FLAGS, struct.pack('=I', XDP_FLAGS[how]))))


if __name__ == '__main__':
    try:
        {'team': team, 'xdp': xdp}[sys.argv[1]](*sys.argv[2:])
    except OSError as e:
        sys.exit(f'netdev_ops.py {" ".join(sys.argv[1:])}: {e.strerror}')

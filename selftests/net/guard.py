#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sends packets of MRC in the name of a host, as programs there can. They are correct and
name a queue pair that does not exist, which the receiver counts.

usage: guard.py HOW COUNT FROM OWN TO
       guard.py serve FIFO
HOW: udp       a UDP socket of the user nobody
     freebind  the same, whose address need not be one of the host
     transparent  the same, which root has made transparent for it
     wish      the user nobody makes a UDP socket transparent: refused
     big       the same, with datagrams that are sent as fragments
     raw       a raw socket of root
     nobody    a raw socket of the user nobody: refused
FROM: the source address that arrives. OWN: the socket's address, or - for any.
Prints how many datagrams the kernel took.
serve: each line "FILE HOW COUNT FROM OWN TO" from FIFO is done by a process of its own, with
its output and then its status in FILE. To start Python takes seconds under emulation."""
import os
import socket
import sys
import traceback

import mrc_nobody
import mrc_packets as m

IP_FREEBIND, IPV6_FREEBIND = 15, 78
IP_TRANSPARENT, IPV6_TRANSPARENT = 19, 75


def free(sock, option4=IP_FREEBIND, option6=IPV6_FREEBIND):
    """The socket may have an address that is not the host's."""
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, option6, 1)
    else:
        sock.setsockopt(socket.IPPROTO_IP, option4, 1)


def send(how, count, source, own, to):
    if how not in ('raw', 'transparent'):
        mrc_nobody.become()
    body = m.write(m.WRITE_ONLY, 0x77, 1, 0, 0, bytes(9000 if how == 'big' else 8))
    if how in ('raw', 'nobody'):
        sock = socket.socket(mrc_nobody.family(to), socket.SOCK_RAW, socket.IPPROTO_RAW)
        packet, port = m.ip_udp(source, to, body), 0
    else:
        sock = mrc_nobody.udp_socket(to, whole=how != 'big')
        if how == 'freebind':
            free(sock)
        elif how in ('transparent', 'wish'):
            free(sock, IP_TRANSPARENT, IPV6_TRANSPARENT)
        if how == 'transparent':
            mrc_nobody.become()
        sock.bind(('' if own == '-' else own, 0))
        packet, port = mrc_nobody.payload(sock, source, to, body), m.PORT
    taken = 0
    for _ in range(int(count)):
        try:
            sock.sendto(packet, (to, port))
            taken += 1
        except OSError as err:
            print('# %s' % err)
    print(taken)


def serve(fifo):
    # Open for writing too: the end of one writer is not the end of the file.
    with open(os.open(fifo, os.O_RDWR), encoding='ascii', buffering=1, newline='\n') as lines:
        while True:
            path, *args = lines.readline().split()
            with open(path + '.new', 'w', encoding='ascii') as reply:
                child = os.fork()
                if not child:
                    os.dup2(reply.fileno(), 1)
                    os.dup2(reply.fileno(), 2)
                    try:
                        send(*args)
                        sys.stdout.flush()
                        os._exit(0)
                    except BaseException:
                        traceback.print_exc()
                        sys.stdout.flush()
                    finally:
                        os._exit(1)
                status = os.waitpid(child, 0)[1]
                reply.seek(0, os.SEEK_END)
                reply.write('%d\n' % os.waitstatus_to_exitcode(status))
            os.rename(path + '.new', path)


def main():
    if sys.argv[1] == 'serve':
        serve(sys.argv[2])
    send(*sys.argv[1:])


if __name__ == '__main__':
    main()

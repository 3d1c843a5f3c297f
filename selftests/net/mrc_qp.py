# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Helpers to connect a queue pair in Python."""
import pyverbs.enums as e
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.qp import QPAttr

import mrc_packets as m


def gid_index(dev, address, port=1):
    name = '/sys/class/infiniband/%s/ports/%d/gids/%d'
    for i in range(128):
        with open(name % (dev, port, i), encoding='ascii') as f:
            if f.read().strip() == m.gid_text(address):
                return i
    raise LookupError('no GID ' + address)


def ah_attr(dev, own, peer, *, port=1, traffic_class=0):
    return AHAttr(port_num=port, is_global=1, gr=GlobalRoute(
        dgid=GID(m.gid_text(peer)), sgid_index=gid_index(dev, own, port),
        hop_limit=64, traffic_class=traffic_class))


def qp_attr(dev, own, peer, *, port=1, traffic_class=0, **values):
    """Attributes for QP.to_init(), to_rtr() and to_rts(), which use those they need."""
    attr = QPAttr(port_num=port)
    attr.ah_attr = ah_attr(dev, own, peer, port=port,
                           traffic_class=traffic_class)
    for name, value in {'qp_access_flags': e.IBV_ACCESS_REMOTE_WRITE,
                        'path_mtu': e.IBV_MTU_4096, 'min_rnr_timer': 12,
                        'timeout': 14, 'retry_cnt': 7, 'rnr_retry': 7,
                        **values}.items():
        setattr(attr, name, value)
    return attr


def state(qp):
    return qp.query(e.IBV_QP_STATE)[0].qp_state

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Calls a container runtime as a kubelet does, by the Container Runtime Interface.

usage: cri.py SOCKET METHOD REQUEST
  SOCKET   of the runtime, /run/containerd/containerd.sock
  METHOD   RunPodSandbox and others of cri.proto
  REQUEST  as JSON; the response is printed as JSON
Needs grpcio and protobuf, and cri_pb2, which protoc makes from cri.proto. PYTHONPATH says where
it is. Exit status 1: the runtime reports an error, which is printed."""
import sys

import cri_pb2
import grpc
from google.protobuf import json_format


def main(socket, method, text):
    request = getattr(cri_pb2, method + 'Request')()
    response = getattr(cri_pb2, method + 'Response')
    json_format.Parse(text, request)
    with grpc.insecure_channel('unix://' + socket) as channel:
        call = channel.unary_unary('/runtime.v1.RuntimeService/' + method,
                                   request_serializer=lambda m: m.SerializeToString(),
                                   response_deserializer=response.FromString)
        try:
            answer = call(request, timeout=300, wait_for_ready=True)
        except grpc.RpcError as e:
            sys.exit('%s: %s' % (method, e.details()))
    print(json_format.MessageToJson(answer))


if len(sys.argv) != 4:
    sys.exit(__doc__)
main(*sys.argv[1:])

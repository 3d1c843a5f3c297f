#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Open MPI over UCX: an all-reduce whose result is checked, two ranks of one
# host and one device, in the namespace of end A. IPv6 GIDs with rxe: see ucx.sh.
# timeout: 600
. "$(dirname "$0")/lib_interop.sh"
# That of the guide.
EXAMPLES=$INTEROP_DIR/../../Documentation/guides/examples

cases() { choose allreduce_rc -- allreduce_ud; }

case_run() {
	local gid=()
	if [ "$KIND" = rxe ]; then
		gids_v6
		gid=(-x "UCX_IB_GID_INDEX=$GIDX6_A")
	fi
	at_a timeout 200 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		mpirun -n 2 --oversubscribe --mca pml ucx --mca btl ^openib,tcp \
		-x "UCX_NET_DEVICES=$DEV_A:1" -x "UCX_TLS=${1#*_}_verbs,ud_verbs:aux,self" \
		"${gid[@]}" python3 "$EXAMPLES/allreduce.py" >"$WORK/out"
	check "$(grep -c agrees "$WORK/out")" == 2 "ranks that agree"
}

interop mpi

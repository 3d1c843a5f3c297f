#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Open MPI over UCX: an all-reduce whose result is checked, two ranks of one
# host and one device, in the namespace of end A. IPv6 GIDs with rxe: see ucx.sh.
# timeout: 600
. "$(dirname "$0")/lib_interop.sh"

cases() { choose allreduce_rc -- allreduce_ud; }

case_run() {
	local gid=()
	if [ "$KIND" = rxe ]; then
		gids_v6
		gid=(-x "UCX_IB_GID_INDEX=$GIDX6_A")
	fi
	cat >"$WORK/allreduce.py" <<-'END'
		from array import array
		from mpi4py import MPI

		comm = MPI.COMM_WORLD
		rank, ranks = comm.Get_rank(), comm.Get_size()
		for n in (1, 100, 5000, 200000):
		    mine = array("d", (i * (rank + 1) for i in range(n)))
		    total = array("d", bytes(8 * n))
		    comm.Allreduce([mine, MPI.DOUBLE], [total, MPI.DOUBLE], MPI.SUM)
		    want = ranks * (ranks + 1) // 2
		    assert all(total[i] == i * want for i in range(n)), n
		print("rank", rank, "of", ranks, "agrees")
	END
	at_a timeout 200 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		mpirun -n 2 --oversubscribe --mca pml ucx --mca btl ^openib,tcp \
		-x "UCX_NET_DEVICES=$DEV_A:1" -x "UCX_TLS=${1#*_}_verbs,ud_verbs:aux,self" \
		"${gid[@]}" python3 "$WORK/allreduce.py" >"$WORK/out"
	check "$(grep -c agrees "$WORK/out")" == 2 "ranks that agree"
}

interop mpi

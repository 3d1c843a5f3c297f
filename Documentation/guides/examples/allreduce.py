# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""An all-reduce by MPI whose result every rank checks: mpirun -n N python3 allreduce.py"""
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

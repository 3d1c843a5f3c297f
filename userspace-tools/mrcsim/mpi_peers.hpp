/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcsim: the processes that mpirun has started. */
#pragma once

#include <memory>

#include "peers.hpp"

namespace mrcsim
{
/*
 * To be called once. Throws mrclab::UsageError if mrcsim was built without MPI.
 * The result ends MPI when it is destroyed.
 */
std::unique_ptr<Peers> mpi_peers();

/* Ends all processes, with this exit status; does nothing without MPI. */
void mpi_abort(int status);
} // namespace mrcsim

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "mpi_peers.hpp"

#include "error.hpp"

#ifdef MRCSIM_MPI
#include <climits>
#include <exception>

#include <mpi.h>
#endif

namespace mrcsim
{
#ifdef MRCSIM_MPI
namespace
{
class MpiPeers : public Peers
{
public:
	MpiPeers()
	{
		int level, n;
		MPI_Comm machine;

		/* One thread at a time calls it, not always the same one. */
		MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED,
				&level);
		if (level < MPI_THREAD_SERIALIZED)
			throw mrclab::SystemError(
				"this MPI does not allow threads");
		MPI_Comm_rank(MPI_COMM_WORLD, &n);
		rank_ = static_cast<u32>(n);
		MPI_Comm_size(MPI_COMM_WORLD, &n);
		count_ = static_cast<u32>(n);
		MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
				    MPI_INFO_NULL, &machine);
		MPI_Comm_size(machine, &n);
		MPI_Comm_free(&machine);
		neighbours_ = static_cast<u32>(n);
	}
	/* All processes end together; after an error they are aborted. */
	~MpiPeers() override
	{
		if (!std::uncaught_exceptions())
			MPI_Finalize();
	}

	u32 rank() const override { return rank_; }
	u32 count() const override { return count_; }
	u32 neighbours() const override { return neighbours_; }

	std::vector<std::string>
	exchange(const std::vector<std::string> &to) override
	{
		std::vector<int> out(count_), in(count_), out_at(count_),
			in_at(count_);
		std::string sent, received;
		std::vector<std::string> from;

		for (u32 n = 0; n < count_; n++) {
			out[n] = length(to[n].size());
			out_at[n] = length(sent.size());
			sent += to[n];
		}
		length(sent.size());
		MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT,
			     MPI_COMM_WORLD);

		u64 all = 0;

		for (u32 n = 0; n < count_; n++) {
			in_at[n] = length(all);
			all += static_cast<u64>(in[n]);
		}
		length(all);
		received.resize(all);
		MPI_Alltoallv(sent.data(), out.data(), out_at.data(), MPI_BYTE,
			      received.data(), in.data(), in_at.data(),
			      MPI_BYTE, MPI_COMM_WORLD);
		for (u32 n = 0; n < count_; n++)
			from.push_back(received.substr(
				static_cast<u64>(in_at[n]),
				static_cast<u64>(in[n])));
		return from;
	}

private:
	static int length(u64 n)
	{
		if (n > INT_MAX)
			throw mrclab::SystemError(
				"more than 2 GiB for other processes at once");
		return static_cast<int>(n);
	}

	u32 rank_, count_, neighbours_;
};
} // namespace

std::unique_ptr<Peers> mpi_peers()
{
	return std::make_unique<MpiPeers>();
}

void mpi_abort(int status)
{
	int running = 0;

	MPI_Initialized(&running);
	if (running)
		MPI_Abort(MPI_COMM_WORLD, status);
}
#else
std::unique_ptr<Peers> mpi_peers()
{
	throw mrclab::UsageError("this mrcsim was built without MPI");
}

void mpi_abort(int /* status */)
{
}
#endif
} // namespace mrcsim

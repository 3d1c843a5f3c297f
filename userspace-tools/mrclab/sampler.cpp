// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sampler.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "error.hpp"
#include "ip_commands.hpp"
#include "netns.hpp"

namespace mrclab
{
Sampler::Sampler(const Topology &t) : topology_(t), buffer_(1 << 16, '\0')
{
	for (const Node &n : t.nodes()) {
		in_netns(netns_of(t.fabric(), n), [this] {
			const int fd = open("/proc/thread-self/net/dev",
					    O_RDONLY | O_CLOEXEC);

			if (fd < 0)
				throw SystemError("/proc/net/dev", errno);
			fds_.push_back(fd);
		});
	}
}

Sampler::~Sampler()
{
	for (const int fd : fds_)
		close(fd);
}

std::map<Direction, Counters> Sampler::sample()
{
	std::map<Direction, Counters> all;

	for (std::size_t i = 0; i < fds_.size(); i++) {
		std::size_t have = 0;
		ssize_t n = 0;

		while ((n = pread(fds_[i], &buffer_[have],
				  buffer_.size() - have,
				  static_cast<off_t>(have))) > 0) {
			have += static_cast<std::size_t>(n);
			if (have == buffer_.size())
				buffer_.resize(2 * have);
		}
		if (n < 0)
			throw SystemError("/proc/net/dev", errno);
		const auto devs = parse_net_dev({buffer_.data(), have});

		for (const Direction d :
		     topology_.sent_by(topology_.nodes()[i])) {
			const auto dev = devs.find(topology_.from(d).netdev);

			if (dev != devs.end())
				all[d] = dev->second;
		}
	}
	return all;
}
} // namespace mrclab

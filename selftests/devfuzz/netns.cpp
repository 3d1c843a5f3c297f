// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "netns.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace devfuzz
{
void enter_netns(const std::string &name)
{
	if (name.empty())
		return;
	const int fd =
		open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
	const int err = fd < 0 ? -1 : setns(fd, CLONE_NEWNET);

	if (fd >= 0)
		close(fd);
	if (err)
		throw No_device("no namespace " + name);
}
} // namespace devfuzz

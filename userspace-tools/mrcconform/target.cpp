// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "target.hpp"

#include <cerrno>
#include <iostream>

#include <fmt/format.h>
#include <sys/socket.h>

#include "device.hpp"

namespace mrcconform
{
namespace
{
void serve(Link &link, Api &api, const std::string &device)
{
	Session session(api, device);

	while (const auto line = link.receive(-1))
		link.send(session.answer(*line));
}
} // namespace

void run_target(const TargetOptions &options)
{
	const auto api =
		options.libmrc.empty() ? verbs_api() : mrc_api(options.libmrc);
	const fd::Fd listener = listen_at(options.listen);

	std::cerr << fmt::format("mrcconform: target on {} port {}\n",
				 options.listen.host, options.listen.port);
	for (;;) {
		fd::Fd fd(accept4(listener.get(), nullptr, nullptr,
				  SOCK_CLOEXEC));

		if (!fd.open()) {
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			fail_errno("accept", errno);
		}
		Link link(std::move(fd));

		try {
			serve(link, *api, options.device);
		} catch (const RunError &e) {
			/* The next tester may do better. */
			std::cerr << fmt::format("mrcconform: tester: {}\n",
						 e.what());
		}
		if (options.once)
			return;
	}
}
} // namespace mrcconform

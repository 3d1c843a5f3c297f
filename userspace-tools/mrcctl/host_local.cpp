// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "../common/fd.hpp"
#include "../common/process.hpp"

namespace mrcctl
{
Host::File LocalHost::read(const std::string &path)
{
	/* A FIFO or a device in place of the file must not stop the program. */
	const fd::Fd file(::open((root_ + path).c_str(),
				 O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	File f;

	if (!file.open())
		return {errno, ""};
	f.text.resize(max_file);
	std::size_t used = 0;

	while (used < f.text.size()) {
		const ssize_t n = ::read(file.get(), f.text.data() + used,
					 f.text.size() - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return {errno, ""};
		if (n == 0)
			break;
		used += static_cast<std::size_t>(n);
	}
	f.text.resize(used);
	return f;
}

std::vector<std::string> LocalHost::list(const std::string &dir)
{
	std::vector<std::string> out;
	std::error_code err;

	for (std::filesystem::directory_iterator it(root_ + dir, err), end;
	     !err && it != end; it.increment(err))
		out.push_back(it->path().filename().string());
	std::sort(out.begin(), out.end());
	return out;
}

Host::Ran LocalHost::run(const std::vector<std::string> &command)
{
	try {
		const process::Ended e = process::run(command);

		/* posix_spawn() may also report it this way. */
		return {.started = e.status != 127,
			.status = e.status,
			.out = e.out,
			.err = e.err};
	} catch (const std::system_error &) {
		return {};
	}
}
} // namespace mrcctl

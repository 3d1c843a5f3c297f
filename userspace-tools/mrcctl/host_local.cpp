// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "host.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/fd.hpp"
#include "../common/netns_cookie.hpp"
#include "../common/process.hpp"
#include "../common/replace.hpp"
#include "error.hpp"

namespace mrcctl
{
namespace
{
int write_all(int fd, std::string_view text)
{
	while (!text.empty()) {
		const ssize_t n = ::write(fd, text.data(), text.size());

		if (n >= 0)
			text.remove_prefix(static_cast<std::size_t>(n));
		else if (errno != EINTR)
			return errno;
	}
	return 0;
}
} // namespace

Host::File LocalHost::read(const std::string &path)
{
	/* A FIFO or a device in place of the file must not stop the program. */
	const fd::Fd file(::open((root_ + path).c_str(),
				 O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	File f;

	if (!file.open())
		return {errno, ""};
	while (f.text.size() < max_file) {
		char part[16384];
		const ssize_t n = ::read(
			file.get(), part,
			std::min(sizeof(part), max_file - f.text.size()));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return {errno, ""};
		if (n == 0)
			break;
		f.text.append(part, static_cast<std::size_t>(n));
	}
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

void LocalHost::become(const std::vector<std::string> &command)
{
	try {
		process::become(command);
	} catch (const std::system_error &e) {
		throw DeviceError(command[0], e.code().value());
	}
}

int LocalHost::replace(const std::string &path, const std::string &text)
{
	const std::string file_name = root_ + path;
	std::error_code failed;
	const std::optional<std::filesystem::path> to =
		replaced_path(file_name, failed);

	if (failed)
		return failed.value();
	if (!to) {
		const fd::Fd there(
			::open(file_name.c_str(),
			       O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));

		return there.open() ? write_all(there.get(), text) : errno;
	}

	/* Readers must never see half of it. */
	const std::string next = fmt::format("{}.{}", to->string(), getpid());
	int err = 0;

	fd::Fd file(::open(
		next.c_str(),
		O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));

	if (!file.open())
		return errno;
	/* Other users read it, whatever the umask is. */
	if (fchmod(file.get(), 0644) != 0)
		err = errno;
	if (!err)
		err = write_all(file.get(), text);
	if (!err && std::rename(next.c_str(), to->c_str()) != 0)
		err = errno;
	if (err)
		unlink(next.c_str());
	return err;
}

int LocalHost::make_directory(const std::string &path)
{
	std::error_code failed;

	std::filesystem::create_directories(root_ + path, failed);
	return failed.value();
}

std::shared_ptr<void> LocalHost::lock(const std::string &path)
{
	const std::string file = root_ + path;
	std::error_code failed;

	std::filesystem::create_directories(
		std::filesystem::path(file).parent_path(), failed);
	auto held = std::make_shared<fd::Fd>(::open(
		file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));

	if (!held->open())
		throw DeviceError(file, errno);
	while (flock(held->get(), LOCK_EX) != 0)
		if (errno != EINTR)
			throw DeviceError(file, errno);
	return held;
}

std::string LocalHost::network_namespace()
{
	uint64_t cookie = 0;

	if (const int err = own_netns_cookie(cookie))
		throw DeviceError("cookie of the network namespace", err);
	return std::to_string(cookie);
}
} // namespace mrcctl

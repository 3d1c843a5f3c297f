/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Which file a new one takes the place of. */
#pragma once

#include <filesystem>
#include <optional>
#include <system_error>

/*
 * Where rename(2) must put what replaces @file: the target of a link, if it
 * exists, else @file. None for what is no regular file, such as a device, which
 * must be written to: root could put a file in the place of /dev/null. @err:
 * set if that cannot be told.
 */
inline std::optional<std::filesystem::path>
replaced_path(const std::filesystem::path &file, std::error_code &err)
{
	const std::filesystem::file_status now =
		std::filesystem::status(file, err);

	err.clear();
	if (!std::filesystem::exists(now))
		return file;
	if (!std::filesystem::is_regular_file(now))
		return std::nullopt;
	return std::filesystem::canonical(file, err);
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "files.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>

#include "../common/replace.hpp"
#include "error.hpp"

namespace mrclab
{
void write_text(const std::string &file, const std::string &text)
{
	errno = 0;
	std::ofstream out(file, std::ios::binary);

	out << text << std::flush;
	if (!out)
		throw SystemError(file, errno ? errno : EIO);
}

void replace_text(const std::string &file, const std::string &text)
{
	std::error_code err;
	const std::optional<std::filesystem::path> found =
		replaced_path(file, err);

	if (err)
		throw SystemError(file, err.value());
	if (!found)
		return write_text(file, text);
	const std::string to = found->string();

	write_text(to + ".new", text);
	std::filesystem::rename(to + ".new", to, err);
	if (err)
		throw SystemError(file, err.value());
}
} // namespace mrclab

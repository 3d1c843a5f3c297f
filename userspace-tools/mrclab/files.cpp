// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "files.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>

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

	write_text(file + ".new", text);
	std::filesystem::rename(file + ".new", file, err);
	if (err)
		throw SystemError(file, err.value());
}
} // namespace mrclab

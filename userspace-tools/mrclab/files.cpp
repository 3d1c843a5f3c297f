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
	const std::filesystem::file_status now =
		std::filesystem::status(file, err);
	std::string to = file;

	/* Root could put a file in the place of /dev/null. */
	if (std::filesystem::exists(now) &&
	    !std::filesystem::is_regular_file(now))
		return write_text(file, text);
	err.clear();
	if (std::filesystem::exists(now))
		to = std::filesystem::canonical(file, err);
	if (err)
		throw SystemError(file, err.value());
	write_text(to + ".new", text);
	std::filesystem::rename(to + ".new", to, err);
	if (err)
		throw SystemError(file, err.value());
}
} // namespace mrclab

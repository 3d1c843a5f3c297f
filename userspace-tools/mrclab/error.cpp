// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "error.hpp"

#include <cstring>

namespace mrclab
{
namespace
{
std::string place(const std::string &file, int line)
{
	return line > 0 ? file + ":" + std::to_string(line) : file;
}
} // namespace

FileError::FileError(const std::string &file, int at, const std::string &why)
	: UsageError(place(file, at) + ": " + why), line(at)
{
}

SystemError::SystemError(const std::string &what, int err)
	: std::runtime_error(err ? what + ": " + std::strerror(err) : what)
{
}
} // namespace mrclab

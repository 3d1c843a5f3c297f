// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <filesystem>
#include <system_error>

#include "program.hpp"

namespace
{
/*
 * The library for HTTP brings others, which would cost every start of mrcctl
 * several milliseconds. So "serve" is a program of its own. It is found from
 * where this program is: where it is installed, else beside it, as in a
 * directory of builds.
 */
std::string serve_program()
{
	std::error_code err;
	const std::filesystem::path here =
		std::filesystem::read_symlink("/proc/self/exe", err)
			.parent_path();
	const std::filesystem::path installed =
		here.parent_path() / "libexec/mrc/mrcctl-serve";
	const std::filesystem::path beside = here / "mrcctl-serve";

	return !std::filesystem::exists(installed, err) &&
			       std::filesystem::exists(beside, err)
		       ? beside
		       : installed;
}
} // namespace

int main(int argc, char **argv)
{
	return mrcctl::run_program(argc, argv, nullptr, serve_program());
}

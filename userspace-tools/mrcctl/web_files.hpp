/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl serve: the files in web/, which are a part of the program. */
#pragma once

#include <span>
#include <string_view>

namespace mrcctl
{
struct WebFile {
	std::string_view path; /* in the URL */
	std::string_view type;
	std::string_view text;
};

/* web_files.cmake writes the function. */
std::span<const WebFile> web_files();
} // namespace mrcctl

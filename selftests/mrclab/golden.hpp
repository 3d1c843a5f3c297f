/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What is written, against files in golden/. */
#pragma once

#include <string>

namespace mrclab
{
/* Compares @text with golden/@name, or writes the file. */
void golden(const std::string &name, const std::string &text);
/* The whole file, which must be there. */
std::string file_text(const std::string &path);
} // namespace mrclab

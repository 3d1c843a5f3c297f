/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: writes files. */
#pragma once

#include <string>

namespace mrclab
{
/* Replaces what the file had. Throws SystemError. */
void write_text(const std::string &file, const std::string &text);
/*
 * The same at once: readers see the old file or the whole new one. Of a link the
 * target is replaced, if it exists. What is no regular file, such as a device, is
 * written to.
 */
void replace_text(const std::string &file, const std::string &text);
} // namespace mrclab

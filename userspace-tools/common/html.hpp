/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Pages that need no other file. Shared by mrclab and mrcsim. */
#pragma once

#include <string>
#include <string_view>

namespace html
{
/* One line of text as HTML and XML have it. */
std::string escaped(std::string_view line);

/* Lines of text, as they are. */
std::string preformatted(const std::string &text);

/*
 * The element <svg> of a file of gnuplot. Pictures on one page must not share
 * the names of their parts, so all ids, and references to them, get @prefix.
 * Browsers show @title under the pointer.
 */
std::string picture(const std::string &file, const std::string &prefix,
		    const std::string &title);

/* A page without scripts, in English. It is well-formed XML if @body is. */
std::string page(const std::string &title, const std::string &body);
} // namespace html

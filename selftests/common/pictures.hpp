/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Helpers for tests of pictures: programs that draw, and a parser of XML. */
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pictures
{
/* Can this program be run, with an option that shows its version? */
bool have(const std::string &program, const std::string &option);

/*
 * The texts of all elements of this name, in their order; no value if the
 * document is no well-formed XML. Python's parser decides.
 */
std::optional<std::vector<std::string>> texts(const std::string &document,
					      const std::string &element);

/* The same for values of an attribute, of all elements. */
std::optional<std::vector<std::string>> values(const std::string &document,
					       const std::string &attribute);
} // namespace pictures

/* For tests that draw. */
#define NEEDS_PROGRAM(program, option)                                         \
	if (!pictures::have(program, option))                                  \
	GTEST_SKIP() << program << " is not installed"

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "golden.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace mrclab
{
void golden(const std::string &name, const std::string &text)
{
	const std::string path = std::string(GOLDEN_DIR "/") + name;
	const char *mode = std::getenv("MRCLAB_GOLDEN");

	if (mode && std::string(mode) == "write") {
		std::ofstream(path) << text;
		return;
	}
	EXPECT_EQ(text, file_text(path)) << "see " << path;
}

std::string file_text(const std::string &path)
{
	std::ifstream f(path);
	std::ostringstream text;

	EXPECT_TRUE(f) << path << " cannot be read";
	text << f.rdbuf();
	return text.str();
}
} // namespace mrclab

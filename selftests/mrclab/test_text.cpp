// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Text in lines and words. */
#include <gtest/gtest.h>

#include "text.hpp"

namespace mrclab
{
namespace
{
using Strings = std::vector<std::string>;
} // namespace

TEST(Text, HasWords)
{
	EXPECT_EQ(words_of("a bc d"), (Strings{"a", "bc", "d"}));
	EXPECT_EQ(words_of("  a\t b\r\n"), (Strings{"a", "b"}));
	EXPECT_EQ(words_of("a"), Strings{"a"});
	EXPECT_EQ(words_of(""), Strings{});
	EXPECT_EQ(words_of(" \n\t "), Strings{});
}

TEST(Text, HasLines)
{
	EXPECT_EQ(lines_of("a\nb c\n"), (Strings{"a", "b c"}));
	EXPECT_EQ(lines_of("a\n\nb"), (Strings{"a", "", "b"}));
	EXPECT_EQ(lines_of("\n"), Strings{""});
	EXPECT_EQ(lines_of(""), Strings{});
}
} // namespace mrclab

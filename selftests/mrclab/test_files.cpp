// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Files that programs write. */
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../userspace-tools/common/fd.hpp"
#include "error.hpp"
#include "files.hpp"

namespace mrclab
{
namespace
{
namespace fs = std::filesystem;

class Files : public ::testing::Test
{
protected:
	void SetUp() override
	{
		std::string name = ::testing::TempDir() + "files.XXXXXX";

		ASSERT_NE(mkdtemp(name.data()), nullptr);
		dir_ = name;
	}
	void TearDown() override { fs::remove_all(dir_); }

	static std::string content(const fs::path &file)
	{
		std::ifstream in(file);

		return {std::istreambuf_iterator<char>(in), {}};
	}

	fs::path dir_;
};

TEST_F(Files, AreReplaced)
{
	const fs::path file = dir_ / "a";

	replace_text(file, "one");
	EXPECT_EQ(content(file), "one");
	replace_text(file, "2");
	EXPECT_EQ(content(file), "2");
	EXPECT_FALSE(fs::exists(dir_ / "a.new"));
	EXPECT_THROW(replace_text(dir_ / "none" / "a", "x"), SystemError);
	EXPECT_THROW(replace_text(dir_, "x"), SystemError);
	EXPECT_TRUE(fs::is_directory(dir_));
}

TEST_F(Files, TargetsOfLinksAreReplaced)
{
	const fs::path file = dir_ / "a", link = dir_ / "b";

	fs::create_symlink("a", link);
	replace_text(file, "one");
	replace_text(link, "two");
	EXPECT_TRUE(fs::is_symlink(link));
	EXPECT_EQ(content(file), "two");
}

/* As /dev/null must, whoever writes. */
TEST_F(Files, PipesStay)
{
	const fs::path pipe = dir_ / "p";

	ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
	const fd::Fd reader(
		open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	char text[8] = {};

	ASSERT_TRUE(reader.open());
	replace_text(pipe, "text");
	EXPECT_EQ(read(reader.get(), text, sizeof(text)), 4);
	EXPECT_STREQ(text, "text");
	EXPECT_TRUE(fs::is_fifo(pipe));
}
} // namespace
} // namespace mrclab

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The frames of Documentation/extension.md, built and parsed by the engine.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "ext_frames.hpp"
#include "ext_vectors.hpp"
#include "wire.hpp"

namespace
{

using namespace mrc_test;

struct Both {
	Vector vector;
	Frame frame;
};

std::vector<Both> both()
{
	std::vector<Frame> frames = ext_frames();
	std::vector<Both> out;

	for (std::size_t i = 0; i < std::size(kExtVectors); i++)
		out.push_back({kExtVectors[i], frames.at(i)});
	return out;
}

class ExtVector : public testing::TestWithParam<Both>
{
};

TEST_P(ExtVector, FieldsBuildTheFrame)
{
	const Both &b = GetParam();

	EXPECT_EQ(b.frame.name, b.vector.name);
	EXPECT_EQ(frame_of(b.vector).size(), b.vector.size);
	EXPECT_EQ(build_frame(b.frame), frame_of(b.vector));
}

TEST_P(ExtVector, FrameParsesToTheFields)
{
	const Both &b = GetParam();
	const mrc_hdr &want = b.frame.hdr;
	const Bytes p = payload_of(b.vector);
	mrc_hdr h;

	ASSERT_EQ(parse(p, &h), MRC_DROP_NONE);
	expect_same(h, want);
	EXPECT_EQ(h.payload_len, b.frame.payload.size());
	// What was parsed is built again, byte for byte.
	EXPECT_EQ(build(h), Bytes(p.begin(), p.begin() + h.hdr_len));
}

INSTANTIATE_TEST_SUITE_P(Extension, ExtVector, testing::ValuesIn(both()),
			 [](const auto &info) {
				 return std::string(info.param.vector.name);
			 });

TEST(Extension, EveryFrameHasItsVector)
{
	EXPECT_EQ(ext_frames().size(), std::size(kExtVectors));
}

// What is printed in the document is what is tested here.
TEST(Extension, TheDocumentHasTheSameFrames)
{
	std::ifstream in(MRC_ROOT "/Documentation/extension.md");
	std::stringstream text;
	std::string doc, all;

	ASSERT_TRUE(in) << "no document";
	text << in.rdbuf();
	doc = text.str();
	for (char c : doc)
		if (c != '\n')
			all += c;
	for (const Vector &v : kExtVectors)
		EXPECT_NE(all.find(std::string("```hex") + std::string(v.hex) +
				   "```"),
			  std::string::npos)
			<< v.name;
	EXPECT_NE(all.find("`MRC_EXT_VERSION` = " +
			   std::to_string(MRC_EXT_VERSION)),
		  std::string::npos);
}

struct ExtOp {
	u8 opcode;
	u8 hdr_len;
	u32 flags; // besides those that all have
};

constexpr u32 kCommon = MRC_OPF_METH | MRC_OPF_RETH | MRC_OPF_DATA |
			MRC_OPF_TO_RESP | MRC_OPF_EXT;
constexpr u32 kOnly = MRC_OPF_FIRST | MRC_OPF_LAST;

// The table of opcodes of the document, as 0xC0 | the RC opcode where there is
// one.
TEST(Extension, Opcodes)
{
	const ExtOp ops[] = {
		{0xC0, 32, MRC_OPF_SEND | MRC_OPF_FIRST},
		{0xC1, 32, MRC_OPF_SEND},
		{0xC2, 32, MRC_OPF_SEND | MRC_OPF_LAST},
		{0xC3, 36, MRC_OPF_SEND | MRC_OPF_LAST | MRC_OPF_IMM},
		{0xC4, 32, MRC_OPF_SEND | kOnly},
		{0xC5, 36, MRC_OPF_SEND | kOnly | MRC_OPF_IMM},
		{0xD6, 32, MRC_OPF_SEND | MRC_OPF_LAST | MRC_OPF_INV},
		{0xD7, 32, MRC_OPF_SEND | kOnly | MRC_OPF_INV},
		{0xCC, 32, MRC_OPF_REQUEST | kOnly},
		{0xD3, 48, MRC_OPF_REQUEST | kOnly | MRC_OPF_OPERAND},
		{0xD4, 48, MRC_OPF_REQUEST | kOnly | MRC_OPF_OPERAND},
		{0xD5, 48, MRC_OPF_REQUEST | kOnly | MRC_OPF_OPERAND},
		{0xDA, 48, MRC_OPF_REQUEST | kOnly | MRC_OPF_OPERAND},
		{0xCD, 32, MRC_OPF_ANSWER | MRC_OPF_FIRST},
		{0xCE, 32, MRC_OPF_ANSWER},
		{0xCF, 32, MRC_OPF_ANSWER | MRC_OPF_LAST},
		{0xD0, 32, MRC_OPF_ANSWER | kOnly},
		{0xD2, 32, MRC_OPF_ANSWER | kOnly},
	};
	std::size_t n = 0;

	for (const ExtOp &op : ops) {
		const struct mrc_op_info *info = mrc_op_info(op.opcode);

		ASSERT_NE(info->name, nullptr);
		EXPECT_EQ(info->hdr_len, op.hdr_len) << info->name;
		EXPECT_EQ(info->flags, kCommon | op.flags) << info->name;
		EXPECT_LE(info->hdr_len + 4, MRC_HDR_MAX);
	}
	for (unsigned o = 0; o < 256; o++)
		n += (mrc_op_info(static_cast<u8>(o))->flags & MRC_OPF_EXT) !=
		     0;
	EXPECT_EQ(n, std::size(ops));
}

} // namespace

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Answers of RDMA netlink, good and malformed ones. */
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <linux/netlink.h>

#include <gtest/gtest.h>

#include "../../userspace-tools/common/rdma_netlink.hpp"

namespace
{
using rdma_netlink::Bytes;
using Attrs = std::vector<std::pair<uint16_t, std::string>>;

template <typename T> std::string raw(const T &t)
{
	return {reinterpret_cast<const char *>(&t), sizeof(t)};
}

std::string padded(std::string s)
{
	s.resize((s.size() + 3) & ~std::size_t{3});
	return s;
}

/* @length: what the header says, if it is not the truth */
std::string attr(uint16_t type, const std::string &value, int length = -1)
{
	const nlattr a{static_cast<uint16_t>(
			       length < 0 ? sizeof(nlattr) + value.size()
					  : static_cast<std::size_t>(length)),
		       type};

	return padded(raw(a) + value);
}

std::string message(uint16_t type, const std::string &body, int length = -1)
{
	nlmsghdr h{};

	h.nlmsg_type = type;
	h.nlmsg_len = static_cast<uint32_t>(
		length < 0 ? sizeof(h) + body.size()
			   : static_cast<std::size_t>(length));
	return padded(raw(h) + body);
}

std::string error(int err)
{
	nlmsgerr e{};

	e.error = err;
	return message(NLMSG_ERROR, raw(e));
}

Attrs attrs_of(const std::string &bytes)
{
	Attrs all;

	rdma_netlink::each_attr(bytes, [&all](uint16_t type, Bytes value) {
		all.emplace_back(type, std::string(value.begin(), value.end()));
	});
	return all;
}

/* The bodies of the messages, and whether more follow. */
std::pair<std::vector<std::string>, bool> messages_of(const std::string &bytes,
						      bool dump)
{
	std::vector<std::string> all;
	const bool more =
		rdma_netlink::each_message(bytes, dump, [&all](Bytes body) {
			all.emplace_back(body.begin(), body.end());
		});

	return {all, more};
}
} // namespace

TEST(RdmaNetlink, AttributesInOrder)
{
	const uint32_t four = 0x12345678;
	const std::string bytes = attr(7, raw(four)) + attr(9, "odd") +
				  attr(NLA_F_NESTED | 3, attr(1, "in"));

	EXPECT_EQ(attrs_of(bytes),
		  (Attrs{{7, raw(four)}, {9, "odd"}, {3, attr(1, "in")}}));
	EXPECT_EQ(attrs_of(""), Attrs{});
}

TEST(RdmaNetlink, MalformedAttributesEndTheList)
{
	const std::string good = attr(1, "good");

	for (int length : {0, 1, 3, 9, 0xFFFF})
		EXPECT_EQ(attrs_of(good + attr(2, "bad!", length)),
			  (Attrs{{1, "good"}}))
			<< length;
	/* Less than a header */
	EXPECT_EQ(attrs_of(good + "xyz"), (Attrs{{1, "good"}}));
	/* The last one without its padding */
	const std::string odd = attr(2, "abc");

	EXPECT_EQ(attrs_of(good + odd.substr(0, odd.size() - 1)),
		  (Attrs{{1, "good"}, {2, "abc"}}));
}

TEST(RdmaNetlink, ValuesThatAreTooShortAreZero)
{
	const std::string bytes = raw(uint64_t{0x1122334455667788});

	EXPECT_EQ(rdma_netlink::u64_of(bytes), 0x1122334455667788);
	EXPECT_EQ(rdma_netlink::u32_of(bytes), 0x55667788u);
	EXPECT_EQ(rdma_netlink::u8_of(bytes), 0x88u);
	EXPECT_EQ(rdma_netlink::u64_of(Bytes(bytes).first(7)), 0u);
	EXPECT_EQ(rdma_netlink::u32_of(Bytes(bytes).first(3)), 0u);
	EXPECT_EQ(rdma_netlink::u8_of({}), 0u);
}

TEST(RdmaNetlink, StringsEndAtZeroOrWithTheValue)
{
	EXPECT_EQ(rdma_netlink::string_of(std::string("mrc0\0xx", 7)), "mrc0");
	EXPECT_EQ(rdma_netlink::string_of(std::string("mrc0")), "mrc0");
	EXPECT_EQ(rdma_netlink::string_of({}), "");
}

TEST(RdmaNetlink, AnswersEndWithDone)
{
	const std::string two = message(20, "one.") + message(20, "two.");
	using Bodies = std::vector<std::string>;

	EXPECT_EQ(messages_of(two, true),
		  std::pair(Bodies({"one.", "two."}), true));
	EXPECT_EQ(messages_of(two + message(NLMSG_DONE, "") + two, true),
		  std::pair(Bodies({"one.", "two."}), false));
	EXPECT_EQ(messages_of(message(20, "only"), false),
		  std::pair(Bodies({"only"}), false));
	EXPECT_EQ(messages_of(error(0), true), std::pair(Bodies(), false));
}

TEST(RdmaNetlink, ErrorsAreThrown)
{
	for (bool dump : {false, true})
		try {
			messages_of(error(-ENODEV), dump);
			ADD_FAILURE() << "no exception";
		} catch (const std::system_error &e) {
			EXPECT_EQ(e.code().value(), ENODEV);
		}
}

TEST(RdmaNetlink, MalformedMessagesEndTheAnswer)
{
	const std::string good = message(20, "good");
	using Bodies = std::vector<std::string>;

	for (int length : {0, 15, 21, 0x7FFFFFFF})
		EXPECT_EQ(messages_of(good + message(20, "bad!", length), true),
			  std::pair(Bodies({"good"}), false))
			<< length;
	/* Less than a header: nothing more is known. */
	EXPECT_EQ(messages_of(good + "x", true).first, Bodies({"good"}));
	/* An error that is cut short ends it without a number. */
	EXPECT_FALSE(messages_of(message(NLMSG_ERROR, ""), true).second);
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The list of events against a sorted list. */
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "event_list.hpp"
#include "random.hpp"

namespace mrcsim
{
namespace
{
/* Pushes and pops at random, like a simulation: never before the present. */
void compare(unsigned int shift, u64 spread)
{
	EventList list(shift);
	std::multimap<std::pair<u64, u64>, int> model;
	u64 now = 0;
	Event e{};

	for (u64 n = 0; n < 3000; n++) {
		const u64 r = draw(7, Draws::traffic, shift, n);

		if (model.size() < 50 || (r & 3)) {
			/* Some at the present time, some far away. */
			const u64 at =
				now + (r & 4 ? 0 : (r >> 8) % spread) *
					      (r & 8 ? 1 : 1 + (r >> 40) % 3);

			list.push(at, r & 0xff);
			model.emplace(std::pair(at, r & 0xff), 0);
			continue;
		}
		ASSERT_TRUE(list.pop(e));
		ASSERT_EQ(model.begin()->first, std::pair(e.at, e.key));
		model.erase(model.begin());
		now = e.at;
		ASSERT_EQ(list.pending(), model.size());
	}
	while (list.pop(e)) {
		ASSERT_EQ(model.begin()->first, std::pair(e.at, e.key));
		model.erase(model.begin());
	}
	ASSERT_TRUE(model.empty());
}

TEST(EventList, popsInOrderOfTimeAndKey)
{
	for (const unsigned int shift : {0U, 4U, 10U, 20U})
		for (const u64 spread :
		     {u64{2}, u64{1000}, u64{1} << 24, u64{1} << 40})
			compare(shift, spread);
}

/* An event far behind the ring of buckets, with nothing before it. */
TEST(EventList, crossesLongGaps)
{
	EventList list(4);
	Event e{};

	list.push(u64{1} << 50, 3);
	list.push((u64{1} << 50) + 1, 2);
	ASSERT_TRUE(list.pop(e));
	EXPECT_EQ(e.key, 3U);
	list.push((u64{1} << 50) + 1, 1);
	ASSERT_TRUE(list.pop(e));
	EXPECT_EQ(e.key, 1U);
	ASSERT_TRUE(list.pop(e));
	EXPECT_EQ(e.key, 2U);
	EXPECT_FALSE(list.pop(e));
}
} // namespace
} // namespace mrcsim

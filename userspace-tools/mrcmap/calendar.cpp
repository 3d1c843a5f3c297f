// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "calendar.hpp"

#include <chrono>

#include <fmt/format.h>

namespace mrcmap
{
std::string iso_time(int64_t ms)
{
	using namespace std::chrono;

	const sys_seconds at = floor<std::chrono::seconds>(
		sys_time<milliseconds>(milliseconds(ms)));
	const sys_days day = floor<days>(at);
	const year_month_day date(day);
	const hh_mm_ss time(at - day);

	return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
			   static_cast<int>(date.year()),
			   static_cast<unsigned int>(date.month()),
			   static_cast<unsigned int>(date.day()),
			   time.hours().count(), time.minutes().count(),
			   time.seconds().count());
}
} // namespace mrcmap

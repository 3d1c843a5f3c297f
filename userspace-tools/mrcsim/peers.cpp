// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "peers.hpp"

#include <algorithm>

#include "error.hpp"

namespace mrcsim
{
void Peers::sum(std::vector<u64> &values)
{
	Parcel mine;

	mine.put_all(values);
	std::fill(values.begin(), values.end(), 0);
	for (std::string &s : exchange(
		     std::vector<std::string>(count(), mine.bytes()))) {
		const std::vector<u64> theirs =
			Parcel(std::move(s)).get_all<u64>();

		if (theirs.size() != values.size())
			throw mrclab::SystemError(
				"processes have different sums to add");
		for (std::size_t n = 0; n < values.size(); n++)
			values[n] += theirs[n];
	}
}

const char *Parcel::take(u64 n)
{
	if (n > bytes_.size() - at_)
		throw mrclab::SystemError(
			"another process has sent less than it announced");
	at_ += n;
	return bytes_.data() + at_ - n;
}
} // namespace mrcsim

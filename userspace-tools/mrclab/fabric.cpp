// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "fabric.hpp"

namespace mrclab
{
namespace
{
template <typename T>
void replace(std::optional<T> &to, const std::optional<T> &from)
{
	if (from)
		to = from;
}
} // namespace

void LinkProps::apply(const LinkProps &over)
{
	replace(rate, over.rate);
	replace(burst, over.burst);
	replace(delay, over.delay);
	replace(jitter, over.jitter);
	replace(loss, over.loss);
	replace(corrupt, over.corrupt);
	replace(duplicate, over.duplicate);
	replace(reorder, over.reorder);
	replace(queue, over.queue);
	replace(mark_min, over.mark_min);
	replace(mark_max, over.mark_max);
	replace(trim, over.trim);
	replace(trim_len, over.trim_len);
}

bool LinkProps::empty() const
{
	return *this == LinkProps();
}

int Fabric::line_of(const std::string &key) const
{
	const auto i = lines.find(key);

	return i == lines.end() ? 0 : i->second;
}
} // namespace mrclab

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "priority.hpp"

#include <sys/resource.h>

namespace mrclab
{
namespace
{
constexpr int ahead = -10; /* nice value; nine times the time of 0 */
} // namespace

Ahead::Ahead() : before_(getpriority(PRIO_PROCESS, 0))
{
	if (before_ > ahead)
		setpriority(PRIO_PROCESS, 0, ahead);
}

Ahead::~Ahead()
{
	setpriority(PRIO_PROCESS, 0, before_);
}

void Ahead::leave(pid_t child) const
{
	setpriority(PRIO_PROCESS, static_cast<id_t>(child), before_);
}
} // namespace mrclab

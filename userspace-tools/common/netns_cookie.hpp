/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Which network namespace this is. */
#pragma once

#include <cerrno>
#include <cstdint>

#include <sys/socket.h>

#include "fd.hpp"

/*
 * The cookie of the calling thread's network namespace. A new namespace can get
 * the inode number of one that has ended, but not its cookie. Returns 0 or the
 * errno.
 */
inline int own_netns_cookie(uint64_t &cookie)
{
	const fd::Fd any(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	socklen_t size = sizeof(cookie);

	return any.open() && getsockopt(any.get(), SOL_SOCKET, SO_NETNS_COOKIE,
					&cookie, &size) == 0
		       ? 0
		       : errno;
}

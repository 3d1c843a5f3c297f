/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcmap: "ADDRESS:PORT" of the collector, and sockets for it. */
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

#include "../common/fd.hpp"

namespace mrcmap
{
struct Endpoint {
	sockaddr_storage address{};
	socklen_t length = 0;
};

/*
 * A name or an address, an IPv6 address in brackets. Without an address all of
 * the machine's. Throws mrclab::UsageError for what cannot be such a word, and
 * mrclab::SystemError for a name that cannot be found.
 */
std::vector<Endpoint> find_endpoints(const std::string &word);
std::string text_of(const Endpoint &e);

/* A socket that does not block and finds out when the other side has gone. */
fd::Fd stream_socket(int family);
void watch_peer(int fd);

/* Listens on all that can be listened on. Throws mrclab::SystemError. */
std::vector<fd::Fd> listen_on(const std::vector<Endpoint> &endpoints);
} // namespace mrcmap

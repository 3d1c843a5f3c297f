/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the examples need beside RDMA: a TCP connection, over which the two programs tell
 * each other where their queue pairs and buffers are, and an end with a message. C and C++.
 */
#ifndef TALK_H
#define TALK_H

#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TALK_PORT "18600"

/* Says what did not work and why, and ends the program. */
__attribute__((noreturn, format(printf, 2, 3)))
static inline void die(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	if (err)
		fprintf(stderr, ": %s", strerror(err));
	fputc('\n', stderr);
	exit(1);
}

/* Waits for one client, where @peer is NULL, or connects to the server @peer. */
static inline int talk_open(const char *peer)
{
	struct addrinfo hints, *list, *ai;
	int fd = -1, on = 1, err;

	memset(&hints, 0, sizeof(hints));
	hints.ai_family = peer ? AF_UNSPEC : AF_INET6; /* which takes IPv4 too */
	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = peer ? 0 : AI_PASSIVE;
	err = getaddrinfo(peer, TALK_PORT, &hints, &list);
	if (err)
		die(0, "%s: %s", peer ? peer : "any address", gai_strerror(err));
	for (ai = list; ai; ai = ai->ai_next) {
		fd = socket(ai->ai_family, ai->ai_socktype, ai->ai_protocol);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (peer && !connect(fd, ai->ai_addr, ai->ai_addrlen))
			break;
		if (!peer && !bind(fd, ai->ai_addr, ai->ai_addrlen) && !listen(fd, 1))
			break;
		err = errno;
		close(fd);
		fd = -1;
		errno = err;
	}
	if (fd < 0)
		die(errno, "%s, TCP port " TALK_PORT, peer ? peer : "listen");
	freeaddrinfo(list);
	if (!peer) {
		int client = accept(fd, NULL, NULL);

		if (client < 0)
			die(errno, "accept");
		close(fd);
		fd = client;
	}
	return fd;
}

/* Sends @mine and receives @theirs, of the same length. Both sides call it. */
static inline void talk_swap(int fd, const void *mine, void *theirs, size_t len)
{
	ssize_t n;

	if (send(fd, mine, len, MSG_NOSIGNAL) != (ssize_t)len)
		die(errno, "the peer is gone");
	n = recv(fd, theirs, len, MSG_WAITALL);
	if (n != (ssize_t)len)
		die(n < 0 ? errno : 0, "the peer has ended");
}

#endif

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * interop_listen.so: for LD_PRELOAD at a server that tells its client the port
 * to which it has bound an id of rdma_cm, and listens there only afterwards, as
 * qperf does. A client that is faster is rejected. Here binding listens
 * already, and the program's own call finds that done.
 */
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

/* The guests have the library, not its headers. */
struct rdma_cm_id;
struct sockaddr;

#define EXPORT extern "C" [[gnu::visibility("default")]]

EXPORT int rdma_bind_addr(rdma_cm_id *id, sockaddr *addr);
EXPORT int rdma_listen(rdma_cm_id *id, int backlog);

namespace
{
/* The only id of such a server that listens at a time. */
rdma_cm_id *listening;

template <typename F> F *real(const char *name, F *)
{
	void *p = dlsym(RTLD_NEXT, name);

	if (!p) {
		std::fprintf(stderr, "interop_listen: no %s\n", name);
		std::abort();
	}
	return reinterpret_cast<F *>(p);
}
} /* namespace */

EXPORT int rdma_bind_addr(rdma_cm_id *id, sockaddr *addr)
{
	static auto *const bind = real("rdma_bind_addr", &rdma_bind_addr);
	static auto *const listen = real("rdma_listen", &rdma_listen);

	if (int ret = bind(id, addr))
		return ret;
	listening = listen(id, 1) ? nullptr : id;
	return 0;
}

EXPORT int rdma_listen(rdma_cm_id *id, int backlog)
{
	static auto *const listen = real("rdma_listen", &rdma_listen);

	if (id != listening)
		return listen(id, backlog);
	listening = nullptr;
	return 0;
}

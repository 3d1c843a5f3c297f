// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_load: a program that does not link libMRC but loads it while it runs, as
 * plug-ins and shims do, before or after libibverbs has loaded the same library
 * as the device's provider. All of its functions must be found without a
 * version, there must be one copy of it in the process, and what that copy
 * makes must be what the provider makes: genuine verbs objects.
 */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <mrc_ctl.h>

#include "../common/say.hpp"

namespace
{
const char *const functions[] = {
	"mrc_ack_async_event",
	"mrc_ack_cq_events",
	"mrc_create_comp_channel",
	"mrc_create_context",
	"mrc_create_cq",
	"mrc_create_qp",
	"mrc_create_qp_hint",
	"mrc_ctl_create_ev_event_cq",
	"mrc_ctl_ep_batch_send_wait",
	"mrc_ctl_modify_cc_profile",
	"mrc_ctl_modify_ev_fmt_profile",
	"mrc_ctl_modify_ev_profile",
	"mrc_ctl_modify_port",
	"mrc_ctl_poll_ev_event",
	"mrc_ctl_query_cc_profile",
	"mrc_ctl_query_device",
	"mrc_ctl_query_device_ex",
	"mrc_ctl_query_ev_fmt_profile",
	"mrc_ctl_query_ev_profile",
	"mrc_ctl_query_port",
	"mrc_ctl_query_version",
	"mrc_destroy_comp_channel",
	"mrc_destroy_context",
	"mrc_destroy_cq",
	"mrc_destroy_qp",
	"mrc_destroy_qp_hint",
	"mrc_get_async_event",
	"mrc_get_comp_channel_fd",
	"mrc_get_cq_event",
	"mrc_get_qpn",
	"mrc_modify_qp",
	"mrc_modify_qp_hint",
	"mrc_poll_cq",
	"mrc_post_recv",
	"mrc_post_send",
	"mrc_query_device",
	"mrc_query_device_ex",
	"mrc_query_qp",
	"mrc_query_qp_hint",
	"mrc_query_version",
	"mrc_req_notify_cq",
};
static_assert(sizeof(functions) / sizeof(*functions) == 41);

#define CHECK(what)                                                            \
	do {                                                                   \
		if (!(what))                                                   \
			fail("line %d: %s", __LINE__, #what);                  \
	} while (0)

/* --- copies --------------------------------------------------------------- */

/* The files of the library that are mapped here: device and inode each. */
std::set<std::string> copies()
{
	std::ifstream maps("/proc/self/maps");
	std::set<std::string> found;
	std::string line;

	while (std::getline(maps, line)) {
		std::istringstream in(line);
		std::string range, rights, offset, dev, inode, path;

		in >> range >> rights >> offset >> dev >> inode >> path;
		std::string name = path.substr(path.rfind('/') + 1);

		for (const char *like : {"libmrc", "lib_mrc", "libnv_mrc"})
			if (name.starts_with(like))
				found.insert(dev + " " + inode);
	}
	return found;
}

void expect_copies(size_t n, const char *when)
{
	size_t is = copies().size();

	if (is != n)
		fail("%zu copies of the library %s, %zu expected", is, when, n);
}

/* --- the library ---------------------------------------------------------- */

struct Library {
	std::string name;
	void *handle;
};

Library load(const std::string &name)
{
	void *handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		fail("dlopen: %s", dlerror());
	return {name, handle};
}

void *function(const Library &lib, const char *name)
{
	void *p = dlsym(lib.handle, name);

	if (!p)
		fail("%s: dlsym: %s", lib.name.c_str(), dlerror());
	return p;
}

/* Every function under every name of the library, and the same one. */
void all_functions(const std::vector<Library> &libs)
{
	for (const char *name : functions)
		for (const Library &lib : libs)
			if (function(lib, name) != function(libs[0], name))
				fail("%s of %s is not that of %s", name,
				     lib.name.c_str(), libs[0].name.c_str());
}

#define CALL(lib, f) (reinterpret_cast<decltype(f) *>(function(lib, #f)))

/* --- objects -------------------------------------------------------------- */

ibv_context *open_device(const char *name)
{
	int n = 0;
	ibv_device **list = ibv_get_device_list(&n);
	ibv_context *ctx = nullptr;

	CHECK(list);
	for (int i = 0; i < n && !ctx; i++)
		if (!std::strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	if (!ctx)
		fail("cannot open the device %s", name);
	return ctx;
}

/* What a verbs shim asks of it, and what it replaces there. */
void extended_context(ibv_context *ctx)
{
	verbs_context *vctx = verbs_get_ctx(ctx);

	CHECK(ctx->abi_compat == reinterpret_cast<void *>(UINTPTR_MAX));
	CHECK(vctx && &vctx->context == ctx);
	CHECK(vctx->sz >=
	      sizeof(*vctx) - offsetof(verbs_context, create_cq_ex));
	CHECK(vctx->create_qp_ex && vctx->create_cq_ex);
	CHECK(vctx->query_device_ex && vctx->query_port && vctx->priv);
	CHECK(ctx->ops.post_send && ctx->ops.post_recv && ctx->ops.poll_cq);

	ibv_device_attr_ex attr{};

	CHECK(!ibv_query_device_ex(ctx, nullptr, &attr));
	CHECK(attr.orig_attr.max_qp > 0);
	ibv_cq_init_attr_ex cattr{};

	cattr.cqe = 4;
	ibv_cq_ex *cq = ibv_create_cq_ex(ctx, &cattr);

	CHECK(cq && cq->context == ctx);
	CHECK(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

/* struct mrc_qp begins with a pointer to the provider's queue pair. */
void genuine_qp(const Library &lib, ibv_context *ctx)
{
	mrc_context_attr cattr{MRC_API_VER_USED, 0};
	mrc_qp_init_attr init{};
	ibv_qp_init_attr vinit{};
	ibv_qp_attr attr{};
	mrc_device_attr dattr;
	int supported = -1;
	uint32_t qpn = 0;
	ibv_qp *vqp;

	CHECK(!CALL(lib, mrc_query_device)(ctx, &dattr, &supported));
	CHECK(supported == 1);
	mrc_context *m = CALL(lib, mrc_create_context)(ctx, &cattr);

	CHECK(m);
	ibv_pd *pd = ibv_alloc_pd(ctx);

	CHECK(pd);
	mrc_cq *cq = CALL(lib, mrc_create_cq)(m, 16, &cq, nullptr, 0);

	CHECK(cq);
	init.qp_context = &vqp;
	init.send_cq = init.recv_cq = cq;
	init.cap = {16, 8, 1, 1, 0};
	init.pd = pd;
	mrc_qp *qp = CALL(lib, mrc_create_qp)(m, &init);

	CHECK(qp);
	CHECK(!CALL(lib, mrc_get_qpn)(qp, &qpn));
	CHECK(qpn && qpn < 1u << 24);

	vqp = *reinterpret_cast<ibv_qp **>(qp);
	CHECK(vqp);
	CHECK(vqp->qp_num == qpn);
	CHECK(vqp->qp_type == IBV_QPT_RC);
	CHECK(vqp->context == ctx);
	CHECK(vqp->pd == pd);
	CHECK(vqp->qp_context == &vqp);
	/* The kernel knows it by the same handle. */
	CHECK(!ibv_query_qp(vqp, &attr, IBV_QP_STATE | IBV_QP_CAP, &vinit));
	CHECK(attr.qp_state == IBV_QPS_RESET);
	CHECK(vinit.cap.max_send_wr == init.cap.max_send_wr);
	attr = {};
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	CHECK(!CALL(lib, mrc_modify_qp)(qp, &attr,
					IBV_QP_STATE | IBV_QP_PKEY_INDEX |
						IBV_QP_PORT |
						IBV_QP_ACCESS_FLAGS,
					nullptr, 0));
	attr = {};
	CHECK(!ibv_query_qp(vqp, &attr, IBV_QP_STATE, &vinit));
	CHECK(attr.qp_state == IBV_QPS_INIT && vqp->state == IBV_QPS_INIT);

	CHECK(!CALL(lib, mrc_destroy_qp)(qp));
	CHECK(!CALL(lib, mrc_destroy_cq)(cq));
	/* The domain goes before the context: allowed. */
	CHECK(!ibv_dealloc_pd(pd));
	CHECK(!CALL(lib, mrc_destroy_context)(m));
}

/* The names alone work without any device. */
void version(const Library &lib)
{
	uint32_t v[4] = {1, 2, 3, 4};

	CALL(lib, mrc_query_version)(&v[0], &v[1], &v[2], &v[3]);
	CHECK(v[0] == 0x01000001 && v[1] == 0 && v[2] == 0x01000000 && !v[3]);
}

void run(const char *dev, bool before, const std::vector<std::string> &names)
{
	std::vector<Library> libs;
	ibv_context *ctx = nullptr;

	expect_copies(0, "at the start");
	if (!before) {
		ctx = open_device(dev);
		expect_copies(1, "with the device open");
	}
	for (const std::string &name : names) {
		libs.push_back(load(name));
		expect_copies(1, "after dlopen");
	}
	all_functions(libs);
	for (const Library &lib : libs)
		version(lib);
	if (before) {
		ctx = open_device(dev);
		expect_copies(1, "with the device open afterwards");
	}
	extended_context(ctx);
	for (const Library &lib : libs)
		genuine_qp(lib, ctx);
	/* The provider stays when nobody else needs the library. */
	for (const Library &lib : libs)
		CHECK(!dlclose(lib.handle));
	extended_context(ctx);
	expect_copies(1, "after dlclose");
	CHECK(!ibv_close_device(ctx));
}
} // namespace

int main(int argc, char **argv)
{
	std::vector<std::string> names;

	if (argc < 4 ||
	    (std::strcmp(argv[2], "before") && std::strcmp(argv[2], "after"))) {
		std::fprintf(stderr, "usage: mrc_load DEVICE before|after "
				     "LIBRARY...\n"
				     "loads before or after opening the "
				     "device\n");
		return 2;
	}
	for (int i = 3; i < argc; i++)
		names.push_back(argv[i]);
	try {
		run(argv[1], !std::strcmp(argv[2], "before"), names);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "mrc_load: FAIL %s\n", e.what());
		return 1;
	}
	std::printf("mrc_load: OK\n");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_shim: a library for LD_PRELOAD that makes the RC queue pairs of an
 * unmodified verbs program MRC queue pairs, in the way of the shims that exist:
 * it replaces functions of libibverbs, reaches the real ones by dlvsym(),
 * libMRC by dlopen() and dlsym(), and puts itself into the operations of the
 * verbs context, the extended ones too. Whatever of this libMRC would use for
 * itself ends up here again, is counted and refused.
 *
 * MRC_SHIM_LIBMRC names the library, MRC_SHIM_REPORT the report.
 */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <mrc.h>

#include "report.hpp"

#define EXPORT extern "C" [[gnu::visibility("default")]]

namespace
{
[[noreturn]] void die(const char *what)
{
	std::fprintf(stderr, "mrc_shim: %s\n", what);
	std::abort();
}

/* --- the two libraries ---------------------------------------------------- */

struct Verbs {
	decltype(ibv_open_device) *open_device;
	decltype(ibv_close_device) *close_device;
	decltype(ibv_create_cq) *create_cq;
	decltype(ibv_destroy_cq) *destroy_cq;
	decltype(ibv_create_qp) *create_qp;
	decltype(ibv_destroy_qp) *destroy_qp;
	decltype(ibv_modify_qp) *modify_qp;
	decltype(ibv_query_qp) *query_qp;
};

struct Mrc {
	decltype(mrc_query_device) *query_device;
	decltype(mrc_create_context) *create_context;
	decltype(mrc_destroy_context) *destroy_context;
	decltype(mrc_create_cq) *create_cq;
	decltype(mrc_poll_cq) *poll_cq;
	decltype(mrc_destroy_cq) *destroy_cq;
	decltype(mrc_create_qp) *create_qp;
	decltype(mrc_destroy_qp) *destroy_qp;
	decltype(mrc_create_qp_hint) *create_qp_hint;
	decltype(mrc_destroy_qp_hint) *destroy_qp_hint;
	decltype(mrc_query_qp) *query_qp;
	decltype(mrc_modify_qp) *modify_qp;
	decltype(mrc_get_qpn) *get_qpn;
	decltype(mrc_post_recv) *post_recv;
	decltype(mrc_post_send) *post_send;
};

void *open_library(const char *name)
{
	void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		die(dlerror());
	return lib;
}

template <typename F>
void symbol(F *&f, void *lib, const char *name, const char *version)
{
	void *p = version ? dlvsym(lib, name, version) : dlsym(lib, name);

	if (!p)
		die(dlerror());
	f = reinterpret_cast<F *>(p);
}

const Verbs &verbs()
{
	static const Verbs v = [] {
		void *lib = open_library("libibverbs.so.1");
		Verbs r{};

		symbol(r.open_device, lib, "ibv_open_device", "IBVERBS_1.1");
		symbol(r.close_device, lib, "ibv_close_device", "IBVERBS_1.1");
		symbol(r.create_cq, lib, "ibv_create_cq", "IBVERBS_1.1");
		symbol(r.destroy_cq, lib, "ibv_destroy_cq", "IBVERBS_1.1");
		symbol(r.create_qp, lib, "ibv_create_qp", "IBVERBS_1.1");
		symbol(r.destroy_qp, lib, "ibv_destroy_qp", "IBVERBS_1.1");
		symbol(r.modify_qp, lib, "ibv_modify_qp", "IBVERBS_1.1");
		symbol(r.query_qp, lib, "ibv_query_qp", "IBVERBS_1.1");
		return r;
	}();

	return v;
}

const Mrc &mrc()
{
	static const Mrc m = [] {
		const char *name = std::getenv("MRC_SHIM_LIBMRC");
		void *lib = open_library(name ? name : "libmrc.so");
		Mrc r{};

#define SYMBOL(f) symbol(r.f, lib, "mrc_" #f, nullptr)
		SYMBOL(query_device);
		SYMBOL(create_context);
		SYMBOL(destroy_context);
		SYMBOL(create_cq);
		SYMBOL(poll_cq);
		SYMBOL(destroy_cq);
		SYMBOL(create_qp);
		SYMBOL(destroy_qp);
		SYMBOL(create_qp_hint);
		SYMBOL(destroy_qp_hint);
		SYMBOL(query_qp);
		SYMBOL(modify_qp);
		SYMBOL(get_qpn);
		SYMBOL(post_recv);
		SYMBOL(post_send);
#undef SYMBOL
		return r;
	}();

	return m;
}

/* --- objects -------------------------------------------------------------- */

struct Context {
	mrc_context *mrc;
	ibv_context_ops ops; /* as they were */
	decltype(verbs_context::create_cq_ex) create_cq_ex;
	decltype(verbs_context::create_qp_ex) create_qp_ex;
	std::vector<mrc_qp_hint *> hints; /* until the end */
};

/* What the program sees as its CQ; of either kind. */
struct Cq {
	ibv_cq_ex ex{};
	mrc_cq *mrc = nullptr;
	ibv_wc wc{};
	uint64_t timestamp = 0;

	ibv_cq *verbs() { return ibv_cq_ex_to_cq(&ex); }
};

/*
 * What the program sees as its queue pair. The zeroes behind tell libibverbs
 * that it is no extended one.
 */
struct FakeQp {
	ibv_qp_ex ex{};
	uint64_t zeroes[4]{};
};

struct Qp {
	mrc_qp *mrc;
	std::unique_ptr<FakeQp> fake; /* or the program has the genuine one */
	ibv_cq *send_cq, *recv_cq;
};

std::mutex lock;
std::unordered_map<ibv_context *, Context> contexts;
std::unordered_map<ibv_cq *, std::unique_ptr<Cq>> cqs;
std::unordered_map<ibv_qp *, Qp> qps;

Context *find(ibv_context *ctx)
{
	std::lock_guard guard(lock);
	auto it = contexts.find(ctx);

	return it == contexts.end() ? nullptr : &it->second;
}

Cq *find(ibv_cq *cq)
{
	std::lock_guard guard(lock);
	auto it = cqs.find(cq);

	return it == cqs.end() ? nullptr : it->second.get();
}

Qp *find(ibv_qp *qp)
{
	std::lock_guard guard(lock);
	auto it = qps.find(qp);

	return it == qps.end() ? nullptr : &it->second;
}

template <typename T> T *refuse(int err)
{
	errno = err;
	return nullptr;
}

/* --- fast path ------------------------------------------------------------ */

int post_send(ibv_qp *vqp, ibv_send_wr *wr, ibv_send_wr **bad)
{
	if (!enter(Entry::post_send))
		return ELOOP;
	Qp *qp = find(vqp);

	return qp ? call(mrc().post_send, qp->mrc, wr, bad) : EINVAL;
}

int post_recv(ibv_qp *vqp, ibv_recv_wr *wr, ibv_recv_wr **bad)
{
	if (!enter(Entry::post_recv))
		return ELOOP;
	Qp *qp = find(vqp);

	if (!qp)
		return EINVAL;
	return call(mrc().post_recv, qp->mrc, wr, bad) ? errno : 0;
}

int poll_cq(ibv_cq *vcq, int n, ibv_wc *wc)
{
	if (!enter(Entry::poll_cq))
		return -1;
	Cq *cq = find(vcq);

	return cq ? call(mrc().poll_cq, cq->mrc, n, wc) : -1;
}

/* --- CQs ------------------------------------------------------------------ */

Cq *of(ibv_cq_ex *ex)
{
	return reinterpret_cast<Cq *>(ex);
}

/* One at a time, which is what programs of an extended CQ read. */
int next_poll(ibv_cq_ex *ex)
{
	Cq *cq = of(ex);
	timespec now;

	if (!enter(Entry::poll_cq))
		return ELOOP;
	int n = call(mrc().poll_cq, cq->mrc, 1, &cq->wc);

	if (n <= 0)
		return n ? errno : ENOENT;
	/* MRC tells no time: that of polling has to do. */
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	cq->timestamp = static_cast<uint64_t>(now.tv_sec) * 1000000000 +
			static_cast<uint64_t>(now.tv_nsec);
	ex->wr_id = cq->wc.wr_id;
	ex->status = cq->wc.status;
	return 0;
}

int start_poll(ibv_cq_ex *ex, ibv_poll_cq_attr *)
{
	return next_poll(ex);
}

Cq *new_cq(ibv_context *ctx, int cqe, void *cq_context,
	   ibv_comp_channel *channel, int vector)
{
	Context *c = find(ctx);

	if (channel)
		return refuse<Cq>(EOPNOTSUPP);
	auto cq = std::make_unique<Cq>();

	cq->mrc = call(mrc().create_cq, c->mrc, cqe, cq_context,
		       static_cast<mrc_comp_channel *>(nullptr), vector);
	if (!cq->mrc)
		return nullptr;
	cq->ex.context = ctx;
	cq->ex.cq_context = cq_context;
	cq->ex.cqe = cqe;
	std::lock_guard guard(lock);
	Cq *p = cq.get();

	cqs[p->verbs()] = std::move(cq);
	return p;
}

ibv_cq_ex *create_cq_ex(ibv_context *ctx, ibv_cq_init_attr_ex *attr)
{
	constexpr uint64_t flags = uint64_t{IBV_WC_STANDARD_FLAGS} |
				   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;

	if (!enter(Entry::create_cq_ex))
		return nullptr;
	if (attr->wc_flags & ~flags ||
	    attr->comp_mask &
		    ~static_cast<uint32_t>(IBV_CQ_INIT_ATTR_MASK_FLAGS))
		return refuse<ibv_cq_ex>(EOPNOTSUPP);
	Cq *cq = new_cq(ctx, static_cast<int>(attr->cqe), attr->cq_context,
			attr->channel, static_cast<int>(attr->comp_vector));

	if (!cq)
		return nullptr;
	ibv_cq_ex &ex = cq->ex;

	ex.start_poll = start_poll;
	ex.next_poll = next_poll;
	ex.end_poll = [](ibv_cq_ex *) {};
	ex.read_opcode = [](ibv_cq_ex *c) { return of(c)->wc.opcode; };
	ex.read_vendor_err = [](ibv_cq_ex *c) { return of(c)->wc.vendor_err; };
	ex.read_byte_len = [](ibv_cq_ex *c) { return of(c)->wc.byte_len; };
	ex.read_imm_data = [](ibv_cq_ex *c) { return of(c)->wc.imm_data; };
	ex.read_qp_num = [](ibv_cq_ex *c) { return of(c)->wc.qp_num; };
	ex.read_src_qp = [](ibv_cq_ex *c) { return of(c)->wc.src_qp; };
	ex.read_sl = [](ibv_cq_ex *c) { return of(c)->wc.sl; };
	ex.read_wc_flags = [](ibv_cq_ex *c) { return of(c)->wc.wc_flags; };
	ex.read_completion_ts = [](ibv_cq_ex *c) { return of(c)->timestamp; };
	return &ex;
}

/* --- queue pairs ---------------------------------------------------------- */

mrc_qp *new_qp(ibv_context *ctx, ibv_qp_type type, const mrc_qp_init_attr &like,
	       ibv_cq *send_cq, ibv_cq *recv_cq, ibv_srq *srq, ibv_qp_cap &cap,
	       uint32_t &qpn)
{
	mrc_qp_init_attr init = like;
	Cq *send = find(send_cq), *recv = find(recv_cq);

	if (type != IBV_QPT_RC || srq)
		return refuse<mrc_qp>(EOPNOTSUPP);
	if (!send || !recv)
		return refuse<mrc_qp>(EINVAL);
	init.send_cq = send->mrc;
	init.recv_cq = recv->mrc;
	init.cap = cap;
	mrc_qp *qp = call(mrc().create_qp, find(ctx)->mrc, &init);

	if (!qp)
		return nullptr;
	cap = init.cap;
	if (call(mrc().get_qpn, qp, &qpn))
		die("mrc_get_qpn fails");
	return qp;
}

/*
 * Work requests made by functions: the program needs a queue pair of the
 * provider for these, which is the first thing in the MRC one.
 */
ibv_qp *create_qp_ex(ibv_context *ctx, ibv_qp_init_attr_ex *attr)
{
	constexpr uint32_t known =
		IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	mrc_qp_init_attr init{};
	ibv_qp *genuine;
	uint32_t qpn;

	if (!enter(Entry::create_qp_ex))
		return nullptr;
	if (attr->comp_mask != known)
		return refuse<ibv_qp>(EOPNOTSUPP);
	init.qp_context = attr->qp_context;
	init.sq_sig_all = attr->sq_sig_all;
	init.pd = attr->pd;
	init.send_ops_flags = attr->send_ops_flags;
	mrc_qp *qp = new_qp(ctx, attr->qp_type, init, attr->send_cq,
			    attr->recv_cq, attr->srq, attr->cap, qpn);

	if (!qp)
		return nullptr;
	genuine = *reinterpret_cast<ibv_qp **>(qp);
	if (!genuine || genuine->qp_num != qpn)
		die("struct mrc_qp does not begin with its queue pair");
	std::lock_guard guard(lock);

	qps[genuine] = {qp, nullptr, attr->send_cq, attr->recv_cq};
	return genuine;
}

mrc_qp_hint *new_hint(Context &ctx)
{
	mrc_qp_hint_init_attr init{};

	init.attr.num_qps_per_peer = 1;
	init.attr.num_send_peers = 1;
	mrc_qp_hint *hint = call(mrc().create_qp_hint, ctx.mrc, &init);

	if (hint) {
		std::lock_guard guard(lock);

		ctx.hints.push_back(hint);
	}
	return hint;
}
} // namespace

/* --- what programs call --------------------------------------------------- */

EXPORT ibv_context *ibv_open_device(ibv_device *device)
{
	mrc_context_attr attr{};
	mrc_device_attr dattr;
	int supported = 0;

	if (!enter(Entry::open_device))
		return nullptr;
	ibv_context *ctx = verbs().open_device(device);

	if (!ctx || call(mrc().query_device, ctx, &dattr, &supported) ||
	    !supported)
		return ctx;
	verbs_context *vctx = verbs_get_ctx(ctx);

	if (!vctx || !vctx->create_qp_ex) {
		verbs().close_device(ctx);
		return refuse<ibv_context>(EOPNOTSUPP);
	}
	mrc_context *m = call(mrc().create_context, ctx, &attr);

	if (!m) {
		int err = errno;

		verbs().close_device(ctx);
		return refuse<ibv_context>(err);
	}
	std::lock_guard guard(lock);

	contexts[ctx] = {
		m, ctx->ops, vctx->create_cq_ex, vctx->create_qp_ex, {}};
	ctx->ops.post_send = post_send;
	ctx->ops.post_recv = post_recv;
	ctx->ops.poll_cq = poll_cq;
	ctx->ops.req_notify_cq = [](ibv_cq *, int) { return EOPNOTSUPP; };
	vctx->create_cq_ex = create_cq_ex;
	vctx->create_qp_ex = create_qp_ex;
	return ctx;
}

EXPORT int ibv_close_device(ibv_context *ctx)
{
	if (!enter(Entry::close_device))
		return ELOOP;
	Context *c = find(ctx);

	if (c) {
		verbs_context *vctx = verbs_get_ctx(ctx);

		for (mrc_qp_hint *hint : c->hints)
			if (call(mrc().destroy_qp_hint, hint))
				die("mrc_destroy_qp_hint fails");
		if (call(mrc().destroy_context, c->mrc))
			return errno;
		ctx->ops = c->ops;
		vctx->create_cq_ex = c->create_cq_ex;
		vctx->create_qp_ex = c->create_qp_ex;
		std::lock_guard guard(lock);

		contexts.erase(ctx);
	}
	return verbs().close_device(ctx);
}

EXPORT ibv_cq *ibv_create_cq(ibv_context *ctx, int cqe, void *cq_context,
			     ibv_comp_channel *channel, int comp_vector)
{
	if (!enter(Entry::create_cq))
		return nullptr;
	if (!find(ctx))
		return verbs().create_cq(ctx, cqe, cq_context, channel,
					 comp_vector);
	Cq *cq = new_cq(ctx, cqe, cq_context, channel, comp_vector);

	return cq ? cq->verbs() : nullptr;
}

EXPORT int ibv_destroy_cq(ibv_cq *vcq)
{
	if (!enter(Entry::destroy_cq))
		return ELOOP;
	Cq *cq = find(vcq);

	if (!cq)
		return verbs().destroy_cq(vcq);
	int err = call(mrc().destroy_cq, cq->mrc);

	if (!err) {
		std::lock_guard guard(lock);

		cqs.erase(vcq);
	}
	return err;
}

EXPORT ibv_qp *ibv_create_qp(ibv_pd *pd, ibv_qp_init_attr *attr)
{
	mrc_qp_init_attr init{};
	uint32_t qpn;

	if (!enter(Entry::create_qp))
		return nullptr;
	if (!find(pd->context))
		return verbs().create_qp(pd, attr);
	init.qp_context = attr->qp_context;
	init.sq_sig_all = attr->sq_sig_all;
	init.pd = pd;
	mrc_qp *qp = new_qp(pd->context, attr->qp_type, init, attr->send_cq,
			    attr->recv_cq, attr->srq, attr->cap, qpn);

	if (!qp)
		return nullptr;
	auto fake = std::make_unique<FakeQp>();
	ibv_qp *p = &fake->ex.qp_base;

	p->context = pd->context;
	p->qp_context = attr->qp_context;
	p->pd = pd;
	p->send_cq = attr->send_cq;
	p->recv_cq = attr->recv_cq;
	p->qp_num = qpn;
	p->state = IBV_QPS_RESET;
	p->qp_type = IBV_QPT_RC;
	std::lock_guard guard(lock);

	qps[p] = {qp, std::move(fake), attr->send_cq, attr->recv_cq};
	return p;
}

EXPORT int ibv_destroy_qp(ibv_qp *vqp)
{
	if (!enter(Entry::destroy_qp))
		return ELOOP;
	Qp *qp = find(vqp);

	if (!qp)
		return verbs().destroy_qp(vqp);
	int err = call(mrc().destroy_qp, qp->mrc);

	if (!err) {
		std::lock_guard guard(lock);

		qps.erase(vqp);
	}
	return err;
}

/* Attributes and mask of verbs go through as they are. */
EXPORT int ibv_modify_qp(ibv_qp *vqp, ibv_qp_attr *attr, int mask)
{
	mrc_qp_attr mattr{};
	int mmask = 0;

	if (!enter(Entry::modify_qp))
		return ELOOP;
	Qp *qp = find(vqp);

	if (!qp)
		return verbs().modify_qp(vqp, attr, mask);
	if (mask & IBV_QP_STATE) {
		switch (attr->qp_state) {
		case IBV_QPS_INIT:
			mattr.qp_hint = new_hint(*find(vqp->context));
			mmask = MRC_QP_HINT;
			if (!mattr.qp_hint)
				return errno;
			break;
		case IBV_QPS_RTR:
			if (!attr->ah_attr.is_global)
				return EINVAL;
			break;
		case IBV_QPS_RTS:
			break;
		default:
			/* Shims have never set these two there. */
			std::memset(static_cast<void *>(&mattr), 0xdb,
				    sizeof(mattr));
			mmask = 0x5a5a5a5a;
			break;
		}
	}
	int err = call(mrc().modify_qp, qp->mrc, attr, mask, &mattr, mmask);

	if (!err && mask & IBV_QP_STATE && qp->fake)
		vqp->state = attr->qp_state;
	return err;
}

EXPORT int ibv_query_qp(ibv_qp *vqp, ibv_qp_attr *attr, int mask,
			ibv_qp_init_attr *init)
{
	mrc_qp_init_attr minit{};

	if (!enter(Entry::query_qp))
		return ELOOP;
	Qp *qp = find(vqp);

	if (!qp)
		return verbs().query_qp(vqp, attr, mask, init);
	int err = call(mrc().query_qp, qp->mrc, attr, mask,
		       static_cast<mrc_qp_attr *>(nullptr), 0, &minit);

	if (err)
		return err;
	*init = {};
	init->qp_context = minit.qp_context;
	init->send_cq = qp->send_cq;
	init->recv_cq = qp->recv_cq;
	init->cap = minit.cap;
	init->qp_type = IBV_QPT_RC;
	init->sq_sig_all = minit.sq_sig_all;
	return 0;
}

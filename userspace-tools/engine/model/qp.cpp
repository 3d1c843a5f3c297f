// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "model/qp.hpp"

namespace mrc_model
{

bool Qp::init(const QpCfg &cfg)
{
	mrc_req_cfg qc = cfg.req;
	bool ok;

	paths_mem_ = Mem(mrc_paths_mem(&cfg.paths));
	ok = !mrc_paths_init(&paths, &cfg.paths, paths_mem_.get());
	if (ok && cfg.requester) {
		mrc_cc_init(&cc, cfg.algorithm, &cfg.cc);
		if (cfg.responder)
			qc.rev = &resp.rev;
		req_mem_ = Mem(mrc_req_mem(&qc));
		ok = !mrc_req_init(&req, &qc, &paths, &cc, req_mem_.get());
	}
	if (ok && cfg.responder) {
		resp_mem_ = Mem(mrc_resp_mem(&cfg.resp));
		ok = !mrc_resp_init(&resp, &cfg.resp,
				    cfg.resp_paths ? &paths : nullptr,
				    resp_mem_.get());
	}
	return ok;
}

void Qp::give_stash()
{
	stash_ = Mem(mrc_resp_stash_mem(&resp.cfg));
	mrc_resp_set_stash(&resp, stash_.get());
}

void Qp::give_requests()
{
	requests_ = Mem(mrc_resp_rd_mem(&resp.cfg));
	mrc_resp_set_rd(&resp, requests_.get());
}

} // namespace mrc_model

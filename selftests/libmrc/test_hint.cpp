// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Hints: what comes back, what is refused, and who refers to them.
 */
#include <cstring>

#include "objects.hpp"
#include "tests.hpp"

namespace
{
constexpr int all_fields =
	MRC_QP_HINT_NUM_QPS_PER_PEER | MRC_QP_HINT_NUM_SEND_PEERS |
	MRC_QP_HINT_NUM_REMOTE_RECV_PEERS | MRC_QP_HINT_VENDOR_CFG;

mrc_qp_hint_attr pattern(uint8_t seed)
{
	mrc_qp_hint_attr a{};

	a.num_qps_per_peer = seed + 1;
	a.num_send_peers = seed + 2;
	a.num_remote_recv_peers = seed + 3;
	for (unsigned i = 0; i < sizeof(a.vendor_cfg); i++)
		a.vendor_cfg[i] = static_cast<uint8_t>(seed + i * 7);
	return a;
}

/* All of @got is that of @base, but what @mask names is that of @now. */
void expect_fields(Check &c, const mrc_qp_hint_attr &got,
		   const mrc_qp_hint_attr &now, const mrc_qp_hint_attr &base,
		   int mask, const std::string &what)
{
	const auto from = [&](int bit) -> const mrc_qp_hint_attr & {
		return mask & bit ? now : base;
	};

	c.eq(got.num_qps_per_peer,
	     from(MRC_QP_HINT_NUM_QPS_PER_PEER).num_qps_per_peer,
	     what + ": num_qps_per_peer");
	c.eq(got.num_send_peers,
	     from(MRC_QP_HINT_NUM_SEND_PEERS).num_send_peers,
	     what + ": num_send_peers");
	c.eq(got.num_remote_recv_peers,
	     from(MRC_QP_HINT_NUM_REMOTE_RECV_PEERS).num_remote_recv_peers,
	     what + ": num_remote_recv_peers");
	c.that(!std::memcmp(got.vendor_cfg,
			    from(MRC_QP_HINT_VENDOR_CFG).vendor_cfg,
			    sizeof(got.vendor_cfg)),
	       what + ": vendor_cfg");
}

const int masks[] = {0,
		     MRC_QP_HINT_NUM_QPS_PER_PEER,
		     MRC_QP_HINT_NUM_SEND_PEERS,
		     MRC_QP_HINT_NUM_REMOTE_RECV_PEERS,
		     MRC_QP_HINT_VENDOR_CFG,
		     MRC_QP_HINT_NUM_QPS_PER_PEER | MRC_QP_HINT_VENDOR_CFG,
		     all_fields};

void round_trip(Check &c, mrc_context *ctx)
{
	mrc_qp_hint_init_attr init{pattern(10)};
	const mrc_qp_hint_attr poison = pattern(200), next = pattern(50);
	const Hint hint(must(mrc_create_qp_hint(ctx, &init), "hint"));

	for (int mask : masks) {
		mrc_qp_hint_attr got = poison;

		c.minus1(0, "query", [&] {
			return mrc_query_qp_hint(hint.get(), &got, mask);
		});
		expect_fields(c, got, init.attr, poison, mask,
			      "query of mask " + std::to_string(mask));
	}
	for (int mask : masks) {
		mrc_qp_hint_attr set = next, got{};

		c.minus1(0, "modify", [&] {
			return mrc_modify_qp_hint(hint.get(), &set, mask);
		});
		must(mrc_query_qp_hint(hint.get(), &got, all_fields), "query");
		expect_fields(c, got, next, init.attr, mask,
			      "modify with mask " + std::to_string(mask));
		set = init.attr;
		must(mrc_modify_qp_hint(hint.get(), &set, all_fields),
		     "modify back");
	}
}

void refused(Check &c, mrc_context *ctx)
{
	mrc_qp_hint_init_attr init{pattern(1)};
	const Hint hint(must(mrc_create_qp_hint(ctx, &init), "hint"));
	mrc_qp_hint_attr got{}, set = pattern(77);

	for (int bit = 3; bit < 31; bit++)
		for (int mask : {1 << bit, 1 << bit | all_fields}) {
			c.minus1(EINVAL, "query, bit " + std::to_string(bit),
				 [&] {
					 return mrc_query_qp_hint(hint.get(),
								  &got, mask);
				 });
			c.minus1(EINVAL, "modify, bit " + std::to_string(bit),
				 [&] {
					 return mrc_modify_qp_hint(hint.get(),
								   &set, mask);
				 });
		}
	/* Numbers below zero, one in each field. */
	for (int field = 0; field < 3; field++) {
		mrc_qp_hint_init_attr bad{pattern(5)};
		int *const f[] = {&bad.attr.num_qps_per_peer,
				  &bad.attr.num_send_peers,
				  &bad.attr.num_remote_recv_peers};

		*f[field] = -1;
		c.minus1(EINVAL, "modify to -1", [&] {
			return mrc_modify_qp_hint(hint.get(), &bad.attr,
						  1 << field);
		});
		c.minus1(EINVAL, "modify to -1 with others", [&] {
			return mrc_modify_qp_hint(hint.get(), &bad.attr,
						  all_fields);
		});
		c.null(EINVAL, "create with -1",
		       [&] { return mrc_create_qp_hint(ctx, &bad); });
	}
	must(mrc_query_qp_hint(hint.get(), &got, all_fields), "query");
	expect_fields(c, got, init.attr, init.attr, 0, "after refusals");
}

void limit(Check &c, const Devices &d)
{
	Node n(d.a);
	mrc_qp_hint_init_attr init{};
	std::vector<Hint> hints;

	hints.reserve(n.attr.qp_attr.max_qp_hint);
	for (uint32_t i = 0; i < n.attr.qp_attr.max_qp_hint; i++)
		hints.emplace_back(
			must(mrc_create_qp_hint(n.ctx.get(), &init), "hint"));
	c.null(ENOSPC, "one more",
	       [&] { return mrc_create_qp_hint(n.ctx.get(), &init); });
	hints.pop_back();
	hints.emplace_back(
		must(mrc_create_qp_hint(n.ctx.get(), &init), "after one less"));
}

/* The hint of @qp, as a query tells it. */
mrc_qp_hint *hint_of(mrc_qp *qp)
{
	mrc_qp_attr attr{};

	attr.qp_hint = reinterpret_cast<mrc_qp_hint *>(1);
	must(mrc_query_qp(qp, nullptr, 0, &attr, MRC_QP_HINT, nullptr),
	     "query of the hint");
	return attr.qp_hint;
}

int set_hint(mrc_qp *qp, mrc_qp_hint *hint, int vmask)
{
	ibv_qp_attr attr = init_attr();
	mrc_qp_attr mattr{};

	mattr.qp_hint = hint;
	return mrc_modify_qp(qp, &attr, vmask, &mattr, MRC_QP_HINT);
}

void busy(Check &c, const Devices &d)
{
	Node n(d.a);
	const Cq cq = make_cq(n);
	Hint one = make_hint(n.ctx.get()), two = make_hint(n.ctx.get());
	Qp qp = make_qp(n, cq.get()), other = make_qp(n, cq.get());

	const auto is_busy = [&](const Hint &h, const char *when) {
		c.minus1(EBUSY, when,
			 [&] { return mrc_destroy_qp_hint(h.get()); });
	};

	c.that(!hint_of(qp.get()), "a hint before there is one");
	c.err(0, "INIT",
	      [&] { return set_hint(qp.get(), one.get(), init_mask); });
	c.that(hint_of(qp.get()) == one.get(), "not the hint that was set");
	is_busy(one, "used once");
	c.err(0, "second user",
	      [&] { return set_hint(other.get(), one.get(), init_mask); });
	c.err(0, "destroy a user",
	      [&] { return mrc_destroy_qp(other.release()); });
	is_busy(one, "used once again");

	/* In place, and back: the first one is free. */
	c.err(0, "other hint in INIT",
	      [&] { return set_hint(qp.get(), two.get(), 0); });
	is_busy(two, "used instead");
	c.minus1(0, "not used any more",
		 [&] { return mrc_destroy_qp_hint(one.release()); });
	c.err(0, "no hint", [&] { return set_hint(qp.get(), nullptr, 0); });
	c.that(!hint_of(qp.get()), "a hint after none was set");
	c.err(0, "hint with INIT to INIT",
	      [&] { return set_hint(qp.get(), two.get(), init_mask); });

	/* Connected it stays; going back to RESET drops it. */
	ibv_qp_attr attr = rtr_attr(n, n.gid, num(qp.get()));

	must(mrc_modify_qp(qp.get(), &attr, rtr_mask, nullptr, 0), "RTR");
	c.err(EINVAL, "hint in RTR",
	      [&] { return set_hint(qp.get(), nullptr, 0); });
	is_busy(two, "in RTR");
	set_state(qp.get(), IBV_QPS_ERR);
	is_busy(two, "in ERR");
	set_state(qp.get(), IBV_QPS_RESET);
	c.that(!hint_of(qp.get()), "a hint in RESET");
	c.minus1(0, "after RESET",
		 [&] { return mrc_destroy_qp_hint(two.release()); });
}

/* What is refused takes no reference. */
void no_reference(Check &c, const Devices &d)
{
	Node n(d.a);
	const Cq cq = make_cq(n);
	Hint hint = make_hint(n.ctx.get());
	const Qp qp = make_qp(n, cq.get());
	ibv_qp_attr attr = init_attr();
	mrc_qp_attr mattr{};

	mattr.qp_hint = hint.get();
	mattr.timeout = 25;
	c.err(EINVAL, "hint with a bad timeout", [&] {
		return mrc_modify_qp(qp.get(), &attr, init_mask, &mattr,
				     MRC_QP_HINT | MRC_QP_TIMEOUT);
	});
	attr.qp_state = IBV_QPS_RTS;
	c.err(EINVAL, "hint with an illegal transition", [&] {
		return mrc_modify_qp(qp.get(), &attr, IBV_QP_STATE, &mattr,
				     MRC_QP_HINT);
	});
	c.that(!hint_of(qp.get()), "a hint after refusals");
	c.minus1(0, "hint",
		 [&] { return mrc_destroy_qp_hint(hint.release()); });
}
} // namespace

void test_hint(Suite &s, const Devices &d)
{
	const Verbs verbs = open_device(d.a);
	const Context ctx = make_context(verbs.get());

	s.run("fields that were masked, byte for byte",
	      [&](Check &c) { round_trip(c, ctx.get()); });
	s.run("unknown fields and bad numbers",
	      [&](Check &c) { refused(c, ctx.get()); });
	s.run("as many as the device says, and no more",
	      [&](Check &c) { limit(c, d); });
	s.run("busy while a queue pair refers to it",
	      [&](Check &c) { busy(c, d); });
	s.run("a refused change takes no reference",
	      [&](Check &c) { no_reference(c, d); });
}

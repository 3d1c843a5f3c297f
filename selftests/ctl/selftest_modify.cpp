// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * MRC attributes as driver data of the verbs command that modifies a queue
 * pair: with the transition or not at all, of every length and any content.
 */
#include "selftest.hpp"

#include <cstring>
#include <random>

#include "profile.hpp"

namespace
{
using Core = ib_uverbs_modify_qp;
using Bytes = std::vector<std::byte>;

/* --- the three transitions as verbs commands
 * ------------------------------------------- */

Core core(const Qp &qp, ibv_qp_state to, uint32_t mask)
{
	Core c{};

	c.qp_handle = const_cast<Qp &>(qp).get()->handle;
	c.qp_state = static_cast<uint8_t>(to);
	c.attr_mask = IBV_QP_STATE | mask;
	return c;
}

Core to_init(const Qp &qp)
{
	Core c = core(qp, IBV_QPS_INIT,
		      IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);

	c.port_num = 1;
	c.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	return c;
}

Core to_rtr(Dev &dev, const Qp &qp, uint32_t dest)
{
	Core c = core(qp, IBV_QPS_RTR,
		      IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			      IBV_QP_MIN_RNR_TIMER);
	ibv_gid gid{};

	c.path_mtu = IBV_MTU_1024;
	c.dest_qp_num = dest;
	c.dest.is_global = 1;
	c.dest.port_num = 1;
	c.dest.hop_limit = 64;
	c.dest.sgid_index = static_cast<uint8_t>(gid_index(dev, gid));
	std::memcpy(c.dest.dgid, gid.raw, sizeof(c.dest.dgid));
	c.max_dest_rd_atomic = 1;
	c.min_rnr_timer = 12;
	return c;
}

Core to_rts(const Qp &qp)
{
	Core c = core(qp, IBV_QPS_RTS,
		      IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);

	c.timeout = 17;
	c.retry_cnt = 7;
	c.rnr_retry = 7;
	c.max_rd_atomic = 1;
	return c;
}

Bytes bytes(const mrc_abi_modify_qp &m)
{
	const auto b = std::as_bytes(std::span(&m, 1));

	return {b.begin(), b.end()};
}

mrc_abi_modify_qp with(uint32_t mask, void (*fill)(mrc_abi_qp_attr &) = nullptr)
{
	mrc_abi_modify_qp m{};

	m.attr.mask = mask;
	m.attr.ev_profile = MRC_ABI_PROFILE_NONE;
	m.attr.cc_profile = MRC_ABI_PROFILE_NONE;
	if (fill)
		fill(m.attr);
	return m;
}

/* --- what must hold
 * -------------------------------------------------------------------- */

void with_the_transition(Dev &dev, Check &c)
{
	Profile prof(dev, ports_of(dev));
	Qp a(dev), b(dev);

	for (Qp *qp : {&a, &b}) {
		const uint32_t peer = qp == &a ? b.num() : a.num();

		c.err(dev.modify_qp(
			      to_init(*qp),
			      bytes(with(
				      MRC_ABI_QP_EV_PROFILE | MRC_ABI_QP_CAP |
					      MRC_ABI_QP_MPR_DEST,
				      [](auto &m) {
					      m.ev_profile = EVP;
					      m.cap = MRC_ABI_QP_CAP_DYNAMIC_MPR;
					      m.mpr_dest = 5;
				      }))),
		      0, "INIT");
		c.eq(qp->query().state, IBV_QPS_INIT, "state");
		c.eq(qp->query().attr.mpr_dest, 5, "mpr_dest");
		c.err(dev.modify_qp(to_rtr(dev, *qp, peer),
				    bytes(with(MRC_ABI_QP_MPR |
						       MRC_ABI_QP_MAX_WIMM_DEST,
					       [](auto &m) {
						       m.mpr = 3;
						       m.max_wimm_dest = 17;
					       }))),
		      0, "RTR");
		c.eq(qp->query().state, IBV_QPS_RTR, "state");
		c.err(dev.modify_qp(
			      to_rts(*qp),
			      bytes(with(MRC_ABI_QP_TIMEOUT | MRC_ABI_QP_RETRY |
						 MRC_ABI_QP_MPR_DEST |
						 MRC_ABI_QP_MAX_WIMM,
					 [](auto &m) {
						 m.timeout = 19;
						 m.retry_linear = 2;
						 m.retry_exp = 25;
						 m.mpr_dest = 6;
						 m.max_wimm = 17;
					 }))),
		      0, "RTS");
	}
	/* Behind the back of the library, which looks before it posts. */
	a.get()->state = IBV_QPS_RTS;

	const mrc_abi_qp_info before = a.query();

	c.eq(before.state, IBV_QPS_RTS, "state");
	c.eq(before.ev_profile, EVP, "EV profile in use");
	c.eq(before.attr.mask,
	     MRC_ABI_QP_EV_PROFILE | MRC_ABI_QP_CAP | MRC_ABI_QP_MPR_DEST |
		     MRC_ABI_QP_MPR | MRC_ABI_QP_MAX_WIMM |
		     MRC_ABI_QP_MAX_WIMM_DEST | MRC_ABI_QP_TIMEOUT |
		     MRC_ABI_QP_RETRY,
	     "mask");
	c.eq(before.attr.mpr, 3, "mpr");
	c.eq(before.attr.mpr_dest, 6, "mpr_dest");
	c.eq(before.attr.max_wimm, 17, "max_wimm");
	c.eq(before.attr.max_wimm_dest, 17, "max_wimm_dest");
	c.eq(before.attr.timeout, 19, "timeout");
	c.eq(before.attr.retry_linear, 2, "retry_linear");
	c.eq(before.attr.retry_exp, 25, "retry_exp");
	a.write(b, 2, 65536);
	c.eq(a.query().window, 6 * 128, "window: what the peer's RTS offers");
	/* In RTS, without a transition. */
	Core again = core(b, IBV_QPS_RTS, IBV_QP_ACCESS_FLAGS);

	again.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	c.err(dev.modify_qp(again,
			    bytes(with(MRC_ABI_QP_MPR_DEST,
				       [](auto &m) { m.mpr_dest = 2; }))),
	      0, "RTS to RTS");
	a.write(b, 2, 65536);
	c.eq(a.query().window, 2 * 128, "window after the peer's change");
}

struct Bad {
	const char *what;
	mrc_abi_modify_qp data;
};

std::vector<Bad> bad_ones()
{
	std::vector<Bad> v = {
		{"unknown mask bit", with(1u << 31)},
		{"hint, which the kernel does not have", with(1u << 7)},
		{"unknown capability",
		 with(MRC_ABI_QP_CAP, [](auto &m) { m.cap = 1u << 5; })},
		{"timeout 25",
		 with(MRC_ABI_QP_TIMEOUT, [](auto &m) { m.timeout = 25; })},
		{"linear 8",
		 with(MRC_ABI_QP_RETRY, [](auto &m) { m.retry_linear = 8; })},
		{"exp 26",
		 with(MRC_ABI_QP_RETRY, [](auto &m) { m.retry_exp = 26; })},
		{"max_wimm above the limit",
		 with(MRC_ABI_QP_MAX_WIMM, [](auto &m) { m.max_wimm = 1025; })},
		{"EV profile that is not ONLINE",
		 with(MRC_ABI_QP_EV_PROFILE,
		      [](auto &m) { m.ev_profile = 77; })},
		{"CC profile that is not ONLINE",
		 with(MRC_ABI_QP_CC_PROFILE,
		      [](auto &m) { m.cc_profile = 7; })},
		{"reserved byte of the attributes",
		 with(MRC_ABI_QP_MPR, [](auto &m) { m.reserved[6] = 1; })},
		{"reserved byte, nothing to set",
		 with(0, [](auto &m) { m.reserved[0] = 1; })},
		{"comp_mask", with(MRC_ABI_QP_MPR)},
		{"reserved", with(MRC_ABI_QP_MPR)},
	};

	v[v.size() - 2].data.comp_mask = 1u << 31;
	v[v.size() - 1].data.reserved = 1;
	return v;
}

void not_at_all(Dev &dev, Check &c)
{
	Qp qp(dev);
	Core wrong = to_init(qp);

	for (const Bad &b : bad_ones()) {
		c.err(dev.modify_qp(to_init(qp), bytes(b.data)), EINVAL,
		      b.what);
		c.eq(qp.query().state, IBV_QPS_RESET,
		     std::string("state after ") + b.what);
		c.eq(qp.query().attr.mask, 0,
		     std::string("attributes after ") + b.what);
	}
	/* Good attributes, and a transition that cannot be. */
	wrong.port_num = 99;
	c.err(dev.modify_qp(wrong, bytes(with(MRC_ABI_QP_MPR,
					      [](auto &m) { m.mpr = 9; }))),
	      EINVAL, "port 99");
	c.err(dev.modify_qp(
		      to_rts(qp),
		      bytes(with(MRC_ABI_QP_MPR, [](auto &m) { m.mpr = 9; }))),
	      EINVAL, "RESET to RTS");
	c.eq(qp.query().attr.mask, 0, "attributes after wrong transitions");
	c.eq(qp.query().attr.mpr, 8, "mpr");

	/* Too late. */
	must(qp.init(), "INIT");
	must(qp.rtr(qp.num()), "RTR");
	c.err(dev.modify_qp(to_rts(qp), bytes(with(MRC_ABI_QP_EV_PROFILE))),
	      EINVAL, "EV profile on the way to RTS");
	c.err(dev.modify_qp(to_rts(qp), bytes(with(MRC_ABI_QP_CAP))), EINVAL,
	      "capabilities on the way to RTS");
	c.eq(qp.query().state, IBV_QPS_RTR, "state");
	c.err(dev.modify_qp(to_rts(qp), {}), 0, "RTS");
	/* Where nothing can take effect, attributes are nobody's business. */
	c.err(dev.modify_qp(core(qp, IBV_QPS_ERR, 0), bytes(with(1u << 31))), 0,
	      "ERR");
	c.err(dev.modify_qp(core(qp, IBV_QPS_RESET, 0), bytes(with(1u << 31))),
	      0, "RESET");
}

void lengths(Dev &dev, Check &c)
{
	const Bytes whole =
		bytes(with(MRC_ABI_QP_MPR | MRC_ABI_QP_RETRY, [](auto &m) {
			m.mpr = 7;
			m.retry_linear = 3;
			m.retry_exp = 4;
		}));
	const std::size_t mpr = offsetof(mrc_abi_modify_qp, attr.mpr);
	const std::size_t exp = offsetof(mrc_abi_modify_qp, attr.retry_exp);
	const std::size_t mask = offsetof(mrc_abi_modify_qp, attr.mask);
	Qp qp(dev);

	/* Missing ones are zero, which means the default, or nothing at all. */
	for (std::size_t n = 0; n <= whole.size() + 40; n++) {
		const std::string what = std::to_string(n) + " bytes";
		Bytes data = whole;

		data.resize(n);
		c.err(dev.modify_qp(to_init(qp), data), 0, what);

		const mrc_abi_qp_attr a = qp.query().attr;

		c.eq(a.mpr, n > mpr ? 7 : 8, "mpr with " + what);
		/* The mask is little-endian; its bits lie in two bytes. */
		if (n > mask + 1)
			c.eq(a.retry_exp, n > exp ? 4 : 0,
			     "retry_exp with " + what);
		c.eq(!!a.mask, n > mask, "attributes set with " + what);
		must(qp.state(IBV_QPS_RESET), "RESET");
		/* RESET keeps them; the next round starts from scratch. */
		mrc_abi_qp_attr none = a;

		none.mask &= MRC_ABI_QP_MPR | MRC_ABI_QP_RETRY;
		none.mpr = 8;
		none.retry_linear = none.retry_exp = 0;
		must(qp.set(none), "defaults");
	}
	for (std::size_t n = 1; n <= 40; n++) {
		Bytes data = whole;

		data.resize(whole.size() + n);
		data.back() = std::byte{1};
		c.err(dev.modify_qp(to_init(qp), data), EOPNOTSUPP,
		      "junk " + std::to_string(n) + " bytes behind the end");
		c.eq(qp.query().state, IBV_QPS_RESET, "state after junk");
	}
}

void anything(Dev &dev, Check &c)
{
	std::mt19937 rng(26);
	Qp qp(dev), peer(dev);
	unsigned taken = 0;

	must(peer.init(), "INIT");
	must(peer.rtr(qp.num()), "RTR");
	for (int i = 0; i < 4000; i++) {
		static const uint32_t masks[] = {0,    1,     2,     4,	 8,
						 0x10, 0x108, 0x30c, ~0u};
		const Core how[] = {to_init(qp), to_rtr(dev, qp, peer.num()),
				    to_rts(qp), core(qp, IBV_QPS_RESET, 0)};
		mrc_abi_modify_qp m = with(masks[rng() % 9]);

		for (unsigned k = rng() % 4; k; k--)
			reinterpret_cast<uint8_t *>(&m)[rng() % sizeof(m)] ^=
				static_cast<uint8_t>(1u << rng() % 8);
		Bytes data = bytes(m);

		if (rng() % 4 == 0)
			data.resize(rng() % 80, std::byte{0});
		const uint32_t was = qp.query().state;
		const int err = dev.modify_qp(how[rng() % 4], data);

		c.that(err == 0 || err == EINVAL || err == EOPNOTSUPP,
		       "round " + std::to_string(i) + ": " + errno_name(err));
		if (err)
			c.eq(qp.query().state, was,
			     "state after round " + std::to_string(i));
		taken += !err;
	}
	c.that(taken > 400, "only " + std::to_string(taken) + " were taken");
	Pair p(dev);

	p.a.write(p.b, 4, 65536);
}
} // namespace

bool selftest_modify(Dev &dev)
{
	Report r;

	r.run("modify QP: attributes come with the transition",
	      [&](Check &c) { with_the_transition(dev, c); });
	r.run("modify QP: what is refused changes nothing",
	      [&](Check &c) { not_at_all(dev, c); });
	r.run("modify QP: shorter and longer data",
	      [&](Check &c) { lengths(dev, c); });
	r.run("modify QP: any bits in any transition",
	      [&](Check &c) { anything(dev, c); });
	return r.good();
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * MRC attributes of queue pairs, and profiles under running ones: two QPs of
 * the device talk to each other through the loopback.
 */
#include "selftest.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "profile.hpp"

namespace
{
/* --- which attribute when
 * ------------------------------------------------------------ */

struct Attr {
	const char *what;
	uint32_t mask;
	std::array<int, 5> want; /* RESET, INIT, RTR, RTS, ERR */
};

constexpr int I = EINVAL;
constexpr std::array<Attr, 9> attrs = {{
	{"EV profile", MRC_ABI_QP_EV_PROFILE, {0, 0, I, I, I}},
	{"CC profile", MRC_ABI_QP_CC_PROFILE, {0, 0, I, I, I}},
	{"MAX_WIMM_DEST", MRC_ABI_QP_MAX_WIMM_DEST, {0, 0, I, I, I}},
	{"MPR_DEST", MRC_ABI_QP_MPR_DEST, {0, 0, I, I, I}},
	{"CAP", MRC_ABI_QP_CAP, {0, 0, I, I, I}},
	{"MAX_WIMM", MRC_ABI_QP_MAX_WIMM, {0, 0, 0, I, I}},
	{"MPR", MRC_ABI_QP_MPR, {0, 0, 0, I, I}},
	{"TIMEOUT", MRC_ABI_QP_TIMEOUT, {0, 0, 0, I, I}},
	{"RETRY", MRC_ABI_QP_RETRY, {0, 0, 0, I, I}},
}};

void attr_table(Dev &dev, Check &c)
{
	static const char *const names[] = {"RESET", "INIT", "RTR", "RTS",
					    "ERR"};

	for (const Attr &a : attrs) {
		Qp qp(dev);

		for (std::size_t s = 0; s < 5; s++) {
			if (s == 1)
				must(qp.init(), "INIT");
			else if (s == 2)
				must(qp.rtr(qp.num()), "RTR");
			else if (s == 3)
				must(qp.rts(), "RTS");
			else if (s == 4)
				must(qp.state(IBV_QPS_ERR), "ERR");
			c.err(qp.set_mask(a.mask), a.want[s],
			      std::string(a.what) + " in " + names[s]);
		}
	}
}

void attr_ranges(Dev &dev, Check &c)
{
	Qp qp(dev);

	c.err(qp.set_mask(1u << 7), EINVAL,
	      "hint, which the kernel does not have");
	c.err(qp.set_mask(1u << 31), EINVAL, "unknown mask bit");
	c.err(qp.set_mask(MRC_ABI_QP_TIMEOUT, [](auto &a) { a.timeout = 25; }),
	      EINVAL, "timeout 25");
	c.err(qp.set_mask(MRC_ABI_QP_TIMEOUT, [](auto &a) { a.timeout = 24; }),
	      0, "timeout 24");
	c.err(qp.set_mask(MRC_ABI_QP_RETRY,
			  [](auto &a) { a.retry_linear = 8; }),
	      EINVAL, "linear 8");
	c.err(qp.set_mask(MRC_ABI_QP_RETRY, [](auto &a) { a.retry_exp = 26; }),
	      EINVAL, "exp 26");
	c.err(qp.set_mask(MRC_ABI_QP_MAX_WIMM,
			  [](auto &a) { a.max_wimm = 1025; }),
	      EINVAL, "max_wimm above the limit");
	c.err(qp.set_mask(MRC_ABI_QP_CAP, [](auto &a) { a.cap = 1u << 5; }),
	      EINVAL, "unknown capability");
	c.err(qp.set_mask(MRC_ABI_QP_EV_PROFILE,
			  [](auto &a) { a.ev_profile = 77; }),
	      EINVAL, "EV profile that is not ONLINE");
	c.err(qp.set_mask(MRC_ABI_QP_EV_PROFILE,
			  [](auto &a) { a.ev_profile = 1ull << 40; }),
	      EINVAL, "EV profile beyond capacity");
	c.err(qp.set_mask(MRC_ABI_QP_CC_PROFILE,
			  [](auto &a) { a.cc_profile = 7; }),
	      EINVAL, "CC profile that is not ONLINE");
	c.err(qp.set_mask(0, [](auto &a) { a.reserved[3] = 1; }), EINVAL,
	      "reserved");
	c.eq(qp.query().attr.mask, MRC_ABI_QP_TIMEOUT,
	     "attributes set after all that");
	c.eq(qp.query().attr.timeout, 24, "timeout");
}

void attr_round_trip(Dev &dev, Check &c)
{
	mrc_abi_qp_attr in{};

	in.mask = MRC_ABI_QP_MAX_WIMM | MRC_ABI_QP_MAX_WIMM_DEST |
		  MRC_ABI_QP_MPR | MRC_ABI_QP_MPR_DEST | MRC_ABI_QP_TIMEOUT |
		  MRC_ABI_QP_RETRY | MRC_ABI_QP_CAP;
	in.cap = MRC_ABI_QP_CAP_DYNAMIC_MPR | MRC_ABI_QP_CAP_NO_RESP_FC;
	in.max_wimm = 64;
	in.max_wimm_dest = 65;
	in.mpr = 16;
	in.mpr_dest = 16;
	in.timeout = 15;
	in.retry_linear = 3;
	in.retry_exp = 25;
	Pair p(dev, in);

	p.a.write(p.b, 4, 65536);
	const mrc_abi_qp_info info = p.a.query();

	c.eq(info.attr.mask, in.mask, "mask");
	c.eq(info.attr.cap, in.cap, "cap");
	c.eq(info.attr.max_wimm, 64, "max_wimm");
	c.eq(info.attr.max_wimm_dest, 65, "max_wimm_dest");
	c.eq(info.attr.mpr, 16, "mpr");
	c.eq(info.attr.timeout, 15, "timeout");
	c.eq(info.attr.retry_linear, 3, "retry_linear");
	c.eq(info.attr.retry_exp, 25, "retry_exp");
	c.eq(info.window, 16 * 128, "window");
	c.eq(info.state, IBV_QPS_RTS, "state");
	c.eq(info.ev_profile, MRC_ABI_PROFILE_NONE, "EV profile");
	c.that(info.srtt > 0 && info.cwnd > 0 && info.tx_pkts >= 256,
	       "nothing was measured");

	/* The peer's responder shrinks, and we follow with its next SACK. */
	c.err(p.b.set_mask(MRC_ABI_QP_MPR_DEST,
			   [](auto &a) { a.mpr_dest = 4; }),
	      0, "shrink");
	p.a.write(p.b, 2, 65536);
	c.eq(p.a.query().window, 4 * 128,
	     "window after the peer's responder shrank");
	c.err(p.b.set_mask(MRC_ABI_QP_MPR_DEST,
			   [](auto &a) { a.mpr_dest = 32; }),
	      0, "widen");
	p.a.write(p.b, 2, 65536);
	c.eq(p.a.query().window, 32 * 128, "window after it widened");
	c.err(p.b.set_mask(MRC_ABI_QP_MPR_DEST,
			   [](auto &a) { a.mpr_dest = 200; }),
	      EINVAL, "wider than memory was made for");
}

uint64_t sent_bytes(const mrc_abi_qp_info &info)
{
	return std::accumulate(std::begin(info.port_tx_bytes),
			       std::end(info.port_tx_bytes), uint64_t{0});
}

/* For programs that know of them, and for those with the struct before them. */
void port_bytes(Dev &dev, Check &c)
{
	constexpr std::size_t before = offsetof(mrc_abi_qp_info, port_tx_bytes);
	constexpr uint64_t untouched = 0xa5a5a5a5a5a5a5a5;
	mrc_abi_qp_info brief{};
	Pair p(dev);

	c.eq(sent_bytes(p.a.query()), 0, "bytes before the first send");
	p.a.write(p.b, 4, 65536);
	const mrc_abi_qp_info info = p.a.query();
	const uint64_t sent = sent_bytes(info);

	c.that(sent >= 4 * 65536 && (info.rtx_pkts || sent == 4 * 65536),
	       "bytes by port: " + std::to_string(sent));
	c.eq(sent_bytes(p.b.query()), 0, "bytes of the receiver");

	std::fill(std::begin(brief.port_tx_bytes),
		  std::end(brief.port_tx_bytes), untouched);
	c.err(dev.raw(MRC_ABI_OBJECT_QP, MRC_ABI_QP_QUERY,
		      {}, uverbs::bytes_out(brief).first(before),
		      Handle{p.a.get()->handle}),
	      0, "a shorter struct");
	c.eq(brief.qpn, p.a.num(), "QP number in a shorter struct");
	for (const uint64_t bytes : brief.port_tx_bytes)
		c.eq(bytes, untouched, "what is behind a shorter struct");

	must(p.a.state(IBV_QPS_RESET), "RESET");
	c.eq(sent_bytes(p.a.query()), 0, "bytes after RESET");
}

/* --- profiles under QPs
 * --------------------------------------------------------------- */

std::map<uint16_t, uint8_t> states_of(Qp &qp, Check &c)
{
	std::vector<mrc_abi_qp_ev> ev(64);
	std::map<uint16_t, uint8_t> out;
	const mrc_abi_qp_info info = qp.query(ev);

	c.eq(info.n_evs, N, "EVs of the QP");
	for (uint32_t i = 0; i < std::min<uint32_t>(info.n_evs, 64); i++)
		out[static_cast<uint16_t>(ev[i].entropy)] = ev[i].state;
	return out;
}

void named_profile(Dev &dev, Check &c)
{
	Profile prof(dev, ports_of(dev));

	{
		Pair p(dev, with_profile(EVP));

		c.eq(p.a.query().ev_profile, EVP, "EV profile in use");
		p.a.write(p.b, 4, 65536);
		for (const auto &[entropy, state] : states_of(p.a, c)) {
			c.that(entropy >= 0xc001 && entropy < 0xc001 + N,
			       "foreign EV " + std::to_string(entropy));
			c.eq(state, 0,
			     "state of EV " + std::to_string(entropy));
		}
		c.err(evp_state(dev, EVP, mrc::OFFLINE), EBUSY,
		      "EV profile of running QPs");
		c.eq(evp_now(dev, EVP), mrc::ONLINE, "state of the profile");

		/* One end gone: still in use. */
		must(p.a.state(IBV_QPS_RESET), "RESET");
		c.err(evp_state(dev, EVP, mrc::OFFLINE), EBUSY,
		      "EV profile of the other QP");
		must(p.b.state(IBV_QPS_RESET), "RESET");
		c.err(evp_state(dev, EVP, mrc::OFFLINE), 0,
		      "EV profile without QPs");

		/* BUSY the other way: a QP cannot start with it now. */
		must(p.a.init(), "INIT");
		c.err(p.a.set(with_profile(EVP)), EINVAL,
		      "profile that is OFFLINE");
		must(evp_state(dev, EVP, mrc::ONLINE), "ONLINE");
		c.err(p.a.set(with_profile(EVP)), 0, "profile that is ONLINE");
		must(evp_state(dev, EVP, mrc::OFFLINE),
		     "OFFLINE under a QP in INIT");
		c.err(p.a.rtr(p.b.num()), EINVAL,
		      "RTR with a profile that went OFFLINE");
		must(evp_state(dev, EVP, mrc::ONLINE), "ONLINE");
		c.err(p.a.rtr(p.b.num()), 0, "RTR");
	}
	c.err(evp_state(dev, EVP, mrc::OFFLINE), 0,
	      "EV profile after the QPs are gone");
}

void online_changes(Dev &dev, Check &c)
{
	Profile prof(dev, ports_of(dev));
	Pair p(dev, with_profile(EVP));
	const auto fresh = udp_evs(1, 1, 0xe000)[0];

	p.a.write(p.b, 4, 65536);
	c.err(prof.entry(mrc::MODIFY_EV_STATE, 3, mrc::DENIED), 0, "deny");
	c.eq(states_of(p.a, c)[0xc004], 1, "state of the denied EV");
	p.a.write(p.b, 4, 65536);
	c.err(prof.entry(mrc::MODIFY_EV_STATE, 3, mrc::GOOD), 0, "allow");
	c.eq(states_of(p.a, c)[0xc004], 0, "state of the allowed EV");

	c.err(prof.entry(mrc::REPLACE_EV, 0, mrc::GOOD, fresh), 0, "replace");
	auto now = states_of(p.a, c);

	c.that(!now.contains(0xc001) && now.contains(0xe000),
	       "EV was not replaced");
	p.a.write(p.b, 4, 65536);
	c.err(prof.entry(mrc::MODIFY_EV_STATE, 0, mrc::DENIED), ENOENT,
	      "the EV that was replaced");

	/* Two EVs that look the same on the wire, one of them on another port.
	 */
	mrc_abi_ev twin = prof.evs[1];

	twin.port = static_cast<uint8_t>(prof.evs[1].port == 1 ? 2 : 1);
	c.err(prof.entry(mrc::REPLACE_EV, 2, mrc::GOOD, twin), EINVAL,
	      "same value, other port");
	now = states_of(p.a, c);
	c.that(now.contains(0xc003), "the refused change took an EV away");
	p.a.write(p.b, 4, 65536);
}

void default_profile(Dev &dev, Check &c)
{
	Profile prof(dev, ports_of(dev));
	mrc_abi_default d{};
	ibv_gid gid{};

	gid_index(dev, gid);
	must(ccp_make(dev, CCP, "uet-1.0-nscc", mrc::ONLINE), "CC profile");
	d.ev_profile = EVP;
	d.cc_profile = CCP;
	must(dev.set(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_SET, d), "::/0");
	{
		Pair p(dev);

		p.a.write(p.b, 4, 65536);
		const mrc_abi_qp_info info = p.a.query();

		c.eq(info.ev_profile, EVP, "EV profile by default");
		c.eq(info.cc_profile, CCP, "CC profile by default");
		c.that(std::string(info.cc) == "uet-1.0-nscc",
		       "algorithm " + std::string(info.cc));
		c.err(ccp_state(dev, CCP, mrc::OFFLINE), EBUSY,
		      "CC profile of a running QP");

		mrc_abi_nscc nscc{};

		nscc.max_cwnd = 65536;
		c.err(ccp_config(dev, CCP, nscc), 0,
		      "other parameters for running QPs");
		p.a.write(p.b, 4, 65536);
		c.that(p.a.query().cwnd <= 65536,
		       "window above the new maximum");
	}
	/* The longer prefix wins, and says that EVs are the device's own. */
	mrc_abi_default own{};

	std::copy(gid.raw, gid.raw + 16, own.prefix);
	own.prefix_len = 128;
	own.ev_profile = MRC_ABI_PROFILE_NONE;
	own.cc_profile = CCP;
	must(dev.set(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_SET, own),
	     "host prefix");
	{
		Pair p(dev);

		c.eq(p.a.query().ev_profile, MRC_ABI_PROFILE_NONE,
		     "EV profile, longest prefix");
		c.eq(p.a.query().cc_profile, CCP, "CC profile, longest prefix");
	}
	own.cc_profile = MRC_ABI_PROFILE_NONE;
	d.ev_profile = d.cc_profile = MRC_ABI_PROFILE_NONE;
	must(dev.set(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_SET, own),
	     "removal");
	must(dev.set(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_SET, d),
	     "removal");
	ccp_drop(dev, CCP);
}

void wrong_family(Dev &dev, Check &c)
{
	ibv_gid gid{};

	gid_index(dev, gid);
	if (gid.raw[10] != 0xff || gid.raw[11] != 0xff)
		throw Failure("the first GID is no IPv4 address");
	must(fmt_make(dev, FMT, mrc::STEV, {16, 16}, mrc::ONLINE), "format");
	std::vector<mrc_abi_ev> evs = udp_evs(N, 1);
	must(evp_make(dev, EVP, FMT, evs, 0, mrc::ONLINE), "EV profile");
	{
		Qp a(dev);

		must(a.init(), "INIT");
		must(a.set(with_profile(EVP)), "profile");
		c.err(a.rtr(a.num()), EINVAL, "structured EVs over IPv4");
		must(evp_state(dev, EVP, mrc::OFFLINE),
		     "the refused QP is no user");
	}
	evp_drop(dev, EVP);
	fmt_drop(dev, FMT);
}
} // namespace

bool selftest_qp(Dev &dev)
{
	Report r;

	r.run("QP attributes: which one in which state",
	      [&](Check &c) { attr_table(dev, c); });
	r.run("QP attributes: ranges", [&](Check &c) { attr_ranges(dev, c); });
	r.run("QP attributes: round trip, Dynamic MPR",
	      [&](Check &c) { attr_round_trip(dev, c); });
	r.run("bytes sent through each port; a shorter struct",
	      [&](Check &c) { port_bytes(dev, c); });
	r.run("a QP with a profile, BUSY both ways",
	      [&](Check &c) { named_profile(dev, c); });
	r.run("deny, allow and replace under a running QP",
	      [&](Check &c) { online_changes(dev, c); });
	r.run("defaults apply to QPs that name nothing",
	      [&](Check &c) { default_profile(dev, c); });
	r.run("a profile of the wrong family",
	      [&](Check &c) { wrong_family(dev, c); });
	return r.good();
}

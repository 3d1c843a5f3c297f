// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packed EVs go in, expanded ones come out on the wire: the vectors of the
 * API's sample program and some of the edges, in explicit profiles; EVs that
 * the device generates for the same fields; and expanded EVs in probes.
 *
 * usage: libmrc_ctl DEV vectors PEER NETDEV... (of DEV's ports 1, 2, ...)
 */
#include <algorithm>
#include <set>

#include "expand.hpp"
#include "pair.hpp"
#include "tests.hpp"
#include "wire.hpp"

namespace
{
constexpr uint64_t fmt = 5, id = 9;
constexpr auto STEV = MRC_CTL_EV_FMT_MODE_STEV;
constexpr auto SRV6 = MRC_CTL_EV_FMT_MODE_SRV6;
constexpr auto UDP = MRC_CTL_EV_FMT_MODE_UDP;
/* An SRv6 profile that libmrc_ctl.sh makes on the peer's device. */
constexpr uint64_t peer_id = 1;

struct Vector {
	const char *packed;
	const char *expanded;
};

struct Config {
	const char *name;
	Layout layout;
	std::vector<Vector> vectors;
	bool generate; /* with bounds for it */
};

std::vector<Field> plus(std::vector<Field> a, std::size_t n, const Field &f)
{
	a.insert(a.end(), n, f);
	return a;
}

const Field any16 = field(16, 0, 0xffff);
const std::vector<uint8_t> stev = {16, 16};
const std::vector<uint8_t> usid = {32, 16, 16, 16, 16};
const std::vector<uint8_t> usid_srh = {32, 16, 16, 16, 16, 16, 16, 32, 16, 16};

Field fixed(uint32_t value)
{
	return field(32, value, 0);
}

const std::vector<Config> configs = {
	{"A: structured, 16 and 16",
	 {STEV, stev, {any16, any16}},
	 {{"f3b04256", "f3b04256"},
	  {"a6fca7ae", "a6fca7ae"},
	  {"03514976", "03514976"},
	  {"33bf42bb", "33bf42bb"},
	  {"b842b6c3", "b842b6c3"},
	  {"d6952b28", "d6952b28"},
	  {"a470b360", "a470b360"},
	  {"c7238d56", "c7238d56"}},
	 false},
	{"B: the same, generated",
	 {STEV, stev, {any16, any16}},
	 {{"dc5193be", "dc5193be"},
	  {"751aaa75", "751aaa75"},
	  {"32250009", "32250009"},
	  {"78df7daa", "78df7daa"}},
	 true},
	{"C: one field of 32",
	 {STEV, {32}, {field(32, 0, 0xffffffff)}},
	 {{"67fb6a4e", "67fb6a4e"},
	  {"335de425", "335de425"},
	  {"0e509b51", "0e509b51"},
	  {"b8d71b43", "b8d71b43"}},
	 false},
	{"D: fixed and generated",
	 {STEV,
	  stev,
	  {field(16, 0x0100, 0xf, 1, 0xf), field(16, 0x0200, 0xf, 1, 0xf)}},
	 {{"a4", "010a0204"},
	  {"7f", "0107020f"},
	  {"f8", "010f0208"},
	  {"9f", "0109020f"},
	  {"61", "01060201"},
	  {"92", "01090202"},
	  {"26", "01020206"},
	  {"c4", "010c0204"}},
	 true},
	{"E: a mask with holes",
	 {STEV,
	  stev,
	  {field(16, 0x1000, 0x0f0f, 1, 0xff),
	   field(16, 0x2000, 0x0f0f, 1, 0xff)}},
	 {{"3312", "13032102"},
	  {"e33e", "1e03230e"},
	  {"b5b5", "1b052b05"},
	  {"d05a", "1d00250a"},
	  {"24cf", "12042c0f"},
	  {"283e", "1208230e"},
	  {"a8e0", "1a082e00"},
	  {"97fa", "19072f0a"}},
	 true},
	{"F: SRv6",
	 {SRV6, usid, plus({fixed(0xcafecafe)}, 4, any16)},
	 {{"43ba48d6a43de086", "cafecafe43ba48d6a43de086"},
	  {"4ede65a95725e8a4", "cafecafe4ede65a95725e8a4"},
	  {"0bc79524ab07adda", "cafecafe0bc79524ab07adda"},
	  {"be7e9b424d580239", "cafecafebe7e9b424d580239"}},
	 false},
	{"G: SRv6, fewer fields than the format has",
	 {SRV6, usid, plus({fixed(0xdeaddead)}, 2, any16)},
	 {{"e298f115", "deaddeade298f115"},
	  {"e13f3177", "deaddeade13f3177"},
	  {"553f36e5", "deaddead553f36e5"},
	  {"12c5ce9a", "deaddead12c5ce9a"}},
	 false},
	{"H: SRv6, narrow fields in a wide format",
	 {SRV6, usid, plus({fixed(0x42424242)}, 4, field(4, 0, 0xf))},
	 {{"78ba", "4242424200070008000b000a"},
	  {"76dc", "4242424200070006000d000c"},
	  {"d2a8", "42424242000d0002000a0008"},
	  {"144f", "42424242000100040004000f"}},
	 false},
	{"I: SRv6, fixed and generated",
	 {SRV6,
	  usid,
	  {fixed(0x13131313), field(16, 0x0100, 0xf), field(16, 0x0200, 0xf),
	   field(16, 0x0300, 0xf), field(16, 0x0400, 0xf)}},
	 {{"9b79", "131313130109020b03070409"},
	  {"26c7", "1313131301020206030c0407"},
	  {"f9fe", "13131313010f0209030f040e"},
	  {"eb26", "13131313010e020b03020406"}},
	 true},
	{"J: SRv6 with an SRH",
	 {SRV6, usid_srh,
	  plus(plus(plus({fixed(0xcafecafe)}, 6, any16), 1, fixed(0xdecafbad)),
	       2, any16)},
	 {{"b8a7310e14c80962ae4b9dd6587a4c16",
	   "cafecafeb8a7310e14c80962ae4b9dd6decafbad587a4c16"},
	  {"c496626fa3b0d56027fa9733c0ca89da",
	   "cafecafec496626fa3b0d56027fa9733decafbadc0ca89da"},
	  {"ad55668e6450b8f009084f147d33da0f",
	   "cafecafead55668e6450b8f009084f14decafbad7d33da0f"}},
	 false},
	{"fields that are not of whole bytes",
	 {STEV,
	  {8, 4, 4},
	  {field(8, 0, 0xff), field(4, 0, 0xf), field(4, 0, 0xf)}},
	 {{"b4c7", "b4c7"}},
	 true},
	{"the same in a source port",
	 {UDP,
	  {8, 4, 4},
	  {field(8, 0, 0xff), field(4, 0, 0xf), field(4, 0, 0xf)}},
	 {{"b4c7", "b4c7"}},
	 true},
	{"fields across bytes",
	 {STEV,
	  {3, 5, 24},
	  {field(3, 0, 7), field(5, 0, 0x1f), field(24, 0, 0xffffff)}},
	 {{"a5123456", "a5123456"}},
	 true},
	{"narrower fields across bytes",
	 {STEV, {4, 12, 16}, {field(3, 0, 7), field(5, 0, 0x1f), any16}},
	 {{"a51234", "50051234"}},
	 true},
	{"one mask inside one initial value",
	 {STEV, {8}, {field(8, 0x5a, 0xa5)}},
	 {{"90", "db"}},
	 false},
	{"the same in a source port, 8 bits of it",
	 {UDP, {8}, {field(8, 0x5a, 0xa5)}},
	 {{"90", "db"}},
	 false},
	{"the outermost bits of 32",
	 {STEV, {32}, {field(32, 0x00ff00ff, 0x80000001)}},
	 {{"80", "80ff00fe"}},
	 false},
	{"the EV beats the initial value",
	 {STEV, stev, {field(16, 0xffff, 0x00f0), field(16, 0xffff, 0xf000)}},
	 {{"0f", "ff0fffff"}},
	 true},
	{"a fixed field between others",
	 {STEV,
	  {8, 8, 8},
	  {field(8, 0, 0xff), field(8, 0x77, 0), field(8, 0, 0xff)}},
	 {{"1234", "127734"}},
	 true},
	{"fewer fields than the format has",
	 {STEV, {8, 8, 8, 8}, {field(8, 0, 0xff), field(8, 0, 0xff)}},
	 {{"dead", "dead"}},
	 true},
	{"fields of one bit",
	 {STEV,
	  {1, 1, 1, 5},
	  {field(1, 0, 1), field(1, 1, 0), field(1, 0, 1), field(5, 0, 0x1f)}},
	 {{"a8", "d4"}},
	 true},
};

using Evs = std::set<std::string>;

std::string words(const Evs &evs)
{
	std::string out;

	for (const std::string &ev : evs)
		out += " " + ev;
	return out;
}

mrc_ctl_ev expanded(const Layout &layout, const mrc_ctl_ev &packed)
{
	return ev_bytes(
		expand(layout, {packed.val, packed.val + sizeof(packed.val)}),
		packed.port);
}

/* The profile's EVs, each in both forms, must be what is sent, and all of it.
 */
void on_the_wire(Check &c, const Device &dev, const Device &peer, Wire &wire,
		 const Config &k)
{
	Evs want, seen;
	QpSpec spec;

	for (const Entry &e : ev_array(dev.ctx(), id)) {
		c.eq(e.state, MRC_CTL_EV_GOOD, "state of " + text(e.ev));
		want.insert(text(expanded(k.layout, e.ev)));
	}
	spec.ev = id;
	spec.family = k.layout.mode == UDP ? 4 : 6;
	/* Or else the peer takes nothing out of outer headers. */
	if (k.layout.mode == SRV6)
		spec.peer_ev = peer_id;
	/* Many packets in little data. */
	spec.mtu = IBV_MTU_256;
	spec.bytes = 8192;
	Pair p(dev, peer, spec);

	wire.take();
	for (int round = 0; round < 40 && seen.size() < want.size(); round++) {
		p.a.write(p.b);
		for (const Packet &packet : wire.take())
			if (packet.dqp == p.b.num())
				seen.insert(ev_of(packet, k.layout.mode));
	}
	c.eq(words(seen), words(want), "EVs on the wire");
}

void explicit_profile(Check &c, const Device &dev, const Device &peer,
		      Wire &wire, const Config &k)
{
	mrc_context *ctx = dev.ctx();
	EvSpec spec;
	uint8_t port = 0;

	spec.fmt = fmt;
	spec.count = static_cast<uint32_t>(k.vectors.size());
	/* Bounds are for EVs that are generated. */
	spec.fields = k.layout.fields;
	for (const Vector &v : k.vectors) {
		c.eq(to_hex(expand(k.layout, from_hex(v.packed)).data(), 32),
		     std::string(v.expanded) +
			     std::string(64 - std::string(v.expanded).size(),
					 '0'),
		     "the vector itself");
		spec.evs.push_back(
			ev_bytes(from_hex(v.packed),
				 static_cast<uint8_t>(1 + port++ % 2)));
	}
	must(evp_make(ctx, id, spec, ONLINE), "profile");
	const std::vector<Entry> array = ev_array(ctx, id);

	c.eq(static_cast<int64_t>(array.size()), spec.count, "EVs");
	for (std::size_t i = 0; i < array.size() && i < spec.evs.size(); i++)
		c.eq(text(array[i].ev), text(spec.evs[i]), "EV, as stored");
	on_the_wire(c, dev, peer, wire, k);
	drop<EvProfile>(ctx, id);
}

void generated_profile(Check &c, const Device &dev, const Device &peer,
		       Wire &wire, const Config &k)
{
	mrc_context *ctx = dev.ctx();
	EvSpec spec;
	Evs distinct;

	spec.mode = MRC_CTL_EV_MODE_GEN;
	spec.fmt = fmt;
	spec.count = 8;
	spec.fields = k.layout.fields;
	must(evp_make(ctx, id, spec, ONLINE), "generated profile");
	const std::vector<Entry> array = ev_array(ctx, id);

	c.eq(static_cast<int64_t>(array.size()), 8, "generated EVs");
	for (const Entry &e : array) {
		distinct.insert(text(e.ev));
		c.that(e.ev.port == 1 || e.ev.port == 2, "port of an EV");
		c.that(in_range(k.layout, {e.ev.val, e.ev.val + 32}),
		       "out of bounds: " + text(e.ev));
	}
	c.eq(static_cast<int64_t>(distinct.size()), 8, "EVs that differ");
	c.eq(std::count_if(array.begin(), array.end(),
			   [](const Entry &e) { return e.ev.port == 1; }),
	     4, "EVs of port 1");
	on_the_wire(c, dev, peer, wire, k);
	drop<EvProfile>(ctx, id);
}

/* Requests name no profile: they have EVs as they go on the wire. */
void probes(Check &c, const Device &dev, const Device &peer, Wire &wire,
	    const Config &k)
{
	constexpr uint8_t tclass = 0x28;
	const int family = k.layout.mode == UDP ? 4 : 6;
	std::vector<mrc_ctl_ep_req> req;
	Evs want, seen;
	int n = -1;

	for (const Vector &v : k.vectors) {
		mrc_ctl_ep_req r{};

		r.req_id = static_cast<uint16_t>(req.size());
		r.sgid = dev.gid(family);
		r.dgid = peer.gid(family);
		r.ev_fmt_mode = k.layout.mode;
		r.req_ev = ev_bytes(from_hex(v.expanded),
				    static_cast<uint8_t>(1 + req.size() % 2));
		want.insert(text(r.req_ev));
		req.push_back(r);
	}
	std::vector<mrc_ctl_ep_rsp> rsp(req.size());

	wire.take();
	c.err(failed(mrc_ctl_ep_batch_send_wait(
		      dev.ctx(), tclass, MRC_CTL_EP_OP_EV_PROBE, req.data(),
		      static_cast<int>(req.size()), 4000000000U, rsp.data(),
		      &n)),
	      0, "probes");
	c.eq(n, static_cast<int64_t>(req.size()), "answers");
	for (const Packet &packet : wire.take()) {
		if (packet.opcode != opcode_endpoint_request)
			continue;
		seen.insert(ev_of(packet, k.layout.mode));
		c.eq(packet.tclass, tclass, "traffic class");
	}
	c.eq(words(seen), words(want), "EVs of probes on the wire");
}
} // namespace

bool test_vectors(const Device &dev, const Args &args)
{
	const Device peer(args.at(0));
	Wire wire({args.begin() + 1, args.end()});
	mrc_context *ctx = dev.ctx();
	Report r(Report::counted);

	for (const Config &k : configs) {
		r.run(std::string("EVs on the wire: ") + k.name, [&](Check &c) {
			must(fmt_make(ctx, fmt, k.layout.mode, k.layout.widths,
				      ONLINE),
			     "format");
			explicit_profile(c, dev, peer, wire, k);
			if (k.generate)
				generated_profile(c, dev, peer, wire, k);
			probes(c, dev, peer, wire, k);
		});
		/* Whatever a test that failed has left. */
		drop<EvProfile>(ctx, id);
		drop<Format>(ctx, fmt);
	}
	return r.good();
}

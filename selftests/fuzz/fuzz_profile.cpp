// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// A controller that does anything: sequences of modify and query calls on the
// three kinds of profiles, with values that no library would send. What must
// hold for every EV profile is EvProfile's (unit/ev_profile.hpp); here it is
// that profiles agree with each other.
#include "fuzz_check.hpp"
#include "fuzz_input.hpp"

#include "ev_profile.hpp"

using fuzz::Input;
using fuzz::require;
using namespace mrc_test;

namespace
{

constexpr u32 kFmts = 3, kEvs = 3;
constexpr u32 kTotal = 200; // EVs of the device

class Controller
{
public:
	explicit Controller(Input &in) : in_(in)
	{
		for (u64 id = 0; id < kFmts; id++)
			d_.fmt[id] = {};
		for (u32 i = 0; i < kEvs; i++)
			ev_.push_back(
				std::make_unique<EvProfile>(d_, fuzz::die));
		d_.env.ports = in.half() | (in.flag() ? 1u << 16 : 0u);
		d_.env.max_count = 1 + in.byte();
		d_.env.max_entries = in.byte() % 8;
		d_.env.seed = in.quad();
		std::memset(&cc_, 0, sizeof(cc_));
	}

	void op()
	{
		switch (in_.byte() % 16) {
		case 0:
		case 1:
		case 2:
			format();
			break;
		case 3:
			congestion();
			break;
		case 4:
			d_.env.modify_online = in_.flag();
			break;
		case 5:
			qp();
			break;
		case 6:
			configure();
			break;
		default:
			events();
			break;
		}
		check();
	}

	void check()
	{
		std::map<u64, u32> users;
		u32 all = 0;

		for (const auto &e : ev_) {
			const mrc_ev_profile &p = e->p;

			e->check();
			all += p.n_ev;
			if (p.state == kOnline && p.mode != MRC_EVP_AUTO)
				users[p.fmt_id]++;
			require(!p.users || p.state == kOnline,
				"in use and not ONLINE");
		}
		require(all <= kTotal, "more EVs than the device has");
		for (const auto &[id, f] : d_.fmt) {
			require(f.users == users[id], "users of a format");
			require(!f.users || f.state == kOnline,
				"a format in use is not ONLINE");
			require(f.state <= kOnline, "state of a format");
			require(f.state != kOnline || !mrc_ev_fmt_check(&f.fmt),
				"ONLINE format that is not valid");
		}
		require(cc_.state <= kOnline, "state of a CC profile");
		require(!cc_.users || cc_.state == kOnline,
			"CC in use and not ONLINE");
		require(cc_.state != kOnline || !cc_.ops || cc_.has_config ||
				!cc_.ops->has_params,
			"CC ONLINE without parameters");
		require(cc_.nscc.gamma <= 65536 && cc_.nscc.qa_gate <= 31 &&
				cc_.nscc.max_md_jump <= 65536,
			"CC parameter out of range");
	}

private:
	// Mostly small, sometimes anything.
	u32 number()
	{
		const u8 b = in_.byte();

		return b < 0xF0 ? b : in_.word();
	}

	u32 state()
	{
		const u8 b = in_.byte();

		return b < 0xFC ? b % 3u : in_.word();
	}

	// One attribute less or more than a sane mask has.
	u32 mask(u32 all)
	{
		const u8 b = in_.byte();
		const u32 m = in_.half() & all;

		return b == 0xFF ? in_.word() : b & 1 ? m | 1u << 31 : m;
	}

	void format()
	{
		mrc_fmt_profile &f = d_.fmt[in_.byte() % kFmts];
		const bool query = in_.flag();
		const std::vector<u8> before = bytes_of(f);
		std::vector<u8> width;
		Vendor vendor = vendor_of(in_.byte());
		mrc_fmt_req r{};
		int rc;

		r.mask = mask(0xF);
		r.state = state();
		r.cur_state = state();
		r.mode = in_.byte() % 9;
		r.op = in_.byte() % 3;
		width.resize(in_.byte() % 40);
		for (u8 &w : width)
			w = in_.byte() % 40;
		r.n = static_cast<u32>(width.size());
		width.shrink_to_fit();
		r.width = width.data();
		r.vendor = vendor.data();
		rc = query ? mrc_fmt_query(&f, &r) : mrc_fmt_modify(&f, &r);
		if (query || rc)
			require(before == bytes_of(f), "format changed");
		require(rc == 0 || rc == -EINVAL || rc == -EBUSY ||
				rc == -E2BIG,
			"errno of a format");
		require(rc != -EBUSY || f.users, "busy without users");
	}

	void congestion()
	{
		static const char *const names[] = {nullptr, "", "none",
						    "uet-1.0-nscc", "vegas", "x"};
		const bool query = in_.flag();
		const std::vector<u8> before = bytes_of(cc_);
		Vendor vendor = vendor_of(in_.byte());
		mrc_nscc_cfg cfg{};
		mrc_ccp_req r{};
		int rc;

		r.mask = mask(0xF);
		r.state = state();
		r.cur_state = state();
		r.name = names[in_.byte() % 5];
		r.nscc = &cfg;
		r.vendor = vendor.data();
		cfg.qa_gate = in_.byte();
		cfg.gamma = number() << 8;
		cfg.max_md_jump = number() << 8;
		cfg.target_delay = number();
		cfg.max_cwnd = number();
		rc = query ? mrc_ccp_query(&cc_, &r)
			   : mrc_ccp_modify(&cc_, &r, d_.env.modify_online);
		if (query || rc)
			require(before == bytes_of(cc_), "CC changed");
		require(rc == 0 || rc == -EINVAL || rc == -EBUSY,
			"errno of CC");
		if (cc_.state == kOnline)
			cc_.users = in_.byte() % 4 == 0;
	}

	// A QP that comes and goes.
	void qp()
	{
		mrc_ev_profile &p = ev_[in_.byte() % kEvs]->p;

		if (p.state == kOnline)
			p.users = in_.byte() % 3;
	}

	mrc_evp_val value(const EvProfile &e)
	{
		mrc_evp_val v{};

		// What is there, often.
		if (e.p.n_ev && in_.byte() % 4)
			return e.p.ev[in_.byte() % e.p.n_ev].ev;
		if (in_.byte() % 4 == 0)
			return v;
		v.port = in_.byte() % 20;
		v.val[0] = in_.byte();
		v.val[1] = in_.byte();
		if (in_.byte() % 8 == 0)
			v.val[in_.byte() % MRC_EV_BYTES] = in_.byte();
		return v;
	}

	void fields(EvCall &c)
	{
		Fields f(in_.byte() % 36);

		for (mrc_ev_field &x : f) {
			x.width = in_.byte() % 34;
			x.mask = in_.flag() ? number()
					    : (1u << x.width % 32) - 1;
			x.init_val = number();
			x.min_val = in_.flag() ? number() : 0;
			x.max_val = in_.flag() ? number() : x.min_val;
		}
		c.fields_op(in_.byte() % 3, f);
	}

	void entries(EvCall &c, const EvProfile &e)
	{
		std::vector<mrc_evp_entry> v(in_.byte() % 12);

		for (mrc_evp_entry &x : v) {
			const u8 b = in_.byte();

			x.ev = value(e);
			x.ev_new = value(e);
			x.state = b & 1	  ? MRC_EVP_GOOD
				  : b & 2 ? u32{MRC_EVP_DENIED}
					  : number();
			x.flags = b & 4	  ? MRC_EVP_F_ALL_COPIES
				  : b & 8 ? number()
					  : 0;
		}
		c.op(in_.byte() % 5, v);
	}

	// Sane calls that lead somewhere: what random ones seldom do.
	void configure()
	{
		const u8 b = in_.byte();
		const u64 id = b % kFmts;
		EvProfile &e = *ev_[b / 4 % kEvs];
		EvCall c;

		switch (b >> 6) {
		case 0: {
			u8 w[] = {16, 16};
			mrc_fmt_req r{};

			r.mask = MRC_FMT_STATE | MRC_FMT_MODE | MRC_FMT_OP;
			r.state = kOffline;
			r.mode = 1u << in_.byte() % 3;
			r.n = r.mode == MRC_EV_FMT_UDP ? 1 : 2;
			r.width = w;
			mrc_fmt_modify(&d_.fmt[id], &r);
			r.mask = MRC_FMT_STATE;
			r.state = kOnline;
			mrc_fmt_modify(&d_.fmt[id], &r);
			return;
		}
		case 1:
			c.mode(MRC_EVP_GENERATED)
				.fields({field(16, 0, in_.half() | 1)});
			break;
		case 2:
			c.mode(MRC_EVP_EXPLICIT);
			break;
		default:
			c.state(in_.flag() ? kOnline : kOffline);
			modify(e, c.r);
			return;
		}
		c.state(kOffline).fmt(id).count(1 + in_.byte() % 32);
		modify(e, c.r);
	}

	void modify(EvProfile &e, mrc_evp_req &r)
	{
		const u8 was = e.p.state;
		const u32 users = e.p.users;
		u32 used = 0;
		int rc;

		for (const auto &x : ev_)
			used += x->p.n_ev;
		d_.env.free_count = kTotal - used;
		rc = e.modify(r);
		require(rc == 0 || rc == -EINVAL || rc == -E2BIG ||
				rc == -EBUSY || rc == -ENOENT,
			"errno of an EV profile");
		require(rc != -EBUSY || users, "busy without users");
		require(e.p.state == was ||
				(!users && !rc && legal_step(was, e.p.state)),
			"step of an EV profile");
	}

	void events()
	{
		EvProfile &e = *ev_[in_.byte() % kEvs];
		const bool query = in_.flag();
		unsigned long bad[32];
		EvCall c;
		u32 m = mask(0x1FF);

		if (in_.byte() % 8)
			m &= in_.flag() ? ~u32{MRC_EVP_EV_OP}
					: ~u32{MRC_EVP_FIELDS_OP};
		if (m & MRC_EVP_FIELDS_OP)
			fields(c);
		if (m & MRC_EVP_EV_OP)
			entries(c, e);
		c.r.mask = m;
		c.r.state = state();
		c.r.cur_state = state();
		c.r.mode = in_.byte() % 9;
		c.r.fmt_id = in_.byte() % (kFmts + 1);
		c.r.count = number();
		c.r.min_active = number();
		c.r.event_mask = in_.byte();
		std::memset(bad, in_.byte(), sizeof(bad));
		d_.env.bad = in_.flag() ? bad : nullptr;
		if (query)
			e.query(c);
		else
			modify(e, c.r);
		d_.env.bad = nullptr;
	}

	Input &in_;
	Device d_;
	std::vector<std::unique_ptr<EvProfile>> ev_;
	mrc_cc_profile cc_;
};

// Ports 1 and 2, room for 101 EVs, batches of up to 7.
fuzz::Seed device()
{
	fuzz::Seed s;

	return s.h(6).b(0).b(100).b(7).q(1);
}

// A format, a generated profile with 8 EVs, ONLINE, and OFFLINE again.
fuzz::Seed generated()
{
	return device()
		.b(6)
		.b(0x00)
		.b(2)
		.b(6)
		.b(0x40)
		.h(0x00FF)
		.b(7)
		.b(6)
		.b(0xC0)
		.b(1)
		.b(5)
		.b(0)
		.b(1)
		.b(6)
		.b(0xC0)
		.b(0)
		.b(5)
		.b(0)
		.b(0)
		.b(6)
		.b(0xC0)
		.b(0);
}

// An explicit profile, two EVs of which are populated.
fuzz::Seed explicit_evs()
{
	fuzz::Seed s = device().b(6).b(0x00).b(2).b(6).b(0x80).b(1);

	// One replacement in each call.
	for (u32 i = 0; i < 2; i++)
		s.b(7).b(0)
			.b(0)
			.b(0)
			.h(MRC_EVP_EV_OP)
			.b(0)
			.b(1)
			.b(1) // one entry, GOOD
			.b(0)
			.b(0) // of the empty ones
			.b(0)
			.b(1)
			.b(1)
			.b(5)
			.b(i)
			.b(1) // to 05xx on port 1
			.b(0) // REPLACE_EV
			.bytes(std::vector<u8>(10, 0));
	return s.b(6).b(0xC0).b(1);
}

const fuzz::NamedSeed kSeeds[] = {
	{"generated", generated},
	{"explicit", explicit_evs},
	{"device", device},
};

} // namespace

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	fuzz::write_seeds(*argc, *argv, kSeeds);
	return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, std::size_t size)
{
	fuzz::run<Controller>(data, size);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// A device with its format profiles, and an EV profile with the memory that
// belongs to it, kept as the kernel keeps it: brought in advance, a new set
// whenever one is due. check() says what holds for every profile at all times.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "profiles.hpp"

// Where argument-dependent lookup finds them.
inline bool operator==(const mrc_evp_val &a, const mrc_evp_val &b)
{
	return !std::memcmp(&a, &b, sizeof(a));
}

inline bool operator<(const mrc_evp_val &a, const mrc_evp_val &b)
{
	return std::memcmp(&a, &b, sizeof(a)) < 0;
}

namespace mrc_test
{

struct Device {
	Device() : env{}
	{
		env.fmt = [](void *ctx, u64 id) -> mrc_fmt_profile * {
			auto &f = static_cast<Device *>(ctx)->fmt;
			auto it = f.find(id);

			return it == f.end() ? nullptr : &it->second;
		};
		env.ctx = this;
		env.ports = 0b110;
		env.max_count = 64;
		env.free_count = 64;
		env.modify_online = true;
		env.seed = 42;
	}
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;

	// An ONLINE one.
	void add(u64 id, u8 mode, const std::vector<u8> &widths)
	{
		fmt[id] = {};
		fmt[id].state = kOnline;
		fmt[id].has_fields = true;
		fmt[id].fmt = fmt_of(mode, widths);
	}

	std::map<u64, mrc_fmt_profile> fmt;
	mrc_evp_env env;
};

inline mrc_evp_val val(const std::string &hex, u8 port)
{
	mrc_evp_val v{};
	const Ev ev = ev_of(hex);

	std::copy(ev.begin(), ev.end(), v.val);
	v.port = port;
	return v;
}

// A call with all it points to, in memory of exactly its size.
struct EvCall {
	explicit EvCall(u32 mask = 0) : r{}, vendor(vendor_of(0x70))
	{
		r.mask = mask;
		r.vendor = vendor.data();
	}
	EvCall(const EvCall &) = delete;
	EvCall &operator=(const EvCall &) = delete;

	EvCall &state(u32 to)
	{
		r.mask |= MRC_EVP_STATE;
		r.state = to;
		return *this;
	}
	EvCall &cur(u32 is)
	{
		r.mask |= MRC_EVP_CUR_STATE;
		r.cur_state = is;
		return *this;
	}
	EvCall &mode(u32 m)
	{
		r.mask |= MRC_EVP_MODE;
		r.mode = m;
		return *this;
	}
	EvCall &fmt(u64 id)
	{
		r.mask |= MRC_EVP_FMT_ID;
		r.fmt_id = id;
		return *this;
	}
	EvCall &count(u32 n)
	{
		r.mask |= MRC_EVP_COUNT;
		r.count = n;
		return *this;
	}
	EvCall &min_active(u32 n)
	{
		r.mask |= MRC_EVP_MIN_ACTIVE;
		r.min_active = n;
		return *this;
	}
	EvCall &events(u32 m)
	{
		r.mask |= MRC_EVP_EVENT_MASK;
		r.event_mask = m;
		return *this;
	}
	EvCall &fields(const Fields &f)
	{
		return fields_op(MRC_EVP_OP_MODIFY_FIELDS, f);
	}
	EvCall &query_fields(std::size_t room)
	{
		return fields_op(MRC_EVP_OP_QUERY_FIELDS, Fields(room));
	}
	EvCall &fields_op(u32 op, const Fields &f)
	{
		r.mask |= MRC_EVP_FIELDS_OP;
		r.fields_op = op;
		field = f;
		field.shrink_to_fit();
		r.n_fields = static_cast<u32>(field.size());
		r.field = field.data();
		return *this;
	}
	EvCall &op(u32 what, const std::vector<mrc_evp_entry> &e)
	{
		r.mask |= MRC_EVP_EV_OP;
		r.ev_op = what;
		entry = e;
		entry.shrink_to_fit();
		r.n_entries = static_cast<u32>(entry.size());
		r.entry = entry.data();
		return *this;
	}
	EvCall &replace(const mrc_evp_val &a, const mrc_evp_val &b,
			u32 state = MRC_EVP_GOOD, u32 flags = 0)
	{
		std::vector<mrc_evp_entry> e = entry;

		e.push_back({a, b, state, flags});
		return op(MRC_EVP_OP_REPLACE_EV, e);
	}
	EvCall &set_state(const mrc_evp_val &a, u32 state, u32 flags = 0)
	{
		std::vector<mrc_evp_entry> e = entry;

		e.push_back({a, {}, state, flags});
		return op(MRC_EVP_OP_MODIFY_EV_STATE, e);
	}
	EvCall &query_state(const mrc_evp_val &a)
	{
		std::vector<mrc_evp_entry> e = entry;

		e.push_back({a, {}, 0, 0});
		return op(MRC_EVP_OP_QUERY_EV_STATE, e);
	}
	EvCall &query_array(std::size_t room)
	{
		return op(MRC_EVP_OP_QUERY_EV_ARRAY,
			  std::vector<mrc_evp_entry>(room));
	}

	mrc_evp_req r;
	Fields field;
	std::vector<mrc_evp_entry> entry;
	Vendor vendor;
};

// How a check that failed is reported; the fuzzer has its own way.
using Complain = void (*)(const char *what);

class EvProfile
{
public:
	EvProfile(Device &d, Complain complain) : d_(d), complain_(complain)
	{
		std::memset(&p, 0, sizeof(p));
		std::memset(&set, 0, sizeof(set));
	}
	EvProfile(const EvProfile &) = delete;
	EvProfile &operator=(const EvProfile &) = delete;
	~EvProfile() { delete[] p.ev; }

	int modify(EvCall &c) { return modify(c.r); }

	// As the kernel does it: everything that can fail comes first.
	int modify(mrc_evp_req &r)
	{
		const u32 n = mrc_evp_array_after(&p, &r, &d_.env);
		const u32 count = mrc_evp_count_after(&p, &r, &d_.env);
		const std::size_t size = mrc_evp_set_mem_after(&p, &r, &d_.env);
		mrc_evp_ev *mem = n ? new mrc_evp_ev[n] : nullptr;
		const std::vector<u8> before = bytes_of(p), evs = ev_bytes();
		const u64 users = all_users();
		const bool batch = r.mask & MRC_EVP_EV_OP;

		if (n)
			std::memset(static_cast<void *>(mem), 0xA5,
				    n * sizeof(*mem));
		const int rc = mrc_evp_modify(&p, &r, &d_.env, &mem);
		delete[] mem;
		if (rc) {
			must(before == bytes_of(p), "failed call changed it");
			must(batch || evs == ev_bytes(),
			     "failed call changed EVs");
			must(users == all_users(), "failed call counted users");
		} else {
			must(p.n_ev == count, "not as many EVs as announced");
		}
		if (size && p.state == kOnline)
			build(size);
		must(p.state != kOnline || !p.n_ev || built_matches(),
		     "the set is not that of the profile");
		return rc;
	}

	int query(EvCall &c) { return query(c.r); }

	int query(mrc_evp_req &r)
	{
		const std::vector<u8> before = bytes_of(p), evs = ev_bytes();
		const int rc = mrc_evp_query(&p, &r, &d_.env);

		must(before == bytes_of(p) && evs == ev_bytes(),
		     "a query changed it");
		return rc;
	}

	void check()
	{
		const bool gen = p.mode == MRC_EVP_GENERATED;
		const mrc_fmt_profile *f = p.set & MRC_EVP_FMT_ID
						   ? d_.env.fmt(&d_, p.fmt_id)
						   : nullptr;

		must(p.state <= kOnline, "no such state");
		if (p.state == kInit) {
			mrc_ev_profile zero;

			std::memset(&zero, 0, sizeof(zero));
			must(bytes_of(p) == bytes_of(zero), "INIT is not zero");
			return;
		}
		must(p.mode == MRC_EVP_AUTO || p.mode == MRC_EVP_EXPLICIT ||
			     gen,
		     "no such mode");
		must(p.n_ev == (p.mode == MRC_EVP_AUTO ? 0 : p.count),
		     "count and EVs differ");
		must(!p.ev == !p.n_ev, "EVs without memory");
		must(p.mode == MRC_EVP_AUTO ||
			     (p.n_ev && p.n_ev <= MRC_EV_MAX &&
			      p.n_ev <= d_.env.max_count),
		     "no EVs, or too many");
		must(!p.count || p.min_active <= p.count, "min_active");
		must(!(p.event_mask & ~u32{MRC_EVP_EVENTS}), "event mask");
		must(p.n_fields <= MRC_EV_MAX_FIELDS, "fields");
		must(!gen || p.n_fields, "generated from nothing");
		if (gen)
			check_generated();
		for (u32 i = 0; i < p.n_ev; i++)
			must(p.ev[i].ev.port == 0 ||
				     d_.env.ports >> p.ev[i].ev.port & 1,
			     "an EV on no port");
		if (p.state == kOnline && p.n_ev)
			must(f && f->state == kOnline && f->users,
			     "ONLINE without its format");
	}

	std::vector<mrc_evp_val> evs() const
	{
		std::vector<mrc_evp_val> v;

		for (u32 i = 0; i < p.n_ev; i++)
			v.push_back(p.ev[i].ev);
		return v;
	}

	mrc_ev_profile p;
	mrc_evset set; // of the ONLINE profile

private:
	void must(bool ok, const char *what)
	{
		if (!ok)
			complain_(what);
	}

	std::vector<u8> ev_bytes() const
	{
		const u8 *b = reinterpret_cast<const u8 *>(p.ev);

		return b ? std::vector<u8>(b, b + p.n_ev * sizeof(*p.ev))
			 : std::vector<u8>();
	}

	u64 all_users() const
	{
		u64 n = 0;

		for (const auto &[id, f] : d_.fmt)
			n = n * 1000 + f.users;
		return n;
	}

	void build(std::size_t size)
	{
		auto mem = std::make_unique<u8[]>(size);
		std::vector<mrc_evset_src> tmp(p.n_ev);
		mrc_fmt_profile *f = d_.env.fmt(&d_, p.fmt_id);

		must(size == mrc_evp_set_mem(&p, f), "another size announced");
		must(!mrc_evp_build(&p, f, d_.env.seed, tmp.data(), &set,
				    mem.get()),
		     "a set that cannot be built");
		mem_ = std::move(mem);
	}

	// Was a new set announced whenever one was due?
	bool built_matches()
	{
		const mrc_fmt_profile *f = d_.env.fmt(&d_, p.fmt_id);
		std::vector<u8> widths(f->fmt.width, f->fmt.width + f->fmt.n);
		std::array<mrc_ev_field, MRC_EV_MAX_FIELDS> id;
		const u32 n =
			p.n_fields ? p.n_fields
				   : mrc_ev_fields_identity(&f->fmt, id.data());
		const mrc_ev_field *from = p.n_fields ? p.field : id.data();
		const Fields fields(from, from + n);

		if (set.n != p.n_ev || set.mode != f->fmt.mode ||
		    set.min_active != p.min_active)
			return false;
		for (u32 i = 0; i < p.n_ev; i++) {
			Ev packed;
			std::copy_n(p.ev[i].ev.val, MRC_EV_BYTES,
				    packed.begin());
			const std::optional<Ev> wire =
				ref_expand(widths, fields, packed);
			u32 entropy;

			if (!wire || set.ev[i].port != p.ev[i].ev.port ||
			    set.ev[i].denied != p.ev[i].denied)
				return false;
			if (set.mode == MRC_EV_FMT_SRV6) {
				if (std::memcmp(set.addr[i], wire->data(),
						MRC_EV_BYTES))
					return false;
				continue;
			}
			entropy = get_unaligned_be32(wire->data());
			if (set.mode == MRC_EV_FMT_UDP)
				entropy >>= 16;
			if (set.ev[i].entropy != entropy)
				return false;
		}
		return true;
	}

	void check_generated()
	{
		std::set<mrc_evp_val> seen;
		std::map<u8, u32> per_port;

		for (u32 i = 0; i < p.n_ev; i++) {
			must(seen.insert(p.ev[i].ev).second, "an EV twice");
			per_port[p.ev[i].ev.port]++;
		}
		for (const auto &[port, n] : per_port)
			must(n == per_port.begin()->second,
			     "ports have different numbers of EVs");
		must(per_port.size() ==
			     static_cast<std::size_t>(__builtin_popcount(
				     d_.env.ports & 0x1FFFE)),
		     "a port without EVs");
	}

	Device &d_;
	Complain complain_;
	std::unique_ptr<u8[]> mem_;
};

} // namespace mrc_test

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Hostile calls: known and unknown methods with random lengths, ids, masks,
 * pointers and attributes. The same seed makes the same calls. What counts is
 * that the kernel stays well (its log is checked by the script) and that the
 * device can be brought back to where it was.
 */
#include "selftest.hpp"

#include <array>
#include <cstring>
#include <random>

#include <sys/mman.h>

#include "qp.hpp"

namespace
{
struct Target {
	uint16_t object;
	uint16_t method;
	std::size_t size; /* of its struct */
};

constexpr std::array<Target, 18> targets = {{
	{MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_QUERY, sizeof(mrc_abi_device)},
	{MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_ATTR, sizeof(mrc_abi_dev_attr)},
	{MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_LIMITS, sizeof(mrc_abi_dev_limits)},
	{MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, sizeof(mrc_abi_port)},
	{MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_GET, sizeof(mrc_abi_tc)},
	{MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_SET, sizeof(mrc_abi_tc)},
	{MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_GET, sizeof(mrc_abi_defaults)},
	{MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_SET, sizeof(mrc_abi_default)},
	{MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_EP_BATCH, sizeof(mrc_abi_ep_batch)},
	{MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_QP_QUERY, sizeof(mrc_abi_qp_info)},
	{MRC_ABI_OBJECT_EV_FMT, MRC_ABI_FMT_MODIFY, sizeof(mrc_abi_fmt)},
	{MRC_ABI_OBJECT_EV_FMT, MRC_ABI_FMT_QUERY, sizeof(mrc_abi_fmt)},
	{MRC_ABI_OBJECT_EV_PROFILE, MRC_ABI_EVP_MODIFY, sizeof(mrc_abi_evp)},
	{MRC_ABI_OBJECT_EV_PROFILE, MRC_ABI_EVP_QUERY, sizeof(mrc_abi_evp)},
	{MRC_ABI_OBJECT_CC_PROFILE, MRC_ABI_CCP_MODIFY, sizeof(mrc_abi_ccp)},
	{MRC_ABI_OBJECT_CC_PROFILE, MRC_ABI_CCP_QUERY, sizeof(mrc_abi_ccp)},
	{MRC_ABI_OBJECT_QP, MRC_ABI_QP_SET, sizeof(mrc_abi_qp_attr)},
	{MRC_ABI_OBJECT_QP, MRC_ABI_QP_QUERY, sizeof(mrc_abi_qp_info)},
}};

/*
 * What pointers point to: room for the longest array, and behind it nothing, so that one
 * that begins near the end is cut short instead of overwriting something.
 */
class Memory
{
public:
	Memory()
	{
		void *p = mmap(nullptr, size_ + guard_, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			throw Failure("no memory");
		mem_ = static_cast<std::byte *>(p);
		if (mprotect(mem_ + size_, guard_, PROT_NONE))
			throw Failure("no guard behind the memory");
	}
	Memory(const Memory &) = delete;
	Memory &operator=(const Memory &) = delete;
	~Memory() { munmap(mem_, size_ + guard_); }

	std::byte *data() const { return mem_; }
	std::size_t size() const { return size_; }

private:
	static constexpr std::size_t size_ = 1 << 17, guard_ = 1 << 16;

	std::byte *mem_;
};

class Fuzz
{
public:
	Fuzz(Dev &dev, uint64_t seed) : dev_(dev), rng_(seed), qp_(dev) {}

	void step();
	uint64_t accepted() const { return accepted_; }

private:
	uint64_t any(uint64_t below) { return rng_() % below; }
	bool chance(unsigned percent) { return any(100) < percent; }
	uint64_t value();
	void fill(const Target &t, std::vector<std::byte> &in);
	void fill_fmt(mrc_abi_fmt &f);
	void fill_evp(mrc_abi_evp &p);
	void fill_ccp(mrc_abi_ccp &p);
	uint32_t u32(uint32_t below)
	{
		return static_cast<uint32_t>(any(below));
	}
	uint32_t mask(uint32_t known)
	{
		return static_cast<uint32_t>(rng_()) &
		       (chance(90) ? known : ~0u);
	}
	std::byte *pointer();
	static std::size_t element(const Target &t, uint16_t id);
	Arrays arrays(const Target &t);

	Dev &dev_;
	std::mt19937_64 rng_;
	Memory mem_;
	Qp qp_;
	uint64_t accepted_ = 0;
};

/* Small numbers and bit patterns are what reaches deep. */
uint64_t Fuzz::value()
{
	switch (any(6)) {
	case 0:
		return any(4);
	case 1:
		return 1ull << any(64);
	case 2:
		return ~0ull;
	case 3:
		return rng_();
	default:
		return any(80);
	}
}

std::byte *Fuzz::pointer()
{
	std::byte *mem = mem_.data();

	if (chance(80)) {
		for (int i = 0; i < 16; i++)
			mem[any(4096)] = static_cast<std::byte>(value());
		return mem + (chance(50) ? 0 : any(64));
	}
	return chance(50) ? reinterpret_cast<std::byte *>(value())
			  : mem + mem_.size() - 8;
}

/* Bytes of an element of an array that a method takes, 0: it does not. */
std::size_t Fuzz::element(const Target &t, uint16_t id)
{
	const bool in = id == MRC_ABI_ATTR_ARRAY_IN;
	const bool out = id == MRC_ABI_ATTR_ARRAY_OUT;
	const bool second = id == MRC_ABI_ATTR_SECOND_IN;

	if (t.object == MRC_ABI_OBJECT_EV_PROFILE)
		return in || out ? sizeof(mrc_abi_ev_entry)
		       : second	 ? sizeof(mrc_abi_ev)
				 : sizeof(mrc_abi_ev_field);
	if (t.object == MRC_ABI_OBJECT_EV_FMT)
		return in || out;
	if (t.object == MRC_ABI_OBJECT_DEV && t.method == MRC_ABI_DEV_EP_BATCH)
		return in	? sizeof(mrc_abi_ep_req)
		       : second ? sizeof(mrc_abi_ep_addr)
		       : out	? sizeof(mrc_abi_ep_rsp)
				: 0;
	if (t.object == MRC_ABI_OBJECT_DEFAULT &&
	    t.method == MRC_ABI_DEFAULT_GET)
		return out ? sizeof(mrc_abi_default) : 0;
	if ((t.object == MRC_ABI_OBJECT_DEV &&
	     t.method == MRC_ABI_DEV_QP_QUERY) ||
	    (t.object == MRC_ABI_OBJECT_QP && t.method == MRC_ABI_QP_QUERY))
		return out ? sizeof(mrc_abi_qp_ev) : 0;
	return 0;
}

/* Most of them some elements long, and seldom one that the method does not know. */
Arrays Fuzz::arrays(const Target &t)
{
	const uint64_t n = chance(80) ? any(20) : value();
	Arrays out;

	for (const uint16_t id :
	     {MRC_ABI_ATTR_ARRAY_IN, MRC_ABI_ATTR_ARRAY_OUT,
	      MRC_ABI_ATTR_FIELDS_IN, MRC_ABI_ATTR_FIELDS_OUT,
	      MRC_ABI_ATTR_SECOND_IN}) {
		const std::size_t size = element(t, id);
		std::size_t len = (n * (size ? size : 8)) & 0xffff;

		if (!chance(size ? 70 : 1))
			continue;
		if (chance(5))
			len = any(65536);
		Array a{.attr = id, .in = {}, .out = {}};

		if (id == MRC_ABI_ATTR_ARRAY_OUT ||
		    id == MRC_ABI_ATTR_FIELDS_OUT)
			a.out = {pointer(), len};
		else if (len > 8)
			a.in = {pointer(), len};
		else /* so short that it travels in the call itself */
			a.in = {mem_.data(), len};
		out.push_back(a);
	}
	return out;
}

void Fuzz::fill_fmt(mrc_abi_fmt &f)
{
	f.id = any(4);
	f.mask = mask(0x8000000f);
	f.state = u32(3);
	f.cur_state = u32(3);
	f.mode = 1u << any(3);
	f.op = u32(2);
	f.n_fields = static_cast<uint32_t>(value());
}

void Fuzz::fill_evp(mrc_abi_evp &p)
{
	p.id = any(4);
	p.mask = mask(0x800001ff);
	p.state = u32(3);
	p.cur_state = u32(3);
	p.mode = 1u << any(3);
	p.fmt_id = any(4);
	p.count = static_cast<uint32_t>(value());
	p.min_active = static_cast<uint32_t>(value());
	p.event_mask = u32(4);
	p.ev_op = u32(5);
	p.n_entries = chance(80) ? u32(20) : static_cast<uint32_t>(value());
	p.fields_op = u32(3);
	p.n_fields = static_cast<uint32_t>(value());
}

void Fuzz::fill_ccp(mrc_abi_ccp &p)
{
	p.id = any(4);
	p.mask = mask(0x8000000f);
	p.state = u32(3);
	p.cur_state = u32(3);
	std::strcpy(p.algorithm, chance(80) ? "uet-1.0-nscc" :
				 chance(50) ? "vegas" :
					      "none");
	p.nscc.eta = static_cast<uint32_t>(value());
	p.nscc.gamma = static_cast<uint32_t>(value());
	p.nscc.max_cwnd = static_cast<uint32_t>(value());
}

/* A struct that might be meant, then some noise over it. */
void Fuzz::fill(const Target &t, std::vector<std::byte> &in)
{
	const auto as = [&in](const auto &v) {
		std::memcpy(in.data(), &v, sizeof(v));
	};
	mrc_abi_fmt fmt{};
	mrc_abi_evp evp{};
	mrc_abi_ccp ccp{};

	in.assign(t.size, {});
	if (t.object == MRC_ABI_OBJECT_EV_FMT) {
		fill_fmt(fmt);
		as(fmt);
	} else if (t.object == MRC_ABI_OBJECT_EV_PROFILE) {
		fill_evp(evp);
		as(evp);
	} else if (t.object == MRC_ABI_OBJECT_CC_PROFILE) {
		fill_ccp(ccp);
		as(ccp);
	}
	for (uint64_t n = chance(50) ? 0 : any(6); n; n--)
		in[any(in.size())] = static_cast<std::byte>(value());
}

void Fuzz::step()
{
	Target t = targets[any(targets.size())];
	std::vector<std::byte> in, out;

	fill(t, in);
	if (chance(5)) {
		t.object = static_cast<uint16_t>(value());
		t.method = static_cast<uint16_t>(value());
	}
	if (chance(10))
		in.resize(any(2 * t.size + 1));
	out.resize(chance(90) ? t.size : any(2 * t.size + 1));
	std::optional<Handle> handle;

	if (t.object == MRC_ABI_OBJECT_QP || chance(3))
		handle = Handle{chance(90) ? qp_.get()->handle
					   : static_cast<uint32_t>(value())};
	accepted_ +=
		!dev_.raw(t.object, t.method, in,
			  chance(90) ? out : std::span<std::byte>{}, handle,
			  arrays(t));
}

/* Everything back to INIT, ports, classes and attributes as they were, limits at their most. */
void restore(Dev &dev, const mrc_abi_tc &tc, mrc_abi_dev_attr attr)
{
	std::vector<mrc_abi_default> def(dev.query().max_defaults);
	mrc_abi_defaults d{};

	for (uint64_t id = 0; id < dev.query().ev_max_profiles; id++)
		evp_drop(dev, id);
	for (uint64_t id = 0; id < dev.query().ev_max_fmt_profiles; id++)
		fmt_drop(dev, id);
	for (uint64_t id = 0; id < dev.query().cc_max_profiles; id++)
		ccp_drop(dev, id);
	must(dev.raw(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_GET, {},
		     uverbs::bytes_out(d), {},
		     {array_out(MRC_ABI_ATTR_ARRAY_OUT, std::span(def))}),
	     "defaults");
	for (uint32_t i = 0; i < d.n; i++) {
		def[i].ev_profile = def[i].cc_profile = MRC_ABI_PROFILE_NONE;
		must(dev.set(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_SET,
			     def[i]),
		     "default");
	}
	must(dev.set(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_SET, tc), "tc");
	attr.mask = MRC_ABI_DEV_ATTR_EXTENSION | MRC_ABI_DEV_ATTR_NUM_EVS |
		    MRC_ABI_DEV_ATTR_CWND | MRC_ABI_DEV_ATTR_CC |
		    MRC_ABI_DEV_ATTR_MPR;
	must(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_ATTR, attr),
	     "attributes");
	mrc_abi_dev_limits limits{};

	limits.mask = (1u << MRC_ABI_LIMITS) - 1;
	std::fill_n(limits.max, static_cast<std::size_t>(MRC_ABI_LIMITS), 65536);
	must(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_LIMITS, limits), "limits");
	for (uint32_t i = 1; dev.query().phy_port_mask >> i; i++) {
		mrc_abi_port p = {.port = i,
				  .mask = MRC_ABI_PORT_ADMIN_STATE,
				  .admin_state = 1,
				  .reserved = 0};

		must(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, p), "port");
	}
}
} // namespace

bool selftest_fuzz(Dev &dev, uint64_t seed, uint64_t rounds)
{
	Report r;

	r.run("hostile calls, seed " + std::to_string(seed), [&](Check &c) {
		const uint32_t free_evs = dev.query().ev_free_count;
		mrc_abi_dev_attr attr{};
		mrc_abi_tc tc{};

		must(dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_ATTR, attr),
		     "attributes");
		must(dev.get(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_GET, tc), "tc");
		{
			Fuzz fuzz(dev, seed);

			for (uint64_t i = 0; i < rounds; i++)
				fuzz.step();
			c.that(fuzz.accepted() > rounds / 50,
			       "hardly a call was accepted: " +
				       std::to_string(fuzz.accepted()));
		}
		restore(dev, tc, attr);
		c.eq(dev.query().ev_free_count, free_evs,
		     "free EVs at the end");
	});
	return r.good();
}

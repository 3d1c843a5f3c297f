// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// EV formats and fields: what is valid, expansion, generation (MRC 1.0 §11.1 to
// §11.3, libMRC's sample program).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "evbits.hpp"

namespace
{

using namespace mrc_test;
using Widths = std::vector<u8>;

std::optional<Ev> expand(const mrc_ev_fmt &fmt, const Fields &fields,
			 const Ev &packed)
{
	Ev out;

	out.fill(0xA5);
	if (mrc_ev_expand(&fmt, fields.data(), static_cast<u32>(fields.size()),
			  packed.data(), out.data()))
		return std::nullopt;
	return out;
}

int check(const mrc_ev_fmt &fmt, const Fields &fields)
{
	return mrc_ev_fields_check(&fmt, fields.data(),
				   static_cast<u32>(fields.size()));
}

Fields times(std::size_t n, const mrc_ev_field &f)
{
	return Fields(n, f);
}

Fields operator+(Fields a, const Fields &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

struct Config {
	const char *name;
	u8 mode;
	Widths widths;
	Fields fields;
	std::vector<std::pair<const char *, const char *>> vectors;
};

const u8 kStev = MRC_EV_FMT_STEV, kSrv6 = MRC_EV_FMT_SRV6,
	 kUdp = MRC_EV_FMT_UDP;
const Widths kSrv6Widths = {32, 16, 16, 16, 16};
const mrc_ev_field kFull16 = field(16, 0, 0xFFFF);

// libMRC reference, "Vectors from the OCP sample program": all of them.
const std::vector<Config> kConfigs = {
	{"A",
	 kStev,
	 {16, 16},
	 times(2, kFull16),
	 {{"f3b04256", "f3b04256"},
	  {"a6fca7ae", "a6fca7ae"},
	  {"03514976", "03514976"},
	  {"33bf42bb", "33bf42bb"},
	  {"b842b6c3", "b842b6c3"},
	  {"d6952b28", "d6952b28"},
	  {"a470b360", "a470b360"},
	  {"c7238d56", "c7238d56"}}},
	{"B",
	 kStev,
	 {16, 16},
	 times(2, kFull16),
	 {{"dc5193be", "dc5193be"},
	  {"751aaa75", "751aaa75"},
	  {"32250009", "32250009"},
	  {"78df7daa", "78df7daa"}}},
	{"C",
	 kStev,
	 {32},
	 {field(32, 0, 0xFFFFFFFF)},
	 {{"67fb6a4e", "67fb6a4e"},
	  {"335de425", "335de425"},
	  {"0e509b51", "0e509b51"},
	  {"b8d71b43", "b8d71b43"}}},
	{"D",
	 kStev,
	 {16, 16},
	 {field(16, 0x0100, 0xF, 1, 0xF), field(16, 0x0200, 0xF, 1, 0xF)},
	 {{"a4", "010a0204"},
	  {"7f", "0107020f"},
	  {"f8", "010f0208"},
	  {"9f", "0109020f"},
	  {"61", "01060201"},
	  {"92", "01090202"},
	  {"26", "01020206"},
	  {"c4", "010c0204"}}},
	{"E",
	 kStev,
	 {16, 16},
	 {field(16, 0x1000, 0x0F0F, 1, 0xFF),
	  field(16, 0x2000, 0x0F0F, 1, 0xFF)},
	 {{"3312", "13032102"},
	  {"e33e", "1e03230e"},
	  {"b5b5", "1b052b05"},
	  {"d05a", "1d00250a"},
	  {"24cf", "12042c0f"},
	  {"283e", "1208230e"},
	  {"a8e0", "1a082e00"},
	  {"97fa", "19072f0a"}}},
	{"F",
	 kSrv6,
	 kSrv6Widths,
	 Fields{field(32, 0xCAFECAFE, 0)} + times(4, kFull16),
	 {{"43ba48d6a43de086", "cafecafe43ba48d6a43de086"},
	  {"4ede65a95725e8a4", "cafecafe4ede65a95725e8a4"},
	  {"0bc79524ab07adda", "cafecafe0bc79524ab07adda"},
	  {"be7e9b424d580239", "cafecafebe7e9b424d580239"}}},
	{"G",
	 kSrv6,
	 kSrv6Widths,
	 Fields{field(32, 0xDEADDEAD, 0)} + times(2, kFull16),
	 {{"e298f115", "deaddeade298f115"},
	  {"e13f3177", "deaddeade13f3177"},
	  {"553f36e5", "deaddead553f36e5"},
	  {"12c5ce9a", "deaddead12c5ce9a"}}},
	{"H",
	 kSrv6,
	 kSrv6Widths,
	 Fields{field(32, 0x42424242, 0)} + times(4, field(4, 0, 0xF)),
	 {{"78ba", "4242424200070008000b000a"},
	  {"76dc", "4242424200070006000d000c"},
	  {"d2a8", "42424242000d0002000a0008"},
	  {"144f", "42424242000100040004000f"}}},
	{"I",
	 kSrv6,
	 kSrv6Widths,
	 {field(32, 0x13131313, 0), field(16, 0x0100, 0xF),
	  field(16, 0x0200, 0xF), field(16, 0x0300, 0xF),
	  field(16, 0x0400, 0xF)},
	 {{"9b79", "131313130109020b03070409"},
	  {"26c7", "1313131301020206030c0407"},
	  {"f9fe", "13131313010f0209030f040e"},
	  {"eb26", "13131313010e020b03020406"}}},
	{"J",
	 kSrv6,
	 {32, 16, 16, 16, 16, 16, 16, 32, 16, 16},
	 Fields{field(32, 0xCAFECAFE, 0)} + times(6, kFull16) +
		 Fields{field(32, 0xDECAFBAD, 0)} + times(2, kFull16),
	 {{"b8a7310e14c80962ae4b9dd6587a4c16",
	   "cafecafeb8a7310e14c80962ae4b9dd6decafbad587a4c16"},
	  {"c496626fa3b0d56027fa9733c0ca89da",
	   "cafecafec496626fa3b0d56027fa9733decafbadc0ca89da"},
	  {"ad55668e6450b8f009084f147d33da0f",
	   "cafecafead55668e6450b8f009084f14decafbad7d33da0f"}}},
	{"ThreeFields",
	 kUdp,
	 {8, 4, 4},
	 {field(8, 0, 0xFF), field(4, 0, 0xF), field(4, 0, 0xF)},
	 {{"b4c7", "b4c7"}}},
	{"Unaligned",
	 kStev,
	 {3, 5, 24},
	 {field(3, 0, 7), field(5, 0, 0x1F), field(24, 0, 0xFFFFFF)},
	 {{"a5123456", "a5123456"}}},
	{"UnalignedNarrower",
	 kStev,
	 {4, 12, 16},
	 {field(3, 0, 7), field(5, 0, 0x1F), kFull16},
	 {{"a51234", "50051234"}}},
	{"SparseOverInit", kUdp, {8}, {field(8, 0x5A, 0xA5)}, {{"90", "db"}}},
	{"OuterBits",
	 kStev,
	 {32},
	 {field(32, 0x00FF00FF, 0x80000001)},
	 {{"80", "80ff00fe"}}},
	{"OverlayBeatsInit",
	 kStev,
	 {16, 16},
	 {field(16, 0xFFFF, 0x00F0), field(16, 0xFFFF, 0xF000)},
	 {{"0f", "ff0fffff"}}},
	{"FixedBetween",
	 kStev,
	 {8, 8, 8},
	 {field(8, 0, 0xFF), field(8, 0x77, 0), field(8, 0, 0xFF)},
	 {{"1234", "127734"}}},
	{"FewerFields",
	 kStev,
	 {8, 8, 8, 8},
	 times(2, field(8, 0, 0xFF)),
	 {{"dead", "dead"}}},
	{"OneBitFields",
	 kUdp,
	 {1, 1, 1, 5},
	 {field(1, 0, 1), field(1, 1, 0), field(1, 0, 1), field(5, 0, 0x1F)},
	 {{"a8", "d4"}}},
	// MRC 1.0 §11.3
	{"Section11_3",
	 kStev,
	 {16, 16},
	 {field(16, 0x0100, 0xF), field(16, 0x0200, 0xF)},
	 {{"3c", "0103020c"}}},
};

TEST(EvFmt, PublishedVectors)
{
	unsigned n = 0;

	for (const Config &c : kConfigs) {
		const mrc_ev_fmt fmt = fmt_of(c.mode, c.widths);

		SCOPED_TRACE(c.name);
		ASSERT_EQ(mrc_ev_fmt_check(&fmt), 0);
		ASSERT_EQ(check(fmt, c.fields), 0);
		for (const auto &[packed, expanded] : c.vectors) {
			SCOPED_TRACE(packed);
			EXPECT_EQ(expand(fmt, c.fields, ev_of(packed)),
				  ev_of(expanded));
			// The reference of the tests below has to agree, too.
			EXPECT_EQ(ref_expand(c.widths, c.fields, ev_of(packed)),
				  ev_of(expanded));
			EXPECT_EQ(ref_compress(c.widths, c.fields,
					       ev_of(expanded)),
				  ev_of(packed));
			n++;
		}
	}
	EXPECT_EQ(n, 8u + 4 + 4 + 8 + 8 + 4 + 4 + 4 + 4 + 3 + 10);
}

// Each bit beyond those that the fields take is refused, each other is not.
TEST(EvFmt, SurplusBits)
{
	for (const Config &c : kConfigs) {
		const mrc_ev_fmt fmt = fmt_of(c.mode, c.widths);

		SCOPED_TRACE(c.name);
		for (std::size_t bit = 0; bit < 8 * MRC_EV_BYTES; bit++) {
			const Ev packed =
				ev_of_bits(std::string(bit, '0') + '1');

			ASSERT_EQ(expand(fmt, c.fields, packed).has_value(),
				  bit < taken(c.fields))
				<< bit;
		}
	}
}

TEST(EvFmt, Limits)
{
	EXPECT_EQ(mrc_ev_fmt_limit(kStev), 32u);
	EXPECT_EQ(mrc_ev_fmt_limit(kSrv6), 256u);
	EXPECT_EQ(mrc_ev_fmt_limit(kUdp), 16u);
	for (unsigned m = 0; m < 256; m++)
		if (m != kStev && m != kSrv6 && m != kUdp)
			EXPECT_EQ(mrc_ev_fmt_limit(static_cast<u8>(m)), 0u)
				<< m;
}

int check_fmt(u8 mode, const Widths &w)
{
	const mrc_ev_fmt fmt = fmt_of(mode, w);

	return mrc_ev_fmt_check(&fmt);
}

TEST(EvFmt, FormatRules)
{
	EXPECT_EQ(check_fmt(0, {16}), -EINVAL);
	EXPECT_EQ(check_fmt(kStev | kUdp, {16}), -EINVAL);
	EXPECT_EQ(check_fmt(8, {16}), -EINVAL);
	EXPECT_EQ(check_fmt(kUdp, {}), -EINVAL);
	EXPECT_EQ(check_fmt(kUdp, {8, 0}), -EINVAL);
	EXPECT_EQ(check_fmt(kSrv6, {33}), -E2BIG);
	EXPECT_EQ(check_fmt(kSrv6, {255}), -E2BIG);
	EXPECT_EQ(check_fmt(kSrv6, Widths(32, 1)), 0);
	EXPECT_EQ(check_fmt(kSrv6, Widths(33, 1)), -E2BIG);
	EXPECT_EQ(check_fmt(kUdp, {16}), 0);
	EXPECT_EQ(check_fmt(kUdp, {16, 1}), -E2BIG);
	EXPECT_EQ(check_fmt(kUdp, {17}), -E2BIG);
	EXPECT_EQ(check_fmt(kStev, {32}), 0);
	EXPECT_EQ(check_fmt(kStev, {1, 32}), -E2BIG);
	EXPECT_EQ(check_fmt(kStev, {16, 16, 1}), -E2BIG);
	EXPECT_EQ(check_fmt(kSrv6, Widths(8, 32)), 0);
	EXPECT_EQ(check_fmt(kSrv6, {32, 32, 32, 32, 32, 32, 32, 31, 2}),
		  -E2BIG);
	EXPECT_EQ(check_fmt(kSrv6, {1}), 0);
}

// What extends past the address must start a segment there.
TEST(EvFmt, Srh)
{
	const auto srh = [](u8 mode, const Widths &w) {
		const mrc_ev_fmt fmt = fmt_of(mode, w);
		return mrc_ev_fmt_srh(&fmt);
	};

	EXPECT_EQ(check_fmt(kSrv6, {32, 32, 32, 32, 1}), 0);
	EXPECT_EQ(check_fmt(kSrv6, {32, 32, 32, 31, 2}), -EINVAL);
	EXPECT_EQ(check_fmt(kSrv6, {32, 32, 32, 16, 15, 2}), -EINVAL);
	EXPECT_EQ(check_fmt(kSrv6, {32, 32, 32, 16, 15, 1, 1}), 0);
	EXPECT_TRUE(srh(kSrv6, {32, 32, 32, 32, 1}));
	EXPECT_FALSE(srh(kSrv6, {32, 32, 32, 32}));
	EXPECT_FALSE(srh(kSrv6, {32, 32}));
	EXPECT_FALSE(srh(kStev, {32}));
}

TEST(EvFmt, FieldRules)
{
	const mrc_ev_fmt stev = fmt_of(kStev, {16, 16});
	const mrc_ev_fmt wide = fmt_of(kStev, {32});
	const mrc_ev_fmt small = fmt_of(kStev, {8, 24});
	const mrc_ev_fmt many = fmt_of(kSrv6, Widths(32, 1));

	EXPECT_EQ(check(stev, {}), -EINVAL);
	EXPECT_EQ(check(stev, {kFull16}), 0);
	EXPECT_EQ(check(stev, times(2, kFull16)), 0);
	EXPECT_EQ(check(stev, times(3, kFull16)), -EINVAL);
	EXPECT_EQ(check(many, times(32, field(1, 0, 1))), 0);
	EXPECT_EQ(check(many, times(33, field(1, 0, 1))), -E2BIG);
	EXPECT_EQ(check(stev, times(0x10000, kFull16)), -E2BIG);

	EXPECT_EQ(check(wide, {field(0, 0, 0)}), -EINVAL);
	EXPECT_EQ(check(wide, {field(32, 0, 0)}), 0);
	EXPECT_EQ(check(wide, {field(33, 0, 0)}), -EINVAL);
	EXPECT_EQ(check(wide, {field(0xFFFFFFFF, 0, 0)}), -EINVAL);
	// The sum would be as wide as the format, the field is not.
	EXPECT_EQ(check(small, {field(9, 0, 0), field(23, 0, 0)}), -EINVAL);
	EXPECT_EQ(check(small, {field(8, 0, 0), field(24, 0, 0)}), 0);

	EXPECT_EQ(check(wide, {field(4, 0xF, 0)}), 0);
	EXPECT_EQ(check(wide, {field(4, 0x10, 0)}), -EINVAL);
	EXPECT_EQ(check(wide, {field(4, 0, 0xF)}), 0);
	EXPECT_EQ(check(wide, {field(4, 0, 0x10)}), -EINVAL);
	EXPECT_EQ(check(wide, {field(31, 0, 0x80000000)}), -EINVAL);
	EXPECT_EQ(
		check(wide, {field(32, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0xFFFFFFFF)}),
		0);

	// As wide as the bits of the mask, wherever these are.
	EXPECT_EQ(check(wide, {field(16, 0, 0x8001, 0, 3)}), 0);
	EXPECT_EQ(check(wide, {field(16, 0, 0x8001, 0, 4)}), -EINVAL);
	EXPECT_EQ(check(wide, {field(16, 0, 0xF, 5, 5)}), 0);
	EXPECT_EQ(check(wide, {field(16, 0, 0xF, 6, 5)}), -EINVAL);
	EXPECT_EQ(check(wide, {field(16, 0, 0xF, 1, 0)}), -EINVAL);
	// Not looked at in a fixed field, but for their order.
	EXPECT_EQ(check(wide, {field(16, 0, 0, 0, 1000000)}), 0);
	EXPECT_EQ(check(wide, {field(16, 0, 0, 2, 1)}), -EINVAL);
	// The second is as bad as the first.
	EXPECT_EQ(check(stev, {kFull16, field(17, 0, 0)}), -EINVAL);
}

// With the identity an EV is what goes on the wire.
TEST(EvFmt, Identity)
{
	std::mt19937 rng(11);

	for (const Config &c : kConfigs) {
		const mrc_ev_fmt fmt = fmt_of(c.mode, c.widths);
		std::array<mrc_ev_field, MRC_EV_MAX_FIELDS> f;
		std::size_t bits = 0;

		SCOPED_TRACE(c.name);
		const u32 n = mrc_ev_fields_identity(&fmt, f.data());
		ASSERT_EQ(n, c.widths.size());
		const Fields fields(f.begin(), f.begin() + n);
		EXPECT_EQ(check(fmt, fields), 0);
		for (u32 i = 0; i < n; i++) {
			EXPECT_EQ(fields[i].width, c.widths[i]);
			EXPECT_EQ(bits_of(fields[i].mask, 32),
				  std::string(32 - c.widths[i], '0') +
					  std::string(c.widths[i], '1'));
			EXPECT_EQ(fields[i].init_val, 0u);
			bits += c.widths[i];
		}
		for (int k = 0; k < 20; k++) {
			std::string s;

			while (s.size() < bits)
				s += rng() & 1 ? '1' : '0';
			EXPECT_EQ(expand(fmt, fields, ev_of_bits(s)),
				  ev_of_bits(s));
		}
	}
}

struct Random {
	explicit Random(u32 seed) : rng(seed) {}

	u32 below(u32 n) { return rng() % n; }

	// A valid format of any mode.
	mrc_ev_fmt fmt(Widths &widths)
	{
		const u8 mode = static_cast<u8>(1 << below(3));

		for (;;) {
			const u32 n = 1 + below(mode == kSrv6 ? 16 : 5);

			widths.clear();
			for (u32 i = 0; i < n; i++)
				widths.push_back(static_cast<u8>(
					1 + below(mode == kSrv6 ? 32 : 12)));
			if (!check_fmt(mode, widths))
				return fmt_of(mode, widths);
		}
	}

	// Valid fields for it.
	Fields fields(const Widths &widths)
	{
		Fields out;
		const u32 n = 1 + below(static_cast<u32>(widths.size()));

		for (u32 i = 0; i < n; i++) {
			const u32 w = 1 + below(widths[i]);
			const u64 all = (1ull << w) - 1;
			mrc_ev_field f = field(w, static_cast<u32>(rng() & all),
					       static_cast<u32>(rng() & all));

			if (below(4) == 0)
				f.mask = 0;
			if (f.mask && below(2)) {
				const u64 top =
					(1ull << __builtin_popcount(f.mask)) -
					1;
				const u32 a = static_cast<u32>(rng() & top);
				const u32 b = static_cast<u32>(rng() & top);

				f.min_val = std::min(a, b);
				f.max_val = std::max(a, b);
			}
			out.push_back(f);
		}
		return out;
	}

	std::mt19937_64 rng;
};

TEST(EvFmt, RandomAgainstReference)
{
	Random r(2026);
	Widths widths;
	int accepted = 0;

	for (int k = 0; k < 4000; k++) {
		const mrc_ev_fmt fmt = r.fmt(widths);
		const Fields fields = r.fields(widths);
		std::string bits;

		ASSERT_EQ(check(fmt, fields), 0);
		while (bits.size() < taken(fields))
			bits += r.rng() & 1 ? '1' : '0';
		if (r.below(8) == 0)
			bits += std::string(r.below(3), '0') + "1";
		if (bits.size() > 8 * MRC_EV_BYTES)
			continue;
		const Ev packed = ev_of_bits(bits);
		const std::optional<Ev> out = expand(fmt, fields, packed);

		ASSERT_EQ(out, ref_expand(widths, fields, packed));
		if (!out)
			continue;
		ASSERT_EQ(ref_compress(widths, fields, *out), packed);
		accepted++;
	}
	EXPECT_GT(accepted, 3000);
}

u32 combinations(const Fields &f)
{
	return mrc_ev_combinations(f.data(), static_cast<u32>(f.size()));
}

Ev generate(const Fields &f, u32 index)
{
	Ev ev;

	ev.fill(0x5A);
	mrc_ev_generate(f.data(), static_cast<u32>(f.size()), index, ev.data());
	return ev;
}

TEST(EvFmt, Combinations)
{
	EXPECT_EQ(combinations({field(16, 1, 0)}), 1u);
	EXPECT_EQ(combinations({field(16, 1, 0xF)}), 16u);
	EXPECT_EQ(combinations({field(16, 1, 0xF, 1, 15)}), 15u);
	EXPECT_EQ(combinations({field(16, 1, 0xF, 7, 7)}), 1u);
	EXPECT_EQ(combinations({field(16, 0, 0x8001, 0, 2)}), 3u);
	EXPECT_EQ(combinations(times(2, field(16, 0, 0x3, 1, 3))), 9u);
	EXPECT_EQ(combinations({kFull16, field(16, 0, 0x7FFF)}), 0x80000000u);
	// From there on there are more than can be told.
	EXPECT_EQ(combinations({field(32, 0, ~0u)}), ~0u);
	EXPECT_EQ(combinations(times(2, kFull16)), ~0u);
	EXPECT_EQ(combinations({field(32, 0, ~0u, 1, ~0u)}), ~0u);
	EXPECT_EQ(combinations({field(32, 0, ~0u, 2, ~0u)}), ~0u - 1);
	EXPECT_EQ(combinations(times(8, field(32, 0, ~0u))), ~0u);
	// Many fields that together still have few values.
	EXPECT_EQ(combinations(times(32, field(1, 0, 1, 1, 1))), 1u);
}

// Every EV within the bounds comes out, and each just once.
TEST(EvFmt, GenerationIsABijection)
{
	Random r(7);
	Widths widths;
	int exhausted = 0;

	for (int k = 0; k < 600; k++) {
		r.fmt(widths);
		const Fields fields = r.fields(widths);
		const u32 n = combinations(fields);
		const u32 tries = std::min<u32>(n, 2000);
		std::set<Ev> seen;

		for (u32 i = 0; i < tries; i++) {
			const Ev ev = generate(fields, i);
			std::size_t v = 0;

			ASSERT_TRUE(seen.insert(ev).second) << i;
			const std::vector<u64> val = ref_values(fields, ev);
			for (const mrc_ev_field &f : fields) {
				if (!f.mask)
					continue;
				if (f.min_val || f.max_val) {
					ASSERT_GE(val[v], f.min_val);
					ASSERT_LE(val[v], f.max_val);
				}
				v++;
			}
			// And nothing beyond.
			ASSERT_EQ(bits_of(ev).find('1', taken(fields)),
				  std::string::npos);
		}
		exhausted += tries == n;
	}
	EXPECT_GT(exhausted, 50);
}

// The highest indices of the widest fields are as good as the lowest.
TEST(EvFmt, GenerationAtTheTop)
{
	for (const Fields &fields :
	     {times(8, field(32, 0, ~0u)), times(1, field(32, 0, ~0u)),
	      times(2, kFull16), times(1, field(32, 0, ~0u, 2, ~0u))}) {
		const u32 n = combinations(fields);
		std::set<Ev> seen;

		for (u32 i = 0; i < 500; i++) {
			EXPECT_TRUE(seen.insert(generate(fields, i)).second);
			EXPECT_TRUE(seen.insert(generate(fields, n - 1 - i))
					    .second);
		}
	}
}

// With more EVs than indices none of the fields stands still.
TEST(EvFmt, GenerationUsesAllFields)
{
	const Fields fields = times(8, kFull16);
	std::vector<std::set<u64>> values(8);

	for (u32 i = 0; i < 64; i++) {
		const std::vector<u64> v =
			ref_values(fields, generate(fields, i));

		for (std::size_t f = 0; f < 8; f++)
			values[f].insert(v[f]);
	}
	for (const std::set<u64> &v : values)
		EXPECT_GT(v.size(), 32u);
}

TEST(EvFmt, PermutationIsABijection)
{
	for (u32 n :
	     {1u, 2u, 3u, 4u, 5u, 15u, 16u, 17u, 1000u, 1024u, 1025u, 16384u}) {
		for (u64 seed : {0ull, 1ull, 0xFEEDFACECAFEBEEFull}) {
			std::vector<bool> hit(n);

			for (u32 i = 0; i < n; i++) {
				const u32 v = mrc_ev_permute(i, n, seed);

				ASSERT_LT(v, n);
				ASSERT_FALSE(hit[v]) << n << " " << i;
				hit[v] = true;
			}
		}
	}
}

TEST(EvFmt, PermutationDependsOnSeed)
{
	unsigned same = 0, fixed = 0;
	std::set<u32> far;

	for (u32 i = 0; i < 1024; i++) {
		same += mrc_ev_permute(i, 1024, 1) ==
			mrc_ev_permute(i, 1024, 2);
		fixed += mrc_ev_permute(i, 1024, 1) == i;
		EXPECT_EQ(mrc_ev_permute(i, 1024, 1),
			  mrc_ev_permute(i, 1024, 1));
		// The largest range there is.
		far.insert(mrc_ev_permute(~0u - 1 - i, ~0u, 3));
	}
	EXPECT_LT(same, 20u);
	EXPECT_LT(fixed, 20u);
	EXPECT_EQ(far.size(), 1024u);
	EXPECT_LT(*far.rbegin(), ~0u);
}

} // namespace

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Whatever is said of the peer's ports, work goes on over planes that answer,
// MRC 1.0 §12.3.
#include "engine_fixture.hpp"

#include <queue>
#include <random>
#include <set>

using mrc_test::Requester;
using mrc_test::kMs;
using mrc_test::kUs;

namespace
{

constexpr u64 kSecond = 1000 * kMs;

/*
 * A requester on up to four planes, some of which swallow what is sent on them, and
 * a peer that acknowledges what arrives, on the plane on which it came. Somebody
 * says what he likes about the peer's ports.
 */
class Attack
{
public:
	explicit Attack(unsigned seed) : rng_(seed)
	{
		planes_ = 2 + rng_() % 3;
		r.pcfg.n_ports = (u8)planes_;
		r.pcfg.n_evs = (u16)(planes_ * (1 + rng_() % 16));
		r.pcfg.seed = seed;
		r.cfg.rto = (1u << rng_() % 5) * 4 * kMs;
		r.init();
		dead_ = random_cut();
		quick_ = rng_() & 1;
	}

	// Return: how many of @n writes succeeded before anything failed.
	unsigned run(unsigned n)
	{
		unsigned posted = 0, done = 0;
		const u64 end = r.now + 60 * kSecond;

		say_at_ = r.now + rng_() % (2 * kMs);
		cut_at_ = r.now + rng_() % (50 * kMs);
		while (done < n && r.now < end) {
			while (posted < n && posted < done + 32)
				posted += r.write(256 * (1 + rng_() % 3)) >= 0;
			transmit();
			step();
			for (auto &[slot, status] : r.reap()) {
				if (status != MRC_WC_SUCCESS)
					return done;
				done++;
			}
		}
		return done;
	}

	// Which planes carry data, when nobody has said anything new for a while?
	std::set<unsigned> carry()
	{
		std::set<unsigned> seen;
		const u64 quiet = r.now + 500 * kMs;

		u64 write_at = r.now;

		say_at_ = cut_at_ = ~0ull;
		while (r.now < quiet + 200 * kMs) {
			if (r.now >= write_at) {
				r.write(256);
				write_at = r.now + 2 * kMs;
			}
			used_.clear();
			transmit();
			step();
			r.reap();
			if (r.now >= quiet)
				seen.insert(used_.begin(), used_.end());
		}
		return seen;
	}

	std::set<unsigned> alive() const
	{
		std::set<unsigned> s;

		for (unsigned i = 1; i <= planes_; i++)
			if (!(dead_ >> i & 1))
				s.insert(i);
		return s;
	}

	// Words that leave no plane, or only dead ones.
	void say_worst()
	{
		mrc_req_peer_status(&r.req, rng_() & 1 ? 0 : dead_ & all(),
				  r.now);
	}

	Requester r;

private:
	struct Packet {
		u64 at;
		u8 port;
		bool answer;
		mrc_tx_desc d;
		mrc_test::SackSpec s;
		bool operator>(const Packet &o) const { return at > o.at; }
	};

	u32 all() const { return (2u << planes_) - 2; }

	// Some plane answers, always.
	u32 random_cut()
	{
		u32 dead = rng_() & all();

		return dead == all() ? dead & ~(1u << (1 + rng_() % planes_)) :
				       dead;
	}

	void say()
	{
		u32 word = rng_() & MRC_EV_WORDS;

		switch (rng_() % 6) {
		case 0:
			word = 0;
			break;
		case 1:
			word = dead_ & all(); // the worst there is
			break;
		case 2:
			word = ~0u;
			break;
		case 3:
			word = all() & ~dead_; // the truth
			break;
		}
		mrc_req_peer_status(&r.req, word, r.now);
		r.check();
	}

	void transmit()
	{
		mrc_tx_desc d;

		while (r.next(&d) == MRC_TX_PACKET) {
			if (d.data)
				used_.insert(d.port);
			if (dead_ >> d.port & 1)
				continue;
			wire_.push({r.now + 50 * kUs + rng_() % (20 * kUs),
				    d.port, false, d, {}});
		}
	}

	void arrive(const Packet &p)
	{
		mrc_test::SackSpec s;

		if (p.d.data)
			got_.insert(mrc_psn_diff(p.d.hdr.psn, r.cfg.sq_psn));
		while (got_.count(cum_))
			got_.erase(cum_++);
		s.cack = r.psn((s64)cum_ - 1);
		if (p.d.data)
			s.ack = mrc_psn_diff(p.d.hdr.psn, s.cack);
		else
			s.probe = p.d.hdr.peth.probe_id;
		for (int i = 0; i < 64; i++)
			s.map |= (u64)got_.count(cum_ + i) << i;
		s.rtx = p.d.hdr.rtx;
		s.entropy = p.d.entropy;
		s.via = p.port;
		if (dead_ >> p.port & 1)
			return;
		wire_.push({r.now + 50 * kUs, p.port, true, p.d, s});
	}

	void step()
	{
		u64 at = std::min<u64>({mrc_req_deadline(&r.req), say_at_, cut_at_});

		if (!wire_.empty())
			at = std::min<u64>(at, wire_.top().at);
		r.now = std::max<u64>(r.now + 1, std::min<u64>(at, r.now + 10 * kMs));
		while (!wire_.empty() && wire_.top().at <= r.now) {
			Packet p = wire_.top();

			wire_.pop();
			if (!p.answer) {
				arrive(p);
			} else {
				r.sack(p.s);
				r.ack(p.s.cack);
			}
		}
		if (r.now >= say_at_) {
			say();
			say_at_ = r.now + rng_() % (quick_ ? 300 * kUs :
							     20 * kMs);
		}
		if (r.now >= cut_at_) {
			dead_ = random_cut();
			cut_at_ = r.now + 20 * kMs + rng_() % (200 * kMs);
		}
		if (mrc_req_deadline(&r.req) <= r.now)
			r.deadline();
	}

	static constexpr u32 MRC_EV_WORDS = 0x1FFFE;
	std::mt19937 rng_;
	std::priority_queue<Packet, std::vector<Packet>, std::greater<>> wire_;
	std::set<s64> got_;
	std::set<unsigned> used_;
	s64 cum_ = 0;
	unsigned planes_;
	u32 dead_;
	bool quick_;
	u64 say_at_ = ~0ull, cut_at_ = ~0ull;
};

TEST(PeerAttack, NoWordStopsAQp)
{
	for (unsigned seed = 0; seed < 150; seed++) {
		Attack a(seed);

		ASSERT_EQ(a.run(300), 300u) << "seed " << seed;
		ASSERT_EQ(a.r.count(MRC_CTR_RETRY_EXC), 0u);
	}
}

// Every plane that answers carries its share again, whatever word stands.
TEST(PeerAttack, PlanesThatAnswerAreUsed)
{
	for (unsigned seed = 1000; seed < 1060; seed++) {
		Attack a(seed);

		ASSERT_EQ(a.run(50), 50u) << "seed " << seed;
		a.say_worst();
		ASSERT_EQ(a.carry(), a.alive()) << "seed " << seed;
	}
}

} // namespace

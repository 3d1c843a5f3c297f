// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A man in the middle of a plane: passes the frames of two netdevs to each
 * other, and treats some of them as a bad or hostile network would.
 *
 * usage: mrc_middle NETDEV NETDEV KIND PERCENT SEED
 *
 * KIND is "network": packets of MRC are dropped, sent twice, late, once more
 * from any time, spoiled without a right ICRC, or sent from and to other
 * addresses in addition. Connections must survive all of it.
 *
 * KIND is "fields": fields change as well, and the ICRC is made right. A
 * connection may end, as the protocol says.
 *
 * SIGUSR1 says that a session has ended. What was seen until then is kept, and
 * sent again in later sessions; the line "session N packets=P" answers.
 *
 * Runs until SIGINT or SIGTERM, and prints what it did: "earlier" are the
 * packets of former sessions that it sent again, "outdated" those for a queue
 * pair that had gone on by more than a window of PSNs since, because it was
 * connected anew, or had sent so much. With "fields", a line for each field
 * says how often it was changed.
 */
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <optional>
#include <queue>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include "../common/failure.hpp"
#include "mutate.hpp"
#include "plane_socket.hpp"

namespace
{
using devfuzz::Bytes;
using std::chrono::microseconds;
using clock = std::chrono::steady_clock;

volatile std::sig_atomic_t ended, sessions_ended;

void end(int)
{
	ended = 1;
}

void end_session(int)
{
	sessions_ended = sessions_ended + 1;
}

fd::Fd open_netdev(const std::string &name)
{
	fd::Fd s = devfuzz::open_plane(name, true);
	const int one = 1;
	/* Not more than a switch has, or a slow machine is late by seconds. */
	const int buffer = 256 << 10;
	packet_mreq all{};

	all.mr_ifindex = static_cast<int>(if_nametoindex(name.c_str()));
	all.mr_type = PACKET_MR_PROMISC;
	if (setsockopt(s.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &one,
		       sizeof(one)) ||
	    setsockopt(s.get(), SOL_SOCKET, SO_RCVBUFFORCE, &buffer,
		       sizeof(buffer)) ||
	    setsockopt(s.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all,
		       sizeof(all)))
		throw Failure("no packet socket on " + name);
	return s;
}

enum What {
	passed,
	dropped,
	twice,
	late,
	replayed,
	spoiled,
	readdressed,
	changed,
	changed_anew,
	whats
};

constexpr std::array<const char *, whats> names = {
	"passed",  "dropped",	  "twice",   "late", "replayed",
	"spoiled", "readdressed", "changed", "anew"};

/* The frames that are sent again, each to its own side. */
class Memory
{
public:
	struct Old {
		Bytes frame;
		unsigned to;
		unsigned session;
	};

	void learn(const Bytes &frame, unsigned to, devfuzz::Rng &rng)
	{
		put(now_, {frame, to, session_}, 500, rng);
	}

	void end_session(devfuzz::Rng &rng)
	{
		session_++;
		for (Old &old : now_)
			put(earlier_, std::move(old), 2000, rng);
		now_.clear();
	}

	/* nullptr: there is none. Half of them are of former sessions. */
	const Old *pick(devfuzz::Rng &rng)
	{
		auto &from =
			now_.empty() || (!earlier_.empty() && rng.chance(50))
				? earlier_
				: now_;

		return from.empty() ? nullptr : &rng.pick(from);
	}

	unsigned session() const { return session_; }

private:
	static void put(std::vector<Old> &to, Old old, std::size_t most,
			devfuzz::Rng &rng)
	{
		if (to.size() < most)
			to.push_back(std::move(old));
		else
			rng.pick(to) = std::move(old);
	}

	std::vector<Old> now_, earlier_;
	unsigned session_ = 0;
};

/* How far the PSNs of queue pairs are, by what passes. */
class Progress
{
public:
	void saw(const Bytes &frame)
	{
		if (const auto bth = find(frame))
			last_[bth->key] = bth->psn;
	}

	bool is_outdated(const Bytes &frame) const
	{
		const auto bth = find(frame);

		if (!bth)
			return false;
		const auto at = last_.find(bth->key);

		return at != last_.end() &&
		       std::abs(mrcconform::psn_diff(bth->psn, at->second)) >
			       window;
	}

private:
	static constexpr int32_t window = 1024; /* MPR 8, the default */

	/* Data and feedback for a queue pair have PSNs of different spaces. */
	struct Bth {
		uint32_t key;
		uint32_t psn;
	};

	static std::optional<Bth> find(const Bytes &frame)
	{
		const auto place = devfuzz::find_roce(frame);

		if (!place || frame.size() < place->udp + 20)
			return {};
		const uint8_t *b = &frame[place->udp + 8];
		const bool feedback = b[0] == mrcconform::op_ack ||
				      b[0] == mrcconform::op_sack ||
				      b[0] == mrcconform::op_nack;

		return Bth{static_cast<uint32_t>(feedback) << 24 | get24(b + 5),
			   get24(b + 9)};
	}

	static uint32_t get24(const uint8_t *b)
	{
		return static_cast<uint32_t>(b[0] << 16 | b[1] << 8 | b[2]);
	}

	std::unordered_map<uint32_t, uint32_t> last_;
};

class Middle
{
public:
	Middle(const std::string &a, const std::string &b, bool fields,
	       unsigned percent, uint64_t seed)
		: side_{open_netdev(a), open_netdev(b)}, fields_(fields),
		  percent_(percent), mutator_(seed)
	{
	}

	void run();
	void report() const;

private:
	struct Held {
		clock::time_point due;
		unsigned to;
		Bytes frame;

		bool operator<(const Held &o) const { return due > o.due; }
	};

	void receive(unsigned from);
	void pass(unsigned to, Bytes frame);
	/* Packets with one opcode. */
	struct Kind {
		uint64_t seen;
		bool complete; /* each of its fields was changed */
	};

	bool is_new(const Bytes &frame);
	What choose(const Bytes &frame);
	void replay();
	void session();
	uint64_t packets() const;
	void send(unsigned to, const Bytes &frame);
	void send_due();

	std::array<fd::Fd, 2> side_;
	const bool fields_;
	const unsigned percent_;
	devfuzz::Mutator mutator_;
	std::priority_queue<Held> held_;
	Memory memory_;
	Progress progress_;
	std::array<uint64_t, whats> count_{};
	std::array<Kind, 256> kinds_{}; /* by opcode */
	uint64_t earlier_ = 0, outdated_ = 0;
	std::array<uint8_t, 65536> buf_{};
};

/* Has it a field that was never changed? It is changed sooner than others. */
bool Middle::is_new(const Bytes &frame)
{
	const auto place = devfuzz::find_roce(frame);
	Kind &kind = kinds_[frame[place->udp + 8]];
	auto &rng = mutator_.rng();

	kind.seen++;
	if (kind.complete)
		return false;
	kind.complete = !mutator_.has_new_field(frame);
	/* A packet of a kind that is rare is a chance. */
	return !kind.complete &&
	       rng.chance(kind.seen * 50 < packets() ? 40 : 5);
}

What Middle::choose(const Bytes &frame)
{
	auto &rng = mutator_.rng();

	if (fields_ && is_new(frame))
		return changed_anew;
	if (!rng.chance(percent_))
		return passed;
	if (fields_ && rng.chance(50))
		return changed;
	return static_cast<What>(rng.range(dropped, readdressed));
}

void Middle::replay()
{
	const Memory::Old *old = memory_.pick(mutator_.rng());

	if (!old)
		return;
	earlier_ += old->session != memory_.session();
	outdated_ += progress_.is_outdated(old->frame);
	send(old->to, old->frame);
}

/* A queue that is full loses the frame, as a switch would. */
void Middle::send(unsigned to, const Bytes &frame)
{
	if (::send(side_[to].get(), frame.data(), frame.size(), 0) < 0 &&
	    errno != ENOBUFS && errno != EMSGSIZE && errno != ENETDOWN &&
	    errno != EINTR)
		throw Failure("send: errno " + std::to_string(errno));
}

void Middle::pass(unsigned to, Bytes frame)
{
	auto &rng = mutator_.rng();

	if (!devfuzz::find_roce(frame)) {
		send(to, frame);
		return;
	}
	if (rng.chance(5)) {
		mutator_.learn(frame);
		memory_.learn(frame, to, rng);
	}
	progress_.saw(frame);
	const What what = choose(frame);

	count_[what]++;
	switch (what) {
	case dropped:
		return;
	case twice:
		send(to, frame);
		break;
	case late:
		held_.push({clock::now() + microseconds(rng.below(20000)), to,
			    std::move(frame)});
		return;
	case replayed:
		replay();
		break;
	case spoiled:
		frame = mutator_.spoiled(std::move(frame));
		break;
	case readdressed:
		send(to, mutator_.readdressed(frame));
		break;
	case changed:
		frame = mutator_.changed(std::move(frame));
		break;
	case changed_anew:
		frame = mutator_.changed_anew(std::move(frame));
		break;
	default:
		break;
	}
	send(to, frame);
}

void Middle::receive(unsigned from)
{
	for (unsigned n = 0; n < 64; n++) {
		const ssize_t len = recv(side_[from].get(), buf_.data(),
					 buf_.size(), MSG_DONTWAIT);

		if (len < 0 &&
		    (errno == EAGAIN || errno == EINTR || errno == ENETDOWN))
			return;
		if (len < 0)
			throw Failure("recv: errno " + std::to_string(errno));
		pass(1 - from, Bytes(buf_.begin(), buf_.begin() + len));
	}
}

void Middle::send_due()
{
	while (!held_.empty() && held_.top().due <= clock::now()) {
		send(held_.top().to, held_.top().frame);
		held_.pop();
	}
}

uint64_t Middle::packets() const
{
	return std::accumulate(count_.begin(), count_.end(), uint64_t{0});
}

void Middle::session()
{
	memory_.end_session(mutator_.rng());
	std::printf("session %u packets=%llu\n", memory_.session(),
		    static_cast<unsigned long long>(packets()));
	std::fflush(stdout);
}

void Middle::run()
{
	std::array<pollfd, 2> p = {pollfd{side_[0].get(), POLLIN, 0},
				   pollfd{side_[1].get(), POLLIN, 0}};

	std::puts("ready");
	std::fflush(stdout);
	while (!ended) {
		timespec wait{0, 100'000'000};

		if (!held_.empty()) {
			const auto ns = std::chrono::nanoseconds(
						held_.top().due - clock::now())
						.count();

			wait.tv_nsec = ns > 0 ? ns : 0;
		}
		if (ppoll(p.data(), p.size(), &wait, nullptr) > 0)
			for (unsigned i = 0; i < p.size(); i++)
				if (p[i].revents)
					receive(i);
		send_due();
		while (memory_.session() <
		       static_cast<unsigned>(sessions_ended))
			session();
	}
}

void Middle::report() const
{
	if (fields_)
		for (unsigned i = 0; i < mutator_.hits().size(); i++)
			std::printf("field %s %llu\n",
				    devfuzz::field_names()[i].c_str(),
				    static_cast<unsigned long long>(
					    mutator_.hits()[i]));
	std::printf("mrc_middle: OK packets=%llu",
		    static_cast<unsigned long long>(packets()));
	for (unsigned i = 0; i < whats; i++)
		std::printf(" %s=%llu", names[i],
			    static_cast<unsigned long long>(count_[i]));
	std::printf(" earlier=%llu outdated=%llu\n",
		    static_cast<unsigned long long>(earlier_),
		    static_cast<unsigned long long>(outdated_));
}
} // namespace

int main(int argc, char **argv)
try {
	if (argc != 6)
		throw Failure("usage: mrc_middle NETDEV NETDEV network|fields "
			      "PERCENT SEED");
	const std::string kind = argv[3];

	if (kind != "network" && kind != "fields")
		throw Failure("'" + kind + "' is neither network nor fields");
	std::signal(SIGINT, end);
	std::signal(SIGTERM, end);
	std::signal(SIGUSR1, end_session);
	Middle m(argv[1], argv[2], kind == "fields",
		 static_cast<unsigned>(std::stoul(argv[4])),
		 std::stoull(argv[5]));

	m.run();
	m.report();
	return 0;
} catch (const std::exception &e) {
	std::fprintf(stderr, "mrc_middle: %s\n", e.what());
	return 1;
}

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
 * Runs until SIGINT or SIGTERM, and prints what it did.
 */
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <queue>
#include <stdexcept>
#include <string>
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

volatile std::sig_atomic_t ended;

void end(int)
{
	ended = 1;
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
	whats
};

constexpr std::array<const char *, whats> names = {
	"passed",   "dropped", "twice",	      "late",
	"replayed", "spoiled", "readdressed", "changed"};

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
	What choose();
	void send(unsigned to, const Bytes &frame);
	void send_due();

	std::array<fd::Fd, 2> side_;
	const bool fields_;
	const unsigned percent_;
	devfuzz::Mutator mutator_;
	std::priority_queue<Held> held_;
	std::array<uint64_t, whats> count_{};
	std::array<uint8_t, 65536> buf_{};
};

What Middle::choose()
{
	auto &rng = mutator_.rng();

	if (!rng.chance(percent_))
		return passed;
	if (fields_ && rng.chance(50))
		return changed;
	return static_cast<What>(rng.range(dropped, readdressed));
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
	if (rng.chance(5))
		mutator_.learn(frame);
	const What what = choose();

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
		if (!mutator_.empty())
			send(to, mutator_.old());
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
	}
}

void Middle::report() const
{
	uint64_t all = 0;

	for (const uint64_t n : count_)
		all += n;
	std::printf("mrc_middle: OK packets=%llu",
		    static_cast<unsigned long long>(all));
	for (unsigned i = 0; i < whats; i++)
		std::printf(" %s=%llu", names[i],
			    static_cast<unsigned long long>(count_[i]));
	std::puts("");
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

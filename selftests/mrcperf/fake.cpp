// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "fake.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <poll.h>
#include <sys/socket.h>

#include "plan.hpp"
#include "session.hpp"

namespace mrcperf
{
class FakeEndpoint : public Endpoint
{
public:
	FakeEndpoint(Fabric &fabric, Direction direction, const Setup &setup)
		: fabric_(fabric), direction_(direction), setup_(setup),
		  memory_((setup.memory + 7) / 8), queues_(setup.qps)
	{
		const std::lock_guard guard(fabric_.lock);

		fabric_.ends[index()] = this;
	}

	~FakeEndpoint() override
	{
		const std::lock_guard guard(fabric_.lock);

		fabric_.ends[index()] = nullptr;
	}

	std::span<uint8_t> memory() override
	{
		return {reinterpret_cast<uint8_t *>(memory_.data()),
			setup_.memory};
	}

	Address address() override
	{
		Address a;

		a.base = base();
		a.rkey = 7;
		a.mtu = direction_ == Direction::to_client ? fabric_.server_mtu
							   : 4096;
		a.device =
			direction_ == Direction::to_client ? "fake1" : "fake0";
		a.qps.resize(setup_.qps);
		return a;
	}

	void connect(const Address &peer, uint16_t mtu) override
	{
		if (peer.rkey != 7)
			throw RunError("a key of somebody else");
		mtu_ = mtu;
	}

	void post_sends(uint32_t qp, std::span<const SendRequest> list) override
	{
		const std::lock_guard guard(fabric_.lock);

		for (const SendRequest &r : list)
			send(qp, r);
	}

	void post_receives(uint32_t qp, uint32_t count) override
	{
		const std::lock_guard guard(fabric_.lock);

		queues_[qp].receives += count;
		if (queues_[qp].receives > setup_.rx_depth)
			throw RunError("the receive queue is full");
	}

	size_t poll_sends(std::span<SendDone> done) override
	{
		const std::lock_guard guard(fabric_.lock);
		const size_t n = take(sent_, done);

		for (const SendDone &d : done.first(n))
			queues_[d.qp].free_up_to(d.tag);
		return n;
	}

	size_t poll_receives(std::span<ReceiveDone> done) override
	{
		const std::lock_guard guard(fabric_.lock);

		return take(received_, done);
	}

	void arm() override { armed_ = true; }

	/* As if something else had woken it, after a moment. */
	void sleep(int fd, int ms) override
	{
		pollfd p{.fd = fd, .events = POLLIN, .revents = 0};

		if (!armed_)
			throw RunError("asleep for ever");
		armed_ = false;
		poll(&p, 1, std::min(ms, 1));
		const std::lock_guard guard(fabric_.lock);

		fabric_.sleeps++;
	}

private:
	struct Queue {
		uint32_t receives = 0;
		std::deque<uint32_t> in_flight;

		void free_up_to(uint32_t tag)
		{
			while (!in_flight.empty()) {
				const uint32_t t = in_flight.front();

				in_flight.pop_front();
				if (t == tag)
					return;
			}
			throw RunError("a completion of nothing");
		}
	};

	size_t index() const { return static_cast<size_t>(direction_); }
	uint64_t base() const { return 0x1000000 * (index() + 1); }

	template <typename T>
	static size_t take(std::deque<T> &from, std::span<T> to)
	{
		const size_t n = std::min(from.size(), to.size());

		std::copy_n(from.begin(), n, to.begin());
		from.erase(from.begin(), from.begin() + static_cast<long>(n));
		return n;
	}

	void send(uint32_t qp, const SendRequest &r)
	{
		FakeEndpoint *peer = fabric_.ends[1 - index()];
		Queue &q = queues_[qp];

		q.in_flight.push_back(r.tag);
		fabric_.longest_queue = std::max<uint64_t>(
			fabric_.longest_queue, q.in_flight.size());
		if (q.in_flight.size() > setup_.depth)
			throw RunError("the send queue is full");
		if (r.local + r.length > setup_.memory)
			throw RunError("local protection error");
		if (r.inlined && r.length > setup_.inline_size)
			throw RunError("too long for inline");
		if (!peer)
			throw RunError("transport retry counter exceeded");
		deliver(*peer, qp, r);
		if (r.signaled)
			sent_.push_back({.qp = qp, .tag = r.tag});
	}

	void deliver(FakeEndpoint &peer, uint32_t qp, const SendRequest &r)
	{
		const uint64_t to = r.remote - peer.base();
		ReceiveDone done{.qp = qp, .imm = r.imm, .length = r.length};

		if (r.remote < peer.base() ||
		    to + r.length > peer.setup_.memory)
			throw RunError("remote access error");
		/* The peer looks at its memory meanwhile: only what is final.
		 */
		const std::span<uint8_t> target = peer.memory().subspan(to);
		std::vector<uint8_t> bytes(
			target.begin(),
			target.begin() + static_cast<long>(std::min<uint64_t>(
						 target.size(),
						 r.length + Layout::guard)));

		std::memcpy(bytes.data(), &memory()[r.local], r.length);
		const Fate fate =
			fabric_.meddle
				? fabric_.meddle({.direction = direction_,
						  .qp = qp,
						  .request = r,
						  .before = target,
						  .target = bytes,
						  .completion = done})
				: Fate::arrives;

		if (fate == Fate::error)
			throw RunError("transport retry counter exceeded");
		if (fate == Fate::arrives)
			copy(target, bytes, r.length);
		if (r.op != Op::write_imm)
			return;
		if (!peer.queues_[qp].receives)
			throw RunError("remote operation error");
		peer.queues_[qp].receives--;
		peer.received_.push_back(done);
	}

	void copy(std::span<uint8_t> target, const std::vector<uint8_t> &bytes,
		  uint64_t length) const
	{
		for (uint64_t i = length; i < bytes.size(); i++)
			if (target[i] != bytes[i])
				target[i] = bytes[i];
		for (uint64_t end = length; end;) {
			const uint64_t from = (end - 1) / mtu_ * mtu_;

			std::memcpy(&target[from], &bytes[from], end - from);
			end = from;
		}
	}

	Fabric &fabric_;
	const Direction direction_;
	const Setup setup_;
	/* Words, because words of it are looked at. */
	std::vector<uint64_t> memory_;
	std::vector<Queue> queues_;
	std::deque<SendDone> sent_;
	std::deque<ReceiveDone> received_;
	uint64_t mtu_ = 4096;
	bool armed_ = false;
};

MakeEndpoint Fabric::client()
{
	return [this](const Setup &s) {
		return std::make_unique<FakeEndpoint>(*this,
						      Direction::to_server, s);
	};
}

MakeEndpoint Fabric::server()
{
	return [this](const Setup &s) {
		if (!server_cannot.empty())
			throw RunError(server_cannot);
		return std::make_unique<FakeEndpoint>(*this,
						      Direction::to_client, s);
	};
}

std::array<int, 2> socket_pair()
{
	std::array<int, 2> fds{};

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()))
		throw std::runtime_error("socketpair");
	return fds;
}

std::vector<std::string> words(const std::string &line)
{
	std::istringstream in(line);
	std::vector<std::string> list;
	std::string word;

	while (in >> word)
		list.push_back(word);
	return list;
}

SessionResult run_session(const std::string &line, Fabric &fabric)
{
	std::ostringstream unused, report, cerr, sout, serr;
	const auto options = parse_options(words(line + " peer"), unused);
	const auto fds = socket_pair();
	SessionResult result;
	std::thread server([&] {
		Link link(fds[1]);

		try {
			const Hello hello = greet(link);

			result.server.status =
				serve(hello, link, fabric.server(), sout, serr);
		} catch (const RunError &e) {
			serr << "refused: " << e.what();
		}
	});
	const auto r = make_report(options->format, report);

	result.client.status = run_client(
		*options, fabric.client(), [&] { return Link(fds[0]); }, *r,
		cerr);
	server.join();
	result.client.err = cerr.str();
	result.server.out = sout.str();
	result.server.err = serr.str();
	result.report = report.str();
	return result;
}
} // namespace mrcperf

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "session.hpp"

#include <algorithm>
#include <ostream>
#include <random>

#include <fmt/format.h>

#include "plan.hpp"
#include "runs.hpp"

namespace mrcperf
{
namespace
{
/* The timeout until the client has sent its own. */
constexpr Seconds greeting_patience{10};

Hello hello_of(const Options &o)
{
	std::random_device random;
	Hello h;

	h.seed = uint64_t{random()} << 32 | random();
	h.largest = largest_size(o);
	h.qps = o.qps;
	h.depth = o.depth;
	h.rx_depth = o.rx_depth;
	h.signal = o.signal;
	h.list = o.list;
	h.inline_size = o.inline_size;
	h.stall_ms = static_cast<uint32_t>(o.stall * 1000);
	h.mtu = static_cast<uint16_t>(o.mtu);
	h.traffic_class = o.traffic_class;
	h.timeout = o.timeout.value_or(unset8);
	if (o.retry) {
		h.linear = o.retry->linear;
		h.exponential = o.retry->exponential;
	}
	h.verify = o.verify;
	h.events = o.events;
	return h;
}

Setup setup_of(const Hello &h)
{
	Setup s;

	s.memory = Layout(h.qps, h.largest).total();
	s.qps = h.qps;
	/* One more for the writes that report consumed immediates. */
	s.depth = h.depth + 1;
	s.rx_depth = h.rx_depth;
	s.inline_size = h.inline_size;
	s.mtu = h.mtu;
	s.traffic_class = h.traffic_class;
	if (h.timeout != unset8)
		s.timeout = h.timeout;
	if (h.linear != unset8)
		s.retry = Retry{h.linear, h.exponential};
	s.events = h.events;
	return s;
}

Seconds patience_of(const Hello &h)
{
	return std::chrono::milliseconds(h.stall_ms);
}

/* Both sides have sent their addresses: connect, and wait for each other. */
uint16_t join(Endpoint &ep, Link &link, const Hello &hello, const Address &own,
	      const Address &peer)
{
	const uint16_t mtu = std::min(own.mtu, peer.mtu);

	if (peer.qps.size() != hello.qps)
		throw ProtocolError(
			fmt::format("the peer has {} queue pairs, not {}",
				    peer.qps.size(), hello.qps));
	ep.connect(peer, mtu);
	for (uint32_t qp = 0; qp < hello.qps; qp++)
		ep.post_receives(qp, hello.rx_depth);
	link.send(Ready{});
	link.expect<Ready>();
	return mtu;
}

/* Sends the reason for the failure to the peer, if it can still be reached. */
void give_up(Link &link, const std::string &why)
{
	try {
		link.send_last(Failed{why});
	} catch (const RunError &) {
		/* The peer is gone and has its own reasons. */
	}
}

class Client
{
public:
	Client(const Options &options, Report &report)
		: o_(options), report_(report), hello_(hello_of(options)),
		  points_(points_of(options)), results_(points_.size())
	{
		for (size_t i = 0; i < points_.size(); i++)
			results_[i].point = points_[i];
	}

	void run(Endpoint &ep, Link &link)
	{
		const Address own = ep.address();

		link.set_patience(patience_of(hello_));
		link.send(hello_);
		link.send(own);
		const auto peer = link.expect<Address>();
		const uint16_t mtu = join(ep, link, hello_, own, peer);
		Side side(ep, link, hello_, peer.base, mtu,
			  Direction::to_server);

		report_.begin(o_, {.device = own.device,
				   .peer_device = peer.device,
				   .mtu = mtu});
		/* All points in turn in each repetition, so that slow changes
		 * of the machine affect all alike.
		 */
		for (uint32_t n = 1; n <= o_.repetitions; n++)
			for (PointResult &result : results_) {
				measure(side, result, n);
				if (n == o_.repetitions)
					report_.point(result);
			}
		link.send(Bye{});
	}

	const Hello &hello() const { return hello_; }
	const Totals &totals() const { return totals_; }
	const std::string &first_bad() const { return first_bad_; }

private:
	void measure(Side &side, PointResult &result, uint32_t repetition)
	{
		const Start start{.run = ++runs_,
				  .test = result.point.test,
				  .op = result.point.op,
				  .size = result.point.size};
		const Amount amount{.messages = o_.iterations,
				    .warmup = o_.warmup,
				    .duration = o_.duration};

		side.prepare_receiving(start);
		side.link.send(start);
		side.link.expect<Start>();
		Measured m = start.test == Kind::lat
				     ? ping(side, start, amount)
				     : send_stream(side, start, amount);

		side.link.send(Done{.sent = m.sent});
		const auto theirs = side.link.expect<Result>();
		Run run{.repetition = repetition,
			.messages = m.messages,
			.bytes = m.messages * start.size,
			.seconds = m.seconds,
			.latency = std::nullopt,
			.checked = m.tally.checked + theirs.checked,
			.bad = m.tally.bad + theirs.bad};

		if (!m.round_trips.empty())
			run.latency =
				scaled(percentiles(m.round_trips), 1e-3 / 2);
		note_bad(start, m.tally.bad, m.tally.first_bad, "here");
		note_bad(start, theirs.bad, theirs.first_bad, "at the server");
		totals_.add(run);
		report_.run(result.point, run);
		result.runs.push_back(run);
	}

	void note_bad(const Start &start, uint64_t bad, const std::string &what,
		      const char *where)
	{
		if (bad && first_bad_.empty())
			first_bad_ = fmt::format(
				"{} {}, {} bytes, {}: {}", name_of(start.test),
				name_of(start.op), start.size, where, what);
	}

	const Options &o_;
	Report &report_;
	const Hello hello_;
	const std::vector<Point> points_;
	std::vector<PointResult> results_;
	Totals totals_;
	std::string first_bad_;
	uint32_t runs_ = 0;
};

/* A start whose fields are within bounds may still not fit this session. */
void check_start(const Start &start, const Hello &hello, uint32_t run)
{
	if (start.run != run || start.size > hello.largest)
		throw ProtocolError("the peer is out of step");
}

/* Serves runs until the client ends the session. */
void serve_runs(Side &side, Tally &all, uint32_t &runs)
{
	for (;;) {
		const Frame frame = side.link.next();

		if (frame.type == FrameType::bye) {
			decode<Bye>(frame);
			return;
		}
		const auto start = decode<Start>(frame);

		check_start(start, side.hello, runs + 1);
		runs++;
		side.prepare_receiving(start);
		side.link.send(start);
		const Tally t = start.test == Kind::lat
					? pong(side, start)
					: receive_stream(side, start);

		all.checked += t.checked;
		if (t.bad && !all.bad)
			all.first_bad = t.first_bad;
		all.bad += t.bad;
		side.link.send(Result{.checked = t.checked,
				      .bad = t.bad,
				      .first_bad = t.first_bad});
	}
}
} // namespace

Exit run_client(const Options &options, const MakeEndpoint &make,
		const Connect &connect, Report &report, std::ostream &err)
{
	Client client(options, report);
	std::string error;

	try {
		const auto ep = make(setup_of(client.hello()));
		Link link = connect();

		try {
			client.run(*ep, link);
		} catch (const PeerFailed &) {
			throw;
		} catch (const RunError &e) {
			give_up(link, e.what());
			throw;
		}
	} catch (const RunError &e) {
		error = e.what();
		err << "mrcperf: " << error << '\n';
	}
	report.end(client.totals(), error);
	if (client.totals().bad) {
		err << fmt::format("mrcperf: {} of {} messages are bad, first: "
				   "{}\n",
				   client.totals().bad, client.totals().checked,
				   client.first_bad());
		return exit_data;
	}
	return error.empty() ? exit_ok : exit_failed;
}

Hello greet(Link &link)
{
	link.set_patience(greeting_patience);
	try {
		const auto hello = link.expect<Hello>();

		hello.check();
		link.set_patience(patience_of(hello));
		return hello;
	} catch (const RunError &e) {
		give_up(link, e.what());
		throw;
	}
}

Exit serve(const Hello &hello, Link &link, const MakeEndpoint &make,
	   std::ostream &out, std::ostream &err)
{
	Tally all;
	uint32_t runs = 0;
	std::string error;

	try {
		const auto peer = link.expect<Address>();
		const auto ep = make(setup_of(hello));
		const Address own = ep->address();

		link.send(own);
		const uint16_t mtu = join(*ep, link, hello, own, peer);
		Side side(*ep, link, hello, peer.base, mtu,
			  Direction::to_client);

		serve_runs(side, all, runs);
	} catch (const PeerFailed &e) {
		error = e.what();
	} catch (const RunError &e) {
		error = e.what();
		give_up(link, error);
	}
	if (!error.empty())
		err << "mrcperf: " << error << '\n';
	if (all.bad)
		err << fmt::format("mrcperf: {} of {} messages are bad, first: "
				   "{}\n",
				   all.bad, all.checked, all.first_bad);
	if (all.bad)
		return exit_data;
	if (!error.empty())
		return exit_failed;
	out << fmt::format("{} runs, {} messages checked\n", runs, all.checked);
	out.flush();
	return exit_ok;
}
} // namespace mrcperf

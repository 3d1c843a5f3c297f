// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * "mrcctl serve" on devices that exist in memory only, for selftests/web. Time
 * and counters go on by an interval with each request for the state, so what a
 * browser sees does not depend on the speed of this machine.
 *
 * usage: serve_fake SCENE HEALTH-FILE [WORDS OF SERVE]...
 *
 *   busy    two devices with traffic, planes that are down, hostile names
 *   user    the same without the right to see queue pairs and EVs
 *   calm    one device with traffic, names that do no harm: for pictures
 *   none    no device
 *   ends    as busy, and the program ends after some requests
 */
#include <cmath>
#include <fstream>
#include <iostream>
#include <mutex>

#include <unistd.h>

#include <fmt/format.h>

#include "fake.hpp"
#include "http_server.hpp"
#include "words.hpp"

namespace
{
using namespace mrcctl;

constexpr int requests_until_end = 6;
constexpr const char *hostile =
	"<img src=x onerror=\"document.title='owned'\"><b>bold</b>";

Port port(uint32_t num, const char *state, bool enabled)
{
	return {.num = num,
		.enabled = enabled,
		.state = state,
		.netdev = fmt::format("eth{}", num),
		.counters = {{"rx_data_bytes", 0},
			     {"tx_data_bytes", 0},
			     {"tx_data_pkts", 0},
			     {"tx_rtx_pkts", 0}}};
}

/* EVs on four planes, of which the last one loses all packets. */
Qp queue_pair(uint32_t qpn, uint32_t pid, const char *program,
	      const char *state, const char *cc, uint32_t evs)
{
	Qp q;

	q.name = {qpn, pid, program, "RC", state};
	q.dest_qpn = qpn + 1000;
	q.cc = cc;
	q.cwnd = 262144 + 4096 * (qpn % 50);
	q.inflight = q.cwnd / 2;
	q.window = 1024;
	q.base_rtt_ns = 11500;
	q.srtt_ns = 23456 + 100ULL * (qpn % 70);
	q.ports_up = q.peer_ports = 0x1e;
	q.ports.resize(4);
	for (uint32_t i = 0; i < evs; i++) {
		const uint32_t plane = i % 4 + 1;
		const uint32_t state_of_ev = plane == 4	   ? 3
					     : i % 16 == 5 ? 2
					     : i % 32 == 2 ? 1
							   : 0;

		q.evs.push_back({.entropy = 0xc000 + i,
				 .port = plane,
				 .state = state_of_ev,
				 .drops = state_of_ev == 3 ? 9 + i : 0});
	}
	return q;
}

FakeDevice device(const char *name)
{
	FakeDevice d;

	d.device.name = name;
	d.device.max_ev_profiles = 8;
	d.device.max_evs = 65536;
	d.device.free_evs = 65472;
	d.device.extension = true;
	d.device.qp =
		QpDefaults{.num_evs = 64, .mpr = 8, .cwnd = 0, .cc = "vegas"};
	return d;
}

class Scene
{
public:
	explicit Scene(const std::string &name, std::string health)
		: health_(std::move(health)),
		  ends_after_(name == "ends" ? requests_until_end : 0)
	{
		system.clock = &clock;
		host.files["/proc/sys/kernel/hostname"] = "node7\n";
		clock.tick = [this](uint64_t) { move(); };
		if (name == "none")
			return;
		make_busy();
		if (name == "user")
			forbid();
		if (name == "calm")
			make_calm();
		move();
	}

	/* Before each request for the state. */
	void next(uint64_t interval_ns)
	{
		clock.sleep_ns(interval_ns);
		if (ends_after_ && ++requests_ > ends_after_)
			_exit(0);
	}

	FakeClock clock;
	FakeSystem system;
	FakeHost host;

private:
	void make_busy()
	{
		FakeDevice &d = system.all["mrc0"] = device("mrc0");

		d.ports = {port(1, "ACTIVE", true), port(2, "ACTIVE", true),
			   port(3, "ACTIVE", true), port(4, "DOWN", true)};
		d.qps = {queue_pair(171, 4242, "ib_write_bw", "RTS", "vegas",
				    64),
			 queue_pair(172, 4242, "ib_write_bw", "RTS", "vegas",
				    64),
			 queue_pair(9, 0, "nvme_rdma", "RTS", "uet-1.0-nscc",
				    32),
			 queue_pair(33, 666, hostile, "RTS", "none", 8),
			 queue_pair(34, 777, "rping", "ERR", "vegas", 0)};
		d.qps[1].timeouts = 2;
		d.evs[0] = {.id = 0,
			    .state = State::online,
			    .mode = EvMode::automatic,
			    .fmt = {},
			    .fields = {},
			    .evs = {}};
		EvProfile p = {.id = 3,
			       .state = State::online,
			       .mode = EvMode::explicit_list,
			       .fmt = 1,
			       .min_active = 1,
			       .fields = {},
			       .evs = {}};

		for (int i = 0; i < 64; i++)
			p.evs.push_back({parse_ev(fmt::format("c0{:02x}@{}", i,
							      i % 4 + 1)),
					 i % 4 == 3    ? EvState::assumed_bad
					 : i % 32 == 2 ? EvState::denied
						       : EvState::good});
		d.evs[3] = p;
		d.qps[0].ev_profile = d.qps[1].ev_profile = 3;
		FakeDevice &e = system.all["mrc1"] = device("mrc1");

		e.ports = {port(5, "ACTIVE", true), port(6, "ACTIVE", false)};
	}

	void make_calm()
	{
		const std::string was = "lab <b>7</b>";

		std::erase_if(system.all.at("mrc0").qps, [](const Qp &q) {
			return q.name.program == hostile;
		});
		system.all.erase("mrc1");
		if (const auto at = health_.find(was); at != std::string::npos)
			health_.replace(at, was.size(), "lab");
	}

	void forbid()
	{
		for (auto &[name, d] : system.all) {
			d.fail = {{"qp", EPERM}, {"ev_state", EPERM}};
			for (Port &p : d.ports)
				p.enabled.reset();
		}
	}

	/* What has happened in an interval. */
	void move()
	{
		const double t = static_cast<double>(++moves_);
		static constexpr double mean[] = {1.42e9, 1.31e9, 0.74e9};
		FakeHost::File f;

		host.files["/health"] = health_;
		const std::string was = "\"time\": 0,";

		if (const auto at = health_.find(was); at != std::string::npos)
			host.files["/health"].replace(
				at, was.size(),
				fmt::format("\"time\": {},",
					    clock.wall_us() / 1000000));
		if (!system.all.contains("mrc0"))
			return;
		FakeDevice &d = system.all["mrc0"];

		for (std::size_t i = 0; i < 3; i++) {
			const double tx =
				mean[i] * (1 + 0.12 * std::sin(t / 3 + 2. * i) +
					   0.06 * std::sin(1.7 * t));

			auto &c = d.ports[i].counters;

			c[0].value += static_cast<uint64_t>(tx * 0.31);
			c[1].value += static_cast<uint64_t>(tx);
			c[2].value += static_cast<uint64_t>(tx / 4096);
			c[3].value += i == 2 ? 117 : 3;
			for (std::size_t q = 0; q < 3; q++) {
				const double share = q == 2 ? 0.2 : 0.4;
				Qp &qp = d.qps[q];

				qp.ports[i].tx_bytes +=
					static_cast<uint64_t>(tx * share);
				qp.tx_pkts += static_cast<uint64_t>(tx * share /
								    4096);
				qp.rtx_pkts += q == 1 ? 40 : 0;
			}
		}
		for (Qp &q : d.qps) {
			if (q.name.program != hostile)
				continue;
			q.tx_pkts += 12;
			q.ports[0].tx_bytes += 49152;
		}
	}

	std::string health_;
	const int ends_after_;
	int requests_ = 0;
	uint64_t moves_ = 0;
};

/* The server of the program, with a scene that moves. */
class MovingServer : public WebServer
{
public:
	explicit MovingServer(Scene &scene) : scene_(scene) {}

	uint16_t listen(const std::string &address, uint16_t port) override
	{
		return server_.listen(address, port);
	}

	void run(const std::function<WebResponse(const WebRequest &)> &answer,
		 uint64_t timeout_ns) override
	{
		server_.run(
			[&](const WebRequest &r) {
				const std::lock_guard<std::mutex> held(lock_);

				if (r.target == "/api/state")
					scene_.next(one_second);
				return answer(r);
			},
			timeout_ns);
	}

private:
	Scene &scene_;
	std::mutex lock_;
	HttpServer server_;
};
} // namespace

int main(int argc, char **argv)
{
	if (argc < 3) {
		std::cerr << "usage: serve_fake SCENE HEALTH-FILE [WORDS]...\n";
		return 1;
	}
	std::ifstream file(argv[2]);
	std::ostringstream health;

	health << file.rdbuf();
	Scene scene(argv[1], health.str());
	MovingServer web(scene);
	Env env{.in = std::cin,
		.out = std::cout,
		.err = std::cerr,
		.system = scene.system,
		.clock = scene.clock,
		.tty = false,
		.rows = 0,
		.host = scene.host,
		.web = &web,
		.serve_program = ""};
	std::vector<std::string> args = {"serve"};

	args.insert(args.end(), argv + 3, argv + argc);
	return mrcctl::run(args, env);
}

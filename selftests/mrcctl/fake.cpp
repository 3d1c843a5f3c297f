// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "fake.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "names.hpp"
#include "words.hpp"

namespace mrcctl
{
namespace
{
struct FakeEvents : EventSource {
	FakeEvents(FakeDevice &d, FakeClock &c) : dev(d), clock(c) {}

	std::vector<EvEvent> wait(int ms) override
	{
		if (dev.events.empty()) {
			clock.sleep_ns(static_cast<uint64_t>(ms) * 1000000);
			return {};
		}
		clock.sleep_ns(1000000);
		std::vector<EvEvent> out = dev.events.front();

		dev.events.pop_front();
		return out;
	}

	FakeDevice &dev;
	FakeClock &clock;
};

template <typename Map> State state_of(const Map &map, uint64_t id)
{
	const auto it = map.find(id);

	return it == map.end() ? State::init : it->second.state;
}

[[noreturn]] void refuse(const char *kind, uint64_t id, int err)
{
	throw DeviceError(fmt::format("{} {}", kind, id), err);
}

/*
 * The rules that all kinds have: one step at a time, other attributes only on
 * the way to OFFLINE or there.
 */
template <typename Map>
auto &step(Map &map, const char *kind, uint64_t id,
	   const std::optional<State> &to, bool others)
{
	const State now = state_of(map, id);
	const auto n = static_cast<int>(now);

	if (to && std::abs(static_cast<int>(*to) - n) != 1)
		refuse(kind, id, EINVAL);
	if (others && !(now == State::offline ||
			(now == State::init && to == State::offline)))
		refuse(kind, id, EINVAL);
	if (!to && now == State::init)
		refuse(kind, id, EINVAL);
	auto &p = map[id];

	p.id = id;
	if (to)
		p.state = *to;
	return p;
}

class FakeBackend : public Backend
{
public:
	FakeBackend(FakeDevice &d, FakeClock &c) : dev_(d), clock_(c) {}

	Device device() override
	{
		dev_.call("device");
		return dev_.device;
	}

	void change(const DeviceChange &c) override
	{
		dev_.call("set_attr");
		if (c.extension)
			dev_.device.extension = c.extension;
		if (c.mpr)
			dev_.device.qp->mpr = *c.mpr;
		if (c.num_evs)
			dev_.device.qp->num_evs = *c.num_evs;
		if (c.cwnd)
			dev_.device.qp->cwnd = *c.cwnd;
		if (c.cc)
			dev_.device.qp->cc = *c.cc;
	}
	std::vector<Port> ports() override
	{
		dev_.call("ports");
		std::vector<Port> out = dev_.ports;

		for (Port &p : out)
			p.counters.clear();
		return out;
	}

	std::vector<Counter> counters(uint32_t port) override
	{
		dev_.call("counters");
		return port_at(port).counters;
	}

	void enable_port(uint32_t port, bool enabled) override
	{
		dev_.call("enable_port");
		port_at(port).enabled = enabled;
	}

	TrafficClasses traffic_classes() override { return dev_.tc; }
	void set_traffic_classes(const TrafficClasses &tc) override
	{
		dev_.call("set_tc");
		dev_.tc = tc;
	}

	Limits limits() override { return dev_.limits; }
	void set_limits(const LimitChange &c) override
	{
		dev_.call("set_limits");
		for (std::size_t i = 0; i < c.size(); i++)
			dev_.limits.max[i] = c[i].value_or(dev_.limits.max[i]);
	}

	std::vector<Default> defaults() override { return dev_.defaults; }
	void set_default(const Default &d) override
	{
		const auto same = [&](const Default &o) {
			return show_prefix(o.prefix) == show_prefix(d.prefix);
		};

		dev_.call("set_default");
		const std::size_t n = std::erase_if(dev_.defaults, same);

		if (!d.empty())
			dev_.defaults.push_back(d);
		else if (!n)
			throw DeviceError("default " + show_prefix(d.prefix),
					  ENOENT);
	}

	State fmt_state(uint64_t id) override
	{
		return state_of(dev_.fmts, id);
	}
	State ev_state(uint64_t id) override
	{
		dev_.call("ev_state");
		return state_of(dev_.evs, id);
	}
	State cc_state(uint64_t id) override { return state_of(dev_.ccs, id); }
	Fmt fmt(uint64_t id) override { return dev_.fmts.at(id); }
	EvProfile ev(uint64_t id) override { return dev_.evs.at(id); }
	CcProfile cc(uint64_t id) override { return dev_.ccs.at(id); }

	void change(const FmtChange &c) override
	{
		log("fmt", c.id, c.state);
		Fmt &f = step(dev_.fmts, "fmt", c.id, c.state,
			      c.mode || c.fields);

		if (c.mode)
			f.mode = *c.mode;
		if (c.fields)
			f.fields = *c.fields;
		forget(dev_.fmts, c.id);
	}

	void change(const EvChange &c) override
	{
		log("ev", c.id, c.state);
		EvProfile &p = step(dev_.evs, "ev", c.id, c.state,
				    c.mode || c.fmt || c.count);

		if (c.mode)
			p.mode = *c.mode;
		if (c.fmt)
			p.fmt = c.fmt;
		if (c.min_active)
			p.min_active = *c.min_active;
		if (c.event_mask)
			p.event_mask = *c.event_mask;
		if (c.fields)
			p.fields = *c.fields;
		if (c.count) {
			p.count = *c.count;
			p.evs.resize(p.count);
			for (std::size_t i = 0;
			     p.mode == EvMode::generated && i < p.count; i++)
				p.evs[i].ev = parse_ev(
					fmt::format("{:04x}@{}", i, i % 2 + 1));
		}
		forget(dev_.evs, c.id);
	}

	void change(const CcChange &c) override
	{
		log("cc", c.id, c.state);
		CcProfile &p = step(dev_.ccs, "cc", c.id, c.state,
				    c.algorithm.has_value());

		if (c.algorithm)
			p.algorithm = *c.algorithm;
		if (c.nscc)
			p.nscc = c.nscc;
		forget(dev_.ccs, c.id);
	}

	void edit(uint64_t id, const std::vector<EvEdit> &edits) override
	{
		dev_.call(fmt::format("edit {}", id));
		dev_.log.push_back(
			fmt::format("edit {}: {} evs", id, edits.size()));
		for (const EvEdit &e : edits) {
			auto &evs = dev_.evs.at(id).evs;
			const auto it = std::find_if(
				evs.begin(), evs.end(), [&](const EvEntry &o) {
					return o.ev == e.old;
				});

			if (it == evs.end())
				refuse("ev", id, ENOENT);
			it->state = e.state;
			if (e.with)
				it->ev = *e.with;
		}
	}

	EpResult endpoint(const EpRequest &r) override
	{
		dev_.call("endpoint");
		dev_.request = r;
		dev_.requests.push_back(r);
		if (const int err = dev_.unsent ? dev_.unsent(r) : 0)
			throw DeviceError("endpoint", err);
		if (dev_.answers)
			return answer(r);
		return {.responses = dev_.responses,
			.timed_out = dev_.responses.size() < r.evs.size()};
	}

	/* Waits for the answers that do not come. */
	EpResult answer(const EpRequest &r)
	{
		EpResult out;

		for (std::size_t i = 0; i < r.evs.size(); i++)
			if (dev_.answers(r, r.evs[i]))
				out.responses.push_back(
					{.request = static_cast<uint32_t>(i),
					 .port = r.evs[i].port,
					 .rtt_ns = 12000});
		out.timed_out = out.responses.size() < r.evs.size();
		if (out.timed_out)
			clock_.sleep_ns(r.timeout_ns);
		return out;
	}

	std::unique_ptr<EventSource> events(uint32_t) override
	{
		dev_.call("events");
		return std::make_unique<FakeEvents>(dev_, clock_);
	}

	std::vector<QpName> qps() override
	{
		std::vector<QpName> out;

		dev_.call("qps");
		for (const Qp &q : dev_.qps)
			out.push_back(q.name);
		return out;
	}

	std::optional<Qp> qp(const QpName &name) override
	{
		dev_.call("qp");
		/* The kernel's answer for one that has just ended. */
		if (name.state == "GONE")
			return {};
		for (const Qp &q : dev_.qps)
			if (q.name.qpn == name.qpn)
				return q;
		return {};
	}

private:
	Port &port_at(uint32_t num)
	{
		for (Port &p : dev_.ports)
			if (p.num == num)
				return p;
		throw DeviceError(fmt::format("port {}", num), EINVAL);
	}

	void log(const char *kind, uint64_t id, std::optional<State> to)
	{
		const std::string s = fmt::format("{} {}{}", kind, id,
						  to ? " " + name_of(*to) : "");

		dev_.call(s);
		dev_.log.push_back(s);
	}

	template <typename Map> static void forget(Map &map, uint64_t id)
	{
		if (map[id].state == State::init)
			map.erase(id);
	}

	FakeDevice &dev_;
	FakeClock &clock_;
};

FakeDevice two_ports()
{
	FakeDevice d;

	d.device.name = "mrc0";
	d.device.protocol_version = 1;
	d.device.ctl_protocol_version = 1;
	d.device.max_wimm = 128;
	d.device.max_wimm_dest = 128;
	d.device.max_mpr = 255;
	d.device.mpr_resolution = 1;
	d.device.max_qp_hint = 1024;
	d.device.extension = true;
	d.device.qp =
		QpDefaults{.num_evs = 64, .mpr = 8, .cwnd = 0, .cc = "none"};
	d.device.cap = 7;
	d.device.opt = 1 | 2 | 4 | 16 | 32;
	d.device.max_fmt_profiles = 64;
	d.device.max_ev_profiles = 256;
	d.device.max_cc_profiles = 64;
	d.device.max_evs = 65536;
	d.device.free_evs = 65528;
	d.device.max_evs_profile = 1024;
	d.device.ev_count_align = 1;
	d.device.ev_max_width = 256;
	d.device.fmt_modes = 7;
	d.device.ev_modes = 7;
	d.device.port_mask = 6;
	d.device.algorithms = {"uet-1.0-nscc", "none"};
	d.ports = {{.num = 1,
		    .enabled = true,
		    .state = "ACTIVE",
		    .netdev = "eth0",
		    .counters = {{"rx_data_bytes", 4096},
				 {"tx_data_bytes", 1000000},
				 {"tx_data_pkts", 1000},
				 {"tx_rtx_pkts", 3}}},
		   {.num = 2,
		    .enabled = false,
		    .state = "DOWN",
		    .netdev = "",
		    .counters = {{"tx_data_bytes", 0}}}};
	d.tc.dscp = {0, 10, 12, 14, 16, 46};
	d.tc.trimming = true;
	return d;
}
} // namespace

void FakeDevice::call(const std::string &name)
{
	const auto it = fail.find(name);

	if (it != fail.end())
		throw DeviceError(name, it->second);
}

std::vector<std::string> FakeSystem::devices()
{
	std::vector<std::string> out;

	for (const auto &[name, dev] : all)
		out.push_back(name);
	return out;
}

std::unique_ptr<Backend> FakeSystem::open(const std::string &name)
{
	all.at(name).call("open");
	return std::make_unique<FakeBackend>(all.at(name), *clock);
}

MrcctlTest::MrcctlTest()
{
	system_.clock = &clock_;
	system_.all["mrc0"] = two_ports();
}

void MrcctlTest::add_profiles()
{
	Nscc n;

	n.base_rtt = 12000;
	n.gamma = 0.8f;
	n.fi_scale = 0.25f;
	n.max_cwnd = 1 << 20;
	dev().fmts[1] = {.id = 1,
			 .state = State::online,
			 .mode = FmtMode::stev,
			 .fields = {16, 16}};
	dev().evs[0] = {.id = 0,
			.state = State::offline,
			.mode = EvMode::automatic,
			.fmt = {},
			.fields = {},
			.evs = {}};
	dev().evs[3] = {
		.id = 3,
		.state = State::online,
		.mode = EvMode::explicit_list,
		.fmt = 1,
		.count = 3,
		.min_active = 1,
		.event_mask = 3,
		.fields = {{16, 0x100, 0xf, 0, 0}, {16, 0xc000, 0xff, 1, 0x7f}},
		.evs = {{parse_ev("3e80@1"), EvState::good},
			{parse_ev("3e70@2"), EvState::assumed_bad},
			{parse_ev("3e60@2"), EvState::denied}}};
	dev().ccs[2] = {.id = 2,
			.state = State::online,
			.algorithm = "uet-1.0-nscc",
			.nscc = n};
	dev().ccs[5] = {
		.id = 5, .state = State::offline, .algorithm = "", .nscc = {}};
	dev().defaults = {
		{parse_prefix("10.1.0.0/16"), 3, no_profile},
		{parse_prefix("fd00:1::/32"), no_profile, 2},
	};
}

void MrcctlTest::add_qps()
{
	Qp q;

	q.name = {17, 4242, "ib_write_bw", "RC", "RTS"};
	q.dest_qpn = 23;
	q.ev_profile = 3;
	q.cc_profile = 2;
	q.cc = "uet-1.0-nscc";
	q.sched_state = 1;
	q.cwnd = 262144;
	q.inflight = 131072;
	q.window = 1024;
	q.base_rtt_ns = 11500;
	q.srtt_ns = 23456;
	q.tx_pkts = 100000;
	q.rtx_pkts = 12;
	q.timeouts = 1;
	q.ports_up = 6;
	q.peer_ports = 2;
	q.ports = {{60000, 245000000}, {40000, 5000000000}};
	q.evs = {{0x0103c2e1, 1, 0, 0},
		 {0x0104c2e1, 1, 2, 3},
		 {0x0105c2e1, 2, 3, 9},
		 {0x0106c2e1, 2, 1, 0}};
	dev().qps.push_back(q);
	q = {};
	q.name = {18, 0, "nvme_rdma", "RC", "INIT"};
	q.ports = {{}, {}};
	dev().qps.push_back(q);
}

Env MrcctlTest::env(std::istream &in, std::ostream &out, std::ostream &err,
		    WebServer *web)
{
	return {.in = in,
		.out = out,
		.err = err,
		.system = system_,
		.clock = clock_,
		.tty = tty_,
		.rows = 0,
		.host = host_,
		.web = web,
		.serve_program = "/libexec/mrcctl-serve"};
}

Result MrcctlTest::run(const std::vector<std::string> &args,
		       const std::string &in)
{
	std::istringstream input(in);
	std::ostringstream out, err;
	Env e = env(input, out, err, &web_);
	const int status = mrcctl::run(args, e);

	return {status, out.str(), err.str()};
}

Result MrcctlTest::run(const std::string &line, const std::string &in)
{
	std::istringstream words(line);
	std::vector<std::string> args;
	std::string word;

	while (words >> word)
		args.push_back(word);
	return run(args, in);
}

void MrcctlTest::golden(const std::string &name, const std::string &text)
{
	const std::string path = std::string(GOLDEN_DIR "/") + name;
	const char *mode = std::getenv("MRCCTL_GOLDEN");

	if (mode && std::string(mode) == "write") {
		std::ofstream(path) << text;
		return;
	}
	std::ifstream f(path);
	std::ostringstream want;

	ASSERT_TRUE(f) << path << " cannot be read";
	want << f.rdbuf();
	EXPECT_EQ(text, want.str()) << "see " << path;
}

void MrcctlTest::golden_both(const std::string &name, const std::string &line)
{
	const Result text = run(line), json = run("-p " + line);

	EXPECT_EQ(text.status, 0) << text.err;
	EXPECT_EQ(json.status, 0) << json.err;
	EXPECT_EQ(text.err + json.err, "");
	golden(name + ".txt", text.out);
	golden(name + ".json", json.out);
	/* -j says the same in one line. */
	const Result one = run("-j " + line);

	EXPECT_EQ(std::count(one.out.begin(), one.out.end(), '\n'), 1);
	EXPECT_EQ(Json::parse(one.out), Json::parse(json.out));
}
} // namespace mrcctl

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "measure.hpp"

#include <chrono>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "error.hpp"
#include "memory.hpp"

namespace mrcbench
{
namespace
{
using mrcperf::ProtocolError;
using mrcperf::RunError;

double now()
{
	return std::chrono::duration<double>(
		       std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

double seconds_of(const timeval &t)
{
	return static_cast<double>(t.tv_sec) +
	       static_cast<double>(t.tv_usec) / 1e6;
}

/* Sum of a counter of mrc over the ports; 0 for other devices. */
uint64_t port_counter(const std::string &device, const char *name)
{
	const std::filesystem::path ports =
		"/sys/class/infiniband/" + device + "/ports";
	std::error_code none;
	uint64_t sum = 0;

	for (const auto &port :
	     std::filesystem::directory_iterator(ports, none)) {
		std::istringstream in(file_text(
			(port.path() / "hw_counters" / name).string()));
		uint64_t value = 0;

		if (in >> value)
			sum += value;
	}
	return sum;
}

/* Counters of the namespace; two lines: names and values. */
void tcp_packets(Snapshot &s)
{
	std::istringstream in(file_text("/proc/self/net/snmp"));
	std::string names, line;

	while (std::getline(in, line)) {
		if (line.rfind("Tcp:", 0) != 0)
			continue;
		if (names.empty()) {
			names = line;
			continue;
		}
		std::istringstream n(names), v(line);
		std::string name, value;

		while (n >> name && v >> value) {
			if (name == "OutSegs")
				s.sent = std::stoull(value);
			if (name == "RetransSegs")
				s.resent = std::stoull(value);
		}
	}
}

uint64_t own_rings()
{
	return mapped_rings(file_text("/proc/self/maps"));
}

std::string boot_id()
{
	return file_text("/proc/sys/kernel/random/boot_id");
}

/* A thread that runs the server's traffic. */
class Worker
{
public:
	explicit Worker(Traffic &traffic)
		: fd_(eventfd(0, EFD_CLOEXEC)), traffic_(traffic),
		  thread_([this] { run(); })
	{
	}
	Worker(const Worker &) = delete;
	Worker &operator=(const Worker &) = delete;
	~Worker()
	{
		end();
		close(fd_);
	}

	/* Rethrows an exception of the traffic. */
	void finish()
	{
		end();
		if (failed_)
			std::rethrow_exception(failed_);
	}

private:
	void run()
	{
		try {
			traffic_.serve(stop_, fd_);
		} catch (...) {
			failed_ = std::current_exception();
		}
	}
	void end()
	{
		const uint64_t one = 1;

		stop_ = true;
		if (write(fd_, &one, sizeof(one)) < 0)
			stop_ = true; /* the thread also checks this flag */
		if (thread_.joinable())
			thread_.join();
	}

	std::atomic<bool> stop_{false};
	int fd_;
	Traffic &traffic_;
	std::exception_ptr failed_;
	std::thread thread_;
};
} // namespace

Snapshot snapshot(const Place &place)
{
	Snapshot s;
	rusage usage{};

	s.at = now();
	s.cpu = cpu_times();
	getrusage(RUSAGE_SELF, &usage);
	s.own = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
	if (place.tcp()) {
		tcp_packets(s);
	} else {
		s.sent = port_counter(place.device, "tx_data_pkts");
		s.resent = port_counter(place.device, "tx_rtx_pkts");
	}
	return s;
}

Message message_of(const Snapshot &s)
{
	return {{"at", s.at},
		{"own", s.own},
		{"bytes", s.bytes},
		{"user", s.cpu.user},
		{"system", s.cpu.system},
		{"irq", s.cpu.irq},
		{"idle", s.cpu.idle},
		{"steal", s.cpu.steal},
		{"processors", s.cpu.processors}};
}

Snapshot snapshot_in(const Message &m)
{
	const auto real = [&m](const char *key) {
		const auto v = m.find(key);

		if (v == m.end() || !v->is_number())
			throw ProtocolError(fmt::format(
				"the peer's \"{}\" is not valid", key));
		return v->get<double>();
	};
	Snapshot s;

	s.at = real("at");
	s.own = real("own");
	s.bytes = number_in(m, "bytes", UINT64_MAX);
	s.cpu.user = number_in(m, "user", UINT64_MAX);
	s.cpu.system = number_in(m, "system", UINT64_MAX);
	s.cpu.irq = number_in(m, "irq", UINT64_MAX);
	s.cpu.idle = number_in(m, "idle", UINT64_MAX);
	s.cpu.steal = number_in(m, "steal", UINT64_MAX);
	s.cpu.processors = static_cast<unsigned int>(
		number_in(m, "processors", 65536));
	return s;
}

/* Only the members that the peer needs. */
Message message_of(const Shape &s)
{
	return {{"test", name_of(s.test)},
		{"op", name_of(s.op)},
		{"wait", name_of(s.wait)},
		{"size", std::to_string(s.size)},
		{"qps", std::to_string(s.qps)},
		{"mtu", std::to_string(s.mtu)},
		{"depth", std::to_string(s.depth)},
		{"list", std::to_string(s.list)},
		{"inline", std::to_string(s.inline_size)},
		{"timeout", std::to_string(s.timeout)},
		{"seconds", fmt::format("{:f}", s.seconds)}};
}

Shape shape_in(const Message &m)
{
	Shape s;

	if (!m.is_object())
		throw ProtocolError("the peer does not say what to measure");
	try {
		for (const auto &[key, value] : m.items())
			set_key(s, key, value.get<std::string>());
	} catch (const nlohmann::json::exception &) {
		throw ProtocolError("what the peer wants has no words");
	} catch (const mrcperf::UsageError &e) {
		throw ProtocolError(fmt::format("the peer wants: {}",
						e.what()));
	}
	return s;
}

Values run_client(const Talk &talk, const Place &place, const Shape &shape,
		  const std::string &host, double background)
{
	const KernelMemory memory = shape.test == Kind::idle ? kernel_memory()
							     : KernelMemory{};

	talk.send({{"column", place.column},
		   {"boot", boot_id()},
		   {"shape", message_of(shape)}});
	const std::unique_ptr<Traffic> traffic =
		place.tcp() ? tcp_client(talk, place, shape, host)
			    : verbs_client(talk, place, shape);
	const Message ready = talk.receive(setup_seconds);
	const bool one_machine = text_in(ready, "boot") == boot_id();

	if (shape.test == Kind::idle) {
		const uint64_t theirs =
			one_machine ? number_in(ready, "rings", UINT64_MAX / 2)
				    : 0;
		Values v = memory_figures(memory, kernel_memory(),
					  own_rings() + theirs,
					  shape.qps * (one_machine ? 2.0 : 1.0));

		talk.send({{"do", "end"}});
		talk.receive(setup_seconds);
		return v;
	}
	/* The replies are read later, to save time. */
	Counts counts = traffic->drive([&] {
		talk.send({{"do", "mark"}});
		return snapshot(place);
	});
	const Snapshot from = snapshot_in(talk.receive(setup_seconds));
	const Snapshot to = snapshot_in(talk.receive(setup_seconds));

	talk.send({{"do", "end"}});
	talk.receive(setup_seconds);
	return figures(shape, counts, from, to,
		       place.tcp() && counts.latencies.empty(), one_machine,
		       background);
}

void run_server(const Talk &talk,
		const std::function<Place(const std::string &)> &find)
{
	try {
		const Message hello = talk.receive(setup_seconds);
		const Place place = find(text_in(hello, "column"));
		const Shape shape = shape_in(hello.value("shape", Message()));
		const std::unique_ptr<Traffic> traffic =
			place.tcp() ? tcp_server(talk, place, shape)
				    : verbs_server(talk, place, shape);
		Worker worker(*traffic);

		talk.send({{"boot", boot_id()}, {"rings", own_rings()}});
		for (;;) {
			const Message m = talk.receive(2 * shape.seconds +
						       setup_seconds);
			const std::string what = text_in(m, "do");

			if (what == "end")
				break;
			if (what != "mark")
				throw ProtocolError("the peer wants something "
						    "unknown");
			Snapshot s = snapshot(place);

			s.bytes = traffic->taken;
			talk.send(message_of(s));
		}
		worker.finish();
		talk.send({{"boot", boot_id()}});
	} catch (const std::exception &e) {
		/* The peer may be gone; then it needs no reason. */
		try {
			talk.send({{"error", e.what()}});
		} catch (const RunError &) {
		}
		throw;
	}
}
} // namespace mrcbench

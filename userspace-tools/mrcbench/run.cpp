// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "run.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <ostream>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/gnuplot.hpp"
#include "device_attr.hpp"
#include "error.hpp"
#include "hosts.hpp"
#include "link.hpp"

namespace mrcbench
{
namespace
{
using mrcperf::fail_errno;
using mrcperf::RunError;
using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t interrupted;

/* A measurement is killed after its seconds and this many more. */
constexpr double patience = 60;
constexpr double background_seconds = 1;

class Child
{
public:
	explicit Child(const std::function<void()> &f) : pid_(fork())
	{
		if (pid_ < 0)
			fail_errno("fork", errno);
		if (pid_)
			return;
		/* The child must not clean up what belongs to the parent. */
		int status = 1;

		try {
			f();
			status = 0;
		} catch (const std::exception &) {
			/* The peer was already informed. */
		}
		_exit(status);
	}
	Child(const Child &) = delete;
	Child &operator=(const Child &) = delete;
	~Child()
	{
		int status;

		kill(pid_, SIGKILL);
		while (waitpid(pid_, &status, 0) < 0 && errno == EINTR)
			;
	}

private:
	pid_t pid_;
};

std::string read_until(int fd, double seconds)
{
	const auto end =
		Clock::now() + std::chrono::duration_cast<Clock::duration>(
				       std::chrono::duration<double>(seconds));
	std::array<char, 4096> buffer;
	std::string text;

	for (;;) {
		pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
		const auto left =
			std::chrono::ceil<std::chrono::milliseconds>(
				end - Clock::now())
				.count();

		if (left <= 0)
			throw RunError(fmt::format(
				"the measurement did not end within {:g} s",
				seconds));
		if (interrupted)
			throw RunError("interrupted");
		if (poll(&p, 1, static_cast<int>(left)) <= 0)
			continue;
		const ssize_t n = read(fd, buffer.data(), buffer.size());

		if (n <= 0)
			return text;
		text.append(buffer.data(), static_cast<size_t>(n));
	}
}

void write_text(int fd, const std::string &text)
{
	for (size_t done = 0; done < text.size();) {
		const ssize_t n =
			write(fd, text.data() + done, text.size() - done);

		if (n <= 0)
			return;
		done += static_cast<size_t>(n);
	}
}

struct Pair {
	explicit Pair(bool of_sockets)
	{
		if (of_sockets ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC,
					    0, fd)
			       : pipe2(fd, O_CLOEXEC))
			fail_errno("socket pair", errno);
	}
	Pair(const Pair &) = delete;
	Pair &operator=(const Pair &) = delete;
	~Pair()
	{
		shut(0);
		shut(1);
	}
	void shut(int i)
	{
		if (fd[i] >= 0)
			close(fd[i]);
		fd[i] = -1;
	}
	int fd[2] = {-1, -1};
};

/* The client's side in a process; writes figures or the error to @out. */
void tell_client(int out, const std::function<Values()> &f)
{
	Message m;

	try {
		m["values"] = f();
	} catch (const std::exception &e) {
		m["error"] = e.what();
	}
	write_text(out, m.dump(-1, ' ', false,
			       Message::error_handler_t::replace));
}

Values values_in(const std::string &text)
{
	const Message m = Message::parse(text, nullptr, false);

	if (m.is_object() && m.contains("error"))
		throw RunError(m["error"].get<std::string>());
	if (!m.is_object() || !m.contains("values"))
		throw RunError("the measuring process died");
	return m["values"].get<Values>();
}

class Runner
{
public:
	Runner(const Plan &plan, const Cli &cli, const Machine &machine,
	       std::ostream &log)
		: plan_(plan), cli_(cli), machine_(machine), log_(log),
		  results_(plan)
	{
	}

	Results run()
	{
		if (cli_.to.empty())
			make_hosts();
		for (unsigned int r = 0; r < plan_.repeat; r++)
			for (const Section &s : plan_.sections)
				if (wanted(s))
					for (const Point &p : s.points)
						all_columns(r, s, p);
		return std::move(results_);
	}

private:
	bool wanted(const Section &s) const
	{
		return cli_.only.empty() ||
		       std::find(cli_.only.begin(), cli_.only.end(), s.name) !=
			       cli_.only.end();
	}

	/* Only mrc has several planes. */
	static unsigned int planes_of(const std::string &column,
				      const Shape &shape)
	{
		return column == "mrc" ? shape.planes : 1;
	}

	Hosts *hosts_for(const std::string &column, const Shape &shape)
	{
		for (const auto &h : hosts_)
			if (h->fits(column, planes_of(column, shape),
				    shape.mtu))
				return h.get();
		return nullptr;
	}

	/* Makes all hosts before anything is measured, so that nothing changes
	 * later.
	 */
	void make_hosts()
	{
		for (const Section &s : plan_.sections)
			for (const Point &p : s.points)
				for (const std::string &c : s.columns) {
					if (!wanted(s) ||
					    hosts_for(c, p.shape) ||
					    missing_.count(c))
						continue;
					make_host(c, p.shape);
				}
	}

	/* If a column cannot run on this machine, the others still do. */
	void make_host(const std::string &column, const Shape &shape)
	{
		try {
			if (column == "mrc" || column == "rxe")
				run_program({"modprobe", column == "rxe"
								 ? "rdma_rxe"
								 : "mrc"});
			hosts_.push_back(std::make_unique<Hosts>(
				static_cast<unsigned int>(hosts_.size()),
				column, planes_of(column, shape), shape.mtu));
		} catch (const RunError &e) {
			missing_[column] = e.what();
			log_ << fmt::format("mrcbench: no {}: {}\n", column,
					    e.what());
		}
	}

	/* Each repetition begins with another column, so that none is always
	 * first.
	 */
	void all_columns(unsigned int r, const Section &s, const Point &p)
	{
		for (size_t i = 0; i < s.columns.size(); i++) {
			const std::string &c =
				s.columns[(i + r) % s.columns.size()];
			Sample sample;

			sample.section = s.name;
			sample.label = p.label();
			sample.column = c;
			sample.repetition = r;
			try {
				sample.values = one(c, p.shape);
			} catch (const RunError &e) {
				if (interrupted)
					throw;
				sample.error = e.what();
			}
			say(sample, s);
			results_.add(std::move(sample));
		}
	}

	void say(const Sample &sample, const Section &s)
	{
		std::string line = fmt::format(
			"{}/{} {}{} {}:", sample.repetition + 1, plan_.repeat,
			s.name,
			sample.label.empty()
				? ""
				: fmt::format(" [{}]", sample.label),
			sample.column);

		for (const std::string &m : s.metrics)
			if (const auto v = sample.values.find(m);
			    v != sample.values.end())
				line += fmt::format(" {} {:.4g}", m, v->second);
		if (!sample.error.empty())
			line += " failed: " + sample.error;
		log_ << line << '\n' << std::flush;
	}

	static bool changes_device(const std::string &column,
				   const Shape &shape)
	{
		return column == "mrc" && (shape.evs || !shape.cc.empty());
	}

	Values one(const std::string &column, const Shape &shape)
	{
		if (interrupted)
			throw RunError("interrupted");
		if (const auto m = missing_.find(column); m != missing_.end())
			throw RunError(m->second);
		return cli_.to.empty() ? between_hosts(column, shape)
				       : to_server(column, shape);
	}

	Values between_hosts(const std::string &column, const Shape &shape)
	{
		Hosts *hosts = hosts_for(column, shape);

		if (!hosts)
			throw RunError("its hosts were not made");
		std::unique_ptr<DeviceAttr> attr[2];

		if (changes_device(column, shape))
			for (const bool server : {false, true})
				attr[server] = std::make_unique<DeviceAttr>(
					(server ? hosts->server()
						: hosts->client())
						.device,
					shape,
					[=] { hosts->enter(server); });
		hosts->impair(shape.netem, shape.netem_back);
		Pair talk(true), figures(false);
		const Child server([&] {
			talk.shut(0);
			figures.shut(0);
			figures.shut(1);
			hosts->enter(true);
			run_server(Talk(std::exchange(talk.fd[1], -1)),
				   [&](const std::string &) {
					   return hosts->server();
				   });
		});
		const Child client([&] {
			talk.shut(1);
			figures.shut(0);
			tell_client(figures.fd[1], [&] {
				hosts->enter(false);
				return run_client(
					Talk(std::exchange(talk.fd[0], -1)),
					hosts->client(), shape, "",
					machine_.idle_busy);
			});
		});

		talk.shut(0);
		talk.shut(1);
		figures.shut(1);
		return values_in(read_until(figures.fd[0],
					    2 * shape.seconds + patience));
	}

	Values to_server(const std::string &column, const Shape &shape)
	{
		const auto place =
			std::find_if(cli_.places.begin(), cli_.places.end(),
				     [&](const Place &p) {
					     return p.column == column;
				     });

		if (place == cli_.places.end())
			throw RunError(fmt::format("--column {} is not given",
						   column));
		if (!shape.netem.empty() || !shape.netem_back.empty())
			throw RunError("netem is set up between hosts of its "
				       "own only, not with --to");
		std::unique_ptr<DeviceAttr> attr;

		if (changes_device(column, shape))
			attr = std::make_unique<DeviceAttr>(place->device,
							    shape, [] {});
		Pair figures(false);
		const Child client([&] {
			figures.shut(0);
			tell_client(figures.fd[1], [&] {
				const mrcperf::Link link = mrcperf::connect_to(
					cli_.to, cli_.port,
					mrcperf::Seconds(10));
				const Talk talk(dup(link.fd()));

				return run_client(talk, *place, shape, cli_.to,
						  machine_.idle_busy);
			});
		});

		figures.shut(1);
		return values_in(read_until(figures.fd[0],
					    2 * shape.seconds + patience));
	}

	const Plan &plan_;
	const Cli &cli_;
	const Machine &machine_;
	std::ostream &log_;
	Results results_;
	std::vector<std::unique_ptr<Hosts>> hosts_;
	std::map<std::string, std::string> missing_;
};

std::string processor_name()
{
	std::istringstream in(file_text("/proc/cpuinfo"));
	std::string line;

	while (std::getline(in, line)) {
		const size_t colon = line.find(": ");

		if (line.rfind("model name", 0) == 0 &&
		    colon != std::string::npos)
			return line.substr(colon + 2);
	}
	return "processor";
}
} // namespace

Machine this_machine()
{
	const std::time_t t = std::time(nullptr);
	std::array<char, 32> when{};
	utsname name{};
	std::tm tm{};
	Machine m;

	gmtime_r(&t, &tm);
	std::strftime(when.data(), when.size(), "%Y-%m-%dT%H:%M:%SZ", &tm);
	m.when = when.data();
	if (!uname(&name))
		m.kernel = name.release;
	m.processor = processor_name();
	m.driver = file_text("/sys/module/mrc/srcversion");
	while (!m.driver.empty() && m.driver.back() == '\n')
		m.driver.pop_back();
	const CpuTimes from = cpu_times();

	poll(nullptr, 0, static_cast<int>(background_seconds * 1000));
	const CpuTimes to = cpu_times();

	m.processors = to.processors;
	m.idle_busy = cpu_use(from, to, background_seconds, 0).busy;
	return m;
}

Results run_plan(const Plan &plan, const Cli &cli, const Machine &machine,
		 std::ostream &log)
{
	return Runner(plan, cli, machine, log).run();
}

namespace
{
void write_file(const std::filesystem::path &path,
		const std::function<void(std::ostream &)> &write)
{
	std::ofstream out(path);

	write(out);
	out.flush();
	if (!out)
		throw RunError(fmt::format("{}: write error", path.string()));
}

void write_charts(const std::filesystem::path &dir, const Results &results)
{
	for (const Section &s : results.plan().sections)
		for (const std::string &m : s.metrics) {
			const auto chart = chart_of(results, s, m);

			if (!chart)
				continue;
			const std::string svg =
				gnuplot::draw(*chart, gnuplot::Format::svg);

			write_file(dir / fmt::format("{}-{}.svg", s.name, m),
				   [&](std::ostream &out) { out << svg; });
		}
}
} // namespace

void write_all(const std::string &directory, const Results &results,
	       const Machine &machine, std::ostream &log)
{
	const std::filesystem::path dir(directory);

	std::filesystem::create_directories(dir);
	write_file(dir / "results.csv",
		   [&](std::ostream &out) { write_csv(out, results); });
	write_file(dir / "results.json", [&](std::ostream &out) {
		write_json(out, results, machine);
	});
	write_file(dir / "summary.txt", [&](std::ostream &out) {
		mrcbench::write_text(out, results, machine);
	});
	try {
		write_charts(dir, results);
	} catch (const gnuplot::Error &e) {
		log << "mrcbench: no charts: " << e.what() << '\n';
	}
}

void serve_all(const Cli &cli, std::ostream &log)
{
	mrcperf::Listener listener(cli.bind, cli.port);

	for (uint32_t n = 0; !cli.sessions || n < cli.sessions; n++) {
		std::string who;
		const mrcperf::Link link = listener.accept(who);

		/* One client at a time: two would affect each other's figures.
		 */
		try {
			run_server(Talk(dup(link.fd())),
				   [&cli](const std::string &column) {
					   for (const Place &p : cli.places)
						   if (p.column == column)
							   return p;
					   throw RunError(fmt::format(
						   "the server has no {}",
						   column));
				   });
		} catch (const std::exception &e) {
			log << fmt::format("mrcbench: {}: {}\n", who, e.what());
		}
	}
}

void catch_signals()
{
	struct sigaction action {};

	action.sa_handler = [](int) { interrupted = 1; };
	sigaction(SIGINT, &action, nullptr);
	sigaction(SIGTERM, &action, nullptr);
}
} // namespace mrcbench

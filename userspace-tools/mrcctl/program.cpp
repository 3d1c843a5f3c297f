// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "program.hpp"

#include <chrono>
#include <iostream>
#include <thread>

#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.hpp"
#include "error.hpp"
#include "host.hpp"
#include "kernel.hpp"

namespace mrcctl
{
namespace
{
class SystemClock : public Clock
{
public:
	uint64_t wall_us() override
	{
		return count<std::chrono::microseconds>(
			std::chrono::system_clock::now().time_since_epoch());
	}

	uint64_t mono_ns() override
	{
		return count<std::chrono::nanoseconds>(
			std::chrono::steady_clock::now().time_since_epoch());
	}

	void sleep_ns(uint64_t ns) override
	{
		std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
	}

private:
	template <typename Unit, typename Duration>
	static uint64_t count(Duration d)
	{
		return static_cast<uint64_t>(
			std::chrono::duration_cast<Unit>(d).count());
	}
};
/* Lines of the terminal; 0 if @fd is no terminal or the size is unknown. */
std::size_t rows_of(int fd)
{
	winsize size{};

	return ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_row;
}
} // namespace

int run_program(int argc, char **argv, WebServer *web,
		const std::string &serve_program)
{
	Kernel system;
	LocalHost host;
	SystemClock clock;
	Env env{.in = std::cin,
		.out = std::cout,
		.err = std::cerr,
		.system = system,
		.clock = clock,
		.tty = isatty(STDOUT_FILENO) != 0,
		.rows = rows_of(STDOUT_FILENO),
		.host = host,
		.web = web,
		.serve_program = serve_program};

	try {
		return run({argv + 1, argv + argc}, env);
	} catch (const std::exception &e) {
		std::cerr << "mrcctl: " << e.what() << '\n';
		return exit_device;
	}
}
} // namespace mrcctl

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "tap.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace
{
/* Seconds that a test may take; far more than any of them needs. */
constexpr unsigned patience = 150;

std::atomic<unsigned> teardown_failures;
char clock_line[256];
size_t clock_len;

void clock_ran_out(int)
{
	[[maybe_unused]] const ssize_t n = write(1, clock_line, clock_len);

	_exit(1);
}
} // namespace

void teardown_failed(const char *what, int err)
{
	teardown_failures++;
	std::printf("# %s fails: %s\n", what, errno_text(err).c_str());
}

void Check::verdict(const std::string &what, bool ok, int got, int want)
{
	judge(ok, [&] {
		return what + ": returned " + std::to_string(got) + ", errno " +
		       errno_text(errno) + ", expected " + errno_text(want);
	});
}

void Suite::run(const std::string &name,
		const std::function<void(Check &)> &test)
{
	const unsigned before = teardown_failures;
	Check c;

	std::snprintf(clock_line, sizeof(clock_line), "not ok %s: hangs\n",
		      name.c_str());
	clock_len = std::strlen(clock_line);
	std::signal(SIGALRM, clock_ran_out);
	alarm(patience);
	c.attempt([&] { test(c); });
	alarm(0);
	if (teardown_failures != before)
		c.that(false, "an object could not be freed");
	report_.result(name, c);
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "check.hpp"

#include <cstdio>
#include <cstring>
#include <exception>

std::string errno_text(int err)
{
	const char *name = err > 0 ? strerrorname_np(err) : nullptr;

	return err ? (name ? name : "error") + std::string("/") +
			       std::to_string(err)
		   : "0";
}

namespace tap
{
void Check::that(bool ok, const std::string &what)
{
	judge(ok, [&] { return what; });
}

void Check::err(int got, int want, const std::string &what)
{
	judge(got == want, [&] {
		return what + ": " + errno_text(got) + ", expected " +
		       errno_text(want);
	});
}

void Check::eq(const std::string &got, const std::string &want,
	       const std::string &what)
{
	judge(got == want,
	      [&] { return what + ": " + got + ", expected " + want; });
}

void Check::attempt(const std::function<void()> &part)
{
	try {
		part();
	} catch (const std::exception &e) {
		that(false, e.what());
	}
}

void Report::run(const std::string &name,
		 const std::function<void(Check &)> &test)
{
	Check c;

	c.attempt([&] { test(c); });
	result(name, c);
}

void Report::result(const std::string &name, const Check &c)
{
	for (const std::string &w : c.wrong())
		std::printf("# %s\n", w.c_str());
	if (style_ == counted)
		std::printf("# %u checks\n", c.done());
	std::printf("%s %s\n", c.good() ? "ok" : "not ok", name.c_str());
	std::fflush(stdout);
	bad_ += !c.good();
}
} // namespace tap

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "check.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

std::string errno_text(int err)
{
	const char *name = err > 0 ? strerrorname_np(err) : nullptr;

	return err ? (name ? name : "error") + std::string("/") +
			       std::to_string(err)
		   : "0";
}

void must(int err, const std::string &what)
{
	if (err)
		throw Failure(what + ": " + errno_text(err));
}

int failed(int ret)
{
	/* -1000 is no errno: a function that returns something else is wrong.
	 */
	return !ret ? 0 : ret == -1 ? errno : -1000;
}

void Check::that(bool ok, const std::string &what)
{
	done_++;
	if (!ok)
		wrong_.push_back(what);
}

void Check::err(int got, int want, const std::string &what)
{
	that(got == want,
	     what + ": " + errno_text(got) + ", expected " + errno_text(want));
}

void Check::eq(int64_t got, int64_t want, const std::string &what)
{
	that(got == want, what + ": " + std::to_string(got) + ", expected " +
				  std::to_string(want));
}

void Check::eq(const std::string &got, const std::string &want,
	       const std::string &what)
{
	that(got == want, what + ": " + got + ", expected " + want);
}

void Report::run(const std::string &name,
		 const std::function<void(Check &)> &fn)
{
	Check c;

	try {
		fn(c);
	} catch (const std::exception &e) {
		c.that(false, e.what());
	}
	for (const std::string &w : c.wrong())
		std::printf("# %s\n", w.c_str());
	std::printf("# %u checks\n", c.done());
	std::printf("%s %s\n", c.good() ? "ok" : "not ok", name.c_str());
	std::fflush(stdout);
	bad_ += !c.good();
}

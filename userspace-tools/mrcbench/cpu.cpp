// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "cpu.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <unistd.h>

namespace mrcbench
{
CpuTimes parse_cpu_times(const std::string &stat, uint64_t hz)
{
	std::istringstream in(stat);
	std::string line;
	CpuTimes t;
	bool seen = false;

	while (std::getline(in, line)) {
		if (line.rfind("cpu", 0) != 0)
			continue;
		if (line.rfind("cpu ", 0) != 0) {
			t.processors++;
			continue;
		}
		std::istringstream words(line.substr(4));
		/* user nice system idle iowait irq softirq steal */
		std::array<uint64_t, 8> v{};

		for (uint64_t &n : v)
			words >> n;
		if (!words)
			throw std::runtime_error("/proc/stat: " + line);
		for (uint64_t &n : v)
			n *= 1000000000 / hz;
		t.user = v[0] + v[1];
		t.system = v[2];
		t.idle = v[3] + v[4];
		t.irq = v[5] + v[6];
		t.steal = v[7];
		seen = true;
	}
	if (!seen || !t.processors)
		throw std::runtime_error("/proc/stat has no processors");
	return t;
}

std::string file_text(const std::string &path)
{
	std::ifstream in(path);
	std::ostringstream text;

	text << in.rdbuf();
	return in ? text.str() : "";
}

CpuTimes cpu_times()
{
	return parse_cpu_times(file_text("/proc/stat"),
			       static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
}

CpuUse cpu_use(const CpuTimes &from, const CpuTimes &to, double elapsed,
	       double background)
{
	const double all = elapsed * to.processors;
	const auto since = [](uint64_t a, uint64_t b) {
		return b > a ? static_cast<double>(b - a) / 1e9 : 0;
	};
	CpuUse use;

	if (!(all > 0))
		return use;
	const double away = since(from.idle, to.idle) +
			    since(from.steal, to.steal);

	use.seconds =
		std::clamp(all - away - background * all, 0.0, all);
	use.busy = use.seconds / all;
	use.user = std::min(1.0, since(from.user, to.user) / all);
	use.system = std::min(1.0, since(from.system, to.system) / all);
	use.irq = std::min(1.0, since(from.irq, to.irq) / all);
	return use;
}
} // namespace mrcbench

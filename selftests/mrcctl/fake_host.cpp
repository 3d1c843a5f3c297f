// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The fake machine beside its devices: time, files, programs. */
#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fake.hpp"

namespace mrcctl
{
void FakeClock::sleep_ns(uint64_t t)
{
	ns += t;
	if (tick)
		tick(ns);
}

Host::File FakeHost::read(const std::string &path)
{
	const auto err = errors.find(path);
	const auto it = files.find(path);

	if (err != errors.end())
		return {err->second, ""};
	if (it == files.end())
		return {ENOENT, ""};
	return {0, it->second};
}

std::vector<std::string> FakeHost::list(const std::string &dir)
{
	std::vector<std::string> out;

	for (const auto &[path, text] : files) {
		if (!path.starts_with(dir + "/"))
			continue;
		const std::string rest = path.substr(dir.size() + 1);
		const std::string name = rest.substr(0, rest.find('/'));

		if (out.empty() || out.back() != name)
			out.push_back(name);
	}
	std::sort(out.begin(), out.end());
	out.erase(std::unique(out.begin(), out.end()), out.end());
	return out;
}

Host::Ran FakeHost::run(const std::vector<std::string> &command)
{
	const std::string words = fmt::format("{}", fmt::join(command, " "));

	ran.push_back(words);
	if (on_run)
		on_run(words);
	const auto it = programs.find(words);

	return it == programs.end() ? Ran{} : it->second;
}

void FakeHost::become(const std::vector<std::string> &command)
{
	ran.push_back(fmt::format("{}", fmt::join(command, " ")));
	throw DeviceError(command[0], ENOENT);
}

int FakeHost::replace(const std::string &path, const std::string &text)
{
	const auto err = errors.find(path);

	if (err != errors.end())
		return err->second;
	files[path] = text;
	return 0;
}

int FakeHost::make_directory(const std::string &path)
{
	const auto err = errors.find(path);

	return err == errors.end() ? 0 : err->second;
}

std::shared_ptr<void> FakeHost::lock(const std::string &path)
{
	ran.push_back("lock " + path);
	return nullptr;
}

uint16_t FakeWeb::listen(const std::string &to, uint16_t port)
{
	if (err)
		throw DeviceError(to, err);
	address = to;
	return port ? port : 40000;
}

void FakeWeb::run(
	const std::function<WebResponse(const WebRequest &)> &answer,
	uint64_t timeout)
{
	timeout_ns = timeout;
	if (visit)
		visit(answer);
}
} // namespace mrcctl

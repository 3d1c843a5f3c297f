// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "state.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "error.hpp"
#include "files.hpp"
#include "interrupt.hpp"

namespace mrclab
{
namespace
{
namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string run_dir = "/run/mrclab";
constexpr int version = 1;

/* Names come from the command line: they are never a path. */
std::string dir_of(const std::string &name)
{
	if (name.empty() || name.find_first_of("/.") != std::string::npos)
		throw UsageError(
			fmt::format("\"{}\" is no name of a fabric", name));
	return run_dir + "/" + name;
}

/* Nobody but root writes there. */
void make_dir(const std::string &dir)
{
	std::error_code err;
	struct stat st;

	fs::create_directories(dir, err);
	if (!err)
		fs::permissions(dir, fs::perms(0755), err);
	if (err)
		throw SystemError(dir, err.value());
	if (lstat(dir.c_str(), &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid)
		throw SystemError(dir + " is no directory of root");
}

/* Names go into paths and into lines for ip(8). */
void check_name(const std::string &path, const std::string &name)
{
	if (name.empty() || name[0] == '.' || name[0] == '-' ||
	    name.find_first_of("/ \t\n\\\"'#") != std::string::npos)
		throw SystemError(
			fmt::format("{}: \"{}\" is no name", path, name));
}

constexpr const char *remedy =
	"; to give it up, remove the fabric's namespaces with \"ip netns "
	"del\", "
	"its devices with \"rdma link del\", and this directory";

Json json_of(const State &s)
{
	return {{"version", version},	  {"name", s.name},
		{"file", s.file},	  {"text", s.text},
		{"complete", s.complete}, {"dirty", s.dirty},
		{"netns", s.netns},	  {"devices", s.devices},
		{"faults", s.faults}};
}
} // namespace

Lock::Lock()
{
	const std::string path = run_dir + "/lock";

	make_dir(run_dir);
	fd_ = open(path.c_str(), O_RDWR | O_CREAT, 0600);
	if (fd_ < 0)
		throw SystemError(path, errno);
	try {
		for (bool said = false; flock(fd_, LOCK_EX | LOCK_NB) != 0;
		     said = true) {
			if (errno != EWOULDBLOCK)
				throw SystemError(path, errno);
			if (!said)
				std::cerr << "mrclab: waiting for another "
					     "mrclab\n";
			sleep_or_interrupt(std::chrono::milliseconds(50));
		}
	} catch (...) {
		close(fd_);
		throw;
	}
}

Lock::~Lock()
{
	close(fd_);
}

bool is_locked()
{
	const int fd = open((run_dir + "/lock").c_str(), O_RDWR | O_CLOEXEC);
	const bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0;

	if (fd >= 0)
		close(fd);
	return locked;
}

std::vector<std::string> fabric_names()
{
	std::vector<std::string> names;
	std::error_code none;

	for (const auto &entry : fs::directory_iterator(run_dir, none))
		if (fs::exists(entry.path() / "state.json", none))
			names.push_back(entry.path().filename());
	std::sort(names.begin(), names.end());
	return names;
}

bool has_state(const std::string &name)
{
	std::error_code none;

	return fs::exists(dir_of(name) + "/state.json", none);
}

State load_state(const std::string &name)
{
	const std::string path = dir_of(name) + "/state.json";
	std::ifstream in(path);
	State s;

	if (!in) {
		const std::vector<std::string> up = fabric_names();

		throw UsageError(fmt::format(
			"there is no fabric \"{}\"; {}", name,
			up.empty()
				? "none is up"
				: fmt::format("up: {}", fmt::join(up, ", "))));
	}
	try {
		const Json j = Json::parse(in);

		if (j.at("version") != version)
			throw SystemError(path +
					  " is of another version of "
					  "mrclab" +
					  remedy);
		j.at("name").get_to(s.name);
		j.at("file").get_to(s.file);
		j.at("text").get_to(s.text);
		j.at("complete").get_to(s.complete);
		j.at("dirty").get_to(s.dirty);
		j.at("netns").get_to(s.netns);
		j.at("devices").get_to(s.devices);
		j.at("faults").get_to(s.faults);
	} catch (const Json::exception &e) {
		throw SystemError(path + ": " + e.what() + remedy);
	}
	if (s.name != name)
		throw SystemError(path + " is the record of " + s.name +
				  remedy);
	for (const auto &[netns, cookie] : s.netns)
		check_name(path, netns);
	for (const auto &[device, netns] : s.devices) {
		check_name(path, device);
		check_name(path, netns);
	}
	return s;
}

void save_state(const State &s)
{
	const std::string dir = dir_of(s.name);

	make_dir(dir);
	/* Bytes that are no UTF-8 can be in comments of the file. */
	replace_text(
		dir + "/state.json",
		json_of(s).dump(1, ' ', false, Json::error_handler_t::replace) +
			"\n");
}

void remove_state(const std::string &name)
{
	std::error_code err;

	fs::remove_all(dir_of(name), err);
	if (err)
		throw SystemError(dir_of(name), err.value());
}
} // namespace mrclab

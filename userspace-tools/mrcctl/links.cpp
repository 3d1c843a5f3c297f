// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "links.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "error.hpp"
#include "host.hpp"
#include "words.hpp"

namespace mrcctl
{
namespace
{
/* Of a device, as the module has it. */
constexpr std::size_t max_netdevs = 16;

/* Names of devices and netdevs become parts of paths and words of commands. */
bool is_plain(const std::string &s, std::size_t most)
{
	return !s.empty() && s.size() <= most && s[0] != '-' && s[0] != '.' &&
	       std::all_of(s.begin(), s.end(), [](char c) {
		       return (c >= 'a' && c <= 'z') ||
			      (c >= 'A' && c <= 'Z') ||
			      (c >= '0' && c <= '9') || c == '_' || c == '-' ||
			      c == '.' || c == ':' || c == '@';
	       });
}

class LinkParser
{
public:
	explicit LinkParser(const std::string &path) { file_.path = path; }

	void line(std::string_view text)
	{
		const std::string s = stripped(text);

		line_++;
		if (s.empty() || s[0] == '#')
			return;
		if (!std::all_of(s.begin(), s.end(), [](char c) {
			    return (c >= ' ' && c <= '~') || c == '\t';
		    }))
			fail("a byte that is not printable ASCII");
		const std::size_t eq = s.find('=');

		if (eq == std::string::npos)
			fail(fmt::format("\"{}\" is not KEY = VALUE",
					 printable(s, 40)));
		set(stripped(std::string_view(s).substr(0, eq)),
		    stripped(std::string_view(s).substr(eq + 1)));
	}

	LinkFile take()
	{
		if (file_.name.empty())
			throw UsageError(file_.path + ": name is missing");
		if (file_.netdevs.empty())
			throw UsageError(file_.path + ": netdev is missing");
		return std::move(file_);
	}

private:
	[[noreturn]] void fail(const std::string &what) const
	{
		throw UsageError(at_line(file_.path, line_, what));
	}

	void set(const std::string &key, const std::string &value)
	{
		if (value.empty())
			fail(fmt::format("{} has no value",
					 printable(key, 40)));
		if (key == "name")
			set_name(value);
		else if (key == "netdev")
			add_netdev(value);
		else if (key == "profiles")
			set_profiles(value);
		else if (key == "extension")
			set_extension(value);
		else
			fail(fmt::format("\"{}\" is not name, netdev, profiles "
					 "or extension",
					 printable(key, 40)));
	}

	void set_name(const std::string &value)
	{
		/* The provider and the udev rule know devices by it. */
		if (!is_plain(value, 63) || !value.starts_with("mrc"))
			fail(fmt::format("\"{}\" is no name of a device: these "
					 "begin with mrc",
					 printable(value, 40)));
		if (!file_.name.empty())
			fail("a second name");
		file_.name = value;
		file_.name_line = line_;
	}

	void add_netdev(const std::string &value)
	{
		if (!is_plain(value, 15))
			fail(fmt::format("\"{}\" is no name of a netdev",
					 printable(value, 40)));
		if (std::find(file_.netdevs.begin(), file_.netdevs.end(),
			      value) != file_.netdevs.end())
			fail(fmt::format("{} is there twice", value));
		if (file_.netdevs.size() == max_netdevs)
			fail(fmt::format("more than {} netdevs", max_netdevs));
		file_.netdevs.push_back(value);
		file_.netdev_lines.push_back(line_);
	}

	void set_profiles(const std::string &value)
	{
		if (value[0] != '/')
			fail(fmt::format("\"{}\" does not begin with /",
					 printable(value, 40)));
		if (!file_.profiles.empty())
			fail("a second file of profiles");
		file_.profiles = value;
		file_.profiles_line = line_;
	}

	void set_extension(const std::string &value)
	{
		if (value != "on" && value != "off")
			fail(fmt::format("\"{}\" is not on or off",
					 printable(value, 40)));
		if (file_.extension)
			fail("a second extension");
		file_.extension = value == "on";
	}

	LinkFile file_;
	unsigned int line_ = 0;
};
} // namespace

std::string at_line(const std::string &path, unsigned int line,
		    const std::string &what)
{
	return fmt::format("{}:{}: {}", path, line, what);
}

LinkFile parse_link_file(const std::string &path, std::string_view text)
{
	LinkParser parser(path);

	while (!text.empty()) {
		const std::size_t end = text.find('\n');

		parser.line(text.substr(0, end));
		text.remove_prefix(end == std::string_view::npos ? text.size()
								 : end + 1);
	}
	return parser.take();
}
} // namespace mrcctl

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "links.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "error.hpp"
#include "host.hpp"
#include "plane_words.hpp"

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

std::vector<std::string> words_of(const std::string &s)
{
	std::vector<std::string> out;
	std::string::size_type at = 0;

	while ((at = s.find_first_not_of(" \t", at)) != std::string::npos) {
		const auto end = std::min(s.find_first_of(" \t", at), s.size());

		out.push_back(s.substr(at, end - at));
		at = end;
	}
	return out;
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
		for (std::size_t i = 0; i < file_.planes.size(); i++)
			if (!has_netdev(file_.planes[i].netdev))
				throw UsageError(at_line(
					file_.path, file_.plane_lines[i],
					fmt::format("{} is no netdev of {}",
						    file_.planes[i].netdev,
						    file_.name)));
		return std::move(file_);
	}

private:
	bool has_netdev(const std::string &name) const
	{
		return std::find(file_.netdevs.begin(), file_.netdevs.end(),
				 name) != file_.netdevs.end();
	}

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
		else if (key == "plane")
			add_plane(value);
		else
			fail(fmt::format("\"{}\" is not name, netdev, plane, "
					 "profiles or extension",
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
		if (has_netdev(value))
			fail(fmt::format("{} is there twice", value));
		if (file_.netdevs.size() == max_netdevs)
			fail(fmt::format("more than {} netdevs", max_netdevs));
		file_.netdevs.push_back(value);
		file_.netdev_lines.push_back(line_);
	}

	plane::Wanted plane_in(const std::string &value) const
	{
		try {
			Words words(words_of(value));

			return plane::wanted_words(words);
		} catch (const UsageError &e) {
			fail(e.what());
		}
	}

	void add_plane(const std::string &value)
	{
		plane::Wanted wanted = plane_in(value);

		for (const plane::Wanted &p : file_.planes)
			if (p.netdev == wanted.netdev)
				fail(fmt::format("a second plane {}",
						 p.netdev));
		file_.planes.push_back(std::move(wanted));
		file_.plane_lines.push_back(line_);
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

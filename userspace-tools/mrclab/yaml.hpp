/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrclab: reads YAML strictly, with the line of whatever is wrong. */
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace mrclab
{
class YamlFile
{
public:
	/* Files of more bytes are refused. */
	static constexpr std::size_t max_size = 1 << 20;

	using Key = std::pair<std::string_view,
			      std::function<void(const YAML::Node &)>>;

	/* Throws FileError if @text is no YAML, or several documents. */
	YamlFile(std::string_view text, std::string file);

	const YAML::Node &root() const { return root_; }
	const std::string &file() const { return file_; }

	static int line(const YAML::Node &node);
	[[noreturn]] void fail(const YAML::Node &at,
			       const std::string &why) const;

	/*
	 * Calls the function of each key that the map has, in the order of
	 * the file. Other keys, repeated keys and keys without a value are
	 * errors. UsageErrors of the functions become FileErrors with the
	 * value's line.
	 */
	void map(const YAML::Node &node, const std::string &what,
		 const std::vector<Key> &keys) const;
	/* The same for maps whose keys are not known before. */
	void
	each(const YAML::Node &node, const std::string &what,
	     const std::function<void(const YAML::Node &key,
				      const YAML::Node &value)> &use) const;
	/* The elements of a list. */
	void list(const YAML::Node &node, const std::string &what,
		  const std::function<void(const YAML::Node &)> &use) const;
	/* The word at @node. Throws UsageError for lists, maps and nothing. */
	static std::string word(const YAML::Node &node);
	static bool truth(const YAML::Node &node); /* true, false, on, off */
	/* A word or a list of up to a thousand words. */
	std::vector<std::string> words(const YAML::Node &node,
				       const std::string &what) const;

private:
	std::string file_;
	YAML::Node root_;
};

/*
 * The whole file, or its first @most bytes and one more, so that the reader can refuse
 * it. Throws FileError if it cannot be read.
 */
std::string read_text_up_to(std::size_t most, const std::string &file);
/* read_text_up_to() with YamlFile::max_size. */
std::string read_text(const std::string &file);
} // namespace mrclab

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "yaml.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>

#include "error.hpp"

namespace mrclab
{
namespace
{
/* Where the last document begins that was read. */
struct Documents final : YAML::EventHandler {
	int line = 0;

	void OnDocumentStart(const YAML::Mark &mark) override
	{
		line = mark.line + 1;
	}
	void OnDocumentEnd() override {}
	void OnNull(const YAML::Mark &, YAML::anchor_t) override {}
	void OnAlias(const YAML::Mark &, YAML::anchor_t) override {}
	void OnScalar(const YAML::Mark &, const std::string &, YAML::anchor_t,
		      const std::string &) override
	{
	}
	void OnSequenceStart(const YAML::Mark &, const std::string &,
			     YAML::anchor_t, YAML::EmitterStyle::value) override
	{
	}
	void OnSequenceEnd() override {}
	void OnMapStart(const YAML::Mark &, const std::string &, YAML::anchor_t,
			YAML::EmitterStyle::value) override
	{
	}
	void OnMapEnd() override {}
};

/* The line of a second document, or of what yaml-cpp left out; 0: none. */
int second_document(std::string_view text)
{
	std::istringstream in{std::string(text)};
	YAML::Parser parser(in);
	Documents found;

	parser.HandleNextDocument(found);
	return parser.HandleNextDocument(found) ? found.line : 0;
}

/* Line @number of @text, from 0. */
std::string_view line_at(std::string_view text, int number)
{
	for (; number > 0 && !text.empty(); number--)
		text.remove_prefix(std::min(text.find('\n'), text.size() - 1) +
				   1);
	return text.substr(0, text.find('\n'));
}

/* What yaml-cpp does not say of the two commonest mistakes. */
std::string hint(std::string_view line)
{
	const std::size_t end =
		std::min(line.find_first_not_of(" \t"), line.size());

	if (line.substr(0, end).find('\t') != std::string_view::npos)
		return "; YAML is indented by blanks, not by tabs";
	if (line.substr(end).starts_with('*'))
		return "; a word that begins with * needs quotes";
	return "";
}
} // namespace

YamlFile::YamlFile(std::string_view text, std::string file)
	: file_(std::move(file))
{
	if (text.size() > max_size)
		throw FileError(
			file_, 0,
			fmt::format("is longer than {} bytes", max_size));
	try {
		/* Not LoadAll(): some files keep it busy for ever. */
		root_ = YAML::Load(std::string(text));
		if (const int line = second_document(text))
			throw FileError(file_, line,
					"a second document begins here; a file "
					"has one");
	} catch (const YAML::DeepRecursion &e) {
		throw FileError(file_, e.mark.line + 1,
				"lists and maps are nested too deeply");
	} catch (const YAML::Exception &e) {
		throw FileError(file_, e.mark.line + 1,
				e.msg + hint(line_at(text, e.mark.line)));
	}
}

int YamlFile::line(const YAML::Node &node)
{
	return node.Mark().line + 1;
}

void YamlFile::fail(const YAML::Node &at, const std::string &why) const
{
	throw FileError(file_, line(at), why);
}

void YamlFile::each(const YAML::Node &node, const std::string &what,
		    const std::function<void(const YAML::Node &,
					     const YAML::Node &)> &use) const
{
	std::set<std::string> seen;

	if (!node.IsMap())
		fail(node,
		     fmt::format("{} must be a map of \"key: value\"", what));
	for (const auto &pair : node) {
		if (!pair.first.IsScalar())
			fail(pair.first, "a key must be a single word");

		const std::string key = word(pair.first);

		if (!seen.insert(key).second)
			fail(pair.first,
			     fmt::format("{} has \"{}\" twice", what, key));
		/* The line of no value is that of what follows. */
		if (pair.second.IsNull())
			fail(pair.first,
			     fmt::format("\"{}\" has no value", key));
		try {
			use(pair.first, pair.second);
		} catch (const FileError &) {
			throw;
		} catch (const UsageError &e) {
			/* What an alias stands for is further up. */
			fail(line(pair.second) < line(pair.first) ? pair.first
								  : pair.second,
			     fmt::format("{}: {}", key, e.what()));
		}
	}
}

void YamlFile::map(const YAML::Node &node, const std::string &what,
		   const std::vector<Key> &keys) const
{
	each(node, what, [&](const YAML::Node &key, const YAML::Node &value) {
		std::string known;

		for (const auto &[name, use] : keys) {
			if (name == key.Scalar())
				return use(value);
			known += (known.empty() ? "" : ", ");
			known += name;
		}
		fail(key, fmt::format("{} has no key \"{}\"; its keys are {}",
				      what, key.Scalar(), known));
	});
}

void YamlFile::list(const YAML::Node &node, const std::string &what,
		    const std::function<void(const YAML::Node &)> &use) const
{
	if (!node.IsSequence())
		fail(node, fmt::format("{} must be a list", what));
	for (const YAML::Node &element : node) {
		try {
			use(element);
		} catch (const FileError &) {
			throw;
		} catch (const UsageError &e) {
			fail(element, e.what());
		}
	}
}

std::string YamlFile::word(const YAML::Node &node)
{
	if (!node.IsScalar())
		throw UsageError("a single word or number is expected here");
	return node.Scalar();
}

bool YamlFile::truth(const YAML::Node &node)
{
	const std::string w = word(node);

	if (w == "true" || w == "on" || w == "yes")
		return true;
	if (w == "false" || w == "off" || w == "no")
		return false;
	throw UsageError(fmt::format("\"{}\" is neither true nor false", w));
}

std::vector<std::string> YamlFile::words(const YAML::Node &node,
					 const std::string &what) const
{
	constexpr std::size_t most = 1000;
	std::vector<std::string> all;

	if (!node.IsSequence())
		return {word(node)};
	if (node.size() == 0 || node.size() > most)
		fail(node, fmt::format("{} has 1 to {} words", what, most));
	list(node, what,
	     [&all](const YAML::Node &e) { all.push_back(word(e)); });
	return all;
}

std::string read_text_up_to(std::size_t most, const std::string &file)
{
	constexpr std::size_t step = YamlFile::max_size;
	std::string text;

	errno = 0;
	std::ifstream in(file, std::ios::binary);

	if (!in)
		throw FileError(file, 0, std::strerror(errno));
	while (in && text.size() <= most) {
		const std::size_t had = text.size();

		text.resize(had + std::min(step, most + 1 - had));
		in.read(text.data() + had,
			static_cast<std::streamsize>(text.size() - had));
		text.resize(had + static_cast<std::size_t>(in.gcount()));
	}
	if (in.bad() || (text.empty() && errno == EISDIR))
		throw FileError(file, 0, std::strerror(errno ? errno : EIO));
	return text;
}

std::string read_text(const std::string &file)
{
	return read_text_up_to(YamlFile::max_size, file);
}
} // namespace mrclab

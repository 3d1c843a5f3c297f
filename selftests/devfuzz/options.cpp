// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "options.hpp"

#include <charconv>
#include <getopt.h>
#include <sstream>
#include <utility>

#include "../common/failure.hpp"

namespace devfuzz
{
const char *const kind_names[kinds] = {"plain", "wild", "faults", "control"};

namespace
{
const char *const usage =
	"usage: mrc_devfuzz [OPTIONS] NETNS:DEVICE:NETDEV[,NETDEV...]...\n"
	"  -s, --seed N       the choices of the whole run (default 1)\n"
	"  -p, --programs N   programs at a time (default 4)\n"
	"  -l, --lives N      programs one after the other in each place "
	"(default 4)\n"
	"  -a, --actions N    actions of a program (default 300)\n"
	"  -k, --kinds LIST   of plain, wild, faults, control (default all)\n"
	"  -o, --only LIST    of actions, NAME or NAME=N for N times as often "
	"as others\n"
	"                     (default all)\n"
	"  -n, --packets N    changed packets for each netdev (default 0)\n"
	"  -w, --patience S   seconds until a killed program must be gone "
	"(default 60)\n"
	"  -c, --coverage FILE   keeps the places of the driver that were "
	"reached there,\n"
	"                     and lists its functions that no run has reached\n"
	"  -t, --trace        print each action of each program\n";

uint64_t number(const char *text)
{
	const std::string s = text;
	uint64_t n;
	const auto [end, err] =
		std::from_chars(s.data(), s.data() + s.size(), n);

	if (err != std::errc() || end != s.data() + s.size())
		throw Failure("'" + s + "' is no number\n" + usage);
	return n;
}

unsigned count(const char *text)
{
	const uint64_t n = number(text);

	if (n > 1000000000)
		throw Failure(std::string(text) + " is too large\n" + usage);
	return static_cast<unsigned>(n);
}

std::vector<std::string> split(const std::string &text, char at)
{
	std::istringstream in(text);
	std::vector<std::string> out;
	std::string word;

	while (std::getline(in, word, at))
		out.push_back(word);
	return out;
}

Kind kind(const std::string &name)
{
	for (unsigned k = 0; k < kinds; k++)
		if (name == kind_names[k])
			return static_cast<Kind>(k);
	throw Failure("there are no programs of the kind '" + name + "'\n" +
		      usage);
}

std::pair<std::string, unsigned> action(const std::string &text)
{
	const auto parts = split(text, '=');

	if (parts.empty() || parts.size() > 2)
		throw Failure("'" + text + "' is not ACTION=N\n" + usage);
	return {parts[0], parts.size() > 1 ? count(parts[1].c_str()) : 1};
}

Host host(const std::string &text)
{
	const auto parts = split(text, ':');

	if (parts.size() < 2 || parts.size() > 3 || parts[1].empty())
		throw Failure("'" + text + "' is not NETNS:DEVICE:NETDEVS\n" +
			      usage);
	return {parts[0], parts[1],
		parts.size() > 2 ? split(parts[2], ',')
				 : std::vector<std::string>{}};
}
} // namespace

Options Options::parse(int argc, char **argv)
{
	static const option names[] = {
		{"seed", required_argument, nullptr, 's'},
		{"programs", required_argument, nullptr, 'p'},
		{"lives", required_argument, nullptr, 'l'},
		{"actions", required_argument, nullptr, 'a'},
		{"kinds", required_argument, nullptr, 'k'},
		{"only", required_argument, nullptr, 'o'},
		{"packets", required_argument, nullptr, 'n'},
		{"patience", required_argument, nullptr, 'w'},
		{"coverage", required_argument, nullptr, 'c'},
		{"trace", no_argument, nullptr, 't'},
		{},
	};
	Options o;
	int c;

	while ((c = getopt_long(argc, argv, "s:p:l:a:k:o:n:w:c:t", names,
				nullptr)) != -1) {
		switch (c) {
		case 's':
			o.seed = number(optarg);
			break;
		case 'p':
			o.programs = count(optarg);
			break;
		case 'l':
			o.lives = count(optarg);
			break;
		case 'a':
			o.actions = count(optarg);
			break;
		case 'k':
			for (const std::string &k : split(optarg, ','))
				o.kinds.push_back(kind(k));
			break;
		case 'o':
			for (const std::string &a : split(optarg, ','))
				o.only.insert(action(a));
			break;
		case 'n':
			o.packets = count(optarg);
			break;
		case 'w':
			o.patience = count(optarg);
			break;
		case 'c':
			o.coverage = optarg;
			break;
		case 't':
			o.trace = true;
			break;
		default:
			throw Failure(usage);
		}
	}
	for (int i = optind; i < argc; i++)
		o.hosts.push_back(host(argv[i]));
	if (o.hosts.empty())
		throw Failure(usage);
	if (o.kinds.empty())
		o.kinds = {plain, wild, faults, control};
	if (!o.programs || o.programs > max_places)
		throw Failure("1 to 64 programs run at a time");
	return o;
}
} // namespace devfuzz

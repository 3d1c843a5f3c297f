// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Fabric files that are wrong: the line, and what is said. */
#include <gtest/gtest.h>

#include "error.hpp"
#include "fabric_file.hpp"
#include "random_fabric.hpp"
#include "words.hpp"

namespace mrclab
{
namespace
{
/* Five lines; what is wrong comes behind them. */
const std::string good = "name: x\nplanes: 2\nt0: 2\nt1: 2\nhosts: 2\n";

std::string error_of(const std::string &text)
{
	try {
		parse_fabric(text, "f");
	} catch (const FileError &e) {
		return e.what();
	}
	return "";
}

struct Wrong {
	const char *more;
	const char *says;
};

void refuses(const std::vector<Wrong> &all)
{
	for (const Wrong &w : all)
		EXPECT_EQ(error_of(good + w.more), w.says) << w.more;
}
} // namespace

TEST(FabricErrors, NameWhatIsMissing)
{
	const char *keys[] = {"name", "planes", "t0", "t1", "hosts"};

	for (int i = 0; i < 5; i++)
		EXPECT_EQ(error_of(with_line(good, i + 1, "")),
			  "f:1: \"" + std::string(keys[i]) + "\" is missing");
	EXPECT_EQ(error_of("# a comment\n\nplanes: 2\n"),
		  "f:3: \"name\" is missing");
	EXPECT_EQ(error_of("{}"), "f:1: \"name\" is missing");
}

TEST(FabricErrors, OfFilesWithoutKeys)
{
	EXPECT_EQ(error_of(""), "f: a fabric must be a map of \"key: value\"");
	EXPECT_EQ(error_of("# x\n"),
		  "f: a fabric must be a map of \"key: value\"");
	EXPECT_EQ(error_of("\n- name: x\n"),
		  "f:2: a fabric must be a map of \"key: value\"");
	EXPECT_EQ(error_of("name x\n"),
		  "f:1: a fabric must be a map of \"key: value\"");
}

TEST(FabricErrors, OfNumbers)
{
	EXPECT_EQ(error_of(with_line(good, 5, "hosts: 10000\n")),
		  "f:5: hosts: 10000 is out of range: 1 to 4096");
	EXPECT_EQ(error_of(with_line(good, 5, "hosts: 0\n")),
		  "f:5: hosts: 0 is out of range: 1 to 4096");
	EXPECT_EQ(error_of(with_line(good, 2, "planes: 17\n")),
		  "f:2: planes: 17 is out of range: 1 to 16");
	EXPECT_EQ(error_of(with_line(good, 3, "t0: 4294967298\n")),
		  "f:3: t0: 4294967298 is out of range: 1 to 4096");
	EXPECT_EQ(error_of(with_line(good, 4, "t1: 18446744073709551618\n")),
		  "f:4: t1: 18446744073709551618 is out of range: 0 to 4096");
	for (const char *w : {"-1", "+1", "1.0", "1e1", "0x2", "two", "1k",
			      "'1 '", "\"\"", "true"}) {
		std::string word = w;

		std::erase_if(word,
			      [](char c) { return c == '"' || c == '\''; });
		EXPECT_EQ(error_of(with_line(good, 2,
					   "planes: " + std::string(w) + "\n")),
			  "f:2: planes: \"" + word + "\" is no whole number");
	}
	refuses({
		{"mtu: 1279\n", "f:6: mtu: 1279 is out of range: 1280 to 9216"},
		{"mtu: 9217\n", "f:6: mtu: 9217 is out of range: 1280 to 9216"},
		{"mtu:\n\n  9k\n", "f:8: mtu: \"9k\" is no whole number"},
	});
}

TEST(FabricErrors, OfTypes)
{
	const std::string word = "a single word or number is expected here";

	for (const char *key :
	     {"name", "prefix", "planes", "t0", "t1", "hosts", "forwarding",
	      "mtu", "block", "block4", "devices", "device"}) {
		const std::string k = key;

		EXPECT_EQ(error_of(k + ": [1]\n"), "f:1: " + k + ": " + word);
		EXPECT_EQ(error_of(k + ":\n  a: 1\n"),
			  "f:2: " + k + ": " + word);
		EXPECT_EQ(error_of(k + ":\n"),
			  "f:1: \"" + k + "\" has no value");
	}
	refuses({
		{"links: 5\n", "f:6: links must be a map of \"key: value\""},
		{"links: [h1:p1]\n",
		 "f:6: links must be a map of \"key: value\""},
		{"links:\n", "f:6: \"links\" has no value"},
		{"links:\n  host: 1mbit\n",
		 "f:7: host must be a map of \"key: value\""},
		{"links:\n  host:\n", "f:7: \"host\" has no value"},
		{"links:\n  rate: 1mbit\n",
		 "f:7: link rate must be a map of \"key: value\""},
		{"links:\n  host:\n    rate: [1mbit]\n",
		 "f:8: rate: a single word or number is expected here"},
		{"links:\n  host:\n    rate:\n", "f:8: \"rate\" has no value"},
		{"profiles: on\n",
		 "f:6: profiles must be a map of \"key: value\""},
		{"profiles:\n  evs: [on]\n",
		 "f:7: evs: a single word or number is expected here"},
		{"profiles:\n  cc: uet-1.0-nscc\n",
		 "f:7: cc must be a map of \"key: value\""},
	});
}

TEST(FabricErrors, OfUnknownKeys)
{
	refuses({
		{"nodes: 5\n",
		 "f:6: a fabric has no key \"nodes\"; its keys are name, "
		 "prefix, planes, t0, t1, hosts, forwarding, mtu, block, "
		 "block4, devices, device, links, profiles"},
		{"Links:\n  host: {}\n",
		 "f:6: a fabric has no key \"Links\"; its keys are name, "
		 "prefix, planes, t0, t1, hosts, forwarding, mtu, block, "
		 "block4, devices, device, links, profiles"},
		{"links:\n  host:\n    speed: 1mbit\n",
		 "f:8: speed: a link has no \"speed\"; its keys are mark, "
		 "rate, burst, delay, jitter, queue, trim, trim_len, loss, "
		 "corrupt, duplicate, reorder"},
		{"profiles:\n  ev: on\n",
		 "f:7: profiles has no key \"ev\"; its keys are evs, cc"},
	});
}

TEST(FabricErrors, OfKeysThatAreThereTwice)
{
	refuses({
		{"hosts: 2\n", "f:6: a fabric has \"hosts\" twice"},
		{"links: {}\nlinks: {}\n", "f:7: a fabric has \"links\" twice"},
		{"links:\n  host: {}\n  host: {}\n",
		 "f:8: links has \"host\" twice"},
		{"links:\n  h1:p1: {}\n  \"h1:p1\": {}\n",
		 "f:8: links has \"h1:p1\" twice"},
		{"links:\n  host: {rate: 1mbit,\n    rate: 2mbit}\n",
		 "f:8: host has \"rate\" twice"},
		{"profiles: {cc: {algorithm: a, x: 1, x: 1}}\n",
		 "f:6: cc has \"x\" twice"},
	});
}

TEST(FabricErrors, OfNames)
{
	const std::string why = " up to 16 lower case letters, digits, - and "
				"_, the first one a letter";

	for (const char *w : {"X", "1x", "-x", "x y", "x/y", "../x", "x.y",
			      "abcdefghijklmnopq", "\xc3\xa4", "_", "x\x7f"}) {
		const std::string s = w;

		EXPECT_EQ(error_of("name: '" + s + "'\n"),
			  "f:1: name: \"" + s + "\" is no name:" + why);
		EXPECT_EQ(error_of("device: '" + s + "'\n"),
			  "f:1: device: \"" + s +
				  "\" is no device name:" + why);
	}
	EXPECT_EQ(error_of("name: ''\n"), "f:1: name: \"\" is no name:" + why);
	/* Namespaces are files: no prefix leads elsewhere. */
	for (const char *w : {"X", "-", "a/", "..", " ", "a b",
			      "abcdefghijklmnopqrstuvwxyzabcdefg"})
		EXPECT_EQ(error_of("prefix: '" + std::string(w) + "'\n"),
			  "f:1: prefix: \"" + std::string(w) +
				  "\" is no prefix: up to 32 lower case "
				  "letters, digits, - and _, the first one a "
				  "letter");
}

TEST(FabricErrors, OfBlocks)
{
	for (const char *w :
	     {"fbff", "fe00", "2001", "2002", "xyz", "0xfcbb", "fcbb:", "1fcbb",
	      "ffffffffffcbb", "fcbb::", "-fcbb", "10", ""})
		EXPECT_EQ(error_of("block: '" + std::string(w) + "'\n"),
			  "f:1: block: \"" + std::string(w) +
				  "\" is no block: 16 bits in hexadecimal, "
				  "fc00 to fdff");
	for (const char *w :
	     {"10", "11.1", "172.15", "172.32", "192.167", "198.17", "198.20",
	      "8.8", "127.0", "169.254", "0.0", "", "ten"})
		EXPECT_EQ(error_of("block4: '" + std::string(w) + "'\n"),
			  "f:1: block4: \"" + std::string(w) +
				  "\" is no private IPv4 network of 16 bits; "
				  "one is written like \"10.1\"");
	for (const char *w :
	     {"10.256", "10.1.2", "10.", "10.x", ".1", "10.-1", "10.1/16"})
		EXPECT_EQ(error_of("block4: '" + std::string(w) + "'\n")
				  .substr(0, 13),
			  "f:1: block4: ")
			<< w;
}

TEST(FabricErrors, OfWordsFromAList)
{
	refuses({
		{"forwarding: SRv6\n",
		 "f:6: forwarding: \"SRv6\" is none of srv6, ecmp, srv6+ecmp"},
		{"devices: mlx5\n",
		 "f:6: devices: \"mlx5\" is none of mrc, rxe, none"},
	});
}

TEST(FabricErrors, OfValuesOfLinks)
{
	refuses({
		{"links: {host: {rate: 0}}\n",
		 "f:6: rate: \"0\" is out of range: a rate is 1kbit to 1tbit"},
		{"links: {host: {rate: -1mbit}}\n",
		 "f:6: rate: \"-1mbit\" is no rate; one is written like "
		 "\"100mbit\""},
		{"links:\n  host:\n    delay: 10\n",
		 "f:8: delay: \"10\" is no time; one is written like "
		 "\"10us\""},
		{"links:\n  p1l1:s1:\n    loss: 101%\n",
		 "f:8: loss: \"101%\" is out of range: a percentage is 0 to "
		 "100"},
		{"links:\n  p1l1:s1:\n    rate: 1mbit\n    queue: 2g\n",
		 "f:9: queue: \"2g\" is out of range: a size is 0 to 1g"},
		{"links:\n  fabric: {rate: 1mbit, mark: 2k..1k}\n",
		 "f:7: mark: \"2k..1k\": marking starts at the smaller of two "
		 "sizes above 0"},
		{"links:\n  fabric: {rate: 1mbit, mark: some}\n",
		 "f:7: mark: \"some\" is no size; one is written like "
		 "\"64k\""},
	});
}

TEST(FabricErrors, OfNamesOfLinks)
{
	const std::string why =
		" matches no link; one is named like h1:p1, p1l1:h1 or p1l1:s1";

	for (const char *w :
	     {"h5:p1", "h1:p3", "h1", "p1l1:h3", "p1l1", "p1l1:s3", "p3*",
	      "H1:p1", "", "hosts", "h1:p1 ", "[", "h1:p1,h2:p1", "p1l1-p1s1"})
		EXPECT_EQ(error_of(good + "links:\n  fabric: {}\n  '" + w +
				   "':\n    rate: 1mbit\n"),
			  "f:8: \"" + std::string(w) + "\"" + why);
	/* Without a T1 there are none of its links. */
	EXPECT_EQ(error_of("name: x\nplanes: 1\nt0: 1\nt1: 0\nhosts: 1\n"
			   "links: {\"*:s1\": {}}\n"),
		  "f:6: \"*:s1\"" + why);
}

TEST(FabricErrors, OfLinksThatCannotBe)
{
	const std::string rate = ": marking and trimming need a rate: without "
				 "one no queue builds up";
	const std::string delay =
		": reordering needs a delay, which some packets skip";
	const auto says = [](const std::string &more) {
		return error_of(good + more);
	};

	EXPECT_EQ(says("links:\n  host: {}\n  fabric: {mark: 9k}\n"),
		  "f:8: fabric" + rate);
	EXPECT_EQ(says("links:\n  host:\n    trim: 9k\n"), "f:7: host" + rate);
	EXPECT_EQ(says("links: {fabric: {reorder: 1%}}\n"),
		  "f:6: fabric" + delay);
	EXPECT_EQ(says("links:\n  fabric: {rate: 1mbit}\n  \"h2:p*\": "
		       "{trim: 9k}\n"),
		  "f:8: h2:p1" + rate);
	EXPECT_EQ(says("links:\n  fabric: {rate: 1mbit, queue: 0}\n"),
		  "f:7: fabric: a rate needs a burst and a queue of more than "
		  "0 bytes");
	EXPECT_EQ(says("mtu: 9000\nlinks:\n  fabric: {rate: 1mbit}\n"
		       "  h2:p1: {rate: 1mbit, burst: 8k}\n"),
		  "f:9: h2:p1: a burst of 8192 bytes has no room for a packet "
		  "of 9014 bytes");
	/* What one rule lacks another one may have. */
	EXPECT_EQ(says("links:\n  fabric: {mark: 9k}\n  \"p?[ls]*:[ls]*\": "
		       "{rate: 1mbit}\n"),
		  "");
	EXPECT_EQ(says("links:\n  fabric: {mark: 9k}\n  \"p1*:[ls]*\": "
		       "{rate: 1mbit}\n"),
		  "f:7: p2l1:s1" + rate);
	EXPECT_EQ(says("links:\n  \"h*\": {delay: 1ms, reorder: 1%}\n  h1:p2:\n"
		       "    delay: 0\n"),
		  "f:8: h1:p2" + delay);
}

TEST(FabricErrors, OfSwitches)
{
	EXPECT_EQ(error_of(with_line(good, 4, "t1: 0\n")),
		  "f:4: 2 T0 switches are not connected without a T1");
}

TEST(FabricErrors, OfProfiles)
{
	refuses({
		{"forwarding: ecmp\nprofiles:\n  evs: on\n",
		 "f:8: profiles with EVs name SRv6 paths; the forwarding is "
		 "ecmp"},
		{"forwarding: ecmp\nprofiles:\n  evs: off\n", ""},
		/* Who would load them? */
		{"devices: rxe\nprofiles:\n  evs: on\n",
		 "f:8: profiles are loaded into devices of the kind mrc; "
		 "\"devices\" is rxe"},
		{"profiles:\n  cc: {algorithm: a}\ndevices: none\n",
		 "f:7: profiles are loaded into devices of the kind mrc; "
		 "\"devices\" is none"},
		{"devices: rxe\nprofiles: {evs: off}\n", ""},
		{"profiles:\n  evs: 1\n",
		 "f:7: evs: \"1\" is neither true nor false"},
		{"profiles:\n  cc: {}\n", "f:7: cc: there is no \"algorithm\""},
		{"profiles:\n  cc:\n    gamma: 1\n",
		 "f:8: cc: there is no \"algorithm\""},
		/* They become words of a file of commands. */
		{"profiles:\n  cc: {algorithm: \"a b\"}\n",
		 "f:7: algorithm: \"a b\" is no word of letters, digits and "
		 "-+_."},
		{"profiles:\n  cc: {algorithm: \"\"}\n",
		 "f:7: algorithm: \"\" is no word of letters, digits and "
		 "-+_."},
		{"profiles:\n  cc: {algorithm: a, x: \"1\\n2\"}\n",
		 "f:7: x: \"1\n2\" is no word of letters, digits and -+_."},
		{"profiles:\n  cc: {algorithm: a, \"x y\": 1}\n",
		 "f:7: x y: \"x y\" is no word of letters, digits and -+_."},
	});
}

TEST(FabricErrors, OfYaml)
{
	refuses({
		{"mtu: *x\n", "f:6: the referenced anchor is not defined"},
		{"links: &x\n  host: *x\n",
		 "f:7: host: a single word or number is expected here"},
		{"links: &x {h1:p1: *x}\n",
		 "f:6: h1:p1: a single word or number is expected here"},
		{"links:\n  host: &x {rate: 1mbit}\n  fabric: {<<: *x}\n",
		 "f:8: <<: a single word or number is expected here"},
		{"links:\n\thost: {}\n",
		 "f:7: illegal map value; YAML is indented by blanks, not by "
		 "tabs"},
		{"---\nmtu: 9000\n",
		 "f:6: a second document begins here; a file has one"},
	});
	EXPECT_EQ(error_of(good + std::string(1 << 20, '#')),
		  "f: is longer than 1048576 bytes");
}

/* A few words must not make millions of links. */
TEST(FabricErrors, OfRulesForTooManyLinks)
{
	const std::string rule = "links:\n  fabric: {}\n  h1:p1: {loss: 1%}\n";
	const std::string why = "f:8: single links can be set in fabrics of "
				"up to 131072 links";

	EXPECT_EQ(error_of("name: x\nplanes: 16\nt0: 4096\nt1: 4096\n"
			   "hosts: 4096\n" +
			   rule),
		  why);
	EXPECT_EQ(error_of("name: x\nplanes: 1\nt0: 64\nt1: 2048\n"
			   "hosts: 1\n" +
			   rule),
		  why);
	EXPECT_EQ(error_of("name: x\nplanes: 1\nt0: 4096\nt1: 4096\n"
			   "hosts: 4096\n"),
		  "");
}

TEST(FabricErrors, HaveTheLineApart)
{
	try {
		parse_fabric(good + "mtu: 1\n", "f");
		ADD_FAILURE() << "no error";
	} catch (const FileError &e) {
		EXPECT_EQ(e.line, 6);
	}
	EXPECT_THROW(read_fabric("/nonexistent"), FileError);
}
} // namespace mrclab

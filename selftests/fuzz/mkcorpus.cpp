// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Writes the seeds of fuzz_parse from the frames of MRC 1.0 §18.1:
//   mkcorpus FOLDER          write corpus/parse
//   mkcorpus --check FOLDER  say whether FOLDER is what would be written
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>

#include "ext_vectors.hpp"

namespace
{

using mrc_test::Bytes;
namespace fs = std::filesystem;

// The UDP payload of @v, and a data packet cut as a switch would.
void add(std::map<std::string, Bytes> &out, const mrc_test::Vector &v)
{
	Bytes p = mrc_test::payload_of(v);

	out[v.name] = p;
	switch (p[0]) {
	case 0xD1: // feedback, probes, endpoint operations
	case 0xD8:
	case 0xD9:
	case 0xDC:
	case 0xDD:
	case 0xDE:
		return;
	default:
		break;
	}
	for (int cut : {12, 16, 20})
		out[std::string(v.name) + "-trim" + std::to_string(cut)] =
			Bytes(p.begin(), p.begin() + cut);
}

std::map<std::string, Bytes> seeds()
{
	std::map<std::string, Bytes> out;

	for (const mrc_test::Vector &v : mrc_test::kVectors)
		add(out, v);
	for (const mrc_test::Vector &v : mrc_test::kExtVectors)
		add(out, v);
	return out;
}

Bytes read(const fs::path &path)
{
	std::ifstream in(path, std::ios::binary);

	return Bytes(std::istreambuf_iterator<char>(in), {});
}

int check(const fs::path &dir)
{
	int bad = 0;

	for (const auto &[name, bytes] : seeds()) {
		if (!fs::exists(dir / name) || read(dir / name) != bytes) {
			std::cerr << (dir / name).string() << " differs\n";
			bad = 1;
		}
	}
	return bad;
}

int write(const fs::path &dir)
{
	fs::create_directories(dir);
	for (const auto &[name, bytes] : seeds()) {
		std::ofstream out(dir / name, std::ios::binary);

		out.write(reinterpret_cast<const char *>(bytes.data()),
			  static_cast<std::streamsize>(bytes.size()));
		if (!out.flush()) {
			std::cerr << "cannot write " << (dir / name) << "\n";
			return 1;
		}
	}
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc == 3 && !std::strcmp(argv[1], "--check"))
		return check(argv[2]);
	if (argc == 2 && argv[1][0] != '-')
		return write(argv[1]);
	std::cerr << "usage: mkcorpus [--check] FOLDER\n";
	return 2;
}

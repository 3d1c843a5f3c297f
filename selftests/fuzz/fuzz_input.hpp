// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Fuzzer input as a stream of small numbers, the loop that turns it into
// operations on an engine, and the writer of seeds in the same format.
//
// A seed is made by the fuzzer itself:
//
//   fuzz_requester --write-seeds=selftests/fuzz/corpus/requester
#pragma once

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "engine.hpp"

namespace fuzz
{

class Input
{
public:
	Input(const u8 *p, std::size_t n) : p_(p), n_(n) {}

	bool empty() const { return !n_; }

	u8 byte()
	{
		u8 v = 0;

		if (n_) {
			v = *p_++;
			n_--;
		}
		return v;
	}

	u16 half() { return (u16)(byte() << 8 | byte()); }
	u32 word() { return (u32)half() << 16 | half(); }
	u64 quad() { return (u64)word() << 32 | word(); }
	bool flag() { return byte() & 1; }

	// Signed, small ones first.
	s32 near() { return (s8)byte(); }

	// Up to @n bytes, in memory of exactly their size: the sanitizer sees
	// every access beyond it.
	std::vector<u8> bytes(std::size_t n)
	{
		std::vector<u8> v(p_, p_ + std::min(n, n_));

		p_ += v.size();
		n_ -= v.size();
		return v;
	}

private:
	const u8 *p_;
	std::size_t n_;
};

class Seed
{
public:
	Seed &b(u32 v)
	{
		bytes_.push_back((u8)v);
		return *this;
	}

	Seed &h(u32 v) { return b(v >> 8).b(v); }
	Seed &w(u32 v) { return h(v >> 16).h(v); }
	Seed &q(u64 v) { return w((u32)(v >> 32)).w((u32)v); }

	Seed &bytes(const std::vector<u8> &v)
	{
		bytes_.insert(bytes_.end(), v.begin(), v.end());
		return *this;
	}

	void write(const std::string &dir, const char *name) const
	{
		const std::string path = dir + "/" + name;
		std::FILE *f = std::fopen(path.c_str(), "wb");

		if (!f || std::fwrite(bytes_.data(), 1, bytes_.size(), f) !=
				  bytes_.size()) {
			std::perror(path.c_str());
			std::exit(1);
		}
		std::fclose(f);
	}

private:
	std::vector<u8> bytes_;
};

struct NamedSeed {
	const char *name;
	Seed (*make)();
};

// Does what --write-seeds=FOLDER asks for, and ends the program then.
inline void write_seeds(int argc, char **argv, std::span<const NamedSeed> seeds)
{
	const std::string option = "--write-seeds=";

	for (int i = 1; i < argc; i++) {
		const std::string arg = argv[i];

		if (arg.rfind(option, 0) != 0)
			continue;
		for (const NamedSeed &s : seeds)
			s.make().write(arg.substr(option.size()), s.name);
		std::exit(0);
	}
}

constexpr u32 kMaxOps = 3000;

// One input from its first to its last byte; @Engine takes what it needs.
template <typename Engine> void run(const u8 *data, std::size_t size)
{
	Input in(data, size);
	Engine engine(in);

	engine.check();
	for (u32 n = 0; n < kMaxOps && !in.empty(); n++)
		engine.op();
}

} // namespace fuzz

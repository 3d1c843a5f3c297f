// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Fuzzer input as a stream of small numbers, the writer of seeds in the same
// format, and what both engine fuzzers share.
//
// A seed is made by the fuzzer itself:
//
//   fuzz_requester --write-seeds=selftests/fuzz/corpus/requester
#pragma once

#include <cstdio>
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

	std::size_t take(u8 *to, std::size_t n)
	{
		if (n > n_)
			n = n_;
		if (n)
			std::memcpy(to, p_, n);
		p_ += n;
		n_ -= n;
		return n;
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

// Heap memory of exactly the size the engine asks for, so that the sanitizer
// sees every access beyond it.
class Mem
{
public:
	explicit Mem(std::size_t size) : p_(std::calloc(1, size)) {}
	~Mem() { std::free(p_); }
	Mem(const Mem &) = delete;
	Mem &operator=(const Mem &) = delete;
	void *get() { return p_; }

private:
	void *p_;
};

[[noreturn]] inline void die(const char *what)
{
	std::fprintf(stderr, "invariant broken: %s\n", what);
	std::abort();
}

inline void require(bool ok, const char *what)
{
	if (!ok)
		die(what);
}

// What travels over the wire: built, parsed again, and equal in length.
inline void check_wire(const mrc_hdr &h)
{
	u8 buf[MRC_HDR_MAX + MRC_ICRC_LEN] = {};
	mrc_hdr back;
	u32 n = mrc_hdr_build(&h, buf, MRC_HDR_MAX);

	require(n && n == mrc_hdr_len(&h), "header cannot be built");
	require(!mrc_hdr_parse(buf, n + MRC_ICRC_LEN,
			       n + MRC_ICRC_LEN + h.payload_len + h.pad, &back),
		"own header cannot be parsed");
	require(back.opcode == h.opcode && back.psn == (h.psn & MRC_PSN_MASK) &&
			back.dqp == h.dqp && back.rtx == h.rtx && back.a == h.a,
		"own header changes on the wire");
}

} // namespace fuzz

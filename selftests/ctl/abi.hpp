/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_ctl: the control ABI as a program without a library calls it.
 */
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mrc-abi.h>
#include <rdma/mrc-ctl-abi.h>

#include "../../userspace-tools/common/uverbs.hpp"
#include "../common/failure.hpp"

/* Values of libMRC that the ABI refers to. */
namespace mrc
{
enum State : uint32_t { INIT, OFFLINE, ONLINE };

enum FmtMask : uint32_t {
	FMT_STATE = 1u << 0,
	FMT_CUR_STATE = 1u << 1,
	FMT_MODE = 1u << 2,
	FMT_OP = 1u << 3,
	FMT_VENDOR = 1u << 31,
};
enum FmtMode : uint32_t { STEV = 1, SRV6 = 2, UDP = 4 };
enum FmtOp : uint32_t { FMT_MODIFY_FIELDS, FMT_QUERY_FIELDS };

enum EvpMask : uint32_t {
	EVP_STATE = 1u << 0,
	EVP_CUR_STATE = 1u << 1,
	EVP_MODE = 1u << 2,
	EVP_FMT_ID = 1u << 3,
	EVP_COUNT = 1u << 4,
	EVP_MIN_ACTIVE = 1u << 5,
	EVP_EVENT_MASK = 1u << 6,
	EVP_EV_OP = 1u << 7,
	EVP_FIELDS_OP = 1u << 8,
	EVP_VENDOR = 1u << 31,
};
enum EvMode : uint32_t { AUTO = 1, EXPLICIT = 2, GENERATED = 4 };
enum EvOp : uint32_t {
	REPLACE_EV,
	MODIFY_EV_STATE,
	QUERY_EV_STATE,
	QUERY_EV_ARRAY
};
enum FieldsOp : uint32_t { MODIFY_FIELDS, QUERY_FIELDS };
enum EvState : uint32_t { GOOD = 1, BAD = 2, DENIED = 4, UNKNOWN = 1u << 31 };

enum CcpMask : uint32_t {
	CCP_STATE = 1u << 0,
	CCP_CUR_STATE = 1u << 1,
	CCP_ALGORITHM = 1u << 2,
	CCP_CONFIG = 1u << 3,
	CCP_VENDOR = 1u << 31,
};
} // namespace mrc

/* A method that the kernel refused. */
struct Refused : std::runtime_error {
	Refused(const std::string &what, int err);
	int err;
};

const char *errno_name(int err);

/* One attribute of a call beside IN and OUT. */
struct Handle {
	uint32_t id;
};

/* An array of a call: one of @in and @out. */
struct Array {
	uint16_t attr;
	std::span<const std::byte> in;
	std::span<std::byte> out;
};
using Arrays = std::vector<Array>;

template <typename T, std::size_t N>
Array array_in(uint16_t attr, std::span<T, N> a)
{
	return {.attr = attr, .in = std::as_bytes(a), .out = {}};
}

template <typename T, std::size_t N>
Array array_out(uint16_t attr, std::span<T, N> a)
{
	return {.attr = attr, .in = {}, .out = std::as_writable_bytes(a)};
}

/* The struct of a call, and the arrays that go with it. */
template <typename T> struct With : T {
	Arrays arrays;
};

/* An open device. Calls return 0 or the errno. */
class Dev
{
public:
	explicit Dev(const std::string &name);
	Dev(const Dev &) = delete;
	Dev &operator=(const Dev &) = delete;
	~Dev();

	ibv_context *ctx() const { return ctx_; }

	/* No input, no output: empty spans. */
	int raw(uint16_t object, uint16_t method, std::span<const std::byte> in,
		std::span<std::byte> out,
		std::optional<Handle> handle = {},
		const Arrays &arrays = {}) const;

	template <typename T>
	int set(uint16_t object, uint16_t method, const T &in) const
	{
		return raw(object, method, uverbs::bytes_in(in), {});
	}

	template <typename T>
	int get(uint16_t object, uint16_t method, T &out) const
	{
		return raw(object, method, {}, uverbs::bytes_out(out));
	}

	template <typename T>
	int call(uint16_t object, uint16_t method, T &io,
		 const Arrays &arrays = {}) const
	{
		return raw(object, method, uverbs::bytes_in(io),
			   uverbs::bytes_out(io), {}, arrays);
	}

	template <typename T>
	int call(uint16_t object, uint16_t method, With<T> &io) const
	{
		return call(object, method, static_cast<T &>(io), io.arrays);
	}

	/*
	 * The verbs command that modifies a QP, with driver data; both as they
	 * are.
	 */
	int modify_qp(const ib_uverbs_modify_qp &core,
		      std::span<const std::byte> data) const;

	/* An event queue: file descriptor or -errno. */
	int events(uint32_t depth) const;

	mrc_abi_device query() const; /* throws Refused */

private:
	ibv_context *ctx_;
};

/* Throws Refused unless @err is 0. */
void must(int err, const std::string &what);

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "calls.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "../faults/sweep.hpp"
#include "board.hpp"

namespace devfuzz
{
namespace
{
constexpr unsigned max_attrs = 64;
constexpr unsigned max_payload = 4096;

Between *between;

int real_ioctl(int fd, unsigned long request, void *arg)
{
	return static_cast<int>(syscall(SYS_ioctl, fd, request, arg));
}

std::size_t header_size(unsigned attrs)
{
	return sizeof(ib_uverbs_ioctl_hdr) + attrs * sizeof(ib_uverbs_attr);
}

/* Copies what may not be mapped. */
bool read_own(void *to, uint64_t from, std::size_t len)
{
	const iovec local = {to, len};
	const iovec remote = {reinterpret_cast<void *>(from), len};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) ==
	       static_cast<ssize_t>(len);
}

/* Rounded up to words, so that structures in it are aligned. */
std::vector<uint64_t> buffer(std::size_t bytes)
{
	return std::vector<uint64_t>((bytes + 7) / 8);
}

ib_uverbs_ioctl_hdr *header_in(std::vector<uint64_t> &words)
{
	return reinterpret_cast<ib_uverbs_ioctl_hdr *>(words.data());
}

/* The header and its attributes; empty if they are not what a library sends. */
std::vector<uint64_t> header_of(const void *arg)
{
	ib_uverbs_ioctl_hdr hdr;

	if (!read_own(&hdr, reinterpret_cast<uintptr_t>(arg), sizeof(hdr)) ||
	    hdr.num_attrs > max_attrs ||
	    hdr.length != header_size(hdr.num_attrs))
		return {};
	auto words = buffer(hdr.length);

	if (!read_own(words.data(), reinterpret_cast<uintptr_t>(arg),
		      hdr.length))
		return {};
	return words;
}

void flip(std::vector<uint64_t> &words, std::size_t bytes, Rng &rng)
{
	auto *at = reinterpret_cast<uint8_t *>(words.data());
	std::size_t n = 1 + rng.below(4);

	if (!bytes)
		return;
	while (n--) {
		const std::size_t width = std::size_t{1} << rng.below(4);
		const std::size_t place = rng.below(bytes) / width * width;
		const uint64_t value = rng.nasty();

		if (place + width <= words.size() * 8)
			std::memcpy(at + place, &value, width);
	}
}

/* What an attribute says beside the bytes that it points to. */
void change_attr(ib_uverbs_attr &a, Rng &rng)
{
	switch (rng.below(7)) {
	case 0:
		a.attr_id = static_cast<uint16_t>(
			rng.chance(50) ? rng.below(16)
				       : 0x1000 + rng.below(12));
		break;
	case 1:
		a.len = static_cast<uint16_t>(rng.nasty());
		break;
	case 2:
		a.len = static_cast<uint16_t>(a.len + 8 - rng.below(17));
		break;
	case 3:
		a.flags = static_cast<uint16_t>(rng.nasty());
		break;
	case 4:
		a.attr_data.reserved = static_cast<uint16_t>(rng.nasty());
		break;
	case 5:
		a.data = rng.below(40); /* a handle */
		break;
	default:
		a.data = rng.nasty();
	}
}

void change_header(std::vector<uint64_t> &words, Rng &rng)
{
	ib_uverbs_ioctl_hdr *hdr = header_in(words);

	switch (rng.below(10)) {
	case 0:
		hdr->object_id = static_cast<uint16_t>(
			rng.chance(60) ? rng.below(20) : 0x1000 + rng.below(9));
		break;
	case 1:
		hdr->method_id = static_cast<uint16_t>(
			rng.chance(60) ? rng.below(8) : 0x1000 + rng.below(8));
		break;
	case 2:
		hdr->num_attrs =
			static_cast<uint16_t>(rng.below(hdr->num_attrs + 1u));
		break;
	case 3:
		hdr->length = static_cast<uint16_t>(rng.nasty());
		break;
	case 4:
		hdr->driver_id = static_cast<uint32_t>(rng.nasty());
		break;
	default:
		if (hdr->num_attrs)
			change_attr(hdr->attrs[rng.below(hdr->num_attrs)], rng);
	}
}
} // namespace

bool Call::take(int fd, const void *arg)
{
	header_ = header_of(arg);
	payloads_.clear();
	if (header_.empty())
		return false;
	fd_ = fd;
	ib_uverbs_ioctl_hdr *hdr = header_in(header_);

	for (unsigned i = 0; i < hdr->num_attrs; i++) {
		const ib_uverbs_attr &a = hdr->attrs[i];
		auto copy = buffer(a.len);

		/* A short one may be the value itself, or point to where one
		 * goes. */
		if (!a.len || a.len > max_payload ||
		    !read_own(copy.data(), a.data, a.len))
			continue;
		payloads_.push_back({i, std::move(copy)});
	}
	return true;
}

void Call::again(Rng &rng)
{
	if (header_.empty())
		return;
	for (Payload &p : payloads_)
		header_in(header_)->attrs[p.attr].data =
			reinterpret_cast<uintptr_t>(p.words.data());
	if (rng.chance(30) && !payloads_.empty()) {
		auto &words = rng.pick(payloads_).words;

		flip(words, words.size() * 8, rng);
	}
	if (rng.chance(20))
		change_header(header_, rng);
	(void)real_ioctl(fd_, RDMA_VERBS_IOCTL, header_.data());
}

Between::Between(Board &board, Kind kind, uint64_t seed)
	: board_(board), kind_(kind), rng_(seed)
{
	between = this;
}

Between::~Between()
{
	between = nullptr;
}

void Between::keep(int fd, const void *arg)
{
	const std::lock_guard guard(lock_);

	(void)rng_.pick(kept_).take(fd, arg);
}

void Between::repeat(Rng &rng)
{
	Call call;
	{
		const std::lock_guard guard(lock_);

		call = rng.pick(kept_);
	}
	call.again(rng);
	board_.calls_repeated++;
}

/* The libraries get what the kernel says, whatever that makes of them. */
int Between::changed(int fd, void *arg)
{
	auto header = header_of(arg);

	if (header.empty())
		return real_ioctl(fd, RDMA_VERBS_IOCTL, arg);
	const ib_uverbs_ioctl_hdr was = *header_in(header);
	std::vector<uint64_t> payload;

	board_.calls_changed++;
	if (rng_.chance(60) && was.num_attrs) {
		/* The bytes that an attribute points to, or the value in it. */
		ib_uverbs_attr &a =
			header_in(header)->attrs[rng_.below(was.num_attrs)];

		payload = buffer(a.len);
		if (a.len && a.len <= max_payload &&
		    read_own(payload.data(), a.data, a.len)) {
			flip(payload, a.len, rng_);
			a.data = reinterpret_cast<uintptr_t>(payload.data());
		} else {
			a.data = rng_.nasty();
		}
	} else {
		change_header(header, rng_);
	}
	const int ret = real_ioctl(fd, RDMA_VERBS_IOCTL, header.data());
	const int err = errno;

	/* Handles of new objects, and which results are valid. */
	if (!ret)
		std::memcpy(static_cast<ib_uverbs_ioctl_hdr *>(arg)->attrs,
			    header_in(header)->attrs,
			    was.num_attrs * sizeof(ib_uverbs_attr));
	errno = err;
	return ret;
}

int Between::without_memory(int fd, void *arg)
{
	faults::Armed armed(static_cast<uint32_t>(rng_.range(1, 40)));
	const int ret = real_ioctl(fd, RDMA_VERBS_IOCTL, arg);
	const int err = errno;

	if (armed.hit())
		board_.no_memory++;
	errno = err;
	return ret;
}

int Between::verbs_ioctl(int fd, void *arg)
{
	switch (kind_) {
	case wild:
		if (rng_.chance(30))
			keep(fd, arg);
		if (rng_.chance(12))
			return changed(fd, arg);
		break;
	case faults:
		if (rng_.chance(40))
			return without_memory(fd, arg);
		break;
	default:
		break;
	}
	return real_ioctl(fd, RDMA_VERBS_IOCTL, arg);
}
} // namespace devfuzz

/* Takes the place of the C library's. */
extern "C" int ioctl(int fd, unsigned long request, ...) noexcept
{
	va_list ap;

	va_start(ap, request);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	if (!devfuzz::between || request != RDMA_VERBS_IOCTL)
		return devfuzz::real_ioctl(fd, request, arg);
	return devfuzz::between->verbs_ioctl(fd, arg);
}

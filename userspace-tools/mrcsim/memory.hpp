/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcsim: large arrays. Pages cost memory when they are used for the first
 * time. */
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "mrc_base.h"

namespace mrcsim
{
/* Zeroed address space, in huge pages where the system has them. */
class Pages
{
public:
	Pages() = default;
	/* Throws std::bad_alloc. */
	explicit Pages(std::size_t bytes) : size_(bytes ? bytes : 1)
	{
		void *p = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			       0);

		if (p == MAP_FAILED)
			throw std::bad_alloc();
		at_ = static_cast<std::byte *>(p);
		/* Only a wish: without it there is the same memory. */
		static_cast<void>(madvise(p, size_, MADV_HUGEPAGE));
	}
	~Pages()
	{
		if (at_)
			munmap(at_, size_);
	}
	Pages(Pages &&o) noexcept
		: at_(std::exchange(o.at_, nullptr)),
		  size_(std::exchange(o.size_, 0))
	{
	}
	Pages &operator=(Pages &&o) noexcept
	{
		std::swap(at_, o.at_);
		std::swap(size_, o.size_);
		return *this;
	}

	std::byte *get() const { return at_; }
	std::size_t size() const { return size_; }

private:
	std::byte *at_ = nullptr;
	std::size_t size_ = 0;
};

/* Blocks of one size, which are used again. */
class Blocks
{
public:
	/* @size: bytes of a block; rounded up to whole cache lines */
	explicit Blocks(std::size_t size) : size_((size + 63) / 64 * 64)
	{
		per_slab_ = size_ > slab ? 1 : slab / size_;
	}

	/* Uninitialised, 64-aligned. Throws std::bad_alloc. */
	void *take()
	{
		if (free_.empty()) {
			if (used_ == per_slab_ || slabs_.empty()) {
				slabs_.emplace_back(per_slab_ * size_);
				used_ = 0;
			}
			return slabs_.back().get() + used_++ * size_;
		}
		void *p = free_.back();

		free_.pop_back();
		return p;
	}
	void give(void *p) { free_.push_back(p); }

	std::size_t size() const { return size_; }
	/* Bytes that are allocated when @n blocks are. */
	u64 memory_of(u64 n) const
	{
		return (n + per_slab_ - 1) / per_slab_ * per_slab_ * size_ +
		       n * sizeof(void *);
	}
	u64 memory() const
	{
		return slabs_.size() * per_slab_ * size_ +
		       slabs_.capacity() * sizeof(Pages) +
		       free_.capacity() * sizeof(void *);
	}

private:
	static constexpr std::size_t slab = 2 << 20;

	std::size_t size_;
	std::size_t per_slab_;
	std::size_t used_ = 0; /* of the last slab */
	std::vector<Pages> slabs_;
	std::vector<void *> free_;
};

/* @n values, all bytes 0, that never move. T needs no constructor. */
template <typename T> class Array
{
public:
	Array() = default;
	explicit Array(std::size_t n) : pages_(n * sizeof(T)), n_(n) {}

	T &operator[](std::size_t i) { return data()[i]; }
	const T &operator[](std::size_t i) const { return data()[i]; }
	T *data() const { return reinterpret_cast<T *>(pages_.get()); }
	std::size_t size() const { return n_; }

private:
	Pages pages_;
	std::size_t n_ = 0;
};
} // namespace mrcsim

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcsim: processes that simulate the same run together. Each has the whole
 * World and some of the partitions. They meet at the end of each window, as the
 * threads of a process do, and exchange what crosses from one to another.
 */
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "mrc_base.h"

namespace mrcsim
{
class Peers
{
public:
	Peers() = default;
	Peers(const Peers &) = delete;
	Peers &operator=(const Peers &) = delete;
	virtual ~Peers() = default;

	virtual u32 rank() const = 0;
	virtual u32 count() const = 0;
	/* Processes on this machine, this one included. */
	virtual u32 neighbours() const = 0;
	/*
	 * Element n goes to process n; of the result it comes from process n. All
	 * must call it.
	 */
	virtual std::vector<std::string>
	exchange(const std::vector<std::string> &to) = 0;

	/* Each adds up what all have. */
	void sum(std::vector<u64> &values);
};

/* Values one after the other, for processes of the same build. */
class Parcel
{
public:
	Parcel() = default;
	explicit Parcel(std::string bytes) : bytes_(std::move(bytes)) {}

	template <typename T> void put(const T &v)
	{
		static_assert(std::is_trivially_copyable_v<T>);
		bytes_.append(reinterpret_cast<const char *>(&v), sizeof(v));
	}
	template <typename T> void put_all(const std::vector<T> &v)
	{
		static_assert(std::is_trivially_copyable_v<T>);
		put<u64>(v.size());
		if (!v.empty())
			bytes_.append(reinterpret_cast<const char *>(v.data()),
				      v.size() * sizeof(T));
	}
	void put_text(const std::string &s)
	{
		put<u64>(s.size());
		bytes_ += s;
	}

	template <typename T> T get()
	{
		T v;

		std::memcpy(&v, take(sizeof(v)), sizeof(v));
		return v;
	}
	template <typename T> std::vector<T> get_all()
	{
		const u64 n = get<u64>();
		std::vector<T> v;

		/* Lengths are not believed before the bytes are there. */
		const char *p = take(n > ~0ull / sizeof(T) ? ~0ull
							   : n * sizeof(T));

		v.resize(n);
		if (n)
			std::memcpy(v.data(), p, n * sizeof(T));
		return v;
	}
	std::string get_text()
	{
		const u64 n = get<u64>();

		return {take(n), n};
	}

	const std::string &bytes() const { return bytes_; }

private:
	/* Throws mrclab::SystemError if there is less. */
	const char *take(u64 n);

	std::string bytes_;
	std::size_t at_ = 0;
};
} // namespace mrcsim

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrcctl: the machine beside its devices, for commands that look at more than a
 * device. Reading changes nothing.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mrcctl
{
class Host
{
public:
	/* The contents of a file, or the errno of reading it. */
	struct File {
		int err = 0;
		std::string text;
	};
	struct Ran {
		bool started = false; /* else there is no such program */
		int status = 0;
		std::string out;
		std::string err;
	};

	virtual ~Host() = default;

	/* At most max_file bytes; what follows is left out. */
	virtual File read(const std::string &path) = 0;
	/* Names in a directory, sorted; none if it cannot be read. */
	virtual std::vector<std::string> list(const std::string &dir) = 0;
	virtual Ran run(const std::vector<std::string> &command) = 0;
	/* Replaces this process by a program. Throws DeviceError. */
	[[noreturn]] virtual void
	become(const std::vector<std::string> &command) = 0;

	/*
	 * Makes or replaces a file at once, which all users may read; of a link
	 * its target, if that exists. What is no regular file, such as a
	 * device, is written to. Returns 0 or the errno: ENXIO for a pipe that
	 * nobody reads.
	 */
	virtual int replace(const std::string &path,
			    const std::string &text) = 0;
	/* With those above it, unless it is there. Returns 0 or the errno. */
	virtual int make_directory(const std::string &path) = 0;
	/*
	 * Waits for others that have it; held until the object is gone. Makes
	 * the file and its directory. Throws DeviceError.
	 */
	virtual std::shared_ptr<void> lock(const std::string &path) = 0;
	/*
	 * A word that no other network namespace has since the machine was
	 * started. Throws DeviceError.
	 */
	virtual std::string network_namespace() = 0;

	static constexpr std::size_t max_file = 4 << 20;
};

/*
 * The machine itself. With @root, files below that directory, as tests make
 * them.
 */
class LocalHost : public Host
{
public:
	explicit LocalHost(std::string root = "") : root_(std::move(root)) {}

	File read(const std::string &path) override;
	std::vector<std::string> list(const std::string &dir) override;
	Ran run(const std::vector<std::string> &command) override;
	[[noreturn]] void
	become(const std::vector<std::string> &command) override;
	int replace(const std::string &path, const std::string &text) override;
	int make_directory(const std::string &path) override;
	std::shared_ptr<void> lock(const std::string &path) override;
	std::string network_namespace() override;

private:
	std::string root_;
};

/* Without blanks, tabs and carriage returns at both ends. */
std::string stripped(std::string_view s);
/*
 * The first line of a file without blanks at its ends; "" if there is none.
 * Bytes that are not printable ASCII become '?', because the text is printed.
 * So do all bytes behind the first 256.
 */
std::string line_of(Host &host, const std::string &path);
std::string printable(const std::string &text, std::size_t most = 256);
/* The number in the first line, also 0x...; no value if there is none. */
std::optional<uint64_t> number_of(Host &host, const std::string &path);
} // namespace mrcctl

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "uplink.hpp"

#include <cerrno>
#include <cstring>
#include <iostream>

#include <fcntl.h>

#include "clock.hpp"
#include "error.hpp"

namespace mrcmap
{
namespace
{
constexpr uint64_t retry_after = ns_of_s;
constexpr uint64_t connect_time = 5 * ns_of_s;
/* Lines that wait for a slow collector. */
constexpr std::size_t most_waiting = 1 << 20;
} // namespace

Uplink::Uplink(std::vector<Endpoint> collector)
	: endpoints_(std::move(collector))
{
}

void Uplink::fail(const std::string &why, uint64_t now)
{
	/* Once, not with every try. */
	if (why != said_)
		std::cerr << "mrcmap: collector: " << why << '\n';
	said_ = why;
	socket_.close();
	at_ = At::idle;
	try_at_ = now + retry_after;
	out_.clear();
	in_ = LineReader();
}

void Uplink::refuse(const std::string &why, uint64_t now)
{
	fail(why, now);
}

void Uplink::connect(uint64_t now)
{
	const Endpoint &e = endpoints_[next_++ % endpoints_.size()];

	socket_ = stream_socket(e.address.ss_family);
	began_ = now;
	if (!socket_.open())
		return fail(strerror(errno), now);
	watch_peer(socket_.get());
	at_ = At::connecting;
	if (::connect(socket_.get(),
		      reinterpret_cast<const sockaddr *>(&e.address),
		      e.length) != 0 &&
	    errno != EINPROGRESS)
		fail(text_of(e) + ": " + strerror(errno), now);
}

/* Is the connection there now? Throws nothing: fail() tells of errors. */
bool Uplink::connected()
{
	pollfd p{socket_.get(), POLLOUT, 0};

	return poll(&p, 1, 0) > 0;
}

void Uplink::read(Turn &turn, uint64_t now)
{
	char room[4096];

	for (;;) {
		const ssize_t n =
			recv(socket_.get(), room, sizeof(room), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0)
			return fail(strerror(errno), now);
		if (n == 0)
			return fail("has closed the connection", now);
		try {
			in_.feed({room, static_cast<std::size_t>(n)});
			while (std::optional<std::string> line = in_.next())
				turn.lines.push_back(std::move(*line));
		} catch (const ReportError &e) {
			return fail(e.what(), now);
		}
	}
}

void Uplink::flush(uint64_t now)
{
	while (!out_.empty()) {
		const ssize_t n = send(socket_.get(), out_.data(), out_.size(),
				       MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0)
			return fail(strerror(errno), now);
		out_.erase(0, static_cast<std::size_t>(n));
	}
}

Uplink::Turn Uplink::turn(uint64_t now)
{
	Turn t;

	if (at_ == At::idle && now >= try_at_)
		connect(now);
	if (at_ == At::connecting) {
		socklen_t length = sizeof(int);
		int err = 0;

		if (!connected()) {
			if (now > began_ + connect_time)
				fail("does not answer", now);
			return t;
		}
		getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &err, &length);
		if (err) {
			fail(strerror(err), now);
			return t;
		}
		at_ = At::up;
		said_.clear();
		std::cerr << "mrcmap: connected to the collector\n";
		t.connected = true;
	}
	if (at_ == At::up)
		read(t, now);
	if (at_ == At::up)
		flush(now);
	return t;
}

void Uplink::write(std::string_view lines)
{
	if (at_ == At::up && out_.size() + lines.size() <= most_waiting)
		out_ += lines;
}

std::optional<pollfd> Uplink::waits_for() const
{
	if (at_ == At::idle)
		return std::nullopt;

	const bool writes = at_ == At::connecting || !out_.empty();

	return pollfd{socket_.get(),
		      static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN),
		      0};
}

LineFile::LineFile(const std::string &file)
	: file_(file),
	  own_(file == "-"
		       ? -1
		       : open(file.c_str(),
			      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)),
	  fd_(file == "-" ? 1 : own_.get())
{
	if (fd_ < 0)
		throw mrclab::SystemError(file, errno);
}

void LineFile::write(std::string_view lines)
{
	while (!lines.empty()) {
		const ssize_t n = ::write(fd_, lines.data(), lines.size());

		if (n < 0 && errno != EINTR)
			throw mrclab::SystemError(file_, errno);
		if (n > 0)
			lines.remove_prefix(static_cast<std::size_t>(n));
	}
}
} // namespace mrcmap

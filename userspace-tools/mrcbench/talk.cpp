// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "talk.hpp"

#include <cerrno>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "error.hpp"

namespace mrcbench
{
using mrcperf::fail_errno;
using mrcperf::ProtocolError;
using mrcperf::RunError;

Talk::Talk(Talk &&o) noexcept : fd_(std::exchange(o.fd_, -1)) {}

Talk::~Talk()
{
	if (fd_ >= 0)
		close(fd_);
}

void Talk::send(const Message &message) const
{
	const std::string text = message.dump();
	std::string bytes;

	for (int shift = 24; shift >= 0; shift -= 8)
		bytes.push_back(static_cast<char>(text.size() >> shift));
	bytes += text;
	for (size_t done = 0; done < bytes.size();) {
		const ssize_t n = ::send(fd_, bytes.data() + done,
					 bytes.size() - done, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			fail_errno("telling the peer", errno);
		if (n > 0)
			done += static_cast<size_t>(n);
	}
}

void Talk::read_all(char *to, size_t length, double seconds) const
{
	using Clock = std::chrono::steady_clock;
	const auto end =
		Clock::now() + std::chrono::duration_cast<Clock::duration>(
				       std::chrono::duration<double>(seconds));

	while (length) {
		const auto left =
			std::chrono::ceil<std::chrono::milliseconds>(
				end - Clock::now())
				.count();
		pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};

		if (left <= 0)
			throw RunError(fmt::format(
				"the peer says nothing for {:g} s", seconds));
		if (poll(&p, 1, static_cast<int>(left)) <= 0)
			continue;
		const ssize_t n = recv(fd_, to, length, 0);

		if (!n)
			throw RunError("the peer closed the connection");
		if (n < 0 && errno != EINTR)
			fail_errno("connection to the peer", errno);
		if (n > 0) {
			to += n;
			length -= static_cast<size_t>(n);
		}
	}
}

Message Talk::receive(double seconds) const
{
	unsigned char head[4];
	uint32_t length = 0;

	read_all(reinterpret_cast<char *>(head), sizeof(head), seconds);
	for (const unsigned char c : head)
		length = length << 8 | c;
	if (length > max_length)
		throw ProtocolError("the peer's message is too long");
	std::string text(length, '\0');

	read_all(text.data(), length, seconds);
	Message m = Message::parse(text, nullptr, false);

	if (!m.is_object())
		throw ProtocolError("the peer's message is no JSON object");
	if (m.contains("error") && m["error"].is_string())
		throw RunError("the peer failed: " +
			       m["error"].get<std::string>());
	return m;
}

uint64_t number_in(const Message &m, const char *key, uint64_t max)
{
	const auto v = m.find(key);

	if (v == m.end() || !v->is_number_unsigned() ||
	    v->get<uint64_t>() > max)
		throw ProtocolError(
			fmt::format("the peer's \"{}\" is not valid", key));
	return v->get<uint64_t>();
}

std::string text_in(const Message &m, const char *key)
{
	const auto v = m.find(key);

	if (v == m.end() || !v->is_string())
		throw ProtocolError(
			fmt::format("the peer's \"{}\" is not valid", key));
	return v->get<std::string>();
}
} // namespace mrcbench

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl serve: the answer to each request, without sockets. */
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "health_file.hpp"
#include "sampler.hpp"
#include "web_server.hpp"

namespace mrcctl
{
/* Lines that each answer has. */
std::span<const std::pair<std::string_view, std::string_view>>
headers_of_all_answers();

class Site
{
public:
	struct Config {
		std::string device; /* the only one to show, or "" */
		std::string health; /* the file of mrcmap, or "" */
		uint64_t interval_ns = 0;
		/*
		 * The address is one of the loopback. Then other names of this
		 * host are refused: a page of somebody else whose name leads
		 * here (DNS rebinding) must not read what is served.
		 */
		bool local = true;
	};

	Site(const Env &env, const Config &c);

	/* For any thread. */
	WebResponse answer(const WebRequest &r);

private:
	WebResponse find(const WebRequest &r);
	WebResponse state();
	WebResponse qp(std::string_view query);
	WebResponse metrics();

	const Config config_;
	const std::string host_name_;
	Sampler sampler_;
	HealthFile health_;
};
} // namespace mrcctl

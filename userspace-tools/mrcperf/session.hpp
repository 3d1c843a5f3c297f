/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcperf: a session, from the first frame to the last run. */
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "endpoint.hpp"
#include "error.hpp"
#include "link.hpp"
#include "report.hpp"

namespace mrcperf
{
using Connect = std::function<Link()>;

/*
 * The client's side. Errors are printed to @err and are in the report; the
 * result is the exit status. The endpoint is made before the server is
 * contacted, so that an error on this side disturbs nobody else.
 */
Exit run_client(const Options &options, const MakeEndpoint &make,
		const Connect &connect, Report &report, std::ostream &err);

/*
 * The server's side, for one client. The first frame decides whether the peer
 * is a client: until then ProtocolError and RunError mean that nobody was
 * served.
 */
Hello greet(Link &link);
/* Prints one line about the session to @out or, after an error, to @err. */
Exit serve(const Hello &hello, Link &link, const MakeEndpoint &make,
	   std::ostream &out, std::ostream &err);
} // namespace mrcperf

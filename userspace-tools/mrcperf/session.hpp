/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcperf: a session, from the greeting to the last run. */
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
 * The client's. What goes wrong is said on @err and is in the report; the
 * result is the exit status. The endpoint is made before the server is asked,
 * so that a mistake on this side troubles nobody else.
 */
Exit run_client(const Options &options, const MakeEndpoint &make,
		const Connect &connect, Report &report, std::ostream &err);

/*
 * The server's, for one client. The first frame decides whether it is one:
 * until then ProtocolError and RunError mean that nobody was served.
 */
Hello greet(Link &link);
/* One line about it on @out or, if something is wrong, on @err. */
Exit serve(const Hello &hello, Link &link, const MakeEndpoint &make,
	   std::ostream &out, std::ostream &err);
} // namespace mrcperf

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* mrcctl-serve, which "mrcctl serve" becomes: mrcctl with a server for HTTP. */
#include "http_server.hpp"
#include "program.hpp"

int main(int argc, char **argv)
{
	mrcctl::HttpServer web;

	return mrcctl::run_program(argc, argv, &web, "");
}

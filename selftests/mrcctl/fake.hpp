/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A machine with an MRC device that exists in memory only. */
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "cli.hpp"
#include "error.hpp"
#include "host.hpp"

namespace mrcctl
{
constexpr uint64_t one_second = 1000000000; /* in ns */

/* Time passes when somebody sleeps. */
struct FakeClock : Clock {
	uint64_t ns = 0;

	/* 2026-01-02T03:04:05Z and so many nanoseconds */
	uint64_t wall_us() override { return 1767323045000000 + ns / 1000; }
	uint64_t mono_ns() override { return ns; }
	void sleep_ns(uint64_t t) override;

	/* Called as time passes, with the new time. */
	std::function<void(uint64_t)> tick;
};

/* The rules of states and what the tests need beyond; no network. */
struct FakeDevice {
	Device device;
	std::vector<Port> ports;
	TrafficClasses tc;
	Limits limits;
	std::vector<Default> defaults;
	std::map<uint64_t, Fmt> fmts;
	std::map<uint64_t, EvProfile> evs;
	std::map<uint64_t, CcProfile> ccs;
	std::vector<Qp> qps;
	std::deque<std::vector<EvEvent>> events; /* a wait takes one */
	std::vector<EpResponse> responses;
	std::optional<EpRequest> request; /* the last one */
	std::vector<EpRequest> requests;  /* all of them */
	/* Set: decides which EVs are answered, in place of responses. */
	std::function<bool(const EpRequest &, const Ev &)> answers;
	/* Set: the errno of a batch that cannot be sent, or 0. */
	std::function<int(const EpRequest &)> unsent;

	/* Calls that fail, by name, and all that changed something. */
	std::map<std::string, int> fail;
	std::vector<std::string> log;

	void call(const std::string &name);
};

struct FakeSystem : System {
	std::map<std::string, FakeDevice> all;
	FakeClock *clock = nullptr;

	std::vector<std::string> devices() override;
	std::unique_ptr<Backend> open(const std::string &name) override;
};

/* Files and programs that exist in memory only. */
struct FakeHost : Host {
	std::map<std::string, std::string> files;
	std::map<std::string, int> errors; /* of reading, by path */
	/* By the command's words with blanks between; others do not exist. */
	std::map<std::string, Ran> programs;
	std::vector<std::string> ran;
	/* Called before each program runs, to change what others print. */
	std::function<void(const std::string &)> on_run;

	File read(const std::string &path) override;
	std::vector<std::string> list(const std::string &dir) override;
	Ran run(const std::vector<std::string> &command) override;
	/* Notes the program in @ran and fails. */
	[[noreturn]] void
	become(const std::vector<std::string> &command) override;
	/* Fails with the errno of reading, if there is one. */
	int replace(const std::string &path, const std::string &text) override;
	int make_directory(const std::string &path) override;
	std::shared_ptr<void> lock(const std::string &path) override;
	std::string network_namespace() override { return "1"; }

	void prints(const std::string &command, const std::string &out)
	{
		programs[command] = {
			.started = true, .status = 0, .out = out, .err = ""};
	}
	void fails(const std::string &command, int status,
		   const std::string &err)
	{
		programs[command] = {.started = true,
				     .status = status,
				     .out = "",
				     .err = err};
	}
};

/* Asks what a test says, and has no socket. */
struct FakeWeb : WebServer {
	std::string address; /* the last one */
	int err = 0;	     /* of listening */
	uint64_t timeout_ns = 0;
	std::function<void(
		const std::function<WebResponse(const WebRequest &)> &)>
		visit;

	uint16_t listen(const std::string &to, uint16_t port) override;
	void run(const std::function<WebResponse(const WebRequest &)> &answer,
		 uint64_t timeout_ns) override;
};

struct Result {
	int status;
	std::string out;
	std::string err;
};

class MrcctlTest : public ::testing::Test
{
protected:
	MrcctlTest();

	Result run(const std::vector<std::string> &args,
		   const std::string &in = "");
	/* As a person types it; words have no blanks. */
	Result run(const std::string &line, const std::string &in = "");
	/* The parts of this test, with these streams, with a server or not. */
	Env env(std::istream &in, std::ostream &out, std::ostream &err,
		WebServer *web);
	/* Compares with, or writes, golden/NAME. */
	static void golden(const std::string &name, const std::string &text);
	/* Runs @line, which must work, as text and as JSON. */
	void golden_both(const std::string &name, const std::string &line);

	FakeDevice &dev() { return system_.all.at("mrc0"); }
	void add_profiles();
	void add_qps();

	FakeClock clock_;
	FakeSystem system_;
	FakeHost host_;
	FakeWeb web_;
	bool tty_ = false;
};
} // namespace mrcctl

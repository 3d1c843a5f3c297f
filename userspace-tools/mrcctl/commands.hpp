/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: the commands, for any device with a Backend. */
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend.hpp"
#include "error.hpp"
#include "host.hpp"
#include "json.hpp"
#include "web_server.hpp"
#include "words.hpp"

namespace mrcctl
{
class Clock
{
public:
	virtual ~Clock() = default;
	virtual uint64_t wall_us() = 0; /* since 1970, UTC */
	virtual uint64_t mono_ns() = 0;
	virtual void sleep_ns(uint64_t ns) = 0;
};

/* The environment of a run of the program. */
struct Env {
	std::istream &in;
	std::ostream &out;
	std::ostream &err;
	System &system;
	Clock &clock;
	bool tty;	  /* out is a terminal */
	std::size_t rows; /* of the terminal, 0 = not known */
	Host &host;
	/* None: "serve" runs the program serve_program, which has one. */
	WebServer *web;
	std::string serve_program;
};

/* Options that commands use. */
struct Options {
	bool json = false;
	bool pretty = false;
	uint64_t count = 0; /* 0: no end */
	uint64_t interval_ns = 1000000000;
	uint64_t timeout_ns = 0; /* 0: none */
	std::vector<std::string> peers;
	bool dry_run = false;
};

struct Context {
	Env &env;
	Options opt;
	Backend &dev;

	/* One document, or one line of a stream. */
	void print_json(const Json &j) const;
	void print_text(std::string_view text) const;
	template <typename T, typename Text>
	void show(const T &t, Text text) const
	{
		if (opt.json)
			print_json(json_of(t));
		else
			print_text(text());
	}
};

/* A run of a command that looks at all devices, or at none. */
struct HostContext {
	Env &env;
	Options opt;
	std::string device; /* that was named, or "" */

	void print(std::string_view text) const;
	void print_json(const Json &j) const;
};

struct Command {
	std::string_view object;
	std::string_view name; /* "" = the object's default command */
	std::string_view words;
	std::string_view help;
	void (*run)(Context &c, Words &w);
	/* In place of run: needs no device. Returns the exit status. */
	int (*run_on_host)(const HostContext &c, Words &w) = nullptr;
	int usage_status = exit_usage;
};

std::span<const Command> commands();

void dev_show(Context &c, Words &w);
void dev_set(Context &c, Words &w);
void port_show(Context &c, Words &w);
void port_set(Context &c, Words &w);
void tc_show(Context &c, Words &w);
void tc_set(Context &c, Words &w);
void limit_show(Context &c, Words &w);
void limit_set(Context &c, Words &w);
void default_show(Context &c, Words &w);
void default_set(Context &c, Words &w);
void default_del(Context &c, Words &w);

void fmt_show(Context &c, Words &w);
void fmt_add(Context &c, Words &w);
void fmt_set(Context &c, Words &w);
void fmt_del(Context &c, Words &w);
void ev_show(Context &c, Words &w);
void ev_add(Context &c, Words &w);
void ev_set(Context &c, Words &w);
void ev_del(Context &c, Words &w);
void ev_deny(Context &c, Words &w);
void ev_allow(Context &c, Words &w);
void ev_replace(Context &c, Words &w);
void cc_show(Context &c, Words &w);
void cc_add(Context &c, Words &w);
void cc_set(Context &c, Words &w);
void cc_del(Context &c, Words &w);
void load(Context &c, Words &w);
void save(Context &c, Words &w);

void probe_ev(Context &c, Words &w);
void probe_status(Context &c, Words &w);
void monitor(Context &c, Words &w);
void qp_show(Context &c, Words &w);
void top(Context &c, Words &w);

int show_gids(const HostContext &c, Words &w);
int diagnose(const HostContext &c, Words &w);
int metrics(const HostContext &c, Words &w);
int serve(const HostContext &c, Words &w);
int plane_show(const HostContext &c, Words &w);
int plane_add(const HostContext &c, Words &w);
int plane_del(const HostContext &c, Words &w);
int links_up(const HostContext &c, Words &w);
int links_join(const HostContext &c, Words &w);
int links_down(const HostContext &c, Words &w);
int links_check(const HostContext &c, Words &w);
int links_units(const HostContext &c, Words &w);

} // namespace mrcctl

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcconform: results as text, JSON and JUnit's XML. */
#pragma once

#include <iosfwd>

#include "cases.hpp"

namespace mrcconform
{
enum class Verdict { passed, failed, skipped, error };

struct Result {
	const Case *test = nullptr;
	/* The target's address. */
	std::string address;
	Verdict verdict = Verdict::passed;
	/* What was expected, why it was skipped, or the error. */
	std::string text;
	std::vector<TraceLine> trace;
	double seconds = 0;
};

struct Counts {
	size_t passed = 0, failed_must = 0, failed_should = 0, skipped = 0,
	       errors = 0;
};

Counts count(const std::vector<Result> &results);
/* The exit status; with @strict a SHOULD counts as a MUST. */
int status_of(const std::vector<Result> &results, bool strict);

/* One line, and the details of a failure. */
void print_text(std::ostream &out, const Result &r, bool verbose);
void print_summary(std::ostream &out, const std::vector<Result> &results);
void print_json(std::ostream &out, const std::vector<Result> &results);
void print_junit(std::ostream &out, const std::vector<Result> &results);

void print_list(std::ostream &out, const std::vector<const Case *> &cases);
void print_list_json(std::ostream &out, const std::vector<const Case *> &cases);

const char *verdict_name(Verdict v);
/* Text for an attribute or an element of XML. */
std::string xml_text(std::string_view s);
} // namespace mrcconform

/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrcctl: the model as text. Every function returns whole lines. */
#pragma once

#include <string>

#include "model.hpp"

namespace mrcctl
{
std::string text_of(const Device &d);
std::string text_of(const Port &p);
std::string text_of(const TrafficClasses &tc);
std::string text_of(const Limits &l);
std::string text_of(const Default &d);
std::string text_of(const Fmt &f);
std::string text_of(const CcProfile &p);
/* With @evs one line for every EV. */
std::string text_of(const EvProfile &p, bool evs);
std::string text_of(const Qp &q, bool evs);
/* Without end of line. */
std::string text_of(const EvEvent &e);

std::string show_time(uint64_t ns); /* 12.3us */
} // namespace mrcctl

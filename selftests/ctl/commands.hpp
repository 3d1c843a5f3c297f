/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* mrc_ctl: the commands. @w[0] is the command's name. */
#pragma once

#include "parse.hpp"

void cmd_dev(Dev &dev, const Words &w);
void cmd_port(Dev &dev, const Words &w);
void cmd_tc(Dev &dev, const Words &w);
void cmd_default(Dev &dev, const Words &w);
void cmd_ep(Dev &dev, const Words &w);
void cmd_events(Dev &dev, const Words &w);
void cmd_qp(Dev &dev, const Words &w);
void cmd_fmt(Dev &dev, const Words &w);
void cmd_ev(Dev &dev, const Words &w);
void cmd_cc(Dev &dev, const Words &w);

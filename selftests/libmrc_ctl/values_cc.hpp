/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Values of CC profiles, the part of `libmrc_ctl DEV cc` behind the table. */
#pragma once

#include "api.hpp"

void cc_values(Report &r, const Device &dev);

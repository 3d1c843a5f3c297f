/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * mrc_verify: CQs and SRQs whose size several threads change.
 */
#pragma once

#include "tests.h"

void resize_from_threads(Session &s);

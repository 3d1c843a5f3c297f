// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The C engine as C++ tests see it.
#pragma once

// What mrc_port.h pulls in must not end up inside extern "C".
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <linux/types.h>

extern "C" {
#include "mrc_port.h"
#include "mrc_counters.h"
#include "mrc_psn.h"
#if __has_include("mrc_bitmap.h")
#include "mrc_bitmap.h"
#endif
#include "mrc_wire.h"
#include "mrc_ev.h"
#include "mrc_cc.h"
#include "mrc_req.h"
#include "mrc_resp.h"
}

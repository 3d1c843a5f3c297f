/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The whole engine. */
#ifndef MRC_CORE_H
#define MRC_CORE_H

#include "mrc_base.h"
#include "mrc_counters.h"
#include "mrc_psn.h"
#include "mrc_bitmap.h"
#include "mrc_wire.h"
#include "mrc_ev.h"
#include "mrc_cc.h"
#include "mrc_req.h"
#include "mrc_resp.h"
#include "mrc_endpoint.h"
#include "mrc_uc.h"
#include "mrc_attr.h"
#include "mrc_info.h"

#endif /* MRC_CORE_H */

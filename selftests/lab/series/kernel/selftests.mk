# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
TEST_PROGS := perftest.sh ud.sh
TEST_FILES := lib.sh lib_topo.sh lib_count.sh lib_run.sh settings

include ../../lib.mk

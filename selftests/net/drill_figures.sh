#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The short form of "make figures": ports of a NIC are lost one by one (Fig. 9a), and a T1
# dies and comes back (Fig. 11). What the drills require must hold; on a machine that others
# use, three quarters of it. If the machine paused for half a sample, the samples say nothing.
# timeout: 900
# kmsg-ok: rdma_rxe|rxe|make_send_cqe
. "$(dirname "$0")/lib.sh"

DRILLS=/mrc/guest/share/mrclab/drills

# What is missing to three quarters of the requirements, one per line.
unmet() { # RESULT
	python3 - "$1" <<'END'
import json, sys

with open(sys.argv[1], encoding="utf-8") as f:
    mrc = json.load(f)["runs"][0]
assert mrc["verdicts"]
for v in mrc["verdicts"]:
    # Percentages are lower limits, times upper ones.
    if v["unit"] == "%":
        ok = v["got"] >= v["wanted"] * .75
    else:
        ok = v["got"] <= v["wanted"] / .75
    if not ok:
        print(f'{v["text"]}: {v["got"]:.4g} {v["unit"]}, required {v["wanted"]}')
END
}

figure() { # NAME
	local rc=0 missing
	pauses_begin longest
	mrclab drill -m -o "$WORK/out" "$DRILLS/$1.yaml" >"$WORK/output" 2>&1 || rc=$?
	pauses_end
	[ "$rc" = 0 ] || [ "$rc" = 3 ] || {
		cat "$WORK/output"
		fail "mrclab drill: status $rc"
	}
	grep wanted "$WORK/output" | sed 's/^/figure: /'
	echo "figure: $1: longest pause of the machine $pause ms"
	missing=$(unmet "$WORK/out/$1.json")
	[ -n "$missing" ] || return 0
	[ "$pause" -lt 50 ] || skip "the machine paused for $pause ms; a sample is 100 ms"
	fail "$missing"
}

subtest "Fig. 9a: ports of a NIC are lost one by one" figure fig9a
subtest "Fig. 11: a T1 dies and comes back" figure fig11
tap_end

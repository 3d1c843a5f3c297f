# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Stock perftest in subtests; sourced after lib.sh.
# shellcheck disable=SC2154 # variables shared with lib.sh

bw() { # OPTIONS...
	ctr_mark
	# A timeout of seconds: a guest may pause for half a second.
	perftest "$@" -u 18
	ctr_take
	expect mrca qp_errors == 0
	expect mrcb qp_errors == 0
	expect mrca tx_data_pkts '>' 0
	expect_equal_share mrca tx_data_pkts 10
}

# All sizes from 2 to 8 MiB; perftest runs each the same number of times.
sizes_complete() { # [TOOL]
	local size
	bw "${1:-ib_write_bw}" -a -n 10
	for size in 2 4096 65536 8388608; do
		[ -n "$(perftest_field "$size" 4)" ] || fail "no line for $size bytes"
	done
}

lat() { # OPTIONS...
	local typical
	ctr_mark
	perftest ib_write_lat "$@" -u 18
	ctr_take
	expect mrca qp_errors == 0
	typical=$(perftest_field 2 5)
	[ -n "$typical" ] || fail "no latency in the report"
	echo "figure: ib_write_lat $*: typical $typical us"
}

# Any tool on a device that has only MRC 1.0.
unsupported() { # TOOL
	extension off
	perftest_start "$1" -n 10
	! finished "$perftest_client" 30 || fail "$1 works on a device that does not offer it"
	! finished "$perftest_server" 30 || fail "$1 works on a device that does not offer it"
	extension on
}

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Stock perftest: every tool over RC, those of SEND over UD, of SEND and WRITE over
# UC, and the options that programs differ in.
# timeout: 2400
. "$(dirname "$0")/lib_interop.sh"

# NAME TOOL OPTIONS...
list() {
	cat <<-'END'
		write_bw ib_write_bw -n 200
		write_lat ib_write_lat -n 200
		write_bw_b ib_write_bw -n 200 -b
		write_bw_all ib_write_bw -n 20 -a
		write_bw_qps ib_write_bw -n 50 -q 8
		write_bw_list ib_write_bw -n 256 -l 16
		write_bw_cm ib_write_bw -n 200 -R
		send_bw ib_send_bw -n 200
		send_lat ib_send_lat -n 200
		send_bw_b ib_send_bw -n 200 -b
		send_bw_all ib_send_bw -n 20 -a
		send_bw_events ib_send_bw -n 200 -e
		send_lat_events ib_send_lat -n 100 -e
		send_lat_inline ib_send_lat -n 200 -s 64 -I 64
		send_bw_qps ib_send_bw -n 50 -q 8
		send_bw_srq ib_send_bw -n 100 --use-srq -q 2
		send_bw_list ib_send_bw -n 256 -l 16
		send_bw_cm ib_send_bw -n 200 -R
		send_lat_cm ib_send_lat -n 200 -R
		read_bw ib_read_bw -n 200
		read_lat ib_read_lat -n 200
		read_bw_b ib_read_bw -n 200 -b
		read_bw_all ib_read_bw -n 20 -a
		read_bw_events ib_read_bw -n 200 -e
		read_bw_cm ib_read_bw -n 200 -R
		read_bw_qps ib_read_bw -n 50 -q 4
		atomic_bw ib_atomic_bw -n 200
		atomic_lat ib_atomic_lat -n 200
		atomic_bw_cas ib_atomic_bw -n 200 -A CMP_AND_SWAP
		atomic_bw_cm ib_atomic_bw -n 200 -R
		uc_write_bw ib_write_bw -c UC -n 200
		uc_write_lat ib_write_lat -c UC -n 200
		uc_write_bw_b ib_write_bw -c UC -n 200 -b
		uc_send_bw ib_send_bw -c UC -n 200
		uc_send_lat ib_send_lat -c UC -n 200
		uc_send_bw_b ib_send_bw -c UC -n 200 -b
		uc_send_lat_events ib_send_lat -c UC -n 100 -e
		uc_send_lat_inline ib_send_lat -c UC -n 200 -s 64 -I 64
		ud_send_bw ib_send_bw -c UD -n 200 -s 1024
		ud_send_lat ib_send_lat -c UD -n 200 -s 1024
		ud_send_lat_events ib_send_lat -c UD -n 100 -s 1024 -e
		ud_send_bw_cm ib_send_bw -c UD -n 200 -s 1024 -R
	END
}

# Where time is short, the first of each tool.
cases() { list | awk -v short="${INTEROP_SHORT:-}" '!short || !seen[$2]++ { print $1 }'; }

case_run() {
	local name tool args cm=()
	read -r name tool args < <(list | awk -v n="$1" '$1 == n')
	# shellcheck disable=SC2206 # a list of options
	args=($args -u 18) # seconds of patience: a guest may stand still for half of one
	if [[ $name == *_cm ]]; then
		MG_B=$IP_B
		PAIR_READY=(cm_listens)
	else
		cm=(-x)
	fi
	case $name in
	ud_*) datagrams ;;
	uc_*) in_order ;;
	*_cm) whole_cm ;;
	esac
	pair 120 "$tool" -F -d "$DEV_B" ${cm[@]+"${cm[@]}" "$GIDX_B"} "${args[@]}" -- \
		"$tool" -F -d "$DEV_A" ${cm[@]+"${cm[@]}" "$GIDX_A"} "${args[@]}" "$MG_B"
	if grep -i -E 'completion with error|failed status' "$WORK/client" "$WORK/server"; then
		fail "$tool reports an error"
	fi
}

interop perftest

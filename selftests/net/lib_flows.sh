# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# MRC on a fabric: profiles for its paths, and traffic between its hosts. Sourced by
# lib_fabric.sh.

# Generated profiles for the paths between all pairs of the hosts. Profile N of mrcH
# leads from host H to host N by all spines in all planes. QPs to host N use it. CC is
# the algorithm of a congestion control profile and, in the same argument, its
# parameters: "uet-1.0-nscc base_rtt 20000000".
fabric_profiles() { # [cc="ALGORITHM [NAME N...]"] HOST...
	local h to from there fields cc='' algorithm=''
	if [[ $1 == cc=* ]]; then
		algorithm=${1#cc=} cc='cc 1'
		shift
	fi
	for h in "$@"; do
		from=$(((h - 1) / FAB_PER_LEAF + 1))
		{
			echo "fmt add 1 mode srv6 fields 16,16,16,16,16,16,16,16"
			[ -z "$algorithm" ] || echo "cc add 1 algorithm $algorithm"
			for to in "$@"; do
				[ "$to" != "$h" ] || continue
				there=$(((to - 1) / FAB_PER_LEAF + 1))
				fields=16/$FABRIC_PREFIX/0,16/0/0,16/01${FAB_2[from]}/0
				if [ $from = $there ]; then
					echo "ev add $to mode generated fmt 1 count $FAB_PLANES" \
						"fields $fields,16/03${FAB_2[to]}/0,16/0/0,16/0/0,16/0/0,16/0/0"
				else
					# spines 1 to 9: one digit, decimal or hexadecimal
					echo "ev add $to mode generated fmt 1 count $((FAB_PLANES * FAB_SPINES))" \
						"fields $fields,16/0200/f/1/$FAB_SPINES,16/01${FAB_2[there]}/0,16/03${FAB_2[to]}/0,16/0/0,16/0/0"
				fi
				echo "default set $(host6 "$to")/128 ev $to $cc"
				echo "default set $(host4 "$to")/32 ev $to $cc"
			done
		} >"$WORK/ctl.$h"
		mrcctl -d "mrc$h" -b "$WORK/ctl.$h"
	done
}

# The EVs from host A to host B, one line "INDEX VALUE@PORT STATE" each. VALUE is that
# of the only field that differs, the spine: 10@2 is spine 1 in plane 2.
profile_list() { # A B
	mrcctl -d "mrc$1" ev show "$2" | evs_shown
}

# The plane and the spine of such an EV.
ev_path() { # VALUE@PORT
	echo "${1#*@} $((0x${1:0:1}))"
}

# flow NAME A B [-4] OPTIONS...: an mrc_verify session from host A to host B. flow_end
# waits for its end; flow_stop ends it if it has --duration 1000. NAME is a digit. The
# sessions of one server host need different ones, because NAME selects the TCP port.
flow() {
	local name=$1 a=$2 b=$3 gid=host6
	shift 3
	[ "$1" != -4 ] || {
		gid=host4
		shift
	}
	rm -f "$WORK/server.$name" "$WORK/client.$name"
	start "$WORK/server.$name" ip netns exec "h$b" mrc_verify -d "mrc$b" --gid "$($gid "$b")" \
		--port $((18600 + name))
	flow_server[name]=$started
	start "$WORK/client.$name" ip netns exec "h$a" mrc_verify -d "mrc$a" --gid "$($gid "$a")" \
		--port $((18600 + name)) "$@" "$(mgmt4 "$b")"
	flow_client[name]=$started
}
flow_server=() flow_client=()

flow_running() { # NAME
	grep -q '^t=[0-9]' "$WORK/client.$1"
}

flow_end() { # NAME [SECONDS]
	local crc=0 src=0
	finished "${flow_client[$1]}" "${2:-120}" || crc=$?
	finished "${flow_server[$1]}" 30 || src=$?
	[ "$crc" = 0 ] && [ "$src" = 0 ] && grep -q '^mrc_verify: OK' "$WORK/client.$1" || {
		echo "--- client (status $crc)"
		tail -n 12 "$WORK/client.$1"
		echo "--- server (status $src)"
		tail -n 12 "$WORK/server.$1"
		fail "flow $1"
	}
}

flow_stop() { # NAME
	kill -INT "${flow_client[$1]}"
	flow_end "$1"
}

# The QPN of the sending QP of host A while one flow runs there.
sending_qp() { # A
	rdma resource show qp | sed -n "s/.*link mrc$1\/[0-9]* lqpn \([0-9]*\) .*type RC.*/\1/p" | head -n 1
}

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Links of a fabric: their settings and their packet counters. Sourced by
# lib_fabric.sh.

# --- what links do ------------------------------------------------------------------

# link_set NODE:NETDEV KEY VALUE ...: adds to the settings of the direction.
#	rate KBIT	token bucket of 64 ms, so that late timers do not reduce the rate
#	burst BYTES	another bucket
#	delay MS	(fractions allowed)
#	loss PERCENT
#	mark BYTES | MIN:MAX | all	ECN: data queue length, a step or a slope
#	trim BYTES	data queue length from which trimmable packets are trimmed
#	trim_len BYTES	length of a trimmed IP packet
#	limit BYTES	queue length from which packets are dropped
#	off		(no value) removes all earlier settings
# mark and trim put sch_mrcsw below the rate. Without a rate no queue builds up.
link_set() {
	local link=$1 node=${1%%:*} dev=${1#*:} file=$FAB/set.$1
	local rate='' burst='' delay='' loss='' mark='' trim='' trim_len='' limit=''
	shift
	# shellcheck source=/dev/null
	[ ! -e "$file" ] || . "$file"
	while [ $# -gt 0 ]; do
		case $1 in
		off)
			rate='' burst='' delay='' loss='' mark='' trim='' trim_len='' limit=''
			shift
			;;
		rate | burst | delay | loss | mark | trim | trim_len | limit)
			local "$1=$2"
			shift 2
			;;
		*) fail "link_set: no such thing: $1" ;;
		esac
	done
	declare -p rate burst delay loss mark trim trim_len limit |
		sed 's/^declare -[^ ]* //' >"$file"
	local at=root kind=mrcsw cmds=$FAB/tc
	[[ $link != p*l*:h* ]] || kind=mrcsw_last
	: >"$cmds"
	if [ -n "$delay$loss" ]; then
		echo "qdisc add dev $dev $at handle 1: netem limit 100000" \
			"${delay:+delay ${delay}ms} ${loss:+loss $loss%}" >>"$cmds"
		at="parent 1:1"
	fi
	if [ -n "$rate" ]; then
		echo "qdisc add dev $dev $at handle 2: tbf rate ${rate}kbit" \
			"burst ${burst:-$((rate * 8 + 10000))} limit ${limit:-4m}" >>"$cmds"
		at="parent 2:1"
	fi
	if [ -n "$mark$trim" ]; then
		switch_params "$mark" "$trim" "$trim_len" "$limit"
		echo "qdisc add dev $dev $at handle 3: $kind" >>"$cmds"
	fi
	[ "$(tc -n "$node" qdisc show dev "$dev" root 2>/dev/null | grep -c -v noqueue)" = 0 ] ||
		tc -n "$node" qdisc del dev "$dev" root
	[ ! -s "$cmds" ] || tc -n "$node" -batch "$cmds"
}

link_rate() { link_set "$1" rate "$2"; }
link_loss() { link_set "$1" loss "$2"; }
link_delay() { link_set "$1" delay "$2"; }
link_mark() { link_set "$1" mark "$2"; }
link_trim() { link_set "$1" trim "$2"; }
link_clear() { link_set "$1" off; }

# Parameters of the next qdiscs of the kinds mrcsw and mrcsw_last.
switch_params() { # MARK TRIM TRIM_LEN LIMIT
	local dir=/sys/module/sch_mrcsw/parameters min=${1%:*} max=${1#*:}
	[ "$1" != all ] || min=0 max=1
	echo "${min:-0}" >$dir/ecn_min
	echo "${max:-0}" >$dir/ecn_max
	echo "${2:-0}" >$dir/trim_bytes
	echo "${3:-132}" >$dir/trim_len
	echo "${4:-4194304}" >$dir/data_limit
}

# A cut link loses its carrier at both ends.
link_cut() { # NODE:NETDEV
	ip -n "${1%%:*}" link set "${1#*:}" down
}

link_heal() { # NODE:NETDEV
	node_heal "${1%%:*}"
}

# Brings up all netdevs of a node and restores what the kernel forgot about them.
node_heal() { # NODE
	ip -n "$1" -batch "$FAB/ip.$1"
}

spine_down() { # PLANE SPINE
	local l
	for ((l = 1; l <= FAB_LEAVES; l++)); do
		echo "link set l$l down"
	done | ip -n "p$1s$2" -batch -
}

spine_up() { # PLANE SPINE
	node_heal "p$1s$2"
}

# --- what links have carried ----------------------------------------------------------

# Lines "NODE:NETDEV rx_packets rx_bytes tx_packets tx_bytes" of all links. Frames are
# counted by the netdev, after its queues.
links_dump() {
	local n pid args=()
	for n in "${FAB_NODES[@]}"; do
		read -r pid <"$FAB/pid.$n"
		args+=("node=$n" "/proc/$pid/net/dev")
	done
	awk 'FNR > 2 {
			sub(/:/, " ")
			if ($1 != "lo" && $1 != "mgmt" && $1 ~ /^[hpsl][0-9]+$/)
				print node ":" $1, $3, $2, $11, $10
		}' "${args[@]}"
}

links_mark() { links_dump >"$WORK/links.mark"; }
links_take() { links_dump >"$WORK/links.take"; }

# How much a direction sent between links_mark and links_take.
links_grown() { # FIELD [NODE:NETDEV]
	awk -v f="$1" -v link="${2:-}" '
		FNR == NR { old[$1] = $f; next }
		link == "" { print $1, $f - old[$1] }
		$1 == link { printf "%d\n", $f - old[$1]; seen = 1 }
		END { if (link != "" && !seen) { print "no link " link > "/dev/stderr"; exit 1 } }' \
		"$WORK/links.mark" "$WORK/links.take"
}
link_tx() { links_grown 4 "$1"; }
link_tx_bytes() { links_grown 5 "$1"; }
link_rx() { links_grown 2 "$1"; }

# Packets that a direction has sent, now.
link_tx_now() { # NODE:NETDEV
	links_dump | awk -v link="$1" '$1 == link { print $4 }'
}

# Whether the kernel has noticed that all netdevs have a carrier, which can take a
# second. A process in each namespace shows its own /sys.
links_up() {
	local n pid dev state
	for n in "${FAB_NODES[@]}"; do
		read -r pid <"$FAB/pid.$n"
		for dev in "/proc/$pid/root/sys/class/net/"[hpsl][0-9]*; do
			read -r state <"$dev/operstate"
			[ "$state" = up ] || return 1
		done
	done
}

# Whether nothing was sent for a moment. The MLD packets that the kernel sends when a
# netdev comes up can be awaited in no other way.
links_quiet() { same_after 0.3 links_dump; }

# What the switch port of a direction has counted since it was made: its line of
# /proc/net/mrcsw, or one figure of that line.
switch_stat() { # NODE:NETDEV [NAME]
	local pid line
	read -r pid <"$FAB/pid.${1%%:*}"
	line=$(grep "^${1#*:} " "/proc/$pid/net/mrcsw") || fail "no switch port at $1"
	if [ -z "${2:-}" ]; then
		echo "$line"
	else
		[[ " $line " =~ \ $2=([0-9]+)\  ]] || fail "no figure $2 at $1: $line"
		echo "${BASH_REMATCH[1]}"
	fi
}

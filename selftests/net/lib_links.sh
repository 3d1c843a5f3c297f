# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Links of a fabric: their settings and their packet counters. Sourced by
# lib_fabric.sh.

# --- what links do ------------------------------------------------------------------

# link_set NODE:NETDEV KEY VALUE ...: adds to the settings of the direction. An empty
# value of rate, delay, loss, mark or trim removes it.
#	rate KBIT	token bucket of 64 ms, so that late timers do not reduce the rate
#	burst BYTES	another bucket
#	delay MS	(fractions allowed)
#	loss PERCENT
#	mark BYTES | MIN:MAX | all	ECN: data queue length, a step or a slope
#	trim BYTES	data queue length from which trimmable packets are trimmed
#	trim_len BYTES	length of a trimmed IP packet
#	limit BYTES	queue length from which packets are dropped
#	off		(no value) removes all earlier settings, before the others are set
# mark and trim put sch_mrcsw below the rate, which they need.
link_set() {
	local link=$1 words='' before=''
	shift
	while [ $# -gt 0 ]; do
		case $1 in
		off)
			before="$link clear"
			shift
			continue
			;;
		rate) words+=" rate ${2:-none}${2:+kbit}" ;;
		delay) words+=" delay ${2:-0}${2:+ms}" ;;
		loss) words+=" loss ${2:-0}" ;;
		mark) words+=" mark $(sed 's/:/../; s/^$/none/' <<<"$2")" ;;
		limit) words+=" queue $2" ;;
		burst | trim_len) words+=" $1 $2" ;;
		trim) words+=" trim ${2:-0}" ;;
		*) fail "link_set: no such thing: $1" ;;
		esac
		shift 2
	done
	printf '%s\n' "$before" "${words:+$link$words}" | mrclab fault -b -
}

link_rate() { link_set "$1" rate "$2"; }
link_loss() { link_set "$1" loss "$2"; }
link_delay() { link_set "$1" delay "$2"; }
link_clear() { link_set "$1" off; }

# A cut link loses its carrier at both ends.
link_cut() { mrclab fault "$1" down; } # NODE:NETDEV
link_heal() { mrclab fault "$1" up; } # NODE:NETDEV

spine_down() { mrclab fault "p$1s$2" down; } # PLANE SPINE
spine_up() { mrclab fault "p$1s$2" up; } # PLANE SPINE

# --- what links have carried ----------------------------------------------------------

# Lines "NODE:NETDEV rx_packets rx_bytes tx_packets tx_bytes" of all links. Frames are
# counted by the netdev, after its queues.
links_dump() {
	mrclab status -s | awk '$2 == "sent" { print $1, $8, $10, $3, $5 }'
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

# Whether nothing was sent for a moment. The MLD packets that the kernel sends when a
# netdev comes up can be awaited in no other way.
links_quiet() { same_after 0.3 links_dump; }

# What the switch port of a direction has counted since it was made: its line of
# /proc/net/mrcsw, or one figure of that line.
switch_stat() { # NODE:NETDEV [NAME]
	local line
	line=$(ip netns exec "${1%%:*}" grep "^${1#*:} " /proc/net/mrcsw) ||
		fail "no switch port at $1"
	if [ -z "${2:-}" ]; then
		echo "$line"
	else
		[[ " $line " =~ \ $2=([0-9]+)\  ]] || fail "no figure $2 at $1: $line"
		echo "${BASH_REMATCH[1]}"
	fi
}

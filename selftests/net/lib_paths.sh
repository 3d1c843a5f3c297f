# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Which paths data takes from A to B, with profiles of UDP source ports on two planes.
# Sourced after lib.sh.

# The source ports with a counter of their own. Scripts may set others.
PATH_PORTS="c001 c002 c003 c004 d003"

# Counts data packets that arrive at B, by plane and source port. The length tells
# them from probes and replies, which are shorter. Those that belong to no queue pair
# are not bound to the EVs of the profile.
count_ports() {
	local i p
	{
		echo "table netdev paths {"
		for i in 1 2; do
			for p in $PATH_PORTS other; do
				echo "counter p${i}_$p { }"
			done
			echo "chain in$i {"
			echo "type filter hook ingress device \"pb$i\" priority 0;"
			for p in $PATH_PORTS; do
				echo "ip length > 300 udp dport 4791 udp sport 0x$p" \
					"counter name p${i}_$p accept"
			done
			echo "ip length > 300 udp dport 4791 counter name p${i}_other"
			echo "}"
		done
		echo "}"
	} | in_b nft -f -
}

seen() { nft_counter hostb netdev paths "p$1_$2"; } # PLANE PORT

seen_all() {
	local i p sum=0
	for i in 1 2; do
		for p in $PATH_PORTS other; do
			sum=$((sum + $(seen "$i" "$p")))
		done
	done
	echo "$sum"
}

grows() { # PLANE PORT BY
	local from
	from=$(seen "$1" "$2")
	wait_for 30 seen_at_least "$1" "$2" $((from + $3))
}

seen_at_least() { [ "$(seen "$1" "$2")" -ge "$3" ]; }

uncount_ports() { in_b nft delete table netdev paths; }

stands_still() { # PLANE PORT
	same_after 0.1 seen "$1" "$2"
}

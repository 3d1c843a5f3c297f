# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# A third namespace beside the two hosts, devices that only some namespaces see, and
# programs that find each other by rdma_cm. Sourced after lib.sh.

THIRD=third
in_third() { ip netns exec "$THIRD" "$@"; }

# --- devices that only their own namespace sees ------------------------------------

# The namespace that sees each device. No entry means the current namespace.
declare -A home=()

# The functions of lib_topo.sh that read sysfs, run in the namespace of the device.
for f in gid_index port_state; do
	eval "$(declare -f $f | sed "1s/$f/here_$f/")"
done
seen_from() { # DEV FUNCTION ARGS...
	local ns=${home[$1]:-}
	shift
	if [ -z "$ns" ]; then
		"$@"
	else
		# shellcheck disable=SC2016 # expanded there
		ip netns exec "$ns" bash -c "$(declare -f gid_text here_gid_index \
			here_port_state)"'; "$@"' - "$@"
	fi
}

gid_index() { seen_from "$1" here_gid_index "$@"; }

port_state() { seen_from "$1" here_port_state "$@"; }

# A device appears in one of the namespaces, or in all.
ctr_json() {
	local ns
	if [ ${#home[@]} = 0 ]; then
		rdma -j statistic show link
	else
		for ns in "$HOST_A" "$HOST_B" "$THIRD"; do
			[ ! -e "/run/netns/$ns" ] ||
				ip netns exec "$ns" rdma -j statistic show link
		done
	fi
}

devices() { # NETNS, '' for the initial one
	${1:+ip netns exec "$1"} rdma dev show | awk '{ print $2 }' | tr -d : | sort | paste -sd' '
}

devices_are() { # NETNS NAMES
	[ "$(devices "$1")" = "$2" ]
}

expect_devices() { # NETNS NAMES
	devices_are "$@" || fail "devices in ${1:-init}: $(devices "$1"); expected: $2"
}

# "port state netdev" of each port of DEV, as NETNS sees it
links() { # NETNS DEV
	ip netns exec "$1" rdma link show | awk -v d="$2" '
		$1 == "link" && index($2, d "/") == 1 {
			state = ndev = "-"
			for (i = 3; i < NF; i++) {
				if ($i == "state") state = $(i + 1)
				if ($i == "netdev") ndev = $(i + 1)
			}
			sub(".*/", "", $2)
			print $2, state, ndev
		}' | paste -sd,
}

links_are() { [ "$(links "$1" "$2")" = "$3" ]; }

third_up() {
	host_up "$THIRD"
	# Programs in this namespace talk to each other over lo.
	ip -n "$THIRD" addr add 192.0.2.3/32 dev lo
}

third_down() {
	[ ! -e "/run/netns/$THIRD" ] || ip netns del "$THIRD"
}

all_gone() {
	third_down
	home=()
	topo_down
}

# --- the mode ----------------------------------------------------------------------

# Namespaces end a moment after their names are removed.
exclusive_now() { rdma system set netns exclusive; }

shared_now() { rdma system set netns shared; }

# The script's own clean-up runs first.
leave_exclusive() {
	local rc=$?
	set +e
	stop_all
	all_gone
	wait_for 30 shared_now
	(exit "$rc")
	script_exit
}

# --- traffic -----------------------------------------------------------------------

# All data arrived exactly once and no packet was lost on the way. Packets that were
# retransmitted because a busy machine was late equal the packets that arrived twice.
expect_whole() {
	expect mrcb rx_data_bytes == $((64 * 65536))
	expect mrcb rx_drop_icrc == 0
	expect mrcb rx_duplicate == "$(ctr mrca tx_rtx_pkts)"
}

# All traffic used exactly the planes given.
traffic() {
	local p
	ctr_mark
	verify --op write --size 65536 --iters 64
	ctr_quiet && ctr_take
	expect_whole
	for p in "$@"; do
		expect "mrca/$p" tx_data_pkts '>' 0
		expect "mrcb/$p" rx_data_pkts '>' 0
	done
}

# Two programs in NETNS use the devices of other namespaces.
traffic_from() { # NETNS-OF-CLIENT NETNS-OF-SERVER SERVER'S-ADDRESS
	local pid
	start "$WORK/server" ip netns exec "$2" timeout 100 mrc_verify -d mrcb --gid "$B4"
	pid=$started
	ip netns exec "$1" timeout 90 mrc_verify -d mrca --gid "$A4" \
		--op write --size 65536 --iters 64 "$3" >"$WORK/client" 2>&1 ||
		fail "client: $(tail -n 5 "$WORK/client"); server: $(tail -n 5 "$WORK/server")"
	finished "$pid" 30 || fail "server: $(tail -n 5 "$WORK/server")"
	grep -q '^mrc_verify: OK' "$WORK/client" || fail "no OK from the client"
}

# --- rdma_cm -----------------------------------------------------------------------

cm_listens() { ip netns exec "$HOST_B" rdma resource show cm_id | grep -q LISTEN; }

# A server on B, a client on A, that find each other by rdma_cm.
meet() { # SERVER... -- CLIENT...
	local server=() pid
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	rm -f "$WORK/server"
	start "$WORK/server" ip netns exec "$HOST_B" timeout 90 "${server[@]}"
	pid=$started
	wait_for 30 cm_listens || fail "${server[*]}: $(tail -n 5 "$WORK/server")"
	in_a timeout 60 "$@" >"$WORK/client" 2>&1 ||
		fail "$* ended with $?: $(tail -n 5 "$WORK/client" "$WORK/server")"
	finished "$pid" 30 || fail "${server[*]} ended with $?: $(tail -n 5 "$WORK/server")"
}

# FIRST is the plane that the host's routes prefer. Messages of the connection manager
# take it. Data takes all planes that are up.
cm_rping() { # 4|6 FIRST ALL...
	local b first=$2 p
	b=$(own b "$1")
	shift 2
	ctr_mark
	meet rping -s -a "$b" -C 10 -S 20000 -V -- rping -c -a "$b" -C 10 -S 20000 -V
	ctr_quiet && ctr_take
	for p in $(seq "$PLANES"); do
		if [ "$p" = "$first" ]; then
			expect "mrca/$p" tx_ud_pkts '>' 0
		else
			expect "mrca/$p" tx_ud_pkts == 0
		fi
	done
	for p in "$@"; do
		expect "mrca/$p" tx_data_pkts '>' 0
		expect "mrcb/$p" tx_data_pkts '>' 0
	done
	expect mrca rx_drop_icrc == 0
	expect mrcb rx_drop_icrc == 0
}

cm_client_server() { # 4|6
	local b
	b=$(own b "$1")
	meet rdma_server -s "$b" -- rdma_client -s "$b"
}

# Bound to an address that all planes have. The kernel chooses one of the planes.
cm_ucmatose() { # 4|6
	local a b f=ip
	[ "$1" = 4 ] || f=ip6
	a=$(own a "$1") b=$(own b "$1")
	meet ucmatose -f $f -b "$b" -c 4 -C 10 -- \
		ucmatose -f $f -b "$a" -s "$b" -c 4 -C 10
}

cm_without_first_plane() { # 4|6
	local rc=0
	ip -n "$HOST_A" link set pa1 down
	wait_for 30 port_is mrca 1 DOWN
	wait_for 30 port_is mrcb 1 DOWN
	(cm_rping "$1" 2 2 3 4) || rc=$?
	ip -n "$HOST_A" link set pa1 up
	plane_routes 1
	plane_ready 1
	[ "$rc" = 0 ] || fail "rdma_cm over the other planes"
}

all_cm() { # MODE PLANES...
	local mode=$1 f
	shift
	for f in 4 6; do
		subtest "$mode: rping, IPv$f" cm_rping $f 1 "$@"
		subtest "$mode: rdma_client, IPv$f" cm_client_server $f
		subtest "$mode: ucmatose, IPv$f" cm_ucmatose $f
		subtest "$mode: rping without the first plane, IPv$f" cm_without_first_plane $f
	done
}

for tool in rping ucmatose rdma_client rdma_server ibv_asyncwatch; do
	command -v $tool >/dev/null || tap_skip_all "no $tool"
done
modprobe rdma_ucm || tap_skip_all "no rdma_ucm in this kernel"

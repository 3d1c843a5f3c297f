#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Port status updates are not authenticated (MRC 1.0 §12.3, "Trust"). An update that
# any unprivileged process of the peer host can send must not stop a queue pair, must
# not keep a queue pair off a plane that answers, and must not block updates of the
# peer itself. A sends data. The forger is the user nobody on B, with B's address and
# a plain UDP socket. The guard is off: other hosts may have none.
# timeout: 900
# long
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_bridged.sh"

TOPO_RESOLVE=1

family() { # 4|6: option of verify
	[ "$1" = 4 ] || echo -6
}

family_load_start() { # 4|6
	# shellcheck disable=SC2046 # an option or none
	load_start_quiet 10ms $(family "$1")
}

# Returns when packets of the forger arrive. Queue pairs on B probe their paths for
# feedback too, so the condition is a number higher than theirs.
forge() { # 4|6 KIND [RATE]
	local own=$B4 to=$A4 seen=rx_port_status n=50
	[ "$1" = 4 ] || own=$B6 to=$A6
	shift
	[ "$1" != probes ] || seen=rx_endpoint_req n=5000
	start "$WORK/forger" ip netns exec hostb python3 "$NET_DIR/port_forger.py" \
		"$own" "$to" "$@"
	forger=$started
	wait_for 60 grep -q ready "$WORK/forger"
	hw_now mrca $seen '*'
	wait_for 60 hw_at_least mrca $seen '*' $((hw + n))
	[ "$(ps -o uid= -p "$(descendants "$forger" | head -n 1)$forger" 2>/dev/null |
		sort -u | tr -d ' ')" != 0 ] || fail "the forger is root"
}

forge_stop() {
	kill "$forger"
	wait_for 30 process_gone "$forger"
}

# All traffic continues while updates claim that B's ports are down, and it uses all
# planes again.
goes_on() { # 4|6 KIND
	local p
	family_load_start "$1"
	forge "$1" "$2"
	for p in 1 2; do
		sends_on "$p" 200
	done
	forge_stop
	verify_stop_well
	expect mrca rx_port_status '>=' 50
	# Updates that turned out to be wrong.
	expect mrca rx_port_status_refused '>=' 1
	expect mrca retry_exceeded == 0
	expect mrca stall_no_ev == 0
	echo "figure: $(ctr mrca rx_port_status) forged words," \
		"$(ctr mrca rx_port_status_refused) overruled, $(ctr mrca tx_rtx_pkts) packets" \
		"of $(ctr mrca tx_data_pkts) sent again"
}

# Connections made meanwhile work, and soon use both planes.
new_connections() { # 4|6
	family_load_start "$1"
	forge "$1" 0
	verify_stop
	# shellcheck disable=SC2046 # an option or none
	verify $(family "$1") --qps 4 --iters 50 --size 16384 --depth 4 --timeout 19
	# shellcheck disable=SC2046 # an option or none
	verify_start -t 150 $(family "$1") --duration 1000 --size 16384 --depth 4 --timeout 19
	sends_on 1 100
	sends_on 2 100
	forge_stop
	verify_stop_well
	expect mrca retry_exceeded == 0
}

# B's netdev goes down, behind a bridge, while a process on B claims ten times as
# often that all ports are up. No forged update makes A send into the dead port, and
# B's own updates are accepted.
truth_is_found() { # 4|6
	local from
	family_load_start "$1"
	# The forger uses the plane that stays up.
	ip -n hostb route change "$A4" dev pb1 src "$B4" metric 50 2>/dev/null ||
		ip -n hostb route add "$A4" dev pb1 src "$B4" metric 50
	forge "$1" 0,6,2,4,0x1fffe 1000
	ip -n hostb link set pb2 down
	wait_for 30 port_is mrcb 2 DOWN
	sends_on 1 300
	from=$(ctr_now mrca/2 tx_data_pkts)
	sends_on 1 300
	check "$(ctr_now mrca/2 tx_data_pkts)" '<=' $((from + 32)) \
		"packets into the dead port"
	ip -n hostb link set pb2 up
	plane_routes 2
	wait_for 30 port_is mrcb 2 ACTIVE
	sends_on 2 100
	forge_stop
	ip -n hostb route del "$A4" dev pb1 metric 50
	verify_stop_well
	expect mrca retry_exceeded == 0
}

answers_refused() {
	ctr_at_least mrca rx_drop_endpoint $(($(ctr_marked mrca rx_drop_endpoint) + 1))
}

# The forger sends so many probes that they use up the replies that A grants to B. A
# still accepts B's own port status updates.
limit_is_on_answers() { # 4|6
	family_load_start "$1"
	forge "$1" probes 0
	wait_for 30 answers_refused >"$WORK/limit" ||
		skip "this machine is too slow to be asked more often than it answers"
	ctl b port set 2 disable
	wait_for 30 port_is mrcb 2 DOWN
	wait_for 30 told a 0x2
	ctl b port set 2 enable
	wait_for 30 port_is mrcb 2 ACTIVE
	sends_on 2 50
	forge_stop
	verify_stop_well
	echo "figure: $(ctr mrca rx_endpoint_req) probes, $(ctr mrca rx_drop_endpoint) not answered"
	expect mrca rx_port_status '>=' 2
}

# A genuine update just before makes forged ones no more credible, and the forged ones
# do not discredit it.
after_a_genuine_update() { # 4|6
	family_load_start "$1"
	ctl b port set 2 disable
	wait_for 30 told a 0x2
	forge "$1" 0 200
	sends_on 1 100
	forge_stop
	ctl b port set 2 enable
	wait_for 30 port_is mrcb 2 ACTIVE
	sends_on 2 50
	verify_stop_well
	expect mrca retry_exceeded == 0
}

restore_more() {
	ip -n hostb route del "$A4" dev pb1 metric 50 2>/dev/null || true
}

bridged_topo 2
guard=/sys/module/mrc/parameters/guard
[ ! -e "$guard" ] || echo N >"$guard"
for f in 4 6; do
	sub "forged: no port is up, IPv$f" goes_on $f 0
	sub "a port is down whatever is said, IPv$f" truth_is_found $f
	sub "updates pass the limit on answers, IPv$f" limit_is_on_answers $f
	sub "right after a genuine update, IPv$f" after_a_genuine_update $f
done
# The effect of a mask does not depend on the address family.
sub "forged: ports that are not there" goes_on 4 0x1fff8
sub "forged: one port is up" goes_on 6 2
sub "forged: this and that" goes_on 4 0,2,6,4,0xffffffff,0x1fff8
sub "connections made meanwhile" new_connections 6
[ ! -e "$guard" ] || echo Y >"$guard"
bridged_down
tap_end

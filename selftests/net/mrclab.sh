#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# mrclab: fabrics are made whole and removed whole, also when mrclab is killed. What
# belongs to others is never touched. Faults do what their names say, and are taken back.
# timeout: 900
# long
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_fabric.sh"

LAB=$WORK/lab.yaml

is() { # GOT WANTED WHAT
	[ "$1" = "$2" ] || fail "$3: $1, expected $2"
}

# lab_file [KEY: VALUE]...: a fabric file. Its nodes have the names of lib_fabric.sh.
lab_file() {
	{
		echo "name: t"
		echo "prefix: ''"
		printf '%s\n' "$@"
	} >"$LAB"
}

lab_up() { # PLANES T0 T1 HOSTS [KEY: VALUE]...
	fab_params srv6 "$1" "$2" "$3" "$4" 4500
	lab_file "planes: $1" "t0: $2" "t1: $3" "hosts: $4" "${@:5}"
	mrclab up -q "$LAB"
}

lab_down() {
	mrclab down -q
	FAB_NODES=()
}

# A client and a server of perftest in two hosts.
write_bw() { # HOST HOST
	local gid
	start "$WORK/bw.server" mrclab exec "h$2" ib_write_bw -d "mrc$2" -n 200 -s 16384 -F
	wait_for 30 in_use "h$2" 18515
	gid=0
	mrclab exec "h$1" ib_write_bw -d "mrc$1" -n 200 -s 16384 -F "$(mgmt4 "$2")" >"$WORK/bw.client"
	finished "$started" 30
	grep -q '^ 16384 ' "$WORK/bw.client"
}

in_use() { # HOST PORT
	ip netns exec "$1" ss -Hltn "sport = :$2" | grep -q .
}

# What the kernel has of all nodes, a line for each thing.
all_dumps() {
	local n
	for n in "${FAB_NODES[@]}"; do
		echo "== $n"
		printf '%s\n' "route show table all" "neigh show nud permanent" \
			"addr show scope global" | ip -n "$n" -o -batch -
		ip -n "$n" -6 route show table all
		tc -n "$n" qdisc show
	done | awk '
		$1 == "==" { node = $2; next }
		/^multicast/ || /^ff00/ || /noqueue/ { next }
		/^[0-9]+: / { sub(/^[0-9]+: /, "") }
		/^qdisc/ { sub(/ [0-9a-f]+:/, ""); sub(/ seed [0-9]+/, "") }
		{ print node, $0 }' | sort
}

# Names of namespaces, without those of the tests' users.
netns_count() { find /run/netns -mindepth 1 ! -name 'user*' 2>/dev/null | wc -l; }

nothing_left() {
	local n
	is "$(mrclab status)" '' "fabrics"
	check "$(netns_count)" == 0 "namespaces"
	is "$(rdma_devices)" '' "devices"
	[ ! -e /run/mrclab/t ] || fail "the record is still there"
}

up_and_down() {
	lab_up 2 2 2 1 "forwarding: srv6+ecmp"
	mrclab status
	mrclab status -j >"$WORK/status.json"
	python3 - "$WORK/status.json" <<-'END'
		import json, sys
		(f,) = json.load(open(sys.argv[1]))
		assert len(f["nodes"]) == 10, len(f["nodes"])
		assert len(f["links"]) == 2 * 2 * (2 * 2 + 2), len(f["links"])
		assert f["faults"] == []
		assert {n["device"] for n in f["nodes"] if n["kind"] == "host"} == {"mrc1", "mrc2"}
	END
	write_bw 1 2
	mrclab exec h1 ping -c 1 -W 5 "$(host4 2)"
	mrclab exec h1 ping -c 1 -W 5 "$(host6 2)"
	lab_down
	nothing_left
}

# The paths of lib_fabric.sh's test: every packet takes the links of its path.
every_path() { # FORWARDING
	lab_up 2 2 2 2 "devices: none" "forwarding: $1"
	send_every_path
}

# Sends over one path and expects its packets to arrive, or not.
path_is() { # ok|lost A PLANE S B
	local expect=''
	[ "$1" = ok ] || expect=' expect-none'
	echo "h$2 p$3 $(port6 "$2" "$3") 4000 $(usid_path "$2" "$4" "$5") h$5 5$expect" |
		python3 "$NET_DIR/fabric_udp.py"
}

make_fault() { # WORDS...
	mrclab fault "$@"
	is "$(mrclab fault)" "$*" "the fault as it is shown"
}

# After "clear" all nodes are as they were in $WORK/before.
undo() {
	mrclab fault clear
	is "$(mrclab fault)" '' "faults"
	all_dumps >"$WORK/after"
	diff "$WORK/before" "$WORK/after"
}

faults() {
	all_dumps >"$WORK/before"
	make_fault p1l1:s2 down
	path_is lost 1 1 2 3
	path_is ok 1 1 1 3
	path_is ok 1 2 2 3
	undo
	path_is ok 1 1 2 3

	make_fault p2s1 down
	path_is lost 1 2 1 3
	path_is lost 4 2 1 1
	path_is ok 1 1 1 3
	undo
	path_is ok 1 2 1 3

	make_fault h1:p2 down
	path_is lost 3 2 1 1
	path_is ok 3 1 1 1
	undo
	path_is ok 3 2 1 1

	make_fault p1s2:l2 loss 100%
	path_is lost 1 1 2 3
	path_is ok 3 1 2 1
	undo

	make_fault path h1 h3 plane 1 t1 2 loss 100%
	path_is lost 1 1 2 3
	path_is ok 1 1 2 4
	path_is ok 1 1 1 3
	path_is ok 2 1 2 3
	undo
	path_is ok 1 1 2 3
}

# A black hole: all links of a T1 are up and nothing leaves it.
black_hole() {
	mrclab fault p1s1 drop
	path_is lost 1 1 1 3
	path_is ok 1 1 2 3
	ip -n p1l1 link show s1 >"$WORK/link"
	grep -q LOWER_UP "$WORK/link"
	mrclab fault p1s1 clear
	path_is ok 1 1 1 3
}

# Two faults of one node: what goes up leaves the other one as it is.
two_faults() {
	mrclab fault -b - <<-'END'
		p1l1:s1 down	# two links of one T0
		p1l1:s2 down
	END
	path_is lost 1 1 1 3
	mrclab fault p1l1:s1 up
	path_is ok 1 1 1 3
	path_is lost 1 1 2 3
	mrclab fault clear
	path_is ok 1 1 2 3
}

# After a change that was stopped half-way the next one makes everything anew.
unfinished_change() {
	all_dumps >"$WORK/before"
	mrclab fault -b - <<-'END'
		p1l1:s1 down
		p2s1 loss 5%
		path h1 h3 plane 1 t1 2 loss 50%
	END
	sed -i 's/"dirty": false/"dirty": true/' /run/mrclab/t/state.json
	grep -q '"dirty": true' /run/mrclab/t/state.json
	tc -n p2s1 qdisc del dev l1 root
	ip -n p1l2 link set s2 down
	tc -n h1 qdisc add dev p1 root netem loss 100%
	undo
	path_is ok 1 1 1 3
	path_is ok 1 2 1 3
}

all_or_nothing() {
	! mrclab fault -b - <<-'END' 2>"$WORK/err" || fail "accepted"
		p1l1:s1 down
		p1l1:s9 down
	END
	grep -q 'no link "p1l1:s9"' "$WORK/err"
	is "$(mrclab fault)" '' "faults"
	path_is ok 1 1 1 3
}

qdiscs_of() { # LINK
	tc -n "${1%%:*}" qdisc show dev "${1#*:}" | sed 's/ seed [0-9]*//; s/ [0-9a-f]*:/ /'
}

rates() {
	local set link
	modprobe sch_mrcsw
	for set in ecn_min ecn_max trim_bytes trim_len data_limit; do
		cat /sys/module/sch_mrcsw/parameters/$set
	done >"$WORK/params"
	lab_up 1 2 1 1 "devices: none" "links:" \
		"  host: {rate: 20mbit, delay: 2ms, queue: 100k}" \
		"  fabric: {rate: 20mbit, delay: 2ms, queue: 100k, mark: 20k, trim: 60k}"
	tc -n p1l1 qdisc show dev s1 >"$WORK/qdiscs"
	grep -q 'netem.*delay 2ms' "$WORK/qdiscs"
	grep -q 'tbf.*rate 20Mbit' "$WORK/qdiscs"
	grep -q mrcsw "$WORK/qdiscs"
	path_is ok 1 1 1 2
	# Other numbers for the same queues: nothing is made anew.
	tc -n h1 qdisc change dev p1 root handle 1: netem limit 100000 delay 500ms
	mrclab fault h1:p1 delay 3ms
	tc -n h1 qdisc show dev p1 >"$WORK/qdiscs"
	grep -q 'delay 3ms' "$WORK/qdiscs"
	mrclab fault clear
	tc -n h1 qdisc show dev p1 >"$WORK/qdiscs"
	grep -q 'delay 2ms' "$WORK/qdiscs"
	# Each setting comes and goes.
	fab_params srv6 1 2 1 1 4500
	all_dumps >"$WORK/before"
	for set in 'corrupt 5%' 'reorder 10%' 'duplicate 5%' 'loss 5%' 'jitter 1ms' 'mark none trim 0' \
		'rate none mark none trim 0' 'trim 50k' 'burst 20k'; do
		for link in h1:p1 p1s1:l1; do
			[[ $link == p* || $set != *trim* && $set != *mark* ]] || continue
			qdiscs_of $link >"$WORK/tc.$link"
			# shellcheck disable=SC2086 # words
			mrclab fault $link $set
			qdiscs_of $link >"$WORK/during"
			! cmp -s "$WORK/during" "$WORK/tc.$link" || [[ $set == trim* ]] || fail "$link $set: nothing has changed"
			undo
		done
	done
	for set in ecn_min ecn_max trim_bytes trim_len data_limit; do
		cat /sys/module/sch_mrcsw/parameters/$set
	done | diff "$WORK/params" -
	lab_down
}

# What "export linux" writes makes the same node of a machine that has just its netdevs.
exported() {
	local n dev
	lab_up 2 2 2 1 "devices: none" "forwarding: srv6+ecmp" "links:" \
		"  host: {rate: 20mbit, delay: 2ms, queue: 100k, trim: 60k}" \
		"  fabric: {rate: 20mbit, queue: 100k, mark: 20k..40k}"
	all_dumps >"$WORK/before"
	mrclab export linux "$LAB" "$WORK/linux"
	for n in "${FAB_NODES[@]}"; do
		{
			for dev in $(ip -n "$n" -o link show type veth | sed 's/^[0-9]*: //; s/@.*//'); do
				[ "$dev" = mgmt ] || {
					echo "link set $dev down"
					echo "addr flush dev $dev"
					echo "route flush dev $dev"
				}
			done
			[[ $n == h* ]] || echo "link del usid"
		} | ip -n "$n" -batch -
	done
	all_dumps >"$WORK/during"
	check "$(wc -l <"$WORK/during")" '<' $(($(wc -l <"$WORK/before") / 2)) "lines of the bare nodes"
	for n in "${FAB_NODES[@]}"; do
		ip netns exec "$n" sh "$WORK/linux/$n/setup.sh"
	done
	all_dumps >"$WORK/after"
	diff "$WORK/before" "$WORK/after"
	path_is ok 1 1 2 2
	lab_down
}

# Queue pairs have EV profiles here although the file does not name them: switches that
# forward by SRv6 alone carry nothing else.
traffic_survives() {
	lab_up 2 2 2 1
	flow 0 1 2 --qps 2 --size 65536 --duration 6 --timeout 20
	wait_for 30 flow_running 0
	mrclab fault p1s1 down
	mrclab fault p2s2 drop
	mrclab flap p1l1:s2+ 600ms 200ms 3
	mrclab fault clear
	flow_end 0
	lab_down
	nothing_left
}

# mrclab is killed in each of its steps. "down" removes what there is, and nothing of the
# user's.
killed() {
	local step pid made half=0
	ip netns add user1
	ip -n user1 link add name p1 type dummy
	lab_file "planes: 2" "t0: 2" "t1: 2" "hosts: 1" "profiles: {evs: on}" \
		"links: {host: {rate: 1gbit}}"
	for step in 'network namespaces' links addresses rates devices profiles; do
		: >"$WORK/log"
		mrclab up "$LAB" >/dev/null 2>>"$WORK/log" &
		pid=$!
		wait_for 30 grep -q "$step" "$WORK/log" || {
			cat "$WORK/log"
			ps -ef
			fail "no step \"$step\""
		}
		kill -9 $pid 2>/dev/null || true
		wait $pid 2>/dev/null || true
		made=$(netns_count)
		echo "figure: killed at its step \"$step\": $made namespaces"
		mrclab status >"$WORK/status"
		# It may have ended before it could be killed.
		if grep -q half-made "$WORK/status"; then
			! mrclab up -q "$LAB" 2>"$WORK/err" || fail "made over the rest of another"
			grep -q half-made "$WORK/err"
			half=$((half + 1))
		fi
		mrclab down -q
		nothing_left
	done
	check $half '>=' 3 "fabrics that were half-made"
	ip -n user1 link show p1
	ip netns del user1
}

interrupted() {
	local pid rc=0
	lab_file "planes: 2" "t0: 2" "t1: 2" "hosts: 1"
	: >"$WORK/log"
	mrclab up "$LAB" 2>>"$WORK/log" &
	pid=$!
	wait_for 30 grep -q links "$WORK/log"
	kill -TERM $pid
	wait $pid || rc=$?
	check $rc == 143 "status of mrclab"
	nothing_left
}

clashes() {
	lab_file "planes: 1" "t0: 1" "t1: 0" "hosts: 2"
	ip netns add p1l1
	! mrclab up -q "$LAB" 2>"$WORK/err" || fail "a namespace was taken"
	grep -q 'network namespace p1l1' "$WORK/err"
	is "$(ls /run/netns)" p1l1 "namespaces"
	ip netns del p1l1
	mrclab up -q "$LAB"
	! mrclab up -q "$LAB" 2>"$WORK/err" || fail "made twice"
	grep -q 'is up already' "$WORK/err"
	sed -i 's/^name: t/name: u/; s/^prefix: .*/prefix: u/' "$LAB"
	! mrclab up -q "$LAB" 2>"$WORK/err" || fail "a device was taken"
	grep -q 'RDMA device mrc1' "$WORK/err"
	echo 'device: mrcu' >>"$LAB"
	mrclab up -q "$LAB"
	check "$(mrclab status | grep -c ': 1 plane')" == 2 "fabrics"
	! mrclab fault h1:p1 down 2>"$WORK/err" || fail "which fabric?"
	grep -q 'which fabric' "$WORK/err"
	mrclab fault -f u h1:p1 down
	mrclab down -q --all
	nothing_left
}

# What others made of the fabric's names while it was up is theirs.
names_taken_over() {
	lab_up 1 1 0 3
	ip netns del h1
	ip netns add h1
	ip -n h1 link add name theirs type dummy
	start "$WORK/sleep" ip netns exec h1 sleep 1000
	rdma link del mrc2
	ip link add name theirs2 type dummy
	ip link set theirs2 up
	rdma link add mrc2 type mrc netdev theirs2
	# What is left of a name if "ip netns del" is killed.
	ip netns del h3
	install -m 000 /dev/null /run/netns/h3
	mrclab down -q
	kill -0 "$started"
	ip -n h1 link show theirs
	rdma link show mrc2/1
	is "$(ls /run/netns)" h1 "namespaces"
	kill "$started"
	finished "$started" 10 || true
	rdma link del mrc2
	ip link del theirs2
	ip netns del h1
	FAB_NODES=()
	nothing_left
}

# A process inside would end itself.
not_from_inside() {
	lab_up 1 1 0 2 "devices: none"
	! ip netns exec h1 mrclab down -q 2>"$WORK/err" || fail "it ended itself"
	grep -q 'runs in the fabric itself' "$WORK/err"
	mrclab status >"$WORK/status"
	grep -q '^t: ' "$WORK/status"
	! ip netns exec h1 mrclab up -q "$LAB" 2>"$WORK/err" || fail "made in a mount namespace"
	grep -q 'mounts of its own' "$WORK/err"
	lab_down
	nothing_left
}

# The reader of the progress goes away; what is made is complete or nothing.
reader_ends() {
	lab_file "planes: 2" "t0: 2" "t1: 2" "hosts: 1" "devices: none"
	mrclab up "$LAB" 2>&1 | head -n 1
	mrclab status
	mrclab down -q
	nothing_left
}

bad_files() {
	local rc=0
	lab_file "planes: 1" "t0: 2" "t1: 1" "hosts: 10000"
	mrclab up -q "$LAB" 2>"$WORK/err" || rc=$?
	check $rc == 1 "status"
	grep -q "^mrclab: $LAB:6: " "$WORK/err"
	rc=0
	mrclab up -q /nonexistent 2>"$WORK/err" || rc=$?
	check $rc == 1 "status"
	nothing_left
}

large() {
	local now since
	now_ms
	since=$now
	lab_up 4 4 4 4 "devices: ${1:-none}"
	now_ms
	echo "figure: 16 hosts, 4 planes, 4 T0, 4 T1, devices ${1:-none}: up in $((now - since)) ms"
	path_is ok 1 4 4 9
	now_ms
	since=$now
	lab_down
	now_ms
	echo "figure: down in $((now - since)) ms"
	nothing_left
}

subtest "a fabric is made, carries traffic, and is removed" up_and_down
fab_params srv6 2 2 2 2 4500	# of the fabric of the next subtests
subtest "srv6: every path between every two hosts" every_path srv6
subtest "srv6: faults by name, and back" faults
subtest "remove the fabric" lab_down
subtest "srv6 and ECMP: every path between every two hosts" every_path srv6+ecmp
subtest "srv6 and ECMP: faults by name, and back" faults
subtest "a change that was not finished" unfinished_change
subtest "a T1 as a black hole" black_hole
subtest "two faults of one node" two_faults
subtest "a batch changes all or nothing" all_or_nothing
subtest "remove the fabric" lab_down
subtest "rates, delays and queues" rates
subtest "export linux makes the same nodes" exported
subtest "traffic survives faults" traffic_survives
subtest "killed while it makes a fabric" killed
subtest "interrupted while it makes a fabric" interrupted
subtest "what exists is not touched" clashes
subtest "names that others took over" names_taken_over
subtest "not from inside" not_from_inside
subtest "the reader of the progress ends" reader_ends
subtest "wrong files" bad_files
subtest "a large fabric" large
tap_end

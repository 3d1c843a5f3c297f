#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Programs with few rights: in containers (own user, mount and network namespaces, no
# capability, two character devices), within a locked memory limit and in an rdma
# cgroup. They can do everything that verbs programs do and nothing that controllers
# do, and they cannot exceed their limits.
#
# A bug of the RDMA core: it refuses a program's context, and the program's memory is
# not freed (ib_uverbs leaks the reference of an RDMA object to the program). Such
# programs are started by uctx-refused here.
# long
# timeout: 900
# kmemleak-ok: comm "uctx-refused"
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_cgroup.sh"

# Programs of another user must have access to this directory.
chmod 755 "$WORK"
SOMEBODY=65534
# perftest and pyverbs write no files, but they fail if they cannot read the home
# directory.
export HOME=/

# --- containers ------------------------------------------------------------------

# The part that runs as the container's root: it makes devices and a loopback netdev
# and then drops all privileges. Arguments: "own" or "host" network, a command.
cat >"$WORK/container" <<'END'
set -euo pipefail
net=$1
shift
[ "$net" = host ] || ip link set lo up
mount -t tmpfs none /mnt
mkdir /mnt/dev
mount --rbind /dev /mnt/dev
mount -t tmpfs none /dev
mkdir /dev/infiniband
for d in null zero urandom infiniband/rdma_cm infiniband/uverbs0 infiniband/uverbs1; do
	[ -e "/mnt/dev/$d" ] || continue
	: >"/dev/$d"
	mount --bind "/mnt/dev/$d" "/dev/$d"
done
exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs -- "$@"
END

as_somebody() {
	setpriv --reuid $SOMEBODY --regid $SOMEBODY --clear-groups -- "$@"
}

# Runs the command in a container that has its own network with only a loopback
# netdev.
contained() {
	prlimit --memlock=$((8 << 20)):$((8 << 20)) -- \
		setpriv --reuid $SOMEBODY --regid $SOMEBODY --clear-groups -- \
		unshare -U -r -m -n -- bash "$WORK/container" own "$@"
}

# The same in the network of a host, because rdma_cm searches there.
contained_in() { # NETNS COMMAND...
	local ns=$1
	shift
	ip netns exec "$ns" prlimit --memlock=$((8 << 20)):$((8 << 20)) -- \
		setpriv --reuid $SOMEBODY --regid $SOMEBODY --clear-groups -- \
		unshare -U -r -m -- bash "$WORK/container" host "$@"
}

no_user_namespaces() { ! as_somebody unshare -U -r true; }

is_contained() {
	local said
	said=$(contained sh -c 'grep -E "^Cap(Eff|Prm|Bnd)" /proc/self/status
		ls /dev /dev/infiniband; cat /proc/self/uid_map; ls /sys/class/net; ulimit -l')
	echo "$said"
	check "$(grep -c '^Cap.*0000000000000000$' <<<"$said")" == 3 "empty capability sets"
	grep -q -E "^ +0 +$SOMEBODY +1\$" <<<"$said" || fail "no user namespace"
	grep -q -x 8192 <<<"$said" || fail "no limit of locked memory"
	! grep -q -E '^(tty|kmsg|mem|umad)' <<<"$said" || fail "more devices than there should be"
}

# Both ends are in one container; the packets go between the hosts.
data() { # OPTIONS...
	cat >"$WORK/pair" <<-'END'
		mrc_verify -d mrcb --gid "$1" & pid=$!
		gid=$2
		shift 2
		mrc_verify -d mrca --gid "$gid" "$@" 127.0.0.1
		wait $pid
	END
	ctr_mark
	contained timeout 100 bash "$WORK/pair" "$B4" "$A4" "$@" >"$WORK/out" 2>&1 ||
		fail "ended with $?: $(tail -n 8 "$WORK/out")"
	check "$(grep -c '^mrc_verify: OK' "$WORK/out")" == 2 "ends that say OK"
	ctr_quiet && ctr_take
	expect mrca/1 tx_data_pkts '>' 0
	expect mrca/2 tx_data_pkts '>' 0
	# Nothing was lost: packets that a paused machine retransmitted arrived twice.
	expect mrcb rx_duplicate == "$(ctr mrca tx_rtx_pkts)"
	expect mrcb rx_refused == 0
}

stock() {
	cat >"$WORK/pair" <<-'END'
		ib_write_bw -F -d mrcb -x "$1" -s 65536 -n 100 & pid=$!
		until ss -Hltn 'sport = :18515' | grep -q LISTEN; do :; done
		ib_write_bw -F -d mrca -x "$2" -s 65536 -n 100 127.0.0.1
		wait $pid
	END
	ctr_mark
	contained timeout 100 bash "$WORK/pair" "$(gid_index mrcb 1 "$B4")" \
		"$(gid_index mrca 1 "$A4")" >"$WORK/out" 2>&1 ||
		fail "ended with $?: $(tail -n 8 "$WORK/out")"
	ctr_quiet && ctr_take
	expect mrcb rx_data_bytes == $((100 * 65536))
}

listens() { ip netns exec "$HOST_B" rdma resource show cm_id | grep -q LISTEN; }

meets() { # 4|6
	local b
	b=$(own b "$1")
	start "$WORK/server" contained_in "$HOST_B" timeout 60 \
		rping -s -a "$b" -C 10 -S 20000 -V
	wait_for 30 listens || fail "$(tail -n 5 "$WORK/server")"
	ctr_mark
	contained_in "$HOST_A" timeout 60 rping -c -a "$b" -C 10 -S 20000 -V >"$WORK/client" 2>&1 ||
		fail "ended with $?: $(tail -n 5 "$WORK/client" "$WORK/server")"
	finished "$started" 30 || fail "server: $(tail -n 5 "$WORK/server")"
	ctr_quiet && ctr_take
	expect mrca tx_ud_pkts '>' 0
	expect mrca tx_data_pkts '>' 0
}

# Everybody may query the device. All other requests need a controller's privileges.
no_controller() {
	contained mrcctl -d mrca dev show >"$WORK/out" || fail "dev show: $(cat "$WORK/out")"
	refuse 'CAP_NET_ADMIN' contained mrcctl -d mrca dev set extension off
	refuse 'CAP_NET_ADMIN' contained mrcctl -d mrca port set 2 disable
	refuse 'CAP_NET_ADMIN' contained mrcctl -d mrca fmt add 1 mode udp fields 16
	refuse 'CAP_NET_ADMIN' contained mrcctl -d mrca cc add 1 algorithm uet-1.0-nscc
	refuse 'CAP_NET_ADMIN' contained mrcctl -d mrca default set 10.1.0.0/16 ev 1
	refuse 'not permitted' contained rdma link del mrca
	refuse 'not permitted' contained rdma dev set mrca name mrcz
	ctl a dev show | grep -q -E 'extension +on' ||
		fail "$(ctl a dev show)"
	port_is mrca 2 ACTIVE
}

# Root of the container that owns the netdevs controls the device made of them, and no
# other device.
own_controller() {
	local pid
	start "$WORK/box" setpriv --reuid $SOMEBODY --regid $SOMEBODY --clear-groups -- \
		unshare -U -r -n -- sleep 1000
	pid=$started
	wait_for 30 in_userns "$pid"
	ip netns attach box "$pid"
	ip -n "$HOST_A" link add bx0 type veth peer name bx1
	ip -n "$HOST_A" link set bx0 up
	ip -n "$HOST_A" link set bx1 netns box
	ip -n box link set bx1 up
	refuse 'not permitted' nsenter -t "$pid" -U -n -- rdma link add mrcbox type mrc netdev bx1
	ip netns exec box rdma link add mrcbox type mrc netdev bx1
	nsenter -t "$pid" -U -n -- mrcctl -d mrcbox dev set extension off
	mrcctl -d mrcbox dev show | grep -q -E 'extension +off' || fail "$(mrcctl -d mrcbox dev show)"
	refuse 'CAP_NET_ADMIN' nsenter -t "$pid" -U -n -- mrcctl -d mrca dev set extension off
	# How much of the host its device may use, the host decides.
	ip netns exec box mrcctl -d mrcbox limit set qp 7
	refuse 'CAP_NET_ADMIN' nsenter -t "$pid" -U -n -- mrcctl -d mrcbox limit set qp 8
	nsenter -t "$pid" -U -n -- mrcctl -d mrcbox limit show | grep -q 'qp .* of 7$' ||
		fail "$(nsenter -t "$pid" -U -n -- mrcctl -d mrcbox limit show)"
	# The device disappears with the container.
	ip netns del box
	kill -9 "$pid"
	wait "$pid" || true
	wait_for 30 no_device mrcbox
}
in_userns() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ] &&
		grep -q . "/proc/$1/uid_map" && grep -q sleep "/proc/$1/comm"
}
no_device() { [ ! -e "/sys/class/infiniband/$1" ]; }

# --- locked memory ---------------------------------------------------------------

limited() { # BYTES ARGS...
	local n=$1
	shift
	prlimit --memlock="$n:$n" -- setpriv --reuid $SOMEBODY --regid $SOMEBODY \
		--clear-groups -- timeout 60 python3 "$NET_DIR/limits.py" "$@"
}

# N is the number of results that are required.
whole() { # N
	check "$(grep -c -E '^(not )?ok ' "$WORK/out")" == "$1" "results"
	tail -n 1 "$WORK/out"
	check "$(cat "$WORK/status")" == 0 "status"
}

no_mr() { ! rdma resource show mr | grep -q 'dev mrca'; }

# A program is killed while it has regions: they are freed, with all their memory.
killed_with_regions() {
	memory_before "$WORK/memory"
	for _ in 1 2 3 4; do
		verify_start --duration 1000 --size 1048576
		wait_for 30 verify_running
		stop_all
		wait_for 30 no_mr
	done
	ctr_quiet
	expect_memory_back "$WORK/memory" 100 4096
}

# --- rdma cgroup -----------------------------------------------------------------

refused_by_core

allow() { # DEV HANDLES OBJECTS
	echo "$1 hca_handle=$2 hca_object=$3" >"$CG/mrc/rdma.max"
}

charged() { # DEV -> "HANDLES OBJECTS"
	awk -v d="$1" '$1 == d { gsub(/[a-z_]+=/, ""); print $2, $3; seen = 1 }
		END { if (!seen) print "0 0" }' "$CG/mrc/rdma.current"
}

uncharged() { [ "$(charged "$1")" = "0 0" ]; }

# One object of each kind, as the core counts them. The reference is what the core
# counts for another driver.
every_object() {
	local kind want ref=''
	grouped timeout 60 python3 "$NET_DIR/limits.py" objects mrca "$CG/mrc/rdma.current" \
		>"$WORK/objects" 2>&1 || fail "$(cat "$WORK/objects")"
	cat "$WORK/objects"
	for kind in pd cq rc ud srq mr mw ah; do
		want="$kind 0 1"
		grep -q -x "$want" "$WORK/objects" || fail "no '$want'"
	done
	grep -q -x 'context 1 0' "$WORK/objects" || fail "the context"
	grep -q -x 'left 0 0' "$WORK/objects" || fail "something is left"
	uncharged mrca || fail "$(cat "$CG/mrc/rdma.current")"
	modprobe crc32_generic 2>/dev/null || true
	modprobe rdma_rxe 2>/dev/null || return 0
	ip link add name cg0 type veth peer name cg1
	ip addr add 198.51.100.1/24 dev cg0
	ip link set cg0 up
	ip link set cg1 up
	rdma link add rxecg type rxe netdev cg0
	wait_for 30 gid_index rxecg 1 198.51.100.1
	grouped timeout 60 python3 "$NET_DIR/limits.py" objects rxecg "$CG/mrc/rdma.current" \
		>"$WORK/objects.rxe" 2>&1 || ref=$(cat "$WORK/objects.rxe")
	rdma link del rxecg
	ip link del cg0
	wait_for 30 rmmod rdma_rxe
	[ -z "$ref" ] || fail "rxe: $ref"
	diff "$WORK/objects.rxe" "$WORK/objects" || fail "mrc is charged otherwise than rxe"
}

# The answer channels that READ and atomics need belong to the kernel. The number of
# charged objects is the number that tools show, with answer channels and without.
charged_running() { # OPTIONS... -> in $running
	local seen
	allow mrca max max
	with_a=(bash -c "echo \$\$ >$CG/mrc/cgroup.procs; exec \"\$@\"" -)
	verify_start --duration 1000 --size 4096 "$@"
	wait_for 30 verify_running
	running=$(charged mrca)
	seen=$(for kind in pd cq qp mr srq; do rdma resource show $kind | grep mrca; done |
		grep -c 'pid.*mrc_verify' || true)
	verify_stop
	with_a=()
	check "${running#* }" == "$seen" "objects charged, against those that rdma resource shows"
	check "${running% *}" == 1 "handles charged"
	wait_for 30 uncharged mrca
}

answer_channels() {
	local without
	charged_running --op write
	without=$running
	charged_running --op mixed
	echo "write: $without, mixed: $running"
	[ "$without" = "$running" ] || fail "charged $without with writes, $running with everything"
}

# A program is killed: its charges are returned.
killed() {
	with_a=(bash -c "echo \$\$ >$CG/mrc/cgroup.procs; exec \"\$@\"" -)
	verify_start --duration 1000 --op mixed
	wait_for 30 verify_running
	check "$(charged mrca | cut -d' ' -f2)" '>' 0 "objects charged"
	stop_all
	with_a=()
	wait_for 30 uncharged mrca
}

# Objects that the kernel makes for itself, such as QP1, are charged to nobody.
kernels_own() {
	ip -n "$HOST_A" link add kn0 type veth peer name kn1
	ip -n "$HOST_A" link set kn0 up
	ip -n "$HOST_A" link set kn1 up
	allow mrca 0 0
	grouped ip netns exec "$HOST_A" rdma link add mrck type mrc netdev kn0
	uncharged mrck || fail "$(cat "$CG/mrc/rdma.current")"
	allow mrck 0 0
	refuse 'again|temporarily|unavailable|fail' grouped "${uctx_refused[@]}" ibv_devinfo -d mrck
	# After another port is added, the device is registered again, also for the
	# cgroup controller.
	grouped ip netns exec "$HOST_A" rdma link add mrck type mrc netdev kn1
	uncharged mrck || fail "$(cat "$CG/mrc/rdma.current")"
	grouped ibv_devinfo -d mrck >/dev/null
	uncharged mrck || fail "$(cat "$CG/mrc/rdma.current")"
	in_a rdma link del mrck
	ip -n "$HOST_A" link del kn0
	allow mrca max max
}

# When a device is removed under a running program, the charges are returned.
removed() {
	with_a=(bash -c "echo \$\$ >$CG/mrc/cgroup.procs; exec \"\$@\"" -)
	verify_start --duration 1000 --op mixed
	wait_for 30 verify_running
	in_a rdma link del mrca
	stop_all
	with_a=()
	! grep -q mrca "$CG/mrc/rdma.current" || fail "$(cat "$CG/mrc/rdma.current")"
}

python3 -c 'import pyverbs.device' 2>/dev/null || tap_skip_all "no pyverbs"
for tool in setpriv unshare prlimit nsenter rping; do
	command -v $tool >/dev/null || tap_skip_all "no $tool"
done
modprobe rdma_ucm || tap_skip_all "no rdma_ucm in this kernel"

topo 2
if no_user_namespaces 2>"$WORK/why"; then
	none() { skip "no user namespaces here: $(cat "$WORK/why")"; }
	subtest "containers" none
else
	subtest "a container without rights" is_contained
	subtest "container: writes" data --op write --size 65536 --iters 32
	subtest "container: everything" data --op mixed --size 1,4097,65536 --iters 20
	subtest "container: ib_write_bw" stock
	subtest "container: rdma_cm, IPv4" meets 4
	subtest "container: rdma_cm, IPv6" meets 6
	subtest "container: nothing that controllers do" no_controller
	subtest "a container with netdevs of its own controls their device" own_controller
fi

results() { # PREFIX BYTES ARGS...
	local prefix=$1
	shift
	set +e
	limited "$@" >"$WORK/out" 2>&1
	echo $? >"$WORK/status"
	set -e
	adopt "$prefix" <"$WORK/out"
}
results "RLIMIT_MEMLOCK: " $((256 * $(getconf PAGESIZE))) memlock mrca
subtest "RLIMIT_MEMLOCK: that was all" whole 31
results "RLIMIT_MEMLOCK: " 0 memlock-none mrca
subtest "RLIMIT_MEMLOCK: that was all, too" whole 2
subtest "programs that are killed with regions" killed_with_regions

if cgroup_up rdma; then
	subtest "rdma cgroup: every object is charged once" every_object
	allow mrca 1 3
	set +e
	grouped timeout 60 "${uctx_refused[@]}" python3 "$NET_DIR/limits.py" stopped mrca "$CG/mrc/rdma.current" \
		>"$WORK/out" 2>&1
	echo $? >"$WORK/status"
	set -e
	adopt "rdma cgroup: " <"$WORK/out"
	subtest "rdma cgroup: that was all" whole 14
	allow mrca max max
	subtest "rdma cgroup: answer channels are the kernel's" answer_channels
	subtest "rdma cgroup: a program that is killed" killed
	subtest "rdma cgroup: QP1 is the kernel's" kernels_own
	subtest "rdma cgroup: a device that is removed" removed
else
	none() { skip "$(cat "$WORK/why")"; }
	subtest "rdma cgroup" none
fi
cgroup_down rdma
tap_end

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Counters as `rdma statistic` prints them, and kernel memory. Sourced by lib.sh.
#
#	ctr_mark                 save the values of all devices
#	...
#	ctr_take                 save them again; the checks below compare both
#	expect mrca tx_rtx_pkts == 0        sum over the ports
#	expect mrca/2 tx_data_pkts '>' 100  one port

ctr_json() {
	local rc=0
	rdma -j statistic show link || rc=$?
	[ "$rc" = 0 ] || echo "rdma statistic show link ended with status $rc" >&2
	return "$rc"
}

# Lines "dev/port name value" of all mrc devices.
ctr_dump() { ctr_json | ctr_lines; }

ctr_lines() {
	awk -v RS='[{}]' '
		/"ifname"/ {
			n = split($0, f, ",")
			dev = port = ""
			for (i = 1; i <= n; i++) {
				split(f[i], kv, ":")
				gsub(/[" \[\]\n]/, "", kv[1])
				gsub(/[" \[\]\n]/, "", kv[2])
				if (kv[1] == "ifname") dev = kv[2]
				else if (kv[1] == "port") port = kv[2]
				else if (kv[1] != "" && kv[1] != "ifindex")
					v[kv[1]] = kv[2]
			}
			if (dev ~ /^mrc/)
				for (k in v) print dev "/" port, k, v[k]
			delete v
		}'
}

ctr_mark() {
	echo "$EPOCHREALTIME" >"$WORK/ctr-id"
	ctr_dump >"$WORK/mark"
}
ctr_take() {
	echo "$EPOCHREALTIME" >"$WORK/ctr-id"
	ctr_dump >"$WORK/take"
}

# To start a program takes about 40 ms in a guest. So one awk computes all differences
# after ctr_take, and the checks look them up: how much counters grew, if they did, by "DEV
# NAME" and "DEV/PORT NAME", and which counters there are, each as |DEV NAME|. A subshell
# may have called ctr_take since then: $WORK/ctr-id changes with each call.
declare -A ctr_grew=()
ctr_known='' ctr_id=''

ctr_load() {
	local id where name value
	read -r id <"$WORK/ctr-id"
	[ "$id" != "$ctr_id" ] || return 0
	ctr_grew=() ctr_known='' ctr_id=''
	# A file, because bash 5.2 sometimes loses the status of a process substitution.
	awk '
		{ dev = $1; sub("/.*", "", dev) }
		FNR == NR { sum[dev " " $2] -= $3; sum[$1 " " $2] -= $3; next }
		{
			sum[dev " " $2] += $3
			sum[$1 " " $2] += $3
			known[dev " " $2]; known[$1 " " $2]
		}
		END {
			for (k in known) printf "|%s", k
			print "|"
			for (k in sum) if (sum[k] != 0) printf "%s %d\n", k, sum[k]
		}' "$WORK/mark" "$WORK/take" >"$WORK/grown" || return
	{
		read -r ctr_known
		while read -r where name value; do
			ctr_grew[$where $name]=$value
		done
	} <"$WORK/grown"
	ctr_id=$id
}

# Sets $grown to how much the counter grew between ctr_mark and ctr_take. An unknown name
# is an error, not a zero.
ctr_take_grown() { # DEV[/PORT] NAME
	ctr_load || return
	if [[ $ctr_known != *"|$1 $2|"* ]]; then
		echo "no counter $2 on $1" >&2
		return 1
	fi
	grown=${ctr_grew[$1 $2]:-0}
}

# ctr DEV[/PORT] NAME: prints it.
ctr() {
	local grown
	ctr_take_grown "$@" || return
	echo "$grown"
}

expect() { # DEV[/PORT] NAME OP VALUE
	local grown
	ctr_take_grown "$1" "$2" || return
	check "$grown" "$3" "$4" "$1 $2"
}

# All data packets that FROM has sent arrived at TO. When the machine pauses for a
# moment, a sender retransmits packets that had arrived. The message may be complete
# by the time such a retransmission is sent, and the memory may hold the next message,
# so the ICRC of the retransmission is wrong.
expect_all_arrived() { # FROM TO
	expect "$2" rx_data_pkts == $(($(ctr "$1" tx_data_pkts) - $(ctr "$1" tx_rtx_pkts)))
	check $(($(ctr "$2" rx_duplicate) + $(ctr "$2" rx_drop_icrc))) == \
		"$(ctr "$1" tx_rtx_pkts)" "copies that $2 had already"
}

# No counter of DEV may have grown except the named ones.
expect_only() { # DEV NAME...
	local dev=$1 grown
	shift
	grown=$(ctr_grown "$dev" | awk -v allowed="$*" '
		BEGIN { n = split(allowed, a, " "); for (i in a) ok[a[i]] }
		!($1 in ok)')
	[ -z "$grown" ] || fail "other counters of $dev grew: $(paste -sd, <<<"$grown")"
}

# Lines "name delta" of the counters of DEV that changed, over its ports.
ctr_grown() { # DEV
	awk -v dev="$1" '
		index($1, dev "/") != 1 { next }
		FNR == NR { d[$2] -= $3; next }
		{ d[$2] += $3 }
		END { for (n in d) if (d[n] != 0) print n, d[n] }' \
		"$WORK/mark" "$WORK/take" | sort
}

# Prints the counters that changed, for the output of a failed subtest.
ctr_report() {
	[ -s "$WORK/mark" ] || return 0
	ctr_take
	local d
	for d in $(rdma_devices); do
		[[ $d == mrc* ]] || continue
		echo "$d since the mark: $(ctr_grown "$d" | paste -sd' ')"
	done
}

# Waits until no counter changes any more: all packets have arrived.
ctr_quiet() { wait_for "${1:-10}" same_after 0.15 ctr_dump; }

# The value of a counter of nftables.
nft_counter() { # NETNS FAMILY TABLE COUNTER [packets|bytes]
	ip netns exec "$1" nft list counter "$2" "$3" "$4" | sed -n "s/.*${5:-packets} \([0-9]*\).*/\1/p"
}

# The value of a counter at ctr_mark, summed over the ports of DEV or of DEV/PORT.
ctr_marked() { # DEV[/PORT] NAME
	awk -v dev="$1" -v name="$2" '
		$2 == name && ($1 == dev || index($1, dev "/") == 1) { s += $3; seen = 1 }
		END { if (!seen) exit 1; printf "%d\n", s }' "$WORK/mark"
}

# The present value.
ctr_now() { # DEV[/PORT] NAME
	local all link sum=0 seen='' links=()
	local dev=${1%/*} port=''
	[ "$dev" = "$1" ] || port=${1#*/}
	all=$(ctr_json) || return
	IFS='{' read -r -d '' -a links <<<"$all" || true
	for link in "${links[@]}"; do
		[[ $link =~ \"ifname\":\ *\"([^\"]*)\" && ${BASH_REMATCH[1]} = "$dev" &&
			$link =~ \"port\":\ *([0-9]+) &&
			(-z $port || ${BASH_REMATCH[1]} = "$port") &&
			$link =~ \""$2"\":\ *([0-9]+) ]] || continue
		sum=$((sum + BASH_REMATCH[1])) seen=1
	done
	[ -n "$seen" ] || return 1
	echo "$sum"
}

# Whether one counter stays the same for SECONDS. Others may change, unlike in
# ctr_quiet.
ctr_still() { # DEV[/PORT] NAME SECONDS
	same_after "$3" ctr_now "$1" "$2"
}

# For wait_for: asks sysfs, whose values may be 10 ms old, if it shows the device.
ctr_at_least() { # DEV[/PORT] NAME VALUE
	local dev=${1%/*} port='' hw
	[ "$dev" = "$1" ] || port=${1#*/}
	if [ -e "/sys/class/infiniband/$dev/ports/${port:-1}/hw_counters/$2" ]; then
		hw_at_least "$dev" "$2" "$port" "$3"
	else
		[ "$(ctr_now "$1" "$2")" -ge "$3" ]
	fi
}

# Sets $hw to the same sum without starting a program, for figures. The values in
# these files may be 10 ms old.
hw_now() { # DEV NAME [PORT]
	local f value
	hw=0
	for f in /sys/class/infiniband/"$1"/ports/${3:-*}/hw_counters/"$2"; do
		read -r value <"$f" || return
		hw=$((hw + value))
	done
}

# Whether that sum has reached VALUE.
hw_at_least() { # DEV NAME PORT|'' VALUE
	hw_now "$1" "$2" "$3" || return
	[ "$hw" -ge "$4" ]
}

# The shares of the ports of DEV in counter NAME must be equal within PERCENT.
expect_equal_share() { # DEV NAME PERCENT
	local dev=$1 name=$2 percent=$3 p total mean value
	total=$(ctr "$dev" "$name")
	mean=$((total / PLANES))
	for p in $(seq "$PLANES"); do
		value=$(ctr "$dev/$p" "$name")
		check $((value > mean ? value - mean : mean - value)) '<=' \
			$((mean * percent / 100 + 2)) \
			"$name of $dev/$p is $value, the mean is $mean; distance"
	done
}

# --- kernel memory -----------------------------------------------------------------

# Lets the kernel free objects that wait for a grace period or are in per-CPU caches.
memory_settle() {
	local s
	echo 2 >/proc/sys/vm/drop_caches
	for s in /sys/kernel/slab/*/shrink; do
		echo 1 >"$s" 2>/dev/null || true
	done
}

# Prints lines "cache objects size" and "total-kB kB 1" of all kernel memory that can
# leak, after the kernel freed unused names and attributes of files.
memory_take() {
	echo 2 >/proc/sys/vm/drop_caches
	slab_objects
}

# The same into FILE; fails if it is not complete.
memory_taken() { # FILE
	memory_take >"$1" && grep -q '^total-kB ' "$1"
}

# Of several measurements in FILEs, the largest (or smallest) value of each line. This
# leaves out objects that come and go by themselves.
memory_extreme() { # largest|smallest FILE...
	local which=$1
	shift
	awk -v which="$which" '
		!($1 in v) || (which == "largest" ? $2 > v[$1] : $2 < v[$1]) { v[$1] = $2 }
		{ size[$1] = $3 }
		END { for (c in v) print c, v[c], size[c] }' "$@"
}

# memory_before FILE: saves several measurements of memory, once memory use is stable.
# Deleted namespaces give back their memory a while later; a measurement before that
# would hide a later leak.
memory_before() {
	local n=0
	until memory_looks "$1" && memory_at_rest "$1"; do
		[ $((n += 1)) -lt $((30 * ${LAB_TIME:-1})) ] ||
			fail "kernel memory does not come to rest"
	done
	memory_extreme largest "$1".[123] >"$1"
}

memory_looks() { # FILE
	local n
	for n in 1 2 3; do
		memory_taken "$1.$n" ||
			fail "kernel memory cannot be measured"
		nap 0.3
	done
}

# Whether less than four pages were freed between the first and the last measurement.
memory_at_rest() { # FILE
	awk 'FNR == 1 { file++ }
		$1 == "total-kB" { kb[file] = $2 }
		END { exit !(kb[1] - kb[file] < 16) }' "$1.1" "$1.3"
}

# memory_grown BEFORE OBJECTS KB: prints what grew since memory_before BEFORE by
# OBJECTS or more in one cache, or by more than KB in total. It ignores caches that
# grow and shrink by themselves:
#  - caches of the file system, of the guest's 9p root and of processes;
#  - vmap_area, which holds the stacks of ended processes until the kernel unmaps them
#    (/proc/vmallocinfo: "unpurged", a few for every program started);
#  - the records of kmemleak about objects (the objects, among them each vmap_area, are
#    counted in their own caches);
#  - damon_region, where 7.x keeps its own statistics of memory accesses;
#  - TCP connections of the test's programs, for the minute of their TIME_WAIT.
# Each processor keeps up to 64 heads of packets for its next packets
# (NAPI_SKB_CACHE_SIZE). These are not growth either.
# The lab's kernels do not merge caches, so the name of a cache tells what grew.
memory_grown() {
	if ! memory_taken "$WORK/memory.new"; then
		echo "kernel memory cannot be measured"
		return
	fi
	if [ -f "$WORK/memory.now" ]; then
		memory_extreme smallest "$WORK/memory.new" "$WORK/memory.now" \
			>"$WORK/memory.min"
		mv "$WORK/memory.min" "$WORK/memory.now"
	else
		mv "$WORK/memory.new" "$WORK/memory.now"
	fi
	awk -v objects="$2" -v kb="$3" -v heads=$((64 * $(nproc --all))) '
		FNR == NR { old[$1] = $2; next }
		$1 == "total-kB" {
			if ($2 - old[$1] > kb)
				print "kernel memory grew by " $2 - old[$1] " kB"
			next
		}
		$1 ~ /^(dentry|.*inode.*|filp|vm_area_struct|vma_lock|vmap_area|anon_vma.*|maple_node|radix_tree_node|lsm_.*|buffer_head|names_cache|proc_.*|kernfs_.*|cred|pid|signal_cache|sighand_cache|task_struct|mm_struct|files_cache|ovl_.*|9p.*|p9_.*|fs_cache|seq_file|page->ptl|debug_objects_cache|damon_region|kmemleak_.*|tw_sock_TCP.*|tcp_bind2?_bucket)$/ { next }
		$1 == "skbuff_head_cache" && $2 - old[$1] <= heads { next }
		$2 - old[$1] >= objects {
			print $1 " grew by " $2 - old[$1] " objects of " $3 " bytes"
		}' "$1" "$WORK/memory.now"
}

memory_back() { [ -z "$(memory_grown "$@")" ]; }

# expect_memory_back BEFORE OBJECTS KB
expect_memory_back() {
	rm -f "$WORK/memory.now"
	wait_for 30 memory_back "$@" >/dev/null ||
		fail "memory is not back where it was: $(memory_grown "$@" | paste -sd';')"
}

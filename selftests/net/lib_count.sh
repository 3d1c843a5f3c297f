# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Counters as `rdma statistic` gives them, and kernel memory. Sourced by
# lib.sh.
#
#	ctr_mark                 remember the values of all devices
#	...
#	ctr_take                 remember them again; what follows compares
#	expect mrca tx_rtx_pkts == 0        sum over the ports
#	expect mrca/2 tx_data_pkts '>' 100  one port

# Lines "dev/port name value" of all mrc devices.
ctr_dump() { rdma -j statistic show link | ctr_lines; }

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

ctr_mark() { ctr_dump >"$WORK/mark"; }
ctr_take() { ctr_dump >"$WORK/take"; }

# ctr DEV[/PORT] NAME: how much it grew between mark and take. An unknown name
# is an error, not a zero.
ctr() {
	awk -v dev="$1" -v name="$2" '
		function mine(d) { return d == dev || index(d, dev "/") == 1 }
		FNR == NR { if ($2 == name && mine($1)) sum -= $3; next }
		$2 == name && mine($1) { sum += $3; seen = 1 }
		END {
			if (!seen) {
				print "no counter " name " on " dev > "/dev/stderr"
				exit 1
			}
			printf "%d\n", sum
		}' "$WORK/mark" "$WORK/take"
}

expect() { # DEV[/PORT] NAME OP VALUE
	local value
	value=$(ctr "$1" "$2")
	check "$value" "$3" "$4" "$1 $2"
}

# All data packets that FROM has sent arrived at TO. A machine that stops for a moment
# makes a sender repeat what had arrived; when such a copy is sent its message may be
# complete, and what it carries the next one, so that its ICRC is wrong.
expect_all_arrived() { # FROM TO
	expect "$2" rx_data_pkts == $(($(ctr "$1" tx_data_pkts) - $(ctr "$1" tx_rtx_pkts)))
	check $(($(ctr "$2" rx_duplicate) + $(ctr "$2" rx_drop_icrc))) == \
		"$(ctr "$1" tx_rtx_pkts)" "copies that $2 had already"
}

# Every counter of DEV that grew and is not named must not have grown.
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

# For the output of a failed subtest.
ctr_report() {
	[ -s "$WORK/mark" ] || return 0
	ctr_take
	local d
	for d in $(rdma_devices); do
		[[ $d == mrc* ]] || continue
		echo "$d since the mark: $(ctr_grown "$d" | paste -sd' ')"
	done
}

# Waits until nothing is counted any more: all packets have arrived.
ctr_quiet() { wait_for "${1:-10}" same_after 0.15 ctr_dump; }

# Value of a counter in a dump, summed over the ports of DEV or of DEV/PORT: now, or
# when it was marked.
ctr_sum() { # DEV[/PORT] NAME
	awk -v dev="$1" -v name="$2" '
		$2 == name && ($1 == dev || index($1, dev "/") == 1) { s += $3; seen = 1 }
		END { if (!seen) exit 1; printf "%d\n", s }'
}
ctr_now() { ctr_dump | ctr_sum "$@"; }
ctr_marked() { ctr_sum "$@" <"$WORK/mark"; }

# A counter did not move for so long; while others may, unlike ctr_quiet.
ctr_still() { # DEV[/PORT] NAME SECONDS
	same_after "$3" ctr_now "$1" "$2"
}

ctr_at_least() { # DEV[/PORT] NAME VALUE
	[ "$(ctr_now "$1" "$2")" -ge "$3" ]
}

# The same sum without starting a program, for figures: in $hw. These files may
# be 10 ms old.
hw_now() { # DEV NAME [PORT]
	local f value
	hw=0
	for f in /sys/class/infiniband/"$1"/ports/${3:-*}/hw_counters/"$2"; do
		read -r value <"$f"
		hw=$((hw + value))
	done
}

# Shares of NAME between the ports of DEV, which must be equal within PERCENT.
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

# Lets what is waiting for a grace period or sits in per-CPU caches go.
memory_settle() {
	local s
	echo 2 >/proc/sys/vm/drop_caches
	for s in /sys/kernel/slab/*/shrink; do
		echo 1 >"$s" 2>/dev/null || true
	done
}

# Lines "cache objects size" and "total-kB kB 1" of all kernel memory that objects
# can leak into, when names and attributes of files that nobody uses are gone.
memory_take() {
	echo 2 >/proc/sys/vm/drop_caches
	python3 "$NET_DIR/slab_objects.py"
}

# Of several looks in $1, $2, ..., the largest (or smallest) of each line: what
# comes and goes by itself is not what is looked for.
memory_extreme() { # largest|smallest FILE...
	local which=$1
	shift
	awk -v which="$which" '
		!($1 in v) || (which == "largest" ? $2 > v[$1] : $2 < v[$1]) { v[$1] = $2 }
		{ size[$1] = $3 }
		END { for (c in v) print c, v[c], size[c] }' "$@"
}

# memory_before FILE: where memory stands, with its own ups and downs, when it has come
# to rest: namespaces that were deleted give back theirs a while later, and a look
# before that would hide what is lost afterwards.
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
		memory_take >"$1.$n"
		sleep 0.3
	done
}

# Between the first and the last look not even four pages were given back.
memory_at_rest() { # FILE
	awk 'FNR == 1 { file++ }
		$1 == "total-kB" { kb[file] = $2 }
		END { exit !(kb[1] - kb[file] < 16) }' "$1.1" "$1.3"
}

# memory_grown BEFORE OBJECTS KB: prints what grew since memory_before BEFORE
# by OBJECTS or more in one cache, or by more than KB in total. Left out is what
# goes up and down by itself: caches of the file system, of the guest's 9p root
# and of processes; vmap_area, which holds the stacks of processes that have
# ended until the kernel gets round to unmapping them (/proc/vmallocinfo:
# "unpurged", a few for every program started); what kmemleak notes of objects,
# which are counted in their own caches, not least of each vmap_area;
# damon_region, in which 7.x keeps its own statistics of memory accesses; what a TCP connection leaves for
# the minute of its TIME_WAIT, as those of the test's programs do. The lab's kernels do not merge
# caches, so that a name is the name of what grew.
memory_grown() {
	memory_take >"$WORK/memory.new"
	if [ -f "$WORK/memory.now" ]; then
		memory_extreme smallest "$WORK/memory.new" "$WORK/memory.now" \
			>"$WORK/memory.min"
		mv "$WORK/memory.min" "$WORK/memory.now"
	else
		mv "$WORK/memory.new" "$WORK/memory.now"
	fi
	awk -v objects="$2" -v kb="$3" '
		FNR == NR { old[$1] = $2; next }
		$1 == "total-kB" {
			if ($2 - old[$1] > kb)
				print "kernel memory grew by " $2 - old[$1] " kB"
			next
		}
		$1 ~ /^(dentry|.*inode.*|filp|vm_area_struct|vma_lock|vmap_area|anon_vma.*|maple_node|radix_tree_node|lsm_.*|buffer_head|names_cache|proc_.*|kernfs_.*|cred|pid|signal_cache|sighand_cache|task_struct|mm_struct|files_cache|ovl_.*|9p.*|p9_.*|fs_cache|seq_file|page->ptl|debug_objects_cache|damon_region|kmemleak_.*|tw_sock_TCP.*|tcp_bind2?_bucket)$/ { next }
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

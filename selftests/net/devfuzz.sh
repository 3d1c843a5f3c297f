#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Random programs on both hosts (mrc_devfuzz): all calls of verbs, libMRC and the
# controller's side, among them changed ones, garbage in mapped rings, programs that are
# killed, calls without memory, hostile packets, planes and devices that go. The kernel
# log stays clean, every call returns, nothing is left, no memory is written to without a
# key, and the devices work afterwards.
#
# A bug of the RDMA core: if it refuses a program's context, it forgets a reference to the
# program. Then all that copy_process() made for the program stays.
# timeout: 900
# races
# kmemleak-ok: copy_process
# kmsg-ok: _ib_modify_qp (rq|sq)_psn overflow
# A deleted GID keeps its place in the table while queue pairs use it.
# kmsg-ok: __ib_cache_gid_add: unable to add gid .* error=-28
# Defaults of the device that name profiles which are not ONLINE.
# kmsg-ok: (mrc_ctl_bind_qp|mrc_srv6_explain): [0-9]* callbacks suppressed
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_faults.sh"
. "$NET_DIR/lib_devfuzz.sh"

# Each call of a controller was made, and did what it does at least once. Probes are answered
# before other calls have taken ports and paths away.
controllers() { # SEED OPTIONS...
	local missing
	fuzz "$@" --only mrc_create_context,create_qp,connect_qp,ctl_ep_batch
	mv "$WORK/fuzz" "$WORK/fuzz.probes"
	fuzz "$@"
	missing=$(awk '$1 == "#" && $2 ~ /^ctl_/ && $4 == "done" { n[$2] += $3 }
		END { for (a in n) if (!n[a]) print a; if (!length(n)) print "any" }' \
		"$WORK/fuzz.probes" "$WORK/fuzz")
	[ -z "$missing" ] || fail "never accepted: $(paste -sd' ' <<<"$missing")"
}

works() {
	topo 2
	verify --op mixed --size 1,4097,65536 --iters 20 --qps 2
}

topo 2
subtest "programs that call as they should" fuzz 1 --kinds plain --lives 3
subtest "programs with changed calls and rings" fuzz 2 --kinds plain,wild --lives 4
subtest "controllers" controllers 3 --kinds plain,control,control --lives 4
subtest "hostile packets" fuzz 4 --kinds plain --lives 3 --packets 2000
subtest "calls without memory" fuzz_without_memory 5 --kinds plain,faults --lives 3
# Controllers may have left a device without ports or paths.
topo 2
subtest "a consumer in the kernel beside programs" fuzz_beside_consumer 7 --kinds plain,wild --lives 4
subtest "planes and devices that go" fuzz_administered 6 --lives 4 --packets 2000
mapfile -t seeds < <(grep '^[0-9]' "$NET_DIR/../devfuzz/seeds")
[ "${#seeds[@]}" -gt 0 ] || fail "selftests/devfuzz/seeds has no seed"
for line in "${seeds[@]}"; do
	read -r seed options <<<"$line"
	# shellcheck disable=SC2086 # a list of options
	subtest "seed $seed: ${options#*# }" fuzz "$seed" ${options%%#*}
done
subtest "the devices work" works
tap_end

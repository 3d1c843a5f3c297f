#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# rdma-core's own tests, of the source that the provider is built in; both ends
# are the same device.
# kmsg-ok: rxe[ab]:
# timeout: 2400
. "$(dirname "$0")/lib_interop.sh"
TESTS=${RDMA_CORE_TESTS:-/mrc/guest/rdma-core-tests}

cases() { :; }

# run_tests LOG TEST...: the named tests, or all of them.
run_tests() {
	local log=$1
	shift
	(cd "$TESTS" && at_a timeout 1000 python3 run_tests.py --dev "$DEV_A" --port 1 \
		--gid "$GIDX_A" -v "$@") >"$log" 2>&1 </dev/null
}

# A test that takes the interpreter along has failed; those after it go on in
# another one.
suite() { # KIND
	local round todo=() kind=$1
	mkdir -p "$WORK/$kind"
	for ((round = 1; round <= 20; round++)); do
		run_tests "$WORK/$kind.$round.out" ${todo[@]+"${todo[@]}"} || true
		tail -n 4 "$WORK/$kind.$round.out" | comment
		python3 "$INTEROP_DIR/rdma_core_results.py" \
			"$WORK/$kind.$round.out" "$WORK/$kind" >"$WORK/crashed"
		[ -s "$WORK/crashed" ] || break
		[ "$round" != 1 ] || run_tests "$WORK/all" --list-tests || true
		mapfile -t todo < <(awk -v at="$(cat "$WORK/crashed")" \
			'found { print "tests." $0 } $0 == at { found = 1 }' \
			<(grep -o 'test_[a-z0-9_]*\.[A-Za-z0-9_]*\.test[A-Za-z0-9_]*$' "$WORK/all"))
		[ ${#todo[@]} -gt 0 ] || break
	done
	check "$(find "$WORK/$kind" -name '*.log' | wc -l)" '>' 100 "tests on $kind"
}

for kind in "${KINDS[@]}"; do
	device_up "$kind"
	lossy
	suite "$kind"
	device_down
done
while read -r name; do
	# What rxe does not do either has the test's own words for the reason.
	if [ "$(verdict rxe "$name")" != pass ] && [ "$(verdict mrc "$name")" = skip ]; then
		tap_count=$((tap_count + 1))
		echo "ok $tap_count - $name # SKIP rxe: $(verdict rxe "$name"), mrc: $(cut -d' ' -f3- "$WORK/mrc/$name")"
	else
		judge_case rdma_core "$name"
	fi
done < <(all_names)
tap_end

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# mrcbench, which compares mrc with rxe and TCP: every test and operation gives its
# figures, between hosts that mrcbench makes and with a remote server. Also output
# files, goals and exit statuses. Nothing is left behind, however a run ends. The
# script judges no figure. It does not run rxe, because kernels before 7.x keep rxe
# out of namespaces.
# long
# timeout: 400
. "$(dirname "$0")/lib.sh"

bench() { # NAME OPTIONS...: a separate run, results in $WORK/NAME
	local name=$1
	shift
	(cd "$WORK" && mrcbench run -o "$WORK/$name" --set repeat=1 --set seconds=0.2 "$@") \
		>"$WORK/out" 2>"$WORK/err" || {
		local rc=$?
		cat "$WORK/err" "$WORK/out"
		return $rc
	}
}

# Each line of the CSV has a positive figure in these columns and no error.
figures_there() { # NAME LINES FIGURE...
	local csv=$WORK/$1/results.csv lines=$2
	shift 2
	awk -F, -v lines="$lines" -v want="$*" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{
			n = split(want, w, " ")
			for (i = 1; i <= n; i++)
				if (!(w[i] in at) || $(at[w[i]]) <= 0) {
					print "no " w[i] ": " $0
					bad = 1
				}
			if ($(at["error"]) != "") { print "error: " $0; bad = 1 }
		}
		END {
			if (NR - 1 != lines) {
				print NR - 1 " lines, not " lines
				bad = 1
			}
			exit bad
		}' "$csv" || fail "$csv"
}

nothing_left() {
	! ip netns list | grep -q mrcbench || fail "namespaces: $(ip netns list)"
	! rdma_devices | grep -E -q '^mrcb[0-9]+[ab]$' || fail "devices: $(rdma_devices)"
}

streams() {
	bench streams --set 'columns=mrc tcp' --set 'op=write write_imm send' \
		--set 'size=8 4K 100000'
	figures_there streams 18 goodput rate cpu_byte cpu_msg cpu_busy
	[ -s "$WORK/streams/measure-goodput.svg" ] || fail "no chart"
	nothing_left
}

one_at_a_time() {
	local wait
	for wait in event yield; do
		bench "lat-$wait" --set 'columns=mrc tcp' --set test=lat --set op=send \
			--set 'size=8 10000' --set wait=$wait
		figures_there "lat-$wait" 4 lat_min lat_p50 lat_p99 lat_max
	done
	bench lat-write --set 'columns=mrc tcp' --set test=lat --set 'size=8 10000' --set wait=yield
	figures_there lat-write 4 lat_p50
	bench rtt --set 'columns=mrc tcp' --set test=rtt --set 'op=write send' --set size=64
	figures_there rtt 4 lat_p50
	bench read --set columns=mrc --set 'test=rtt bw' --set op=read --set 'size=8 100000'
	figures_there read 4 rate
	nothing_left
}

many() {
	bench many --set 'columns=mrc tcp' --set 'qps=1 16' --set size=4K --set 'planes=1 4' \
		--set depth=16 --set list=4
	figures_there many 8 goodput
	bench idle --set 'columns=mrc' --set test=idle --set qps=50 --set depth=1
	figures_there idle 1 qp_memory qp_around qp_rings
	nothing_left
}

# netem loses packets, and the loss is repaired.
impaired() {
	# The run lasts longer than TCP's timer and than a pause of the guest, so that
	# some packets arrive and some are lost.
	bench lossy --set 'columns=mrc tcp' --set 'netem=loss 5%' --set evs=8 --set seconds=2
	figures_there lossy 2 goodput resent
	nothing_left
}

goals() {
	cat >"$WORK/g.plan" <<-'END'
		columns = mrc
		size = 4K
		[easy]
		goal = goodput mrc >= 0
		[hard]
		goal = goodput mrc <= 0
		[other]
		goal = goodput mrc / mrc@hard >= 0
	END
	local rc=0
	bench easy "$WORK/g.plan" --strict --only easy
	bench other "$WORK/g.plan" --strict --only other >/dev/null || rc=$?
	check $rc == 3 "exit status with a goal that was not measured"
	rc=0
	bench hard "$WORK/g.plan" --strict || rc=$?
	check $rc == 3 "exit status with a goal that is not met"
	grep -q 'easy: .* met$' "$WORK/out" || fail "the easy goal: $(cat "$WORK/out")"
	grep -q 'hard: .* NOT MET$' "$WORK/out" || fail "the hard goal: $(cat "$WORK/out")"
	bench lax "$WORK/g.plan"
	rc=0
	bench wrong --set size=0 >/dev/null || rc=$?
	check $rc == 2 "exit status with a wrong plan"
}

# If one column cannot run, the other one still does.
missing() {
	ip netns add mrcbench1a
	bench missing --set 'columns=mrc tcp' --set size=4K || true
	ip netns list | grep -q mrcbench1a || fail "somebody else's namespace was removed"
	ip netns del mrcbench1a
	grep -q 'mrc.*failed\|tcp.*failed' "$WORK/out" || fail "$(cat "$WORK/out")"
	awk -F, 'NR > 1 { n++; if ($NF != "") bad++ } END { exit !(n == 2 && bad == 1) }' \
		"$WORK/missing/results.csv" || fail "$(cat "$WORK/missing/results.csv")"
	nothing_left
}

# Without gnuplot there are no charts, and that is all.
no_gnuplot() {
	GNUPLOT=/nonexistent/gnuplot bench plain --set columns=tcp --set size=4K
	grep -q '^mrcbench: no charts: .*gnuplot-nox' "$WORK/err" ||
		fail "$(cat "$WORK/err")"
	figures_there plain 1 goodput
	[ -s "$WORK/plain/summary.txt" ] || fail "no summary"
	! ls "$WORK/plain/"*.svg 2>/dev/null || fail "charts without gnuplot"
	nothing_left
}

to_server() {
	start "$WORK/server" ip netns exec "$HOST_B" mrcbench serve --bind "$MGMT_B" \
		-c "mrc=mrcb/$B4" -c "tcp=$B4"
	wait_for 30 listening "$HOST_B" 18710
	in_a mrcbench run --to "$MGMT_B" -c "mrc=mrca/$A4" -c tcp -o "$WORK/to" \
		--set 'columns=mrc tcp rxe' --set 'size=8 4K' --set repeat=1 --set seconds=0.2 \
		>"$WORK/out" 2>&1 || fail "$(cat "$WORK/out")"
	awk -F, 'NR > 1 && $4 != "rxe" { n++; if ($NF != "" || $16 <= 0) exit 1 }
		NR > 1 && $4 == "rxe" && $NF !~ /--column rxe is not given/ { exit 1 }
		END { exit n != 4 }' "$WORK/to/results.csv" || fail "$(cat "$WORK/to/results.csv")"
	# A client that does not speak the protocol gets an error, and the next client
	# is served.
	echo 'GET / HTTP/1.0' | in_a timeout 30 bash -c "cat >/dev/tcp/$MGMT_B/18710" || true
	in_a mrcbench run --to "$MGMT_B" -c "mrc=mrca/$A4" -o "$WORK/to2" --set columns=mrc \
		--set repeat=1 --set seconds=0.2 >"$WORK/out" 2>&1 || fail "$(cat "$WORK/out")"
	figures_there to2 1 goodput
	# Device settings that a plan makes are restored.
	ctl a dev set num_evs 24
	in_a mrcbench run --to "$MGMT_B" -c "mrc=mrca/$A4" -o "$WORK/to3" --set columns=mrc \
		--set evs=8 --set cc=uet-1.0-nscc --set repeat=1 --set seconds=0.2 \
		>"$WORK/out" 2>&1 || fail "$(cat "$WORK/out")"
	figures_there to3 1 goodput
	ctl a dev show | grep -q '^ *attr num_evs 24 mpr 8 cwnd 0 cc vegas$' ||
		fail "attributes: $(ctl a dev show)"
	ctl a dev set num_evs 64
	grep -q 'too long' "$WORK/server" || fail "the stranger: $(cat "$WORK/server")"
}

interrupted() {
	start "$WORK/log" mrcbench run -o "$WORK/int" --set seconds=100 --set columns=mrc
	wait_for 30 test -e /sys/class/infiniband/mrcb0b
	kill -INT "$started"
	finished "$started" 20 && fail "it did not say that it was interrupted"
	nothing_left
}

subtest "streams of WRITEs, immediates and SENDs; TCP beside them" streams
subtest "one message at a time" one_at_a_time
subtest "queue pairs, planes, lists; memory of idle ones" many
subtest "loss" impaired
subtest "goals and exit statuses" goals
subtest "a column that cannot be had" missing
subtest "without gnuplot" no_gnuplot
subtest "interrupted in the middle" interrupted
topo 1
subtest "to a server, with strangers" to_server
tap_end

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# mrcconform on host A, its target on host B. Sourced after lib.sh.

PORT=18720

target_start() { # OPTIONS OF "target"...
	start "$WORK/target" ip netns exec "$HOST_B" mrcconform target -l "$MGMT_B:$PORT" "$@"
	wait_for 30 listening "$HOST_B" "$PORT"
}

conform() { # OPTIONS...: the tester
	in_a mrcconform run -t "$MGMT_B:$PORT" "$@"
}

# One line "ok NAME" or "not ok NAME" for each result, comments with details. What was skipped
# for lack of planes or of SRv6 is left out.
results() { # FILE OF JSON
	python3 - "$1" <<-'END'
		import json, sys
		for r in json.load(open(sys.argv[1], encoding='utf-8'))['results']:
		    name = '%s: %s' % ('IPv6' if ':' in r['address'] else 'IPv4', r['name'])
		    if r['verdict'] == 'passed':
		        print('ok', name)
		        continue
		    if r['verdict'] == 'skipped' and r['name'].split('.')[0] in ('planes', 'srv6'):
		        continue
		    print('# %s (%s): %s' % (r['section'], r['level'], r['rule']))
		    print('# %s: %s' % (r['verdict'], r['text']))
		    for line in r['trace'][-12:]:
		        print('#', line)
		    print('not ok', name)
	END
}

# SRv6 between the hosts without a switch. The uSID of host A is 0031, that of host B 0032.
# Host A has no device and drops what comes for its uSID; the tester has seen it then.
conform_srv6_up() {
	local i
	ip -n "$HOST_A" -6 route add blackhole fcbb:0:31::/48
	ip -n "$HOST_B" -6 route add local fcbb:0:32::/48 dev lo
	# By link-local addresses: the others are the same in all planes.
	for ((i = 1; i <= PLANES; i++)); do
		ip -n "$HOST_A" -batch - <<-END
			neigh replace fe80::b lladdr 02:00:00:00:0b:0$i dev pa$i nud permanent
			route add fcbb:0:32::/48 via fe80::b dev pa$i metric $((100 + i))
		END
		ip -n "$HOST_B" -batch - <<-END
			neigh replace fe80::a lladdr 02:00:00:00:0a:0$i dev pb$i nud permanent
			route add fcbb:0:31::/48 via fe80::a dev pb$i metric $((100 + i))
		END
	done
}

# Queue pairs of host B to host A use SRv6 from now on.
conform_profile_on() {
	local i k evs=''
	for ((i = 1; i <= PLANES; i++)); do
		for k in 1 2 3 4 5 6 7 8; do
			evs+=${evs:+,}fcbb00000031000$k@$i
		done
	done
	ctl b -b - <<-END
		fmt add 1 mode srv6 fields 32,32,32,32
		ev add 1 mode explicit fmt 1 evs $evs
		default set $A6/128 ev 1
	END
}

conform_profile_off() {
	ctl b -b - <<-END
		default del $A6/128
		ev del 1
		fmt del 1
	END
}

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The guides (Documentation/guides): every block that is marked as tested runs as it is
# printed, and prints what the guide says. Two hosts have two NICs each, named as in the
# guides, and see their own device only. Then hosts that a guide itself makes on this
# machine, and a fabric of mrclab. What needs programs of other projects is run by
# selftests/interop/guides.sh.
# timeout: 900
# long
# shellcheck disable=SC2034,SC2154 # variables shared with lib.sh
. "$(dirname "$0")/lib.sh"
. "$NET_DIR/lib_netns.sh"
. "$NET_DIR/lib_guides.sh"

GUIDE_A=(ip netns exec "$HOST_A") GUIDE_B=(ip netns exec "$HOST_B")
FABRICS=/mrc/guest/share/mrclab/fabrics
GUIDE_CWD=$WORK/examples
# A copy, in which programs are made.
cp -r "$GUIDES/examples" "$GUIDE_CWD"

# --- two hosts ----------------------------------------------------------------------

# As machines are after boot: no addresses, no routes, strict filters.
bare_hosts() {
	local i h
	hosts_up
	for i in 1 2; do
		ip link add name eth$i netns "$HOST_A" type veth \
			peer name eth$i netns "$HOST_B"
	done
	for h in "$HOST_A" "$HOST_B"; do
		ip netns exec "$h" sysctl -q -w net.ipv4.conf.all.rp_filter=1 \
			net.ipv4.conf.all.arp_ignore=0 net.ipv4.conf.default.arp_ignore=0 \
			net.ipv4.conf.eth1.arp_ignore=0 net.ipv4.conf.eth2.arp_ignore=0
	done
	PLANES=2
	home=([mrca]=$HOST_A [mrcb]=$HOST_B)
	GUIDE_SED_A=(-e 's/\<mrc0\>/mrca/g') GUIDE_SED_B=(-e 's/\<mrc0\>/mrcb/g')
}

# From now on the word GID in a command is the index of the host's own address.
gids_known() {
	local h i
	for h in a b; do
		for i in 1 2; do
			wait_for 30 port_is "mrc$h" "$i" ACTIVE
			wait_for 30 gid_index "mrc$h" "$i" "$(own $h 4)"
		done
	done
}

gid_word() {
	GUIDE_SED_A+=(-e "s/\\<GID\\>/$(gid_index mrca 1 "$A4")/g")
	GUIDE_SED_B+=(-e "s/\\<GID\\>/$(gid_index mrcb 1 "$B4")/g")
}

links_file_gone() { rm -f /etc/mrc/links.d/mrca.conf; }

# What the guides make beside the two hosts.
fabric_down() {
	local ns
	mrclab down -q -a >/dev/null 2>&1 || true
	for ns in left right; do
		[ ! -e "/run/netns/$ns" ] || ip netns del $ns || true
	done
	rm -f /run/map.json /run/map.log
}

# --- programs -----------------------------------------------------------------------

# Headers and libmrc.pc are where "make install" puts them.
installed() {
	cp /mrc/guest/include/*.h /usr/include/
	cp /mrc/guest/dev/pkgconfig/libmrc.pc /usr/lib/x86_64-linux-gnu/pkgconfig/
}

# A command that compiles prints nothing, not even a warning.
compiles() { # GUIDE NAME
	guide "$1" "$2"
	grep -v '^+ ' "$WORK/guide.out" >"$WORK/said" || true
	[ ! -s "$WORK/said" ] || fail "$1.md, $2: the compiler says something"
}

# Programs that find a wrong byte say so: the server's pattern is another one.
finds_wrong_bytes() {
	sed 's/at \* 7/at * 5/' "$GUIDE_CWD/first.c" >"$WORK/wrong.c"
	# shellcheck disable=SC2046 # words
	cc -I"$GUIDE_CWD" -o "$WORK/wrong" "$WORK/wrong.c" $(pkg-config --cflags --libs libmrc libibverbs)
	start "$WORK/server" ip netns exec "$HOST_B" "$WORK/wrong" mrcb "$B4"
	wait_for 30 listening "$HOST_B" 18600
	refuse 'the server says 13' in_a "$GUIDE_CWD/first" mrca "$A4" "$B4"
	! finished "$started" 30 || fail "the server found nothing wrong"
	grep -q '^byte 1 is wrong$' "$WORK/server" || fail "$(cat "$WORK/server")"
}

# What the guide says of a program and a ported peer: the message that is no WRITE is refused.
ported_at_one_end() {
	start "$WORK/server" ip netns exec "$HOST_B" "$GUIDE_CWD/after" mrcb \
		"$(gid_index mrcb 1 "$B4")"
	wait_for 30 listening "$HOST_B" 18600
	refuse 'completion: remote invalid request error' in_a "$GUIDE_CWD/before" mrca \
		"$(gid_index mrca 1 "$A4")" "$B4" text
	! finished "$started" 30 || fail "the server got: $(cat "$WORK/server")"
}

# --- the test -----------------------------------------------------------------------

if ! wait_for 30 exclusive_now >"$WORK/mode"; then
	tap_skip_all "this kernel cannot hide devices from namespaces"
fi
trap leave_exclusive EXIT
bare_hosts
subtest "two PCs: planes of A" guide two-pcs planes-a
subtest "two PCs: planes of B" guide two-pcs planes-b
subtest "two PCs: the device" guide two-pcs device
subtest "ports and GIDs are there" gids_known
subtest "two PCs: doctor" guide two-pcs doctor
subtest "two PCs: GIDs" guide two-pcs gids
gid_word
subtest "two PCs: bandwidth" guide two-pcs bandwidth
subtest "two PCs: bytes of each plane" guide two-pcs shares
subtest "two PCs: a cable is pulled" guide two-pcs cut
subtest "two PCs: traffic without it" guide two-pcs bandwidth
subtest "two PCs: it is plugged in again" guide two-pcs plug
subtest "ports are active again" gids_known
subtest "two PCs: the file for the next boot" guide two-pcs file
subtest "two PCs: the file is right" guide two-pcs check
links_file_gone

subtest "first test: doctor" guide first-test doctor
subtest "first test: rping" guide first-test rping
subtest "first test: bandwidth" guide first-test bandwidth
subtest "first test: latency" guide first-test latency
subtest "first test: mrcperf" guide first-test mrcperf
subtest "first test: mrcperf, every byte checked" guide first-test verify
subtest "first test: TCP beside" guide first-test tcp
subtest "first test: what was lost" guide first-test lost

installed
subtest "first program: compile, C" compiles first-program compile-c
subtest "first program: compile, C++" compiles first-program compile-cxx
subtest "first program: run, C" guide first-program run-c
subtest "first program: run, C++" guide first-program run-cxx
subtest "first program: a profile" guide first-program profile
subtest "first program: run with it" guide first-program run-profile
subtest "first program: the profile is gone" guide first-program no-profile
subtest "first program: wrong bytes are found" finds_wrong_bytes
subtest "port a program: compile" compiles port-a-verbs-program compile
subtest "port a program: before" guide port-a-verbs-program before
subtest "port a program: after" guide port-a-verbs-program after
subtest "port a program: ported at one end only" ported_at_one_end

subtest "collectives: names of the library" guide collectives names
subtest "collectives: it can be loaded" guide collectives load
subtest "collectives: the device in sysfs" guide collectives sysfs
subtest "collectives: type of the GID" guide collectives gid
subtest "collectives: the pattern of plug-ins" guide collectives pattern
subtest "two PCs: take it back" guide two-pcs remove
all_gone
wait_for 30 shared_now

subtest "one VM: hosts" guide one-vm hosts
subtest "one VM: devices" guide one-vm devices
subtest "one VM: doctor" guide one-vm doctor
subtest "one VM: bandwidth" guide one-vm bandwidth
subtest "one VM: a plane is cut" guide one-vm cut
subtest "one VM: traffic without it" guide one-vm bandwidth
subtest "one VM: it is there again" guide one-vm plug
subtest "one VM: remove" guide one-vm remove

GUIDE_SED_HERE=(-e "s|/usr/share/mrclab/fabrics|$FABRICS|g")
subtest "SRv6 fabric: check the file" guide srv6-fabric file
subtest "SRv6 fabric: up" guide srv6-fabric up
subtest "SRv6 fabric: the host" guide srv6-fabric host
subtest "SRv6 fabric: all paths" guide srv6-fabric paths
subtest "SRv6 fabric: each path answers" guide srv6-fabric probe
subtest "SRv6 fabric: a black hole" guide srv6-fabric hole
subtest "SRv6 fabric: its path does not answer" guide srv6-fabric probe-hole
subtest "SRv6 fabric: healed" guide srv6-fabric heal
subtest "SRv6 fabric: traffic" guide srv6-fabric traffic
subtest "SRv6 fabric: no path is bad" guide srv6-fabric paths
subtest "SRv6 fabric: mrcmap starts" guide srv6-fabric map
subtest "SRv6 fabric: nothing found" guide srv6-fabric map-well
subtest "SRv6 fabric: a link loses packets" guide srv6-fabric lossy
subtest "SRv6 fabric: it is found" guide srv6-fabric map-lossy
subtest "SRv6 fabric: exports" guide srv6-fabric export
subtest "SRv6 fabric: down" guide srv6-fabric down
tap_end

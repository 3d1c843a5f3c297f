# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# Runs blocks of the guides (Documentation/guides) as they are printed there. A comment
# before a block says what it is:
#
#	<!-- test: NAME [OPTIONS] -->	commands, run by selftests/net/guides.sh
#	<!-- interop: NAME [OPTIONS] -->	commands, run by selftests/interop/guides.sh
#	<!-- seen: NAME [numbers] -->	lines that these commands print, in any order; "..."
#					stands for anything; numbers: they may be others
#
# selftests/docs/guides.sh knows the other kinds. Lines with a prompt run at that host,
# "A#" and "B#", or here, "server#" and "client#"; others all together as one script. Options:
#
#	on A, on B, on both	where a script runs, if not here
#	pair		the first line is a server; the others run when it listens
#	fails		the last command ends with an error
#	until seen	the commands are repeated until they print what is to be seen
#
# A script that sources this sets GUIDE_A and GUIDE_B, prefixes that run a command at a host,
# and GUIDE_SED_A, GUIDE_SED_B and GUIDE_SED_HERE, arguments of sed that replace names.

GUIDES=$NET_DIR/../../Documentation/guides
BLOCKS=$NET_DIR/../docs/blocks.awk
GUIDE_KIND='test'
GUIDE_CWD=$WORK
GUIDE_A=() GUIDE_B=() GUIDE_SED_A=(-e '') GUIDE_SED_B=(-e '') GUIDE_SED_HERE=(-e '')
GUIDE_LIMIT=120

guide_block() { # GUIDE MARKER
	awk -v want="$2" -f "$BLOCKS" "$GUIDES/$1.md"
}

# Runs commands, with the names that their host has.
guide_at() { # A|B|server|client COMMANDS
	local prefix=() names=("${GUIDE_SED_HERE[@]}")
	case $1 in
	A) prefix=("${GUIDE_A[@]}") names=("${GUIDE_SED_A[@]}") ;;
	B) prefix=("${GUIDE_B[@]}") names=("${GUIDE_SED_B[@]}") ;;
	esac
	set -- "$1" "$(sed -E "${names[@]}" <<<"$2")"
	sed "s/^/+ $1: /" <<<"$2"
	(cd "$GUIDE_CWD" && exec timeout $((GUIDE_LIMIT * ${LAB_TIME:-1})) \
		"${prefix[@]}" bash -e -o pipefail -c "$2") </dev/null
}

# "HOST COMMAND" of each line with a prompt, one line each.
guide_steps() {
	sed -e ':join' -e '/\\$/{ N; s/[ \t]*\\\n[ \t]*/ /; b join' -e '}' |
		sed -n -E '/^$/d; s/^(A|B|server|client)# +/\1 /; t ok; s/^/none /; :ok; p'
}

# All that listens, in all namespaces.
guide_listeners() {
	local ns
	for ns in '' $(ip netns list | awk '{ print $1 }'); do
		${ns:+ip netns exec "$ns"} ss -Hltn
		${ns:+ip netns exec "$ns"} rdma resource show cm_id 2>/dev/null | grep LISTEN || true
	done | wc -l
}

guide_listens() { [ "$(guide_listeners)" -gt "$1" ]; } # BEFORE

guide_pair() { # "HOST COMMAND" LINES
	local pid before rc=0 src=0
	before=$(guide_listeners)
	guide_at "${1%% *}" "${1#* }" >"$WORK/guide.server" 2>&1 &
	pid=$!
	bg_pids+=("$pid")
	if wait_for 30 guide_listens "$before"; then
		guide_lines "$2" || rc=$?
	else
		rc=1
	fi
	finished "$pid" 60 || src=$?
	cat "$WORK/guide.server"
	[ "$rc" = 0 ] && [ "$src" = 0 ] || echo "status of the server $src, of the others $rc"
	[ "$rc" = 0 ] || return "$rc"
	return "$src"
}

guide_lines() { # LINES
	local host command
	while read -r host command; do
		guide_at "$host" "$command" || return
	done <<<"$1"
}

# Once, with all output in $WORK/guide.out.
guide_once() { # GUIDE NAME OPTIONS
	local text steps
	text=$(guide_block "$1" "$GUIDE_KIND: $2")
	[ -n "$text" ] || {
		echo "$1.md has no block \"$GUIDE_KIND: $2\""
		return 1
	}
	case " $3 " in
	*' on both '*)
		guide_at A "$text" && guide_at B "$text"
		return
		;;
	*' on A '*)
		guide_at A "$text"
		return
		;;
	*' on B '*)
		guide_at B "$text"
		return
		;;
	esac
	steps=$(guide_steps <<<"$text")
	if ! grep -q -v '^none ' <<<"$steps"; then
		guide_at server "$text"
	elif grep '^none ' <<<"$steps"; then
		echo "a line without a prompt"
		return 1
	elif [[ " $3 " == *' pair '* ]]; then
		guide_pair "${steps%%$'\n'*}" "${steps#*$'\n'}"
	else
		guide_lines "$steps"
	fi
}

# Whether the output has every line of the block that says what is to be seen.
guide_seen() { # GUIDE NAME
	local options line missing=0
	guide_block "$1" "seen: $2" >"$WORK/guide.seen"
	[ -s "$WORK/guide.seen" ] || return 0
	options=$(awk -v want="seen: $2" -v words=1 -f "$BLOCKS" "$GUIDES/$1.md")
	sed -E 's/\<mrc[ab]\>/mrc0/g' "$WORK/guide.out" >"$WORK/guide.named"
	while read -r line; do
		[ -n "$line" ] || continue
		line=$(sed -E 's/[][\\.*^$+?(){}|]/\\&/g; s/\\\.\\\.\\\./.*/g; s/ +/[[:space:]]+/g' <<<"$line")
		[ "$options" != numbers ] || line=$(sed -E 's/[0-9]+(\\\.[0-9]+)?/[0-9.]+/g' <<<"$line")
		grep -q -E "^[[:space:]]*${line}[[:space:]]*\$" "$WORK/guide.named" || {
			echo "not seen: $line"
			missing=1
		}
	done <"$WORK/guide.seen"
	return $missing
}

guide_right() { # GUIDE NAME OPTIONS
	guide_once "$@" >"$WORK/guide.out" 2>&1 && guide_seen "$1" "$2"
}

# guide GUIDE NAME: runs a block. It must end as it should and print what it should.
guide() {
	local options rc=0
	options=$(awk -v want="$GUIDE_KIND: $2" -v words=1 -f "$BLOCKS" "$GUIDES/$1.md")
	if [[ " $options " == *' until seen '* ]]; then
		wait_for 90 guide_right "$1" "$2" "$options" || rc=$?
	else
		guide_once "$1" "$2" "$options" >"$WORK/guide.out" 2>&1 || rc=$?
		if [[ " $options " == *' fails '* ]]; then
			[ "$rc" != 0 ] && rc=0 || rc=99
		fi
	fi
	cat "$WORK/guide.out"
	[ "$rc" = 0 ] || fail "$1.md, $2: status $rc"
	guide_seen "$1" "$2" || fail "$1.md, $2: prints something else"
}

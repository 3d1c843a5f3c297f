# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What scripts of this machine's side have found, as lines "ok - NAME" and "not ok - NAME".
# To be sourced only.
# shellcheck disable=SC2034 # the variables are for the scripts that source us

passed=0 failed=0
about='' # before each name, such as "[trixie] "

good() { # NAME
	passed=$((passed + 1))
	echo "ok - $about$1"
}

bad() { # NAME [FILE with the reasons]
	failed=$((failed + 1))
	echo "not ok - $about$1"
	[ -z "${2:-}" ] || tail -n 25 "$2" | sed 's/^/    /'
}

skipped() { echo "skip - $about$1"; } # NAME: WHY

# Counts what a guest has found, in lines of TAP.
add_results() { # FILE
	passed=$((passed + $(grep -c '^ok ' "$1" || true)))
	failed=$((failed + $(grep -c '^not ok ' "$1" || true)))
}

# Debian's packages are for Debian's Python, which need not be the first one.
python_with() { # MODULE: sets python
	local p
	python=''
	for p in python3 /usr/bin/python3; do
		[ -n "$python" ] || ! "$p" -c "import $1" 2>/dev/null || python=$p
	done
	[ -n "$python" ] || { echo "no Python has the module $1" >&2; exit 1; }
}

# The last line; the exit status of the script.
end_checks() {
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ] && [ "$passed" != 0 ]
}

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2154
#
# Checks that read the sources, and that of the ABI. Sourced by check.sh after common.sh.
# Each is a function that fails when its check does and prints what is wrong.
# work: directory for temporary files

repo_files() { # the files of the repository, also those not added yet
	(cd "$TOP" && git ls-files -co --exclude-standard 2>/dev/null ||
		find . -type f ! -path './build/*' ! -path './.git/*' -printf '%P\n')
}

checkpatch() {
	"$LAB_DIR/fetch.sh" checkpatch
	cd "$TOP" || return
	repo_files | grep -E '^(drivers|providers|include|selftests/switch|selftests/kverbs)/.*\.[ch]$' |
		xargs -r -n 20 -P 2 sh -c 'out=$1; shift; perl "$@" >"$out.$$"' sh \
			"$work/checkpatch.out" "$LAB/checkpatch/scripts/checkpatch.pl" --no-tree \
			--strict --show-types --terse --no-summary --max-line-length=100 \
			--ignore LINUX_VERSION_CODE,FILE_PATH_CHANGES --file || true
	cat "$work"/checkpatch.out.* | judge_checkpatch
}

# Filters the output of checkpatch by the list of its known wrong complaints.
judge_checkpatch() {
	local line path type t pattern rc=0 i
	local -a types=() patterns=() used=()
	while read -r t pattern _; do
		case $t in '' | '#'*) continue ;; esac
		types+=("$t") patterns+=("$pattern") used+=('')
	done <"$LAB_DIR/checkpatch-allowed"
	while IFS= read -r line; do
		[[ $line =~ ^([^:]+):[0-9]+:\ (ERROR|WARNING|CHECK):([A-Z0-9_]+): ]] || {
			[ -z "$line" ] || { echo "$line"; rc=1; }
			continue
		}
		path=${BASH_REMATCH[1]} type=${BASH_REMATCH[3]}
		for i in "${!types[@]}"; do
			# shellcheck disable=SC2053 # a pattern is wanted
			if [ "$type" = "${types[i]}" ] && [[ $path == ${patterns[i]} ]]; then
				used[i]=1
				continue 2
			fi
		done
		echo "$line"
		rc=1
	done
	for i in "${!types[@]}"; do
		[ -n "${used[i]}" ] || {
			echo "checkpatch-allowed: ${types[i]} ${patterns[i]} matches nothing any more"
			rc=1
		}
	done
	return $rc
}

# Comments in kernel-doc format must describe every argument, member and result. The
# program comes with the headers of the default kernel.
kernel_doc() {
	local -a program
	local bad=$work/kernel-doc.h
	"$LAB_DIR/setup.sh" vm
	"$LAB_DIR/image.sh" "$DEFAULT_KERNEL"
	program=("$(kernel_tree "$DEFAULT_KERNEL")"/usr/lib/linux-kbuild-*/scripts/kernel-doc)
	[ -f "${program[0]}" ] || {
		echo "no kernel-doc among the headers of Linux $DEFAULT_KERNEL"
		return 1
	}
	program=("${program[0]}" -none -Wall -Werror)
	# Detects a kernel-doc program that accepts everything.
	printf '/**\n * f - one\n * @b: no argument\n *\n * Return: 0.\n */\nint f(int a);\n' >"$bad"
	! "${program[@]}" "$bad" >"$bad.out" 2>&1 && grep -q "'a' not described" "$bad.out" || {
		echo "kernel-doc accepts a wrong comment:"
		cat "$bad.out"
		return 1
	}
	cd "$TOP" || return
	repo_files | grep -E '^(drivers/infiniband/sw/mrc|include/uapi/rdma)/.*\.[ch]$' |
		xargs "${program[@]}"
}

# A directory with the guests' verbs headers and none of their other headers, so that
# this machine's compilers can use them.
verbs_headers() {
	local tree
	tree=$(kernel_tree "$DEFAULT_KERNEL")
	mkdir -p "$BUILD/check/include"
	ln -sfn "$tree/usr/include/infiniband" "$BUILD/check/include/infiniband"
	ln -sfn "$tree/usr/include/rdma" "$BUILD/check/include/rdma"
	echo "$BUILD/check/include"
}

abi() {
	"$LAB_DIR/setup.sh" native
	"$LAB_DIR/image.sh" "$DEFAULT_KERNEL"
	"$TOP/selftests/abi/check.sh" -i "$(verbs_headers)" "$LAB/guest"
}

# Files on standard input, which use the headers of another program; both have some of the
# same names.
tidy_guests() { # VERBS-HEADERS PROGRAM
	xargs -r -P 2 -I FILE nice clang-tidy --quiet FILE -- \
		-std=c++20 -isystem "$1" -isystem "$TOP/providers/mrc" \
		-I"$TOP/include/uapi" -I"$TOP/userspace-tools/$2" \
		-I"$TOP/userspace-tools/mrcconform"
}

clang_tidy() {
	local list=$work/tidy-files ib rc=0
	"$LAB_DIR/setup.sh" native lint
	for d in unit fuzz mrcctl mrclab mrcmap mrcsim mrcperf mrcbench mrcconform enginebench; do
		# A command for each file, and none with headers that gcc has compiled.
		cmake -S "$TOP/selftests/$d" -B "$BUILD/tidy/$d" -G Ninja \
			-DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_UNITY_BUILD=OFF \
			-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
	done
	cd "$TOP" || return
	for d in unit fuzz mrcctl mrclab mrcmap mrcsim mrcperf mrcbench mrcconform enginebench; do
		case $d in
		unit) repo_files | grep -E '^(selftests/unit|userspace-tools/engine)/.*\.cpp$' ;;
		mrcsim) repo_files | grep -E '^(selftests|userspace-tools)/mrcsim/.*\.cpp$' |
			grep -v 'mrcsim/main\.cpp$' ;;
		*) repo_files | grep -E "^selftests/$d/.*\.cpp$" ;;
		esac >"$list" || true
		xargs -r -a "$list" -n 1 -P 2 nice clang-tidy --quiet -p "$BUILD/tidy/$d" \
			--extra-arg=-Wno-unknown-warning-option || rc=1
	done
	# The guests' programs are compiled in the guests' tree. Of its headers, only
	# the verbs headers are missing on this machine.
	repo_files | grep -E '^(selftests|userspace-tools)/.*\.cpp$' |
		grep -v -E '^(selftests/(unit|fuzz|mrcctl|mrclab|mrcmap|mrcsim|mrcperf|mrcbench|mrcconform|enginebench)|userspace-tools/(engine|mrcsim))/' \
			>"$list" || true
	if [ -s "$list" ]; then
		"$LAB_DIR/image.sh" "$DEFAULT_KERNEL"
		ib=$(verbs_headers)
		grep -v '^userspace-tools/mrcmap/' "$list" | tidy_guests "$ib" mrcperf || rc=1
		grep '^userspace-tools/mrcmap/' "$list" | tidy_guests "$ib" mrclab || rc=1
	fi
	return $rc
}

shell_check() {
	"$LAB_DIR/setup.sh" lint
	cd "$TOP" || return
	{
		repo_files | grep -E '\.sh$'
		echo .ci/run
	} | xargs -r -n 20 -P 2 shellcheck -x -S warning -P SCRIPTDIR:selftests/net &&
		shellcheck -s sh -S warning selftests/lab/guest/initramfs-init
}

script_sizes() {
	cd "$TOP" || return
	repo_files | grep -E '^selftests/.*\.(sh|py)$' | while read -r f; do
		[ ! -f "$f" ] || echo "$f"
	done | xargs -r "$LAB_DIR/script-sizes.sh"
}

# Manual pages that every formatter displays correctly.
manual_pages() {
	"$LAB_DIR/setup.sh" lint
	cd "$TOP" || return
	repo_files | grep -E '\.[1-9]$' | xargs -r mandoc -T lint -W warning
}

# Every file must state its licence, except the licences themselves and test data.
# Most files of debian/ cannot have comments; debian/copyright is about them.
licences() {
	local bad
	cd "$TOP" || return
	bad=$(repo_files | grep -v -E '^(LICENSES/|debian/|selftests/(fuzz/corpus|mrcctl/golden|mrclab/golden|mrcmap/golden)/)|\.(bin|pcap|png|pcapng\.gz)$' |
		while read -r f; do
			[ ! -f "$f" ] || [ ! -s "$f" ] ||
				head -n 5 "$f" | grep -q 'SPDX-License-Identifier: ' || echo "$f"
		done)
	[ -z "$bad" ] || {
		printf 'no SPDX line:\n%s\n' "$bad"
		return 1
	}
}

# Checks the driver's layers with the objects of the default kernel.
layers() {
	local tree
	"$LAB_DIR/setup.sh" vm
	"$LAB_DIR/module.sh" "$DEFAULT_KERNEL"
	tree=$(kernel_tree "$DEFAULT_KERNEL")
	# Some kernels list objects by their full path.
	in_tree "$tree" "$LAB/$DEFAULT_KERNEL/src:/src" -- sh -c \
		'cd /src/drivers/infiniband/sw/mrc && sed "s|^$PWD/||" mrc.mod | xargs nm -A' \
		>"$work/symbols"
	cd "$TOP" || return
	"$LAB_DIR/layers.py" drivers/infiniband/sw/mrc "$work/symbols" Documentation/seam.md
}

# What packaging/ has for others.
packaging_inputs() {
	"$LAB_DIR/setup.sh" lint && "$TOP/selftests/containers/inputs.sh"
}

web_page() {
	"$LAB_DIR/setup.sh" native web && "$TOP/selftests/web/check.sh"
}

dashboard() {
	"$LAB_DIR/fetch.sh" prometheus && "$TOP/selftests/grafana/check.sh"
}

dissector() {
	"$LAB_DIR/setup.sh" wireshark && "$TOP/selftests/wireshark/check.sh"
}

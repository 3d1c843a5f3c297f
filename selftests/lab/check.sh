#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The project's checks. Every stage runs, also after failures of others. The last line
# has the total counts.
#
# usage: check.sh PART...
#   unit    engine: unit and property tests; mrcctl; mrclab; mrcmap; mrcsim; mrcperf;
#           mrcbench; mrcconform; ASan and UBSan; that the engine's benchmark runs; the
#           published figures, simulated at a reduced scale
#   prop    the engine's property tests with all schedules
#   map     mrcmap's tests with all faults and times
#   mpi     one simulation by several processes, with Open MPI
#   fuzz    libFuzzer targets, 60 s each
#   fuzz-short  the same, 20 s each
#   build   module for every kernel with -Werror, sparse, provider, guest tools
#   parts   module without each part that can be left out, and without all of them
#   lint    checkpatch, kernel-doc, shellcheck, lengths of the tests' scripts, licence
#           lines, the driver's layers, documents against sources, manual pages, the
#           lab's own test, manifests, action.yml and bad input of packaging's scripts
#   tidy    clang-tidy
#   wireshark  the dissector and the Scapy layers, with hostile packets, and with what the
#           driver sends in a guest
#   web     the page of mrcctl serve, in Chromium; the dashboard for Grafana, its expressions
#           evaluated by a Prometheus server
#   insns   the kernel's instructions per message, compared with limits (insns.sh), and those
#           of the largest calls; what paging takes from others (insns_net.sh)
#   conform the driver with planted deviations, which mrcconform must find (conform_mutants.sh)
#   packages  Debian packages, in clean roots of the releases and in guests that boot; the
#           RPM specs
#   containers  containers and pods with devices, and packaging/ci, in guests; builds packages
#   series  the driver as patches for the kernel tree, each on the newest kernel (series.sh)
#   vm      selftests/net in a guest; K=KERNEL and T=PATTERN narrow it
#   interop selftests/interop in a guest, without and with loss; K and T as above
#           With M=uml or M=uml-debug vm and interop run in User Mode Linux, with
#           M=kcsan vm runs in a kernel that detects races, and only scripts marked "races"
#           (common.sh explains the machines)
#   vm-rest what vm leaves out: benchmarks, long scripts, every script on the
#           other kernels, the foreign suites on all of them
set -euo pipefail
export LAB_MACHINE=${M:-${LAB_MACHINE:-qemu}}
. "$(dirname "$0")/common.sh"

[ $# -gt 0 ] || lab_die "usage: check.sh unit|prop|map|mpi|fuzz|fuzz-short|build|parts|lint|tidy|wireshark|web|insns|conform|packages|containers|series|vm|interop|vm-rest ..."
wants() {
	local p
	for p in "${parts[@]}"; do
		[ "$p" != "$1" ] || return 0
	done
	return 1
}
parts=("$@")
for p in "${parts[@]}"; do
	case $p in
	vm) ;;
	interop)
		# The kcsan kernel lacks the suites' file systems and is too slow for
		# them.
		[ "$MACHINE" != kcsan ] || lab_die "$p does not run on M=kcsan"
		;;
	unit | prop | map | mpi | fuzz | fuzz-short | build | parts | lint | tidy | wireshark | web | insns | conform | packages | containers | series | vm-rest)
		[ "$MACHINE" = qemu ] || lab_die "$p has nothing to do with M=$MACHINE"
		;;
	*) lab_die "unknown part '$p'" ;;
	esac
done
k=${K:-$DEFAULT_KERNEL}
known_kernel "$k"
machine_suffix >/dev/null

mkdir -p "$BUILD/check"
work=$(mktemp -d "$BUILD/check/run.XXXXXX")
log_dir=$BUILD/check/logs
mkdir -p "$work/counts" "$log_dir"
finish() {
	local running
	running=$(jobs -p)
	# shellcheck disable=SC2086 # process numbers
	[ -z "$running" ] || kill $running 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

count() { # STAGE PASSED FAILED SKIPPED
	echo "$2 $3 $4" >>"$work/counts/$1"
}

# Runs a command as one check: passes or fails as a whole.
stage() { # NAME COMMAND...
	local name=$1 since=$SECONDS log=$log_dir/$1.log
	shift
	if "$@" >"$log" 2>&1 </dev/null; then
		count "$name" 1 0 0
		echo "PASS $name ($((SECONDS - since)) s)"
	else
		count "$name" 0 1 0
		echo "FAIL $name ($((SECONDS - since)) s); log: ${log#"$TOP"/}"
		grep -v -E '^[0-9]+ warnings? generated' "$log" | tail -n 60 | sed 's/^/    /'
	fi
}

# --- native ------------------------------------------------------------------
# Builds a CMake project with native tests. Status 1: some of it does not build.
native_build() { # NAME SOURCEDIR [OPTION OF CMAKE]
	local name=$1 source=$2 dir=$BUILD/$1 log=$log_dir/$1.log
	if ! { "$LAB_DIR/setup.sh" native &&
		cmake -S "$source" -B "$dir" -G Ninja ${3:+"$3"} \
			"-DMRC_SANITIZE_TESTS=${SANITIZE_TESTS:-OFF}" &&
		low ninja -C "$dir" -k 0 -j2; } >"$log" 2>&1 </dev/null; then
		count "$name" 0 1 0
		echo "FAIL $name: does not build; log: ${log#"$TOP"/}"
		grep -E -A4 'error|FAILED' "$log" | head -n 40 | sed 's/^/    /' || true
		return 1
	fi
}

# Runs the tests of a build directory and reads the counts from CTest's own report.
native_run() { # NAME BUILDDIR PARALLEL SINCE
	local name=$1 dir=$2 log=$log_dir/$1.log
	local tests failures skipped attrs status=0
	rm -f "$dir/junit.xml"
	(cd "$dir" && ctest -j "$3" --output-on-failure --output-junit junit.xml) \
		>>"$log" 2>&1 </dev/null || status=$?
	attrs=$(head -n 12 "$dir/junit.xml" 2>/dev/null | tr '\n\t' '  ')
	tests=$(sed -n 's/.*<testsuite[^>]* tests="\([0-9]*\)".*/\1/p' <<<"$attrs")
	failures=$(sed -n 's/.*<testsuite[^>]* failures="\([0-9]*\)".*/\1/p' <<<"$attrs")
	skipped=$(sed -n 's/.*<testsuite[^>]* skipped="\([0-9]*\)".*/\1/p' <<<"$attrs")
	if [ -z "$tests" ] || [ "$tests" = 0 ]; then
		count "$name" 0 1 0
		echo "FAIL $name: ran no test; log: ${log#"$TOP"/}"
		return
	fi
	# A failing exit status without a counted failure counts as one failure.
	[ "$status" = 0 ] || [ "$failures" != 0 ] || failures=1 tests=$((tests + 1))
	count "$name" $((tests - failures - skipped)) "$failures" "$skipped"
	echo "$([ "$failures" = 0 ] && echo PASS || echo FAIL) $name:" \
		"$((tests - failures - skipped)) passed, $failures failed," \
		"$skipped skipped ($((SECONDS - $4)) s)"
	grep -E '\*\*\*(Skipped|Not Run)' "$log" | sed 's/^/    /' || true
	if [ "$failures" != 0 ]; then
		grep -E -A25 '\*\*\*(Failed|Timeout|Exception|Not Run)' "$log" |
			head -n 120 | sed 's/^/    /' || true
		sed -n '/The following tests FAILED/,$p' "$log" | sed 's/^/    /'
	fi
}

native() { # NAME SOURCEDIR PARALLEL [OPTION OF CMAKE]
	local since=$SECONDS
	if [ ! -f "$2/CMakeLists.txt" ]; then
		count "$1" 0 1 0
		echo "FAIL $1: ${2#"$TOP"/} is not there"
		return
	fi
	native_build "$1" "$2" ${4:+"$4"} || true
	[ ! -f "$BUILD/$1/build.ninja" ] || native_run "$1" "$BUILD/$1" "$3" "$since"
}

# The tests of all tools, built together.
native_tools() {
	local since=$SECONDS tool
	if native_build native "$TOP/selftests/native"; then
		count native 1 0 0
		echo "PASS native: all tools built ($((SECONDS - since)) s)"
	fi
	[ -f "$BUILD/native/build.ninja" ] || return 0
	for tool in $(sed -n 's/^subdirs("\(.*\)")$/\1/p' "$BUILD/native/CTestTestfile.cmake"); do
		: >"$log_dir/$tool.log"
		native_run "$tool" "$BUILD/native/$tool" 2 "$SECONDS"
	done
}

. "$LAB_DIR/lib_lint.sh"

# --- order -------------------------------------------------------------------
export CI=${CI:-}
since_all=$SECONDS
images=()
if wants build || wants vm-rest; then
	images=(6.12 7.2 6.1)
elif wants vm || wants parts || wants lint || wants tidy || wants interop; then
	images=(6.12)
	[ "$k" = 6.12 ] || images+=("$k")
fi
if wants interop || wants vm-rest; then
	images+=(interop)
fi
image_job=''
if [ "${#images[@]}" -gt 0 ]; then
	# Downloading and unpacking the images leaves the processor free for the
	# native tests.
	"$LAB_DIR/setup.sh" vm || true
	for i in "${images[@]}"; do
		"$LAB_DIR/image.sh" "$i" || true
	done >"$work/images.log" 2>&1 &
	image_job=$!
fi

if wants unit; then
	MRC_PROP_SCHEDULES=${MRC_PROP_SCHEDULES:-3000} native unit "$TOP/selftests/unit" 2
	native_tools
	native enginebench "$TOP/selftests/enginebench" 1
	S=reduced stage sim-figures "$LAB_DIR/sim.sh" figures
fi

# Here the tests have UBSan, too.
if wants prop; then
	SANITIZE_TESTS=ON native unit "$TOP/selftests/unit" 2
fi
if wants map; then
	SANITIZE_TESTS=ON MRCMAP_LONG=1 native mrcmap "$TOP/selftests/mrcmap" 2
fi
if wants mpi; then
	stage mpi "$TOP/selftests/mrcsim/mpi.sh"
fi

if [ -n "$image_job" ]; then
	wait "$image_job" || true
	sed 's/^/    /' "$work/images.log"
fi

fuzz_job=''
if wants fuzz || wants fuzz-short; then
	seconds=60
	wants fuzz || seconds=20
	# Fuzzers run for a fixed time: they may run beside the compilers, but not
	# beside guests, which have real timeouts.
	native fuzz "$TOP/selftests/fuzz" 2 "-DMRC_FUZZ_SECONDS=$seconds" \
		>"$work/fuzz.out" 2>&1 &
	fuzz_job=$!
fi
if wants build; then
	for i in "${KERNELS[@]}"; do
		stage "build-$i" "$LAB_DIR/module.sh" "$i"
	done
	stage sparse "$LAB_DIR/module.sh" 6.12 --sparse
	stage provider "$LAB_DIR/provider.sh"
	stage abi abi
	stage tools "$LAB_DIR/tools.sh"
fi
if wants parts; then
	stage without "$LAB_DIR/module.sh" 6.12 --without all
	stage without-each "$LAB_DIR/module.sh" 6.12 --without
fi
if wants lint; then
	stage checkpatch checkpatch
	stage kernel-doc kernel_doc
	stage shellcheck shell_check
	stage script-sizes script_sizes
	stage licences licences
	stage layers layers
	stage documents "$TOP/selftests/docs/check.sh"
	stage choices "$TOP/selftests/docs/choices.sh"
	stage manual-pages manual_pages
	stage lab-selftest "$LAB_DIR/selftest.sh"
	stage packaging-inputs packaging_inputs
fi
if wants tidy; then
	stage clang-tidy clang_tidy
fi
if wants wireshark; then
	stage wireshark dissector
	stage wireshark-driver "$TOP/selftests/wireshark/record.sh"
fi
if wants web; then
	stage web web_page
	stage grafana dashboard
fi
if wants insns; then
	stage insns "$LAB_DIR/insns.sh"
	stage bounds-insns "$LAB_DIR/insns_net.sh" bounds
	# Regions are paged by kernels from 7.0 on.
	stage paging-insns "$LAB_DIR/insns_net.sh" -k 7.2 paging_figures
fi
if wants conform; then
	stage conform "$LAB_DIR/conform_mutants.sh"
fi
if wants packages; then
	stage packages "$TOP/selftests/packages/check.sh"
	stage packages-boot "$TOP/selftests/packages/boot.sh"
	stage rpm-spec "$TOP/selftests/packages/spec.sh"
	stage rpm "$TOP/selftests/packages/rpm.sh"
fi
if wants containers; then
	stage containers "$TOP/selftests/containers/check.sh" containers
	stage ci-action "$TOP/selftests/containers/check.sh" ci
	stage ci-native "$TOP/selftests/containers/check.sh" native
fi
if [ -n "$fuzz_job" ]; then
	wait "$fuzz_job" || true
	cat "$work/fuzz.out"
fi
if wants series; then
	# It takes long and prints its progress.
	"$LAB_DIR/series.sh" check -c "$work/series-counts" </dev/null || true
	if [ -s "$work/series-counts" ]; then
		cp "$work/series-counts" "$work/counts/series"
	else
		count series 0 1 0
		echo "FAIL series: no result"
	fi
fi

# Whether the files that guests load and run are built. Without them guests cannot
# run.
guest_ready() { # KERNEL
	local m
	if wants build; then
		# Built and judged above.
		for m in mrc sch_mrcsw mrc_kverbs; do
			[ -e "$LAB/$1/$m.ko" ] || return 1
		done
	else
		"$LAB_DIR/module.sh" "$1" && "$LAB_DIR/provider.sh" && "$LAB_DIR/tools.sh"
	fi
}

# Runs scripts in guests and counts their results.
in_guest() { # SET KERNEL COMMAND...
	local set=$1 k=$2 counts p f s
	shift 2
	if ! guest_ready "$k"; then
		count "$set-$k" 0 1 0
		echo "FAIL $set [$k$(machine_suffix)]: not run, the build failed"
		return
	fi
	counts=$work/guest-counts-$set-$k
	rm -f "$counts"
	"$@" -k "$k" -c "$counts" "${T:-}" || true
	if [ ! -s "$counts" ]; then
		count "$set-$k" 0 1 0
		echo "FAIL $set [$k$(machine_suffix)]: no result"
		return
	fi
	while read -r p f s; do
		count "$set-$k" "$p" "$f" "$s"
	done <"$counts"
}

vm() { # KERNEL [OPTION OF RUN-TESTS]
	in_guest net "$1" "$LAB_DIR/run-tests.sh" ${2:+"$2"}
}

interop() { # KERNEL [OPTION OF INTEROP]
	in_guest interop "$1" "$LAB_DIR/interop.sh" ${2:+"$2"}
}

if wants vm; then
	vm "$k"
fi
if wants interop; then
	interop "$k" -l
fi
# The part of vm-rest for one kernel.
rest_on() { # KERNEL
	[ "$1" = "$DEFAULT_KERNEL" ] || LAB_BENCHMARKS=1 vm "$1"
	# With a pattern (T) only the scripts of vm run.
	[ -n "${T:-}" ] || interop "$1" -l
}

# Runs kernels in parallel, if there are processors for more than one guest of two.
# Output is shown kernel by kernel.
rest_beside() { # HOW-MANY
	local i n=0
	for i in "${KERNELS[@]}"; do
		if [ "$n" -ge "$1" ]; then
			wait -n || true
		fi
		rest_on "$i" >"$work/rest-$i" 2>&1 &
		n=$((n + 1))
	done
	wait
	for i in "${KERNELS[@]}"; do
		cat "$work/rest-$i"
	done
}

if wants vm-rest; then
	[ -n "${T:-}" ] || vm "$DEFAULT_KERNEL" -b
	# Build what the kernels share before.
	for i in "${KERNELS[@]}"; do
		guest_ready "$i" || true
	done
	guests=$(($(nproc) / 2))
	if [ "$guests" -gt 1 ]; then
		rest_beside "$guests"
	else
		for i in "${KERNELS[@]}"; do
			rest_on "$i"
		done
	fi
fi

echo "all stages: $((SECONDS - since_all)) s"
cat "$work"/counts/* | awk '
	{ p += $1; f += $2; s += $3 }
	END {
		printf "%d passed, %d failed, %d skipped\n", p, f, s
		exit f > 0
	}'

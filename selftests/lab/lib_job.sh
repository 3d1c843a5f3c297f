# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2154
#
# For scripts that run one script of selftests/ in a guest for a long time. Sourced after
# common.sh. The caller sets $k, the kernel.

# Builds what the guest needs.
job_build() {
	need_root "running programs in a guest"
	"$LAB_DIR/setup.sh" vm
	"$LAB_DIR/module.sh" "$k"
	"$LAB_DIR/provider.sh"
	"$LAB_DIR/tools.sh"
}

# job_run SCRIPT SECONDS [OPTION OF vm.sh]... -- [ARG]...: runs it, for at most so many
# seconds times the factor of the machine.
job_run() {
	local script=$1 seconds=$2 options=() slack
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	slack=$(time_factor)
	job=$(mktemp)
	trap 'rm -f "$job"' EXIT
	echo "exec bash /mrc/selftests/$script \"\$@\"" >"$job"
	"$LAB_DIR/vm.sh" -k "$k" -t $((seconds * slack)) -e "LAB_TIME=$slack" \
		"${options[@]}" "$job" "$@"
}

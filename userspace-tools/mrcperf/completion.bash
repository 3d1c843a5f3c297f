# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# bash completion of mrcperf(1)

_mrcperf() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local words=''

	COMPREPLY=()
	case $prev in
	-d | --dev) words=$(compgen -G '/sys/class/infiniband/*' |
		sed -n 's|.*/\([A-Za-z0-9_.-]*\)$|\1|p') ;;
	-o | --output)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-T | --test) words='bw rate lat all' ;;
	--op) words='write write_imm' ;;
	-f | --format) words='text csv json' ;;
	-m | --mtu) words='256 512 1024 2048 4096' ;;
	-[ixpsnDwRqtrQlIu] | --ib-port | --gid-index | --port | --ev-profile | --cc-profile | \
		--bind | --sessions | --size | --iters | --duration | --warmup | --repeat | \
		--qps | --tx-depth | --rx-depth | --signal | --post-list | --inline | --tclass | \
		--timeout | --retry | --stall | --connect-timeout)
		return
		;;
	*)
		# Names of hosts begin otherwise.
		if [[ $cur != -* ]]; then
			mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur")
			return
		fi
		words='--dev --ib-port --gid-index --port --ev-profile --cc-profile --bind --sessions
			--test --op --size --all --iters --duration --warmup --repeat --verify --qps
			--tx-depth --rx-depth --signal --post-list --inline --mtu --tclass --timeout
			--retry --events --stall --connect-timeout --format --json --csv --output
			--version --help'
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _mrcperf mrcperf

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# bash completion of mrcconform(1)

_mrcconform() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local words=''

	case $prev in
	-c | --case)
		words=$(mrcconform list 2>/dev/null | awk '{ print $1 }')
		;;
	-d | --device)
		words=$(rdma link show 2>/dev/null |
			awk '{ sub("/.*", "", $2); print $2 }' | sort -u)
		;;
	--json | --junit | --pcap)
		if [ "${COMP_WORDS[1]}" = run ]; then
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
		fi
		words=$(mrcconform list 2>/dev/null | awk '{ print $1 }')
		;;
	--api) words='verbs mrc' ;;
	--library)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-i | --interface)
		words=$(ls /sys/class/net 2>/dev/null)
		;;
	--mtu | --max-mtu) words='256 512 1024 2048 4096' ;;
	-l | --listen | -t | --target | -a | --address | -s | --source | -p | --port | \
		--srv6 | --srv6-source | -w | --window | --patience | --dscp-*)
		return
		;;
	*)
		case ${COMP_WORDS[1]} in
		"$cur") words='target run list' ;;
		target) words='--listen --device --api --library --once --help' ;;
		run) words='--target --address --source --interface --srv6 --srv6-source --case
			--port --window --mtu --max-mtu --patience --dscp-data --dscp-control --dscp-trimmed
			--dscp-trimmed-lasthop --no-trimming --json --junit --pcap --strict --verbose
			--help' ;;
		list) words="--json --help $(mrcconform list 2>/dev/null | awk '{ print $1 }')" ;;
		esac
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _mrcconform mrcconform

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# bash completion of mrcctl(8)

_mrcctl_ids() { # fmt|ev|cc|qp
	mrcctl "${device[@]}" "$1" show 2>/dev/null |
		awk -v kind="$1" '$1 == kind { print $2 }'
}

_mrcctl_devices() {
	mrcctl dev show 2>/dev/null | sed -n 's/^\([^ ]*\): .*/\1/p'
}

_mrcctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local i word object='' command='' last='' words='' device=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		-d | --device)
			device=(-d "${COMP_WORDS[++i]}")
			;;
		-b | -n | -i | -t | --batch | --count | --interval | --timeout) ((++i)) ;;
		-*) ;;
		*)
			if [ -z "$object" ]; then
				object=$word
			elif [ -z "$command" ]; then
				command=$word
			else
				last=$word
			fi
			;;
		esac
	done

	case $prev in
	-d | --device)
		words=$(_mrcctl_devices)
		object=-
		;;
	-b | --batch)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-n | -i | -t | --peer | --count | --interval | --timeout) return ;;
	esac

	case $object:$command in
	-:*) ;;
	:) words="-j -p -d -b -h dev port fmt ev cc default tc limit probe qp monitor top load save
		doctor show-gids metrics serve plane links" ;;
	qp:) words=show ;;
	dev: | port: | tc: | limit:) words='show set' ;;
	fmt: | cc:) words='show add set del' ;;
	ev:) words='show add set del deny allow replace' ;;
	default:) words='show set del' ;;
	links:) words='up join down check units' ;;
	plane:) words='show add del' ;;
	probe:) words='ev status' ;;
	monitor:) words='ev state -n -i -t' ;;
	top:) words='-n -i' ;;
	serve:*)
		case $prev in
		listen) words='127.0.0.1:4680 [::1]:4680' ;;
		health)
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
			;;
		*) words='listen health -i -t' ;;
		esac
		;;
	doctor:) words="--peer --json $(_mrcctl_devices)" ;;
	show-gids:) words="--json $(_mrcctl_devices)" ;;
	load: | metrics:)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	port:*)
		case $last in
		'') words=$(mrcctl "${device[@]}" port show 2>/dev/null |
			awk '{ print $2 }') ;;
		*) [ "$command" != set ] || words='enable disable' ;;
		esac
		;;
	dev:set)
		case $last in
		'') words='extension num_evs mpr cwnd cc' ;;
		*) case $prev in
			extension) words='on off' ;;
			cc) words='vegas uet-1.0-nscc none' ;;
		esac ;;
		esac
		;;
	limit:set) words='pd ah cq mr mw qp srq' ;;
	tc:set) words='no_trim trimmable trimmable_retx trimmed trimmed_lasthop
		control trimming on off' ;;
	fmt:* | ev:* | cc:* | qp:*)
		if [ -z "$last" ]; then
			[ "$command" = add ] || words=$(_mrcctl_ids "$object")
		else
			case $object:$prev in
			*:state) words='offline online' ;;
			fmt:mode) words='udp stev srv6' ;;
			ev:mode) words='auto explicit generated' ;;
			ev:fmt) words=$(_mrcctl_ids fmt) ;;
			ev:events) words='good assumed_bad none' ;;
			cc:algorithm) words='uet-1.0-nscc vegas none off' ;;
			fmt:*) words='mode fields state' ;;
			ev:*) words='mode fmt count evs fields min_active events state' ;;
			cc:*) words='algorithm state adjust_bytes_threshold
				adjust_period_threshold base_rtt eta fi fi_scale gamma
				max_md_jump max_cwnd qa_gate qa_threshold target_delay
				disable_qa' ;;
			esac
		fi
		;;
	links:*)
		mapfile -t COMPREPLY < <(compgen -f -- "${cur:-/etc/mrc/links.d/}")
		return
		;;
	plane:*)
		case $last:$command in
		:*) words=$(compgen -G '/sys/class/net/*' |
			sed -n 's|^/sys/class/net/\([A-Za-z0-9_.@-]*\)$|\1|p') ;;
		*:add)
			case $prev in
			mtu | addr | route | via | metric) ;;
			*) words='mtu addr route via metric --dry-run' ;;
			esac
			;;
		*:del) words=--dry-run ;;
		esac
		;;
	default:*) [ -z "$last" ] || words='ev cc udp_port' ;;
	probe:*)
		case $prev in
		fmt) words='udp stev srv6' ;;
		ports) words='all none' ;;
		*) words='src dst evs fmt tc timeout'
			[ "$command" != status ] || words+=' ports' ;;
		esac
		;;
	esac
	# shellcheck disable=SC2207 # words without blanks
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _mrcctl mrcctl

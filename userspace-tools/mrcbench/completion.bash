# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# bash completion of mrcbench(1)

_mrcbench() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]:-} words=''

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W 'run check serve --version --help' -- "$cur")
		return
	fi
	case $prev in
	-o | --output)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--only)
		# Names of the sections of a plan. bash would run a command in one.
		for prev in "${COMP_WORDS[@]:2}"; do
			[ ! -f "$prev" ] || words+=" $(sed -n 's/^\[\([A-Za-z0-9_.-]*\)\].*/\1/p' "$prev")"
		done
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
		;;
	--to)
		mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur")
		return
		;;
	--set | -c | --column | -p | --port | --bind | --sessions) return ;;
	esac
	case $command in
	run) words='--set --only --column --port --output --strict --to --help' ;;
	check) words='--set --only --help' ;;
	serve) words='--bind --sessions --column --port --help' ;;
	esac
	if [[ $cur == -* || $command = serve ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}
complete -F _mrcbench mrcbench

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# bash completion of mrcsim(1)

# The long options of a command, as its help names them.
_mrcsim_options() { # COMMAND
	mrcsim "$1" --help 2>/dev/null | grep -o -E -- '(^|[ ,])--[a-z][a-z-]*' | tr -d ' ,'
}

_mrcsim() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]:-}

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W 'run plan merge' -- "$cur")
		return
	fi
	case $prev in
	-c | --columns)
		mapfile -t COMPREPLY < <(compgen -W 'mrc ecmp oblivious roce roce-pfc' -- "$cur")
		return
		;;
	-s | --seeds | -j | --jobs | -t | --threads | -m | --memory | --trace-flows | --pcap-link)
		return
		;;
	esac
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_mrcsim_options "$command")" -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}
complete -F _mrcsim mrcsim

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# bash completion of mrcmap(8)

# The long options of a command, as its help names them.
_mrcmap_options() { # COMMAND
	mrcmap "$1" --help 2>/dev/null | grep -o -E -- '(^|[ ,])--[a-z][a-z-]*' | tr -d ' ,'
}

# Of files. bash would run a command in a name.
_mrcmap_names() { # DIRECTORY
	compgen -G "$1/*" | sed -n 's|.*/\([A-Za-z0-9_.@-]*\)$|\1|p'
}

_mrcmap() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]:-}

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W 'agent collector show plan' -- "$cur")
		return
	fi
	case $prev in
	-f | --fabric | -o | --output | -k | --key | -F | --follow | -s | --state | -m | \
		--metrics | --history-file)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-n | --netdev)
		mapfile -t COMPREPLY < <(compgen -W "$(_mrcmap_names /sys/class/net)" -- "$cur")
		return
		;;
	--device)
		mapfile -t COMPREPLY < <(compgen -W "$(_mrcmap_names /sys/class/infiniband)" -- "$cur")
		return
		;;
	esac
	[[ $cur != -* ]] ||
		mapfile -t COMPREPLY < <(compgen -W "$(_mrcmap_options "$command")" -- "$cur")
}
complete -F _mrcmap mrcmap

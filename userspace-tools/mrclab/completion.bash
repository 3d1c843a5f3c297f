# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# bash completion of mrclab(8)

# Names of nodes or links of the fabric that is up, or of the one given by -f.
_mrclab_names() { # nodes|links
	mrclab status -j "${fabric[@]}" 2>/dev/null | python3 -c '
import json, sys
for f in json.load(sys.stdin):
    for x in f.get(sys.argv[1], []):
        print(x["name"])' "$1" 2>/dev/null
}

_mrclab_fabrics() {
	mrclab status 2>/dev/null | sed -n 's/^\([A-Za-z0-9_.-]*\): .*/\1/p'
}

_mrclab() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
	local i word command='' n=0 offer='' fabric=()
	# Names of links have a colon, which separates words for bash.
	! declare -F _get_comp_words_by_ref >/dev/null ||
		_get_comp_words_by_ref -n : cur prev words cword
	for ((i = 1; i < cword; i++)); do
		word=${words[i]}
		case $word in
		-f | --fabric) fabric=("${words[++i]}") ;;
		-b | --batch | -o | --output | --switch-image | --host-image) ((++i)) ;;
		-*) ;;
		*)
			if [ -z "$command" ]; then
				command=$word
			else
				((++n))
			fi
			;;
		esac
	done

	case $prev in
	-f | --fabric)
		mapfile -t COMPREPLY < <(compgen -W "$(_mrclab_fabrics)" -- "$cur")
		return
		;;
	-b | --batch)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-o | --output)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	esac
	case $command:$n in
	:0) offer='check up down status exec shell capture fault flap drill report graph export' ;;
	check:0 | up:0 | drill:* | report:* | graph:0 | export:1 | export:2)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	export:0) offer='sonic frr containerlab linux profiles' ;;
	down:* | status:*) offer=$(_mrclab_fabrics) ;;
	exec:0 | shell:0) offer=$(_mrclab_names nodes) ;;
	exec:1)
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		return
		;;
	exec:* | capture:[1-9]*)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	capture:0) offer=$(_mrclab_names links) ;;
	fault:0 | flap:0) offer="$(_mrclab_names nodes) $(_mrclab_names links) path clear" ;;
	fault:*)
		offer='down up drop clear rate burst delay jitter loss corrupt duplicate reorder
			queue mark trim trim_len plane t1'
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$offer" -- "$cur")
	! declare -F __ltrim_colon_completions >/dev/null || __ltrim_colon_completions "$cur"
}
complete -F _mrclab mrclab

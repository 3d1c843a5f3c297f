#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What packaging/ has for others, without a guest: bad options of mrc-up.sh, bad configurations
# of mrc-cni.sh, the manifests and wrong ones, and action.yml, whose steps run as a runner of
# GitHub runs them. Where a step gets as far as the device, mrc-up.sh is replaced by one that
# shows what it was given; check.sh ci runs the step with the real one. Prints "ok" and "not ok".
#
# usage: inputs.sh
# Needs jq, rdma (iproute2) and python3-yaml.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=../lab/lib_checks.sh
. "$top/selftests/lab/lib_checks.sh"

python_with yaml
for p in jq rdma; do
	command -v $p >/dev/null || { echo "no $p" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Others read it: a step becomes another user.
chmod 755 "$work"

# says WHAT STATUS REGEX COMMAND...: COMMAND ends with STATUS, and what it prints matches.
says() {
	local what=$1 want=$2 regex=$3 rc=0
	shift 3
	"$@" >"$work/said" 2>&1 </dev/null || rc=$?
	if [ "$rc" = "$want" ] && grep -q -E -- "$regex" "$work/said"; then
		good "$what"
	else
		echo "status $rc, expected $want with /$regex/" >>"$work/said"
		bad "$what" "$work/said"
	fi
}

# --- mrc-up.sh -------------------------------------------------------------------------------
about='mrc-up.sh: '
up() { "$top/packaging/ci/mrc-up.sh" "$@"; }
: >"$work/file"
says "an unknown option" 1 'head of' up -x
says "an option without its value" 1 'head of' up -n
says "two commands" 1 'one argument' up -f guest a b
says "a name that libibverbs does not find" 1 '^\[mrc\] error: -n rdma0' up -n rdma0
says "a name with a slash" 1 '-n mrc/0' up -n mrc/0
says "a name that is too long" 1 '-n mrc0123456789a' up -n mrc0123456789a
says "the name of the second device" 1 '-n mrcpeer' up -n mrcpeer
for p in 0 17 -1 x '' 1.5; do
	says "planes '$p'" 1 '-p .*not 1 to 16' up -p "$p"
done
for m in 0 347 65536 4500x '' 1e3 08000; do
	says "MTU '$m'" 1 '-m .*not 348' up -m "$m"
done
for t in 0 x -5 ''; do
	says "seconds '$t'" 1 '-t .*not a number' up -t "$t"
done
says "a form that there is not" 1 '-f docker: native or guest' up -f docker
says "a netdev that there is not" 1 'there is no netdev none0' up -N 'lo none0'
says "a working directory that there is not" 1 '-w .*no directory' up -w "$work/none"
says "a working directory that is a file" 1 '-w .*no directory' up -w "$work/file"
says "output below a file" 1 '-o .*cannot' up -o "$work/file/out"
says "a file of names in no directory" 1 '-e .*cannot be written' up -e "$work/none/env"

# --- mrc-cni.sh ------------------------------------------------------------------------------
# No configuration here gets as far as a device: the programs that would change something say so.
about='mrc-cni.sh: '
mkdir -p "$work/bin" "$work/without"
for p in ip rdma; do
	printf '#!/bin/sh\n[ "$*" != "system show" ] || exec echo "netns exclusive copy-on-fork on"\n%s\n' \
		"[ \"\$*\" != 'link show' ] || exit 0; echo \"$p \$*\" >>'$work/called'" >"$work/bin/$p"
	chmod 755 "$work/bin/$p"
done
# cni WHAT CODE REGEX CONFIGURATION [NAME=VALUE]...: the result is an error of CNI.
cni() {
	local what=$1 code=$2 regex=$3 conf=$4 rc=0
	shift 4
	: >"$work/called"
	env PATH="$work/bin:$PATH" CNI_COMMAND=ADD CNI_CONTAINERID=pod CNI_IFNAME=net1 \
		CNI_NETNS=/run/netns/pod "$@" "$top/packaging/kubernetes/mrc-cni.sh" \
		<<<"$conf" >"$work/result" 2>"$work/errors" || rc=$?
	if [ "$rc" = 1 ] && [ ! -s "$work/called" ] && jq -e --argjson c "$code" --arg r "$regex" \
		'.cniVersion and .code == $c and (.msg | test($r))' "$work/result" >/dev/null 2>&1; then
		good "$what"
	else
		{ echo "status $rc, expected 1, code $code, /$regex/"; } | cat - "$work/result" \
			"$work/errors" "$work/called" >"$work/said"
		bad "$what" "$work/said"
	fi
}
conf() { jq -c "$1" <<<'{"cniVersion": "1.0.0", "name": "mrc0", "type": "mrc", "device": "mrc0",
	"peers": "10.1.0.0/16", "address": "10.1.0.1"}'; }
cni "nothing" 6 'no JSON' ''
cni "no JSON" 6 'no JSON' '{"device": "mrc0"'
cni "a list" 6 'no JSON object' '[]'
cni "two objects" 6 'no JSON object' '{} {}'
cni "a version of the future" 1 "'9.0.0'" "$(conf '.cniVersion = "9.0.0"')"
cni "a version that is a number" 7 '1 is no string' "$(conf '.cniVersion = 1')"
cni "no device" 7 'device is missing' "$(conf 'del(.device)')"
cni "a device that is a list" 7 'no string' "$(conf '.device = ["mrc0"]')"
cni "a device with a path" 7 'no name' "$(conf '.device = "../mrc0"')"
cni "a device that is an option" 7 'no name' "$(conf '.device = "-all"')"
cni "a device of another driver" 7 'no name' "$(conf '.device = "mlx5_0"')"
cni "no peers" 7 'missing' "$(conf 'del(.peers)')"
cni "peers that are no network" 7 "peers '10.1.0.0/33'" "$(conf '.peers = "10.1.0.0/33"')"
cni "peers with a command" 7 'no IPv4 network' "$(conf '.peers = "10.1.0.0/16\nlink set lo down"')"
cni "no address" 7 'missing' "$(conf 'del(.address)')"
cni "an address of IPv6" 7 "no IPv4 address" "$(conf '.address = "fd00::1"')"
cni "an address that is none" 7 "'10.1.0.256'" "$(conf '.address = "10.1.0.256"')"
cni "an address that is a number" 7 'no string' "$(conf '.address = 1')"
cni "a runtime's address that is none" 7 "'x'" "$(conf '.runtimeConfig = {ips: ["x"]}')"
cni "a runtime's settings that are none" 7 'runtimeConfig' "$(conf '.runtimeConfig = "x"')"
cni "a device that is not there" 11 'no device mrc0' "$(conf .)"
cni "a command that there is not" 4 "'STATUS'" "$(conf .)" CNI_COMMAND=STATUS
cni "no command" 4 "''" "$(conf .)" CNI_COMMAND=
cni "no namespace" 4 'no namespace' "$(conf .)" CNI_NETNS=
cni "a namespace elsewhere" 4 'no namespace' "$(conf .)" CNI_NETNS=/proc/1/ns/net
for p in bash cat env jq realpath; do
	ln -s "$(command -v $p)" "$work/without/$p"
done
cni "a node without iproute2" 999 'lacks the program ip' "$(conf .)" PATH="$work/without"

# --- manifests -------------------------------------------------------------------------------
about='manifests: '
manifests() { "$python" "$here/manifests.py" "$1"; }
if manifests "$top" >"$work/said" 2>&1; then good "as they are"; else bad "as they are" "$work/said"; fi
# wrong WHAT REGEX FILE SED-PROGRAM: the change is noticed.
wrong() {
	rm -rf "$work/top"
	mkdir -p "$work/top/Documentation"
	cp -R "$top/packaging" "$top/action.yml" "$work/top/"
	cp "$top/Documentation/kubernetes.md" "$work/top/Documentation/"
	sed -i "$4" "$work/top/$3"
	! cmp -s "$top/$3" "$work/top/$3" || { echo "the change of $3 changes nothing"; exit 1; }
	says "$1" 1 "$2" manifests "$work/top"
}
k=packaging/kubernetes
wrong "no YAML" 'expected|did not find' $k/pod-own.yaml 's/^spec:/spec: [/'
wrong "a key twice" 'there twice' $k/pods-shared.yaml 's/^  name: mrc-host/&\n&/'
wrong "an unknown kind" 'unknown kind' $k/pod-own.yaml 's/^kind: Pod/kind: Pods/'
wrong "a name that is none" 'no name' $k/pod-own.yaml 's/name: mrc-own/name: mrc_own/'
wrong "a selector of others" 'does not select' $k/pods-shared.yaml 's/matchLabels: {app: mrc-host}/matchLabels: {app: mrc}/'
wrong "a number as an argument" 'no string' $k/pod-own.yaml 's/"infinity"/1/'
wrong "a volume that is not there" 'no volume' $k/device-plugin.yaml 's/{name: dev, /{name: devs, /'
wrong "a resource that nobody offers" 'the plugin has' $k/pods-shared.yaml 's/mrc.example.org\/mrc0/mrc.example.org\/mrc1/'
wrong "half a resource" 'not a positive number' $k/pod-own.yaml 's/mrc0: 1/mrc0: 0.5/'
wrong "a pod with rights" 'has rights' $k/pod-own.yaml 's/drop: \["ALL"\]/drop: []/'
wrong "a plugin's device that is no YAML" 'device-plugin.yaml: --device' $k/device-plugin.yaml 's/              groups:/              groups: [/'
wrong "a plugin's device without rdma_cm" 'the nodes are' $k/device-plugin.yaml '/rdma_cm/d'
wrong "an option that the plugin has not" 'arguments' $k/device-plugin.yaml 's/--domain/--domains/'
wrong "a network that is no JSON" 'network.yaml: config' $k/network.yaml 's/"type": "mrc",/"type": "mrc"/'
wrong "a network with an unknown key" 'does not know' $k/network.yaml 's/"peers"/"peer"/'
wrong "a network of another device" 'name and device differ' $k/network.yaml 's/"device": "mrc0"/"device": "mrc1"/'
wrong "a pod of another network" 'networks are' $k/pod-own.yaml 's/"name": "mrc0"/"name": "mrc1"/'
wrong "a compose file that is no YAML" 'compose.yaml' packaging/containers/compose.yaml 's/^services:/services: {/'
wrong "an input that is not used" 'used are' action.yml '/IN_MTU: /d'
wrong "an output that is not made" 'output device' action.yml 's/outputs.MRC_DEVICE /outputs.MRC_DEVICES /'
wrong "an input in a script" 'in the text of a script' action.yml 's/-n "\$IN_NAME"/-n ${{ inputs.name }}/'

# --- action.yml ------------------------------------------------------------------------------
about='action.yml: '
# The stub shows its arguments as JSON, publishes what the real one does, and ends as it is told.
mkdir -p "$work/action/packaging/ci" "$work/space dir"
cat >"$work/action/packaging/ci/mrc-up.sh" <<'END'
#!/bin/bash
printf '%s\0' "$@" | python3 -c '
import json, os, sys
words = sys.stdin.buffer.read().decode().split("\0")[:-1]
print(json.dumps({"uid": os.getuid(), "cwd": os.getcwd(), "words": words}))' >&2
while getopts n:p:N:m:f:w:o:t:e: opt; do
	[ "$opt" != e ] || env_file=$OPTARG
	[ "$opt" != n ] || name=$OPTARG
done
printf '%s\n' MRC_FORM=native "MRC_DEVICE=$name" MRC_GID_INDEX=1 >>"$env_file"
exit "${STUB_STATUS:-0}"
END
chmod 755 "$work/action/packaging/ci/mrc-up.sh" "$work/action"
action() { # [-real] INPUT=VALUE...
	local path=$work/action
	[ "$1" != -real ] || { path=$top && shift; }
	"$python" "$here/action.py" -p "$path" -w "$work/space dir" "$top/action.yml" "$@"
}
# given WHAT JQ-CONDITION INPUT=VALUE...: the step gets through, and the script was given that.
given() {
	local what=$1 condition=$2 rc=0
	shift 2
	action "$@" >"$work/outputs" 2>"$work/said" || rc=$?
	if [ "$rc" = 0 ] && grep '^{"uid"' "$work/said" | jq -e "$condition" >/dev/null &&
		grep -q '^form=native$' "$work/outputs" && grep -q '^gid-index=1$' "$work/outputs"; then
		good "$what"
	else
		cat "$work/outputs" >>"$work/said"
		bad "$what" "$work/said"
	fi
}
option() { echo "(.words as \$w | \$w[(\$w | index(\"$1\")) + 1])"; }
given "defaults" "$(option -n) == \"mrc0\" and $(option -p) == \"4\" and $(option -N) == \"\" and
	$(option -m) == \"4500\" and $(option -f) == \"\" and $(option -t) == \"600\" and
	$(option -o) == \"mrc-out\" and .words[-1] == \"\" and .cwd == \"$work/space dir\" and
	$(option -w) == \"$work/space dir\"" run=
given "commands of several lines, with quotes and expressions" \
	".words[-1] == \"echo \\\"a  b\\\" \$HOME\\n# \${{ x }}\\n\"" \
	"run=echo \"a  b\" \$HOME"$'\n# ${{ x }}\n'
given "netdevs, form and time" "$(option -N) == \"eth1 eth2\" and $(option -f) == \"guest\" and
	$(option -t) == \"30\"" "netdevs=eth1 eth2" form=guest timeout=30
given "the name of the device comes back" "$(option -n) == \"mrc7\"" name=mrc7
if grep -q '^device=mrc7$' "$work/outputs" && ! grep -q '^peer-' "$work/outputs"; then
	good "outputs"
else
	bad "outputs" "$work/outputs"
fi
STUB_STATUS=7 says "a command that fails, fails the step" 7 '' action run=false
says "an input that there is not" 1 'no such input: plane' action plane=4
says "a wrong input is refused by the real script" 1 '-p 99: not 1 to 16' action -real planes=99
says "a wrong name, too" 1 "-n eth0: the provider" action -real name=eth0
other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
# A runner is no root: sudo keeps the environment, which has the file for outputs.
if [ "$(id -u)" != 0 ]; then
	skipped "a user who is not root takes sudo: run by another user than root"
elif ! other /usr/bin/python3 -c 'import yaml' 2>/dev/null; then
	skipped "a user who is not root takes sudo: no Python with yaml that all may run"
else
	printf '#!/bin/sh\n[ "$1" = --preserve-env ] || exit 9\nshift\nSUDO_GOT=1 exec "$@"\n' >"$work/bin/sudo"
	sed -i 's/^exit /[ -n "${SUDO_GOT:-}" ] || exit 8\nexit /' "$work/action/packaging/ci/mrc-up.sh"
	chmod 755 "$work/bin/sudo" "$work/space dir"
	# Where files of the repository are not for others.
	cp "$here/action.py" "$top/action.yml" "$work/"
	rc=0
	(cd "$work" && other env HOME=/ PATH="$work/bin:/usr/bin:/bin" /usr/bin/python3 \
		"$work/action.py" -p "$work/action" -w "$work/space dir" "$work/action.yml" run=true) \
		>"$work/outputs" 2>"$work/said" || rc=$?
	if [ "$rc" = 0 ] && grep -q '^device=mrc0$' "$work/outputs"; then
		good "a user who is not root takes sudo"
	else
		echo "status $rc" >>"$work/said"
		bad "a user who is not root takes sudo" "$work/said"
	fi
fi
about=''
end_checks

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash disable=SC2034,SC2154
#
# A pod as a kubelet makes it: containerd, asked by the Container Runtime Interface, makes the
# sandbox, calls mrc-cni.sh as the pod's network, and starts a container in it. To be sourced by
# guest.sh.

CRI_SOCKET=/run/containerd/containerd.sock
CRI_IMAGE=localhost/mrc-pod:1

cri() { # METHOD REQUEST
	PYTHONPATH=$WORK/cri "$HERE/cri.py" "$CRI_SOCKET" "$@"
}

# CONDITION of the runtime, RuntimeReady or NetworkReady: the latter is so once the configuration
# of the network was read.
cri_is() { # CONDITION
	cri Status '{}' | jq -e --arg c "$1" '.status.conditions[] | select(.type == $c).status' \
		>"$WORK/cri.status" 2>&1
}

# Snapshots are copies: the guest's /tmp takes no overlay.
cri_configuration() {
	cat <<-END
		version = 2
		root = "$WORK/cri/root"
		state = "/run/containerd"
		[grpc]
		address = "$CRI_SOCKET"
		[plugins."io.containerd.grpc.v1.cri"]
		sandbox_image = "$CRI_IMAGE"
		disable_apparmor = true
		[plugins."io.containerd.grpc.v1.cri".containerd]
		snapshotter = "native"
		default_runtime_name = "crun"
		[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.crun]
		runtime_type = "io.containerd.runc.v2"
		[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.crun.options]
		BinaryName = "$(command -v crun)"
		[plugins."io.containerd.grpc.v1.cri".cni]
		bin_dir = "$WORK/cri/bin"
		conf_dir = "$WORK/cri/net.d"
		# All of them, as Multus attaches further networks.
		max_conf_num = 0
	END
}

# The cluster's own network, by which the pod has its usual interface.
cri_cluster_network() {
	jq -n '{cniVersion: "1.0.0", name: "cluster", plugins: [{type: "ptp", ipam: {type: "static",
		addresses: [{address: "198.18.0.2/24", gateway: "198.18.0.1"}]}}]}'
}

# The network of the manifest, with an address in the place of the annotation, which Multus reads.
cri_network() { # ADDRESS
	manifest_network |
		jq --arg a "$1" '{cniVersion, name, plugins: [del(.cniVersion, .name, .capabilities) + {address: $a}]}'
}

cri_start() { # ADDRESS OF THE POD
	mkdir -p "$WORK/cri/bin" "$WORK/cri/net.d" "$WORK/cri/root"
	protoc -I "$HERE" --python_out="$WORK/cri" cri.proto
	ln -s "$PACKAGING/kubernetes/mrc-cni.sh" "$WORK/cri/bin/mrc"
	ln -s /usr/lib/cni/{loopback,ptp,static} "$WORK/cri/bin/"
	cri_cluster_network >"$WORK/cri/net.d/05-cluster.conflist"
	cri_network "$1" >"$WORK/cri/net.d/10-mrc.conflist"
	cri_configuration >"$WORK/cri/config.toml"
	# As the documented setting of its unit.
	start "$WORK/cri/log" sh -c "ulimit -l unlimited && exec containerd -c $WORK/cri/config.toml"
	containerd=$started
	wait_for 120 cri_is RuntimeReady || fail "$(tail -n 20 "$WORK/cri/log")"
	wait_for 60 cri_is NetworkReady || fail "$(cat "$WORK/cri.status")"
	"$HERE/image.py" "$CRI_IMAGE" "$(command -v busybox)" "$WORK/cri/image.tar"
	# lib.sh has a function of this name.
	command ctr -n k8s.io images import --snapshotter native "$WORK/cri/image.tar" >/dev/null
}

# The configuration of the sandbox, which CreateContainer wants again.
cri_pod() { # NAME
	jq -n --arg n "$1" --arg d "$WORK/cri" \
		'{metadata: {name: $n, uid: $n, namespace: "default"}, log_directory: $d}'
}

# A container with the rights of pod-own.yaml, with the directories of the image of the Dockerfile
# and the nodes that the plugin for devices has chosen.
cri_container() { # SANDBOX POD-CONFIGURATION NODE...
	local sandbox=$1 pod=$2
	shift 2
	jq -n --arg s "$sandbox" --argjson p "$pod" --arg i "$CRI_IMAGE" --arg r "$IMAGE" '
		{pod_sandbox_id: $s, sandbox_config: $p, config: {
			metadata: {name: "host"}, image: {image: $i},
			command: ["/bin/busybox", "sleep", "infinity"],
			mounts: ["/usr", "/etc/libibverbs.d"] |
				map({container_path: ., host_path: ($r + .), readonly: true}),
			devices: $ARGS.positional |
				map({container_path: ., host_path: ., permissions: "rw"}),
			linux: {security_context: {capabilities: {drop_capabilities: ["ALL"]},
				run_as_user: {value: 1000}, run_as_group: {value: 1000},
				readonly_rootfs: true, no_new_privs: true}}}}' --args "$@"
}

cri_exec() { # COMMAND...: in the container, with its output and its status
	local answer
	answer=$(cri ExecSync "$(jq -n --arg c "$cri_id" '{container_id: $c, timeout: 240,
		cmd: $ARGS.positional}' --args -- "$@")") || return 125
	jq -r '(.stdout // "" | @base64d), (.stderr // "" | @base64d)' <<<"$answer"
	return "$(jq -r '.exitCode // 0' <<<"$answer")"
}

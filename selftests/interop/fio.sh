#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# fio's rdma engine: one-sided and two-sided, with checked data where the engine
# can check. Whatever the verb, the side with rw=read is the server. It has the
# larger iodepth, as the engine's source asks for: its connections ask for no
# retries where no receive is posted (rnr_retry_count 0).
# timeout: 900
# kmsg-ok: rxe[ab]: qp#[0-9]+ make_send_cqe: non-flush error
. "$(dirname "$0")/lib_interop.sh"

cases() { choose write -- read send; }

case_run() {
	local verb=$1
	cat >"$WORK/server.fio" <<-END
		[server]
		ioengine=rdma
		port=8765
		bs=64k
		size=8m
		iodepth=32
		rw=read
	END
	cat >"$WORK/client.fio" <<-END
		[client]
		ioengine=rdma
		hostname=$IP_B
		port=8765
		verb=$verb
		bs=64k
		size=8m
		iodepth=8
		rw=write
	END
	start "$WORK/server" "${AT_B[@]}" fio "$WORK/server.fio"
	local spid=$started
	wait_for 30 cm_listens
	start "$WORK/client" "${AT_A[@]}" fio "$WORK/client.fio"
	finished "$started" 120 || fail "client: $(tail -n 10 "$WORK/client")"
	finished "$spid" 60 || fail "server: $(tail -n 10 "$WORK/server")"
	if grep -q 'err= *[1-9]' "$WORK/client"; then
		fail "$(grep 'err=' "$WORK/client")"
	fi
}

interop fio

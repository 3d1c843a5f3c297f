// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The program of before.c with the MRC API: the client writes a text into the server's
 * memory by RDMA WRITE, and tells its length by WRITE WITH IMMEDIATE.
 *
 * usage: after DEVICE GID-INDEX [SERVER TEXT]
 */
#include <arpa/inet.h>
#include <mrc.h>

#include "talk.h"

enum { SIZE = 4096, DEPTH = 16, PORT = 1 };

struct place {
	union ibv_gid gid;
	uint64_t addr;
	uint32_t rkey, qpn;
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct mrc_context *mctx;
static struct mrc_cq *cq;
static struct mrc_qp *qp;
static char buf[SIZE] __attribute__((aligned(SIZE)));
static struct place mine, peer;

static void set_up(const char *name, int gid_index)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct mrc_context_attr version = { .mrc_api_version_used = MRC_API_VER_USED };
	struct mrc_qp_init_attr init = {
		.cap = { DEPTH, DEPTH, 1, 1, 0 },
	};

	for (int i = 0; list && list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (!ctx || ibv_query_gid(ctx, PORT, gid_index, &mine.gid))
		die(errno, "%s: no such device or GID", name);
	pd = ibv_alloc_pd(ctx);
	mr = pd ? ibv_reg_mr(pd, buf, SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE) : NULL;
	if (!mr)
		die(errno, "ibv_reg_mr");
	mctx = mrc_create_context(ctx, &version);
	if (!mctx)
		die(errno, "create context");
	cq = mrc_create_cq(mctx, 2 * DEPTH, NULL, NULL, 0);
	if (!cq)
		die(errno, "create CQ");
	init.send_cq = init.recv_cq = cq;
	init.pd = pd;
	qp = mrc_create_qp(mctx, &init);
	if (!qp || mrc_get_qpn(qp, &mine.qpn))
		die(errno, "create QP");
	mine.addr = (uintptr_t)buf;
	mine.rkey = mr->rkey;
}

static void connect_qp(int gid_index)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct mrc_qp_attr mattr = { .timeout = 20, .retry = { .linear_cnt = 7 } };
	int err;

	err = mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS, NULL, 0);
	if (err)
		die(err, "to INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer.qpn,
		.ah_attr = {
			.is_global = 1,
			.port_num = PORT,
			.grh = { .dgid = peer.gid, .sgid_index = (uint8_t)gid_index, .hop_limit = 64 },
		},
	};
	err = mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN, NULL, 0);
	if (err)
		die(err, "to RTR");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
	};
	err = mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, &mattr,
			    MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT);
	if (err)
		die(err, "to RTS");
}

static struct ibv_wc next_completion(void)
{
	struct ibv_wc wc;
	int n;

	do {
		n = mrc_poll_cq(cq, 1, &wc);
	} while (n == 0);
	if (n < 0 || wc.status != IBV_WC_SUCCESS)
		die(0, "completion: %s", n < 0 ? "none" : ibv_wc_status_str(wc.status));
	return wc;
}

static void send_text(const char *text)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buf, .lkey = mr->lkey };
	struct ibv_send_wr *bad, data = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = peer.addr, .rkey = peer.rkey },
	}, note = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
	};
	int err;

	snprintf(buf, SIZE, "%s", text);
	sge.length = (uint32_t)strlen(buf);
	note.imm_data = htonl(sge.length);
	data.next = &note;
	err = mrc_post_send(qp, &data, &bad);
	if (err)
		die(err, "post send");
	next_completion();
}

int main(int argc, char **argv)
{
	struct ibv_recv_wr *bad, recv = { .wr_id = 0 };
	int fd, end = 0, ended;

	if (argc != 3 && argc != 5)
		die(0, "usage: %s DEVICE GID-INDEX [SERVER TEXT]", argv[0]);
	set_up(argv[1], atoi(argv[2]));
	fd = talk_open(argc == 5 ? argv[3] : NULL);
	talk_swap(fd, &mine, &peer, sizeof(mine));
	connect_qp(atoi(argv[2]));
	if (mrc_post_recv(qp, &recv, &bad))
		die(errno, "post receive");
	talk_swap(fd, &end, &ended, sizeof(end));
	if (argc == 5) {
		send_text(argv[4]);
	} else {
		struct ibv_wc wc = next_completion();

		printf("%.*s\n", (int)ntohl(wc.imm_data), buf);
	}
	talk_swap(fd, &end, &ended, sizeof(end));
	mrc_destroy_qp(qp);
	mrc_destroy_cq(cq);
	mrc_destroy_context(mctx);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	return 0;
}

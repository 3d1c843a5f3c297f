// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A first program with libMRC. The client writes blocks into the server's memory and says
 * with an immediate that they are there. The server checks every byte and answers with an
 * immediate.
 *
 * usage: first DEVICE ADDRESS [SERVER]
 *   DEVICE   the MRC device, for example mrc0
 *   ADDRESS  this host's own address on the planes
 *   SERVER   any address of the server that TCP reaches; without it this is the server
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <mrc.h>
#include <time.h>

#include "talk.h"

enum {
	BLOCK = 65536,
	BLOCKS = 16,
	BYTES = BLOCK * BLOCKS,
	PORT = 1,	/* stands for all planes of the device */
	OK = 42,	/* the server's answer */
	BAD = 13,
	PATIENCE = 30,	/* seconds */
};

/* What the two programs tell each other. Hosts of the same byte order. */
struct place {
	union ibv_gid gid;
	uint64_t addr;		/* of the buffer */
	uint32_t rkey;
	uint32_t qpn;
	uint32_t mtu;		/* enum ibv_mtu */
	uint32_t pad;
};

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (int i = 0; list && list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!ctx)
		die(0, "%s: no such device, or it cannot be opened", name);
	return ctx;
}

/* The index of an address in the table of the port. IPv4 is ::ffff:a.b.c.d there. */
static int find_gid(struct ibv_context *ctx, const char *text, union ibv_gid *gid)
{
	struct ibv_gid_entry entry;
	struct in_addr v4;

	memset(gid, 0, sizeof(*gid));
	if (inet_pton(AF_INET, text, &v4) == 1) {
		gid->raw[10] = gid->raw[11] = 0xff;
		memcpy(gid->raw + 12, &v4, sizeof(v4));
	} else if (inet_pton(AF_INET6, text, gid->raw) != 1) {
		die(0, "%s is no address", text);
	}
	for (int i = 0; i < 128; i++)
		if (!ibv_query_gid_ex(ctx, PORT, i, &entry, 0) &&
		    entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    !memcmp(entry.gid.raw, gid->raw, sizeof(gid->raw)))
			return i;
	die(0, "%s is no address of the device", text);
}

/* Every block differs from every other one, so that none can be in a wrong place. */
static uint8_t pattern(size_t at)
{
	return (uint8_t)(at * 7 + at / BLOCK * 13 + 1);
}

static void connect_qp(struct mrc_qp *qp, const struct place *peer, int gid_index,
		       enum ibv_mtu mtu)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct mrc_qp_attr mattr = { .timeout = 20 };	/* retries begin after 1.07 s */
	int err;

	err = mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS, NULL, 0);
	if (err)
		die(err, "to INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu,
		.dest_qp_num = peer->qpn,
		.ah_attr = {
			.is_global = 1,
			.port_num = PORT,
			.grh = { .dgid = peer->gid, .sgid_index = (uint8_t)gid_index },
		},
	};
	err = mrc_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN, NULL, 0);
	if (err)
		die(err, "to RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS };
	err = mrc_modify_qp(qp, &attr, IBV_QP_STATE, &mattr, MRC_QP_TIMEOUT);
	if (err)
		die(err, "to RTS");
}

/* Which paths does it use? */
static void show_profile(struct mrc_qp *qp)
{
	struct mrc_qp_init_attr init;
	struct mrc_qp_attr mattr;
	struct ibv_qp_attr attr;
	int err;

	err = mrc_query_qp(qp, &attr, IBV_QP_STATE, &mattr,
			   MRC_QP_EV_PROFILE_ID | MRC_QP_MPR, &init);
	if (err)
		die(err, "mrc_query_qp");
	if (mattr.profile.ev_profile_id == UINT64_MAX)
		printf("EV profile: none, the device makes the paths\n");
	else
		printf("EV profile: %" PRIu64 "\n", mattr.profile.ev_profile_id);
	printf("window: %u packets\n", mattr.mpr.mpr * 128u);
}

/* One block, or with BLOCKS none: an immediate alone. */
static void post_write(struct mrc_qp *qp, struct ibv_mr *mr, const struct place *peer,
		       size_t block, const uint32_t *imm)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)mr->addr + block * BLOCK,
		.length = BLOCK,
		.lkey = mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = block,
		.sg_list = &sge,
		.num_sge = block < BLOCKS,
		.opcode = imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = peer->addr + block * BLOCK, .rkey = peer->rkey },
	};
	int err;

	if (imm)
		wr.imm_data = htonl(*imm);
	err = mrc_post_send(qp, &wr, &bad);
	if (err)
		die(err, "mrc_post_send");
}

/*
 * Takes completions until there was one with an immediate, or so many others. A peer that
 * has ended sends nothing: the time is limited.
 */
static uint32_t wait_for(struct mrc_cq *cq, int sends)
{
	time_t end = time(NULL) + PATIENCE;
	struct ibv_wc wc;
	int n;

	for (;;) {
		n = mrc_poll_cq(cq, 1, &wc);
		if (n < 0)
			die(errno, "mrc_poll_cq");
		if (n == 0) {
			if (time(NULL) > end)
				die(0, "nothing for %d s", PATIENCE);
			continue;
		}
		if (wc.status != IBV_WC_SUCCESS)
			die(0, "a work request failed: %s", ibv_wc_status_str(wc.status));
		if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM)
			return ntohl(wc.imm_data);
		if (--sends == 0)
			return 0;
	}
}

static void client(struct mrc_qp *qp, struct mrc_cq *cq, struct ibv_mr *mr,
		   const struct place *peer)
{
	const uint32_t count = BLOCKS;
	uint8_t *buf = mr->addr;
	uint32_t answer;

	for (size_t i = 0; i < BYTES; i++)
		buf[i] = pattern(i);
	for (size_t i = 0; i < BLOCKS; i++)
		post_write(qp, mr, peer, i, i == BLOCKS - 1 ? &count : NULL);
	answer = wait_for(cq, BLOCKS + 1);
	if (answer != OK)
		die(0, "the server says %u: it found a wrong byte", answer);
	printf("wrote %d bytes, the server has checked them\n", BYTES);
}

static void server(struct mrc_qp *qp, struct mrc_cq *cq, struct ibv_mr *mr,
		   const struct place *peer)
{
	const uint8_t *buf = mr->addr;
	uint32_t blocks = wait_for(cq, 0);
	uint32_t answer = OK;
	size_t at = 0;

	/* The immediate says that everything before it is in memory. */
	while (at < BYTES && buf[at] == pattern(at))
		at++;
	if (blocks != BLOCKS || at < BYTES)
		answer = BAD;
	post_write(qp, mr, peer, BLOCKS, &answer);
	wait_for(cq, 1);
	if (answer != OK)
		die(0, "byte %zu is wrong", at);
	printf("got %u blocks of %d bytes, all right\n", blocks, BLOCK);
}

int main(int argc, char **argv)
{
	struct mrc_context_attr version = { .mrc_api_version_used = MRC_API_VER_USED };
	struct place mine = { .mtu = 0 }, peer;
	struct mrc_qp_init_attr init;
	struct mrc_device_attr dattr;
	struct ibv_port_attr port;
	struct ibv_recv_wr *bad, recv = { .wr_id = 0 };
	struct ibv_context *ctx;
	struct mrc_context *mctx;
	struct mrc_qp *qp;
	struct mrc_cq *cq;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	int gid_index, supported, fd, end = 0, ended;
	void *buf;

	if (argc < 3 || argc > 4)
		die(0, "usage: %s DEVICE ADDRESS [SERVER]", argv[0]);

	/* Device, protection domain and memory are those of verbs. */
	ctx = open_device(argv[1]);
	if (mrc_query_device(ctx, &dattr, &supported) || !supported)
		die(0, "%s does no MRC", argv[1]);
	if (ibv_query_port(ctx, PORT, &port))
		die(errno, "ibv_query_port");
	gid_index = find_gid(ctx, argv[2], &mine.gid);
	pd = ibv_alloc_pd(ctx);
	buf = aligned_alloc(4096, BYTES);
	if (!pd || !buf)
		die(errno, "no protection domain or no memory");
	memset(buf, 0, BYTES);
	mr = ibv_reg_mr(pd, buf, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!mr)
		die(errno, "ibv_reg_mr");

	/* Context, completion queue and queue pair are those of libMRC. */
	mctx = mrc_create_context(ctx, &version);
	if (!mctx)
		die(errno, "mrc_create_context");
	cq = mrc_create_cq(mctx, 2 * BLOCKS, NULL, NULL, 0);
	if (!cq)
		die(errno, "mrc_create_cq");
	init = (struct mrc_qp_init_attr){
		.send_cq = cq,
		.recv_cq = cq,
		.pd = pd,
		.cap = { .max_send_wr = BLOCKS, .max_recv_wr = BLOCKS,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	qp = mrc_create_qp(mctx, &init);
	if (!qp || mrc_get_qpn(qp, &mine.qpn))
		die(errno, "mrc_create_qp");

	mine.addr = (uintptr_t)buf;
	mine.rkey = mr->rkey;
	mine.mtu = port.active_mtu;
	fd = talk_open(argc == 4 ? argv[3] : NULL);
	talk_swap(fd, &mine, &peer, sizeof(mine));
	connect_qp(qp, &peer, gid_index,
		   (enum ibv_mtu)(peer.mtu < mine.mtu ? peer.mtu : mine.mtu));
	/* A receive must be there before an immediate comes. */
	if (mrc_post_recv(qp, &recv, &bad))
		die(errno, "mrc_post_recv");
	talk_swap(fd, &end, &ended, sizeof(end));
	show_profile(qp);

	if (argc == 4)
		client(qp, cq, mr, &peer);
	else
		server(qp, cq, mr, &peer);

	/* No end before the peer has what it waits for. */
	talk_swap(fd, &end, &ended, sizeof(end));
	close(fd);
	mrc_destroy_qp(qp);
	mrc_destroy_cq(cq);
	mrc_destroy_context(mctx);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	free(buf);
	return 0;
}

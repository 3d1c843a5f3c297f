/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How long calls take that make the kernel do as much as one call can, in
 * nanoseconds of the machine's clock: "bound NAME NANOSECONDS" for each. What
 * the peer does with the packets is part of it if it is on the same processor.
 *
 * usage: mrc_bounds DEV GID-INDEX PEER-DEV PEER-GID-INDEX NETDEV
 *
 * NETDEV is the plane of a device that nobody uses; its MTU is changed.
 */
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "../common/check.hpp"
#include "../common/say.hpp"
#include "../common/verbs.hpp"

namespace
{
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr uint32_t most = 16384;  /* work requests of a queue */
constexpr unsigned members = 128; /* of a multicast group */
constexpr uint32_t datagram = 4000, grh = 40;
constexpr uint32_t qkey = 0x11223344;

struct Close {
	void operator()(ibv_context *c) const { ibv_close_device(c); }
	void operator()(ibv_cq *c) const { ibv_destroy_cq(c); }
	void operator()(ibv_qp *q) const { ibv_destroy_qp(q); }
	void operator()(ibv_ah *a) const { ibv_destroy_ah(a); }
};
template <typename T> using Held = std::unique_ptr<T, Close>;

void must(int ret, const char *what)
{
	if (ret)
		throw Failure(std::string(what) + ": " + errno_text(ret));
}

template <typename Call> void time_of(const char *name, Call call)
{
	const auto since = clock::now();

	call();
	const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
		clock::now() - since);
	say("bound %s %lld", name, static_cast<long long>(ns.count()));
}

/* A device with memory and a completion queue that overflows with nothing. */
struct Nic {
	Nic(const std::string &name, const char *index)
		: gid_index(static_cast<uint8_t>(std::stoul(index)))
	{
		int n = 0;
		ibv_device **list = made(ibv_get_device_list(&n), "devices");

		for (int i = 0; i < n && !ctx; i++)
			if (name == ibv_get_device_name(list[i]))
				ctx.reset(ibv_open_device(list[i]));
		ibv_free_device_list(list);
		made(ctx.get(), name.c_str());
		if (ibv_query_gid(ctx.get(), 1, gid_index, &gid))
			throw Failure("no GID");
		mem = std::make_unique<Memory>(ctx.get(), 8192);
		cq.reset(made(
			ibv_create_cq(ctx.get(), 3 * most, nullptr, nullptr, 0),
			"CQ"));
	}

	Held<ibv_qp> make(ibv_qp_type type, uint32_t depth)
	{
		ibv_qp_init_attr init{};

		init.send_cq = init.recv_cq = cq.get();
		init.cap = {.max_send_wr = depth,
			    .max_recv_wr = depth,
			    .max_send_sge = 1,
			    .max_recv_sge = 1,
			    .max_inline_data = 0};
		init.qp_type = type;
		init.sq_sig_all = 1;
		return Held<ibv_qp>(
			made(ibv_create_qp(mem->pd(), &init), "QP"));
	}

	/* Takes so many completions. */
	void take(unsigned n)
	{
		const auto limit = clock::now() + 120s;
		std::vector<ibv_wc> wc(1024);

		while (n) {
			const int got = ibv_poll_cq(
				cq.get(),
				static_cast<int>(
					std::min<std::size_t>(n, wc.size())),
				wc.data());

			if (got < 0 || clock::now() > limit)
				throw Failure("completions are missing");
			n -= static_cast<unsigned>(got);
		}
	}

	uint8_t gid_index;
	ibv_gid gid{};
	Held<ibv_context> ctx;
	std::unique_ptr<Memory> mem;
	Held<ibv_cq> cq;
};

void to(ibv_qp *qp, ibv_qp_attr attr, int mask, const char *what)
{
	must(ibv_modify_qp(qp, &attr, mask), what);
}

void to_state(ibv_qp *qp, ibv_qp_state state)
{
	ibv_qp_attr attr{};

	attr.qp_state = state;
	to(qp, attr, IBV_QP_STATE, "state");
}

/* Its packets go to a queue pair that the peer does not have. */
void connect_to_nobody(ibv_qp *qp, const Nic &here, const Nic &there)
{
	ibv_qp_attr attr = init_attr();

	to(qp, attr, init_mask, "INIT");
	attr = rtr_attr(2, IBV_MTU_4096, here.gid_index, there.gid);
	attr.max_dest_rd_atomic = 4;
	attr.min_rnr_timer = 1;
	to(qp, attr,
	   rtr_mask | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, "RTR");
	attr = {};
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 24;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 4;
	to(qp, attr,
	   IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
	   "RTS");
}

void post_writes(ibv_qp *qp, const Nic &here, uint32_t n)
{
	ibv_sge sge{reinterpret_cast<uintptr_t>(here.mem->bytes.data()), 8,
		    here.mem->mr()->lkey};
	std::vector<ibv_send_wr> wrs(n);
	ibv_send_wr *bad = nullptr;

	for (uint32_t i = 0; i < n; i++) {
		wrs[i].next = i + 1 < n ? &wrs[i + 1] : nullptr;
		wrs[i].sg_list = &sge;
		wrs[i].num_sge = 1;
		wrs[i].opcode = IBV_WR_RDMA_WRITE;
	}
	must(ibv_post_send(qp, wrs.data(), &bad), "post");
}

void post_recvs(ibv_qp *qp, const Nic &here, uint32_t n)
{
	ibv_sge sge{reinterpret_cast<uintptr_t>(here.mem->bytes.data()),
		    datagram + grh, here.mem->mr()->lkey};
	std::vector<ibv_recv_wr> wrs(n);
	ibv_recv_wr *bad = nullptr;

	for (uint32_t i = 0; i < n; i++) {
		wrs[i].next = i + 1 < n ? &wrs[i + 1] : nullptr;
		wrs[i].sg_list = &sge;
		wrs[i].num_sge = 1;
	}
	must(ibv_post_recv(qp, wrs.data(), &bad), "post receives");
}

void queue_pairs(Nic &here, const Nic &there)
{
	Held<ibv_qp> qp;

	time_of("create-qp", [&] { qp = here.make(IBV_QPT_RC, most); });
	connect_to_nobody(qp.get(), here, there);
	time_of("doorbell", [&] { post_writes(qp.get(), here, most); });
	time_of("destroy-qp", [&] { qp.reset(); });

	/* In SQD nothing is sent: all is still in the rings. */
	qp = here.make(IBV_QPT_RC, most);
	connect_to_nobody(qp.get(), here, there);
	to_state(qp.get(), IBV_QPS_SQD);
	post_recvs(qp.get(), here, most);
	post_writes(qp.get(), here, most);
	time_of("flush", [&] {
		to_state(qp.get(), IBV_QPS_ERR);
		here.take(2 * most);
	});
}

/* One datagram for as many queue pairs as a group can have on a device. */
void group(Nic &here, Nic &there)
{
	std::vector<Held<ibv_qp>> qps;
	ibv_qp_attr attr{};
	ibv_ah_attr to_group{};
	ibv_gid gid{};

	/* 239.1.2.3 */
	inet_pton(AF_INET6, "::ffff:239.1.2.3", &gid);
	for (unsigned i = 0; i <= members; i++) {
		Nic &nic = i ? there : here;
		ibv_qp *qp = qps.emplace_back(nic.make(IBV_QPT_UD, 16)).get();

		attr.qp_state = IBV_QPS_INIT;
		attr.port_num = 1;
		attr.qkey = qkey;
		to(qp, attr,
		   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
		   "INIT");
		attr.qp_state = IBV_QPS_RTR;
		to(qp, attr, IBV_QP_STATE, "RTR");
		attr.qp_state = IBV_QPS_RTS;
		to(qp, attr, IBV_QP_STATE | IBV_QP_SQ_PSN, "RTS");
		if (!i)
			continue;
		post_recvs(qp, there, 2);
		must(ibv_attach_mcast(qp, &gid, 0), "attach");
	}
	to_group.is_global = 1;
	to_group.port_num = 1;
	to_group.grh.hop_limit = 64;
	to_group.grh.sgid_index = here.gid_index;
	to_group.grh.dgid = gid;
	const Held<ibv_ah> ah(
		made(ibv_create_ah(here.mem->pd(), &to_group), "AH"));
	ibv_sge sge{reinterpret_cast<uintptr_t>(here.mem->bytes.data()),
		    datagram, here.mem->mr()->lkey};
	ibv_send_wr wr{}, *bad = nullptr;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND;
	wr.wr.ud = {ah.get(), 0xffffff, qkey};
	/* The first one fills caches. */
	for (const char *name : {"", "multicast"}) {
		const auto since = clock::now();

		must(ibv_post_send(qps[0].get(), &wr, &bad), "send");
		here.take(1);
		there.take(members);
		if (*name)
			say("bound %s %lld", name,
			    static_cast<long long>(
				    (clock::now() - since).count()));
	}
	for (unsigned i = 1; i <= members; i++)
		must(ibv_detach_mcast(qps[i].get(), &gid, 0), "detach");
}

void mtu(const std::string &netdev)
{
	ifreq ask{};
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		throw Failure("no socket");
	std::strncpy(ask.ifr_name, netdev.c_str(), IFNAMSIZ - 1);
	ask.ifr_mtu = 1501;
	time_of("mtu", [&] {
		if (ioctl(fd, SIOCSIFMTU, &ask))
			throw Failure("MTU: " + errno_text(errno));
	});
	close(fd);
}
} // namespace

int main(int argc, char **argv)
try {
	if (argc != 6)
		fail("usage: mrc_bounds DEV GID-INDEX PEER-DEV PEER-GID-INDEX "
		     "NETDEV");
	Nic here(argv[1], argv[2]), there(argv[3], argv[4]);

	queue_pairs(here, there);
	group(here, there);
	mtu(argv[5]);
	return 0;
} catch (const std::exception &e) {
	say("mrc_bounds: %s", e.what());
	return 2;
}

// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The program of first.c in C++20: objects are destroyed by themselves, in the
 * right order, and errors are exceptions. The two programs understand each
 * other.
 *
 * usage: first++ DEVICE ADDRESS [SERVER]
 */
#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <mrc.h>

#include "talk.h"

namespace
{
constexpr size_t block = 65536;
constexpr size_t blocks = 16;
constexpr uint8_t port = 1; /* stands for all planes of the device */
constexpr uint32_t ok = 42; /* the server's answer */
constexpr uint32_t bad = 13;
constexpr std::chrono::seconds patience{30};

/* What the two programs tell each other. Hosts of the same byte order. */
struct Place {
	ibv_gid gid;
	uint64_t addr; /* of the buffer */
	uint32_t rkey;
	uint32_t qpn;
	uint32_t mtu; /* enum ibv_mtu */
	uint32_t pad;
};

void check(int err, const char *what)
{
	if (err)
		throw std::system_error(err, std::generic_category(), what);
}

template <typename T> T *made(T *object, const char *what)
{
	if (!object)
		check(errno, what);
	return object;
}

/* An object of a C library: unique_ptr with the function that destroys it. */
template <auto destroy> struct Deleter {
	template <typename T> void operator()(T *object) const
	{
		destroy(object);
	}
};
template <typename T, auto destroy>
using Owned = std::unique_ptr<T, Deleter<destroy>>;

using Verbs = Owned<ibv_context, ibv_close_device>;
using Pd = Owned<ibv_pd, ibv_dealloc_pd>;
using Mr = Owned<ibv_mr, ibv_dereg_mr>;
using Context = Owned<mrc_context, mrc_destroy_context>;
using Cq = Owned<mrc_cq, mrc_destroy_cq>;
using Qp = Owned<mrc_qp, mrc_destroy_qp>;

Verbs open_device(const std::string &name)
{
	ibv_device **list = ibv_get_device_list(nullptr);
	Verbs ctx;

	for (int i = 0; list && list[i] && !ctx; i++)
		if (name == ibv_get_device_name(list[i]))
			ctx.reset(ibv_open_device(list[i]));
	if (list)
		ibv_free_device_list(list);
	if (!ctx)
		throw std::runtime_error(name + " cannot be opened");
	return ctx;
}

/* IPv4 is ::ffff:a.b.c.d in the table of a port. */
ibv_gid gid_of(const std::string &text)
{
	const std::string v6 =
		text.find(':') == std::string::npos ? "::ffff:" + text : text;
	ibv_gid gid{};

	if (inet_pton(AF_INET6, v6.c_str(), gid.raw) != 1)
		throw std::runtime_error(text + " is no address");
	return gid;
}

uint8_t gid_index(ibv_context *ctx, const ibv_gid &gid)
{
	ibv_gid_entry entry{};

	for (uint8_t i = 0; i < 128; i++)
		if (!ibv_query_gid_ex(ctx, port, i, &entry, 0) &&
		    entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    std::equal(gid.raw, gid.raw + 16, entry.gid.raw))
			return i;
	throw std::runtime_error("the device does not have this address");
}

/* Every block differs from every other one. */
uint8_t pattern(size_t at)
{
	return static_cast<uint8_t>(at * 7 + at / block * 13 + 1);
}

class Endpoint
{
public:
	Endpoint(const std::string &device, const std::string &address);

	void connect(int fd);
	void show_profile() const;
	/* Without a block an immediate alone. */
	void write(std::optional<size_t> at, std::optional<uint32_t> imm);
	/* Completions until one has an immediate, or after so many sends. A
	 * peer that has ended sends nothing: the time is limited. */
	std::optional<uint32_t> wait(size_t sends);

	std::vector<uint8_t> buf = std::vector<uint8_t>(block * blocks);

private:
	void modify(ibv_qp_attr &attr, int mask, mrc_qp_attr *mattr, int mmask,
		    const char *what)
	{
		check(mrc_modify_qp(qp_.get(), &attr, mask, mattr, mmask),
		      what);
	}

	/* Destroyed from the last one to the first one. */
	Verbs ctx_;
	Pd pd_;
	Mr mr_;
	Context mctx_;
	Cq cq_;
	Qp qp_;
	uint8_t gid_index_;
	Place mine_{}, peer_{};
};

Endpoint::Endpoint(const std::string &device, const std::string &address)
	: ctx_(open_device(device))
{
	mrc_context_attr version{MRC_API_VER_USED, 0};
	mrc_device_attr dattr;
	mrc_qp_init_attr init{};
	ibv_port_attr attr{};
	int supported = 0;

	if (mrc_query_device(ctx_.get(), &dattr, &supported) || !supported)
		throw std::runtime_error(device + " does no MRC");
	check(ibv_query_port(ctx_.get(), port, &attr), "ibv_query_port");
	mine_.gid = gid_of(address);
	gid_index_ = gid_index(ctx_.get(), mine_.gid);
	pd_.reset(made(ibv_alloc_pd(ctx_.get()), "ibv_alloc_pd"));
	mr_.reset(made(
		ibv_reg_mr(pd_.get(), buf.data(), buf.size(),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
		"ibv_reg_mr"));
	mctx_.reset(made(mrc_create_context(ctx_.get(), &version),
			 "mrc_create_context"));
	cq_.reset(made(
		mrc_create_cq(mctx_.get(), 2 * blocks, nullptr, nullptr, 0),
		"mrc_create_cq"));
	init.send_cq = init.recv_cq = cq_.get();
	init.pd = pd_.get();
	init.cap = {blocks, blocks, 1, 1, 0};
	qp_.reset(made(mrc_create_qp(mctx_.get(), &init), "mrc_create_qp"));
	if (mrc_get_qpn(qp_.get(), &mine_.qpn))
		check(errno, "mrc_get_qpn");
	mine_.addr = reinterpret_cast<uintptr_t>(buf.data());
	mine_.rkey = mr_->rkey;
	mine_.mtu = attr.active_mtu;
}

void Endpoint::connect(int fd)
{
	ibv_recv_wr recv{}, *bad = nullptr;
	ibv_qp_attr attr{};
	mrc_qp_attr mattr{};
	int end = 0, ended = 0;

	talk_swap(fd, &mine_, &peer_, sizeof(mine_));
	attr.qp_state = IBV_QPS_INIT;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	modify(attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS, nullptr, 0, "to INIT");
	attr = {};
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = static_cast<ibv_mtu>(std::min(mine_.mtu, peer_.mtu));
	attr.dest_qp_num = peer_.qpn;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = port;
	attr.ah_attr.grh.dgid = peer_.gid;
	attr.ah_attr.grh.sgid_index = gid_index_;
	modify(attr,
	       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN,
	       nullptr, 0, "to RTR");
	attr = {};
	attr.qp_state = IBV_QPS_RTS;
	mattr.timeout = 20; /* retries begin after 1.07 s */
	modify(attr, IBV_QP_STATE, &mattr, MRC_QP_TIMEOUT, "to RTS");
	/* A receive must be there before an immediate comes. */
	if (mrc_post_recv(qp_.get(), &recv, &bad))
		check(errno, "mrc_post_recv");
	talk_swap(fd, &end, &ended, sizeof(end));
}

void Endpoint::show_profile() const
{
	mrc_qp_init_attr init{};
	mrc_qp_attr mattr{};
	ibv_qp_attr attr{};

	check(mrc_query_qp(qp_.get(), &attr, IBV_QP_STATE, &mattr,
			   MRC_QP_EV_PROFILE_ID | MRC_QP_MPR, &init),
	      "mrc_query_qp");
	if (mattr.profile.ev_profile_id == UINT64_MAX)
		std::printf("EV profile: none, the device makes the paths\n");
	else
		std::printf("EV profile: %llu\n",
			    static_cast<unsigned long long>(
				    mattr.profile.ev_profile_id));
	std::printf("window: %u packets\n", mattr.mpr.mpr * 128u);
}

void Endpoint::write(std::optional<size_t> at, std::optional<uint32_t> imm)
{
	ibv_send_wr wr{}, *bad = nullptr;
	ibv_sge sge{};

	if (at) {
		sge.addr = reinterpret_cast<uintptr_t>(&buf[*at * block]);
		sge.length = block;
		sge.lkey = mr_->lkey;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.wr.rdma.remote_addr = peer_.addr + *at * block;
		wr.wr.rdma.rkey = peer_.rkey;
	}
	wr.opcode = imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	if (imm)
		wr.imm_data = htonl(*imm);
	check(mrc_post_send(qp_.get(), &wr, &bad), "mrc_post_send");
}

std::optional<uint32_t> Endpoint::wait(size_t sends)
{
	const auto end = std::chrono::steady_clock::now() + patience;
	ibv_wc wc{};

	for (;;) {
		int n = mrc_poll_cq(cq_.get(), 1, &wc);

		if (n < 0)
			check(errno, "mrc_poll_cq");
		if (n == 0) {
			if (std::chrono::steady_clock::now() > end)
				throw std::runtime_error("nothing for 30 s");
			continue;
		}
		if (wc.status != IBV_WC_SUCCESS)
			throw std::runtime_error(ibv_wc_status_str(wc.status));
		if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM)
			return ntohl(wc.imm_data);
		if (--sends == 0)
			return std::nullopt;
	}
}

void client(Endpoint &e)
{
	for (size_t i = 0; i < e.buf.size(); i++)
		e.buf[i] = pattern(i);
	for (size_t i = 0; i + 1 < blocks; i++)
		e.write(i, std::nullopt);
	e.write(blocks - 1, static_cast<uint32_t>(blocks));
	if (e.wait(blocks + 1) != ok)
		throw std::runtime_error("the server found a wrong byte");
	std::printf("wrote %zu bytes, the server has checked them\n",
		    e.buf.size());
}

void server(Endpoint &e)
{
	uint32_t n = e.wait(0).value_or(0);
	size_t at = 0;

	/* The immediate says that everything before it is in memory. */
	while (at < e.buf.size() && e.buf[at] == pattern(at))
		at++;
	bool good = n == blocks && at == e.buf.size();

	e.write(std::nullopt, good ? ok : bad);
	e.wait(1);
	if (!good)
		throw std::runtime_error("byte " + std::to_string(at) +
					 " is wrong");
	std::printf("got %u blocks of %zu bytes, all right\n", n, block);
}

void run(const char *device, const char *address, const char *peer)
{
	Endpoint e(device, address);
	int fd = talk_open(peer);
	int end = 0, ended = 0;

	e.connect(fd);
	e.show_profile();
	if (peer)
		client(e);
	else
		server(e);
	/* No end before the peer has what it waits for. */
	talk_swap(fd, &end, &ended, sizeof(end));
	close(fd);
}
} // namespace

int main(int argc, char **argv)
{
	if (argc < 3 || argc > 4)
		die(0, "usage: %s DEVICE ADDRESS [SERVER]", argv[0]);
	try {
		run(argv[1], argv[2], argc == 4 ? argv[3] : nullptr);
	} catch (const std::exception &e) {
		die(0, "%s", e.what());
	}
	return 0;
}

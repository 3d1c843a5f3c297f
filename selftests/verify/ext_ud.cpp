// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * mrc_verify: datagrams.
 */
#include <algorithm>
#include <memory>
#include <vector>

#include <arpa/inet.h>
#include <poll.h>

#include "common.h"
#include "ext_pair.h"

namespace
{
constexpr uint32_t qkey = 0x11223344;
constexpr uint32_t room = 8192;
constexpr uint32_t grh = 40;
constexpr unsigned count = 64;

struct Ud {
	Ud(Session &s, bool shared)
		: scq(s.dev, {}), rcq(s.dev, Cq::Config{.ex = shared})
	{
		ibv_srq_init_attr si{};
		ibv_qp_init_attr a{};
		ibv_qp_attr m{};

		a.send_cq = scq.get();
		a.recv_cq = rcq.get();
		a.qp_type = IBV_QPT_UD;
		a.cap = {count, count, 2, 2, 0};
		if (shared) {
			si.attr = {count, 2, 0};
			srq = ibv_create_srq(s.dev.pd(), &si);
			if (!srq)
				fail("ibv_create_srq: %s",
				     std::strerror(errno));
			a.srq = srq;
		}
		qp = ibv_create_qp(s.dev.pd(), &a);
		if (!qp && errno == EOPNOTSUPP)
			throw Skip("no datagrams");
		if (!qp)
			fail("ibv_create_qp: %s", std::strerror(errno));
		m.qp_state = IBV_QPS_INIT;
		m.port_num = s.dev.port();
		m.qkey = qkey;
		modify(m, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				  IBV_QP_QKEY);
		m.qp_state = IBV_QPS_RTR;
		modify(m, IBV_QP_STATE);
		m.qp_state = IBV_QPS_RTS;
		modify(m, IBV_QP_STATE | IBV_QP_SQ_PSN);
	}
	~Ud()
	{
		if (ah && ibv_destroy_ah(ah))
			std::fprintf(stderr, "mrc_verify: ibv_destroy_ah\n");
		if (ibv_destroy_qp(qp))
			std::fprintf(stderr, "mrc_verify: ibv_destroy_qp\n");
		if (srq && ibv_destroy_srq(srq))
			std::fprintf(stderr, "mrc_verify: ibv_destroy_srq\n");
	}
	Ud(const Ud &) = delete;
	Ud &operator=(const Ud &) = delete;

	void modify(ibv_qp_attr &m, int mask)
	{
		int ret = ibv_modify_qp(qp, &m, mask);

		if (ret)
			fail("ibv_modify_qp: %s", std::strerror(ret));
	}

	Cq scq, rcq;
	ibv_srq *srq = nullptr;
	ibv_qp *qp;
	ibv_ah *ah = nullptr;
};

uint32_t length(Session &s, unsigned i)
{
	uint32_t most = static_cast<uint32_t>(mtu_bytes(s.dev.active_mtu()));

	return i < 2 ? i * most : static_cast<uint32_t>(mix(7, i) % most);
}

/*
 * The header before a datagram, as programs read it: sl says which one it is, and its
 * last 4 or 16 bytes are the address that the datagram was sent to, which is ours.
 */
void check_header(Session &s, const Wc &w, const uint8_t *at)
{
	const uint8_t *own = s.dev.gid().raw;
	uint8_t v4[12] = {};

	v4[10] = v4[11] = 0xff;
	bool mapped = !std::memcmp(own, v4, sizeof(v4));
	size_t len = mapped ? 4 : 16;

	if (w.sl != (mapped ? 2 : 1))
		fail("sl %u of a datagram with IPv%c", w.sl,
		     mapped ? '4' : '6');
	if (at[mapped ? 20 : 0] >> 4 != (mapped ? 4 : 6) ||
	    std::memcmp(at + grh - len, own + 16 - len, len))
		fail("another header, or another address");
}

/* With an SRQ at one side, and there an extended CQ. */
void datagrams(Session &s, bool shared)
{
	Memory mem(count * room);
	Mr mr(s.dev.pd(), mem.data(), mem.size(), IBV_ACCESS_LOCAL_WRITE);
	Ud ud(s, shared);
	QpAddress self{};

	std::memcpy(self.gid, s.dev.gid().raw, 16);
	self.qpn = ud.qp->qp_num;
	self.mtu = s.dev.active_mtu();
	s.oob.send_vec(Msg::conn, std::vector<QpAddress>{self});
	QpAddress peer = s.oob.expect_vec<QpAddress>(Msg::conn, 1)[0];

	ud.ah = create_ah(s.dev, ah_attr(s.dev, peer.gid));

	for (unsigned i = 0; !s.client && i < count; i++) {
		ibv_sge sge{reinterpret_cast<uintptr_t>(mem.data()) + i * room,
			    room, mr.lkey()};
		ibv_recv_wr wr{}, *bad;

		wr.wr_id = i;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		if (ud.srq ? ibv_post_srq_recv(ud.srq, &wr, &bad)
			   : ibv_post_recv(ud.qp, &wr, &bad))
			fail("posting a receive");
	}
	s.oob.barrier(60);
	for (unsigned i = 0; s.client && i < count; i++) {
		uint8_t *at = mem.data() + i * room;
		ibv_sge sge{reinterpret_cast<uintptr_t>(at), length(s, i),
			    mr.lkey()};
		ibv_send_wr wr{}, *bad;
		std::vector<Wc> out;
		double end = now_s() + 10;

		Pattern(mix(s.t.seed, i)).fill(at, 0, sge.length);
		wr.wr_id = i;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		wr.imm_data = htonl(i);
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.wr.ud.ah = ud.ah;
		wr.wr.ud.remote_qpn = peer.qpn;
		/* Not for that one: it is dropped. */
		wr.wr.ud.remote_qkey = i == 3 ? qkey + 1 : qkey;
		int ret = ibv_post_send(ud.qp, &wr, &bad);

		if (ret)
			fail("posting a datagram: %s", std::strerror(ret));
		while (!ud.scq.poll(out) && now_s() < end)
			::poll(nullptr, 0, 1);
		if (out.empty() || out[0].wr_id != i ||
		    out[0].status != IBV_WC_SUCCESS ||
		    out[0].opcode != IBV_WC_SEND)
			fail("datagram %u was not sent", i);
	}
	unsigned got = 0;
	double last = now_s();

	while (!s.client && got < count - 1 && now_s() - last < 3) {
		std::vector<Wc> out;

		if (!ud.rcq.poll(out, 1)) {
			::poll(nullptr, 0, 1);
			continue;
		}
		last = now_s();
		const Wc &wc = out[0];
		unsigned i = wc.imm;
		const uint8_t *at = mem.data() + wc.wr_id * room + grh;

		if (wc.status != IBV_WC_SUCCESS || wc.opcode != IBV_WC_RECV ||
		    wc.wr_id != got || i >= count || i == 3 ||
		    wc.src_qp != peer.qpn || !(wc.flags & IBV_WC_GRH) ||
		    !(wc.flags & IBV_WC_WITH_IMM))
			fail("datagram %u: %s, from %u, flags %#x", i,
			     ibv_wc_status_str(wc.status), wc.src_qp,
			     wc.flags);
		check_header(s, wc, at - grh);
		if (wc.byte_len != length(s, i) + grh ||
		    Pattern(mix(s.t.seed, i)).check(at, 0, length(s, i)) !=
			    length(s, i))
			fail("datagram %u of %u bytes is wrong", i,
			     wc.byte_len);
		got++;
	}
	/* The network may lose some. */
	if (!s.client && got < count / 2)
		fail("%u of %u datagrams came", got, count - 1);
	if (!s.client)
		say("datagrams: %u of %u came", got, count - 1);
	s.oob.barrier(61);
}

void attach(Ud &ud, const ibv_gid &group, int wanted, uint16_t lid = 0)
{
	int ret = ibv_attach_mcast(ud.qp, &group, lid);

	if (ret != wanted)
		fail("ibv_attach_mcast: %s instead of %s", std::strerror(ret),
		     std::strerror(wanted));
}

void detach(Ud &ud, const ibv_gid &group, int wanted = 0, uint16_t lid = 0)
{
	int ret = ibv_detach_mcast(ud.qp, &group, lid);

	if (ret != wanted)
		fail("ibv_detach_mcast: %s instead of %s", std::strerror(ret),
		     std::strerror(wanted));
}

/* 239.7.7.N, or ff1e::7:N if the own address is one of IPv6. */
ibv_gid group_number(Session &s, uint8_t n)
{
	const uint8_t *own = s.dev.gid().raw;
	const bool v4 = own[0] == 0 && own[10] == 0xff && own[11] == 0xff;
	ibv_gid g{};

	if (v4) {
		g.raw[10] = g.raw[11] = 0xff;
		g.raw[12] = 239;
		g.raw[14] = 7;
	} else {
		g.raw[0] = 0xff;
		g.raw[1] = 0x1e;
	}
	g.raw[13] = 7;
	g.raw[15] = n;
	return g;
}

/* What there is, after a while without anything none. */
std::vector<Wc> completions(Cq &cq)
{
	const double end = now_s() + 10 * slowness();
	std::vector<Wc> out;

	while (!cq.poll(out) && now_s() < end)
		::poll(nullptr, 0, 1);
	return out;
}

void send_to_group(Session &s, Ud &ud, const ibv_gid &group)
{
	uint32_t data = 0x12345678;
	ibv_sge sge{reinterpret_cast<uintptr_t>(&data), sizeof(data), 0};
	ibv_send_wr wr{}, *bad;
	ibv_ah_attr a = ah_attr(s.dev, group.raw);

	a.grh.hop_limit = 1;
	ud.ah = create_ah(s.dev, a);
	Mr mr(s.dev.pd(), &data, sizeof(data), 0);

	sge.lkey = mr.lkey();
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.ud.ah = ud.ah;
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = qkey;
	if (ibv_post_send(ud.qp, &wr, &bad))
		fail("posting a datagram");
	const auto out = completions(ud.scq);

	if (out.empty() || out[0].status != IBV_WC_SUCCESS)
		fail("the datagram to a group was not sent");
}

/* A full group: nobody else can join, and all members get a copy. */
void groups(Session &s)
{
	const unsigned most =
		static_cast<unsigned>(s.dev.attr().max_mcast_qp_attach);
	const ibv_gid full = group_number(s, 1),
		      other = group_number(s, 2);
	std::vector<std::unique_ptr<Ud>> uds;
	Memory mem(room);
	Mr mr(s.dev.pd(), mem.data(), mem.size(), IBV_ACCESS_LOCAL_WRITE);

	for (unsigned i = 0; i <= most; i++) {
		ibv_sge sge{reinterpret_cast<uintptr_t>(mem.data()), room,
			    mr.lkey()};
		ibv_recv_wr wr{}, *bad;

		uds.push_back(std::make_unique<Ud>(s, false));
		wr.sg_list = &sge;
		wr.num_sge = 1;
		if (ibv_post_recv(uds[i]->qp, &wr, &bad))
			fail("posting a receive");
	}
	for (unsigned i = 0; i < most; i++)
		attach(*uds[i], full, 0);
	attach(*uds[most], full, ENOMEM);
	attach(*uds[0], full, 0);
	attach(*uds[most], other, 0);
	detach(*uds[0], full);
	attach(*uds[most], full, 0);
	send_to_group(s, *uds[0], full);
	for (unsigned i = 1; i <= most; i++) {
		const size_t got = completions(uds[i]->rcq).size();

		if (got != 1)
			fail("member %u has %zu datagrams", i, got);
	}
	std::vector<Wc> none;

	if (uds[0]->rcq.poll(none))
		fail("a datagram for one that has left the group");
	for (unsigned i = 1; i <= most; i++)
		detach(*uds[i], full);
	detach(*uds[most], other);
}

/*
 * For the core, another LID is another attachment, although Ethernet has no LIDs. It keeps
 * a queue pair until each of them is detached.
 */
void lids(Session &s)
{
	const ibv_gid group = group_number(s, 3);
	Ud ud(s, false);

	attach(ud, group, 0, 0);
	attach(ud, group, 0, 7);
	if (ibv_destroy_qp(ud.qp) != EBUSY)
		fail("a member of a group was destroyed");
	detach(ud, group, 0, 7);
	detach(ud, group, EINVAL, 7);
	detach(ud, group, 0, 0);
	detach(ud, group, EINVAL, 0);
}
} // namespace

void test_ext_groups(Session &s)
{
	if (!s.dev.is_mrc())
		throw Skip("the limit is that of mrc");
	if (s.client) {
		groups(s);
		lids(s);
	}
	s.oob.barrier(62);
}

void test_ext_datagrams(Session &s)
{
	datagrams(s, false);
	datagrams(s, !s.client);
}

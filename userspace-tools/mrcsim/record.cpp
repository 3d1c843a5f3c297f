// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "record.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "error.hpp"
#include "header.hpp"
#include "world.hpp"

namespace mrcsim
{
namespace
{
constexpr char packet_format[] =
	"qpn=0x%06x dqp=0x%06x %s psn=0x%06x port=%u entropy=0x%08x len=%u "
	"a=%u rtx=%u";
constexpr char sack_format[] =
	"qpn=0x%06x cack=0x%06x ack_off=%d sack_off=%d bitmap=0x%016llx ooo=%u "
	"entropy=0x%08x m=%u pr=%u probe_id=%u port=%u";
constexpr char loss_format[] = "qpn=0x%06x psn=0x%06x ev=%d cause=%s";
constexpr char ev_state_format[] =
	"qpn=0x%06x ev=%u port=%u entropy=0x%08x %s->%s";

struct Word {
	u8 value;
	const char *word;
};

constexpr Word opcode_words[] = {
	{MRC_OP_WRITE_FIRST, "WRITE_FIRST"},
	{MRC_OP_WRITE_MIDDLE, "WRITE_MIDDLE"},
	{MRC_OP_WRITE_LAST, "WRITE_LAST"},
	{MRC_OP_WRITE_LAST_IMM, "WRITE_LAST_IMM"},
	{MRC_OP_WRITE_ONLY, "WRITE_ONLY"},
	{MRC_OP_WRITE_ONLY_IMM, "WRITE_ONLY_IMM"},
	{MRC_OP_ACK, "ACK"},
	{MRC_OP_ENDPOINT_REQ, "ENDPOINT_REQ"},
	{MRC_OP_ENDPOINT_RESP, "ENDPOINT_RESP"},
	{MRC_OP_SACK, "SACK"},
	{MRC_OP_NACK, "NACK"},
	{MRC_OP_PROBE, "PROBE"},
};

constexpr Word ev_state_words[] = {
	{MRC_EV_GOOD, "GOOD"},
	{MRC_EV_DENIED, "DENIED"},
	{MRC_EV_SKIP, "SKIP"},
	{MRC_EV_ASSUMED_BAD, "ASSUMED_BAD"},
};

constexpr Word loss_words[] = {
	{MRC_LOSS_SACK, "SACK"},
	{MRC_LOSS_PROBE, "PROBE"},
	{MRC_LOSS_NACK, "NACK"},
	{MRC_LOSS_TIMEOUT, "TIMEOUT"},
};

const char *word_of(std::span<const Word> words, u8 value)
{
	for (const Word &w : words)
		if (w.value == value)
			return w.word;
	return "?";
}

template <typename... Args>
std::string format(const char *name, const char *how, Args... args)
{
	std::array<char, 256> text{};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
	const int n = std::snprintf(text.data(), text.size(), how, args...);
#pragma GCC diagnostic pop

	mrc_assert(n > 0 && static_cast<std::size_t>(n) < text.size());
	return std::string(name) + ": " + text.data();
}

bool is_in(const std::vector<u32> &ascending, u32 n)
{
	return std::binary_search(ascending.begin(), ascending.end(), n);
}

u32 qpn_of(u32 qp)
{
	return (qp + first_qpn) & 0xFFFFFF;
}

/* --- frames -------------------------------------------------------------- */

constexpr u32 eth_len = 14, ip_len = 40;

void put(std::string &to, u64 value, std::size_t bytes)
{
	while (bytes--)
		to += static_cast<char>(value >> 8 * bytes & 0xFF);
}

/* A locally administered one. */
void put_mac(std::string &to, u32 host, u8 port)
{
	put(to, 0x02, 1);
	put(to, port, 1);
	put(to, host + 1, 4);
}

void put_address(std::string &to, u32 host)
{
	put(to, 0xfd00ull << 48, 8);
	put(to, host + 1, 8);
}

/* Those of the driver by default (mrc_tc.c), and its ECN. */
u8 traffic_class_of(const Packet &k)
{
	u8 dscp = 0;

	if (k.has(packet_trimmed))
		dscp = k.has(packet_last_hop) ? 16 : 12;
	else if (k.has(packet_control))
		dscp = 46;
	else if (k.has(packet_may_trim))
		dscp = k.has(packet_rtx) ? 8 : 4;
	return static_cast<u8>(dscp << 2 | (k.has(packet_ce) ? 3 : 2));
}
} // namespace

/* --- recording ----------------------------------------------------------- */

Recorder::Recorder(const World &world, const u64 &now)
	: world_(world), now_(now)
{
}

bool Recorder::traces(u32 qp) const
{
	return is_in(world_.settings.watch.qps, qp);
}

bool Recorder::captures(u32 link) const
{
	return is_in(world_.settings.watch.links, link);
}

void Recorder::add(u32 host, u32 qp, std::string text)
{
	text.shrink_to_fit();
	text_bytes_ += text.capacity();
	lines_.push_back({now_, host, qp, std::move(text)});
}

void Recorder::packet(const char *name, u32 host, u32 qp, const mrc_hdr &h,
		      u8 port, u32 entropy, u32 len)
{
	add(host, qp,
	    format(name, packet_format, qpn_of(qp), qpn_of(qp),
		   opcode_word(h.opcode).data(), h.psn, port, entropy, len, h.a,
		   h.rtx));
}

void Recorder::sent(u32 host, u32 qp, const mrc_tx_desc &d)
{
	if (traces(qp))
		packet("mrc_send", host, qp, d.hdr, d.port, d.entropy,
		       d.data ? d.len : 0);
}

void Recorder::received(u32 host, u32 qp, const Packet &k, const mrc_hdr &h,
			u32 entropy)
{
	if (!traces(qp))
		return;
	packet("mrc_receive", host, qp, h, k.port, entropy,
	       h.hdr_len + h.payload_len +
		       (k.has(packet_trimmed) ? 0u : h.pad + MRC_ICRC_LEN));
	if (k.opcode == MRC_OP_SACK)
		sack(host, qp, h, k.port);
}

void Recorder::sack(u32 host, u32 qp, const mrc_hdr &h, u8 port)
{
	const mrc_seth &s = h.seth;

	add(host, qp,
	    format("mrc_sack", sack_format, qpn_of(qp), s.cack_psn,
		   s.ack_psn_offset, s.sack_offset,
		   static_cast<unsigned long long>(s.bitmap), s.ooo_count,
		   s.entropy, s.m, s.pr, s.probe_id, port));
}

void Recorder::hook(u32 host, u32 qp, mrc_paths_cfg &paths, mrc_req_cfg *req)
{
	if (!traces(qp))
		return;
	Place &place = places_.emplace_back(Place{this, host, qp});

	paths.ctx = &place;
	paths.on_state = [](void *ctx, const mrc_paths *p, u16 ev, u8 from,
			    u8 to) {
		const auto &at = *static_cast<const Place *>(ctx);

		at.recorder->add(at.host, at.qp,
				 format("mrc_ev_state", ev_state_format,
					qpn_of(at.qp), ev,
					mrc_paths_port(p, ev),
					mrc_paths_entropy(p, ev),
					ev_state_word(from).data(),
					ev_state_word(to).data()));
	};
	if (!req)
		return;
	req->ctx = &place;
	req->on_loss = [](void *ctx, u32 psn, int ev, u8 cause) {
		const auto &at = *static_cast<const Place *>(ctx);

		at.recorder->add(at.host, at.qp,
				 format("mrc_loss", loss_format, qpn_of(at.qp),
					psn, ev, loss_word(cause).data()));
	};
}

void Recorder::arrived(u32 link, const Packet &k, u32 entropy)
{
	if (!captures(link))
		return;

	const Qp &q = world_.qps[k.qp];
	const u32 src = k.dst == q.dst ? q.src : q.dst;
	std::array<u8, 128> mrc{};
	std::string frame;
	mrc_hdr h;

	unpack(k, h);
	h.dqp = qpn_of(k.qp);

	const u32 hdr_len = mrc_hdr_build(&h, mrc.data(), mrc.size());
	const u32 udp_len = MRC_UDP_HLEN + hdr_len + h.payload_len +
			    (k.has(packet_trimmed) ? 0 : h.pad + MRC_ICRC_LEN);

	mrc_assert(hdr_len);
	put_mac(frame, k.dst, k.port);
	put_mac(frame, src, k.port);
	put(frame, 0x86DD, 2);
	put(frame, 6u << 28 | u32{traffic_class_of(k)} << 20 | entropy >> 16,
	    4);
	put(frame, udp_len, 2);
	put(frame, 17, 1); /* UDP */
	put(frame, 64, 1);
	put_address(frame, src);
	put_address(frame, k.dst);
	put(frame, entropy & 0xFFFF, 2);
	put(frame, MRC_UDP_DPORT, 2);
	put(frame, udp_len, 2);
	put(frame, 0, 2);
	for (const u8 b : std::span(mrc).first(hdr_len))
		frame += static_cast<char>(b);
	text_bytes_ += frame.capacity();
	packets_.push_back(
		{now_, link, eth_len + ip_len + udp_len, std::move(frame)});
}

/* --- the driver's words -------------------------------------------------- */

const std::vector<std::string_view> &trace_formats()
{
	static const std::vector<std::string_view> all = {
		packet_format, sack_format, loss_format, ev_state_format};

	return all;
}

std::string_view opcode_word(u8 opcode)
{
	return word_of(opcode_words, opcode);
}

std::string_view ev_state_word(u8 state)
{
	return word_of(ev_state_words, state);
}

std::string_view loss_word(u8 cause)
{
	return word_of(loss_words, cause);
}

std::vector<u32> connections_of(const Traffic &traffic,
				const std::vector<u32> &flows)
{
	std::vector<u32> all;

	for (const u32 n : flows.empty() ? std::vector<u32>{1} : flows) {
		if (n < 1 || n > traffic.flows.size())
			throw mrclab::UsageError(fmt::format(
				"there is no flow {}; they are 1 to {}", n,
				traffic.flows.size()));
		all.push_back(traffic.flows[n - 1].connection);
	}
	std::sort(all.begin(), all.end());
	all.erase(std::unique(all.begin(), all.end()), all.end());
	return all;
}

u64 recorder_memory(const Shape &shape, const Settings &s,
		    const Traffic &traffic)
{
	/* Lines of a packet and of what answers it; packets likewise. */
	constexpr u64 lines_of_packet = 6, packets_of_packet = 2;
	/* In the recorder, which doubles its room, and for the file. */
	constexpr u64 of_line = 4 * sizeof(TraceLine) + 2 * 176 + 220;
	constexpr u64 of_captured = 4 * sizeof(Captured) + 3 * 144;
	/* A link between switches has this many times its share of the load. */
	constexpr u64 uneven = 4;
	const auto packets_of = [&s](u64 bytes) {
		return (bytes + s.pmtu - 1) / s.pmtu * 3 / 2;
	};
	std::vector<u64> of_host;
	u64 all = 0, lines = 0, captured = 0;

	if (s.watch.empty())
		return 0;
	of_host.resize(shape.all_hosts());
	for (const Flow &f : traffic.flows) {
		const u64 n = packets_of(f.bytes);

		all += n;
		if (f.src < of_host.size() && f.dst < of_host.size()) {
			of_host[f.src] += n;
			of_host[f.dst] += n;
		}
		if (is_in(s.watch.qps, f.connection))
			lines += n * lines_of_packet;
	}
	for (const u32 link : s.watch.links) {
		const Kind kind = shape.kind_of(link);

		if (kind == Kind::host_up || kind == Kind::host_down)
			captured += of_host[link -
					    shape.id(shape.plane_of(link),
						     kind, 0)];
		else
			captured += std::min(all, all * uneven /
							  (shape.planes *
							   shape.count(kind)) +
						  1);
	}
	return lines * of_line + captured * packets_of_packet * of_captured +
	       shape.all_hosts() * sizeof(u64);
}

/* --- files --------------------------------------------------------------- */

std::string trace_text(std::vector<TraceLine> lines)
{
	std::string out =
		"# tracer: nop\n#\n"
		"#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
		"#              | |         |   |||||     |         |\n";

	/* Lines of one time at one host have been added by one partition. */
	std::stable_sort(lines.begin(), lines.end(),
			 [](const TraceLine &a, const TraceLine &b) {
				 return std::tie(a.at, a.host, a.qp) <
					std::tie(b.at, b.host, b.qp);
			 });
	for (const TraceLine &l : lines)
		out += fmt::format("{:>16}-{:<7} [000] ..... {:5}.{:09}: {}\n",
				   fmt::format("h{}", l.host + 1), l.qp + 1,
				   l.at / 1'000'000'000'000,
				   l.at / 1000 % 1'000'000'000, l.text);
	return out;
}

std::string pcap_of(std::vector<Captured> packets)
{
	constexpr u32 snap_length = 256;
	std::string out;

	put(out, 0xA1B23C4D, 4); /* times in ns, most significant byte first */
	put(out, 2, 2);
	put(out, 4, 2);
	put(out, 0, 8);
	put(out, snap_length, 4);
	put(out, 1, 4); /* Ethernet */
	/* Nothing else arrives at the end of a link at that time. */
	std::stable_sort(packets.begin(), packets.end(),
			 [](const Captured &a, const Captured &b) {
				 return std::tie(a.at, a.link) <
					std::tie(b.at, b.link);
			 });
	for (const Captured &c : packets) {
		put(out, c.at / 1'000'000'000'000, 4);
		put(out, c.at / 1000 % 1'000'000'000, 4);
		put(out, c.bytes.size(), 4);
		put(out, c.length, 4);
		out += c.bytes;
	}
	return out;
}
} // namespace mrcsim

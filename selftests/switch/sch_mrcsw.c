// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A port of a switch as MRC wants it, for the lab (MRC 1.0 §8.5, §15): a data
 * queue of bounded length that marks ECN and, instead of dropping, trims; and
 * a control queue of strict priority for trimmed and control packets.
 *
 * Two kinds: mrcsw, and mrcsw_last for the port that faces the destination,
 * whose trimmed packets bear another codepoint. The stock tc cannot pass
 * options to a kind that it does not know: the parameters of the module, as
 * they are when a qdisc is made, are the options of that qdisc.
 *
 * A rate comes from a parent (tbf, htb). All lengths in queues are those that
 * the qdisc layer uses (with the Ethernet header); a trimmed length is that of
 * the IP packet. What was counted is in /proc/net/mrcsw.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/net_namespace.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#ifdef HAVE_NET_GSO_H
#include <net/gso.h>
#endif

#define MRCSW_PORTS	4
#define MRCSW_DSCP_MAX	63

/* After the IP headers a trimmed packet keeps UDP, BTH, METH and TSETH. */
#define MRCSW_KEEP	(8 + 12 + 4 + 4)

static unsigned int data_limit = 1 << 20;
module_param(data_limit, uint, 0644);
MODULE_PARM_DESC(data_limit, "bytes of the data queue; what would exceed them is dropped");

static unsigned int ctrl_limit = 1 << 18;
module_param(ctrl_limit, uint, 0644);
MODULE_PARM_DESC(ctrl_limit, "bytes of the control queue; what would exceed them is dropped");

static unsigned int trim_bytes = 1 << 19;
module_param(trim_bytes, uint, 0644);
MODULE_PARM_DESC(trim_bytes, "data queue length that a trimmable packet is trimmed to keep; 0: no trimming");

static unsigned int trim_len = 132;
module_param(trim_len, uint, 0644);
MODULE_PARM_DESC(trim_len, "IP length of a trimmed packet; never less than the headers through TSETH");

static unsigned int ecn_min;
module_param(ecn_min, uint, 0644);
MODULE_PARM_DESC(ecn_min, "data queue length from which packets are marked, with growing probability");

static unsigned int ecn_max;
module_param(ecn_max, uint, 0644);
MODULE_PARM_DESC(ecn_max, "data queue length from which every packet is marked; 0: no marking");

static unsigned int dscp_trimmable = 4;
module_param(dscp_trimmable, uint, 0644);
MODULE_PARM_DESC(dscp_trimmable, "codepoint of what may be trimmed");

static unsigned int dscp_trimmable_retx = 8;
module_param(dscp_trimmable_retx, uint, 0644);
MODULE_PARM_DESC(dscp_trimmable_retx, "codepoint of retransmissions that may be trimmed");

static unsigned int dscp_trimmed = 12;
module_param(dscp_trimmed, uint, 0644);
MODULE_PARM_DESC(dscp_trimmed, "codepoint that mrcsw gives to what it has trimmed");

static unsigned int dscp_trimmed_lasthop = 16;
module_param(dscp_trimmed_lasthop, uint, 0644);
MODULE_PARM_DESC(dscp_trimmed_lasthop, "codepoint that mrcsw_last gives to what it has trimmed");

static unsigned int dscp_control = 46;
module_param(dscp_control, uint, 0644);
MODULE_PARM_DESC(dscp_control, "codepoint of control packets");

static unsigned int ports[MRCSW_PORTS] = { 4791 };
static int n_ports = 1;
module_param_array(ports, uint, &n_ports, 0644);
MODULE_PARM_DESC(ports, "UDP destination ports whose packets may be trimmed");

enum mrcsw_counter {
	MRCSW_DATA_PKTS,	/* queued whole */
	MRCSW_CTRL_PKTS,	/* queued as control, trimmed ones too */
	MRCSW_MARKED,		/* data that got CE here */
	MRCSW_TRIMMED,
	MRCSW_TRIMMED_BYTES,	/* that were cut off */
	MRCSW_DATA_DROPS,	/* did not fit */
	MRCSW_CTRL_DROPS,
	MRCSW_ERRORS,		/* dropped for want of memory */
	MRCSW_DATA_PEAK,	/* greatest length of the queue in bytes */
	MRCSW_CTRL_PEAK,
	MRCSW_COUNTERS
};

static const char * const mrcsw_names[MRCSW_COUNTERS] = {
	[MRCSW_DATA_PKTS] = "data_pkts",
	[MRCSW_CTRL_PKTS] = "ctrl_pkts",
	[MRCSW_MARKED] = "marked",
	[MRCSW_TRIMMED] = "trimmed",
	[MRCSW_TRIMMED_BYTES] = "trimmed_bytes",
	[MRCSW_DATA_DROPS] = "data_drops",
	[MRCSW_CTRL_DROPS] = "ctrl_drops",
	[MRCSW_ERRORS] = "errors",
	[MRCSW_DATA_PEAK] = "data_peak",
	[MRCSW_CTRL_PEAK] = "ctrl_peak",
};

struct mrcsw_conf {
	u32 data_limit;
	u32 ctrl_limit;
	u32 trim_bytes;
	u32 trim_len;
	u32 ecn_min;
	u32 ecn_max;
	u8 trimmable;
	u8 trimmable_retx;
	u8 trimmed[2];	/* what comes trimmed: here or elsewhere, last hop */
	u8 trimmed_here;
	u8 control;
	int n_ports;
	u16 ports[MRCSW_PORTS];
};

struct mrcsw_queue {
	struct qdisc_skb_head q;
	u32 bytes;
};

struct mrcsw {
	struct list_head list;
	struct Qdisc *sch;
	struct mrcsw_conf conf;
	struct mrcsw_queue ctrl;
	struct mrcsw_queue data;
	u64 counter[MRCSW_COUNTERS];
};

/* All qdiscs of both kinds, for /proc. */
static LIST_HEAD(mrcsw_all);
static DEFINE_MUTEX(mrcsw_all_lock);

/* Written under the qdisc's lock, read without. */
static void mrcsw_count(struct mrcsw *sw, enum mrcsw_counter c, u64 n)
{
	WRITE_ONCE(sw->counter[c], sw->counter[c] + n);
}

static void mrcsw_peak(struct mrcsw *sw, enum mrcsw_counter c, u64 bytes)
{
	if (bytes > sw->counter[c])
		WRITE_ONCE(sw->counter[c], bytes);
}

/* Where the headers are that trimming must correct: offsets from skb->data. */
struct mrcsw_hdrs {
	unsigned int ip[2];	/* outermost first */
	unsigned int n_ip;
	unsigned int udp;
};

static bool mrcsw_is_v6(const struct sk_buff *skb, unsigned int off)
{
	return skb->data[off] >> 4 == 6;
}

/* Codepoint of the outermost IP header; -1 if there is none. */
static int mrcsw_dscp(struct sk_buff *skb)
{
	int off = skb_network_offset(skb);

	if (off < 0)
		return -1;
	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_IP):
		if (!pskb_may_pull(skb, off + sizeof(struct iphdr)) ||
		    ip_hdr(skb)->version != 4)
			return -1;
		return ipv4_get_dsfield(ip_hdr(skb)) >> 2;
	case htons(ETH_P_IPV6):
		if (!pskb_may_pull(skb, off + sizeof(struct ipv6hdr)) ||
		    ipv6_hdr(skb)->version != 6)
			return -1;
		return ipv6_get_dsfield(ipv6_hdr(skb)) >> 2;
	default:
		return -1;
	}
}

/* Past the IP header at @off; next header or -1. */
static int mrcsw_pull_ip(struct sk_buff *skb, unsigned int *off)
{
	const struct ipv6_opt_hdr *opt;
	const struct ipv6hdr *ip6;
	const struct iphdr *ip;
	int next;

	if (!pskb_may_pull(skb, *off + sizeof(*ip)))
		return -1;
	if (!mrcsw_is_v6(skb, *off)) {
		ip = (const struct iphdr *)(skb->data + *off);
		if (ip->version != 4 || ip->ihl < 5 || ip_is_fragment(ip))
			return -1;
		*off += ip->ihl * 4;
		return ip->protocol;
	}
	if (!pskb_may_pull(skb, *off + sizeof(*ip6)))
		return -1;
	ip6 = (const struct ipv6hdr *)(skb->data + *off);
	next = ip6->nexthdr;
	*off += sizeof(*ip6);
	if (next == NEXTHDR_ROUTING) {
		if (!pskb_may_pull(skb, *off + sizeof(*opt)))
			return -1;
		opt = (const struct ipv6_opt_hdr *)(skb->data + *off);
		next = opt->nexthdr;
		*off += ipv6_optlen(opt);
	}
	return next;
}

/* Is it what MRC sends, whole or inside an outer IPv6 header? */
static bool mrcsw_parse(struct sk_buff *skb, const struct mrcsw_conf *conf,
			struct mrcsw_hdrs *h)
{
	unsigned int off = skb_network_offset(skb);
	const struct udphdr *udp;
	int next, i;

	h->n_ip = 0;
	do {
		h->ip[h->n_ip++] = off;
		next = mrcsw_pull_ip(skb, &off);
	} while (h->n_ip == 1 && mrcsw_is_v6(skb, h->ip[0]) &&
		 (next == IPPROTO_IPV6 || next == IPPROTO_IPIP));
	if (next != IPPROTO_UDP || !pskb_may_pull(skb, off + sizeof(*udp)))
		return false;
	h->udp = off;
	udp = (const struct udphdr *)(skb->data + off);
	for (i = 0; i < conf->n_ports; i++)
		if (ntohs(udp->dest) == conf->ports[i])
			return true;
	return false;
}

static void mrcsw_set_dscp(struct sk_buff *skb, u8 dscp)
{
	unsigned int off = skb_network_offset(skb);

	if (mrcsw_is_v6(skb, off))
		ipv6_change_dsfield(ipv6_hdr(skb), INET_ECN_MASK, dscp << 2);
	else
		ipv4_change_dsfield(ip_hdr(skb), INET_ECN_MASK, dscp << 2);
}

/* A sender of checksums other than 0 gets one that fits what is left. */
static void mrcsw_udp_sum(struct sk_buff *skb, const struct mrcsw_hdrs *h)
{
	unsigned int off = h->ip[h->n_ip - 1], len = skb->len - h->udp;
	struct udphdr *udp = (struct udphdr *)(skb->data + h->udp);
	const struct ipv6hdr *ip6;
	const struct iphdr *ip;
	__wsum sum;

	if (udp->check || skb->ip_summed == CHECKSUM_PARTIAL) {
		udp->check = 0;
		sum = skb_checksum(skb, h->udp, len, 0);
		if (mrcsw_is_v6(skb, off)) {
			ip6 = (const struct ipv6hdr *)(skb->data + off);
			udp->check = csum_ipv6_magic(&ip6->saddr, &ip6->daddr, len,
						     IPPROTO_UDP, sum);
		} else {
			ip = (const struct iphdr *)(skb->data + off);
			udp->check = csum_tcpudp_magic(ip->saddr, ip->daddr, len,
						       IPPROTO_UDP, sum);
		}
		if (!udp->check)
			udp->check = CSUM_MANGLED_0;
	}
}

/*
 * Linux drops IP packets that are shorter than they say, so every length is
 * corrected. What was shorter than its frame (padding) is not made longer.
 */
static void mrcsw_fix_lengths(struct sk_buff *skb, const struct mrcsw_hdrs *h)
{
	struct udphdr *udp = (struct udphdr *)(skb->data + h->udp);
	struct ipv6hdr *ip6;
	struct iphdr *ip;
	unsigned int i;
	u16 len;

	for (i = 0; i < h->n_ip; i++) {
		len = skb->len - h->ip[i];
		if (mrcsw_is_v6(skb, h->ip[i])) {
			ip6 = (struct ipv6hdr *)(skb->data + h->ip[i]);
			len -= sizeof(*ip6);
			if (len < ntohs(ip6->payload_len))
				ip6->payload_len = htons(len);
		} else {
			ip = (struct iphdr *)(skb->data + h->ip[i]);
			if (len < ntohs(ip->tot_len)) {
				ip->tot_len = htons(len);
				ip_send_check(ip);
			}
		}
	}
	len = skb->len - h->udp;
	if (len < ntohs(udp->len)) {
		udp->len = htons(len);
		mrcsw_udp_sum(skb, h);
	}
	/* What hardware was to sum up may have been cut off. */
	skb->ip_summed = CHECKSUM_NONE;
}

/* Bytes that were cut off, which may be none; or -ENOMEM. */
static int mrcsw_trim(struct sk_buff *skb, const struct mrcsw_conf *conf,
		      const struct mrcsw_hdrs *h)
{
	unsigned int cut = 0, len;

	len = max(skb_network_offset(skb) + conf->trim_len, h->udp + MRCSW_KEEP);
	if (skb->len > len) {
		cut = skb->len - len;
		/* A checksum that hardware has yet to fill in ends here. */
		if (pskb_trim(skb, len))
			return -ENOMEM;
	}
	if (skb_ensure_writable(skb, cut ? skb->len : h->udp + sizeof(struct udphdr)))
		return -ENOMEM;
	if (cut)
		mrcsw_fix_lengths(skb, h);
	mrcsw_set_dscp(skb, conf->trimmed_here);
	return cut;
}

static bool mrcsw_wants_mark(const struct mrcsw *sw, u32 bytes)
{
	const struct mrcsw_conf *conf = &sw->conf;

	if (!conf->ecn_max || bytes <= conf->ecn_min)
		return false;
	if (bytes >= conf->ecn_max)
		return true;
	return reciprocal_scale(get_random_u32(), conf->ecn_max - conf->ecn_min) <
		bytes - conf->ecn_min;
}

static void mrcsw_mark(struct Qdisc *sch, struct sk_buff *skb)
{
	unsigned int off = skb_network_offset(skb);
	u8 was;

	if (mrcsw_dscp(skb) < 0)
		return;
	if (skb_ensure_writable(skb, off + (mrcsw_is_v6(skb, off) ?
					    sizeof(struct ipv6hdr) :
					    sizeof(struct iphdr))))
		return;
	was = mrcsw_is_v6(skb, off) ? ipv6_get_dsfield(ipv6_hdr(skb)) :
				      ipv4_get_dsfield(ip_hdr(skb));
	if (!INET_ECN_set_ce(skb) || INET_ECN_is_ce(was))
		return;
	mrcsw_count(qdisc_priv(sch), MRCSW_MARKED, 1);
	qdisc_qstats_overlimit(sch);
}

static void mrcsw_add(struct Qdisc *sch, struct mrcsw_queue *queue,
		      struct sk_buff *skb)
{
	__qdisc_enqueue_tail(skb, &queue->q);
	queue->bytes += qdisc_pkt_len(skb);
	qdisc_qstats_backlog_inc(sch, skb);
	WRITE_ONCE(sch->q.qlen, sch->q.qlen + 1);
}

static void mrcsw_add_data(struct Qdisc *sch, struct sk_buff *skb)
{
	struct mrcsw *sw = qdisc_priv(sch);

	if (mrcsw_wants_mark(sw, sw->data.bytes + qdisc_pkt_len(skb)))
		mrcsw_mark(sch, skb);
	mrcsw_add(sch, &sw->data, skb);
	mrcsw_count(sw, MRCSW_DATA_PKTS, 1);
	mrcsw_peak(sw, MRCSW_DATA_PEAK, sw->data.bytes);
}

static bool mrcsw_fits(const struct mrcsw_queue *queue, u32 limit, u32 len)
{
	return (u64)queue->bytes + len <= limit;
}

static int mrcsw_enqueue_ctrl(struct Qdisc *sch, struct sk_buff *skb,
			      struct sk_buff **to_free)
{
	struct mrcsw *sw = qdisc_priv(sch);

	if (!mrcsw_fits(&sw->ctrl, sw->conf.ctrl_limit, qdisc_pkt_len(skb))) {
		mrcsw_count(sw, MRCSW_CTRL_DROPS, 1);
		return qdisc_drop(skb, sch, to_free);
	}
	mrcsw_add(sch, &sw->ctrl, skb);
	mrcsw_count(sw, MRCSW_CTRL_PKTS, 1);
	mrcsw_peak(sw, MRCSW_CTRL_PEAK, sw->ctrl.bytes);
	return NET_XMIT_SUCCESS;
}

/*
 * Only while the data queue holds something: the parents then hold it too, as
 * qdisc_tree_reduce_backlog() expects of those whose packet shrinks.
 */
static bool mrcsw_may_trim(const struct mrcsw *sw, int dscp, u32 len)
{
	const struct mrcsw_conf *conf = &sw->conf;

	return conf->trim_bytes && sw->data.bytes &&
		!mrcsw_fits(&sw->data, min(conf->trim_bytes, conf->data_limit), len) &&
		(dscp == conf->trimmable || dscp == conf->trimmable_retx);
}

static int mrcsw_enqueue_trimmed(struct Qdisc *sch, struct sk_buff *skb,
				 const struct mrcsw_hdrs *h, struct sk_buff **to_free)
{
	struct mrcsw *sw = qdisc_priv(sch);
	int cut, ret;

	cut = mrcsw_trim(skb, &sw->conf, h);
	if (cut < 0) {
		mrcsw_count(sw, MRCSW_ERRORS, 1);
		return qdisc_drop(skb, sch, to_free);
	}
	qdisc_skb_cb(skb)->pkt_len -= cut;
	ret = mrcsw_enqueue_ctrl(sch, skb, to_free);
	if (ret != NET_XMIT_SUCCESS)
		return ret;
	mrcsw_count(sw, MRCSW_TRIMMED, 1);
	mrcsw_count(sw, MRCSW_TRIMMED_BYTES, cut);
	qdisc_qstats_overlimit(sch);
	/* The parents are about to count the length they have seen. */
	if (cut)
		qdisc_tree_reduce_backlog(sch, 0, cut);
	return NET_XMIT_SUCCESS;
}

/* Not MRC's: all segments or none, and never trimmed. */
static int mrcsw_enqueue_gso(struct Qdisc *sch, struct sk_buff *skb,
			     struct sk_buff **to_free)
{
	netdev_features_t features = netif_skb_features(skb);
	unsigned int was = qdisc_pkt_len(skb), total = 0;
	struct mrcsw *sw = qdisc_priv(sch);
	struct sk_buff *segs, *seg, *next;
	int n = 0;

	segs = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segs)) {
		mrcsw_count(sw, MRCSW_ERRORS, 1);
		return qdisc_drop(skb, sch, to_free);
	}
	skb_list_walk_safe(segs, seg, next) {
		qdisc_skb_cb(seg)->pkt_len = seg->len;
#ifdef HAVE_QDISC_PKT_SEGS
		qdisc_skb_cb(seg)->pkt_segs = 1;
#endif
		total += seg->len;
		n++;
	}
	if (!mrcsw_fits(&sw->data, sw->conf.data_limit, total)) {
		kfree_skb_list(segs);
		mrcsw_count(sw, MRCSW_DATA_DROPS, n);
		return qdisc_drop(skb, sch, to_free);
	}
	if (n == 1)
		qdisc_skb_cb(segs)->pkt_len = was;
	skb_list_walk_safe(segs, seg, next) {
		skb_mark_not_on_list(seg);
		mrcsw_add_data(sch, seg);
	}
	if (n > 1)
		qdisc_tree_reduce_backlog(sch, 1 - n, (int)(was - total));
	consume_skb(skb);
	return NET_XMIT_SUCCESS;
}

static int mrcsw_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			 struct sk_buff **to_free)
{
	struct mrcsw *sw = qdisc_priv(sch);
	const struct mrcsw_conf *conf = &sw->conf;
	u32 len = qdisc_pkt_len(skb);
	struct mrcsw_hdrs h;
	int dscp;

	if (skb_is_gso(skb))
		return mrcsw_enqueue_gso(sch, skb, to_free);

	/* What is not IP keeps the network going (ARP). */
	dscp = mrcsw_dscp(skb);
	if (dscp < 0 || dscp == conf->control || dscp == conf->trimmed[0] ||
	    dscp == conf->trimmed[1])
		return mrcsw_enqueue_ctrl(sch, skb, to_free);

	if (mrcsw_may_trim(sw, dscp, len) && mrcsw_parse(skb, conf, &h))
		return mrcsw_enqueue_trimmed(sch, skb, &h, to_free);
	if (!mrcsw_fits(&sw->data, conf->data_limit, len)) {
		mrcsw_count(sw, MRCSW_DATA_DROPS, 1);
		return qdisc_drop(skb, sch, to_free);
	}
	mrcsw_add_data(sch, skb);
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *mrcsw_dequeue(struct Qdisc *sch)
{
	struct mrcsw *sw = qdisc_priv(sch);
	struct mrcsw_queue *queue = sw->ctrl.q.qlen ? &sw->ctrl : &sw->data;
	struct sk_buff *skb = __qdisc_dequeue_head(&queue->q);

	if (!skb)
		return NULL;
	queue->bytes -= qdisc_pkt_len(skb);
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_bstats_update(sch, skb);
	WRITE_ONCE(sch->q.qlen, sch->q.qlen - 1);
	return skb;
}

/* Takes nothing out, so that a waiting data packet holds up no control. */
static struct sk_buff *mrcsw_peek(struct Qdisc *sch)
{
	struct mrcsw *sw = qdisc_priv(sch);

	return sw->ctrl.q.qlen ? sw->ctrl.q.head : sw->data.q.head;
}

static void mrcsw_reset(struct Qdisc *sch)
{
	struct mrcsw *sw = qdisc_priv(sch);

	__qdisc_reset_queue(&sw->ctrl.q);
	__qdisc_reset_queue(&sw->data.q);
	sw->ctrl.bytes = 0;
	sw->data.bytes = 0;
	WRITE_ONCE(sch->q.qlen, 0);
	WRITE_ONCE(sch->qstats.backlog, 0);
}

static struct Qdisc_ops mrcsw_last_ops;

static int mrcsw_conf_init(struct mrcsw_conf *conf, bool last,
			   struct netlink_ext_ack *extack)
{
	int i;

	if (dscp_trimmable > MRCSW_DSCP_MAX || dscp_trimmable_retx > MRCSW_DSCP_MAX ||
	    dscp_trimmed > MRCSW_DSCP_MAX || dscp_trimmed_lasthop > MRCSW_DSCP_MAX ||
	    dscp_control > MRCSW_DSCP_MAX) {
		NL_SET_ERR_MSG(extack, "module parameter dscp_*: more than 63");
		return -EINVAL;
	}
	conf->trimmable = dscp_trimmable;
	conf->trimmable_retx = dscp_trimmable_retx;
	conf->trimmed[0] = dscp_trimmed;
	conf->trimmed[1] = dscp_trimmed_lasthop;
	conf->trimmed_here = conf->trimmed[last];
	conf->control = dscp_control;

	conf->data_limit = data_limit;
	conf->ctrl_limit = ctrl_limit;
	conf->trim_bytes = trim_bytes;
	conf->trim_len = trim_len;
	conf->ecn_min = ecn_min;
	conf->ecn_max = ecn_max;
	if (conf->data_limit > INT_MAX || conf->ctrl_limit > INT_MAX) {
		NL_SET_ERR_MSG(extack, "module parameters data_limit, ctrl_limit: too large");
		return -EINVAL;
	}
	if (conf->trim_len > U16_MAX) {
		NL_SET_ERR_MSG(extack, "module parameter trim_len: more than 65535");
		return -EINVAL;
	}
	if (conf->ecn_max && conf->ecn_min > conf->ecn_max) {
		NL_SET_ERR_MSG(extack, "module parameters: ecn_min exceeds ecn_max");
		return -EINVAL;
	}

	conf->n_ports = clamp(n_ports, 0, MRCSW_PORTS);
	for (i = 0; i < conf->n_ports; i++) {
		if (ports[i] > U16_MAX) {
			NL_SET_ERR_MSG(extack, "module parameter ports: more than 65535");
			return -EINVAL;
		}
		conf->ports[i] = ports[i];
	}
	return 0;
}

static int mrcsw_init(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct mrcsw *sw = qdisc_priv(sch);
	int err;

	INIT_LIST_HEAD(&sw->list);
	sw->sch = sch;
	if (opt && nla_len(opt)) {
		NL_SET_ERR_MSG(extack, "takes no options but the module's parameters");
		return -EINVAL;
	}
	kernel_param_lock(THIS_MODULE);
	err = mrcsw_conf_init(&sw->conf, sch->ops == &mrcsw_last_ops, extack);
	kernel_param_unlock(THIS_MODULE);
	if (err)
		return err;

	mutex_lock(&mrcsw_all_lock);
	list_add_tail(&sw->list, &mrcsw_all);
	mutex_unlock(&mrcsw_all_lock);
	return 0;
}

static void mrcsw_destroy(struct Qdisc *sch)
{
	struct mrcsw *sw = qdisc_priv(sch);

	mutex_lock(&mrcsw_all_lock);
	list_del(&sw->list);
	mutex_unlock(&mrcsw_all_lock);
}

static struct Qdisc_ops mrcsw_ops = {
	.id		= "mrcsw",
	.priv_size	= sizeof(struct mrcsw),
	.enqueue	= mrcsw_enqueue,
	.dequeue	= mrcsw_dequeue,
	.peek		= mrcsw_peek,
	.init		= mrcsw_init,
	.reset		= mrcsw_reset,
	.destroy	= mrcsw_destroy,
	.owner		= THIS_MODULE,
};

static struct Qdisc_ops mrcsw_last_ops = {
	.id		= "mrcsw_last",
	.priv_size	= sizeof(struct mrcsw),
	.enqueue	= mrcsw_enqueue,
	.dequeue	= mrcsw_dequeue,
	.peek		= mrcsw_peek,
	.init		= mrcsw_init,
	.reset		= mrcsw_reset,
	.destroy	= mrcsw_destroy,
	.owner		= THIS_MODULE,
};

/* A line for each qdisc: netdev, handle, kind, name=value... */
static int mrcsw_proc_show(struct seq_file *m, void *v)
{
	const struct net *net = seq_file_single_net(m);
	struct mrcsw *sw;
	int i;

	mutex_lock(&mrcsw_all_lock);
	list_for_each_entry(sw, &mrcsw_all, list) {
		if (!net_eq(dev_net(qdisc_dev(sw->sch)), net))
			continue;
		seq_printf(m, "%s %x: %s", qdisc_dev(sw->sch)->name,
			   sw->sch->handle >> 16, sw->sch->ops->id);
		for (i = 0; i < MRCSW_COUNTERS; i++)
			seq_printf(m, " %s=%llu", mrcsw_names[i],
				   READ_ONCE(sw->counter[i]));
		seq_putc(m, '\n');
	}
	mutex_unlock(&mrcsw_all_lock);
	return 0;
}

static int __net_init mrcsw_net_init(struct net *net)
{
	if (!proc_create_net_single("mrcsw", 0444, net->proc_net, mrcsw_proc_show, NULL))
		return -ENOMEM;
	return 0;
}

static void __net_exit mrcsw_net_exit(struct net *net)
{
	remove_proc_entry("mrcsw", net->proc_net);
}

static struct pernet_operations mrcsw_net_ops = {
	.init = mrcsw_net_init,
	.exit = mrcsw_net_exit,
};

static int __init mrcsw_module_init(void)
{
	int err;

	err = register_pernet_subsys(&mrcsw_net_ops);
	if (err)
		return err;
	err = register_qdisc(&mrcsw_ops);
	if (err)
		goto err_net;
	err = register_qdisc(&mrcsw_last_ops);
	if (err)
		goto err_qdisc;
	return 0;

err_qdisc:
	unregister_qdisc(&mrcsw_ops);
err_net:
	unregister_pernet_subsys(&mrcsw_net_ops);
	return err;
}

static void __exit mrcsw_module_exit(void)
{
	unregister_qdisc(&mrcsw_last_ops);
	unregister_qdisc(&mrcsw_ops);
	unregister_pernet_subsys(&mrcsw_net_ops);
}

module_init(mrcsw_module_init);
module_exit(mrcsw_module_exit);

MODULE_AUTHOR("soft MRC authors");
MODULE_DESCRIPTION("Switch port that marks ECN and trims, for tests of MRC");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS("sch_mrcsw_last");
MODULE_ALIAS("net-sch-mrcsw");
MODULE_ALIAS("net-sch-mrcsw_last");

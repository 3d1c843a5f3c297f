// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Who may ask, and for what. A tool hides this: it asks for a state before it
 * changes something, and looks for a queue pair in the list of the RDMA core
 * before it asks the device.
 */
#include "selftest.hpp"

#include <unistd.h>

namespace
{
struct Request {
	const char *what;
	int (*send)(Dev &dev);
};

int port(Dev &dev)
{
	mrc_abi_port p{.port = 1, .mask = 0, .admin_state = 0, .reserved = 0};

	return dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, p);
}

int port_disable(Dev &dev)
{
	mrc_abi_port p{.port = 1,
		       .mask = MRC_ABI_PORT_ADMIN_STATE,
		       .admin_state = 0,
		       .reserved = 0};

	return dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_PORT, p);
}

int attribute(Dev &dev)
{
	mrc_abi_dev_attr a{};

	a.mask = MRC_ABI_DEV_ATTR_NUM_EVS;
	a.num_evs = 8;
	return dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_ATTR, a);
}

int limits(Dev &dev)
{
	mrc_abi_dev_limits l{};

	l.mask = 1u << MRC_ABI_LIMIT_QP;
	l.max[MRC_ABI_LIMIT_QP] = 65536;
	return dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_LIMITS, l);
}

int classes(Dev &dev)
{
	mrc_abi_tc tc{};

	return dev.get(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_GET, tc);
}

int classes_change(Dev &dev)
{
	return dev.set(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_TC_SET, mrc_abi_tc{});
}

int endpoint(Dev &dev)
{
	mrc_abi_ep_batch b{};

	return dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_EP_BATCH, b);
}

int queue_pair(Dev &dev, uint32_t qpn)
{
	mrc_abi_qp_info q{};

	q.qpn = qpn;
	return dev.call(MRC_ABI_OBJECT_DEV, MRC_ABI_DEV_QP_QUERY, q);
}

int defaults(Dev &dev)
{
	mrc_abi_defaults d{};

	return dev.get(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_GET, d);
}

int default_for_all(Dev &dev)
{
	mrc_abi_default d{};

	d.ev_profile = 3;
	d.cc_profile = MRC_ABI_PROFILE_NONE;
	return dev.set(MRC_ABI_OBJECT_DEFAULT, MRC_ABI_DEFAULT_SET, d);
}

/* The mask of a query for the present state is that of all kinds. */
template <typename T> int state(Dev &dev, uint16_t object, uint16_t query)
{
	T p{};

	p.id = 1;
	p.mask = 1u << 1;
	return dev.call(object, query, p);
}

int events(Dev &dev)
{
	const int fd = dev.events(16);

	if (fd < 0)
		return -fd;
	close(fd);
	return 0;
}

/* Every method that is not for everybody, asked for something sensible. */
constexpr Request requests[] = {
	{"port", port},
	{"change of a port", port_disable},
	{"change of an attribute", attribute},
	{"change of a limit", limits},
	{"traffic classes", classes},
	{"change of traffic classes", classes_change},
	{"endpoint operation", endpoint},
	{"queue pair", [](Dev &dev) { return queue_pair(dev, 17); }},
	{"defaults", defaults},
	{"change of a default", default_for_all},
	{"EV format",
	 [](Dev &dev) {
		 return state<mrc_abi_fmt>(dev, MRC_ABI_OBJECT_EV_FMT,
					   MRC_ABI_FMT_QUERY);
	 }},
	{"new EV format",
	 [](Dev &dev) {
		 return fmt_make(dev, 1, mrc::UDP, {16}, mrc::OFFLINE);
	 }},
	{"EV profile",
	 [](Dev &dev) {
		 return state<mrc_abi_evp>(dev, MRC_ABI_OBJECT_EV_PROFILE,
					   MRC_ABI_EVP_QUERY);
	 }},
	{"new EV profile",
	 [](Dev &dev) {
		 return evp_make(dev, 3, 1, udp_evs(2, 1), 0, mrc::OFFLINE);
	 }},
	{"CC profile",
	 [](Dev &dev) {
		 return state<mrc_abi_ccp>(dev, MRC_ABI_OBJECT_CC_PROFILE,
					   MRC_ABI_CCP_QUERY);
	 }},
	{"new CC profile",
	 [](Dev &dev) {
		 return ccp_make(dev, 1, "uet-1.0-nscc", mrc::OFFLINE);
	 }},
	{"events", events},
};
} // namespace

bool selftest_unprivileged(Dev &dev)
{
	Report r;

	r.run("may ask for the device only", [&](Check &c) {
		c.that(dev.query().ev_max_profiles > 0, "no EV profiles");
		for (const Request &q : requests)
			c.err(q.send(dev), EPERM, q.what);
	});
	return r.good();
}

/* Numbers of queue pairs that are no connection, or one of another device. */
bool selftest_absent(Dev &dev, const std::vector<uint32_t> &qpns)
{
	Report r;

	for (const uint32_t qpn : qpns)
		r.run("no queue pair " + std::to_string(qpn), [&](Check &c) {
			c.err(queue_pair(dev, qpn), ENOENT, "its query");
		});
	return r.good();
}

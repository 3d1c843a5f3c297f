// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "selftest.hpp"

#include <cstring>

int fmt_state(Dev &dev, uint64_t id, uint32_t state)
{
	mrc_abi_fmt f{};

	f.id = id;
	f.mask = mrc::FMT_STATE;
	f.state = state;
	return dev.call(MRC_ABI_OBJECT_EV_FMT, MRC_ABI_FMT_MODIFY, f);
}

int fmt_make(Dev &dev, uint64_t id, uint32_t mode, std::vector<uint8_t> width,
	     uint32_t to)
{
	With<mrc_abi_fmt> f{};

	f.id = id;
	f.mask = mrc::FMT_STATE | mrc::FMT_MODE | mrc::FMT_OP;
	f.state = mrc::OFFLINE;
	f.mode = mode;
	f.arrays = {array_in(MRC_ABI_ATTR_ARRAY_IN, std::span(width))};
	const int err = dev.call(MRC_ABI_OBJECT_EV_FMT, MRC_ABI_FMT_MODIFY, f);

	return err || to != mrc::ONLINE ? err : fmt_state(dev, id, to);
}

uint32_t fmt_now(Dev &dev, uint64_t id)
{
	mrc_abi_fmt f{};

	f.id = id;
	f.mask = mrc::FMT_CUR_STATE;
	must(dev.call(MRC_ABI_OBJECT_EV_FMT, MRC_ABI_FMT_QUERY, f), "state of a format");
	return f.cur_state;
}

void fmt_drop(Dev &dev, uint64_t id)
{
	while (const uint32_t now = fmt_now(dev, id))
		must(fmt_state(dev, id, now - 1), "format down");
}

int evp_state(Dev &dev, uint64_t id, uint32_t state)
{
	mrc_abi_evp p{};

	p.id = id;
	p.mask = mrc::EVP_STATE;
	p.state = state;
	return dev.call(MRC_ABI_OBJECT_EV_PROFILE, MRC_ABI_EVP_MODIFY, p);
}

int evp_op(Dev &dev, uint64_t id, uint32_t op,
	   std::vector<mrc_abi_ev_entry> &entry, uint32_t *n,
	   const std::vector<mrc_abi_ev> &with)
{
	const bool query =
		op == mrc::QUERY_EV_STATE || op == mrc::QUERY_EV_ARRAY;
	With<mrc_abi_evp> p{};

	p.id = id;
	p.mask = mrc::EVP_EV_OP;
	p.ev_op = op;
	if (op != mrc::QUERY_EV_ARRAY)
		p.arrays.push_back(
			array_in(MRC_ABI_ATTR_ARRAY_IN, std::span(entry)));
	if (query)
		p.arrays.push_back(
			array_out(MRC_ABI_ATTR_ARRAY_OUT, std::span(entry)));
	p.arrays.push_back(array_in(MRC_ABI_ATTR_SECOND_IN, std::span(with)));
	const int err =
		dev.call(MRC_ABI_OBJECT_EV_PROFILE,
			 query ? MRC_ABI_EVP_QUERY : MRC_ABI_EVP_MODIFY, p);

	if (n)
		*n = p.n_entries;
	return err;
}

int evp_make(Dev &dev, uint64_t id, uint64_t fmt,
	     const std::vector<mrc_abi_ev> &evs, uint32_t event_mask,
	     uint32_t to)
{
	std::vector<mrc_abi_ev_entry> entry;
	mrc_abi_evp p{};

	p.id = id;
	p.mask = mrc::EVP_STATE | mrc::EVP_MODE | mrc::EVP_FMT_ID |
		 mrc::EVP_COUNT | mrc::EVP_MIN_ACTIVE | mrc::EVP_EVENT_MASK;
	p.state = mrc::OFFLINE;
	p.mode = mrc::EXPLICIT;
	p.fmt_id = fmt;
	p.count = static_cast<uint32_t>(evs.size());
	p.event_mask = event_mask;
	int err = dev.call(MRC_ABI_OBJECT_EV_PROFILE, MRC_ABI_EVP_MODIFY, p);

	if (err || to == mrc::INIT)
		return err;
	entry.assign(evs.size(), {.ev = {}, .state = mrc::GOOD, .flags = 0});
	err = evp_op(dev, id, mrc::REPLACE_EV, entry, nullptr, evs);
	return err || to != mrc::ONLINE ? err : evp_state(dev, id, to);
}

uint32_t evp_now(Dev &dev, uint64_t id)
{
	mrc_abi_evp p{};

	p.id = id;
	p.mask = mrc::EVP_CUR_STATE;
	must(dev.call(MRC_ABI_OBJECT_EV_PROFILE, MRC_ABI_EVP_QUERY, p), "state of an EV profile");
	return p.cur_state;
}

void evp_drop(Dev &dev, uint64_t id)
{
	while (const uint32_t now = evp_now(dev, id))
		must(evp_state(dev, id, now - 1), "EV profile down");
}

int ccp_state(Dev &dev, uint64_t id, uint32_t state)
{
	mrc_abi_ccp p{};

	p.id = id;
	p.mask = mrc::CCP_STATE;
	p.state = state;
	return dev.call(MRC_ABI_OBJECT_CC_PROFILE, MRC_ABI_CCP_MODIFY, p);
}

int ccp_make(Dev &dev, uint64_t id, const char *algorithm, uint32_t to)
{
	mrc_abi_ccp p{};

	p.id = id;
	p.mask = mrc::CCP_STATE | mrc::CCP_ALGORITHM |
		 (*algorithm ? mrc::CCP_CONFIG : 0u);
	p.state = mrc::OFFLINE;
	std::strncpy(p.algorithm, algorithm, sizeof(p.algorithm) - 1);
	const int err = dev.call(MRC_ABI_OBJECT_CC_PROFILE, MRC_ABI_CCP_MODIFY, p);

	return err || to != mrc::ONLINE ? err : ccp_state(dev, id, to);
}

int ccp_config(Dev &dev, uint64_t id, const mrc_abi_nscc &nscc)
{
	mrc_abi_ccp p{};

	p.id = id;
	p.mask = mrc::CCP_CONFIG;
	p.nscc = nscc;
	return dev.call(MRC_ABI_OBJECT_CC_PROFILE, MRC_ABI_CCP_MODIFY, p);
}

uint32_t ccp_now(Dev &dev, uint64_t id)
{
	mrc_abi_ccp p{};

	p.id = id;
	p.mask = mrc::CCP_CUR_STATE;
	must(dev.call(MRC_ABI_OBJECT_CC_PROFILE, MRC_ABI_CCP_QUERY, p), "state of a CC profile");
	return p.cur_state;
}

void ccp_drop(Dev &dev, uint64_t id)
{
	while (const uint32_t now = ccp_now(dev, id))
		must(ccp_state(dev, id, now - 1), "CC profile down");
}

std::vector<mrc_abi_ev> udp_evs(uint32_t n, uint32_t ports, uint16_t first)
{
	std::vector<mrc_abi_ev> out(n);

	for (uint32_t i = 0; i < n; i++) {
		out[i].val[0] = static_cast<uint8_t>((first + i) >> 8);
		out[i].val[1] = static_cast<uint8_t>(first + i);
		out[i].port = static_cast<uint8_t>(1 + i % ports);
	}
	return out;
}

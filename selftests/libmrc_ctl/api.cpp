// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "api.hpp"

#include <cerrno>
#include <cstring>

namespace
{
ibv_context *open_device(const std::string &name)
{
	int n = 0;
	ibv_device **list = made(ibv_get_device_list(&n), "device list");
	ibv_context *verbs = nullptr;

	for (int i = 0; i < n && !verbs; i++)
		if (name == ibv_get_device_name(list[i]))
			verbs = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return made(verbs, name.c_str());
}

mrc_context *create(ibv_context *verbs, uint32_t version)
{
	mrc_context_attr attr{};

	attr.mrc_api_version_used = version;
	return mrc_create_context(verbs, &attr);
}

std::string number(const char *name, uint64_t value)
{
	return std::string(" ") + name + " " + std::to_string(value);
}

std::string vendor(const uint8_t *cfg)
{
	return " vendor " + to_hex(cfg, MRC_CTL_MAX_VENDOR_CFG_SIZE);
}
} // namespace

Device::Device(const std::string &name, uint32_t version)
	: verbs_(open_device(name)), ctx_(create(verbs_, version))
{
	if (ctx_)
		return;
	const int err = errno;

	ibv_close_device(verbs_);
	throw Failure("no context: " + errno_text(err));
}

Device::~Device()
{
	mrc_destroy_context(ctx_);
	ibv_close_device(verbs_);
}

mrc_context *context(const Device &dev, uint32_t version)
{
	return made(create(dev.verbs(), version), "context");
}

mrc_ctl_device_attr Device::query() const
{
	mrc_ctl_device_attr attr{};

	must(failed(mrc_ctl_query_device(verbs_, &attr)), "query device");
	return attr;
}

uint8_t Device::gid(int family, ibv_gid &gid) const
{
	constexpr uint8_t mapped[12] = {0, 0, 0, 0, 0,	  0,
					0, 0, 0, 0, 0xff, 0xff};

	for (uint32_t i = 0; i < 128; i++) {
		ibv_gid_entry e{};

		if (ibv_query_gid_ex(verbs_, 1, i, &e, 0) ||
		    e.gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    (e.gid.raw[0] == 0xfe && e.gid.raw[1] == 0x80))
			continue;
		const bool v4 = !std::memcmp(e.gid.raw, mapped, sizeof(mapped));

		if (v4 != (family == 4))
			continue;
		gid = e.gid;
		return static_cast<uint8_t>(i);
	}
	throw Failure("no GID of IPv" + std::to_string(family));
}

ibv_gid Device::gid(int family) const
{
	ibv_gid out{};

	gid(family, out);
	return out;
}

/* --- what profiles have ----------------------------------------------------
 */

std::string dump(mrc_context *ctx, uint64_t id, Format)
{
	std::vector<mrc_ctl_ev_fmt_field> widths(32);
	const int state = now<Format>(ctx, id);
	std::string out = state_names[state];
	FmtAttr attr{};

	if (state == INIT)
		return out;
	attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_QUERY_FIELDS, widths.data(), 32};
	must(query<Format>(ctx, id,
			   MRC_CTL_EV_FMT_PROFILE_MODE |
				   MRC_CTL_EV_FMT_PROFILE_OP | vendor_bit,
			   attr),
	     "query format");
	out += number("mode", attr.ev_fmt_mode) + " widths";
	for (int i = 0; i < attr.ev_fmt_op.fmt_field_count; i++)
		out += " " +
		       std::to_string(widths[static_cast<unsigned>(i)].width);
	return out + vendor(attr.vendor_cfg);
}

std::string dump(mrc_context *ctx, uint64_t id, EvProfile)
{
	const int state = now<EvProfile>(ctx, id);
	std::string out = state_names[state];
	std::vector<Field> fields(32);
	EvAttr attr{};

	if (state == INIT)
		return out;
	attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS, fields.data(),
			     32};
	must(query<EvProfile>(
		     ctx, id,
		     MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |
			     MRC_CTL_EV_PROFILE_COUNT |
			     MRC_CTL_EV_PROFILE_MIN_ACTIVE |
			     MRC_CTL_EV_PROFILE_EVENT_MASK |
			     MRC_CTL_EV_PROFILE_EV_FIELDS_OP | vendor_bit,
		     attr),
	     "query EV profile");
	out += number("mode", attr.ev_mode) +
	       number("fmt", attr.ev_fmt_profile_id) +
	       number("count", attr.ev_count) +
	       number("min_active", attr.ev_min_active) +
	       number("events", static_cast<unsigned>(attr.ev_event_mask));
	for (int i = 0; i < attr.ev_fields_op.field_count; i++) {
		const Field &f = fields[static_cast<unsigned>(i)];

		out += number("field", f.width) + number("", f.init_val) +
		       number("", f.mask) + number("", f.min_val) +
		       number("", f.max_val);
	}
	for (const Entry &e : ev_array(ctx, id))
		out += " " + text(e.ev) + number("", e.state);
	return out + vendor(attr.vendor_cfg);
}

std::string dump(mrc_context *ctx, uint64_t id, CcProfile)
{
	const int state = now<CcProfile>(ctx, id);
	std::string out = state_names[state];
	CcAttr attr{};

	if (state == INIT)
		return out;
	must(query<CcProfile>(ctx, id,
			      MRC_CTL_CC_PROFILE_ALGORITHM |
				      MRC_CTL_CC_PROFILE_CONFIG | vendor_bit,
			      attr),
	     "query CC profile");
	out += std::string(" ") + (attr.algorithm ? attr.algorithm : "off");
	if (attr.cc_config)
		out += " " +
		       to_hex(static_cast<const uint8_t *>(attr.cc_config),
			      sizeof(mrc_ctl_cc_nscc_cfg));
	return out + vendor(attr.vendor_cfg);
}

/* --- making them -----------------------------------------------------------
 */

int fmt_make(mrc_context *ctx, uint64_t id, mrc_ctl_ev_fmt_mode mode,
	     const std::vector<uint8_t> &widths, int to)
{
	std::vector<mrc_ctl_ev_fmt_field> fields;
	FmtAttr attr{};

	for (const uint8_t width : widths)
		fields.push_back({width});
	attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
	attr.ev_fmt_mode = mode;
	attr.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, fields.data(),
			  static_cast<int>(fields.size())};
	const int err = modify<Format>(ctx, id,
				       state_bit | MRC_CTL_EV_FMT_PROFILE_MODE |
					       MRC_CTL_EV_FMT_PROFILE_OP,
				       attr);

	return err || to != ONLINE ? err : go<Format>(ctx, id, ONLINE);
}

int evp_make(mrc_context *ctx, uint64_t id, const EvSpec &spec, int to)
{
	std::vector<Field> fields = spec.fields;
	std::vector<Entry> entries;
	EvAttr attr{};
	int mask = state_bit | MRC_CTL_EV_PROFILE_MODE;

	attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
	attr.ev_mode = spec.mode;
	attr.ev_fmt_profile_id = spec.fmt;
	attr.ev_count = spec.count;
	attr.ev_min_active = spec.min_active;
	attr.ev_event_mask = spec.events;
	if (spec.mode != MRC_CTL_EV_MODE_AUTO)
		mask |= MRC_CTL_EV_PROFILE_FMT_ID | MRC_CTL_EV_PROFILE_COUNT;
	mask |= MRC_CTL_EV_PROFILE_MIN_ACTIVE | MRC_CTL_EV_PROFILE_EVENT_MASK;
	if (!fields.empty()) {
		mask |= MRC_CTL_EV_PROFILE_EV_FIELDS_OP;
		attr.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS,
				     fields.data(),
				     static_cast<int>(fields.size())};
	}
	int err = modify<EvProfile>(ctx, id, mask, attr);

	for (const mrc_ctl_ev &ev : spec.evs)
		entries.push_back(replacement(MRC_CTL_EV_UNPOPULATED, ev,
					      MRC_CTL_EV_GOOD));
	if (!err && !entries.empty())
		err = ev_op(ctx, id, MRC_CTL_EV_OP_REPLACE_EV, entries);
	return err || to != ONLINE ? err : go<EvProfile>(ctx, id, ONLINE);
}

int ccp_make(mrc_context *ctx, uint64_t id, const char *algorithm,
	     const mrc_ctl_cc_nscc_cfg *cfg, int to)
{
	CcAttr attr{};

	attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
	attr.algorithm = algorithm;
	attr.cc_config = cfg;
	const int err = modify<CcProfile>(
		ctx, id,
		state_bit | MRC_CTL_CC_PROFILE_ALGORITHM |
			(cfg ? static_cast<int>(MRC_CTL_CC_PROFILE_CONFIG) : 0),
		attr);

	return err || to != ONLINE ? err : go<CcProfile>(ctx, id, ONLINE);
}

mrc_ctl_cc_nscc_cfg nscc_cfg()
{
	mrc_ctl_cc_nscc_cfg cfg{};

	cfg.disable_qa = 1;
	cfg.adjust_bytes_threshold = 32768;
	cfg.adjust_period_threshold = 12000;
	cfg.base_rtt = 50000;
	cfg.eta = 614;
	cfg.fi = 5;
	cfg.fi_scale = 0.25F;
	cfg.gamma = 0.8F;
	cfg.max_md_jump = 0.5F;
	cfg.max_cwnd = 1 << 20;
	cfg.qa_gate = 3;
	cfg.qa_threshold = 36000;
	cfg.target_delay = 9000;
	return cfg;
}

int ev_op(mrc_context *ctx, uint64_t id, mrc_ctl_ev_op op,
	  std::vector<Entry> &entries)
{
	EvAttr attr{};

	attr.ev_op = {op, entries.data(), static_cast<int>(entries.size())};
	if (op == MRC_CTL_EV_OP_REPLACE_EV ||
	    op == MRC_CTL_EV_OP_MODIFY_EV_STATE)
		return modify<EvProfile>(ctx, id, MRC_CTL_EV_PROFILE_EV_OP,
					 attr);
	return query<EvProfile>(ctx, id, MRC_CTL_EV_PROFILE_EV_OP, attr);
}

std::vector<Entry> ev_array(mrc_context *ctx, uint64_t id)
{
	std::vector<Entry> entries;
	EvAttr attr{};

	must(query<EvProfile>(ctx, id, MRC_CTL_EV_PROFILE_COUNT, attr),
	     "number of EVs");
	entries.resize(attr.ev_count);
	attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, entries.data(),
		      static_cast<int>(entries.size())};
	must(query<EvProfile>(ctx, id, MRC_CTL_EV_PROFILE_EV_OP, attr), "EVs");
	entries.resize(static_cast<unsigned>(attr.ev_op.entry_count));
	return entries;
}

/* --- values -----------------------------------------------------------------
 */

mrc_ctl_ev ev_bytes(const std::vector<uint8_t> &val, uint8_t port)
{
	mrc_ctl_ev ev{};

	std::copy(val.begin(), val.end(), ev.val);
	ev.port = port;
	return ev;
}

mrc_ctl_ev ev16(uint16_t val, uint8_t port)
{
	return ev_bytes(
		{static_cast<uint8_t>(val >> 8), static_cast<uint8_t>(val)},
		port);
}

Entry entry(const mrc_ctl_ev &ev, int state)
{
	Entry e{};

	e.ev = ev;
	e.state = static_cast<mrc_ctl_ev_state>(state);
	return e;
}

Entry replacement(const mrc_ctl_ev &ev, const mrc_ctl_ev &ev_new, int state,
		  uint32_t flags)
{
	Entry e = entry(ev, state);

	e.ev_new = ev_new;
	e.flags = flags;
	return e;
}

bool same(const mrc_ctl_ev &a, const mrc_ctl_ev &b)
{
	return !std::memcmp(&a, &b, sizeof(a));
}

std::string text(const mrc_ctl_ev &ev)
{
	return to_hex(ev.val, sizeof(ev.val)) + "@" + std::to_string(ev.port);
}

std::vector<uint8_t> from_hex(std::string_view hex)
{
	std::vector<uint8_t> out;

	for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
		out.push_back(static_cast<uint8_t>(std::stoul(
			std::string(hex.substr(i, 2)), nullptr, 16)));
	return out;
}

std::string to_hex(const uint8_t *bytes, std::size_t n)
{
	constexpr char digit[] = "0123456789abcdef";
	std::string out;

	for (std::size_t i = 0; i < n; i++) {
		out += digit[bytes[i] >> 4];
		out += digit[bytes[i] & 15];
	}
	return out;
}

Field field(uint32_t width, uint32_t init, uint32_t mask, uint32_t min,
	    uint32_t max)
{
	Field f{};

	f.width = width;
	f.init_val = init;
	f.mask = mask;
	f.min_val = min;
	f.max_val = max;
	return f;
}

-- SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
--
-- Shows the headers of a packet in the tree, and returns their values. What is shown is
-- defined by the tables of mrc_defs.lua; here is what a table cannot say.

return function(defs, flow, fields, experts)

local headers = {}
local floor = math.floor

local function number(s, at, bytes)
	local n = 0
	for i = at + 1, at + bytes do n = n * 256 + s:byte(i) end
	return n
end

headers.number = number

local function signed16(n)
	return n < 32768 and n or n - 65536
end

-- The bits of a mask, moved down.
local function masked(n, mask)
	local shift = 1
	while floor(mask / shift) % 2 == 0 do shift = shift * 2 end
	local width = floor(mask / shift) + 1
	return floor(n / shift) % width
end

local function show_time(item, value, parts)
	item:append_text(string.format(" (%.3f µs)", value * 0.128))
	if parts.tsr == 1 then item:append_text(", resolution not known") end
end

-- Shows one header whose bytes are all there. range: its bytes. Returns the values by name;
-- fields of up to 32 bits are numbers.
function headers.show(name, range, tree)
	local layout = defs.headers[name]
	local raw = range:raw(0, layout.len)
	local sub = tree:add(fields[name], range:range(0, layout.len))
	local v, items, bad = { item = sub, items = {}, raw = raw }, {}, false
	for _, field in ipairs(layout) do
		local fname, at, len, kind, _, more = field[1], field[2], field[3], field[4],
			field[5], field[6]
		if kind == "bytes" then
			if raw:sub(at + 1, at + len):find("[^\0]") then bad = true end
		elseif len <= 4 then
			local n = number(raw, at, len)
			if more.mask then n = masked(n, more.mask) end
			if kind == "int16" then n = signed16(n) end
			if more.reserved and n ~= 0 then bad = true end
			v[fname] = n
		end
		if not more.when or (more.when == "probe") == (v.pr == 1) then
			items[fname] = sub:add(fields[name .. "." .. fname], range:range(at, len))
		end
	end
	v.items = items
	-- RoCE v2 has the congestion bits of InfiniBand in the variant byte.
	if bad then sub:add_proto_expert_info(experts.reserved) end
	if v.timestamp and v.timestamp ~= 0 then show_time(items.timestamp, v.timestamp, v) end
	return v
end

local function generated(tree, name, value)
	local item = tree:add(fields[name], value)
	item:set_generated()
	return item
end

headers.generated = generated

-- What is more to say about a header. Each function gets the values and the packet.
local more = {}

function more.immdt(v)
	local bytes = v.raw:sub(1, 4)
	if bytes:find("^[\32-\126]+$") then generated(v.item, "immediate.text", bytes) end
end

function more.opeth(v, p)
	if p.op.name ~= "FLUSH" then return end
	local flags = v.raw:byte(8)
	generated(v.item, "flush.global", flags % 2 == 1)
	generated(v.item, "flush.persistent", floor(flags / 2) % 2 == 1)
	generated(v.item, "flush.level", floor(flags / 16))
end

function more.aeth(v, p)
	p.syndrome = v.syndrome
	if v.syndrome == 0x1F and p.bth.r == 1 and p.bth.c == 0 then
		generated(v.item, "recvs", v.msn % 65536)
		v.items.msn:append_text(" (receives, not messages: R is set)")
	elseif v.syndrome >= 0x20 and v.syndrome <= 0x3F then
		v.items.syndrome:append_text(" (RNR NAK of InfiniBand, not used by MRC)")
	end
	local name = defs.syndromes[v.syndrome] or string.format("syndrome 0x%02x", v.syndrome)
	p.info[#p.info + 1] = name
	if v.syndrome ~= 0x1F then
		v.item:add_proto_expert_info(experts.nak, "Message failed: " .. name)
	end
end

local function skip_text(m)
	return m == 1 and "skip it once" or m == 2 and "skip it always" or "reserved state"
end

function more.seth(v, p)
	p.cack, p.entropy = v.cack_psn, v.entropy
	local base = (v.cack_psn + v.sack_offset) % defs.PSN_MOD
	local trigger
	if v.pr == 0 then
		trigger = (v.cack_psn + v.ack_psn_offset) % defs.PSN_MOD
		generated(v.item, "ack_psn", trigger)
	end
	p.ack_psn = trigger
	p.probe = v.pr == 1 and v.probe_id or nil
	p.received, p.missing = flow.map(v.raw:sub(21, 28), base, v.cack_psn, trigger)
	generated(v.item, "base_psn", base)
	local map = v.items.sack_bitmap
	for _, psn in ipairs(p.received) do generated(map, "received", psn) end
	for _, psn in ipairs(p.missing) do generated(map, "missing", psn) end
	local text = string.format("up to %d", v.cack_psn)
	if #p.received > 0 then text = text .. ", " .. flow.ranges(p.received) end
	if #p.missing > 0 then text = text .. "; missing " .. flow.ranges(p.missing) end
	generated(v.item, "sack", text)
	if v.mpr > 0 then v.items.mpr:append_text(string.format(" (%d PSNs)", v.mpr * 128)) end
	p.mpr, p.ids, p.m = v.mpr, { v.spdcid, v.dpdcid }, v.m
	p.info[#p.info + 1] = text
	if v.pr == 1 then p.info[#p.info + 1] = string.format("probe 0x%04x", v.probe_id) end
	if v.m ~= 0 then
		v.item:add_proto_expert_info(experts.skip,
			"SACK reports the path: " .. skip_text(v.m))
		p.info[#p.info + 1] = defs.path_states[v.m]
	end
end

function more.cc(v, p)
	p.echo = v.timestamp
	v.items.rcvd_bytes:append_text(string.format(" (%d bytes)", v.rcvd_bytes * 256))
end

function more.neth(v, p)
	p.entropy, p.echo, p.nack_psn = v.entropy, v.timestamp, v.nack_psn
	p.ids, p.reason = { v.spdcid, v.dpdcid }, v.reason
	local name = defs.nack_reasons[v.reason] or string.format("reason 0x%02x", v.reason)
	generated(v.item, "nack.code", name)
	p.info[#p.info + 1] = string.format("%s psn %d", name, v.nack_psn)
	if v.reason == 0x19 then
		v.item:add_proto_expert_info(experts.unexpected)
	else
		v.item:add_proto_expert_info(experts.nack, "Packet refused: " .. name)
	end
	-- The extension: byte 3 of a NACK for lack of a receive.
	if v.reason == 0x0A and v.vendor_info >= 128 then
		local page = floor(v.vendor_info / 64) % 2 == 1
		local ms = defs.rnr_times[v.vendor_info % 32]
		generated(v.item, "rnr", true)
		generated(v.item, "rnr.page", page)
		generated(v.item, "rnr.ms", ms)
		local text = string.format("%s, again after %.2f ms",
			page and "memory is fetched" or "no receive", ms)
		v.item:add_proto_expert_info(experts.rnr)
		p.info[#p.info + 1] = text
	end
end

function more.peth(v, p)
	p.probe, p.ids = v.probe_id, { v.spdcid, v.dpdcid }
	p.info[#p.info + 1] = string.format("probe 0x%04x", v.probe_id)
end

local function endpoint(v, p)
	p.request_id = p.bth.psn % 65536
	generated(v.item, "request_id", p.request_id)
	p.info[#p.info + 1] = string.format("%s id 0x%04x", defs.endpoint_ops[v.op], p.request_id)
end

function more.erth(v, p)
	endpoint(v, p)
	if v.op ~= 0 then return end
	local up = {}
	for port = 0, 31 do
		if floor(v.port_status_mask / 2 ^ port) % 2 == 1 then
			up[#up + 1] = string.format("%d", port)
			generated(v.items.port_status_mask, "port_up", port)
		end
	end
	local text = #up > 0 and "ports up: " .. table.concat(up, ", ") or "no port is up"
	v.items.port_status_mask:append_text(" (" .. text .. ")")
	p.info[#p.info + 1] = text
end

more.eeth = endpoint

function headers.more(name, v, p)
	if more[name] then more[name](v, p) end
end

return headers
end

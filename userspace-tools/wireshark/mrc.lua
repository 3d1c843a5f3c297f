-- SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
--
-- Wireshark dissector of MRC 1.0 (Multipath Reliable Connection) and of the extension of
-- Soft MRC, over UDP. Documentation/wireshark.md says how to install and use it.
--
-- For Wireshark 4.0 and later, thus for Lua 5.2 to 5.4: no operators of 5.3, no bit32
-- without asking whether it is there.
--
-- The other files of this folder are parts of this one. Wireshark runs them by themselves
-- too when the folder lies among its plugins. They only return tables or functions then.

-- Installed as a plugin and given with -X lua_script: the first one counts.
if mrc_dissector_loaded then return end
mrc_dissector_loaded = true

local args = { ... }
local folder = __DIR__ or ""
-- Wireshark 4.4 says nothing of it to a plugin.
if folder == "" then
	folder = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
end
if folder ~= "" and not folder:find("[/\\]$") then folder = folder .. package.config:sub(1, 1) end

local function part(name)
	return dofile(folder .. name)
end

local defs = part("mrc_defs.lua")
local icrc = part("mrc_icrc.lua")
local outer = part("mrc_outer.lua")
local flow = part("mrc_flow.lua")

local mrc = Proto("mrc", "Multipath Reliable Connection")

-- --- fields -------------------------------------------------------------------------

local fields, experts = {}, {}

local function make_field(name, kind, text, more)
	more = more or {}
	local abbr = "mrc." .. name
	local values = more.values and defs[more.values] or nil
	local new = ProtoField[kind]
	if kind == "bool" then
		-- The second argument of a mask is how many bits are shown.
		if more.mask then return new(abbr, text, more.width, nil, more.mask) end
		return new(abbr, text)
	elseif kind == "bytes" or kind == "string" or kind == "ipv6" or kind == "double" or
		kind == "relative_time" or kind == "framenum" then
		return new(abbr, text)
	end
	return new(abbr, text, base[more.base], values, more.mask)
end

local list = {}
for _, header in ipairs(defs.header_order) do
	local layout = defs.headers[header]
	fields[header] = ProtoField.none("mrc." .. header, layout.title)
	list[#list + 1] = fields[header]
	for _, f in ipairs(layout) do
		local more = f[6]
		more.width = f[3] * 8
		local name = header .. "." .. f[1]
		fields[name] = make_field(name, f[4], f[5], more)
		list[#list + 1] = fields[name]
	end
end
for _, f in ipairs(defs.generated) do
	fields[f[1]] = make_field(f[1], f[2], f[3], f[4])
	list[#list + 1] = fields[f[1]]
end
mrc.fields = list

local expert_list = {}
for _, e in ipairs(defs.experts) do
	experts[e[1]] = ProtoExpert.new("mrc.expert." .. e[1], e[4], expert.group[e[2]],
		expert.severity[e[3]])
	expert_list[#expert_list + 1] = experts[e[1]]
end
mrc.experts = expert_list

local headers = part("mrc_headers.lua")(defs, flow, fields, experts)
local generated = headers.generated

-- --- preferences --------------------------------------------------------------------

local ROCE_PORT = 4791
local prefs = mrc.prefs

prefs.ports = Pref.range("UDP ports", "4791,4971",
	"Destination ports of MRC. 4791 is that of RoCE v2, too.", 65535)
prefs.roce_port = Pref.bool("Use port 4791", true,
	"Packets to port 4791 whose opcode is one of MRC are MRC; others go to the built-in " ..
	"dissector of RoCE v2. Off: all of them do.")
prefs.icrc = Pref.bool("Check the ICRC", true, "Calculate the ICRC and compare it.")
prefs.track = Pref.bool("Match packets", true,
	"Find the packets that feedback answers, retransmissions and times.")
prefs.mpr = Pref.uint("Window (MPR)", 0,
	"Largest range of PSNs in units of 128, for packets beyond the window. 0: what SACKs " ..
	"say, or else the largest possible, 255.")
prefs.plane = Pref.enum("Plane", outer.PLANE_AUTO, "How the plane of a packet is found.", {
	{ 1, "mrclab's addresses, else the name of the interface", outer.PLANE_AUTO },
	{ 2, "mrclab's addresses", outer.PLANE_LAB },
	{ 3, "uSID: plane, 8 bits of role, 4 bits of index", outer.PLANE_ROLE },
	{ 4, "name of the interface: p1 is plane 1", outer.PLANE_NAME },
	{ 5, "number of the interface in the capture", outer.PLANE_ID },
	{ 6, "not at all", outer.PLANE_NONE },
}, false)
prefs.dscp_no_trim = Pref.uint("DSCP of NO_TRIM", 0, "Data that must not be trimmed")
prefs.dscp_trimmable = Pref.uint("DSCP of TRIMMABLE", 4, "First transmissions")
prefs.dscp_trimmable_retx = Pref.uint("DSCP of TRIMMABLE_RETX", 8, "Retransmissions")
prefs.dscp_trimmed = Pref.uint("DSCP of TRIMMED", 12, "Packets that a switch has trimmed")
prefs.dscp_trimmed_lasthop = Pref.uint("DSCP of TRIMMED_LASTHOP", 16,
	"Packets that the last switch has trimmed")
prefs.dscp_control = Pref.uint("DSCP of CONTROL", 46, "SACK, NACK, ACK, responses")
prefs.stats = Pref.string("Statistics", "",
	"Tables to print at the end: ev, plane, flow, separated by commas")

local function class_of(dscp)
	if not dscp then return nil end
	if dscp == prefs.dscp_trimmed then return "TRIMMED" end
	if dscp == prefs.dscp_trimmed_lasthop then return "TRIMMED_LASTHOP" end
	if dscp == prefs.dscp_control then return "CONTROL" end
	if dscp == prefs.dscp_trimmable then return "TRIMMABLE" end
	if dscp == prefs.dscp_trimmable_retx then return "TRIMMABLE_RETX" end
	if dscp == prefs.dscp_no_trim then return "NO_TRIM" end
	return "other"
end

-- --- one packet ---------------------------------------------------------------------

-- What was dissected in each frame, for the statistics.
local packets = {}
local stats = part("mrc_stats.lua")(outer.address_text, packets)

-- Adds an error of length. have: bytes that are left for a header that needs need.
local function cut_short(p, tree, name, range, need)
	local have = range and range:len() or 0
	if have > 0 then tree:add(fields.cut, range) end
	local text = string.format("%s needs %d bytes, %d are left", name, need, have)
	if p.trimmed then
		tree:append_text(", " .. name .. " trimmed")
	elseif p.snapped then
		tree:add_proto_expert_info(experts.capture, "Packet cut short by the capture: " .. text)
	else
		tree:add_proto_expert_info(experts.short, "Packet cut short: " .. text)
		p.info[#p.info + 1] = "[cut short]"
	end
	p.short = true
end

-- Bytes of the tvb from at to the end, or nil.
local function tail(tvb, at)
	local left = tvb:captured_len() - at
	return left > 0 and tvb:range(at, left) or nil
end

-- Shows the headers behind the BTH. Returns where they end, or nil if they are not complete.
local function show_headers(p, tvb, tree)
	local at = defs.BTH_LEN
	local names = {}
	for _, name in ipairs(p.op.headers) do
		names[#names + 1] = name
		if name == "meth" and p.bth.ts == 1 then names[#names + 1] = "tseth" end
	end
	for _, name in ipairs(names) do
		local len = defs.headers[name].len
		if at + len > p.limit then
			local left = p.limit - at
			cut_short(p, tree, defs.headers[name].title, left > 0 and tvb:range(at, left),
				len)
			return nil
		end
		local v = headers.show(name, tvb:range(at, len), tree)
		p[name] = v
		headers.more(name, v, p)
		at = at + len
	end
	return at
end

local function show_icrc(p, tvb, tree, range)
	local status, calculated = 2, nil
	if p.ctx.whole and prefs.icrc and not p.snapped then
		local len = tvb:captured_len() - defs.ICRC_LEN
		calculated = icrc.calculate(p.ctx.inner.raw, p.ctx.udp, tvb:raw(0, len))
		status = calculated == range:le_uint() and 1 or 0
	end
	local item = tree:add_le(fields.icrc, range)
	item:append_text(" (" .. defs.icrc_status[status] .. ")")
	if calculated then generated(item, "icrc.calculated", calculated) end
	generated(item, "icrc.status", status)
	p.wrong_icrc = status == 0
	if status == 0 then
		item:add_proto_expert_info(experts.icrc)
		p.info[#p.info + 1] = "[wrong ICRC]"
	end
end

-- Payload, padding and ICRC: what lies behind the headers.
local function show_payload(p, tvb, tree, at)
	local rest = p.len - at - p.icrc_len
	if p.op.kind ~= "data" then
		if rest > 0 or p.bth.pad > 0 then
			tree:add_proto_expert_info(experts.length,
				"Payload or pad count in a packet that has none")
		end
		p.payload = 0
		if rest > 0 and p.limit > at then
			tree:add(fields.payload, tvb:range(at, math.min(rest, p.limit - at)))
		end
		return
	end
	local payload = rest - (p.trimmed and 0 or p.bth.pad)
	if payload < 0 then
		tree:add_proto_expert_info(experts.length, "Pad count is more than the payload")
		payload = 0
	elseif not p.trimmed and rest % 4 ~= 0 then
		tree:add_proto_expert_info(experts.length,
			"Payload and padding are no multiple of four bytes")
	end
	p.payload = payload
	local there = math.min(payload, p.limit - at)
	if there > 0 then tree:add(fields.payload, tvb:range(at, there)) end
	generated(tree, "payload_len", payload)
	there = math.min(rest - payload, p.limit - at - payload)
	if there > 0 then tree:add(fields.pad, tvb:range(at + payload, there)) end
end

local function show_path(p, tree)
	local ctx = p.ctx
	local item = generated(tree, "ev", ctx.ev)
	if ctx.outer then outer.show(ctx, tree, fields) end
	if ctx.plane then generated(tree, "plane", ctx.plane) end
	if ctx.dscp then
		item = generated(tree, "class", class_of(ctx.dscp))
		generated(item, "dscp", ctx.dscp)
		generated(item, "ecn", ctx.ecn)
	end
	if p.ce then
		tree:add_proto_expert_info(experts.ce)
		p.info[#p.info + 1] = "[CE]"
	end
	if p.trimmed then
		generated(tree, "trimmed", true)
		generated(tree, "trimmed.lasthop", p.lasthop)
		tree:add_proto_expert_info(experts.trimmed, p.lasthop and
			"Trimmed by the last switch" or "Trimmed by a switch")
		p.info[#p.info + 1] = p.lasthop and "[trimmed on the last hop]" or "[trimmed]"
	end
end

local function frame(tree, name, n, number)
	if n and n ~= number then generated(tree, name, n) end
end

local function show_found(p, tree)
	local f, number = p.found, p.number
	if f.flow then generated(tree, "flow", f.flow.id) end
	frame(tree, "same_as", f.same_as, number)
	frame(tree, "first_in", f.first_in, number)
	frame(tree, "previous_in", f.previous_in, number)
	local copy = f.copy
	if copy then
		if copy.index then generated(tree, "copy", copy.index) end
		frame(tree, "next_in", copy.next_in, number)
		frame(tree, "response_in", copy.response_in, number)
		frame(tree, "nacked_in", copy.nacked_in, number)
	end
	if f.record then
		frame(tree, "acked_in", f.record.acked_in, number)
		frame(tree, "executed_in", f.record.executed_in, number)
	end
	frame(tree, "response_to", f.response_to, number)
	if f.rtt and f.rtt >= 0 then
		local s = math.floor(f.rtt)
		generated(tree, "rtt", NSTime.new(s, math.floor((f.rtt - s) * 1e9 + 0.5)))
	end
	if f.newly then generated(tree, "newly", f.newly) end
end

local function note(p, tree, name, text)
	if text then
		tree:add_proto_expert_info(experts[name], text)
	else
		tree:add_proto_expert_info(experts[name])
	end
end

local function show_sequence(p, tree)
	local f = p.found
	if f.same_as and not p.trimmed then
		note(p, tree, "duplicate")
		p.info[#p.info + 1] = "[duplicate]"
	elseif f.spurious_of and f.spurious_of ~= p.number then
		note(p, tree, "spurious")
		p.info[#p.info + 1] = "[spurious retransmission]"
	elseif p.what == "data" and p.rtx and not f.same_as then
		note(p, tree, "retransmission", not f.previous_in and
			"Retransmission; the first one is not in the capture" or nil)
		p.info[#p.info + 1] = "[retransmission]"
	end
	if f.unmarked then
		note(p, tree, "unmarked")
		p.info[#p.info + 1] = "[rtx not set]"
	end
	if f.beyond then
		note(p, tree, "window")
		p.info[#p.info + 1] = "[beyond the window]"
	end
	if prefs.track and not f.response_to and not p.short and
		(f.flow and (p.what == "sack" or p.what == "nack") or
		p.what == "endpoint_response") then
		note(p, tree, "unknown")
	end
end

local whats = {
	[0xD1] = "ack", [0xD8] = "endpoint_request", [0xD9] = "endpoint_response",
	[0xDC] = "sack", [0xDD] = "nack", [0xDE] = "probe",
}

-- Tells the tracker what it needs of a packet.
local function track(p, tvb, pinfo)
	p.found = {}
	if not prefs.track or p.tver ~= 0 or pinfo.in_error_pkt then return end
	-- Receivers drop it, and its fields may be wrong.
	if p.wrong_icrc then return end
	-- Where the traffic class is not known, a short packet can be a trimmed one.
	if p.short and not (p.what == "data" and (p.trimmed or p.snapped or p.partial)) then
		return
	end
	local q = {
		what = p.what, number = p.number, time = pinfo.rel_ts, src = p.src, dst = p.dst,
		dqp = p.bth.dqp, c = p.bth.c, psn = p.bth.psn, ev = p.ev, rtx = p.rtx,
		stamp = p.tseth and p.tseth.timestamp or nil, partial = p.partial,
		window = prefs.mpr > 0 and prefs.mpr * 128 or nil,
	}
	if p.what == "data" then
		q.request = p.op.request and p.meth ~= nil
		q.answer = p.op.answer and p.meth ~= nil
		if p.meth then q.rqmsn, q.msn = p.meth.rqmsn, p.meth.msn end
	elseif p.what == "sack" then
		q.cack, q.ack_psn, q.received, q.probe = p.cack, p.ack_psn, p.received, p.probe
		q.entropy, q.echo, q.ids, q.mpr = p.entropy, p.echo, p.ids, p.mpr
	elseif p.what == "nack" then
		q.psn, q.entropy, q.echo, q.ids = p.nack_psn, p.entropy, p.echo, p.ids
	elseif p.what == "ack" then
		q.ok = p.syndrome == 0x1F
	elseif p.what == "probe" then
		q.probe, q.ids = p.probe, p.ids
	else
		q.id = p.request_id
	end
	p.found = flow.look(q, string.format("%d.%d", p.number, tvb:offset()), pinfo.visited)
end

local function check_bth(p, tree)
	if p.tver ~= 0 then note(p, p.bth.item, "tver") end
	if not p.op then
		note(p, p.bth.item, "opcode")
		return
	end
	local c = p.bth.c == 1
	if p.op.kind == "data" and c ~= (p.op.answer == true) or
		p.op.kind == "endpoint" and c then
		note(p, p.bth.item, "channel", c and "C is set in a packet of the ordinary channel" or
			"C is not set in a packet of the answer channel")
	end
end

local function first_words(p)
	local words = { p.op and p.op.name or string.format("opcode 0x%02x", p.bth.opcode) }
	if not p.op or p.op.kind ~= "endpoint" then
		words[#words + 1] = string.format("qp 0x%06x", p.bth.dqp)
	end
	if p.what == "data" or p.what == "ack" or not p.op then
		words[#words + 1] = string.format("psn %d", p.bth.psn)
	end
	if p.op and p.bth.c == 1 then words[#words + 1] = "C" end
	return words
end

local function message_words(p)
	if p.meth then p.info[#p.info + 1] = string.format("msn %d", p.meth.msn) end
	if p.reth then p.info[#p.info + 1] = string.format("dmalen %d", p.reth.dmalen) end
	if p.immdt then p.info[#p.info + 1] = string.format("imm 0x%08x", p.immdt.imm) end
	if p.payload and p.payload > 0 then
		p.info[#p.info + 1] = string.format("%d bytes", p.payload)
	end
end

local function columns(p, pinfo)
	pinfo.cols.protocol = "MRC"
	pinfo.cols.info = table.concat(p.info, " ")
end

-- A packet of which not even the BTH is there.
local function too_short(p, tvb, pinfo, tree)
	p.info[1] = "MRC"
	cut_short(p, tree, defs.headers.bth.title, tail(tvb, 0), defs.BTH_LEN)
	columns(p, pinfo)
end

local function dissect(tvb, pinfo, root)
	local captured, reported = tvb:captured_len(), tvb:reported_len()
	local p = { number = pinfo.number, len = reported, limit = captured, info = {},
		    snapped = captured < reported, found = {} }
	local tree = root:add(mrc, tvb:range(0, captured))
	p.ctx = outer.look(tvb, pinfo, prefs.plane)
	local ctx = p.ctx
	local class = class_of(ctx.dscp)
	if captured < defs.BTH_LEN then return too_short(p, tvb, pinfo, tree) end
	p.bth = headers.show("bth", tvb:range(0, defs.BTH_LEN), tree)
	p.op, p.tver = defs.opcodes[p.bth.opcode], p.bth.tver
	p.what = p.op and (p.op.kind == "data" and "data" or whats[p.bth.opcode]) or "other"
	p.rtx = p.bth.rtx == 1
	p.trimmed = p.what == "data" and (class == "TRIMMED" or class == "TRIMMED_LASTHOP")
	p.lasthop = p.trimmed and class == "TRIMMED_LASTHOP"
	p.ev, p.plane = ctx.ev, ctx.plane
	p.ce = ctx.ecn == 3
	-- Fields of other dissectors are missing in the first of two passes (tshark -2) if
	-- nothing needs them.
	p.partial = ctx.inner == nil
	p.src = ctx.inner and ctx.inner.src or tostring(pinfo.src)
	p.dst = ctx.inner and ctx.inner.dst or tostring(pinfo.dst)
	p.info = first_words(p)
	-- What is trimmed has no ICRC, and its length fields need not be true.
	if p.trimmed or p.partial and p.what == "data" then
		p.len, p.snapped, p.icrc_len = captured, false, 0
	else
		p.icrc_len = defs.ICRC_LEN
		if reported < defs.BTH_LEN + defs.ICRC_LEN then p.icrc_len = 0 end
		p.limit = math.min(captured, reported - p.icrc_len)
	end
	check_bth(p, tree)
	if p.op then
		local at = show_headers(p, tvb, tree)
		if at then show_payload(p, tvb, tree, at) end
		message_words(p)
	elseif p.limit > defs.BTH_LEN then
		tree:add(fields.payload, tvb:range(defs.BTH_LEN, p.limit - defs.BTH_LEN))
	end
	if not p.trimmed then
		if captured == reported and p.icrc_len > 0 then
			show_icrc(p, tvb, tree, tvb:range(reported - defs.ICRC_LEN, defs.ICRC_LEN))
		elseif not p.short then
			cut_short(p, tree, "ICRC", nil, defs.ICRC_LEN)
		end
	end
	track(p, tvb, pinfo)
	show_path(p, tree)
	show_found(p, tree)
	show_sequence(p, tree)
	tree:append_text(", " .. table.concat(first_words(p), " "))
	columns(p, pinfo)
	-- Statistics need the addresses and the plane.
	if stats.active and not p.partial then
		if p.found.copy then p.found.copy.plane = p.plane end
		packets[p.number] = { len = pinfo.len, what = p.what, src = p.src, dst = p.dst,
			ev = p.ev, plane = p.plane, rtx = p.rtx, ce = p.ce, trimmed = p.trimmed,
			entropy = p.entropy, m = p.m, found = p.found }
	end
end

-- --- who gets a packet --------------------------------------------------------------

-- The dissectors that had the ports before, by port, and that of RoCE v2, which may be on
-- any port that MRC is on.
local former = {}
local roce = DissectorTable.get("udp.port"):get_dissector(ROCE_PORT)

function mrc.dissector(tvb, pinfo, tree)
	local port = former[pinfo.dst_port] and pinfo.dst_port or pinfo.src_port
	local other = former[port] or roce
	-- RoCE v2 and MRC have no opcode in common. Without an opcode nobody can tell.
	if other and tvb:captured_len() > 0 and not defs.is_mrc(tvb:range(0, 1):uint()) then
		-- What it would call a malformed packet arrives here as an error of Lua.
		local ok = pcall(other.call, other, tvb, pinfo, tree)
		if not ok then
			tree:add_expert_info(PI_MALFORMED, PI_ERROR, "Malformed packet of RoCE v2")
			pinfo.cols.info:append("[Malformed Packet]")
		end
		return tvb:captured_len()
	end
	dissect(tvb, pinfo, tree)
	return tvb:captured_len()
end

function mrc.init()
	flow.reset()
	for number in pairs(packets) do packets[number] = nil end
end

-- The numbers of a text such as "4791,4971,5000-5003"; ranges of more than 1000 are cut.
local function ports_of(text)
	local ports = {}
	for from, to in text:gmatch("(%d+)%s*%-?%s*(%d*)") do
		from, to = tonumber(from), tonumber(to ~= "" and to or from)
		for port = from, math.min(to, from + 999, 65535) do ports[port] = true end
	end
	return ports
end

local claimed = {}

local function claim_ports()
	local udp = DissectorTable.get("udp.port")
	local wanted = ports_of(prefs.ports)
	if not prefs.roce_port then wanted[ROCE_PORT] = nil end
	for port in pairs(claimed) do
		if not wanted[port] then
			udp:remove(port, mrc)
			if former[port] then udp:add(port, former[port]) end
			claimed[port], former[port] = nil, nil
		end
	end
	for port in pairs(wanted) do
		if not claimed[port] then
			former[port] = udp:get_dissector(port)
			udp:add(port, mrc)
			claimed[port] = true
		end
	end
end

local function want_stats(names)
	local unknown = stats.want(names)
	if unknown then
		report_failure(string.format("MRC: no statistics '%s'; there are ev, plane, flow",
			unknown))
	end
end

function mrc.prefs_changed()
	claim_ports()
	if prefs.stats ~= "" then want_stats(prefs.stats) end
end

claim_ports()
-- -X lua_script1:ev,plane
if args[1] then want_stats(table.concat(args, ",")) end

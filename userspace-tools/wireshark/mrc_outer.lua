-- SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
--
-- What surrounds an MRC packet: IP headers, traffic class, entropy value, SRv6 and plane.
-- A dissector of UDP gets only the UDP payload. The headers before it are read back from
-- fields of other dissectors.

local outer = {}

local floor = math.floor

local field_ip = Field.new("ip")
local field_ipv6 = Field.new("ipv6")
local field_udp = Field.new("udp")
local field_eth_src = Field.new("eth.src")
local field_interface_id = Field.new("frame.interface_id")
local field_interface_name = Field.new("frame.interface_name")
local field_segment = Field.new("ipv6.routing.srh.addr")
local field_left = Field.new("ipv6.routing.segleft")

local function number(s, at, bytes)
	local n = 0
	for i = at, at + bytes - 1 do n = n * 256 + s:byte(i) end
	return n
end

-- An IP header of the packet, or nil if it was cut.
local function ip_header(info)
	local least = info.name == "ip" and 20 or 40
	local range = info.range
	if range:len() < least then return nil end
	local h = { at = info.offset, range = range }
	local first = range:raw(0, 1)
	if least == 20 then
		local len = first:byte() % 16 * 4
		if len < 20 or len > range:len() then return nil end
		h.version, h.len, h.raw = 4, len, range:raw(0, len)
		h.tos, h.flow, h.next = h.raw:byte(2), 0, h.raw:byte(10)
		h.src, h.dst = h.raw:sub(13, 16), h.raw:sub(17, 20)
	else
		h.version, h.len, h.raw = 6, 40, range:raw(0, 40)
		local word = number(h.raw, 1, 4)
		h.tos, h.flow = floor(word / 1048576) % 256, word % 1048576
		h.next = h.raw:byte(7)
		h.src, h.dst = h.raw:sub(9, 24), h.raw:sub(25, 40)
	end
	return h
end

local function ip_headers()
	local list = {}
	for _, field in ipairs({ field_ip, field_ipv6 }) do
		for _, info in ipairs({ field() }) do
			local h = ip_header(info)
			if h then list[#list + 1] = h end
		end
	end
	table.sort(list, function(a, b) return a.at < b.at end)
	return list
end

-- Text of an address, also without name resolution.
function outer.address_text(raw)
	if #raw == 4 then return table.concat({ raw:byte(1, 4) }, ".") end
	local groups, best, length, run = {}, nil, 1, 0
	for i = 0, 7 do
		groups[i] = number(raw, i * 2 + 1, 2)
		run = groups[i] == 0 and run + 1 or 0
		if run > length then best, length = i - run + 1, run end
	end
	local text, i = "", 0
	while i < 8 do
		if i == best then
			text, i = text .. "::", i + length
		else
			local glue = (text == "" or text:sub(-1) == ":") and "" or ":"
			text, i = text .. glue .. string.format("%x", groups[i]), i + 1
		end
	end
	return text
end

-- uSIDs of a destination: what follows the block of 32 bits, up to the first zero.
local function usids_of(address, list)
	for i = 5, 15, 2 do
		local usid = number(address, i, 2)
		if usid == 0 then break end
		list[#list + 1] = usid
	end
end

-- How mrclab numbers a fabric: uSIDs 0x01LL are T0s, 0x02SS T1s, 0x03HH hosts. The outer
-- source is BLOCK:2:PLANE:..., hardware addresses are 02:f0:PLANE:....
local function lab_source(o)
	return o.src:sub(1, 2) == o.dst:sub(1, 2) and number(o.src, 3, 2) == 2 and
		number(o.dst, 3, 2) == 0
end

local lab_kinds = { [1] = "t0", [2] = "t1", [3] = "host" }

local function lab_usids(ctx)
	for _, usid in ipairs(ctx.usids) do
		local kind = lab_kinds[floor(usid / 256)]
		if kind then
			ctx.nodes[#ctx.nodes + 1] = { kind = kind, number = usid % 256, usid = usid }
		end
	end
end

-- Another numbering: plane in the upper four bits, then eight of the role, then four of
-- the index.
local role_kinds = { [1] = "t1", [2] = "t0", [3] = "host" }

local function role_usids(ctx)
	for _, usid in ipairs(ctx.usids) do
		local kind = role_kinds[floor(usid / 16) % 256]
		if kind then
			ctx.nodes[#ctx.nodes + 1] = { kind = kind, number = usid % 16, usid = usid }
			ctx.plane = ctx.plane or floor(usid / 4096)
		end
	end
end

local function plane_of_mac()
	local info = field_eth_src()
	if not info or info.range:len() < 6 then return nil end
	local mac = info.range:raw(0, 6)
	local kinds = mac:byte(4)
	if mac:sub(1, 2) ~= "\2\240" then return nil end
	if kinds % 16 < 1 or kinds % 16 > 3 or floor(kinds / 16) < 1 or floor(kinds / 16) > 3 then
		return nil
	end
	return mac:byte(3)
end

local function plane_of_interface_name()
	local info = field_interface_name()
	local digits = info and tostring(info.value):match("^p(%d+)")
	return digits and #digits < 4 and tonumber(digits) or nil
end

-- Values of the preference.
outer.PLANE_AUTO, outer.PLANE_LAB, outer.PLANE_ROLE, outer.PLANE_NAME, outer.PLANE_ID,
	outer.PLANE_NONE = 0, 1, 2, 3, 4, 5

local function find_plane(ctx, how)
	if how == outer.PLANE_NONE then return end
	if how == outer.PLANE_ROLE then
		role_usids(ctx)
	elseif how == outer.PLANE_NAME then
		ctx.plane = plane_of_interface_name()
	elseif how == outer.PLANE_ID then
		local info = field_interface_id()
		ctx.plane = info and info.value + 1 or nil
	elseif ctx.outer and lab_source(ctx.outer) then
		ctx.plane = number(ctx.outer.src, 5, 2)
		lab_usids(ctx)
	else
		ctx.plane = plane_of_mac()
		if not ctx.plane and how == outer.PLANE_AUTO then
			ctx.plane = plane_of_interface_name()
		end
	end
	-- The field has eight bits.
	if ctx.plane and ctx.plane > 255 then ctx.plane = nil end
end

local function find_segments(ctx)
	local left = field_left()
	ctx.segments = {}
	for _, info in ipairs({ field_segment() }) do
		if info.range:len() >= 16 then
			ctx.segments[#ctx.segments + 1] = info.range
			-- The last one of a list with segments left is where the path goes on.
			if left and left.value > 0 then usids_of(info.range:raw(0, 16), ctx.usids) end
		end
	end
end

-- Everything that is known about the packet whose UDP payload is tvb:
--   inner, outer	IP headers; outer only if it is an IPv6 header around the inner one
--   udp		the UDP header, a string
--   dscp, ecn	of the outermost IP header
--   ev		entropy value
--   usids, nodes, segments, plane
-- Parts that cannot be found are nil.
function outer.look(tvb, pinfo, plane_from)
	local ctx = { usids = {}, nodes = {}, segments = {} }
	local list = ip_headers()
	local inner = list[#list]
	local udp
	for _, info in ipairs({ field_udp() }) do udp = info end
	if udp and udp.range:len() >= 8 then
		ctx.udp = udp.range:raw(0, 8)
	end
	ctx.sport = pinfo.src_port
	ctx.ev = pinfo.src_port % 65536
	if not inner then return ctx end
	ctx.inner = inner
	-- Header after header without a gap: what the ICRC covers. Fragments and packets with
	-- extension headers have other offsets.
	ctx.whole = udp and ctx.udp and inner.at + inner.len == udp.offset and
		udp.offset + 8 == tvb:offset() and not pinfo.in_error_pkt
	ctx.ev = inner.flow % 65536 * 65536 + ctx.ev
	local first = list[1]
	ctx.dscp, ctx.ecn = floor(first.tos / 4), first.tos % 4
	if first ~= inner and first.version == 6 and
		(first.next == 4 or first.next == 41 or first.next == 43) then
		ctx.outer = first
		usids_of(first.dst, ctx.usids)
		find_segments(ctx)
	end
	find_plane(ctx, plane_from)
	return ctx
end

local function node_text(node)
	return (node.kind == "host" and "host " or node.kind:upper() .. " ") ..
		string.format("%d", node.number)
end

-- Shows the outer header in the tree.
function outer.show(ctx, tree, fields)
	local o = ctx.outer
	local sub = tree:add(fields["srv6.dst"], o.range:range(24, 16))
	local text = {}
	for _, usid in ipairs(ctx.usids) do text[#text + 1] = string.format("%04x", usid) end
	sub:append_text(", uSIDs " .. (#text > 0 and table.concat(text, " ") or "used up"))
	sub:add(fields["srv6.src"], o.range:range(8, 16))
	sub:add(fields["srv6.block"], o.range:range(24, 4))
	for _, range in ipairs(ctx.segments) do sub:add(fields["srv6.segment"], range:range(0, 16)) end
	for _, usid in ipairs(ctx.usids) do
		sub:add(fields["srv6.usid"], usid):set_generated()
	end
	for _, node in ipairs(ctx.nodes) do
		local item = sub:add(fields["srv6." .. node.kind], node.number)
		item:set_generated()
		item:append_text(string.format(", uSID %04x", node.usid))
	end
	text = {}
	for _, node in ipairs(ctx.nodes) do text[#text + 1] = node_text(node) end
	if #text > 0 then sub:append_text(": " .. table.concat(text, ", ")) end
end

return outer

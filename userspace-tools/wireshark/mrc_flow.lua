-- SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
--
-- Which packet answers which. Packets are looked at once, in the order of the capture; what
-- is found is kept and shown whenever the packet is dissected again. No call of Wireshark.
--
-- A flow is one direction of a connection: data from src to dst with the destination QPN
-- dqp, and the feedback that comes back for it. The answer channel (C) is a flow of its own.

local flow = {}

local floor = math.floor
local PSN_MOD, PSN_HALF = 16777216, 8388608
local LARGEST_WINDOW = 255 * 128
-- So many flows between two addresses are looked through for a PSN.
local SEARCH = 256
-- So many transmissions of a PSN are looked at.
local COPIES = 64

local state

function flow.reset()
	state = {
		flows = {},	-- by addresses, QPN and channel
		count = 0,
		between = {},	-- lists of flows, by addresses and channel
		peer = {},	-- the QPN of the data, by addresses and QPN of the feedback
		endpoint = {},	-- requests by addresses and id
		packets = {},	-- what was found, by packet
	}
end

flow.reset()

-- Distance of two PSNs, from -2^23 to 2^23 - 1.
local function distance(a, b)
	local d = (a - b) % PSN_MOD
	return d < PSN_HALF and d or d - PSN_MOD
end

flow.distance = distance

local function get_flow(src, dst, dqp, c, make)
	local key = src .. dst .. string.format("%d.%d", dqp, c)
	local f = state.flows[key]
	if f or not make then return f end
	f = { id = state.count, src = src, dst = dst, dqp = dqp, c = c, data = {}, probes = {},
	      requests = {} }
	state.count = state.count + 1
	state.flows[key] = f
	local pair = src .. dst .. c
	local list = state.between[pair]
	if not list then
		list = {}
		state.between[pair] = list
	end
	list[#list + 1] = f
	return f
end

local function low(qpn)
	return qpn % 65536
end

local function newest(list, good)
	for i = #list, math.max(1, #list - SEARCH + 1), -1 do
		if good(list[i]) then return list[i] end
	end
	return nil
end

-- The flow that a packet from its receiver belongs to. ids: the two halves of QPNs that the
-- packet has, or nil. Implementations differ in which is which, so both are tried. known:
-- whether a flow has what the packet answers.
local function answered(p, ids, known)
	local list = state.between[p.dst .. p.src .. p.c]
	if not list then return nil end
	local key = p.src .. p.dst .. string.format("%d", p.dqp)
	local dqp = state.peer[key]
	if dqp and ids and low(dqp) ~= ids[1] and low(dqp) ~= ids[2] then dqp = nil end
	if dqp then
		local f = get_flow(p.dst, p.src, dqp, p.c)
		if f then return f end
	end
	local f
	if ids and (ids[1] ~= 0 or ids[2] ~= 0) then
		for i = 1, 2 do
			f = f or newest(list, function(x) return low(x.dqp) == ids[i] and known(x) end)
		end
		for i = 1, 2 do
			f = f or newest(list, function(x) return low(x.dqp) == ids[i] end)
		end
	end
	if not f then
		local found = 0
		for i = #list, math.max(1, #list - SEARCH + 1), -1 do
			if known(list[i]) then
				f, found = list[i], found + 1
			end
		end
		-- Two of them: no guess.
		if found ~= 1 then return nil end
	end
	state.peer[key] = f.dqp
	return f
end

local function has_psn(psn)
	return function(f) return f.data[psn] ~= nil end
end

-- Of the transmissions of a PSN the one that is meant: with the same entropy value and the
-- same timestamp, else with the same entropy value, else the last. Of some copies only the
-- lower half of the entropy value is known.
local function transmission(record, p, entropy, stamp)
	local best, score = nil, -1
	for i = math.max(1, #record.copies - COPIES + 1), #record.copies do
		local copy = record.copies[i]
		if copy.time <= p.time then
			local same = copy.ev == entropy or
				copy.partial and copy.ev % 65536 == entropy % 65536
			local s = (same and 2 or 0) +
				(stamp and copy.stamp == stamp and 1 or 0)
			if s >= score then best, score = copy, s end
		end
	end
	return best
end

local function answers(found, p, copy)
	if not copy then return end
	found.response_to, found.answered = copy.number, copy
	found.rtt = p.time - copy.time
	copy.response_in = copy.response_in or p.number
end

-- A packet with a PSN of its own.
local function on_data(p, found)
	local f = get_flow(p.src, p.dst, p.dqp, p.c, true)
	found.flow = f
	local record = f.data[p.psn]
	local new = f.high == nil or distance(p.psn, f.high) > 0
	if f.cack then
		local ahead = distance(p.psn, f.cack)
		if ahead > (f.window or p.window or LARGEST_WINDOW) then found.beyond = ahead end
	end
	if new or not record then
		record = { copies = {}, psn = p.psn }
		f.data[p.psn] = record
		-- What was acknowledged before the capture saw the packet.
		if f.cack and distance(p.psn, f.cack) <= 0 then record.acked_in = f.cack_in end
	end
	if new then f.high = p.psn end
	local copy = { number = p.number, time = p.time, ev = p.ev, partial = p.partial,
		       stamp = p.stamp, rtx = p.rtx }
	local previous = record.copies[#record.copies]
	for i = math.max(1, #record.copies - COPIES + 1), #record.copies do
		local old = record.copies[i]
		if old.rtx == p.rtx and old.ev == p.ev and old.stamp == p.stamp and
			(p.stamp or not p.rtx) then
			found.same_as = old.number
			copy.index = old.index
		end
	end
	-- The same transmission can be seen at two places, or be doubled by the network.
	if not found.same_as then
		copy.index = previous and previous.index + 1 or 1
		if previous then
			found.previous_in = previous.number
			found.first_in = record.copies[1].number
			previous.next_in = p.number
		end
		found.retransmission = p.rtx
		found.unmarked = previous ~= nil and not p.rtx
		if (p.rtx or previous) and record.acked_in then found.spurious_of = record.acked_in end
	end
	record.copies[#record.copies + 1] = copy
	found.record, found.copy = record, copy
	if p.request then f.requests[p.rqmsn] = copy end
	if p.answer then
		-- An answer is data of its own flow, and answers a request of the peer.
		local of = answered({ src = p.src, dst = p.dst, dqp = p.dqp, c = 0 }, nil,
			function(x) return x.requests[p.msn] ~= nil end)
		if of and of.requests[p.msn] then answers(found, p, of.requests[p.msn]) end
	end
end

-- Everything up to psn is done: calls act for each packet of the capture that was not before.
local function advance(f, name, psn, act)
	local from = f[name]
	if from and distance(psn, from) <= 0 then return end
	-- At most a window; what lies behind it can no longer be told.
	local count = from and distance(psn, from) or LARGEST_WINDOW
	if count > LARGEST_WINDOW then count = LARGEST_WINDOW end
	for i = count - 1, 0, -1 do
		local record = f.data[(psn - i) % PSN_MOD]
		if record then act(record) end
	end
	f[name] = psn
end

-- A SACK: cack, psn (the one that triggered it, or nil), received (a list), probe (its id).
local function on_sack(p, found)
	local id = p.probe
	local known = id and function(f) return f.probes[id] ~= nil end or has_psn(p.ack_psn)
	local f = answered(p, p.ids, known)
	if not f then return end
	found.flow = f
	if p.mpr > 0 and (not f.cack or distance(p.cack, f.cack) >= 0) then
		f.window = p.mpr * 128
	end
	local newly = 0
	local function mark(record)
		if not record.acked_in then
			record.acked_in = p.number
			newly = newly + 1
		end
	end
	if not f.cack or distance(p.cack, f.cack) > 0 then f.cack_in = p.number end
	advance(f, "cack", p.cack, mark)
	for _, psn in ipairs(p.received) do
		if f.data[psn] then mark(f.data[psn]) end
	end
	if id then
		answers(found, p, f.probes[id])
	elseif f.data[p.ack_psn] then
		mark(f.data[p.ack_psn])
		answers(found, p, transmission(f.data[p.ack_psn], p, p.entropy, p.echo))
	end
	found.newly = newly
end

local function on_nack(p, found)
	local f = answered(p, p.ids, has_psn(p.psn))
	if not f then return end
	found.flow = f
	local record = f.data[p.psn]
	if not record then return end
	local copy = transmission(record, p, p.entropy, p.echo)
	answers(found, p, copy)
	if copy then copy.nacked_in = p.number end
end

local function on_ack(p, found)
	local f = answered(p, nil, has_psn(p.psn))
	if not f then return end
	found.flow = f
	local record = f.data[p.psn]
	if record then answers(found, p, record.copies[#record.copies]) end
	local function mark(r)
		r.executed_in = r.executed_in or p.number
	end
	if p.ok then
		advance(f, "executed", p.psn, mark)
	elseif record then
		mark(record)
	end
end

local function on_probe(p, found)
	local f = get_flow(p.src, p.dst, p.dqp, p.c, true)
	local copy = { number = p.number, time = p.time, ev = p.ev }
	f.probes[p.probe] = copy
	found.flow, found.copy = f, copy
end

local function on_endpoint_request(p, found)
	local copy = { number = p.number, time = p.time, ev = p.ev }
	state.endpoint[p.src .. p.dst .. string.format("%d", p.id)] = copy
	found.copy = copy
end

local function on_endpoint_response(p, found)
	answers(found, p, state.endpoint[p.dst .. p.src .. string.format("%d", p.id)])
end

local handlers = {
	data = on_data, sack = on_sack, nack = on_nack, ack = on_ack, probe = on_probe,
	endpoint_request = on_endpoint_request, endpoint_response = on_endpoint_response,
}

-- p: what was dissected, with p.what a key of the handlers. Returns what was found; for a
-- packet that was looked at before, what was found then.
function flow.look(p, key, visited)
	local found = state.packets[key]
	if found or visited then return found or {} end
	found = {}
	state.packets[key] = found
	if handlers[p.what] then handlers[p.what](p, found) end
	return found
end

-- Ranges of PSNs in ascending order as text: "1-3, 5".
function flow.ranges(list)
	local text, i = {}, 1
	while i <= #list do
		local j = i
		while list[j + 1] and list[j + 1] == (list[j] + 1) % PSN_MOD do j = j + 1 end
		text[#text + 1] = i == j and string.format("%d", list[i]) or
			string.format("%d-%d", list[i], list[j])
		i = j + 1
	end
	return table.concat(text, ", ")
end

-- What a map of 64 bits says. map: 8 bytes, bit 0 is the last one. highest: another PSN that
-- was received, or nil. Returns the PSNs received and those missing. A zero bit means missing
-- only below the highest PSN received.
function flow.map(map, base, cack, highest)
	local received, missing, top = {}, {}, nil
	if highest and distance(highest, cack) > 0 then top = highest end
	for i = 0, 63 do
		local byte = map:byte(8 - floor(i / 8))
		if floor(byte / 2 ^ (i % 8)) % 2 == 1 then
			local psn = (base + i) % PSN_MOD
			received[#received + 1] = psn
			if not top or distance(psn, top) > 0 then top = psn end
		end
	end
	for i = 0, 63 do
		local psn = (base + i) % PSN_MOD
		local byte = map:byte(8 - floor(i / 8))
		if floor(byte / 2 ^ (i % 8)) % 2 == 0 and distance(psn, cack) > 0 and top and
			distance(psn, top) < 0 then
			missing[#missing + 1] = psn
		end
	end
	return received, missing
end

return flow

-- SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
--
-- Statistics by path: one table by entropy value, one by plane, one by flow. They are
-- printed at the end of the capture.

return function(address_text, packets)

local stats = {}

local columns = {
	{ "packets", "Packets" }, { "bytes", "Bytes" }, { "data", "Data" }, { "rtx", "Rtx" },
	{ "ce", "CE" }, { "trims", "Trims" }, { "sacks", "SACKs" }, { "skips", "Skips" },
	{ "nacks", "NACKs" }, { "probes", "Probes" }, { "lost", "NoAnswer" },
}

local function new_row(label, order)
	local row = { label = label, order = order }
	for _, column in ipairs(columns) do row[column[1]] = 0 end
	return row
end

local function get(rows, key, label, order)
	local row = rows[key]
	if not row then
		row = new_row(label, order)
		rows[key] = row
	end
	return row
end

local function add(row, name, n)
	row[name] = row[name] + (n or 1)
end

local function plane_text(plane)
	return plane and string.format("%d", plane) or "-"
end

local function route(src, dst)
	return address_text(src) .. " -> " .. address_text(dst)
end

-- The rows of all tables. Probes are kept, because their answers come later.
local evs, flows, planes_of, probes

local function reset()
	evs, flows, planes_of, probes = {}, {}, {}, {}
end

local function ev_row(src, dst, ev, plane)
	local key = src .. dst .. string.format("%.0f", ev)
	local planes = planes_of[key]
	if not planes then
		planes = {}
		planes_of[key] = planes
	end
	-- A report of a path does not name the plane. Where there is one only, it is that.
	if not plane and not planes["-"] then
		local only = next(planes)
		if only and not next(planes, only) then plane = tonumber(only) end
	end
	local text = plane_text(plane)
	planes[text] = true
	local row = get(evs, key .. "." .. text,
		string.format("%s  plane %s  0x%08x", route(src, dst), text, ev),
		string.format("%s %3s %010.0f", route(src, dst), text, ev))
	row.plane = text
	return row
end

local function flow_row(f)
	return get(flows, f.id, string.format("%d  %s  qp 0x%06x%s", f.id, route(f.src, f.dst),
		f.dqp, f.c == 1 and " answers" or ""), string.format("%010d", f.id))
end

-- What one packet adds to a row of its own path.
local function count_packet(row, p)
	add(row, "packets")
	add(row, "bytes", p.len)
	if p.ce then add(row, "ce") end
	if p.trimmed then add(row, "trims") end
	if p.what == "data" then
		add(row, "data")
		if p.rtx then add(row, "rtx") end
	elseif p.what == "probe" or p.what == "endpoint_request" then
		add(row, "probes")
		if p.found.copy then probes[#probes + 1] = { row = row, copy = p.found.copy } end
	end
end

-- What feedback adds to a row of the path that it reports.
local function count_report(row, p)
	if p.what == "sack" then
		add(row, "sacks")
		if p.m == 1 or p.m == 2 then add(row, "skips") end
	else
		add(row, "nacks")
	end
end

local function count(p)
	count_packet(ev_row(p.src, p.dst, p.ev, p.plane), p)
	if p.entropy then
		local answered = p.found.answered
		count_report(ev_row(p.dst, p.src, p.entropy, answered and answered.plane), p)
	end
	if not p.found.flow then return end
	count_packet(flow_row(p.found.flow), p)
	if p.entropy then count_report(flow_row(p.found.flow), p) end
end

local function by_plane()
	local rows = {}
	for _, row in pairs(evs) do
		local sum = get(rows, row.plane, "plane " .. row.plane,
			string.format("%3s", row.plane))
		for _, column in ipairs(columns) do add(sum, column[1], row[column[1]]) end
	end
	return rows
end

local kinds = {
	ev = { "MRC by entropy value", function() return evs end },
	plane = { "MRC by plane", by_plane },
	flow = { "MRC by flow", function() return flows end },
}

local function print_table(title, rows)
	local list, width = {}, 0
	for _, row in pairs(rows) do
		list[#list + 1] = row
		width = math.max(width, #row.label)
	end
	table.sort(list, function(a, b) return a.order < b.order end)
	print(("="):rep(80))
	print(title)
	local line = (" "):rep(width)
	for _, column in ipairs(columns) do line = line .. string.format(" %8s", column[2]) end
	print(line)
	for _, row in ipairs(list) do
		line = row.label .. (" "):rep(width - #row.label)
		for _, column in ipairs(columns) do
			line = line .. string.format(" %8d", row[column[1]])
		end
		print(line)
	end
	print(("="):rep(80))
end

local wanted

-- names: which tables, as "ev,plane,flow". Returns a name that is not known, or nil.
function stats.want(names)
	local list = {}
	for name in names:gmatch("[^,%s]+") do
		if not kinds[name] then return name end
		list[#list + 1] = name
	end
	wanted = list
	if #list == 0 or stats.active then return nil end
	stats.active = true
	local listener = Listener.new("frame", "mrc")
	reset()
	function listener.packet(pinfo)
		local p = packets[pinfo.number]
		if p then
			count(p)
			packets[pinfo.number] = nil
		end
	end
	function listener.draw()
		for _, probe in ipairs(probes) do
			if not probe.copy.response_in then add(probe.row, "lost") end
		end
		probes = {}
		for _, name in ipairs(wanted) do
			print_table(kinds[name][1], kinds[name][2]())
		end
	end
	function listener.reset()
		reset()
	end
	return nil
end

return stats
end

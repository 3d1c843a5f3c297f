-- SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
--
-- The invariant CRC of MRC, which is that of RoCE v2: the CRC-32 of Ethernet over eight
-- bytes of ones and the packet from the inner IP header on. What routers and switches may
-- change counts as ones.

local icrc = {}

-- Lua 5.3 and later have an operator for exclusive or, 5.2 has bit32, and Wireshark brings
-- its own bit. The operator is no syntax in 5.2, so it is compiled from text. bit has signed
-- results, which the modulo corrects.
local function find_xor()
	local make = load("return function(a, b) return a ~ b end")
	if make then return make() end
	if type(bit32) == "table" then return bit32.bxor end
	return function(a, b) return bit.bxor(a, b) % 4294967296 end
end

local xor = find_xor()
local floor = math.floor

local crc_of = {}
for i = 0, 255 do
	local c = i
	for _ = 1, 8 do
		local odd = c % 2
		c = floor(c / 2)
		if odd == 1 then c = xor(c, 0xEDB88320) end
	end
	crc_of[i] = c
end

local function generic_update(c, bytes)
	local byte = string.byte
	for i = 1, #bytes do
		c = xor(crc_of[xor(c % 256, byte(bytes, i))], floor(c / 256))
	end
	return c
end

-- The same with operators, which is faster.
local native = load([[
local crc_of = ...
return function(c, bytes)
	local byte = string.byte
	for i = 1, #bytes do
		c = crc_of[(c ~ byte(bytes, i)) & 255] ~ (c >> 8)
	end
	return c
end]])

local update = native and native(crc_of) or generic_update

-- The register after eight bytes of ones.
local SEED = 0xDEBB20E3

local function ones(s, first, last)
	return s:sub(1, first - 1) .. ("\255"):rep(last - first + 1) .. s:sub(last + 1)
end

-- Masks of the IP header: traffic class, flow label, TTL or hop limit, header checksum.
function icrc.mask_ip(ip)
	if floor(ip:byte(1) / 16) == 4 then
		return ones(ones(ones(ip, 2, 2), 9, 9), 11, 12)
	end
	local first = string.char(floor(ip:byte(1) / 16) * 16 + 15)
	return ones(ones(first .. ip:sub(2), 2, 4), 8, 8)
end

-- ip, udp: the headers as strings; rest: from the BTH on, without the ICRC. Returns the
-- number whose bytes are sent least significant first.
function icrc.calculate(ip, udp, rest)
	local c = update(SEED, icrc.mask_ip(ip))
	c = update(c, ones(udp, 7, 8))
	c = update(c, ones(rest, 5, 5))
	return xor(c, 4294967295)
end

return icrc

-- SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
--
-- What MRC packets look like: opcodes, headers, names of values. Tables only, no call of
-- Wireshark. Wireshark loads this file by itself too when it lies in a plugin folder; that
-- does no harm.

local defs = {}

defs.BTH_LEN = 12
defs.ICRC_LEN = 4
defs.PSN_MOD = 16777216

-- One row for each opcode. Headers after the BTH are in the order of the packet; TSETH
-- follows METH if BTH.ts is set.
--   kind	"data": has a PSN of its own; "control": SACK, NACK, ACK, probe; "endpoint"
--   ext	belongs to the extension, not to MRC 1.0
--   answer	goes on the answer channel (C)
--   request	has an answer
--   first, last	place in the message
local function data(name, more)
	local op = { name = name, kind = "data", headers = { "meth", "reth" } }
	for k, v in pairs(more) do op[k] = v end
	if op.imm then op.headers = { "meth", "reth", "immdt" } end
	if op.operand then op.headers = { "meth", "reth", "opeth" } end
	return op
end

local function control(name, header, kind)
	return { name = name, kind = kind or "control", headers = { header } }
end

defs.opcodes = {
	[0xC0] = data("SEND_FIRST", { ext = true, first = true }),
	[0xC1] = data("SEND_MIDDLE", { ext = true }),
	[0xC2] = data("SEND_LAST", { ext = true, last = true }),
	[0xC3] = data("SEND_LAST_IMM", { ext = true, last = true, imm = true }),
	[0xC4] = data("SEND_ONLY", { ext = true, first = true, last = true }),
	[0xC5] = data("SEND_ONLY_IMM", { ext = true, first = true, last = true, imm = true }),
	[0xC6] = data("WRITE_FIRST", { first = true }),
	[0xC7] = data("WRITE_MIDDLE", {}),
	[0xC8] = data("WRITE_LAST", { last = true }),
	[0xC9] = data("WRITE_LAST_IMM", { last = true, imm = true }),
	[0xCA] = data("WRITE_ONLY", { first = true, last = true }),
	[0xCB] = data("WRITE_ONLY_IMM", { first = true, last = true, imm = true }),
	[0xCC] = data("READ_REQUEST", { ext = true, request = true }),
	[0xCD] = data("READ_RESPONSE_FIRST", { ext = true, answer = true, first = true }),
	[0xCE] = data("READ_RESPONSE_MIDDLE", { ext = true, answer = true }),
	[0xCF] = data("READ_RESPONSE_LAST", { ext = true, answer = true, last = true }),
	[0xD0] = data("READ_RESPONSE_ONLY", { ext = true, answer = true, first = true, last = true }),
	[0xD1] = control("ACKNOWLEDGE", "aeth"),
	[0xD2] = data("ATOMIC_RESPONSE", { ext = true, answer = true, first = true, last = true }),
	[0xD3] = data("COMPARE_SWAP", { ext = true, request = true, operand = true }),
	[0xD4] = data("FETCH_ADD", { ext = true, request = true, operand = true }),
	[0xD5] = data("FLUSH", { ext = true, request = true, operand = true }),
	[0xD6] = data("SEND_LAST_INVALIDATE", { ext = true, last = true }),
	[0xD7] = data("SEND_ONLY_INVALIDATE", { ext = true, first = true, last = true }),
	[0xD8] = control("ENDPOINT_REQUEST", "erth", "endpoint"),
	[0xD9] = control("ENDPOINT_RESPONSE", "eeth", "endpoint"),
	[0xDA] = data("ATOMIC_WRITE", { ext = true, request = true, operand = true }),
	[0xDC] = { name = "RELIABILITY_SACK", kind = "control", headers = { "seth", "cc" } },
	[0xDD] = control("RELIABILITY_NACK", "neth"),
	[0xDE] = control("RELIABILITY_PROBE_REQ", "peth"),
}

defs.opcode_names = {}
for code, op in pairs(defs.opcodes) do defs.opcode_names[code] = op.name end

-- The class of an opcode is its upper three bits; 0b110 is MRC.
function defs.is_mrc(opcode)
	return opcode >= 0xC0 and opcode <= 0xDF
end

defs.nack_reasons = {
	[0x01] = "TRIMMED",
	[0x02] = "TRIMMED_LASTHOP",
	[0x06] = "NO_BITMAP",
	[0x07] = "NO_PKT_BUFFER",
	[0x0A] = "NO_RESOURCE",
	[0x0B] = "PSN_OOR_WINDOW",
	[0x19] = "UNEXP_EVENT",
}

defs.syndromes = {
	[0x1F] = "ACK",
	[0x60] = "NAK PSN sequence error",
	[0x61] = "NAK invalid request",
	[0x62] = "NAK remote access error",
	[0x63] = "NAK remote operation error",
}

defs.path_states = { [0] = "NONE", [1] = "SKIP_ONCE", [2] = "ALWAYS_SKIP", [3] = "reserved" }
defs.endpoint_ops = { [0] = "PORT_STATUS_UPDATE", [1] = "EV_PROBE", [2] = "reserved",
	[3] = "reserved" }
defs.cc_types = { [0] = "NSCC, state follows", [2] = "NSCC, no state" }
defs.tsr_values = { [0] = "128 ns", [1] = "other" }
defs.ftypes = { [1] = "timestamp" }
defs.flush_levels = { [0] = "memory range", [1] = "memory region" }
defs.ecn_names = { [0] = "Not-ECT", [1] = "ECT(1)", [2] = "ECT(0)", [3] = "CE" }

-- Timer codes of RNR NAKs, InfiniBand volume 1, in milliseconds.
defs.rnr_times = { [0] = 655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32,
	0.48, 0.64, 0.96, 1.28, 1.92, 2.56, 3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72,
	40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52 }

-- Headers byte by byte. A field is
--   { name, offset, bytes, type of ProtoField, text, more }
-- with more = mask (of the number that the bytes are), base, values, reserved.
-- Filter names are mrc.HEADER.NAME. Reserved fields must be 0; receivers ignore them.
local DEC, HEX, DEC_HEX = "DEC", "HEX", "DEC_HEX"

local function reserved(name, offset, bytes, mask)
	return { name, offset, bytes, "uint" .. bytes * 8, "Reserved",
		 { mask = mask, base = HEX, reserved = true } }
end

local function timestamp(offset)
	return { "timestamp", offset, 2, "uint16", "Transmit timestamp", { base = DEC_HEX } }
end

local function tsr(offset)
	return { "tsr", offset, 2, "uint16", "Timestamp resolution",
		 { mask = 0x8000, base = DEC, values = "tsr_values" } }
end

local function ftype(offset)
	return { "ftype", offset, 2, "uint16", "Timestamp format",
		 { mask = 0x000F, base = DEC, values = "ftypes" } }
end

local function echo(offset)
	return { "timestamp", offset, 2, "uint16", "Echoed timestamp", { base = DEC_HEX } }
end

local function kind(name, mask, text)
	return { name, 0, 2, "uint16", text, { mask = mask, base = HEX, reserved = true } }
end

local function entropy(offset)
	return { "entropy", offset, 4, "uint32", "Entropy of the packet answered",
		 { base = HEX } }
end

local function dcid(name, offset, text)
	return { name, offset, 2, "uint16", text, { base = HEX } }
end

local SPDCID, DPDCID = "QPN of the sender, low half", "QPN of the receiver, low half"

defs.headers = {
	bth = { title = "Base transport header", len = 12,
		{ "opcode", 0, 1, "uint8", "Opcode", { base = HEX, values = "opcode_names" } },
		{ "se", 1, 1, "bool", "Solicited event", { mask = 0x80 } },
		{ "m", 1, 1, "bool", "Migration (not used)", { mask = 0x40 } },
		{ "pad", 1, 1, "uint8", "Pad count", { mask = 0x30, base = DEC } },
		{ "tver", 1, 1, "uint8", "Transport version", { mask = 0x0F, base = DEC } },
		{ "pkey", 2, 2, "uint16", "Partition key", { base = HEX } },
		{ "varres", 4, 1, "uint8", "Variant reserved", { base = HEX, reserved = true } },
		{ "dqp", 5, 3, "uint24", "Destination QPN", { base = HEX } },
		{ "a", 8, 1, "bool", "Acknowledge request", { mask = 0x80 } },
		{ "res6", 8, 1, "uint8", "Reserved", { mask = 0x40, base = HEX, reserved = true } },
		{ "rtx", 8, 1, "bool", "Retransmission", { mask = 0x20 } },
		{ "ts", 8, 1, "bool", "Timestamp header present", { mask = 0x10 } },
		{ "res", 8, 1, "uint8", "Reserved", { mask = 0x0C, base = HEX, reserved = true } },
		{ "r", 8, 1, "bool", "Receives stated (extension)", { mask = 0x02 } },
		{ "c", 8, 1, "bool", "Answer channel (extension)", { mask = 0x01 } },
		{ "psn", 9, 3, "uint24", "PSN", { base = DEC } },
	},
	meth = { title = "Message header", len = 4,
		{ "rqmsn", 0, 2, "uint16", "Receive queue message number", { base = DEC } },
		{ "msn", 2, 2, "uint16", "Message number", { base = DEC } },
	},
	tseth = { title = "Timestamp header", len = 4,
		timestamp(0), tsr(2), reserved("res", 2, 2, 0x7FF0), ftype(2),
	},
	reth = { title = "RDMA header", len = 16,
		{ "va", 0, 8, "uint64", "Virtual address", { base = HEX } },
		{ "rkey", 8, 4, "uint32", "Remote key", { base = HEX } },
		{ "dmalen", 12, 4, "uint32", "Length of the message", { base = DEC } },
	},
	immdt = { title = "Immediate", len = 4,
		{ "imm", 0, 4, "uint32", "Immediate", { base = HEX } },
	},
	opeth = { title = "Operands (extension)", len = 16,
		{ "swap", 0, 8, "uint64", "Swap, or value to write, or flags", { base = HEX } },
		{ "compare", 8, 8, "uint64", "Compare, or value to add", { base = HEX } },
	},
	aeth = { title = "Transport acknowledgment", len = 4,
		{ "syndrome", 0, 1, "uint8", "Syndrome", { base = HEX, values = "syndromes" } },
		{ "msn", 1, 3, "uint24", "Messages completed", { base = DEC } },
	},
	seth = { title = "Selective acknowledgment", len = 28,
		kind("type", 0xF000, "Type"), kind("nh", 0x0F80, "Next header"),
		{ "m", 0, 2, "uint16", "State of the path",
		  { mask = 0x0060, base = DEC, values = "path_states" } },
		reserved("res1", 0, 2, 0x001C),
		{ "pr", 0, 2, "bool", "Answers a reliability probe", { mask = 0x0002 } },
		reserved("res2", 0, 2, 0x0001),
		-- One of the two is shown, by pr.
		{ "ack_psn_offset", 2, 2, "int16", "Offset of the PSN that triggered this",
		  { base = DEC, when = "data" } },
		{ "probe_id", 2, 2, "uint16", "Probe id", { base = HEX, when = "probe" } },
		entropy(4), dcid("spdcid", 8, SPDCID), dcid("dpdcid", 10, DPDCID),
		reserved("res3", 12, 1),
		{ "cack_psn", 13, 3, "uint24", "Cumulative PSN", { base = DEC } },
		{ "cc_type", 16, 1, "uint8", "Congestion control type",
		  { mask = 0xF0, base = DEC, values = "cc_types" } },
		{ "cc_fl", 16, 1, "uint8", "Congestion control flags",
		  { mask = 0x0F, base = HEX, reserved = true } },
		{ "mpr", 17, 1, "uint8", "Window in units of 128 PSNs (dynamic MPR)", { base = DEC } },
		{ "sack_offset", 18, 2, "int16", "Offset of the map", { base = DEC } },
		{ "sack_bitmap", 20, 8, "uint64", "Map of PSNs received", { base = HEX } },
	},
	cc = { title = "Congestion control state", len = 8,
		echo(0), reserved("res", 2, 2, 0x8000),
		{ "ooo_count", 2, 2, "uint16", "PSNs held above the cumulative one",
		  { mask = 0x7FFF, base = DEC } },
		{ "restore_cwnd", 4, 1, "bool", "Restore the congestion window", { mask = 0x80 } },
		{ "rcv_cwnd_pen", 4, 1, "uint8", "Window penalty", { mask = 0x7F, base = DEC } },
		{ "rcvd_bytes", 5, 3, "uint24", "Received, in units of 256 bytes", { base = DEC } },
	},
	neth = { title = "Negative acknowledgment", len = 20,
		kind("type", 0xF000, "Type"), kind("nh", 0x0F80, "Next header"),
		reserved("res1", 0, 2, 0x007F),
		{ "reason", 2, 1, "uint8", "Reason", { base = HEX, values = "nack_reasons" } },
		{ "vendor_info", 3, 1, "uint8", "Vendor information", { base = HEX } },
		entropy(4), dcid("spdcid", 8, SPDCID), dcid("dpdcid", 10, DPDCID),
		reserved("res2", 12, 1),
		{ "nack_psn", 13, 3, "uint24", "PSN refused", { base = DEC } },
		{ "cc_type", 16, 1, "uint8", "Congestion control type",
		  { mask = 0xF0, base = DEC, values = "cc_types" } },
		{ "cc_fl", 16, 1, "uint8", "Congestion control flags",
		  { mask = 0x0F, base = HEX, reserved = true } },
		reserved("res3", 17, 1), echo(18),
	},
	peth = { title = "Reliability probe", len = 16,
		kind("type", 0xF000, "Type"), kind("nh", 0x0F80, "Next header"),
		reserved("res1", 0, 2, 0x007F), reserved("res2", 2, 1),
		{ "vendor_info", 3, 1, "uint8", "Vendor information", { base = HEX } },
		{ "probe_id", 4, 2, "uint16", "Probe id", { base = HEX } },
		reserved("res3", 6, 2), dcid("spdcid", 8, SPDCID), dcid("dpdcid", 10, DPDCID),
		timestamp(12), tsr(14), reserved("res4", 14, 2, 0x7FF0), ftype(14),
	},
	erth = { title = "Endpoint request", len = 16,
		kind("type", 0xF000, "Type"), kind("nh", 0x0F80, "Next header"),
		reserved("res1", 0, 2, 0x007C),
		{ "op", 0, 2, "uint16", "Operation",
		  { mask = 0x0003, base = DEC, values = "endpoint_ops" } },
		reserved("res2", 2, 1),
		{ "vendor_info", 3, 1, "uint8", "Vendor information", { base = HEX } },
		{ "port_status_mask", 4, 4, "uint32", "Ports that are up", { base = HEX } },
		reserved("res3", 8, 4),
		timestamp(12), tsr(14), reserved("res4", 14, 2, 0x7FF0), ftype(14),
	},
	eeth = { title = "Endpoint response", len = 36,
		kind("type", 0xF000, "Type"), kind("nh", 0x0F80, "Next header"),
		reserved("res1", 0, 2, 0x0070),
		{ "op", 0, 2, "uint16", "Operation",
		  { mask = 0x000C, base = DEC, values = "endpoint_ops" } },
		reserved("res2", 0, 2, 0x0003),
		{ "res3", 2, 26, "bytes", "Reserved", { reserved = true } },
		echo(28),
		{ "res4", 30, 6, "bytes", "Reserved", { reserved = true } },
	},
}

-- The order in which fields are registered and documented.
defs.header_order = { "bth", "meth", "tseth", "reth", "immdt", "opeth", "aeth", "seth", "cc",
	"neth", "peth", "erth", "eeth" }

-- Fields that are not bytes of a header: { name, type, text, more }.
defs.generated = {
	{ "payload", "bytes", "Payload" },
	{ "payload_len", "uint32", "Length of the payload", { base = DEC } },
	{ "pad", "bytes", "Padding" },
	{ "cut", "bytes", "Incomplete header" },
	{ "icrc", "uint32", "ICRC", { base = HEX } },
	{ "icrc.calculated", "uint32", "ICRC calculated", { base = HEX } },
	{ "icrc.status", "uint8", "ICRC status", { base = DEC, values = "icrc_status" } },

	{ "ev", "uint32", "Entropy value of this packet", { base = HEX } },
	{ "class", "string", "Traffic class" },
	{ "dscp", "uint8", "DSCP of the outermost IP header", { base = DEC } },
	{ "ecn", "uint8", "ECN of the outermost IP header", { base = DEC, values = "ecn_names" } },
	{ "trimmed", "bool", "Trimmed by a switch" },
	{ "trimmed.lasthop", "bool", "Trimmed on the last hop" },
	{ "plane", "uint8", "Plane", { base = DEC } },

	{ "srv6.src", "ipv6", "Outer source" },
	{ "srv6.dst", "ipv6", "Outer destination" },
	{ "srv6.segment", "ipv6", "Segment of the routing header" },
	{ "srv6.block", "uint32", "Locator block", { base = HEX } },
	{ "srv6.usid", "uint16", "uSID", { base = HEX } },
	{ "srv6.t0", "uint16", "T0 switch", { base = DEC } },
	{ "srv6.t1", "uint16", "T1 switch (uplink)", { base = DEC } },
	{ "srv6.host", "uint16", "Host", { base = DEC } },

	{ "immediate.text", "string", "Immediate as text" },
	{ "request_id", "uint16", "Endpoint request id", { base = HEX } },
	{ "ack_psn", "uint24", "PSN that triggered this SACK", { base = DEC } },
	{ "base_psn", "uint24", "First PSN of the map", { base = DEC } },
	{ "received", "uint24", "PSN received", { base = DEC } },
	{ "missing", "uint24", "PSN missing", { base = DEC } },
	{ "sack", "string", "Received" },
	{ "nack.code", "string", "Reason by name" },
	{ "rnr", "bool", "Receiver not ready" },
	{ "rnr.page", "bool", "Memory is fetched" },
	{ "rnr.ms", "double", "Wait before sending again, in ms" },
	{ "recvs", "uint16", "First message without a receive", { base = DEC } },
	{ "port_up", "uint8", "Port that is up", { base = DEC } },
	{ "flush.global", "bool", "Flush: visible to all" },
	{ "flush.persistent", "bool", "Flush: persistent" },
	{ "flush.level", "uint8", "Flush: what", { base = DEC, values = "flush_levels" } },

	{ "flow", "uint32", "Flow", { base = DEC } },
	{ "copy", "uint32", "Transmission of this PSN", { base = DEC } },
	{ "first_in", "framenum", "First transmission in" },
	{ "previous_in", "framenum", "Previous transmission in" },
	{ "next_in", "framenum", "Sent again in" },
	{ "same_as", "framenum", "The same packet as in" },
	{ "response_in", "framenum", "Response in" },
	{ "acked_in", "framenum", "First reported as received in" },
	{ "nacked_in", "framenum", "Refused in" },
	{ "executed_in", "framenum", "Transport ACK in" },
	{ "response_to", "framenum", "Response to" },
	{ "rtt", "relative_time", "Time since the packet answered" },
	{ "newly", "uint32", "PSNs first reported as received here", { base = DEC } },
}

defs.icrc_status = { [0] = "wrong", [1] = "right", [2] = "not checked" }

-- Expert information: { name, group, severity, text }. Filter names are mrc.expert.NAME.
defs.experts = {
	{ "icrc", "CHECKSUM", "ERROR", "Wrong ICRC: receivers drop the packet" },
	{ "short", "MALFORMED", "ERROR", "Packet cut short" },
	{ "capture", "PROTOCOL", "NOTE", "Packet cut short by the capture" },
	{ "length", "MALFORMED", "WARN", "Length does not fit the opcode" },
	{ "opcode", "PROTOCOL", "WARN", "Opcode that MRC does not define" },
	{ "tver", "PROTOCOL", "WARN", "Transport version is not 0: receivers drop the packet" },
	{ "reserved", "PROTOCOL", "NOTE", "Reserved bits are not 0" },
	{ "channel", "PROTOCOL", "WARN", "Opcode does not belong to this channel" },
	{ "trimmed", "SEQUENCE", "NOTE", "Trimmed by a switch" },
	{ "retransmission", "SEQUENCE", "NOTE", "Retransmission" },
	{ "spurious", "SEQUENCE", "NOTE", "Retransmission of a PSN that was reported as received" },
	{ "duplicate", "SEQUENCE", "NOTE", "The same packet again" },
	{ "unmarked", "SEQUENCE", "WARN", "PSN sent again without BTH.rtx" },
	{ "window", "SEQUENCE", "WARN", "PSN beyond the window" },
	{ "nack", "SEQUENCE", "WARN", "Packet refused" },
	{ "unexpected", "RESPONSE_CODE", "ERROR", "Peer refused the operation for good" },
	{ "rnr", "RESPONSE_CODE", "NOTE", "Receiver not ready" },
	{ "nak", "RESPONSE_CODE", "ERROR", "Message failed" },
	{ "ce", "SEQUENCE", "NOTE", "Congestion experienced" },
	{ "skip", "SEQUENCE", "NOTE", "SACK reports the path" },
	{ "unknown", "SEQUENCE", "NOTE", "Answers a packet that is not in the capture" },
}

return defs

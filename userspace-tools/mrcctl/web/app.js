// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Asks again and again and draws the answers. #DEVICE/QPN in the URL opens a queue pair.

import { bar, bitRate, bytes, chip, count, EV_WORDS, el, morphChildren, perSecond, sparkline, stackedBar, time } from "/draw.js";
import { drawHealth } from "/map.js";

const SLOTS = 60; // samples of a sparkline
const PATIENCE_MS = 10000;
const $ = (id) => document.getElementById(id);

// Rates of ports: "DEVICE/PORT" -> {tx: [...], rx: [...]}
const past = new Map();
let sample = 0;       // the number of the last one
let lastGood = null;  // when the last answer came
let opened = null;    // {device, qpn, answer}

// --- planes ----------------------------------------------------------------------------

function remember(state) {
	if (state.sample === sample)
		return;
	// The program was started again.
	if (state.sample < sample)
		past.clear();
	sample = state.sample;
	const seen = new Set();
	for (const d of state.devices)
		for (const p of d.ports ?? []) {
			const key = `${d.name}/${p.port}`;
			const lines = past.get(key) ?? { tx: [], rx: [] };
			for (const kind of ["tx", "rx"]) {
				lines[kind].push(p.rates ? p.rates[`${kind}_bytes_per_s`] : null);
				lines[kind].splice(0, lines[kind].length - SLOTS);
			}
			past.set(key, lines);
			seen.add(key);
		}
	for (const key of past.keys())
		if (!seen.has(key))
			past.delete(key);
}

// The bars and lines of a device have one scale, so that its planes can be compared.
function scaleOf(d) {
	return Math.max(0, ...(d.ports ?? []).flatMap((p) => {
		const lines = past.get(`${d.name}/${p.port}`);
		return lines ? [...lines.tx, ...lines.rx].filter((v) => v !== null) : [];
	}));
}

function drawRate(kind, word, rates, most) {
	const value = rates?.[`${kind}_bytes_per_s`];
	return el("div", { class: "rate" },
		el("span", { class: "quiet" }, word), bar(kind, value, most, `${word}: ${bitRate(value)}`),
		el("span", { class: "value" }, bitRate(value)));
}

function drawPlane(d, p, most) {
	const lines = past.get(`${d.name}/${p.port}`) ?? { tx: [], rx: [] };
	return el("div", { class: "card plane", "data-key": `${d.name}/${p.port}` },
		el("div", { class: "head" },
			el("b", {}, `Plane ${p.port}`, el("span", { class: "quiet" }, ` ${p.netdev || "no netdev"}`)),
			chip(p.state),
			p.admin ? chip(p.admin) : null),
		drawRate("tx", "send", p.rates, most),
		drawRate("rx", "receive", p.rates, most),
		sparkline(lines, SLOTS, most, `the last ${SLOTS} samples of plane ${p.port}`),
		el("div", { class: "foot quiet small" },
			el("span", {}, `packets ${perSecond(p.rates?.tx_pkts_per_s)}`),
			el("span", {}, `sent again ${perSecond(p.rates?.rtx_pkts_per_s)}`)));
}

function drawPlanes(d) {
	if (!d.ports)
		return null;
	const most = scaleOf(d);
	return [
		el("h3", {}, "Planes"),
		el("div", { class: "planes" }, d.ports.map((p) => drawPlane(d, p, most))),
		most > 0 ? el("p", { class: "quiet small" },
			`A full bar and the top of the lines are ${bitRate(most)}, the most of the last ${SLOTS} samples. Rates are of payload.`) : null,
	];
}

// --- queue pairs -----------------------------------------------------------------------

// One element in a cell: on narrow screens the label is beside it.
function cell(label, kind, ...children) {
	const none = children.every((c) => c === null || c === "–");
	return el("td", { "data-label": label, class: none ? `${kind} none` : kind }, el("div", {}, children));
}

function evLegend() {
	return el("p", { class: "legend" }, "EVs:",
		["good", "skip", "assumed_bad", "denied"].map((s) => chip(s)));
}

function drawEvs(d, q) {
	const answer = opened.answer;
	const evs = Array.isArray(answer?.evs) ? answer.evs : null;
	const ports = [...new Set((evs ?? []).map((e) => e.port))].sort((a, b) => a - b);
	return el("tr", { class: "open", "data-key": `${d.name}/${q.qpn}/evs` },
		el("td", { colspan: 12, class: "wide" },
			el("div", { class: "evlist", id: "evlist" },
				!evs ? el("p", { class: "quiet" }, answer?.error ?? "…") : null,
				evs && !evs.length ? el("p", { class: "quiet" }, "This queue pair has no EVs.") : null,
				ports.map((port) => [
					el("h4", {}, `Plane ${port}`),
					el("ul", {}, evs.filter((e) => e.port === port).map((e) => el("li", {},
						el("code", {}, e.entropy), " ", chip(e.state, EV_WORDS[e.state]),
						e.drops ? ` ${count(e.drops)} lost` : null))),
				]))));
}

function drawQp(d, q) {
	const key = `${d.name}/${q.qpn}`;
	const isOpen = opened?.device === d.name && opened.qpn === q.qpn;
	const whole = q.evs_by_state !== undefined;
	const row = el("tr", { class: "qp", "data-key": key },
		cell("Program", "program",
			whole ? el("button", { "aria-expanded": String(isOpen), onclick: () => toggle(d.name, q.qpn) }, q.program || "kernel")
				: q.program || "kernel",
			el("span", { class: "quiet small" }, q.pid ? ` pid ${q.pid}` : "")),
		cell("Queue pair", "n", `${q.qpn}${whole ? ` → ${q.dest_qpn}` : ""}`),
		cell("State", "", chip(q.state)),
		cell("CC", "cc", q.cc ?? "–"),
		cell("Window", "n", bytes(q.cwnd)),
		cell("In flight", "n", bytes(q.inflight)),
		cell("RTT", "n", q.srtt_ns ? time(q.srtt_ns) : "–"),
		cell("Sends", "n", bitRate(q.rates?.tx_bytes_per_s)),
		cell("Packets", "n", perSecond(q.rates?.tx_pkts_per_s)),
		cell("Sent again", "n", whole ? count(q.rtx_pkts) : "–",
			q.rates?.rtx_pkts_per_s ? el("span", { class: "quiet small" }, ` ${perSecond(q.rates.rtx_pkts_per_s)}`) : null),
		cell("Timeouts", "n", count(q.timeouts)),
		cell("EVs", "evs", whole ? stackedBar(q.evs_by_state) : "–"));
	return isOpen ? [row, drawEvs(d, q)] : row;
}

function drawQps(d) {
	if (!d.qps)
		return null;
	const head = [["Program"], ["Queue pair", "n"], ["State"], ["CC"], ["Window", "n"], ["In flight", "n"], ["RTT", "n"],
		["Sends", "n"], ["Packets", "n"], ["Sent again", "n"], ["Timeouts", "n"], ["EVs by state"]];
	const left = d.qps_all - d.qps.length;
	return [
		el("h3", {}, `Queue pairs: ${count(d.qps_all)}`),
		d.qps.length ? el("table", { class: "qps" },
			el("thead", {}, el("tr", {}, head.map(([t, kind]) => el("th", { class: kind }, t)))),
			el("tbody", {}, d.qps.flatMap((q) => drawQp(d, q)))) : null,
		left > 0 ? el("p", { class: "quiet" }, `${count(left)} more, which send less, are not shown.`) : null,
		d.qps.some((q) => q.evs) ? evLegend() : null,
	];
}

async function ask(path) {
	const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
	if (!answer.ok)
		throw new Error(`${answer.status} ${(await answer.text()).trim()}`);
	return answer.json();
}

async function askForQp() {
	const wanted = opened;
	if (!wanted)
		return;
	try {
		wanted.answer = await ask(`/api/qp?device=${encodeURIComponent(wanted.device)}&qpn=${wanted.qpn}`);
	} catch (e) {
		wanted.answer = { error: e.message };
	}
}

function toggle(device, qpn) {
	const close = opened?.device === device && opened.qpn === qpn;
	history.replaceState(null, "", close ? location.pathname : `#${encodeURIComponent(device)}/${qpn}`);
	followUrl();
}

function followUrl() {
	const at = /^#([^/]+)\/(\d+)$/.exec(location.hash);
	opened = at ? { device: decodeURIComponent(at[1]), qpn: Number(at[2]), answer: null } : null;
	askForQp().then(redraw);
}

// --- the rest of a device --------------------------------------------------------------

function drawProfiles(d) {
	if (!d.ev_profiles?.length)
		return null;
	const head = [["Profile"], ["State"], ["Mode"], ["Format", "n"], ["Queue pairs", "n"], ["Least active", "n"], ["EVs by state"]];
	return [
		el("h3", {}, "EV profiles"),
		el("table", { class: "profiles" },
			el("thead", {}, el("tr", {}, head.map(([t, kind]) => el("th", { class: kind }, t)))),
			el("tbody", {}, d.ev_profiles.map((p) => el("tr", { "data-key": `${d.name}/ev${p.id}` },
				cell("Profile", "", p.id),
				cell("State", "", chip(p.state)),
				cell("Mode", "", p.mode),
				cell("Format", "n", p.fmt ?? "–"),
				cell("Queue pairs", "n", count(p.qps)),
				cell("Least active", "n", count(p.min_active)),
				cell("EVs", "evs", p.evs ? stackedBar(p.evs_by_state) : "made by the device"))))),
	];
}

const PARTS = {
	all: "This device cannot be opened", device: "Its limits cannot be read", ports: "Its planes cannot be read",
	qp_names: "Its queue pairs cannot be listed", qps: "Details of queue pairs cannot be read",
	ev_profiles: "EV profiles cannot be read",
};

function drawMissing(d) {
	if (!d.missing?.length)
		return null;
	return el("div", { class: "banner note missing" },
		d.missing.map((m) => el("div", {}, `${PARTS[m.part] ?? m.part}: ${m.error}`)));
}

function drawDevice(d) {
	const a = d.device;
	const words = a ? [
		`${d.ports?.length ?? "?"} planes`,
		`${count(a.ev?.max_count - a.ev?.free_count)} of ${count(a.ev?.max_count)} EVs of profiles in use`,
		a.extension === null ? null : `extension ${a.extension ? "on" : "off"}`,
		a.attr ? `new queue pairs: ${a.attr.cc}, ${a.attr.num_evs} EVs` : null,
	].filter(Boolean).join(" · ") : "";
	return el("section", { class: "device", "data-key": d.name },
		el("h2", {}, d.name), el("p", { class: "quiet small" }, words),
		drawMissing(d), drawPlanes(d), drawQps(d), drawProfiles(d));
}

// --- the page --------------------------------------------------------------------------

let shown = null; // {state, health}

function redraw() {
	if (!shown)
		return;
	const { state, health } = shown;
	document.title = `mrc: ${state.host}`;
	morphChildren($("title"), [new Text(`MRC devices of ${state.host}`)]);
	morphChildren($("clock"), [new Text(`${state.time.slice(0, 19).replace("T", " ")} UTC, every ${state.interval_s} s`)]);
	morphChildren($("devices"), state.devices.length ? state.devices.map(drawDevice)
		: [el("p", { class: "banner note", id: "none" }, "There is no MRC device on this host.")]);
	const map = drawHealth(health, Date.parse(state.time) / 1000);
	$("health").hidden = !map;
	morphChildren($("health"), (map ?? []).flat(Infinity).filter(Boolean));
	document.documentElement.dataset.drawn = state.sample;
}

function banner(text) {
	$("banner").hidden = !text;
	$("banner").textContent = text;
	document.body.classList.toggle("stale", Boolean(text));
}

async function turn() {
	let wait = 1000;
	try {
		const [state, health] = await Promise.all([ask("/api/state"), ask("/api/health"), askForQp()]);
		remember(state);
		shown = { state, health };
		lastGood = new Date();
		wait = Math.min(60000, Math.max(100, 1000 * state.next_in_s + 20));
		redraw();
		banner("");
	} catch (e) {
		const since = lastGood ? ` What is below is of ${lastGood.toLocaleTimeString()} and old.` : "";
		banner(`mrcctl serve does not answer (${e.message}).${since}`);
		document.documentElement.dataset.failed = "";
	}
	setTimeout(turn, wait);
}

addEventListener("hashchange", followUrl);
followUrl();
turn();

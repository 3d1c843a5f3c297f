// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The map of path health: what the collector of mrcmap has written.

import { chip, count, el, looks, percent, svg, time } from "/draw.js";

// More links are not drawn, except those that are not good.
const MOST_LINKS = 2000;
// The collector writes every second.
const OLD_AFTER_S = 10;
const BADNESS = ["good", "unknown", "slow", "lossy", "dead"];
const WORDS = { good: "good", unknown: "not known", slow: "slow", lossy: "lossy", dead: "down or gray" };

const list = (value) => (Array.isArray(value) ? value.filter((x) => x && typeof x === "object") : []);
const worse = (a, b) => (BADNESS.indexOf(a) > BADNESS.indexOf(b) ? a : b);
// "p1l2:s1" is the direction of a link that begins at p1l2.
const start = (name) => String(name).split(":")[0];

function nodeOf(name) {
	const sw = /^p(\d+)([ls])(\d+)$/.exec(name);
	if (sw)
		return { name, plane: Number(sw[1]), row: sw[2] === "s" ? 0 : 1, number: Number(sw[3]) };
	const host = /^h(\d+)$/.exec(name);
	return { name, plane: 0, row: 2, number: host ? Number(host[1]) : 0 };
}

// The health of each direction and each node, by name.
function healthOf(h) {
	const directions = new Map();
	const nodes = new Map();
	for (const l of list(h.links))
		directions.set(String(l.name), { look: l.loss === null ? "unknown" : "good", loss: l.loss });
	for (const f of list(h.findings)) {
		const look = looks(f.state);
		for (const name of Array.isArray(f.directions) ? f.directions : []) {
			const d = directions.get(String(name)) ?? { loss: null };
			directions.set(String(name), { ...d, look: worse(look, d.look ?? "good"), loss: f.loss });
		}
		if (f.element === "t0" || f.element === "t1")
			nodes.set(String(f.name), look);
	}
	for (const a of list(h.agents))
		nodes.set(String(a.name), a.silent ? "unknown" : "good");
	return { directions, nodes };
}

// Links are listed with both directions, one after the other; the first one leads up.
function linksOf(h) {
	const all = list(h.links);
	const out = [];
	for (let i = 0; i + 1 < all.length; i += 2) {
		const up = String(all[i].name), down = String(all[i + 1].name);
		out.push({ up, down, low: nodeOf(start(up)), high: nodeOf(start(down)) });
	}
	return out;
}

function place(links) {
	const rows = [new Map(), new Map(), new Map()];
	for (const { low, high } of links)
		for (const n of [low, high])
			rows[n.row].set(n.name, n);
	const sorted = rows.map((r) => [...r.values()].sort((a, b) => a.number - b.number));
	const most = Math.max(1, ...sorted.map((r) => r.length));
	const width = Math.max(360, most * 62);
	const at = new Map();
	sorted.forEach((row, r) => row.forEach((n, i) =>
		at.set(n.name, { ...n, x: (width * (i + 0.5)) / row.length, y: 32 + r * 105 })));
	return { at, width, height: 32 + 2 * 105 + 34, labels: most <= 64 };
}

function half(name, from, to, health) {
	const d = health.directions.get(name) ?? { look: "unknown", loss: null };
	const mx = (from.x + to.x) / 2, my = (from.y + to.y) / 2;
	return svg("line", { class: d.look, x1: from.x, y1: from.y, x2: mx, y2: my },
		svg("title", {}, `${name}: ${WORDS[d.look]}${typeof d.loss === "number" ? `, loss ${percent(d.loss)}` : ""}`));
}

function drawPlane(plane, links, health) {
	const p = place(links);
	const lines = links.map((l) => {
		const low = p.at.get(l.low.name), high = p.at.get(l.high.name);
		return [half(l.up, low, high, health), half(l.down, high, low, health)];
	});
	const dots = [...p.at.values()].map((n) => {
		const look = health.nodes.get(n.name) ?? "good";
		return svg("g", {},
			svg("circle", { class: look, cx: n.x, cy: n.y, r: 9 }, svg("title", {}, `${n.name}: ${WORDS[look]}`)),
			p.labels ? svg("text", { x: n.x, y: n.y + (n.row === 2 ? 26 : -14) }, n.name) : null);
	});
	return el("div", { class: "card", "data-key": `plane ${plane}` },
		el("b", {}, `Plane ${plane}`),
		svg("svg", { class: "map", viewBox: `0 0 ${p.width} ${p.height}`, role: "img", "aria-label": `links of plane ${plane}` }, lines, dots));
}

function drawMaps(h, health) {
	const all = linksOf(h);
	const shown = all.length <= MOST_LINKS ? all : all.filter((l) =>
		[l.up, l.down].some((n) => (health.directions.get(n)?.look ?? "unknown") !== "good"));
	const planes = new Map();
	for (const l of shown) {
		const plane = l.high.plane;
		planes.set(plane, [...(planes.get(plane) ?? []), l]);
	}
	const left = all.length - shown.length;
	return [
		el("div", { class: "maps" }, [...planes].sort((a, b) => a[0] - b[0]).map(([n, links]) => drawPlane(n, links, health))),
		left ? el("p", { class: "quiet" }, `${count(left)} good links are not drawn.`) : null,
	];
}

const clock = (seconds) =>
	typeof seconds === "number" ? new Date(1000 * seconds).toISOString().slice(0, 19).replace("T", " ") : "–";

function row(f, since) {
	const others = Array.isArray(f.others) && f.others.length && f.direction_known !== false
		? ` or ${f.others.join(" or ")}` : "";
	return [
		el("td", { "data-label": "Link or switch" }, `${f.name}${others}`),
		el("td", { "data-label": "State" }, el("div", {}, chip(f.state))),
		el("td", { class: "n", "data-label": "Loss" }, f.state === "slow" ? "–" : percent(f.loss)),
		el("td", { class: "n", "data-label": "More delay" }, f.extra_delay_ns ? time(f.extra_delay_ns) : "–"),
		el("td", { "data-label": "Direction" }, f.direction_known === false ? "not known"
			: `${(f.directions ?? []).length > 1 ? "both" : "one"}`),
		el("td", { "data-label": "Since (UTC)" }, clock(since)),
	];
}

function drawFindings(h) {
	const found = list(h.findings);
	if (!found.length)
		return el("p", {}, chip("good", "no findings"));
	return el("table", { class: "findings" },
		el("thead", {}, el("tr", {},
			["Link or switch", "State"].map((t) => el("th", {}, t)),
			["Loss", "More delay"].map((t) => el("th", { class: "n" }, t)),
			["Direction", "Since (UTC)"].map((t) => el("th", {}, t)))),
		el("tbody", {}, found.map((f) => el("tr", { "data-key": String(f.name) }, row(f, f.since)))));
}

function drawLegend() {
	return el("p", { class: "legend" },
		["good", "slow", "lossy", "down"].map((s) => chip(s, s === "down" ? WORDS.dead : s)),
		chip("?", WORDS.unknown),
		"Half of a line is the direction that begins there.");
}

// @answer: of /api/health; @now: seconds since 1970
export function drawHealth(answer, now) {
	const h = answer?.health;
	if (!answer?.file)
		return null;
	const out = [el("h2", {}, h ? `Path health of fabric ${h.fabric}` : "Path health")];
	if (answer.error)
		out.push(el("p", { class: "banner note", id: "health-error" }, answer.error));
	if (!h)
		return out;
	const age = now - h.time;
	if (!(age <= OLD_AFTER_S))
		out.push(el("p", { class: "banner note", id: "health-old" },
			typeof h.time === "number" ? `The collector of mrcmap wrote this ${count(Math.round(age))} s ago and nothing since.`
				: "The collector of mrcmap has not said when it wrote this."));
	const agents = list(h.agents);
	const silent = agents.filter((a) => a.silent);
	out.push(el("p", { class: "quiet" }, `${agents.length - silent.length} of ${agents.length} agents report.`,
		silent.length ? ` Silent: ${silent.slice(0, 20).map((a) => a.name).join(", ")}` : ""));
	out.push(drawMaps(h, healthOf(h)), drawLegend(), el("h3", {}, "Findings"), drawFindings(h));
	const history = list(h.history).slice(-8).reverse();
	if (history.length)
		out.push(el("h3", {}, "Changes"), el("ul", { class: "small" }, history.map((c) =>
			el("li", {}, `${clock(c.at)} ${c.what}: ${c.finding?.name} ${c.finding?.state}`))));
	return out;
}

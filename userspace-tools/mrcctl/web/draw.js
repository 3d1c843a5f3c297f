// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Elements, small pictures and numbers. Text always becomes text nodes and attributes,
// never HTML: names of programs and of files are not to be trusted.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
	for (const [name, value] of Object.entries(attributes)) {
		if (name === "onclick")
			node.onclick = value;
		else if (value !== null && value !== undefined && value !== false)
			node.setAttribute(name, value === true ? "" : String(value));
	}
	for (const child of children.flat(Infinity)) {
		if (child !== null && child !== undefined)
			node.append(child instanceof Node ? child : String(child));
	}
	return node;
}

export function el(name, attributes = {}, ...children) {
	return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
	return fill(document.createElementNS(SVG, name), attributes, children);
}

function sameKind(a, b) {
	return a.nodeType === b.nodeType && a.nodeName === b.nodeName &&
		(a.nodeType !== Node.ELEMENT_NODE ||
			a.getAttribute("data-key") === b.getAttribute("data-key"));
}

// Makes @old like @next and keeps the nodes, so that focus, selection and scrolling stay.
export function morph(old, next) {
	if (old.nodeType !== Node.ELEMENT_NODE) {
		if (old.data !== next.data)
			old.data = next.data;
		return;
	}
	for (const { name } of [...old.attributes])
		if (!next.hasAttribute(name))
			old.removeAttribute(name);
	for (const { name, value } of [...next.attributes])
		if (old.getAttribute(name) !== value)
			old.setAttribute(name, value);
	old.onclick = next.onclick;
	morphChildren(old, [...next.childNodes]);
}

export function morphChildren(parent, wanted) {
	const keyed = new Map();
	for (const child of parent.children)
		if (child.hasAttribute("data-key"))
			keyed.set(child.getAttribute("data-key"), child);
	wanted.forEach((next, i) => {
		const here = parent.childNodes[i];
		const key = next.nodeType === Node.ELEMENT_NODE && next.getAttribute("data-key");
		const known = key ? keyed.get(key) : undefined;
		if (known && known !== here && sameKind(known, next)) {
			parent.insertBefore(known, here ?? null);
			morph(known, next);
		} else if (here && sameKind(here, next)) {
			morph(here, next);
		} else {
			parent.insertBefore(next, here ?? null);
		}
	});
	while (parent.childNodes.length > wanted.length)
		parent.lastChild.remove();
}

// --- numbers ---------------------------------------------------------------------------

const isNumber = (v) => typeof v === "number" && Number.isFinite(v);

function scaled(value, step, units) {
	let i = 0;
	while (Math.abs(value) >= step && i + 1 < units.length) {
		value /= step;
		i++;
	}
	return `${value.toFixed(i && value < 100 ? 1 : 0)} ${units[i]}`;
}

export function bitRate(bytesPerSecond) {
	return isNumber(bytesPerSecond)
		? scaled(8 * bytesPerSecond, 1000, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"])
		: "–";
}

export function perSecond(value) {
	return isNumber(value) ? scaled(value, 1000, ["/s", "k/s", "M/s", "G/s"]) : "–";
}

export function bytes(value) {
	return isNumber(value) ? scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]) : "–";
}

export function time(ns) {
	return isNumber(ns) ? scaled(ns / 1000, 1000, ["µs", "ms", "s"]) : "–";
}

export function count(value) {
	return isNumber(value) ? value.toLocaleString("en").replaceAll(",", "\u202f") : "–";
}

export function percent(share) {
	return isNumber(share) ? `${Number((100 * share).toPrecision(2))} %` : "–";
}

// --- states ----------------------------------------------------------------------------

// What the states of EVs, ports, links and queue pairs are drawn as.
const LOOKS = {
	good: "good", ACTIVE: "good", RTS: "good", enabled: "good", online: "good", up: "good",
	skip: "slow", slow: "slow", INIT: "slow", RTR: "slow", ARMED: "slow",
	assumed_bad: "lossy", lossy: "lossy", SQD: "lossy",
	DOWN: "dead", ERR: "dead", SQE: "dead", down: "dead", gray: "dead",
	denied: "denied", disabled: "denied", offline: "denied",
};

export const looks = (state) => (Object.hasOwn(LOOKS, state) ? LOOKS[state] : "unknown");

export const EV_WORDS = { assumed_bad: "assumed bad" };

export function chip(state, word) {
	return el("span", { class: `chip ${looks(state)}` }, word ?? EV_WORDS[state] ?? state ?? "unknown");
}

// --- pictures --------------------------------------------------------------------------

// A share of @most. @kind: tx or rx
export function bar(kind, value, most, label) {
	const width = isNumber(value) && most > 0 ? Math.min(100, (100 * value) / most) : 0;
	return svg("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": label },
		svg("rect", { class: kind, x: 0, y: 0, width: width.toFixed(2), height: 10 }));
}

// How many things are in which state: {good: 3, skip: 1}
export function stackedBar(byState) {
	const parts = Object.entries(byState ?? {}).filter(([, n]) => isNumber(n) && n > 0);
	const all = parts.reduce((sum, [, n]) => sum + n, 0);
	const words = parts.map(([state, n]) => `${n} ${EV_WORDS[state] ?? state}`).join(", ");
	let at = 0;
	const rects = parts.map(([state, n]) => {
		const width = (100 * n) / all;
		const rect = svg("rect", { class: looks(state), x: at.toFixed(2), y: 0, width: width.toFixed(2), height: 10 });
		at += width;
		return rect;
	});
	return [
		svg("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": words || "none" }, rects),
		el("span", { class: "small" }, words || "none"),
	];
}

// @lines: {tx: [...], rx: [...]}, the newest value last, null where there is none.
export function sparkline(lines, slots, most, label) {
	const points = (values) => values
		.map((v, i) => [slots - values.length + i, v])
		.filter(([, v]) => isNumber(v))
		.map(([x, v]) => `${x},${(45 - 42 * Math.min(1, most > 0 ? v / most : 0)).toFixed(2)}`)
		.join(" ");
	return svg("svg", { class: "spark", viewBox: `0 0 ${slots - 1} 46`, preserveAspectRatio: "none", role: "img", "aria-label": label },
		Object.entries(lines).map(([kind, values]) => svg("polyline", { class: kind, points: points(values) })));
}

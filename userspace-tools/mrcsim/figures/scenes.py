# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The published figures as scenarios of mrcsim.

A figure is a function of the scale. It returns the runs: a scenario for mrcsim, which is
written as JSON, and files beside it. judge() of the figure makes rows and curves of what
mrcsim says. A row has a value, what was published, and what is required of it.
"""
import random
from collections import namedtuple

# @files: contents by name.
Run = namedtuple("Run", "name scene files", defaults=({},))
# @need: a pair like (">=", 94), or None. @guard: the same for reduced figures.
Row = namedtuple("Row", "what value unit published need guard", defaults=(None, None))
Plot = namedtuple("Plot", "title x y curves")  # curves: {name: [(x, y), ...]}

# Rates of 400 Gbit/s: marks from 800 KB on, a fifth of the packets at 3200 KB.
MARKS_400G = {"mark": "190%..3050%", "last_hop_marks": True, "trim": False,
              "depth": "10000%", "last_hop": "10000%"}
PFC = {"xoff": 250, "xon": 240}
# For figure 22, a public sweep: the default of a NIC, one that increases fast, one that is
# stable. The other figures have the parameters of the publication of DCQCN.
DCQCN = {
    "default": {"timer": "300us", "alpha_timer": "1us", "bytes": 32767, "cnp": "4us",
                "between": "4us", "recovery": 1, "ai": "5mbit", "hai": "50mbit"},
    "fast": {"timer": "75us", "alpha_timer": "1us", "bytes": 32767, "cnp": "4us",
             "between": "4us", "recovery": 1, "ai": "50mbit", "hai": "500mbit"},
    "slow": {"timer": "1200us", "alpha_timer": "1us", "bytes": 32767, "cnp": "4us",
             "between": "4us", "recovery": 1, "ai": "1mbit", "hai": "10mbit"},
}


def clos(planes, t0, t1, hosts, gbit):
    return {"planes": planes, "t0": t0, "t1": t1, "hosts": hosts, "rate": f"{gbit}gbit"}


def gbit(bytes_, us):
    return bytes_ * 8e-3 / us


def rates_of_flow(run, n):
    """Gbit/s of a flow of the series: [(ms, rate)]."""
    out, at, before = [], 0, 0
    for s in run["samples"]:
        out.append((s["at_us"] / 1e3, gbit(s["flows"][n] - before, s["at_us"] - at)))
        at, before = s["at_us"], s["flows"][n]
    return out


def steps(run, key):
    """How much a sum grew in each interval: [(ms, amount)]."""
    out, before = [], 0
    for s in run["samples"]:
        out.append((s["at_us"] / 1e3, s[key] - before))
        before = s[key]
    return out


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else 0.0


def between(points, first, last):
    return [y for x, y in points if first < x <= last]


def jain(v):
    squares = sum(x * x for x in v)
    return sum(v) ** 2 / (len(v) * squares) if squares else 0.0


# --- 4: start without a deny list -------------------------------------------

def fig4(full):
    planes, t0, t1, hosts = (4, 147, 128, 128) if full else (4, 8, 32, 32)
    periods = 50 if full else 25
    links = [f"p{p}l{a}:s{b}+" for p in range(1, planes + 1) for a in range(1, t0 + 1)
             for b in range(1, t1 + 1)]
    dead = random.Random(4).sample(links, max(len(links) // 200, 1))
    return [Run("start", {
        "clos": clos(planes, t0, t1, hosts, 200),
        "traffic": {"permutation": {"size": 1000000, "qps": 8, "repeat": periods,
                                    "every": "100us"}},
        "timeline": {"0us": [f"{link} down" for link in dead]},
        "time": f"{periods * 100}us", "sample": "100us"})]


def judge4(runs, _full):
    run = runs["start"]["mrc"][0]
    # Probes of dead EVs are lost, too. What was sent again, but for trims, tells of data.
    lost = [(x, max(y - trims, 0)) for (x, y), (_, trims) in
            zip(steps(run, "resent"), steps(run, "trimmed"))]
    total = sum(y for _, y in lost)
    qps = run["queue_pairs"]
    late = sum(y for _, y in lost[len(lost) * 3 // 4:])
    return [
        Row("lost data packets, all together", total, "", "", None, (">", 0)),
        Row("the same, per queue pair", total / qps, "", "below 5", ("<", 5), ("<", 5)),
        Row("lost in the last quarter, per million packets",
            late * 4e6 / run["data_packets"], "", "0.04, two minutes later", ("<", 100),
            ("<", 1000)),
        Row("EVs condemned, per queue pair", run["evs_condemned"] / qps, "", ""),
    ], [Plot("Lost packets after the start", "ms", "packets in 100 us",
             {"MRC": [(x, y + 0.1) for x, y in lost]})]


# --- 6, 7: flaps of links to hosts ------------------------------------------

def flaps(full):
    hosts, unit = (64, 1000) if full else (8, 200)
    line = {}
    for n in range(5):
        for what, at in (("down", 2 * n + 1), ("up", 2 * n + 2)):
            line[f"{at * unit}us"] = [f"{h}:p1+ {what}" for h in ("h1", "h2", "h3")]
    end = 12 * unit
    # More than can be sent.
    return [Run("flaps", {
        "clos": clos(4, 4, hosts, hosts, 200),
        "traffic": {"sendrecv": {"size": min(end * 105000, 2147483648), "by": hosts}},
        "timeline": line, "time": f"{end}us", "sample": f"{unit // 10}us",
        "series": {"flows": "all"}})]


def judge6(runs, full):
    run = runs["flaps"]["mrc"][0]
    unit = 1 if full else .2
    flows = [rates_of_flow(run, n) for n in range(len(run["samples"][0]["flows"]))]
    worst = [(flows[0][i][0], min(f[i][1] for f in flows)) for i in range(len(flows[0]))]
    before = mean(between(worst, unit / 2, unit))
    # Without the first fifth of each phase, in which losses are found.
    down = [mean(between(worst, (2 * n + 1.2) * unit, (2 * n + 2) * unit)) for n in range(5)]
    up = [mean(between(worst, (2 * n + 2.2) * unit, (2 * n + 3) * unit)) for n in range(5)]
    return [
        Row("slowest host while a port is down, of the rate before", 100 * mean(down) / before,
            "%", "75", (">=", 74), (">=", 65)),
        Row("slowest host when it is up again", 100 * mean(up) / before, "%", "100",
            (">=", 98), (">=", 60)),
        Row("flows that failed", run["failed"], "", "0", ("<=", 0), ("<=", 0)),
    ], [Plot("Slowest of all hosts, three ports flap", "ms", "Gbit/s", {"MRC": worst})]


def judge7(runs, full):
    run = runs["flaps"]["mrc"][0]
    lost = steps(run, "lost")
    total = run["lost"] + run["cut_off"]
    return [
        Row("lost packets per flap and port", total / 15, "", "up to 7000 a second of a node",
            None, (">", 0)),
        Row("of all packets", 100 * total / run["data_packets"], "%", "", ("<", .5), ("<", 1)),
    ], [Plot("Lost packets, three ports flap", "ms",
             "packets in 100 us" if full else "packets in 20 us", {"MRC": lost})]


# --- 8: a T1 drops everything ------------------------------------------------

def fig8(full):
    t0, t1, hosts = (147, 128, 128) if full else (8, 16, 16)
    down, up, end = (500, 1500, 2000) if full else (300, 800, 1200)
    return [Run("t1", {
        "clos": clos(4, t0, t1, hosts, 200),
        "traffic": {"permutation": {"size": 3000000, "repeat": end // 100 - 1,
                                    "every": "100us"}},
        "timeline": {f"{down}us": "p1s1 drop", f"{up}us": "p1s1 clear"},
        "time": f"{end}us", "sample": "50us"})]


def judge8(runs, full):
    run = runs["t1"]["mrc"][0]
    down, up, end = (.5, 1.5, 2.0) if full else (.3, .8, 1.2)
    placed = [(x, y * 8e-9 / 50e-6) for x, y in steps(run, "placed")]
    lost = steps(run, "lost")
    # Load comes in periods of two samples.
    pairs = [(placed[i + 1][0], (placed[i][1] + placed[i + 1][1]) / 2)
             for i in range(0, len(placed) - 1, 2)]
    before = mean(between(pairs, .1, down))
    dip = min(between(pairs, down, end - .1))
    back = sum(between(lost, up + .1, end))
    return [
        Row("throughput of the job in its worst 100 us", 100 * dip / before, "%",
            "a dip of a minute's sample", (">=", 90), (">=", 80)),
        Row("longest message, over the median", run["fct"]["max_us"] - run["fct"]["p50_us"],
            "us", "", ("<", 1000), ("<", 1000)),
        Row("lost packets per host", run["lost"] / run["queue_pairs"], "",
            "31 of 18,750 hosts", None, (">", 0)),
        Row("lost after it forwards again", back, "", "none", ("<=", 0), None),
        Row("EVs condemned, per host", run["evs_condemned"] / run["queue_pairs"], "",
            ""),
    ], [Plot("A T1 drops all packets, forwards again", "ms", "Tbit/s", {"MRC": [
        (x, y / 1e3) for x, y in placed]}),
        Plot("Packets lost there", "ms", "packets in 50 us", {"MRC": lost})]


# --- 15: sendrecv ------------------------------------------------------------

def fig15(full):
    runs = []
    sizes = (64, 256, 1024, 2047) if full else (64, 256)
    for mb in sizes:
        runs.append(Run(f"{mb}", {
            "clos": clos(8, 4, 16, 16 if full else 4, 100),
            "traffic": {"sendrecv": {"size": mb * 1000000}},
            "engine": {"host_delay": "47us", "frame": 78}}))
    if full:
        runs.append(Run("all", {
            "clos": clos(8, 165, 256, 256, 100),
            "traffic": {"sendrecv": {"size": 8000000, "hosts": 42020}},
            "engine": {"frame": 78}}))
    return runs


def judge15(runs, full):
    rate = {name: gbit(int(name) * 1e6, r["mrc"][0]["last_received_us"])
            for name, r in runs.items() if name != "all"}
    largest = max(rate, key=int)
    rows = [Row("64 MB", rate["64"], "Gbit/s", "690", (">=", 690), (">=", 650)),
            Row(f"{largest} MB, of 800 Gbit/s", rate[largest] / 8, "%", "92",
                (">=", 94) if full else None, (">=", 88))]
    if full:
        rows.append(Row("42,020 NICs, 8 MB, without the delay of hosts", gbit(
            8e6, runs["all"]["mrc"][0]["last_received_us"]) / 8, "%", "", (">=", 85)))
    return rows, [Plot("sendrecv with the next rank", "MB", "Gbit/s", {
        "MRC": sorted((int(k), v) for k, v in rate.items())})]


# --- 16, 17: collectives with loss ------------------------------------------

def collective(full, pattern, hosts):
    runs = []
    t0 = 4
    each = hosts // t0
    for loss in (0, .1, 1):
        for size in ((64, 1024) if full else (64,)):
            part = {"hosts": hosts, "size": f"{size}m"}
            if pattern == "alltoall":
                part.update(size=size * 1048576 // hosts, parallel=hosts - 1)
            line = {"0us": f"p*l*:h* loss {loss}%"} if loss else {}
            runs.append(Run(f"MRC {loss} {size}", {
                "clos": clos(4, t0, 16, each, 100), "traffic": {pattern: part},
                "engine": {"nic_depth": 16, "range": 8}, "timeline": line,
                "seeds": [1, 2, 3]}))
            if full and size == 1024 and loss == 1:
                continue
            for qps in (1, 16):
                if pattern == "alltoall" and qps > 1 and not full:
                    continue
                runs.append(Run(f"RoCE-{qps} {loss} {size}", {
                    "clos": clos(1, t0, each, each, 400),
                    "traffic": {pattern: dict(part, qps=qps)}, "timeline": line,
                    "columns": ["roce-pfc"], "queues": MARKS_400G,
                    "roce": PFC}))
    return runs


def judge_collective(runs, full, share, published, need):
    rate, rows = {}, []
    for name, r in runs.items():
        who, loss, size = name.split()
        seeds = next(iter(r.values()))
        rate[who, loss, int(size)] = share * sum(
            gbit(int(size) * 1048576, run["last_received_us"]) for run in seeds) / len(seeds)
    largest = max(size for _, _, size in rate)
    for loss in ("0", "0.1", "1"):
        value = rate["MRC", loss, largest] / 4
        rows.append(Row(f"MRC, {loss} % loss, {largest} MiB, of 400 Gbit/s", value, "%",
                        published[loss], (">=", need[loss]) if full else None, (">=", 40)))
        size = max(s for who, lost, s in rate if (who, lost) == ("RoCE-1", loss))
        one = rate["RoCE-1", loss, size]
        rows.append(Row(f"RoCE with PFC, 1 QP, {loss} % loss, {size} MiB", one / 4, "%",
                        published["RoCE " + loss], None,
                        ("<", value) if loss != "0" else None))
    curves = {}
    for (who, loss, size), v in sorted(rate.items()):
        curves.setdefault(f"{who}, {size} MiB", []).append((float(loss), v))
    return rows, curves


def judge16(runs, full):
    # Each host sends 2 (n - 1) / n of the size.
    n = 64 if full else 16
    rows, curves = judge_collective(
        runs, full, 2 * (n - 1) / n,
        {"0": "94", "0.1": "86", "1": "33 to 38", "RoCE 0": "56", "RoCE 0.1": "48",
         "RoCE 1": "8"}, {"0": 95, "0.1": 94, "1": 90})
    return rows, [Plot("Ring all-reduce", "loss, %", "Gbit/s of a link", curves)]


def judge17(runs, full):
    n = 64 if full else 16
    rows, curves = judge_collective(
        runs, full, (n - 1) / n,
        {"0": "90 to 100", "0.1": "83", "1": "59", "RoCE 0": "82", "RoCE 0.1": "80",
         "RoCE 1": "32"}, {"0": 95, "0.1": 94, "1": 90})
    return rows, [Plot("All-to-all", "loss, %", "Gbit/s of a link", curves)]


# --- 18, 21: incast beside a victim -----------------------------------------

def matrix(flows, size, start=lambda n: 0):
    lines = ["Nodes 16", f"Connections {len(flows)}"]
    lines += [f"{a}->{b} start {start(n)} size {size}" for n, (a, b) in enumerate(flows)]
    return "\n".join(lines) + "\n"


VICTIM = [(n, 0) for n in range(4, 11)] + [(12, 1)]
RACKS = clos(1, 4, 4, 4, 400)


def shared(scene, end, flows, files, sample):
    """MRC, RoCE with PFC and DCQCN, with PFC only."""
    common = {"clos": RACKS, "traffic": {"matrix": "flows.cm"}, "time": f"{end}us",
              "sample": f"{sample}us", "series": {"flows": "all"}}
    common.update(scene)
    return [Run("MRC", dict(common), files),
            Run("PFC and DCQCN", dict(common, columns=["roce-pfc"], queues=MARKS_400G,
                                      roce=PFC), files),
            Run("PFC only", dict(common, columns=["roce-pfc"], queues=MARKS_400G,
                                 roce=dict(PFC, dcqcn="false")), files)]


def fig18(full):
    end = 40000 if full else 2000
    files = {"flows.cm": matrix(VICTIM, 2147483648 if full else 200000000)}
    return shared({}, end, VICTIM, files, end // 40)


def victim_rows(runs, name, published, jain_published, need, guard):
    run = next(iter(runs[name].values()))[0]
    rates = [rates_of_flow(run, n) for n in range(8)]
    end = rates[0][-1][0]
    means = [mean(between(r, end / 4, end)) for r in rates]
    rows = [Row(f"{name}: victim, of what it can have", 100 * means[7] / (400 * .97), "%",
                published, need and (">=", need), guard),
            Row(f"{name}: Jain's index of the incast", jain(means[:7]), "", jain_published,
                (">=", .99) if need else None, (">=", .8) if need else None)]
    return rows, {f"{name}: victim": rates[7], f"{name}: one of seven": rates[0]}


def judge18(runs, full):
    rows, curves = victim_rows(runs, "MRC", "97.5", "equal", 99, (">=", 95))
    return rows, [Plot("7 to 1 beside a victim", "ms", "Gbit/s", curves)]


def judge21(runs, full):
    rows, curves = victim_rows(runs, "PFC and DCQCN", "75, and less", "", None, None)
    more, other = victim_rows(runs, "PFC only", "8 to 25", "", None, ("<", 90))
    curves.update(other)
    return rows + more, [Plot("7 to 1 beside a victim, RoCE", "ms", "Gbit/s", curves)]


# --- 20: one to one between racks -------------------------------------------

def fig20(full):
    end = 2000 if full else 400
    flows = [(n, n + 8) for n in range(8)]
    seeds = list(range(1, 21 if full else 6))
    runs = shared({"seeds": seeds}, end, flows, {"flows.cm": matrix(flows, 200000000)},
                  end // 20)
    return runs[:2]


def judge20(runs, _full):
    rows, curves = [], {}
    for name, published, need in (("MRC", "390 all", (">=", .999)),
                                  ("PFC and DCQCN", "390 / 195 / 130 with PFC", None)):
        all_rates = []
        for run in next(iter(runs[name].values())):
            for n in range(8):
                r = rates_of_flow(run, n)
                all_rates.append(mean(y for _, y in r[len(r) // 2:]))
        rows += [Row(f"{name}: mean of the flows", mean(all_rates), "Gbit/s", published, None,
                     (">=", 360) if need else ("<", 360)),
                 Row(f"{name}: Jain's index", jain(all_rates), "", "", need,
                     (">=", .98) if need else ("<", .98))]
        all_rates.sort()
        curves[name] = [(100 * (i + 1) / len(all_rates), r) for i, r in enumerate(all_rates)]
    return rows, [Plot("Eight to eight, one to one", "% of flows", "Gbit/s", curves)]


# --- 22: queue of the last hop ----------------------------------------------

def fig22(full):
    gap = 2000 if full else 200
    flows = [(n, 0) for n in range(1, 16)]
    files = {"flows.cm": matrix(flows, 2147483648 if full else 300000000,
                                lambda n: n * gap)}
    common = {"clos": RACKS, "traffic": {"matrix": "flows.cm"}, "time": f"{16 * gap}us",
              "sample": f"{gap // 10}us", "series": {"queues": "p1l1:h1"}}
    runs = [Run("MRC", common, files)]
    for name, d in DCQCN.items():
        runs.append(Run(name, dict(common, columns=["roce"], roce={"dcqcn": d}, queues=dict(
            MARKS_400G)), files))
    return runs


def judge22(runs, _full):
    rows, curves = [], {}
    for name, r in runs.items():
        run = next(iter(r.values()))[0]
        queue = [(s["at_us"] / 1e3, s["queues"][0] / 1e6) for s in run["samples"]]
        placed = steps(run, "placed")
        step = placed[0][0]
        rate = mean(gbit(y, step * 1e3) for _, y in placed[len(placed) // 2:])
        who = name if name == "MRC" else f"DCQCN {name}"
        mrc = name == "MRC"
        rows += [Row(f"{who}: longest queue", max(y for _, y in queue), "MB",
                     "" if mrc else "5 to 20", ("<", 1.5) if mrc else None,
                     ("<", 1.5) if mrc else None),
                 Row(f"{who}: rate, of 388", 100 * rate / 388, "%",
                     "" if mrc else "80 to 100", (">=", 98) if mrc else None,
                     (">=", 90) if mrc else None)]
        curves[who] = queue
    return rows, [Plot("15 to 1, a flow more each time", "ms", "MB in the last queue", curves)]


# Name: runs, judge, name of the runs, which several figures may share.
FIGURES = {
    "4": (fig4, judge4, "4"),
    "6": (flaps, judge6, "6"),
    "7": (flaps, judge7, "6"),
    "8": (fig8, judge8, "8"),
    "15": (fig15, judge15, "15"),
    "16": (lambda full: collective(full, "allreduce", 64 if full else 16), judge16, "16"),
    "17": (lambda full: collective(full, "alltoall", 64 if full else 16), judge17, "17"),
    "18": (fig18, judge18, "18"),
    "20": (fig20, judge20, "20"),
    "21": (fig18, judge21, "18"),
    "22": (fig22, judge22, "22"),
}

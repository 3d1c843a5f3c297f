#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Checks a JSON report of mrcperf against the requested run: every test and operation
# with SIZES, ITERS messages after WARMUP on each of QPS queue pairs, verified, REPEAT
# times. Prints the errors.
#
# usage: mrcperf_json.py FILE SIZES ITERS WARMUP QPS REPEAT
import json
import sys

LATENCIES = ("min", "p50", "p90", "p99", "p999", "max")
wrong = []


def expect(ok, what):
    if not ok:
        wrong.append(what)


def close(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b))


def check_summary(summary, values, what):
    values = sorted(values)
    half = len(values) // 2
    median = values[half] if len(values) % 2 else sum(values[half - 1:half + 1]) / 2
    expect(close(summary["median"], median), f"{what}: median {summary}")
    expect(summary["min"] == values[0], f"{what}: min {summary}")
    expect(summary["max"] == values[-1], f"{what}: max {summary}")
    expect(close(summary["spread_percent"], (values[-1] - values[0]) / median * 100),
           f"{what}: spread {summary}")


def check_run(run, point, messages, checked):
    what = f"{point['test']} {point['op']} {point['size']} #{run['repetition']}"
    latency = point["test"] == "lat"
    expect(run["messages"] == messages, f"{what}: {run['messages']} messages")
    expect(run["bytes"] == messages * point["size"], f"{what}: {run['bytes']} bytes")
    expect(run["checked"] == checked, f"{what}: {run['checked']} checked")
    expect(run["bad"] == 0, f"{what}: {run['bad']} bad")
    expect(run["seconds"] > 0, f"{what}: {run['seconds']} seconds")
    expect(close(run["bytes_per_second"] * run["seconds"], run["bytes"]), f"{what}: bandwidth")
    expect(close(run["messages_per_second"] * run["seconds"], messages), f"{what}: rate")
    expect(("latency_us" in run) == latency, f"{what}: latency there or not")
    if latency:
        values = [run["latency_us"][k] for k in LATENCIES]
        expect(values[0] > 0 and values == sorted(values), f"{what}: latency {values}")


def main():
    sizes = [int(s) for s in sys.argv[2].split(",")]
    iters, warmup, qps, repeat = (int(a) for a in sys.argv[3:])
    with open(sys.argv[1], encoding="ascii") as f:
        j = json.load(f)

    expect(j["mrcperf"] == 1 and j["status"] == "ok" and j["error"] is None, "status")
    p = j["parameters"]
    expect(p["device"] == "mrca" and p["peer_device"] == "mrcb", f"devices: {p}")
    expect(p["queue_pairs"] == qps and p["iterations"] == iters and p["warmup"] == warmup and
           p["repetitions"] == repeat, f"numbers: {p}")
    expect(p["verify"] is True and p["ev_profile"] is None and p["mtu"] == 4096, f"parameters: {p}")
    points = [(r["test"], r["op"], r["size"]) for r in j["results"]]
    expect(points == [(t, o, s) for t in ("bw", "rate", "lat") for o in ("write", "write_imm")
                      for s in sizes], f"points: {points}")
    sums = {"messages": 0, "bytes": 0, "checked": 0, "bad": 0}
    for r in j["results"]:
        latency = r["test"] == "lat"
        expect([x["repetition"] for x in r["runs"]] == list(range(1, repeat + 1)), f"runs: {r}")
        for x in r["runs"]:
            check_run(x, r, iters * qps, (iters + warmup) * qps * (2 if latency else 1))
            for k in sums:
                sums[k] += x[k]
        for k in ("bytes_per_second", "messages_per_second"):
            check_summary(r["summary"][k], [x[k] for x in r["runs"]], k)
        for k in LATENCIES if latency else ():
            check_summary(r["summary"]["latency_us"][k],
                          [x["latency_us"][k] for x in r["runs"]], f"latency {k}")
    expect(j["totals"] == sums, f"totals {j['totals']}, not {sums}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Re-creates the published figures of MRC with mrcsim: runs the scenarios of scenes.py,
compares their values with what was published and required, and draws them.

Exit status: 0 all requirements are met; 3 one is not; 1 something did not run, or a
reduced figure is beyond its limits.
"""
import argparse
import html
import json
import os
import re
import subprocess
import sys
import time

import scenes

PACKETS_PER_SECOND = 180000  # of one thread, see Documentation/mrcsim.md
COMPARE = {">=": lambda a, b: a >= b, "<=": lambda a, b: a <= b,
           ">": lambda a, b: a > b, "<": lambda a, b: a < b}


class Failed(Exception):
    """A program that did not do what it should."""


def call(command, statuses=(0,)):
    p = subprocess.run(command, capture_output=True, text=True, check=False)
    if p.returncode not in statuses:
        raise Failed(f"{' '.join(command)}: status {p.returncode}\n{p.stderr.strip()}")
    return p.stdout


def write(path, text):
    """All of it or nothing."""
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(path + ".new", path)


def nanoseconds(text):
    value, unit = re.fullmatch(r"([0-9.]+)(ns|us|ms|s)", text).groups()
    return float(value) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def data_packets(mrcsim, path, scene):
    """How many data packets a scenario has, roughly: by what plan says."""
    plan = call([mrcsim, "plan", path])
    hosts = int(re.search(r": (\d+) hosts", plan).group(1))
    total = int(re.search(r"(\d+) bytes\n", plan).group(1))
    if "time" in scene:
        gbits = float(scene["clos"]["rate"][:-4]) * scene["clos"]["planes"] * hosts
        total = min(total, gbits / 8 * nanoseconds(scene["time"]))
    return total / 4096 * len(scene.get("columns", [1])) * len(scene.get("seeds", [1]))


def gnuplot(plot, path):
    script = ["set terminal svg size 720,400 background rgb 'white' font 'sans,12'",
              f"set output '{path}'", "set grid", "set key outside below",
              f"set title \"{plot.title}\"", f"set xlabel \"{plot.x}\"",
              f"set ylabel \"{plot.y}\"", "set yrange [0:*]"]
    names = sorted(plot.curves)
    script.append("plot " + ", ".join(
        f"'-' using 1:2 with linespoints pt 7 ps 0.3 title \"{n}\"" for n in names))
    for n in names:
        script += [f"{x} {y}" for x, y in plot.curves[n]] + ["e"]
    p = subprocess.run(["gnuplot"], input="\n".join(script) + "\n", text=True,
                       capture_output=True, check=False)
    if p.returncode or not os.path.getsize(path):
        raise Failed(f"gnuplot: {p.stderr.strip()}")


class Runner:
    def __init__(self, args):
        self.args = args
        self.dir = args.out
        self.written = {}
        self.results = {}

    def scenarios(self, name):
        """The runs of a figure, written as files: [(run, path)]."""
        make, _, group = scenes.FIGURES[name]
        if group in self.written:
            return self.written[group]
        out = self.written[group] = []
        for run in make(self.args.full):
            where = os.path.join(self.dir, f"runs-{group}", run.name.replace(" ", "_"))
            os.makedirs(where, exist_ok=True)
            for file, text in run.files.items():
                write(os.path.join(where, file), text)
            path = os.path.join(where, "scenario.yaml")
            write(path, json.dumps(dict(run.scene, name=run.name), indent=1) + "\n")
            out.append((run, path))
        return out

    def results_of(self, name):
        """{run: {column: [result, one for each seed]}}"""
        group = scenes.FIGURES[name][2]
        if group in self.results:
            return self.results[group]
        results = {}
        for run, path in self.scenarios(name):
            # 3: a flow has failed, or not ended in the time of the scenario.
            text = call([self.args.mrcsim, "run", path, "-o", "-", "-t",
                         str(self.args.threads)], (0, 3))
            columns = {}
            for r in json.loads(text)["runs"]:
                columns.setdefault(r["column"], []).append(r)
            results[run.name] = columns
        self.results[group] = results
        return results

    def expected(self, names):
        seconds, groups = 0, set()
        for name in names:
            group = scenes.FIGURES[name][2]
            if group in groups:
                continue
            groups.add(group)
            for run, path in self.scenarios(name):
                seconds += data_packets(self.args.mrcsim, path,
                                        run.scene) / PACKETS_PER_SECOND
        return seconds


def verdict(row, full):
    """The text of a row's requirement, and whether it is met (None: there is none)."""
    need = row.need if full else row.guard
    if not need:
        return "", None
    return f"{need[0]} {need[1]:g}", COMPARE[need[0]](row.value, need[1])


def page(full, parts):
    style = "body{font-family:sans-serif;max-width:60em;margin:2em auto}" \
            "td,th{padding:.2em .8em;text-align:left}.no{color:#b00}"
    out = ["<!doctype html><meta charset=utf-8><title>Figures of MRC, simulated</title>",
           f"<style>{style}</style><h1>Published figures of MRC, simulated</h1>",
           f"<p>{'Full' if full else 'Reduced'} scale. RoCE v2 is a model.</p>"]
    for name, rows, pictures, seconds in parts:
        out.append(f"<h2>Figure {name}</h2><p>{seconds:.0f} s</p><table><tr><th>What<th>Here"
                   "<th>Published<th>Required")
        for row in rows:
            text, met = verdict(row, full)
            out.append(f"<tr><td>{html.escape(row.what)}<td>{row.value:.4g} {row.unit}<td>"
                       f"{html.escape(row.published)}<td class={'no' if met is False else ''}>"
                       f"{html.escape(text)} {'' if met is None else 'met' if met else 'NOT MET'}")
        out.append("</table>")
        for path in pictures:
            with open(path, encoding="utf-8") as f:
                out.append(f.read().split("?>", 1)[-1])
    return "\n".join(out) + "\n"


def work(args):
    names = args.figures or sorted(scenes.FIGURES, key=int)
    unknown = [n for n in names if n not in scenes.FIGURES]
    if unknown:
        raise Failed(f"no figure {unknown[0]}; there are: {' '.join(scenes.FIGURES)}")
    os.makedirs(args.out, exist_ok=True)
    runner = Runner(args)
    seconds = runner.expected(names)
    print(f"{len(names)} figures, {'full' if args.full else 'reduced'}: about "
          f"{seconds / 60:.0f} minutes of processor time", flush=True)
    if args.plan:
        return 0
    parts, unmet = [], 0
    for name in names:
        since = time.monotonic()
        rows, plots = scenes.FIGURES[name][1](runner.results_of(name), args.full)
        pictures = []
        for n, plot in enumerate(plots):
            path = os.path.join(args.out, f"fig{name}{'abc'[n] if len(plots) > 1 else ''}.svg")
            gnuplot(plot, path)
            pictures.append(path)
        parts.append((name, rows, pictures, time.monotonic() - since))
        for row in rows:
            text, met = verdict(row, args.full)
            unmet += met is False
            say = "" if met is None else f"  {text}: {'met' if met else 'NOT MET'}"
            print(f"fig {name}: {row.what}: {row.value:.4g} {row.unit}"
                  f"{f' (published {row.published})' if row.published else ''}{say}", flush=True)
        write(os.path.join(args.out, "report.html"), page(args.full, parts))
    write(os.path.join(args.out, "values.json"), json.dumps(
        {n: [row._asdict() for row in rows] for n, rows, _, _ in parts}, indent=1) + "\n")
    print(f"the report: {os.path.join(args.out, 'report.html')}")
    return (3 if args.full else 1) if unmet else 0


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    p.add_argument("--mrcsim", default="mrcsim", help="the program")
    p.add_argument("--out", required=True, help="a directory for what is made")
    p.add_argument("--full", action="store_true", help="full scale, hours; else reduced")
    p.add_argument("--threads", type=int, default=1, help="of each run")
    p.add_argument("--plan", action="store_true", help="only say how long it takes")
    p.add_argument("figures", nargs="*", help="numbers; all by default")
    try:
        return work(p.parse_args())
    except (Failed, OSError, ValueError, KeyError) as e:
        print(f"figures: {e!r}" if isinstance(e, KeyError) else f"figures: {e}",
              file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

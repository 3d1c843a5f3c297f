# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Writes what run_tests.py -v said as one file per test.

usage: rdma_core_results.py LOG DIRECTORY

DIRECTORY/CLASS.TEST has the verdict (pass, fail, skip) and its words,
CLASS.TEST.log what unittest tells about a failure. A test that took the interpreter
along has failed; its CLASS.TEST is printed.
"""
import re
import sys

RESULT = re.compile(
    r"^(test\w*) \((?:tests\.)?([\w.]+)\)(?:\n[^\n]*)?? \.\.\. "
    r".*?(ok|FAIL|ERROR|skipped ['\"].*?['\"])$",
    re.M | re.S,
)
BEGUN = re.compile(r"^(test\w*) \((?:tests\.)?([\w.]+)\)", re.M)


def main():
    log, out = sys.argv[1:]
    with open(log, errors="replace") as f:
        text = f.read()
    for m in RESULT.finditer(text):
        name, cls, verdict = m.groups()
        cls = cls.removesuffix("." + name)
        word = {"o": "pass", "s": "skip"}.get(verdict[0], "fail")
        detail = re.search(
            rf"^(?:FAIL|ERROR): {name} \((?:tests\.)?{re.escape(cls)}\b"
            r".*?(?=^=====|^-----[^\n]*\nRan)",
            text,
            re.M | re.S,
        )
        with open(f"{out}/{cls}.{name}", "w") as f:
            f.write(f"{word} {verdict}\n")
        with open(f"{out}/{cls}.{name}.log", "w") as f:
            f.write(detail.group(0) if detail else verdict)
    if re.search(r"^Ran \d+ tests? in", text, re.M):
        return
    begun = BEGUN.findall(text)
    if not begun:
        sys.exit("no test was begun")
    name, cls = begun[-1]
    cls = cls.removesuffix("." + name)
    with open(f"{out}/{cls}.{name}", "w") as f:
        f.write("fail ended the interpreter\n")
    with open(f"{out}/{cls}.{name}.log", "w") as f:
        f.write(text[-2000:])
    print(f"{cls}.{name}")


main()

#!/usr/bin/env python3
"""Runs the recorded trainings (trainings.py) with two builds of the command and compares what they give.

compare.py BASE_HAWSER NEW_HAWSER [--only PATTERN] [--objectives] [--short] [--list]

By default a training that repeats (bsp, dc:0) must give the same model file, bit by bit except for the checksum and the version, the
same figures (--json and closing lines), the same certificates (--trace) and the same exit status. Under ssp, tap, delay and dc the
order of messages decides the bits, so the objectives may differ by the sum of the two certified gaps.

--objectives is for a build that adds up in another order. A training that repeats may then give other bits and clocks, but
its objectives differ by at most the sum of both gaps; at the smallest tolerance that can be reached they differ by at most
1e-12. The new build must give the same bits with one thread and with several, in one process and in several.
"""
import argparse
import fnmatch
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import problems  # noqa: E402
import trainings  # noqa: E402

CLEAN = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
# Facts of a model and figures of --json that tell of time, memory, traffic or the version. Sentences may be put in other words.
FREE_FACTS = {"hawser.checksum", "hawser_version"}
FREE_FIGURES = {"seconds_load", "seconds_train", "bytes_exchanged", "worker", "links", "waits_for", "gates", "accepts", "flows", "coalesced", "policy", "notes",
                "repeatable_reason", "stop_reason", "options"}
TRACED = ("clock", "objective", "gap", "nonzeros", "inertia", "moved", "shift", "start")  # those that an algorithm has
LINE = re.compile(r"^([a-z_0-9]+) +(-?[0-9.][0-9.e+-]*|-?inf|-?nan|unknown)$")
SMALLEST_TOL, CLOSE = "1e-16", 1e-12


class Different(Exception):
    """Says in one line what differs."""


class Result:
    """Holds what one training gave."""

    def __init__(self, folder, done):
        self.status, self.errors = done.returncode, done.stderr
        lines = done.stdout.splitlines()
        self.figures = json.loads(lines.pop()) if lines and lines[-1].startswith("{") else {}
        self.lines = [line for line in lines if LINE.match(line)]
        self.facts, self.layout, self.tensors = read_model(os.path.join(folder, "model"))
        self.trace = read_trace(os.path.join(folder, "trace.csv"))

    def repeats(self):
        return self.figures.get("repeatable", False)

    def number(self, name):
        value = self.figures.get(name)
        return math.nan if value is None else float(value)


def read_model(path):
    """Returns (facts, layout of the tensors, their bytes by name) of a model file, or empty ones if none was saved."""
    if not os.path.exists(path):
        return {}, {}, {}
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        layout, body = json.loads(file.read(length)), file.read()
    facts = layout.pop("__metadata__")
    tensors = {}
    for name, entry in layout.items():
        begin, end = entry["data_offsets"]
        tensors[name] = body[begin:end]
    return facts, layout, tensors


def read_trace(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="ascii") as file:
        rows = [line.rstrip("\n").split(",") for line in file]
    columns = [rows[0].index(name) for name in TRACED if name in rows[0]]
    return [[row[c] for c in columns] for row in rows]


def call(words, folder, environment=None):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environment or CLEAN, timeout=280, check=False)


class Build:
    """Runs trainings with one of the two commands, each in a folder of its own."""

    def __init__(self, name, binary, root):
        self.name, self.binary, self.root = name, os.path.realpath(binary), root
        self.results = {}

    def train(self, training, nodes, more=()):
        key = (training.name, nodes, more)
        if key not in self.results:
            self.results[key] = self.run(training, nodes, more)
        return self.results[key]

    def run(self, training, nodes, more):
        folder = tempfile.mkdtemp(dir=os.path.join(self.root, self.name))
        data = os.path.join("..", "..", "data")
        start = [self.binary] if nodes == 1 else [self.binary, "run", "-n", str(nodes), "--"]
        common = ["train", training.algorithm, os.path.join(data, training.data), "--workers", str(training.workers)]
        common += [] if training.data.endswith(".csv") else ["--index-base", "1"]
        if training.before is not None:
            first = call(start + common + training.before.split() + ["-q", "-o", "first"], folder)
            if first.returncode != 0:
                raise Different(f"{self.name}: the first training failed: {first.stderr.strip()}")
        words = [word.replace("{data}", data) for word in training.words]
        return Result(folder, call(start + common + words + list(more) + ["--json", "-o", "model", "--trace", "trace.csv"], folder))


def same(what, base, new):
    if base != new:
        raise Different(f"{what}: {str(base)[:200]} and {str(new)[:200]}")


def same_rows(what, base, new):
    for i, pair in enumerate(zip(base, new)):
        same(f"{what}, line {i + 1}", *pair)
    same(f"{what}, how many", len(base), len(new))


def same_tensors(base, new, between=""):
    same(f"tensors{between}", {n: (e["dtype"], e["shape"]) for n, e in base.layout.items()},
         {n: (e["dtype"], e["shape"]) for n, e in new.layout.items()})
    for name, values in base.tensors.items():
        if values != new.tensors[name]:
            at = next(i for i in range(len(values)) if values[i] != new.tensors[name][i]) // 8
            kind = "<d" if base.layout[name]["dtype"] == "F64" else "<q"
            old, found = (struct.unpack(kind, result.tensors[name][8 * at:8 * at + 8])[0] for result in (base, new))
            raise Different(f"{name}[{at}]{between}: {old!r} and {found!r}")


def same_facts(base, new):
    """A build may add options; what both have must be equal, and nothing may be missing."""
    for name, value in base.facts.items():
        if name not in FREE_FACTS:
            same(f"fact '{name}' of the model", value, new.facts.get(name))
    for name in new.facts:
        if name not in base.facts and not name.startswith("options."):
            raise Different(f"fact '{name}' of the model: only in the new build")


def same_figures(base, new):
    for name, value in base.figures.items():
        if name not in FREE_FIGURES:
            same(f"figure '{name}'", value, new.figures.get(name))
    same_rows("printed lines", base.lines, new.lines)
    same_rows("traced certificates", base.trace, new.trace)


def same_bits(base, new):
    same_tensors(base, new)
    same_facts(base, new)
    same_figures(base, new)


def doubles(result, name):
    values = result.tensors.get(name, b"")
    return struct.unpack(f"<{len(values) // 8}d", values)


def near(what, base, new, gaps):
    """Both are above the optimum by at most their gaps. Where a gap is not known nothing can be said, so the numbers must be equal."""
    if math.isnan(gaps):
        same(what, base, new)
    elif abs(base - new) > gaps + CLOSE * max(1.0, abs(base)):
        raise Different(f"{what}: {base!r} and {new!r} differ by {abs(base - new):.3g}, more than both gaps, {gaps:.3g}")


def within_gaps(base, new):
    for name in ("lambda", "lambda_max"):
        if not math.isclose(base.number(name), new.number(name), rel_tol=1e-9):
            same(name, base.figures.get(name), new.figures.get(name))
    near("objective", base.number("objective"), new.number("objective"), base.number("gap") + new.number("gap"))
    same("lambdas of the path", len(doubles(base, "path.lambda")), len(doubles(new, "path.lambda")))
    for i, pair in enumerate(zip(doubles(base, "path.objective"), doubles(new, "path.objective"))):
        near(f"path.objective[{i}]", *pair, doubles(base, "path.gap")[i] + doubles(new, "path.gap")[i])


def loosely(base, new):
    """For what does not repeat and has no gap: least squares by steps that read old values. Both ended by the same rule, and one as well as
    the other explains the target."""
    share = "r2" if "r2" in base.figures else "deviance_ratio"
    if abs(base.number(share) - new.number(share)) > 1e-3:
        same(share, base.figures.get(share), new.figures.get(share))


def bounded(base, new):
    if math.isnan(base.number("gap")):
        loosely(base, new)
    else:
        within_gaps(base, new)


def wants_precision(training):
    """Only what is cut short has another objective than the optimum, and steps and paths need too long for the last digits."""
    words = training.words
    return not any(word in words for word in ("--max-clocks", "--path", "--cv", "--solver", "--sync", "--merge", "--encoding", "--exchange-every"))


def compare_objectives(training, nodes, base, new):
    old, found = base.train(training, nodes), new.train(training, nodes)
    if math.isnan(old.number("gap")):
        same_bits(old, found)
    else:
        within_gaps(old, found)
    one = new.train(training, 1, ("--threads", "1"))
    same_tensors(one, new.train(training, 1), " with one thread and with several")
    same_tensors(one, found, f" with one thread and on {nodes} nodes")
    if nodes == training.nodes[0] and training.algorithm not in ("linear", "kmeans") and wants_precision(training):
        last = tuple(build.train(training, nodes, ("--tol", SMALLEST_TOL)).number("objective") for build in (base, new))
        near("objective at the smallest --tol", *last, 0.0)


def compare(training, nodes, base, new, objectives):
    old, found = base.train(training, nodes), new.train(training, nodes)
    try:
        same("exit status", old.status, found.status)
    except Different as different:
        raise Different(f"{different}: {(old.errors if old.status else found.errors).strip()[-300:]}") from None
    if old.status not in (0, 7):
        raise Different(f"both fail with {old.status}: {old.errors.strip()[-300:]}")
    same("whether it repeats", old.repeats(), found.repeats())
    if not old.repeats():
        bounded(old, found)
    elif objectives:
        compare_objectives(training, nodes, base, new)
    else:
        same_bits(old, found)
        same_tensors(new.train(training, training.nodes[0]), found, f" on {training.nodes[0]} and {nodes} nodes")


def generate(base, new, root, wanted):
    """Draws all data. What the command generates must be the same from both builds."""
    problems.draw(os.path.join(root, "data"))
    for name, (kind, rows, columns, classes) in trainings.GENERATED.items():
        if name not in wanted:
            continue
        texts = []
        for build in (base, new):
            path = os.path.join(root, build.name, name)
            done = call([build.binary, "data", "generate", kind, "--rows", str(rows), "--cols", str(columns), "--seed", "5", "-o", path], root)
            if done.returncode != 0:
                raise Different(f"{build.name}: data generate failed: {done.stderr.strip()}")
            with open(path, encoding="ascii") as file:
                texts.append(file.read())
        same(f"generated {name}", *texts)
        lines = [line.split(" ", 1) for line in texts[0].splitlines()]
        if classes:
            middle = sorted(float(y) for y, _ in lines)[len(lines) // 2]
            lines = [("1" if float(y) > middle else "-1", rest) for y, rest in lines]
        with open(os.path.join(root, "data", name), "w", encoding="ascii") as file:
            file.writelines(f"{y} {rest}\n" for y, rest in lines)


def chosen(options):
    rows = [row for row in trainings.ALL if row.short or not options.short]
    return [row for row in rows if options.only is None or fnmatch.fnmatchcase(row.name, options.only) or options.only in row.name]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("new")
    parser.add_argument("--only", metavar="PATTERN", help="only the trainings whose name has or matches PATTERN")
    parser.add_argument("--objectives", action="store_true", help="allow other bits where sums are made in another order")
    parser.add_argument("--short", action="store_true", help="only a few trainings")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    options = parser.parse_args()
    rows = chosen(options)
    if options.list or not rows:
        print("\n".join(row.name for row in rows) or "no training matches")
        return 0 if rows else 2
    different, count = 0, 0
    with tempfile.TemporaryDirectory(prefix="hawser-recorded-") as root:
        for folder in ("data", "base", "new"):
            os.mkdir(os.path.join(root, folder))
        base, new = Build("base", options.base, root), Build("new", options.new, root)
        generate(base, new, root, {row.data for row in rows})
        for row in rows:
            for nodes in row.nodes:
                count += 1
                try:
                    compare(row, nodes, base, new, options.objectives)
                    result = "same" if base.train(row, nodes).repeats() and not options.objectives else "within bounds"
                except (Different, subprocess.TimeoutExpired) as error:
                    different += 1
                    result = f"DIFFERENT: {error}"
                print(f"{row.name}, {row.workers} workers, {nodes} nodes: {result}", flush=True)
    print(f"{count} comparisons of {len(rows)} trainings: {different} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())

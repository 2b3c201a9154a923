"""Functions that the benchmarks and experiments share: they find the command, measure processes, make data and read models."""
import array
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent


class Failed(Exception):
    """A started program failed; the text says which program, and how."""


def find_hawser(given=None):
    """The command: the given one, else HAWSER_BINARY, the release build, or the one on PATH."""
    for candidate in (given, os.environ.get("HAWSER_BINARY"), TOP / "build/release/src/hawser", shutil.which("hawser")):
        if candidate and os.access(candidate, os.X_OK):
            return str(candidate)
    raise Failed("no hawser command: build it (cmake --preset release && cmake --build --preset release) or give --hawser")


class Done:
    """A finished process: its output, wall and CPU seconds, peak resident memory in bytes."""

    def __init__(self, out, wall, usage):
        self.out, self.wall = out, wall
        self.cpu, self.peak_rss = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def start(command, environment=None):
    """Without the caller's HAWSER_ variables: they are options of the command, and the measurement must not depend on them."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
    return subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, env={**own, **(environment or {})},
                            text=True), time.monotonic()


def finish(started, allowed=(0,)):
    process, begun = started
    out = process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in allowed:
        raise Failed(f"{' '.join(process.args)}: exit status {process.returncode}")
    return Done(out, time.monotonic() - begun, usage)


def run(command, environment=None, allowed=(0,)):
    return finish(start(command, environment), allowed)


def last_json(text):
    """The JSON object on the last line, where --json prints it."""
    lines = text.strip().splitlines()
    if not lines:
        raise Failed("no output where a JSON line was expected")
    return json.loads(lines[-1])


def say(text):
    print(text, file=sys.stderr, flush=True)


def generate(hawser, kind, rows, columns, seed, path):
    """A generated problem, unless its file exists."""
    path = pathlib.Path(path)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        say(f"making {path.name}: {kind}, {rows} x {columns}")
        run([hawser, "data", "generate", kind, "--rows", rows, "--cols", columns, "--seed", seed, "-o", path])
    return path


def convert(hawser, source, path):
    """Converts the data to the format that the name of `path` stands for, unless the file exists."""
    path = pathlib.Path(path)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        say(f"converting {source} to {path.name}")
        one_based = ["--index-base", 1] if ".svm" in pathlib.Path(source).name else []
        run([hawser, "data", "convert", source, *one_based, "-o", path])
    return path


def read_tensors(path):
    """All tensors of a safetensors file as arrays of numbers, and the text facts of its header."""
    codes = {"F64": "d", "F32": "f", "I64": "q", "I32": "i"}
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        body = file.read()
    facts = header.pop("__metadata__", {})
    tensors = {}
    for name, what in header.items():
        if what["dtype"] in codes:
            begin, end = what["data_offsets"]
            tensors[name] = array.array(codes[what["dtype"]], body[begin:end])
    return tensors, facts


def read_coefficients(path, columns):
    """A model's coefficients, dense, and its intercept."""
    tensors, _ = read_tensors(path)
    dense = tensors.get("coefficients")
    if dense is None:
        dense = array.array("d", bytes(8 * columns))
        for j, value in zip(tensors["coefficients.index"], tensors["coefficients.value"]):
            dense[j] = value
    intercept = tensors.get("intercept")
    return dense, intercept[0] if intercept else 0.0


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def cost_to_reach(target, curve):
    """The cost at which a curve of (cost, error) reaches `target`: straight lines between its points in log-log.

    Points that cost more and are no better than another are left out. If a curve begins below the target, the result is its
    first cost, an upper bound. If it never reaches the target, the result is None."""
    best, reached = math.inf, None
    for cost, error in sorted(curve):
        if error >= best:
            continue
        error = max(error, 1e-300)
        if error <= target:
            if reached is None:
                return cost
            before, above = reached
            share = (math.log(above) - math.log(target)) / (math.log(above) - math.log(error))
            return math.exp(math.log(before) + share * (math.log(cost) - math.log(before)))
        best, reached = error, (max(cost, 1e-9), error)
    return None


def mebibytes(size):
    return f"{size / 2**20:.0f}"


def kernel_ratios(hawser, cache):
    """The speedup of two threads for each kernel of a training, on these very columns; empty without bench_kernels."""
    program = pathlib.Path(hawser).parent.parent / "bench/bench_kernels"
    if not os.access(program, os.X_OK):
        say(f"kernels left out: no {program}")
        return {}
    said = last_json(run([program, "--json", "--data", cache]).out)
    return {name: kernel["ratio"] for name, kernel in said.items() if isinstance(kernel, dict)}


def dominating_kernel(command, units):
    """The kernel in which one worker spends most of its time. `units` maps each unit of the training to its kernel."""
    done = run(command + ["--workers", 1, "--quiet", "--log-view"])
    rows = (line.split() for line in done.out.splitlines())
    seconds = {row[0]: float(row[2]) for row in rows if row and row[0] in units}
    return units[max(seconds, key=seconds.get)]


def add_kernel_shares(ratios, kernels, dominating, targets):
    """Adds the speedup of two threads for each kernel, and the share of it that two workers gain, for the dominating kernel."""
    ratios.update({f"two threads / one, {name} (this machine)": ratio for name, ratio in kernels.items()})
    for target in (f"{t:g}" for t in targets):
        two = ratios.get(f"hawser-1/hawser-2 wall {target}")
        ratios[f"hawser-1/hawser-2 wall {target}, of what two threads give {dominating}, which dominates"] = \
            two / kernels[dominating] if two else None

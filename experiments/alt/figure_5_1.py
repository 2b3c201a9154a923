"""Figure 5-1 of Alt's thesis: the framework on eight hosts, one core, and Spark, all on the same lasso.

Hawser runs on hosts with links of their own. scikit-learn and celer run on one core. Spark runs in its local mode, that is without a network,
on all processors.
"""
import json
import os
import pathlib
import subprocess

import boxed
import measure
import plot
from boxed import common

HERE = pathlib.Path(__file__).resolve().parent
POINTS = {True: {"hawser": (2, 4), "one": (2, 4), "celer": (1e-1,), "cocoa": (2,), "mllib": (2,)},
          False: {"hawser": (2, 8, 32), "one": (2, 4, 8, 16, 32), "celer": (1e-1,), "cocoa": (4,), "mllib": (4,)}}
LIMIT = 240     # seconds that a peer may take for one problem


def hawser_curve(hosts, problem, nodes, passes, label):
    """CoCoA+ with one block per host, BSP, H = 1, as in the thesis. On one host it is coordinate descent."""
    rows = []
    for count in passes:
        did = hosts.run([problem.hawser, "run", *hosts.over(nodes), "--", "train", "lasso", problem.path.resolve(), "--workers", nodes,
                         "--solver", "cd", "--no-intercept", "--lambda", repr(problem.penalty), "--tol", "1e-12", "--sync", "bsp",
                         "--max-clocks", count, "--certify-every", count, "--json", "--quiet"])
        rows.append(row_of(problem, label, count, did.said["objective"], max(w["last_clock_seconds"] for w in did.said["worker"]),
                           sum(w["cpu_seconds"] for w in did.said["worker"]), did.card_bytes))
    return rows


def row_of(problem, label, passes, objective, seconds, cpu=None, card_bytes=0):
    problem.best = min(problem.best, objective)
    return {"problem": problem.name, "setting": label, "passes": passes, "objective": objective, "seconds": seconds,
            "cpu_seconds": cpu, "card_bytes": card_bytes}


def lacks(python, modules):
    done = subprocess.run([python, "-c", f"import {', '.join(modules)}"], capture_output=True, check=False)
    return done.returncode != 0


def arrays(options, problem):
    """The file that the peers read; it is made once."""
    path = problem.path.resolve().with_suffix(".npz")
    if not path.exists():
        text = common.convert(problem.hawser, problem.path, path.with_suffix(".svm"))
        subprocess.run([options.python, HERE / "peers.py", "convert", text, path], check=True)
    return path


def peer(options, problem, solver, points, label, cores=1, every=None):
    """The curve of a peer; empty, with a message, if the peer fails or takes too long."""
    words = [options.python, HERE / "peers.py", solver, arrays(options, problem), repr(problem.penalty), "--points",
             ",".join(f"{p:g}" for p in points), *(["--every", str(every)] if every else [])]
    limits = {key: str(cores) for key in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    mine = sorted(os.sched_getaffinity(0))
    try:
        done = subprocess.run([str(w) for w in words], env={**os.environ, **limits}, capture_output=True, text=True, timeout=LIMIT,
                              preexec_fn=lambda: os.sched_setaffinity(0, mine[:cores]), check=False)
    except subprocess.TimeoutExpired:
        common.say(f"  {label}: not done after {LIMIT} s, left out")
        return []
    if done.returncode != 0:
        common.say(f"  {label}: left out: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}")
        return []
    return [row_of(problem, label, point.get("passes"), point["objective"], point["seconds"])
            for point in json.loads(done.stdout.strip().splitlines()[-1])["curve"]]


def peers(options, problem, points):
    rows = []
    have = {"scikit-learn": not lacks(options.python, ["sklearn", "scipy"]), "celer": not lacks(options.python, ["celer"]),
            "Spark": not lacks(options.python, ["pyspark", "numpy", "scipy"])}
    for name, there in have.items():
        if not there:
            common.say(f"  {name} left out: {options.python} does not have it (--python)")
    if have["scikit-learn"]:
        rows += peer(options, problem, "scikit-learn", points["one"], "scikit-learn, one core")
    if have["celer"] and have["scikit-learn"]:
        rows += peer(options, problem, "celer", points["celer"], "celer, one core")
    if have["Spark"] and have["scikit-learn"]:
        cores = len(os.sched_getaffinity(0))
        rows += peer(options, problem, "spark-cocoa", points["cocoa"], "CoCoA on Spark, local", cores)
        rows += peer(options, problem, "spark-mllib", points["mllib"], "MLlib on Spark, local", cores)
    return rows


def run(hosts, problems, options):
    common.say("Figure 5-1 on eight hosts: the framework, one core, Spark")
    points, rows = POINTS[options.quick], []
    for problem in problems:
        for nodes in (1, 2, 4, 8):
            common.say(f"  {problem.name}: {nodes} hosts")
            rows += hawser_curve(hosts, problem, nodes, points["hawser"], f"Hawser, {nodes} host{'s' if nodes > 1 else ''}")
        common.say(f"  {problem.name}: peers")
        rows += peers(options, problem, points)
    return lambda: finish(problems, rows, options)


def finish(problems, rows, options):
    for problem in problems:
        measure.distances(problem, [row for row in rows if row["problem"] == problem.name])
    boxed.write_csv(options.out / "hosts-5-1.csv", rows)
    title = "Figure 5-1 on eight hosts: the framework, one core, Spark"
    figure = plot.Figure(title, "Lasso, λ = 1e-5 / n, H = 1, BSP. Hosts: links of 100 Mbit/s, shared processors. Spark: local, no network")
    labels = list(dict.fromkeys(row["setting"] for row in rows))
    for problem in problems:
        for axis, words, log in (("passes", "passes over the columns", True), ("seconds", "seconds, loading aside (one core: CPU seconds)", True)):
            panel = figure.panel(problem.name, words, "(P − P*) / P(0)", x_log=log, y_most=10.0)
            for label in labels:
                panel.line(label.replace(", ", " · "), [(row[axis], max(row["distance"], 1e-12)) for row in rows
                                                        if (row["problem"], row["setting"]) == (problem.name, label) and row[axis]],
                           "" if label.startswith("Hawser") else "6 3")
    figure.write(options.out / "hosts-5-1.svg", columns=2)
    lines = ["| problem | solver | passes | s | distance | MB over cards |", "|---|---|---|---|---|---|"]
    for problem in problems:
        for label in labels:
            mine = [row for row in rows if (row["problem"], row["setting"]) == (problem.name, label)]
            for row in mine[-1:]:
                lines.append(f"| {row['problem']} | {label} | {row['passes'] or '-'} | {row['seconds']:.3g} | {row['distance']:.1e} | "
                             f"{row['card_bytes'] / 1e6:.1f} |")
    boxed.put(options.out / "hosts.md", "figure 5-1", [f"![{title}](hosts-5-1.svg)", "", "The last point of each curve:", "", *lines])

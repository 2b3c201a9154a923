"""MALT's figures 4 to 9 and 12, and the lines of 10, 11 and 13 that vectors (hawser/vector.h) draw. `run` is the script.

A run prints a line of JSON for each replica (replica.c). On this machine processes exchange through shared memory; on the hosts of a box
through links of 100 Mbit/s.
"""
import json
import math
import os
import subprocess

import boxed
import plot
from boxed import common

LEARN, SCATTER, GATHER = range(3)
RATES = (1.0, 2.0, 4.0, 8.0, 16.0)  # first steps that are tried for figures 4 and 5; the one counts that reaches the goal first
CLICK_RATE = 0.05
STALE_RATE = 1.0                    # the first step of figures 7 and 9, in which what arrives is old
PACE = 100                          # milliseconds of a batch there


class Loop:
    """What a run has printed: curves of replica 0, and figures of all replicas. `examples`: of a replica in a step."""

    def __init__(self, output, examples, did=None):
        found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        self.replicas = sorted(found, key=lambda each: each["replica"])
        self.first, self.did = self.replicas[0], did
        self.seconds, self.finished = self.first["seconds"], self.first["finished"]
        self.points = [{"step": step, "examples": step * examples, "seconds": seconds, "measure": measure, "MB": size / 1e6}
                       for step, seconds, measure, size in self.first["curve"]]
        self.sent_bytes = sum(each["sent_bytes"] for each in self.replicas)
        self.worst = max(each["measure"] for each in self.replicas)

    def reached(self, goal, up=False):
        """The first point at the goal or beyond it."""
        return next((point for point in self.points if (point["measure"] >= goal if up else point["measure"] <= goal)), None)

    def waits(self):
        """The share of the time that the median replica gathers."""
        return common.median([each["wall"][GATHER] / sum(each["wall"]) for each in self.replicas])

    def shares(self, replica=0):
        """Shares of the seconds that a replica learns, scatters, and gathers."""
        wall = self.replicas[replica]["wall"]
        return [part / sum(wall) for part in wall]


class Programs:
    """Starts the programs of this folder as replicas, here or on the first hosts of a box."""

    def __init__(self, hawser):
        self.hawser = hawser
        self.found = {name: boxed.find_program(f"experiment_{name}") for name in ("vectors", "factors", "clicks")}

    def here(self, name, replicas, words, examples):
        command = [self.hawser, "run", "-n", replicas, "--no-prefix", "--", self.found[name], *words]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
        done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=boxed.TIMEOUT, check=False)
        if done.returncode:
            raise common.Failed(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stderr[-2000:]}")
        return Loop(done.stdout, examples)

    def on(self, hosts, name, replicas, words, examples):
        did = hosts.run([self.hawser, "run", *hosts.over(replicas), "--no-prefix", "--", self.found[name], *words])
        return Loop(did.output, examples, did)

    def svm(self, replicas, data, flow="all", sync="bsp", content="values", batch=1, steps=1, rate=8.0, hosts=None, shares=None, pace=0):
        words = [flow, sync, content, shares or replicas, pace, data[0], batch, steps, rate]
        return self.on(hosts, "vectors", replicas, words, batch) if hosts else self.here("vectors", replicas, words, batch)

    def best_svm(self, goal, rates, **words):
        """The run with the first step, of those that are tried, that reaches the goal with the fewest examples."""
        runs = [(rate, self.svm(rate=rate, **words)) for rate in rates]
        reached = [(point["examples"], rate, run) for rate, run in runs if (point := run.reached(goal))]
        return min(reached, key=lambda each: each[:2])[1:] if reached else min(runs, key=lambda each: each[1].finished)


def show(out, number, title, subtitle, curves, axes, lines, measure, most=math.inf):
    """Writes CSV, SVG and the table of a figure. curves: (panel, label, loop, dash). most: the upper end of the drawing."""
    boxed.write_csv(out / f"figure-{number}.csv", [{"panel": panel, "setting": label, **point} for panel, label, loop, _ in curves for point in loop.points])
    figure = plot.Figure(title, subtitle)
    for name in dict.fromkeys(panel for panel, *_ in curves):
        for axis, words in axes:
            panel = figure.panel(name, words, measure, y_log=False, y_most=most, y_from_zero=False)
            for of, label, loop, dash in curves:
                points = loop.points[1 if len(loop.points) > 3 else 0:]
                if of == name and any(point[axis] > 0 for point in points):
                    panel.line(label, [(point[axis], point["measure"]) for point in points], dash)
    figure.write(out / f"figure-{number}.svg", columns=len(axes))
    boxed.put(out / "README.md", f"figure {number}", [f"![{title}](figure-{number}.svg)", "", *lines])


AXES = (("examples", "examples that a replica learns from"), ("seconds", "seconds"), ("MB", "MB that a replica sends"))


def speed_table(goal, rows, up=False):
    """rows: (label, loop, replicas); the first one is a single process."""
    lines = [f"To {goal:g}:", "", "| setting | examples a replica | speedup by examples | s here | MB a replica sends | at the end |", "|---|---|---|---|---|---|"]
    one = rows[0][1].reached(goal, up)
    for label, loop, replicas in rows:
        at = loop.reached(goal, up)
        by = f"{one['examples'] / at['examples']:.1f}" if one and at else "-"
        seconds = f"{at['seconds']:.3f}" if at and replicas <= 2 else "-"
        reached = [f"{at['examples']:,}", by, seconds, f"{at['MB']:.1f}"] if at else ["-"] * 4
        lines.append(f"| {label} | {' | '.join(reached)} | {loop.finished:.4f} |")
    return lines


def figure_4(work):
    """One process beside 2, 4 and 8 replicas that send to all, in two batches."""
    data, goal, curves, tables = work.small, work.options.target_4, [], []
    rows, passes = data[1][0], 1 if work.options.quick else 20
    for batch in (rows // 40, rows // 10):
        label = f"batches of {batch}"
        found = []
        for replicas in (1, 2, 4, 8):
            common.say(f"  {label}, {replicas}")
            rate, loop = work.programs.best_svm(goal, RATES[::4] if work.options.quick else RATES, replicas=replicas, data=data, batch=batch,
                                                steps=max(3, passes * rows // replicas // batch))
            found.append((f"{replicas} x {rate:g}", loop, replicas))
            curves.append((label, "one process" if replicas == 1 else f"{replicas}, all", loop, "6 3" if replicas == 1 else ""))
        tables += [f"{label[0].upper()}{label[1:]} (replicas x first step):", "", *speed_table(goal, found), ""]
    show(work.options.out, "4", "MALT's figure 4: all-to-all beside one process", f"SVM, {work.name_of(data)}, BSP, the mean of models. 4 and 8 replicas share two "
         "processors, so their seconds are not drawn", [(p, l, without_seconds(loop), d) for p, l, loop, d in curves], AXES, tables, "objective")


def without_seconds(loop):
    """More replicas than the two processors have no seconds that would say anything."""
    if len(loop.replicas) > 2:
        loop.points = [{**point, "seconds": 0.0} for point in loop.points]
    return loop


def figure_5(work):
    """One process, frequent means, and one mean per pass over the rows (MR-SVM), on dense rows."""
    data, goal, nodes = work.dense, work.options.target_5, 8
    rows, passes = data[1][0], 2 if work.options.quick else 10
    share, rates, found = rows // nodes, RATES[::4] if work.options.quick else (0.25, 0.5, *RATES), []
    for label, replicas, batch, steps in (("one process", 1, rows // 40, passes * 40), ("all, often", nodes, share // 10, passes * 10),
                                          ("MR-SVM: once a pass", nodes, share, passes)):
        common.say(f"  {label}")
        rate, loop = work.programs.best_svm(goal, rates, replicas=replicas, data=data, batch=batch, steps=steps)
        found.append((f"{label}, first step {rate:g}", loop, replicas))
    curves = [(f"dense rows, {work.name_of(data)}", label.split(", first")[0], without_seconds(loop), "") for label, loop, _ in found]
    show(work.options.out, "5", "MALT's figure 5: frequent means beside one mean per pass", "SVM, 8 replicas, BSP", curves, (AXES[0], AXES[2]),
         speed_table(goal, found), "objective")


def figure_6(work):
    """The network of three layers, each a vector."""
    examples, steps = (600, 20) if work.options.quick else (40000, 800)
    found, goal = [], work.options.target_6
    for replicas, flow in ((1, "all"), (2, "all"), (8, "all"), (8, "halton")):
        common.say(f"  {replicas} {flow}")
        loop = work.programs.here("clicks", replicas, [flow, "bsp", "values", examples, 50, steps, CLICK_RATE], 50)
        found.append(("one process" if replicas == 1 else f"{replicas}, {flow}", loop, replicas))
    curves = [("three layers, three vectors", label, without_seconds(loop), "") for label, loop, _ in found]
    show(work.options.out, "6", "MALT's figure 6: a network of three layers", "Area under the ROC curve over 4,000 other examples. BSP; the mean of weights every "
         "50 examples", curves, AXES, speed_table(goal, found, up=True), "area under the ROC curve")


def figure_8(work):
    """Where the time of a loop goes, by batch: two replicas on two processors."""
    data, rows_out, loops = work.small, [], {}
    rows = data[1][0]
    for batch in (rows // 80, rows // 16, rows // 4):
        loop = work.programs.svm(2, data, batch=batch, steps=4 if work.options.quick else max(8, 10 * rows // 2 // batch))
        loops[batch] = loop
        for replica in range(2):
            shares, cpu = loop.shares(replica), loop.replicas[replica]["cpu"]
            rows_out.append({"batch": batch, "replica": replica, "seconds_a_step": sum(loop.replicas[replica]["wall"]) / loop.first["steps"],
                             "learn": shares[LEARN], "scatter": shares[SCATTER], "gather": shares[GATHER],
                             "gather_cpu_share": cpu[GATHER] / sum(loop.replicas[replica]["wall"])})
    boxed.write_csv(work.options.out / "figure-8.csv", rows_out)
    title = "MALT's figure 8: where the time goes"
    figure = plot.Figure(title, f"SVM, {work.name_of(data)}, BSP, 2 replicas on 2 processors; a gather includes the wait for the other replica")
    for replica in range(2):
        panel = figure.panel(f"replica {replica}", "rows between two exchanges", "share of the time", x_log=True, y_log=False)
        for part in ("learn", "scatter", "gather"):
            panel.line(part, [(row["batch"], row[part]) for row in rows_out if row["replica"] == replica])
    figure.write(work.options.out / "figure-8.svg", columns=2)
    lines = ["| rows between two exchanges | replica | ms a step | learns | scatters | gathers, with waits | gather's processor time |", "|---|---|---|---|---|---|---|"]
    lines += [f"| {row['batch']} | {row['replica']} | {1e3 * row['seconds_a_step']:.2f} | {row['learn']:.0%} | {row['scatter']:.0%} | {row['gather']:.0%} | "
              f"{row['gather_cpu_share']:.0%} |" for row in rows_out]
    boxed.put(work.options.out / "README.md", "figure 8", [f"![{title}](figure-8.svg)", "", *lines])


def figure_12(work):
    """Matrix factorisation: rows of users and items replace each other."""
    ratings, users, items = (6000, 200, 100) if work.options.quick else (400000, 4000, 1000)
    goal, found, passes = work.options.target_12, [], 2 if work.options.quick else 30
    for replicas, flow, sync in ((1, "all", "tap"), (2, "all", "tap"), (8, "all", "ssp:2"), (8, "halton", "ssp:2")):
        batch = ratings // 400
        common.say(f"  {replicas} {flow} {sync}")
        loop = work.programs.here("factors", replicas, [flow, sync, "rows", users, items, ratings, batch, max(3, passes * ratings // replicas // batch)], batch)
        found.append(("one process" if replicas == 1 else f"{replicas}, {flow}, {sync}", loop, replicas))
    curves = [("rows replace each other", label, without_seconds(loop), "") for label, loop, _ in found]
    show(work.options.out, "12", "MALT's figure 12: matrix factorisation", f"{ratings:,} ratings of {users:,} users and {items:,} items, 8 factors; error over a tenth "
         "as many others", curves, AXES, speed_table(goal, found), "root mean square error")


def link_table(goal, found):
    lines = [f"To {goal:g}, and in all:", "", "| setting | steps | s | all: steps | s | waits in gathers | MB over cards | busiest card MB | replica 0 at the end | worst replica | "
             "after the finish |", "|---|---|---|---|---|---|---|---|---|---|---|"]
    for label, loop in found:
        at = loop.reached(goal)
        first = [f"{at['step']}", f"{at['seconds']:.2f}"] if at else ["-", "-"]
        lines.append(f"| {label} | {' | '.join(first)} | {loop.first['steps']} | {loop.seconds:.2f} | {loop.waits():.0%} | {loop.did.card_bytes / 1e6:.0f} | "
                     f"{loop.did.busiest / 1e6:.0f} | {loop.first['measure']:.4f} | {loop.worst:.4f} | {loop.finished:.4f} |")
    return lines


LINK_AXES = (("step", "steps of replica 0"), ("seconds", "seconds"))


def figure_7(work):
    """Without waits: changes to all, changes along Halton, models along Halton, and changes to a server that sends whole models."""
    data, found = work.large, []
    batch, steps, pace = (10, 4, 0) if work.options.quick else (data[1][0] // 8 // 30, 80, PACE)
    for label, flow, content in (("all, changes", "all", "deltas"), ("Halton, changes", "halton", "deltas"), ("Halton, models", "halton", "values"),
                                 ("server: changes up, models down", "servers:1", "deltas")):
        common.say(f"  {label}")
        loop = work.programs.svm(8, data, flow, "tap", content, batch, steps, STALE_RATE, work.hosts, pace=pace)
        loop.points = [{**point, "gathers": loop.waits()} for point in loop.points]
        found.append((label, loop))
    show(work.options.out, "7", "MALT's figure 7: replicas beside a parameter server", f"SVM, {work.name_of(data)}, 8 hosts, tap, batches of {batch}, each {pace} ms. Nothing waits, but a "
         "gather from a server for its answer", [("8 hosts of 100 Mbit/s", label, loop, "5 3" if label == "Halton, models" else "") for label, loop in found], LINK_AXES,
         link_table(work.options.target_7, found), "objective of replica 0", most=1.5)


def figure_9(work):
    """BSP, SSP and no waits at all, of changes and of models, to all."""
    data, found = work.large, []
    batch, steps, pace = (10, 4, 0) if work.options.quick else (data[1][0] // 8 // 30, 80, PACE)
    for content, name in (("deltas", "changes"), ("values", "models")):
        for label, sync in (("BSP", "bsp"), ("SSP 2", "ssp:2"), ("ASP", "tap")):
            common.say(f"  {name} {sync}")
            found.append((f"{name}, {label}", work.programs.svm(8, data, "all", sync, content, batch, steps, STALE_RATE, work.hosts, pace=pace)))
    curves = [(f"{label.split(',')[0]}, 8 hosts of 100 Mbit/s", label.split(", ")[1], loop, "") for label, loop in found]
    show(work.options.out, "9", "MALT's figure 9: BSP, SSP and ASP", f"SVM, {work.name_of(data)}, all-to-all, batches of {batch}, each {pace} ms", curves, LINK_AXES,
         link_table(work.options.target_9, found), "objective of replica 0")


# ----------------------------------------------------------------------------------------------------- lines of other figures ----

# Label, dataflow, replicas of 8 shares. MALT's Halton with eight nodes is two halves that never meet, which a vector refuses: one half alone,
# where each sends to the three others, is what it does.
FLOWS = {"all": ("vectors: all", "all", 8), "half": ("vectors: MALT's Halton (one half)", "all", 4), "halton": ("vectors: Halton", "halton", 8),
         "halved": ("vectors: halving", "halved", 8)}


def train(work, flow, data, batch, steps):
    """Points and figures as those of a program (run), of vectors on the hosts. Bytes of one half of MALT's Halton count twice."""
    label, dataflow, replicas = FLOWS[flow]
    loop = work.programs.svm(replicas, data, dataflow, "bsp", "values", batch, steps, hosts=work.hosts, shares=8)
    twice, rows = 8 // replicas, data[1][0]
    card, busiest = twice * loop.did.card_bytes, loop.did.busiest
    points = [{"clock": point["step"], "passes": point["step"] * batch * 8 / rows, "seconds": point["seconds"], "objective": point["measure"],
               "card_MB": card / 1e6 * point["step"] / steps} for point in loop.points]
    return label, points, {"seconds": loop.seconds, "objective": loop.first["measure"], "card_bytes": card, "busiest": busiest,
                           "sent_by_a_host": sorted(loop.did.sent)[-replicas // 2 - 1], "clocks": steps, "coalesced": 0,
                           "cpu_seconds": sum(sum(each["cpu"]) for each in loop.replicas) * twice}


FIGURES = {"4": figure_4, "5": figure_5, "6": figure_6, "7": figure_7, "8": figure_8, "9": figure_9, "12": figure_12}

"""One lasso under many consistencies: settings, and curves of (clocks, bytes, seconds) against distance to the optimum.

A point of a curve is a training of its own, ended by --max-clocks and certified only at its end: a certificate in between would
be a barrier, and bounded staleness would be BSP in disguise. So the objective of a point is that of the training's result, and
seconds and bytes are its cost.
"""
import math
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import common  # noqa: E402

BLOCKS = 8
DIVERGED = 7                  # hawser's exit code for a training that diverged
THESIS_LAMBDA = 1e-5          # of 1/2 ||D a - y||^2 + lambda ||a||_1; ours has 1/(2n), hence lambda / n
LINK = 125e6                  # bytes per second of the thesis's 1 Gbit/s links
# A slow worker sleeps. If blocks share processors, it must be slower still, so that the others wait for it.
SLOW = f"0:{4 * max(1, BLOCKS // len(os.sched_getaffinity(0)))}"
SYNC_NAMES = {"bsp": "BSP", "ssp:2": "SSP 3", "tap": "TAP"}  # the thesis's names: its tau is s + 1


class Setting:
    """The options of one curve's trainings. If `sigma` is None, it is gamma K (s + 1), which covers the staleness, or twice gamma K
    under tap."""

    def __init__(self, label, sync="ssp:2", every=1.0, merge="add", filtered="none", share=1.0, held=0, sigma=None, slow=None,
                 dash=""):
        self.label, self.sync, self.every, self.merge = label, sync, every, merge
        self.filtered, self.share, self.held, self.slow, self.dash = filtered, share, held, slow, dash
        flights = 2 if sync == "tap" else int(sync.partition(":")[2] or 0) + 1
        self.sigma = (1 if merge == "average" else BLOCKS) * flights if sigma is None else sigma

    def words(self, problem, clocks, seed):
        words = ["--workers", BLOCKS, "--solver", "cd", "--no-intercept", "--lambda", repr(problem.penalty), "--tol", "1e-12",
                 "--sync", self.sync, "--exchange-every", self.every, "--merge", self.merge, "--seed", seed,
                 "--max-clocks", clocks, "--certify-every", clocks, "--sigma", self.sigma]
        if self.filtered != "none":
            words += ["--filter", self.filtered, "--quota", max(64, int(8 * problem.rows * self.share)),
                      "--max-held-clocks", self.held]
        if self.slow:
            words += ["--slow", self.slow]
        return words


class Problem:
    """A generated dataset at one lambda, and the least objective that was seen on it."""

    def __init__(self, hawser, kind, rows, columns, work, ratio=None):
        self.hawser, self.kind, self.rows, self.columns = hawser, kind, rows, columns
        self.name = f"{kind} {rows:,} x {columns:,}"
        self.path = common.generate(hawser, kind, rows, columns, 1, pathlib.Path(work) / f"{kind}-{rows}x{columns}.hwc")
        nothing = self.train(["--workers", 1, "--no-intercept", "--lambda-ratio", 1])
        self.zero, self.best = nothing["objective"], math.inf
        self.penalty = THESIS_LAMBDA / rows if ratio is None else ratio * nothing["lambda"]

    def train(self, words):
        done = common.run([self.hawser, "train", "lasso", self.path, *words, "--json", "--quiet"], allowed=(0, DIVERGED))
        return common.last_json(done.out)

    def reference(self, seconds):
        """A first estimate of the least objective: one worker, default solver, until certified or for this many seconds."""
        said = self.train(["--workers", 1, "--no-intercept", "--lambda", repr(self.penalty), "--tol", "1e-10", "--time-limit",
                           seconds])
        self.best = min(self.best, said["objective"])
        self.reference_gap = said["gap"] / self.zero


def seconds_of(said, sync):
    """Wall seconds until the last and until the first worker was done, and modelled seconds of 8 machines with a processor and a link each.

    Under BSP a machine computes and then sends. Under SSP and TAP it does both at once, and the longer of the two counts."""
    workers = said["worker"]
    both = sum if sync == "bsp" else max
    modelled = max(both((w["cpu_seconds"], max(w["bytes_sent"], w["bytes_received"]) / LINK)) for w in workers)
    done = [w["last_clock_seconds"] for w in workers]
    return {"seconds_slowest": max(done), "seconds_fastest": min(done), "seconds_modelled": modelled,
            "cpu_seconds": sum(w["cpu_seconds"] for w in workers), "wait_seconds": sum(w["wait_seconds"] for w in workers)}


def objective_of(said):
    """Infinite if the training diverged: hawser then reports its best point, but the curve must show where it ended."""
    return math.inf if said["stop_reason"] == "diverged" or said["objective"] is None else said["objective"]


def point(problem, setting, wanted, seed):
    clocks = max(1, round(wanted / setting.every))
    said = problem.train(setting.words(problem, clocks, seed))
    objective = objective_of(said)
    problem.best = min(problem.best, objective)
    return {"clocks": clocks, "passes": clocks * setting.every, "objective": objective, "bytes": said["bytes_exchanged"],
            "lead": said["most_lead"], **seconds_of(said, setting.sync)}


def curve(problem, setting, passes, repeat=1):
    """One point for each number of passes over the columns; each figure is the median over `repeat` seeds. A curve that has diverged
    for good is not followed further."""
    points = []
    for wanted in passes:
        several = [point(problem, setting, wanted, seed + 1) for seed in range(repeat)]
        points.append({figure: common.median([p[figure] for p in several]) for figure in several[0]})
        if not points[-1]["objective"] < 100 * problem.zero:
            break
    return points


def distances(problem, points):
    """Adds the distance to the best primal seen by any run, as a fraction of the objective at zero."""
    for point in points:
        point["distance"] = max(point["objective"] - problem.best, 0.0) / problem.zero
    return points


def to_reach(points, target, cost):
    return common.cost_to_reach(target, [(p[cost], p["distance"]) for p in points])


def passes_of(quick, full):
    if quick:
        return (1, 4)
    return (1, 2, 4, 8, 16, 32, 64, 128) if full else (1, 2, 4, 8, 16, 32, 64)


def frequency(sync="ssp:2"):
    return [Setting(f"H = {h:g}", sync=sync, every=h) for h in (1.0, 0.5, 0.2, 0.1)]


def synchronisation(every=1.0, slow=None):
    """Every policy at the sigma' that covers its staleness, and at gamma K, which covers none."""
    careful = [Setting(SYNC_NAMES[s], sync=s, every=every, slow=slow) for s in SYNC_NAMES]
    return careful + [Setting(f"{SYNC_NAMES[s]}, σ′ = γK", sync=s, every=every, slow=slow, sigma=BLOCKS, dash="6 3")
                      for s in SYNC_NAMES if s != "bsp"]


def filters(every=0.2, share=0.1, held=10):
    return [Setting("no filter", every=every)] + [Setting(name, every=every, filtered=name, share=share, held=held)
                                                  for name in ("random", "round-robin", "absolute", "relative")]


def merges(every=0.2):
    """The last setting averages but keeps sigma' = K instead of gamma K = 1: each block is then as careful as under adding."""
    return [Setting("add", every=every), Setting("add, σ′ = γK", every=every, sigma=BLOCKS, dash="6 3"),
            Setting("average", every=every, merge="average"),
            Setting("average, σ′ = γK", every=every, merge="average", sigma=1, dash="6 3"),
            Setting("average at σ′ = K", every=every, merge="average", sigma=BLOCKS)]

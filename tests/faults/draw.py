"""A trial, drawn from its number and the campaign's seed: the job, the fault, the victim, the moment."""
import random

# The trainings: (algorithm, its options, sync). Bits are compared under bsp and dc:0.
TRAININGS = [("poisson", ("--tol", "1e-7", "--exchange-every", "1"), "bsp"),
             ("lasso", ("--tol", "1e-9", "--exchange-every", "1"), "bsp"),
             ("lasso", ("--tol", "1e-9", "--exchange-every", "1"), "bsp"),
             ("lasso", ("--tol", "1e-7", "--exchange-every", "1"), "ssp:2"),
             ("lasso", ("--tol", "1e-7", "--exchange-every", "1"), "tap"),
             ("logistic", ("--tol", "1e-7", "--exchange-every", "1"), "bsp"),
             ("linear", ("--max-clocks", "120"), "bsp"),
             ("linear", ("--max-clocks", "120"), "dc:0")]
# {fault: {job: victims}}. "front": the process that was started; "group": its process group, as a terminal has it.
FAULTS = {
    "kill": {"one": ["front"], "nodes": ["node 0", "node 1", "launcher", "agent"], "hosts": ["node 1", "launcher", "agent"],
             "hand": ["front", "joiner"], "serve": ["front", "client"], "servers": ["node 0", "node 1", "client", "launcher", "agent"]},
    "stop": {"nodes": ["node 0", "node 1", "agent"], "hosts": ["node 0", "node 1", "agent"], "hand": ["front", "joiner"],
             "serve": ["client"], "servers": ["node 1", "client"]},
    "pause": {"one": ["front"], "nodes": ["node 0", "node 1", "launcher", "agent", "suspend"], "hosts": ["node 1", "launcher", "agent", "suspend"],
              "hand": ["front", "joiner"], "serve": ["front", "client"], "servers": ["node 1", "client"]},
    "hang-up": {"one": ["front"], "nodes": ["front", "group"], "hosts": ["front", "group"], "hand": ["front"]},
    "interrupt": {"one": ["front"], "nodes": ["front", "group", "node 0", "node 1"], "hosts": ["front"], "hand": ["front", "joiner"],
                  "serve": ["front"], "servers": ["front"]},
    "terminal": {"one": ["leader", "shell"], "nodes": ["leader", "shell"], "serve": ["leader", "shell"]},
    "early": {"one": ["front"], "nodes": ["front"], "hosts": ["front"], "serve": ["front"]},
    "disk": {"one": ["freed", "full"], "nodes": ["freed", "full"], "serve": ["freed"]},
    "memory": {"one": ["front"], "nodes": ["front"], "hand": ["front", "joiner"], "serve": ["front"]},
    "cgroup": {"one": ["front"], "nodes": ["front", "agent", "node 0", "node 1"], "hosts": ["agent", "node 1"], "serve": ["front"],
               "servers": ["front", "agent", "node 1"]},
    "limit": {"one": ["front"], "nodes": ["front"], "hosts": ["front"], "hand": ["front"]},
    "descriptors": {"one": ["front"], "nodes": ["front"], "hand": ["front", "joiner"], "serve": ["front"]},
    # With --checkpoint: checkpoints.py.
    "restart": {"one": ["front"], "nodes": ["front", "node 0", "node 1", "agent"], "hosts": ["node 1", "agent"]},
    "full": {job: ["freed", "full", "killed", "away", "unmounted"] for job in ("one", "nodes")},
    "damage": {job: ["part", "part", "manifest", "all"] for job in ("one", "nodes")},
    "two jobs": {job: ["same", "same", "other", "larger"] for job in ("one", "nodes")},
}
KEEPING = ("restart", "full", "damage", "two jobs")  # faults of jobs with --checkpoint


class Trial:
    """seed, number; fault, job, victim; training: (algorithm, options, sync)."""

    def __init__(self, seed, number, faults):
        chance = random.Random(f"{seed}/{number}")
        self.seed, self.number, self.chance = seed, number, chance
        self.fault = faults[number % len(faults)]
        self.job = chance.choice(sorted(FAULTS[self.fault]))
        self.victim = chance.choice(FAULTS[self.fault][self.job])
        self.training = chance.choice(TRAININGS)
        self.early = chance.uniform(0, 0.15)
        self.moment = chance.uniform(0, 0.8)      # after all processes have started
        self.gap = chance.choice([0, 0.001, 0.005, 0.05, 0.5])  # between two signals
        self.pause = chance.choice([0.05, 0.3, 0.7, 3.5])  # the last is longer than the failure timeout
        self.signal = chance.choice(["INT", "TERM", "HUP"] if self.fault == "early" else ["INT", "TERM"])
        self.old = chance.random() < 0.5          # a model of an earlier run exists at the path of the new one
        self.limit = {"memory": chance.randint(24, 400) << 20, "cgroup": chance.choice([1, 2, 3, 4, 6, 8, 12, 20, 40]) << 20,
                      "limit": int(2 ** chance.uniform(20, 26)), "descriptors": chance.randint(4, 40)}.get(self.fault, 0)
        self.keeps = self.fault in KEEPING
        self.kills = chance.choice([1, 1, 2, 3])  # in a row

    def __str__(self):
        words = [f"{self.number}: {self.fault}", f"{self.job}/{self.victim}"]
        if self.job not in ("serve", "servers"):
            words.append(f"{self.training[0]} {self.training[2]}")
        if self.fault == "early":
            words.append(f"SIG{self.signal} after {self.early:.3f} s")
        elif self.fault == "interrupt":
            words.append(f"SIG{self.signal}")
        elif self.fault in ("hang-up", "pause"):
            words.append(f"{self.gap if self.fault == 'hang-up' else self.pause:g} s")
        if self.limit:
            words.append(f"{self.limit if self.fault == 'descriptors' else f'{self.limit / 2**20:.1f} MiB'}")
        return ", ".join(words)

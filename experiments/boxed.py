"""Eight hosts on links of 100 Mbit/s on one machine (docs/box.md), and the bytes over their network cards while a job runs.

    hosts = Hosts(8, "100mbit")
    did = hosts.run([hawser, "run", *hosts.over(8), "--", "train", "lasso", ...])
    did.said, did.sent, did.got, did.samples

Without root, or without network namespaces, the script ends with status 77 and a message.
"""
import argparse
import atexit
import csv
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(TOP / "bench"), str(TOP / "tests/cluster")]
import common  # noqa: E402
from boxparts import network, system  # noqa: E402

BOX = TOP / "tests/cluster/box"
RATE = "100mbit"
TIMEOUT = 300        # seconds after which a job counts as hung; it should take a few
SAMPLE_EVERY = 0.05


class Cards:
    """The counters of all hosts' cards, read on the switch: the bytes that it receives on a port are those that the host sent."""

    def __init__(self, box, hosts):
        self.hosts = hosts
        # The file belongs to the namespace in which it was opened.
        self.file = system.inside(network.namespace(box, "switch"), lambda: open("/proc/thread-self/net/dev", encoding="ascii"))
        self.tcp = [system.inside(network.namespace(box, f"h{i}"), lambda: open("/proc/thread-self/net/snmp", encoding="ascii"))
                    for i in range(hosts)]

    def read(self):
        """([bytes sent by each host], [bytes received by each])."""
        self.file.seek(0)
        found = {}
        for line in self.file.read().splitlines()[2:]:
            name, _, rest = line.partition(":")
            numbers = rest.split()
            found[name.strip()] = int(numbers[0]), int(numbers[8])
        ports = [found[f"p{i}"] for i in range(self.hosts)]
        return [p[0] for p in ports], [p[1] for p in ports]


    def resent(self):
        """Segments that TCP has sent again, all hosts together: many hosts that send to one at the same time lose segments."""
        total = 0
        for file in self.tcp:
            file.seek(0)
            names, numbers = [line.split() for line in file.read().splitlines() if line.startswith("Tcp:")]
            total += int(numbers[names.index("RetransSegs")])
        return total


class Did:
    """A job that ended: its output and the JSON of its last line, its seconds, the bytes over each card, samples of (seconds, bytes sent by each host) while it ran,
    and the segments that TCP sent again."""

    def __init__(self, output, seconds, before, after, samples, resent):
        self.output, self.seconds, self.samples, self.resent = output, seconds, samples, resent
        self.sent = [b - a for a, b in zip(before[0], after[0])]
        self.got = [b - a for a, b in zip(before[1], after[1])]

    @property
    def said(self):
        return common.last_json(self.output)

    @property
    def card_bytes(self):
        return sum(self.sent)

    @property
    def busiest(self):
        """Bytes in one direction over the card that carried the most. Divided by the rate of a link they are the least possible time."""
        return max(self.sent + self.got)


class Hosts:
    def __init__(self, count=8, rate=RATE):
        self.count, self.rate = count, rate
        self.name = f"experiment-{os.getpid()}"
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="hawser-experiment-"))
        atexit.register(shutil.rmtree, self.scratch, ignore_errors=True)
        self.environment = {**{k: v for k, v in os.environ.items() if not k.startswith("HAWSER_")}, "BOX_NAME": self.name,
                            "TMPDIR": str(self.scratch)}
        done = self.box("up", str(count), "--rate", rate, check=False)
        if done.returncode:
            sys.stderr.write(done.stdout + done.stderr)
            sys.exit(done.returncode)
        atexit.register(self.box, "down", check=False)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, lambda *_: sys.exit(130))
        self.ssh = self.box("ssh-wrapper").stdout.strip()
        self.cards = Cards(self.name, count)

    def box(self, *words, check=True):
        return subprocess.run([BOX, *words], env=self.environment, capture_output=True, text=True, check=check)

    def over(self, nodes):
        """The arguments of `hawser run` for one process on each of the first `nodes` hosts."""
        path = self.scratch / f"hosts.{nodes}"
        path.write_text("".join(f"h{i}\n" for i in range(nodes)), encoding="ascii")
        return ["-n", nodes, "--hosts", path, "--ssh", self.ssh]

    def run(self, words, sample=False, allowed=(0,)):
        words = [str(word) for word in words]
        samples, ended = [], threading.Event()
        before, resent, begun = self.cards.read(), self.cards.resent(), time.monotonic()
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)

        def watch():
            while not ended.wait(SAMPLE_EVERY):
                sent, _ = self.cards.read()
                samples.append((time.monotonic() - begun, [b - a for a, b in zip(before[0], sent)]))

        watcher = threading.Thread(target=watch) if sample else None
        if watcher:
            watcher.start()
        try:
            out, err = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            process.terminate()
            out, err = process.communicate()
            err += f"\nkilled: not done after {TIMEOUT} s"
        finally:
            ended.set()
            if watcher:
                watcher.join()
        if process.returncode not in allowed:
            raise common.Failed(f"{' '.join(words)}: exit status {process.returncode}\n{err[-2000:]}")
        return Did(out, time.monotonic() - begun, before, self.cards.read(), samples, self.cards.resent() - resent)


def parser_of(description, here):
    """A parser of the options that every script here has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny problems and few points, to see whether it works")
    parser.add_argument("--claims", action="store_true", help="run nothing: the claims of the paper beside what the CSVs of --out show")
    parser.add_argument("--out", type=pathlib.Path, default=here, help="folder for CSV, SVG and page (this one)")
    parser.add_argument("--hawser", help="the command; default: HAWSER_BINARY, the release build, PATH")
    parser.add_argument("--work", type=pathlib.Path, default=common.TOP / "out/bench", help="folder that keeps data between runs (out/bench)")
    return parser


def find_program(name):
    """A program of experiments/, beside the build that HAWSER_BUILD names or the release build."""
    path = pathlib.Path(os.environ.get("HAWSER_BUILD", TOP / "build/release")) / "experiments" / name
    if not os.access(path, os.X_OK):
        raise common.Failed(f"no {path}: build it (cmake --preset release -DHAWSER_TESTS=ON && cmake --build --preset release)")
    return path


def write_csv(path, rows):
    fields = list(rows[0])
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(fields)
        for row in rows:
            writer.writerow([f"{row[f]:.6g}" if isinstance(row[f], float) else row[f] for f in fields])


def put(path, mark, lines):
    """Writes lines between the marks of a page, `<!-- MARK begin -->` and `<!-- MARK end -->`; the text around them is written by hand."""
    begin, end = f"<!-- {mark} begin -->", f"<!-- {mark} end -->"
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    if begin not in page:
        page += f"\n{begin}\n{end}\n"
    before, rest = page.split(begin, 1)
    path.write_text(before + "\n".join([begin, "", *lines, "", end]) + rest.split(end, 1)[1], encoding="utf-8")


def conditions(runs=1):
    """A line for the page, taken before the runs: how many count, and how busy the machine is."""
    many = f"Medians of {runs} runs" if runs > 1 else "One run"
    return f"{many} of each setting. Load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors."


def page_of(options, here, name="README.md"):
    """The page in --out; it begins as a copy of the one here."""
    options.out.mkdir(parents=True, exist_ok=True)
    page = options.out / name
    if not page.exists():
        page.write_text((here / name).read_text(encoding="utf-8"), encoding="utf-8")
    return page


def main(name, work):
    """Runs a script's work; prints a failure as one line."""
    try:
        return work()
    except common.Failed as failed:
        sys.exit(f"{name}: {failed}")

#!/usr/bin/env python3
"""Measures the time to read svmlight and CSV: Hawser and other readers in turn, in one run, on the same file.

Every reader runs in its own process, so that peak memory is its own. The file is read once beforehand, so that it is in the page
cache. Before each reading another process allocates memory and frees it, so that no reader pays for unused pages that the host of
a virtual machine has taken back. A reader that is not installed is skipped with a message. MB/s are of text per second
of one core (--threads 1).

    bench/load.py [--binary build/release/bench/bench_load] [--repeat 5] [--mb 100] [--threads 1] [--quick] [--json] [FILE.svm FILE.csv]
"""
import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile

PEERS = {
    "scikit-learn": ("sklearn", "svm", "from sklearn.datasets import load_svmlight_file as f\n{t}\nX, y = f(path)\n{e}"),
    "xgboost": ("xgboost", "svm", "import xgboost as f\n{t}\nX = f.DMatrix(path + '?format=libsvm', nthread=threads)\n{e}"),
    "liblinear": ("liblinear", "svm", "from liblinear.commonutil import svm_read_problem as f\n{t}\ny, X = f(path, return_scipy=True)\n{e}"),
    "pandas": ("pandas", "csv", "import pandas as f\n{t}\nX = f.read_csv(path, header=None)\n{e}"),
    "xgboost-csv": ("xgboost", "csv", "import xgboost as f\n{t}\nX = f.DMatrix(path + '?format=csv&label_column=0', nthread=threads)\n{e}"),
    "numpy": ("numpy", "csv", "import numpy as f\n{t}\nX = f.loadtxt(path, delimiter=',')\n{e}"),
}
START = "import time, resource, os\nt0, c0 = time.perf_counter(), os.times()"
END = ("t1, c1 = time.perf_counter(), os.times()\n"
       "print('\\n%f %f %d' % (t1 - t0, c1[0] + c1[1] - c0[0] - c0[1], "
       "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))")

TOUCH = ("import mmap\nm = mmap.mmap(-1, %d, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
         "m.madvise(mmap.MADV_HUGEPAGE)\nfor at in range(0, len(m), 4096):\n    m[at] = 1")

def write_inputs(folder, megabytes):
    """Makes seeded files: rows like those of text sets (power-law columns, six digits), and dense normal numbers."""
    import random
    chance = random.Random(7)
    svm, csv = os.path.join(folder, "sparse.svm"), os.path.join(folder, "dense.csv")
    with open(svm, "w") as out:
        while out.tell() < megabytes << 20:
            columns = sorted({int(300000 ** chance.random()) for _ in range(130)})
            out.write("%d %s\n" % (chance.choice((-1, 1)), " ".join("%d:%.6g" % (c, chance.random()) for c in columns)))
    with open(csv, "w") as out:
        while out.tell() < megabytes << 20:
            out.write(",".join("%.6g" % chance.gauss(0, 1) for _ in range(501)) + "\n")
    return [svm, csv]

def run_peer(name, path, threads):
    code = PEERS[name][2].format(t=START, e=END)
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", "path, threads = %r, %d\n%s" % (path, threads, code)],
                          capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        return None
    wall, cpu, peak = done.stdout.split()[-3:]
    return {"seconds": float(wall), "cpu_seconds": float(cpu), "peak_mib": int(peak) / 1024}

def run_hawser(binary, path, threads, rows):
    command = [binary, "--threads", str(threads)] + (["--rows"] if rows else []) + [path]
    facts = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {"seconds": facts["seconds"], "cpu_seconds": facts["cpu_seconds"], "peak_mib": facts["peak_kib"] / 1024}

def available(name, path):
    if not path.endswith(PEERS[name][1]):
        return False
    if importlib.util.find_spec(PEERS[name][0]) is None:
        print("bench/load: %s is not installed here, so it is left out" % PEERS[name][0], file=sys.stderr)
        return False
    return True

def available_bytes():
    """The memory that the machine has available; the touch before a reading takes at most half of it."""
    with open("/proc/meminfo") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))

def bench(path, arguments):
    with open(path, "rb") as text:
        while text.read(1 << 24):
            pass
    size = os.path.getsize(path) / 1e6
    readers = {"hawser": lambda: run_hawser(arguments.binary, path, arguments.threads, False)}
    if path.endswith("svm"):
        readers["hawser (rows)"] = lambda: run_hawser(arguments.binary, path, arguments.threads, True)
    for name in PEERS:
        if available(name, path):
            readers[name] = lambda name=name: run_peer(name, path, arguments.threads)
    runs = {name: [] for name in readers}
    for _ in range(arguments.repeat):
        for name, reader in readers.items():
            subprocess.run([sys.executable, "-c", TOUCH % min(10 * os.path.getsize(path), available_bytes() // 2)], check=True)
            result = reader()
            if result is not None:
                runs[name].append(result)
    result = {"file": os.path.basename(path), "megabytes": size, "threads": arguments.threads, "readers": {}}
    for name, found in runs.items():
        if not found:
            print("bench/load: %s could not read %s" % (name, path), file=sys.stderr)
            continue
        median = {key: statistics.median(run[key] for run in found) for key in found[0]}
        median["mb_per_second"] = size / median["seconds"]
        median["mb_per_cpu_second"] = size / median["cpu_seconds"]
        result["readers"][name] = median
    best = max((r["mb_per_cpu_second"] for n, r in result["readers"].items() if not n.startswith("hawser")), default=None)
    if best is not None:
        result["ratio_to_fastest_peer"] = result["readers"]["hawser"]["mb_per_cpu_second"] / best
    return result

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--binary", default=os.path.join(root, "build", "release", "bench", "bench_load"))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="small files, once, to see whether it works")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.mb, arguments.repeat = 1, 1
    if not os.access(arguments.binary, os.X_OK):
        sys.exit("bench/load: no %s: build it first (cmake --preset release && cmake --build --preset release)" % arguments.binary)
    with tempfile.TemporaryDirectory() as folder:
        results = [bench(path, arguments) for path in (arguments.files or write_inputs(folder, arguments.mb))]
    for result in results if not arguments.json else []:
        print("%s, %.0f MB, %d thread(s)" % (result["file"], result["megabytes"], result["threads"]))
        for name, r in result["readers"].items():
            print("  %-16s %7.1f MB/s  %7.1f MB per CPU second  %8.1f MiB peak" % (name, r["mb_per_second"], r["mb_per_cpu_second"],
                                                                                 r["peak_mib"]))
        if "ratio_to_fastest_peer" in result:
            print("  hawser is %.2f times the fastest other reader per core" % result["ratio_to_fastest_peer"])
    if arguments.json:
        print(json.dumps({"bench": "load", "results": results}))

if __name__ == "__main__":
    main()

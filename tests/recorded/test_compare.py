#!/usr/bin/env python3
"""Tests compare.py: two times the same command passes, and each of several commands that are not the same is noticed for its own reason."""
import os
import stat
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
HAWSER = os.environ["HAWSER_BINARY"]
# Each stands in for a build that is wrong in one way: it changes the words of a training, or what came of it.
OTHER = """#!/usr/bin/env python3
import json, os, struct, subprocess, sys
words = sys.argv[1:]
training = "train" in words
def after(done):
    return done
{change}
done = subprocess.run([{hawser!r}] + words, capture_output=True, text=True)
done = after(done) if training else done
sys.stdout.write(done.stdout)
sys.stderr.write(done.stderr)
sys.exit(done.returncode)
"""
TENSOR = """
def after(done):
    with open("model", "r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    return done
"""
FIGURE = """
def after(done):
    lines = done.stdout.splitlines()
    figures = json.loads(lines[-1])
    figures["nonzeros"] += 1
    done.stdout = "\\n".join(lines[:-1] + [json.dumps(figures)]) + "\\n"
    return done
"""
TRACE = """
def after(done):
    with open("trace.csv") as file:
        lines = file.read().splitlines()
    with open("trace.csv", "w") as file:
        file.write("\\n".join(lines[:1] + lines[2:]) + "\\n")
    return done
"""
STATUS = """
def after(done):
    done.returncode = 7
    return done
"""
OPTIMUM = """
if training:
    words += ["--lambda-ratio", "0.0501"]
"""
THREADS = """
if training and "--threads" in words:
    words += ["--workers", "2"]
"""
# Name, change, options of compare.py, what it must print.
CASES = [("another setting", "if training: words += ['--seed', '2']", ("--only", "lasso.tap"), "1 comparisons of 1 trainings: 0 differ"),
         ("another setting", "if training: words += ['--seed', '2']", ("--only", "lasso.tall.1"), "DIFFERENT: fact 'options.seed'"),
         ("a looser end", "if training: words += ['--tol', '1e-2']", ("--only", "lasso.tall.3"), "DIFFERENT: coefficients.value["),
         ("a bit of a model", TENSOR, ("--only", "linear.tall"), "DIFFERENT: intercept[0]"),
         ("a printed figure", FIGURE, ("--only", "lasso.tall.1"), "DIFFERENT: figure 'nonzeros'"),
         ("a certificate", TRACE, ("--only", "lasso.tall.1"), "DIFFERENT: traced certificates"),
         ("a bit of a model by rows", TENSOR, ("--only", "kmeans.wide"), "DIFFERENT: "),
         ("an exit status", STATUS, ("--only", "lasso.tall.1"), "DIFFERENT: exit status: 0 and 7"),
         ("another optimum under tap", OPTIMUM, ("--only", "lasso.tap"), "DIFFERENT: lambda"),
         ("another optimum", OPTIMUM, ("--only", "lasso.tall.1", "--objectives"), "DIFFERENT: lambda"),
         ("no optimum", "if training: words += ['--max-clocks', '1']", ("--only", "linear.tall", "--objectives"), "DIFFERENT: tensors"),
         ("bits by threads", THREADS, ("--only", "lasso.wide.4", "--objectives"), "with one thread and with several"),
         ("a looser end that its gap allows", "if training: words += ['--tol', '1e-2']", ("--only", "lasso.cut", "--objectives"),
          ": 0 differ")]


def compare(new, *words):
    done = subprocess.run([sys.executable, os.path.join(HERE, "compare.py"), HAWSER, new, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    if not os.path.exists(HAWSER):
        print("skipped: no", HAWSER)
        return 77
    if os.environ.get("HAWSER_SANITIZE"):
        print("skipped: sanitizers look at paths, and this at numbers")
        return 77
    failed = []
    for words in (("--short",), ("--objectives", "--only", "lasso.wide.4")):
        code, text = compare(HAWSER, *words)
        print(text)
        if code != 0 or ": 0 differ" not in text:
            failed.append(("the same command", words, text))
    with tempfile.TemporaryDirectory(prefix="hawser-recorded-") as folder:
        for name, change, words, expected in CASES:
            other = os.path.join(folder, "other")
            with open(other, "w", encoding="ascii") as file:
                file.write(OTHER.format(change=change, hawser=HAWSER))
            os.chmod(other, os.stat(other).st_mode | stat.S_IXUSR)
            code, text = compare(other, *words)
            if expected not in text or code != (0 if ": 0 differ" in expected else 1):
                failed.append((name, words, text))
    for name, words, text in failed:
        print(f"FAILED: {name} with {' '.join(words)}:\n{text}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

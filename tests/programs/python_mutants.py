#!/usr/bin/env python3
"""Mutants of the Python package: each changes one place of a copy of python/hawser, and the tests that its line names must notice it.

If a text is gone or is no longer unique, the script fails and names it: write the place's new text into the table. Runs in the longer form only
(HAWSER_TEST_LONG). `python_mutants.py LIBRARY COMMAND [WORD ...]` tries those whose name has a WORD, in the environment of python/tests/run."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = os.environ.get("HAWSER_SOURCE", os.path.realpath(os.path.join(HERE, "..", "..")))
PROGRAM, DATA, CHECKPOINTS, SHAPES, CONDITIONS = (f"test_{name}.py" for name in ("program", "program_data", "checkpoints", "shapes", "conditions"))
MOVING = "test_moving.py"
MUTANTS = [
    # The pass that compares shapes.
    ("shapes are not compared", "programs/shapes.py", "changed = True", "changed = True; body.pop()", SHAPES, "grow"),
    # What a unit reads is read-only.
    ("what a unit reads may be written", "programs/compile.py", "array = types.Array(dtype, argument.ndim, argument.layout, readonly=not argument.writable)",
     "array = types.Array(dtype, argument.ndim, argument.layout)", PROGRAM, "may_not_do"),
    ("what a plain unit reads may be written", "_memory.py", '"data": (address, not writable)', '"data": (address, False)', PROGRAM, "may_not_do"),
    ("what numba lets pass is not refused", "programs/compile.py", "    check_writes(unit, dispatcher.overloads[kinds])\n", "", PROGRAM, "lets_pass"),
    # Exceptions.
    ("an exception of another node has the library's class", "programs/run.py", "if found and kind is not None:", "if found and kind is None:", PROGRAM, "nodes"),
    ("an exception on the driver stays on its node", "programs/run.py", "if lib.hawser_job_nodes(job) > 1:\n            error, status, raised",
     "if lib.hawser_job_nodes(job) > 99:\n            error, status, raised", PROGRAM, "nodes"),
    ("an exception in a compiled test is lost", "programs/raised.py", 'running.end(error, f"in the test of {where}")', "pass", CONDITIONS, "wrong_in_a_test"),
    # Checkpoints, batches, several targets, costs.
    ("another program goes on", "_job.py", "            check(lib.hawser_job_depends(job, name.encode(), own, len(own), byref(error)), error)\n", "", CHECKPOINTS, "another_program"),
    ("targets do not count for a run that goes on", "programs/run.py", "            lib.hawser_job_loaded(job, data._handle)", "            pass", CHECKPOINTS, "another_program"),
    ("all trainings of a fit have one folder", "estimators/_base.py", "if self.count == 1:", "if self.count > 0:", CHECKPOINTS, "that_was_killed"),
    ("blocks have the same batches", "programs/compiled_context.py", "iterator[stream] = _block(pointer(context))", "iterator[stream] = 0", DATA, "order_of_the_page"),
    ("batches have another seed", "programs/compiled_context.py", "iterator[seed] = load(_user(pointer(context)))", "iterator[seed] = 1", DATA, "order_of_the_page"),
    ("each target is the first", "programs/compile.py", 'array_in("outputs", k, kind.dtype)', 'array_in("outputs", 0, kind.dtype)', DATA, "several_targets"),
    ("costs are ignored", "programs/build.py", "            self._add_costs(spec, state)\n", "", DATA, "costs"),
    ("a part of a result begins at 0", "programs/run.py", "first = lines.start * (size // shape[0]) if values.size else 0", "first = 0", DATA, "parts_of_results"),
    # Moving and entries states.
    ("a part that is only read may be written", "programs/compiled_context.py", "readonly=not known.writable", "readonly=False", MOVING, "mistakes_of_units"),
    ("an exception of an owner is lost", "programs/moving.py", "running.raised = error", "pass", MOVING, "mistakes_of_owners"),
    ("a part has the lines of the first", "programs/compiled_context.py", "load(table + slot) + 8 * part[first_at]", "load(table + slot)", MOVING, "parts_are"),
    ("an entries state has a number for each row", "programs/compile.py", 'call = "hawser_part_lines" if argument.kind == "lines" else "hawser_part"',
     'call = "hawser_part_lines"', MOVING, "entries_are"),
    ("parts have equally many lines", "programs/moving.py", "np.searchsorted(starts, starts[-1] * np.arange(parts + 1) // parts)",
     "(len(starts) - 1) * np.arange(parts + 1) // parts", MOVING, "default_cuts"),
]


def is_noticed(python, folder, test, words):
    """Returns whether a test fails with the package in this folder."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
    environment |= {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1", "HAWSER_LIBRARY": sys.argv[1], "HAWSER_BINARY": sys.argv[2]}
    command = (python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", os.path.join(SOURCE, "python", "tests", test), "-k", words)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    except subprocess.TimeoutExpired:  # a run that does not end
        return True
    if done.returncode == 5:
        raise RuntimeError(f"no test of {test} is called {words}")
    return done.returncode != 0


def main():
    wanted = sys.argv[3:]
    if not wanted and not os.environ.get("HAWSER_TEST_LONG"):
        print("skipped: it runs tests of programs once for each mutant; set HAWSER_TEST_LONG")
        return 77
    found = subprocess.run((sys.executable, os.path.join(SOURCE, "python", "tools", "environment.py")), stdout=subprocess.PIPE, text=True, check=False)
    if found.returncode != 0:
        print("skipped: no environment with numba can be made")
        return 77
    python = found.stdout.strip()
    mutants = [mutant for mutant in MUTANTS if not wanted or any(word in mutant[0] for word in wanted)]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        package = os.path.join(folder, "hawser")
        shutil.copytree(os.path.join(SOURCE, "python", "hawser"), package, ignore=shutil.ignore_patterns("__pycache__"))
        for name, file, before, after, test, words in mutants:
            path = os.path.join(package, file)
            with open(path, encoding="utf-8") as source:
                text = source.read()
            if text.count(before) != 1:
                failures.append(f"{name}: its text is not in {file}, or more than once: {before}")
                print(failures[-1], flush=True)
                continue
            with open(path, "w", encoding="utf-8") as source:
                source.write(text.replace(before, after))
            if is_noticed(python, folder, test, words):
                print(f"noticed: {name}", flush=True)
            else:
                failures.append(f"{name}: {test} does not notice it")
                print(failures[-1], flush=True)
            with open(path, "w", encoding="utf-8") as source:
                source.write(text)
        if not mutants or is_noticed(python, folder, CONDITIONS, "what_a_condition_is"):
            failures.append("the tests fail without a mutant")
    print(f"{len(mutants)} mutants, {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())

#!/usr/bin/env python3
"""A new algorithm, filter, filter of tables, input format, policy and kind of state touch few files: the patches beside this file, which add one of each, are
applied to a copy, counted, built and used. Names come from the rows: options, help, completion, plans, JSON and histories have the new ones,
and the command prints the metrics and the model of the new algorithm."""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = os.environ.get("HAWSER_SOURCE", os.path.realpath(os.path.join(HERE, "..", "..")))
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
MOST = {"algorithm": 3, "filter": 2, "table_filter": 2, "format": 3, "policy": 9, "kind": 4}  # files that a patch may touch
LEFT_OUT = {"build", ".git", "tests", "bench", "experiments", "examples"}
PROBE = """
#include <stdio.h>
#include "hawser/store.h"
int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_store *store = NULL;
    uint32_t known, unknown;
    hawser_error error = {HAWSER_OK, ""};
    hawser_status status = hawser_open(&argc, argv, &job, &error);
    status = status == HAWSER_OK ? hawser_store_open(job, NULL, &store, &error) : status;
    status = status == HAWSER_OK ? hawser_store_table(store, &(hawser_table){.name = "a", .last = 9, .filter = "sparse"}, &known, &error) : status;
    if (status == HAWSER_OK && hawser_store_table(store, &(hawser_table){.name = "b", .last = 9, .filter = "none"}, &unknown, &error) == HAWSER_OK)
        status = HAWSER_INTERNAL;
    puts(error.text);
    hawser_store_close(store);
    hawser_close(job);
    return status != HAWSER_OK;
}
"""
# Two loops count in a transient state, which is zeros again when the second one begins; a local state counts on.
KIND = """
#include <stdio.h>
#include "hawser/hawser.h"
static hawser_status count(hawser_context *context)
{
    float *t;
    double *x;
    size_t first, lines = hawser_part(context, "t", &first);
    HAWSER_TRY(hawser_write(context, "t", &t));
    HAWSER_TRY(hawser_write(context, "x", &x));
    for (size_t i = 0; i < lines; i++)
        t[i] += (float)(first + i + 1);
    x[0] += 1;
    return HAWSER_OK;
}
int main(int argc, char **argv)
{
    hawser_job *job = NULL;
    hawser_run *run = NULL;
    hawser_error error = {HAWSER_OK, ""};
    if (hawser_open(&argc, argv, &job, &error) != HAWSER_OK)
        return 1;
    hawser_program *wrong = hawser_program_new("wrong", NULL);
    HAWSER_STATE(wrong, "t", HAWSER_TRANSIENT, .rows = 7, .gain = 2);
    if (hawser_run_program(job, wrong, &run, &error) != HAWSER_BAD_PROGRAM)
        return 1;
    puts(error.text);
    hawser_program_free(wrong);
    hawser_program *program = hawser_program_new("right", NULL);
    hawser_state *t = HAWSER_STATE(program, "t", HAWSER_TRANSIENT, .type = HAWSER_F32, .rows = 7);
    hawser_state *x = HAWSER_STATE(program, "x", HAWSER_LOCAL, .each = true, .rows = 1);
    HAWSER_UNIT(HAWSER_LOOP(hawser_root(program), "long", hawser_bsp(), .clocks = 5), "a", count, .updates = {t, x});
    HAWSER_UNIT(HAWSER_LOOP(hawser_root(program), "short", hawser_ssp(1), .clocks = 2), "b", count, .updates = {t, x});
    if (hawser_plan_print(job, program, HAWSER_PLAN_LOGICAL, stdout, &error) != HAWSER_OK || hawser_run_program(job, program, &run, &error) != HAWSER_OK) {
        puts(error.text);
        return 1;
    }
    const float *got_t;
    const double *got_x;
    if (hawser_result(run, "t", &got_t, NULL, &error) != HAWSER_OK || hawser_result(run, "x", &got_x, NULL, &error) != HAWSER_OK)
        return 1;
    for (size_t i = 0; i < 7; i++)
        printf("%g ", (double)got_t[i]);
    printf("and %g\\n", got_x[0]);
    hawser_run_free(run);
    hawser_program_free(program);
    hawser_close(job);
    return 0;
}
"""
failures = []


def check(good, what):
    if not good:
        failures.append(what)


def call(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, env=CLEAN, timeout=500, check=False, **more)
    if done.returncode != 0:
        failures.append(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def apply(top):
    for name, most in MOST.items():
        path = os.path.join(HERE, name + ".patch")
        with open(path, encoding="utf-8") as file:
            touched = re.findall(r"^diff --git a/(\S+)", file.read(), re.M)
        print(f"{name}: {len(touched)} files: {' '.join(touched)}")
        check(0 < len(touched) <= most, f"{name}.patch touches {len(touched)} files, more than {most}")
        call("patch", "-p1", "--fuzz=0", "--batch", "--no-backup-if-mismatch", "-i", path, cwd=top)


def build(top):
    made = os.path.join(top, "build")
    call("cmake", "-S", top, "-B", made, "-DHAWSER_TESTS=OFF", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O0")
    if not failures:
        call("cmake", "--build", made, "-j2", "--target", "hawser", "hawser_shared")
    return made


def write_data(folder):
    chance = random.Random(5)
    with open(os.path.join(folder, "d.csv"), "w", encoding="ascii") as file:
        for _ in range(80):
            row = [chance.gauss(0, 1) for _ in range(30)]
            file.write(",".join("%.6g" % v for v in [row[0] - row[3] + 0.1 * chance.gauss(0, 1)] + row) + "\n")
    with open(os.path.join(folder, "image"), "wb") as file:
        file.write(b"P5\n4 3\n255\n" + bytes(range(12)))


def use(hawser, folder):
    """The new words do what the old ones do, wherever options come from and go to."""
    train = (hawser, "train", "lasso", "d.csv", "--workers", "3", "--json", "--quiet")
    done = json.loads(call(*train, "--filter", "smallest", "--quota", "40", "--max-clocks", "200", cwd=folder).splitlines()[-1])
    check(done["options"]["filter"]["value"] == "smallest", f"the filter in JSON: {done['options']['filter']}")
    plan = call(hawser, "plan", "lasso", "d.csv", "--workers", "3", "--filter", "smallest", "--quota", "40", cwd=folder)
    check("accumulating (smallest)" in plan, "the plan does not name the filter")
    done = json.loads(call(*train, "--sync", "lead:2", "--record-history", "h", cwd=folder).splitlines()[-1])
    check(done["sync"] == "lead:2" and done["repeatable_reason"] == "a loop ran under lead", f"the policy in JSON: {done['sync']}")
    call(hawser, "check", "h", cwd=folder)
    print("a training under lead:2: gap", done["gap"], "of", done["objective"])
    check(done["stop_reason"] == "gap" and done["gap"] < 1e-4, f"lead:2 stopped by {done['stop_reason']}")
    info = json.loads(call(hawser, "data", "info", "image", "--target", "none", "--json", cwd=folder).splitlines()[-1])
    check(info["format"] == "pgm" and (info["rows"], info["columns"]) == (3, 4), f"the image: {info}")
    done = subprocess.run((hawser, "data", "info", "image", "--target", "none", "--missing", "mean", "--header", "yes"), capture_output=True, text=True,
                          env=CLEAN, timeout=100, cwd=folder, check=False)
    check("--header does nothing here: it is about csv input, and this is pgm" in done.stderr, f"an option of csv: {done.stderr}")
    check("--missing does" not in done.stderr, f"an option that the row of pgm names: {done.stderr}")
    for option, word, help_line in (("filter", "smallest", "the smallest changes first"), ("format", "pgm", "grey images of a byte a pixel"),
                                    ("sync", "lead:N", "leads by at most N clocks")):
        check(word in call(hawser, "train", "lasso", "--help-all"), f"help does not have {word}")
        check(word.replace(":N", ":1") in call(hawser, "completion", "bash"), f"the completion does not have {word}")
        check(help_line in call(hawser, "help", option), f"help of --{option} does not say what {word} is")


def use_algorithm(hawser, folder):
    """The command prints metrics, models and help that it has never heard of."""
    words = (hawser, "train", "centre", "d.csv", "--target", "none", "--workers", "3")
    done = subprocess.run(words + ("-o", "c.st", "--json", "--trace", "c.csv", "--log-json", "c.log", "--plot", "c.svg"), capture_output=True,
                          text=True, env=CLEAN, timeout=100, cwd=folder, check=False)
    check(done.returncode == 0, f"train centre: {done.stderr}")
    check(re.search(r"clock \d+  inertia [0-9.]+  shift \d\.\d\de-\d\d ", done.stderr), f"the progress of the centre: {done.stderr}")
    check(re.search(r"^inertia +[0-9.]+$", done.stdout, re.M), f"the closing lines of the centre: {done.stdout}")
    last = json.loads(done.stdout.splitlines()[-1])
    own = [key for key in last if key in ("shift", "inertia", "objective", "gap", "lambda", "nonzeros")]
    check(own == ["shift", "inertia"] and last["shift"] is None and last["inertia"] > 0, f"the keys of the centre: {own}")
    with open(os.path.join(folder, "c.csv"), encoding="ascii") as file:
        lines = file.read().splitlines()
    check(lines[0] == "clock,seconds,inertia,shift,bytes,staleness,policy", f"the trace of the centre: {lines[0]}")
    check(len(lines) > 10 and float(lines[-1].split(",")[3]) < 1e-9, f"the last line of the trace: {lines[-1]}")
    with open(os.path.join(folder, "c.log"), encoding="ascii") as file:
        clocks = [event for event in map(json.loads, file) if event["event"] == "clock"]
    check(list(clocks[-1])[4:] == ["inertia", "shift", "bytes", "staleness", "wait_input", "wait_credit", "wait_reduction"], f"a clock of the log: {clocks[-1]}")
    with open(os.path.join(folder, "c.svg"), encoding="utf-8") as file:
        colours = {tuple(round(float(part)) for part in re.findall(r"([\d.]+)%", colour)) for colour in re.findall(r"rgb\([^)]*\)", file.read())}
    check({(5, 36, 66), (80, 33, 5)} <= colours, f"no two curves in the plot: {colours}")
    text = call(hawser, "info", "c.st", "--top", "2", cwd=folder)
    check(re.fullmatch(r"(column [01] is centred at \S+\n){2}", text), f"the coefficients of the centre: {text}")
    check("sum of squared distances to the centre" in call(hawser, "train", "centre", "--help-all"), "--help-all has no metrics of the centre")
    for topic, line in (("json", "centre      inertia, shift"), ("centres", "In the middle."),
                        ("trace", "centre      clock, seconds, inertia, shift, bytes, staleness")):
        check(line in call(hawser, "help", topic), f"help {topic} does not have '{line}'")
    for words, line in ((("train", "centre", "d.csv", "--target", "none", "--init", "c.st", "-o", "c.st"), "'c.st' is not used: every training begins"),
                        (("predict", "c.st", "d.csv", "--target", "none"), "a model of centre makes no predictions")):
        done = subprocess.run((hawser,) + words, capture_output=True, text=True, env=CLEAN, timeout=100, cwd=folder, check=False)
        check(line in done.stderr, f"{words[0]}: {done.stderr}")


def compile_with(top, made, folder, text):
    source, probe = os.path.join(folder, "probe.c"), os.path.join(folder, "probe")
    with open(source, "w", encoding="ascii") as file:
        file.write(text)
    library = os.path.join(made, "src")
    call("cc", "-I", os.path.join(top, "include"), source, "-o", probe, "-L", library, "-lhawser", f"-Wl,-rpath,{library}", cwd=folder)
    return probe


def use_kind(hawser, top, made, folder):
    """Threads and nodes have the same results of the new kind; a plan and a refusal name it."""
    probe = compile_with(top, made, folder, KIND)
    for words in ((probe, "--workers", "3"), (probe, "--workers", "1"), (hawser, "run", "-n", "2", "--", probe, "--workers", "3")):
        text = call(*words, cwd=folder)
        check("2 4 6 8 10 12 14 and 7" in text, f"the result of a transient state: {text}")
        check("state 't' is transient and has no .gain, which is for a state that is replicated" in text, f"the refusal of a field: {text}")
        check("t: transient 7 f32;" in text, f"the plan of a transient state: {text}")


def use_library(top, made, folder):
    text = call(compile_with(top, made, folder, PROBE), cwd=folder)
    check("sparse (rows with a number that is zero)" in text, f"the refusal of an unknown filter: {text}")


def main():
    for tool in ("patch", "cmake", "cc"):
        if shutil.which(tool) is None:
            print("skipped: no", tool)
            return 77
    if os.environ.get("HAWSER_SANITIZE"):
        print("skipped: builds a copy without sanitizers")
        return 77
    with tempfile.TemporaryDirectory(prefix="hawser-rows-") as folder:
        top = os.path.join(folder, "hawser")
        shutil.copytree(SOURCE, top, symlinks=True, ignore=lambda at, _: LEFT_OUT if os.path.samefile(at, SOURCE) else set())
        apply(top)
        made = build(top) if not failures else None
        if not failures:
            write_data(folder)
            use(os.path.join(made, "src", "hawser"), folder)
            use_algorithm(os.path.join(made, "src", "hawser"), folder)
            use_library(top, made, folder)
            use_kind(os.path.join(made, "src", "hawser"), top, made, folder)
    for text in failures:
        print("FAILED:", text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

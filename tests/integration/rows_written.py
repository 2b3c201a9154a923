#!/usr/bin/env python3
"""Numbers of rows that three nodes write to one file (hawser_job_write_rows). If a node is killed meanwhile, the others end and name it, the file has its
old content, and no other file stays, whether the killed node writes the file or only has rows."""
import os
import re
import subprocess
import sys
import tempfile

HAWSER = os.environ["HAWSER_BINARY"]
PROBE = os.path.join(os.environ["HAWSER_BUILD"], "tests", "rows_probe")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("HAWSER_")}
ROWS, WIDTH, NODES = 4500, 200, 3
OLD = "old numbers\n"


def write(*words):
    command = [HAWSER, "run", "-n", str(NODES), "--", PROBE, "rows.csv", "write=out/numbers.csv", *words, "--workers", "3",
               "--threads", "1", "--transport", "unix"]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=300, check=False)


def content():
    with open("out/numbers.csv", encoding="ascii") as numbers:
        return numbers.read()


def check_killed(victim):
    done = write(f"killed={victim}")
    others = [node for node in range(NODES) if node != victim]
    faults = [f"node {node} did not name node {victim}" for node in others
              if not re.search(rf"^\[{node}\] rows_probe: .*node {victim} .*was lost", done.stderr, re.M)]
    if done.returncode == 0:
        faults.append("the job ended well")
    if os.listdir("out") != ["numbers.csv"]:
        faults.append(f"files: {os.listdir('out')}")
    elif content() != OLD:
        faults.append("the old file is not as it was")
    for fault in faults:
        print(f"FAILED: node {victim} killed: {fault}\n{done.stderr}")
    return len(faults)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("out")
        with open("rows.csv", "w", encoding="ascii") as rows:
            rows.write("".join(f"{i},{i % 7}\n" for i in range(ROWS)))
        with open("out/numbers.csv", "w", encoding="ascii") as numbers:
            numbers.write(OLD)
        failed = sum(check_killed(victim) for victim in range(NODES))
        done = write()
        if done.returncode != 0 or content() != "".join(",".join([str(i)] * WIDTH) + "\n" for i in range(ROWS)):
            print(f"FAILED: the file is not whole, or has other numbers; exit code {done.returncode}\n{done.stderr}")
            failed += 1
    print("all as expected" if not failed else "failed")
    sys.exit(failed > 0)


main()

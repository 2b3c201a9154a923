"""Random draws of options, each checked by itself; what fails is printed and can be run alone by its number."""
import os
import random
import subprocess
import sys
import tempfile


def run(check, hawser, usual, long):
    """check(number, random) gives a word that is counted; usual and long: how many draws. Words of the call: how many, from which number
    on. Returns the exit code."""
    if os.environ.get("HAWSER_SANITIZE"):  # the numbers were checked without; paths are what a sanitizer looks at
        usual = usual // 3
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else long if os.environ.get("HAWSER_TEST_LONG") else usual
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    if not os.path.exists(hawser):
        print("skipped: no", hawser)
        return 77
    counts, failed = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number in range(first, first + draws):
            try:
                result = check(number, random.Random(number))
            except (AssertionError, subprocess.TimeoutExpired) as error:
                result = "FAILED"
                failed += 1
                print("FAILED:", error, flush=True)
            counts[result] = counts.get(result, 0) + 1
        os.chdir("/")
    print(counts)
    assert counts.get("checked", 0) > 0.7 * draws or draws < 10, "too few draws were checked"
    return 1 if failed else 0

# Sourced by cli_*.sh: makes a scratch folder, and has checks that print the difference.
set -u
hawser=${HAWSER_BINARY:?set HAWSER_BINARY to the command}
unset "${!HAWSER_@}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failures=0
complain() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}
# code STATUS COMMAND...: runs the command, with its output in files out and err.
code() {
    local expected=$1 got=0
    shift
    "$@" >out 2>err || got=$?
    ((got == expected)) || complain "exit $got instead of $expected: $* ($(head -c 400 err))"
}
# says PATTERN: checks that the last error matches, on one line that begins with "hawser: ".
says() {
    grep -qE -- "^hawser: .*$1" err || complain "no '$1' in: $(head -c 400 err)"
}
has() { grep -qE -- "$2" "$1" || complain "no '$2' in $1: $(head -c 1500 "$1")"; }
lacks() { ! grep -qE -- "$2" "$1" || complain "'$2' in $1: $(head -c 1500 "$1")"; }
equal() { [[ $1 == "$2" ]] || complain "'$1' is not '$2'"; }
# json FILE EXPRESSION: checks a Python expression over o, the JSON object of the last line.
json() {
    python3 - "$1" "$2" 2>/dev/null <<'P' || complain "$1: $2 in $(tail -1 "$1" | head -c 300)"
import json, math, sys
o = json.loads(open(sys.argv[1]).read().strip().split("\n")[-1])
sys.exit(not eval(sys.argv[2]))
P
}
# clocks_of TRACE: prints its last clock, or 0 before one has ended. Clock 0 has two rows: its start, and its first measurement.
clocks_of() {
    [[ -s $1 ]] || { echo 0; return; }
    awk -F, '$1 ~ /^[0-9]+$/ && NF > 1 { last = $1 } END { print last + 0 }' "$1"
}
# until_clock TRACE PID: waits until a clock has ended, the process has ended, or a minute has passed.
until_clock() {
    local i
    for ((i = 0; i < 3000; i++)); do
        (($(clocks_of "$1") > 0)) && return
        kill -0 "$2" 2>/dev/null || return
        sleep 0.02
    done
}
finish() {
    ((failures == 0)) && echo "all as expected"
    exit $((failures > 0))
}
# A small exact problem: y = 3 x1 - 2 x4 with some noise that a lasso must not follow.
small_problem() {
    python3 - <<'P'
import random
random.seed(5)
with open("small.svm", "w") as svm, open("small.csv", "w") as csv:
    csv.write("y,a,b,c,d,e,f\n")
    for _ in range(120):
        x = [random.gauss(0, 1) for _ in range(6)]
        y = 3 * x[0] - 2 * x[3] + 0.1 * random.gauss(0, 1)
        svm.write(f"{y:.17g} " + " ".join(f"{j + 1}:{v:.17g}" for j, v in enumerate(x)) + "\n")
        csv.write(",".join(f"{v:.17g}" for v in [y] + x) + "\n")
P
}

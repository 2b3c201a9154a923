#!/usr/bin/env bash
# A program on app.h: its options, its outputs, its refusals, and how signals end it. The examples are such programs.
set -euo pipefail
bin=$HAWSER_BUILD/examples probe=$HAWSER_BUILD/tests/app_probe hawser=$HAWSER_BINARY
unset HAWSER_BUILD HAWSER_SANITIZE # a job takes them for options
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT; cd "$work"

fail() { echo "$1"; cat out err; exit 1; }
run() { local wanted=$1 got=0; shift; timeout 120 "$@" > out 2> err || got=$?; [[ $got == "$wanted" ]] || fail "exit $got, not $wanted: $*"; }
says() { grep -qE -- "$1" err || fail "nothing says '$1'"; }
prints() { grep -qE -- "$1" out || fail "nothing prints '$1'"; }

awk 'BEGIN { print "c,x,y"; srand(1); for (i = 0; i < 300; i++) { c = i % 3; printf "%d,%.4f,%.4f\n", c, 5 * c + rand(), 4 * (c == 1) + rand() } }' > three.csv

# Help is on standard output, with exit code 0, and says what the words mean.
run 0 "$bin/kmeans" --help; prints "^usage: kmeans \[options\] K FILE"; prints "--trace FILE"; [[ ! -s err ]] || fail "help on standard error"
run 0 "$bin/kmeans" --help-all; prints "--workers"; prints "--target"
run 2 "$bin/kmeans"; says "^kmeans: an argument is missing; usage: kmeans K FILE"
run 2 "$bin/kmeans" 3; says "an argument is missing"
for word in 0 301 x "" 3x 1.0 +3 99999999999999999999999; do
    run 2 "$bin/kmeans" "$word" three.csv; says "K is '.*'; it takes a whole number from 1 to 300"
done
run 2 "$bin/kmeans" 3 three.csv --tol 1; says "unknown option --tol"
run 4 "$bin/kmeans" 3 none.csv; says "none.csv: cannot open"
run 3 "$bin/logistic" three.csv --target none; says "the input has no target"
run 3 "$bin/network" 2 three.csv --target c; says "the target 2 is no class from 0 to 1"

# The plan runs nothing, not even a trace.
run 0 "$bin/kmeans" 3 three.csv --plan --trace none; prints "physical plan of 'kmeans'"; [[ ! -e none ]] || fail "a plan wrote a trace"
run 2 "$bin/kmeans" 3 three.csv --plan --filter absolute; says "filter"

# The same result on threads and nodes; figures as JSON on the last line, which a program reads.
run 0 "$bin/kmeans" 3 three.csv --workers 3 --target c; cp out first
run 0 "$hawser" run -n 3 -- "$bin/kmeans" 3 three.csv --workers 3 --target c; cmp out first || fail "threads and nodes differ"
run 0 "$hawser" run -n 2 -- "$bin/kmeans" 3 three.csv --workers 3 --target c --json --trace t.csv --log-view
tail -n 1 out | python3 -c '
import json, sys
is_ = json.loads(sys.stdin.read())
assert is_["program"] == "kmeans" and is_["nodes"] == 2 and is_["workers"] == 3 and is_["stop_reason"] == "patience", is_
assert is_["metrics"]["inertia"] > 0 and is_["clocks"] > 10 and is_["load"]["rows"] == 300 and len(is_["links"]) == 2, is_
assert is_["options"]["workers"] == {"value": "3", "source": "command line", "where": "--workers"}, is_["options"]["workers"]'
prints "^ +assign "
[[ $(head -n 1 t.csv) == clock,seconds,inertia,bytes,staleness,policy && $(wc -l < t.csv) -gt 10 ]] || fail "the trace is $(head -n 2 t.csv)"
# The command draws the trace, up to the line that a run may be writing; what is no trace is refused with the line.
run 0 "$hawser" plot t.csv -o t.svg; grep -q "<svg" t.svg || fail "no drawing"
head -c 150 t.csv > half.csv; run 0 "$hawser" plot half.csv -o half.svg
sed '3s/,.*/,x,1,0,0,/' t.csv > wrong.csv; run 3 "$hawser" plot wrong.csv -o w.svg; says "wrong.csv:3: 'x' in column 2 is no number"
sed '3s/,.*//' t.csv > wrong.csv; run 3 "$hawser" plot wrong.csv -o w.svg; says "wrong.csv:3: 1 fields, not 6"
echo "clock,seconds,a,b" > wrong.csv; run 3 "$hawser" plot wrong.csv -o w.svg; says "wrong.csv:1: not the first line of a trace"
[[ ! -e w.svg ]] || fail "a plot of a wrong trace"
# A run that goes on continues the trace from the checkpoint, and one that begins from the start has its own.
run 0 "$bin/kmeans" 3 three.csv --workers 3 --target c --trace whole.csv
"$bin/kmeans" 3 three.csv --workers 3 --target c --slow 0:1000 --checkpoint ck --trace kept.csv > out 2> err & slow=$!
for _ in $(seq 600); do [[ -e kept.csv && $(wc -l < kept.csv) -gt 2 ]] && break; sleep 0.05; done
kill -TERM $slow; wait $slow || true; cp kept.csv before.csv
if compgen -G "ck/*.json" > /dev/null; then
    run 0 "$bin/kmeans" 3 three.csv --workers 3 --target c --checkpoint ck --trace kept.csv; says "goes on from clock"; cmp out first || fail "another result"
    [[ $(head -n 2 kept.csv) == "$(head -n 2 before.csv)" ]] || fail "lines of the trace are lost"
    [[ $(cut -d, -f1 kept.csv) == "$(cut -d, -f1 whole.csv)" && $(cut -d, -f3 kept.csv) == "$(cut -d, -f3 whole.csv)" ]] || fail "the trace is $(cat kept.csv)"
    sort -c -t, -g -k2,2 <(tail -n +2 kept.csv) || fail "seconds do not go on: $(cat kept.csv)"
fi
run 0 "$bin/kmeans" 3 three.csv --workers 3 --target c --checkpoint ck --trace kept.csv; [[ $(grep -c "^0," kept.csv) == 1 ]] || fail "$(cat kept.csv)"
run 4 "$bin/kmeans" 3 three.csv --trace none/t.csv; says "cannot write 'none/t.csv'"
run 4 "$bin/kmeans" 3 three.csv --trace /dev/full; says "cannot write '/dev/full'"
run 4 bash -c "'$bin/kmeans' 3 three.csv > /dev/full"; says "cannot write to standard output"

# A signal ends the run at a clock, with results; the exit code says so. A second one ends the process.
waits() { for ((i = 0; i < 200; i++)); do [[ -s t.csv && $(wc -l < t.csv) -gt 3 ]] && return; sleep 0.05; done; fail "no clock"; }
for signal in INT TERM; do
    for nodes in 1 2; do
        rm -f t.csv
        launch=(); [[ $nodes == 1 ]] || launch=("$hawser" run -n $nodes --)
        # A shell ignores SIGINT for what it runs behind.
        timeout 120 env --default-signal=INT "${launch[@]}" "$probe" 1000000000 --workers 2 --trace t.csv --json > out 2> err & pid=$!
        waits
        kill -$signal "$(pgrep -P $pid | head -n 1)"
        got=0; wait $pid || got=$?
        [[ $got == 130 ]] || fail "SIG$signal on $nodes nodes: exit $got"
        python3 -c 'import csv; assert next(csv.reader(open("t.csv")))[2] == "block \"0\", counted"' || fail "the trace's names"
        prints "counted [0-9]+"; prints "\"interrupted_signal\":\"SIG$signal\""
    done
done
says "ending at the next agreed clock; once more ends at once"

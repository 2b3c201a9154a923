#!/usr/bin/env bash
# A policy that gives up a guarantee is noted before the work begins; slow rounds are noted during the work, with advice.
source "$(dirname "$0")/cli.bash"
small_problem

awk '{ $1 = $1 > 0 ? 1 : -1; print }' small.svm >labels.svm
gives_up="hawser: --sync (ssp:2|tap): .*under --sync bsp"
for sync in ssp:2 tap; do
    for training in "lasso" "logistic" "logistic --solver gd" "linear" "linear --solver sgd --step 0.01"; do
        data=small.svm
        [[ $training == logistic* ]] && data=labels.svm
        code 0 "$hawser" train $training "$data" --index-base 1 --workers 3 --sync $sync --max-clocks 30 --json
        head -1 err | grep -qE "$gives_up" || complain "$training under $sync begins with: $(head -1 err)"
        json out "o['policy'].startswith('--sync $sync: ')"
        code 0 "$hawser" plan $training "$data" --index-base 1 --workers 3 --sync $sync
        grep -qE -e "${gives_up#hawser: }" out || complain "the plan of $training under $sync does not say what that gives up"
        code 0 "$hawser" plan $training "$data" --index-base 1 --workers 3 --sync $sync --dot
        lacks out "under --sync bsp"
    done
done
code 0 "$hawser" train lasso small.svm --index-base 1 --workers 3 --sync tap --quiet --max-clocks 30
lacks err "sync"
code 0 "$hawser" train lasso small.svm --index-base 1 --workers 3 --lambda-ratio 0.05 --json
lacks err "sync"
json out 'o["policy"] is None and o["notes"] == []'
code 0 "$hawser" train lasso small.svm --index-base 1 --workers 1 --sync ssp:3 # one worker waits for no other
lacks err "under --sync bsp"

# Columns that are much alike, and blocks that are far too careful.
python3 - >alike.csv <<'P'
import random
chance = random.Random(7)
for _ in range(60):
    common = chance.gauss(0, 1)
    row = [common + 0.1 * chance.gauss(0, 1) for _ in range(120)]
    print(",".join("%.6g" % v for v in [sum(row[:5]) + 0.1 * chance.gauss(0, 1)] + row))
P
for options in "--sync ssp:2" "--sync bsp"; do
    code 0 "$hawser" train lasso alike.csv --header no --workers 4 $options --sigma 200 --exchange-every 1 --certify-every 5 \
        --lambda-ratio 0.001 --max-clocks 600 --json
    words=$(grep -nE "the rounds crawl: in the last [0-9]+ clocks the gap went from .* to .*; .*without --sigma, --exchange-every, --certify-every the workers solve their columns as one" err)
    [[ -n $words ]] || complain "nothing is said of rounds that crawl under $options: $(cat err)"
    [[ $options == *bsp* || $words == *"under --sync bsp without"* ]] || complain "the better policy is not named: $words"
    json out 'sum("the rounds crawl" in note for note in o["notes"]) == 1'
done

# Changes of the policy are in the trace as in the events: steps that are too long are shortened.
for sync in bsp ssp:2; do
    code 0 "$hawser" train lasso alike.csv --header no --workers 4 --sync $sync --sigma 0.5 --exchange-every 1 --certify-every 5 \
        --lambda-ratio 0.001 --max-clocks 60 --trace changes.csv --log-json changes.jsonl
    python3 - <<'P' || complain "the trace lacks changes of the policy under $sync: $(grep '"policy"' changes.jsonl)"
import csv, json
events = [e for e in map(json.loads, open("changes.jsonl")) if e["event"] == "policy"]
expected = [f"loop {e['loop']} from clock {e['clock']} lambda {e['lambda']:.17g}: " + (f"gain of state {e['state']} {e['old_gain']:g} -> {e['gain']:g}" if "state" in e
            else f"sync {e['old_sync']} -> {e['sync']}") for e in events]
rows = list(csv.DictReader(open("changes.csv")))
assert expected and [change for row in rows if row["policy"] for change in row["policy"].split("; ")] == expected, expected
P
done

# All changes of a path with folds are in the notes, the events, the trace and the log view, with the lambda and the fold.
for sync in bsp ssp:2; do
    code 0 "$hawser" train lasso alike.csv --header no --workers 4 --sync $sync --sigma 0.1 --exchange-every 1 --certify-every 5 \
        --path 5,4,2 --cv 2 --max-clocks 2000 --trace changes.csv --log-json changes.jsonl --log-view --json
    python3 - <<'P' || complain "changes of a path differ between outputs under $sync: $(grep -hE "by the|event.:.policy" out changes.jsonl)"
import csv, json, re
number = lambda e: "".join(f" {name} {e[name]:.17g}" for name in ("fold", "lambda") if name in e)
change = lambda e, gain, sync: gain % (e["state"], e["old_gain"], e["gain"]) if "state" in e else sync % (e["old_sync"], e["sync"])
events = [e for e in map(json.loads, open("changes.jsonl")) if e["event"] == "policy"]
notes = [n for n in json.loads(open("out").readlines()[-1])["notes"] if "sigma' doubled" in n or "sigma' raised" in n or "go on under bsp" in n]
rows = list(csv.DictReader(open("changes.csv")))
seen = [change for row in rows if row["policy"] for change in row["policy"].split("; ")]
view = re.findall(r"^loop (\S+) +(\d+)  (.*), by the .*?'((?:, \w+ \S+)+)$", open("out").read(), re.M)
assert len(events) >= 2 and len(events) == len(notes), (events, notes)
assert all(e["run"] == events[0]["run"] and e["lambda"] in (5, 4, 2) for e in events), events
assert seen == [f"loop {e['loop']} from clock {e['clock']}{number(e)}: " + change(e, "gain of state %s %g -> %g", "sync %s -> %s")
                for e in events], (seen, events)
assert view == [(e["loop"], str(e["clock"]), change(e, "gain of state '%s': %g -> %g", "sync: %s -> %s"),
                 number(e).replace(" fold", ", fold").replace(" lambda", ", lambda")) for e in events], (view, events)
P
done

# A tolerance below the rounding error is noted before the work begins.
code 0 "$hawser" train lasso small.svm --index-base 1 --workers 2 --lambda-ratio 0.05 --tol 1e-16 --json
head -1 err | grep -q -- "--tol 1e-16 cannot be reached" || complain "an unreachable tolerance is not noticed: $(cat err)"
json out 'o["stop_reason"] == "precision"'
finish

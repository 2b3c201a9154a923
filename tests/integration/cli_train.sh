#!/usr/bin/env bash
# train, predict, evaluate, info, plan: the promised files, lines and keys.
source "$(dirname "$0")/cli.bash"
small_problem

code 0 "$hawser" train lasso small.svm -o m.st --lambda 0.05 --workers 2 --json --trace t.csv --plot p.svg --log-json e.jsonl \
    --log-view --sync bsp --index-base 1
for key in algorithm objective gap lambda nonzeros clocks seconds_load seconds_train bytes_exchanged workers sync seed \
    stop_reason repeatable worker options; do
    json out "'$key' in o"
done
json out 'o["load"]["format"] == "svmlight"'
json out 'o["algorithm"] == "lasso" and o["workers"] == 2 and o["sync"] == "bsp" and o["repeatable"] is True'
json out 'o["lambda"] == 0.05 and o["nonzeros"] == 2 and 0 <= o["gap"] < 1e-3 and o["stop_reason"] == "gap"'
json out 'len(o["worker"]) == 2 and sum(w["rows_read"] for w in o["worker"]) == 120'
json out 'all(w["peak_rss"] > 100000 and w["cpu_seconds"] >= 0 for w in o["worker"])'
json out 'o["model"] == "m.st" and o["options"]["tol"]["source"] == "default"'
lacks err "base"

# The trace has a header, then numbers; clocks and time never decrease; its last gap is the printed one.
python3 - <<'P' || complain "the trace"
import csv, json
rows = list(csv.DictReader(open("t.csv")))
last = json.loads(open("out").read().strip().split("\n")[-1])
assert list(rows[0]) == "clock seconds objective gap lambda nonzeros fold validation_mse evaluations bytes staleness policy".split()
clocks, seconds = [int(r["clock"]) for r in rows], [float(r["seconds"]) for r in rows]
assert clocks == sorted(clocks) and seconds == sorted(seconds)
gaps = [float(r["gap"]) for r in rows if r["gap"]]
assert gaps and abs(gaps[-1] - last["gap"]) <= 1e-6 * max(1, abs(last["gap"])), (gaps[-1], last["gap"])
assert [float(r["bytes"]) for r in rows] == sorted(float(r["bytes"]) for r in rows)
assert 0 < float(rows[-1]["bytes"]) <= last["bytes_exchanged"] and float(rows[-1]["staleness"]) == 0
events = [json.loads(line) for line in open("e.jsonl")]
assert events[0]["event"] == "start" and events[-1]["event"] == "end" and any(e["event"] == "clock" for e in events)
assert [e["seconds"] for e in events] == sorted(e["seconds"] for e in events)
P
# No column of the trace is empty throughout, except the fold without --cv, the errors without --validation and changes of the policy.
python3 - <<'P' || complain "an empty column in the trace"
import csv
rows = list(csv.DictReader(open("t.csv")))
assert all(any(row[key] for row in rows) for key in rows[0] if key not in ("fold", "validation_mse", "evaluations", "policy")), rows[:3]
P
# A mapped cache: no node reads rows, and none are counted.
code 0 "$hawser" data convert small.svm --index-base 1 -o mapped.hwc
code 0 "$hawser" train lasso mapped.hwc --lambda 0.05 --workers 2 --quiet --json
json out '[w["rows_read"] for w in o["worker"]] == [0, 0] and o["load"]["rows"] == 120 and o["load"]["format"] == "cache"'
has p.svg "<svg"
code 0 "$hawser" train lasso small.svm --lambda 0.05 --plot p.png --quiet
equal "$(wc -c <out)" 0
equal "$(grep -v makecontext err)" "" # a remark of the address sanitizer
equal "$(head -c 8 p.png | od -An -tx1 | tr -d ' \n')" 89504e470d0a1a0a
# Validation data add a panel: the objective, its gap, the coefficients, and the error.
python3 -c 'import random
r = random.Random(3)
for name in "ab":
    open(name + ".csv", "w").writelines("%s,%.3f,%.3f\n" % (r.choice("xyz"), r.gauss(0, 1), r.gauss(0, 1)) for _ in range(30))'
for algorithm in softmax logistic lasso; do
    data="a.csv --header no --target 0 --validation b.csv"
    [ $algorithm = softmax ] || data="small.svm --index-base 1 --validation small.svm"
    [ $algorithm != logistic ] || { sed 's/^-[^ ]*/0/;t;s/^[^ ]*/1/' small.svm >signs.svm; data="signs.svm --index-base 1 --validation signs.svm"; }
    code 0 "$hawser" train $algorithm $data --lambda 0.01 --plot with.svg -q
    code 0 "$hawser" train $algorithm ${data% --validation *} --lambda 0.01 --plot without.svg -q
    equal "$(grep -c 'stroke:rgb(55%,58%,63%)' with.svg)" $(($(grep -c 'stroke:rgb(55%,58%,63%)' without.svg) + 1))
done
code 0 "$hawser" train lasso small.svm --lambda 0.05
has out "not kept"

# The weights are near the truth (shrunk by less than 0.1), under the names or numbers of the input.
code 0 "$hawser" info m.st
has out "^algorithm +lasso"
has out "^index_base +1"
has out "^options.lambda +0.05"
code 0 "$hawser" info m.st --coefficients
python3 - <<'P' || complain "coefficients: $(cat out)"
w = {line.split("\t")[1].strip(): float(line.split("\t")[0]) for line in open("out")}
assert set(w) == {"(intercept)", "1", "4"} and abs(w["1"] - 3) < 0.12 and abs(w["4"] + 2) < 0.12, w
P
code 0 "$hawser" info m.st --top 1
equal "$(grep -vc intercept out)" 1
code 0 "$hawser" train lasso small.csv --target y -o c.st --lambda 0.05 --quiet
code 0 "$hawser" info c.st --top 2
has out "	a$"
has out "	d$"

# Predictions are intercept + w x, here computed by Python from the model's printed weights.
code 0 "$hawser" predict m.st small.svm
cp out predicted
"$hawser" info m.st --coefficients >weights
python3 - <<'P' || complain "predictions"
w = {line.split("\t")[1].strip(): float(line.split("\t")[0]) for line in open("weights")}
p = [float(line) for line in open("predicted")]
rows = open("small.svm").read().split("\n")[:-1]
assert len(p) == len(rows) == 120
for value, row in zip(p, rows):
    x = dict(pair.split(":") for pair in row.split()[1:])
    assert abs(value - w["(intercept)"] - sum(float(x[j]) * w[j] for j in x if j in w)) < 1e-8
y = [float(row.split()[0]) for row in rows]
mean = sum(y) / 120
r2 = 1 - sum((a - b) ** 2 for a, b in zip(y, p)) / sum((a - mean) ** 2 for a in y)
open("r2", "w").write(repr(r2))
P
code 0 "$hawser" evaluate m.st small.svm --json
json out "abs(o['r2'] - $(cat r2)) < 1e-9 and o['rows'] == 120 and o['unseen_columns'] == 0"
code 0 "$hawser" evaluate m.st small.svm
has out "^r2 +0.9"
code 0 "$hawser" predict m.st small.svm -o p.npy
python3 - <<'P' || complain "p.npy"
import struct
raw = open("p.npy", "rb").read()
length = struct.unpack("<H", raw[8:10])[0]
assert raw[:6] == b"\x93NUMPY" and (10 + length) % 64 == 0 and b"(120,)" in raw[10:10 + length]
values = struct.unpack("<120d", raw[10 + length:])
assert list(values) == [float(line) for line in open("predicted")]
P
code 0 "$hawser" predict c.st small.csv
paste -d' ' out predicted | awk '($1 - $2)^2 > 1e-8 { exit 1 }' || complain "CSV and svmlight give other predictions"

# Columns that the model does not have are left out and noted; its index base is used; other names are refused.
printf '1 1:1 9:4 12:1\n2 4:1\n' >wide.svm
code 0 "$hawser" predict m.st wide.svm
says "columns that are not in the model were left out: 2, with 2 entries"
equal "$(wc -l <out)" 2
printf '1 0:1\n' >zero.svm
code 3 "$hawser" predict m.st zero.svm
code 0 "$hawser" predict m.st small.svm --index-base 0
says "its columns look as if they were counted from 1"
code 0 "$hawser" predict c.st small.csv
cp out straight
awk -F, -v OFS=, '{ print $7, $4, "x", $3, $2, $6, $5 }' small.csv >swapped.csv
code 0 "$hawser" predict c.st swapped.csv
cmp -s out straight || complain "columns in another order give other predictions"
cut -d, -f1,2 small.csv >less.csv
code 3 "$hawser" predict c.st less.csv
says "has no column 'b', which the model needs"

# A model to start from, a validation set, several files, standard input.
code 0 "$hawser" train lasso small.svm --init m.st --lambda 0.05 --quiet --json
json out 'o["nonzeros"] == 2 and o["gap"] < 1e-3'
code 0 "$hawser" train lasso small.svm --validation small.svm --lambda 0.05 --quiet
head -60 small.svm >one.svm
tail -60 small.svm >two.svm
"$hawser" train lasso small.svm --lambda 0.05 --quiet --json --tol 1e-9 >whole
code 0 "$hawser" train lasso one.svm two.svm --lambda 0.05 --quiet --json --tol 1e-9
equal "$(sed 's/.*"objective":\([^,]*\).*/\1/' out)" "$(sed 's/.*"objective":\([^,]*\).*/\1/' whole)"
code 0 "$hawser" train lasso - --lambda 0.05 --quiet --json <small.svm

code 0 "$hawser" plan lasso small.svm
(($(wc -l <out) > 4)) || complain "a short plan"
code 0 "$hawser" plan lasso small.svm --logical
code 0 "$hawser" plan lasso small.svm --physical --workers 3
code 0 "$hawser" plan lasso small.svm --dot
has out "^(strict )?digraph"
code 2 "$hawser" plan lasso small.svm --dot --logical --physical
# Over nodes: node 0 prints, and the assumed index base is the right one.
code 0 "$hawser" run -n 2 -- plan lasso small.svm --lambda 0 --physical --workers 4
code 0 "$hawser" run -n 2 -- plan lasso small.svm --physical --workers 4
equal "$(grep -c "^physical plan" out)" 1
has out "node 1 \(.*\): blocks 2 to 3; [0-9]+ stored entries of X"
has out "bytes out of node 0, [0-9]+ out of all"
grep "a clock costs" out >there
code 0 "$hawser" plan lasso small.svm --physical --workers 4 --suppose-nodes 2
equal "$(grep "a clock costs" out)" "$(cat there)"
code 2 "$hawser" plan lasso small.svm --workers 2 --suppose-nodes 3
says "2 workers are too few for 3 nodes"
code 2 "$hawser" run -n 2 -- plan lasso small.svm --suppose-nodes 3
grep -q "has 2 nodes already" err || complain "a plan for other nodes than there are"
code 2 "$hawser" plan lasso small.svm --record-history planned.history
[[ ! -e planned.history ]] || complain "a history of a plan"

# The result does not depend on the synchronisation of the workers.
for sync in ssp:2 tap; do
    code 0 "$hawser" train lasso small.svm --lambda 0.05 --workers 3 --sync $sync --quiet --json --tol 1e-8
    json out "o['sync'] == '$sync' and o['repeatable'] is False and o['repeatable_reason']"
    json out "abs(o['objective'] - $(sed 's/.*"objective":\([^,]*\).*/\1/' whole)) < 1e-6"
done

# SIGTERM twice at once, as Slurm sends it, is one request.
"$hawser" data generate dense --rows 300 --cols 200 --seed 7 -o signals.svm >/dev/null
"$hawser" train lasso signals.svm --index-base 1 --workers 2 -q --sync ssp:2 --exchange-every 1 --tol 1e-15 --slow 1:1000 --trace signals.csv \
    -o signals.st 2>err &
pid=$!
for ((i = 0; i < 600; i++)); do [[ -s signals.csv ]] && (($(wc -l <signals.csv) > 3)) && break; sleep 0.05; done
kill -TERM $pid
for ((i = 0; i < 60000; i++)); do grep -q "once more" err && break; done
kill -TERM $pid 2>/dev/null
wait $pid
equal $? 130
[[ -s signals.st ]] || complain "SIGTERM twice: no model"

# Workers read the input on as many threads as there are processors, not on one each with its buffers.
printf '1,2\n2,3\n3,5\n' >three.csv
code 0 taskset -c "$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')" "$hawser" plan lasso three.csv --header no --workers 300 --memory-limit 400M
# A batch script of several tasks that starts the command itself.
SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_PROCID=0 code 0 "$hawser" train lasso small.svm --lambda 0.05 -q
has err "^hawser: Slurm has given this job 4 tasks, and this process.* 'srun --mpi=pmix hawser ...'"
SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_PROCID=0 code 0 "$hawser" train lasso small.svm --lambda 0.05 -q --alone
lacks err Slurm
SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_PROCID=0 code 0 "$hawser" run -n 1 -- train lasso small.svm --lambda 0.05 -q
lacks err Slurm
finish

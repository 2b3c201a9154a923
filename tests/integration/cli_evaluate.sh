#!/usr/bin/env bash
# evaluate: unknown measures and the reason, refused input, and a help that defines every key. evaluate_measures.py checks the numbers.
source "$(dirname "$0")/cli.bash"
python3 - <<'P'
import random
random.seed(3)
with open("classes.csv", "w") as classes, open("numbers.csv", "w") as numbers:
    for file in classes, numbers:
        file.write("y,a,b,w\n")
    for _ in range(80):
        a, b = random.gauss(0, 1), random.gauss(0, 1)
        weight = random.randint(0, 2)
        classes.write(f"{7 if a - b + random.gauss(0, 1) > 0 else 3},{a},{b},{weight}\n")
        numbers.write(f"{2 * a - b + random.gauss(0, 1)},{a},{b},{weight}\n")
P
code 0 "$hawser" train logistic classes.csv --weights w --lambda 0.01 -q -o classes
code 0 "$hawser" train lasso numbers.csv --weights w --lambda 0.01 -q -o numbers
code 0 "$hawser" train linear numbers.csv --weights w -q -o linear
awk -F, -v OFS=, 'NR > 1 { $1 = ($1 > 0) + ($1 > 1) } 1' numbers.csv >counts.csv
code 0 "$hawser" train poisson counts.csv --weights w --lambda 0.01 -q -o counts

# The help of measures has each key, and the columns of each table.
for model in classes numbers linear counts; do
    code 0 "$hawser" evaluate $model "${model/linear/numbers}.csv" --weights w --json
    cp out $model.json
done
code 0 "$hawser" help measures
python3 - <<'P' || complain "help measures lacks a key"
import json, re
page = open("out").read()
for model, title in ("classes", "logistic, softmax"), ("numbers", "lasso, linear"), ("linear", "lasso, linear"), ("counts", "poisson"):
    part = re.search(r"^%s:\n((?:  .*\n)+)" % title, page, re.M).group(1)
    names, columns = re.findall(r"^  (\w+) ", part, re.M), re.findall(r"^    (\w+) ", part, re.M)
    found = json.load(open(model + ".json"))
    keys = [key for key in found if key not in ("algorithm", "model", "rows", "unseen_columns", "unseen_entries", "unseen_words", "notes")]
    assert names == keys, (names, keys)
    tables = [value for value in found.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    assert columns == [key for table in tables for key in table[0]], columns
P
code 0 "$hawser" help evaluate
has out "^  --threshold P "

# With one class, one target, or no prediction of the class, a measure is unknown, with the reason.
printf 'y,a,b\n7,1,2\n7,2,-1\n' >one.csv
code 0 "$hawser" evaluate classes one.csv
has out "^auc +unknown: all rows have the label 7$"
has out "^recall +0.5$"
code 0 "$hawser" evaluate classes one.csv --json
json out 'o["auc"] is None and o["notes"] == ["auc is unknown: all rows have the label 7"] and o["classes"][0]["support"] == 0'
code 0 "$hawser" evaluate classes one.csv --threshold 1 --json
json out 'o["precision"] is None and o["recall"] == 0 and o["f1"] == 0 and len(o["notes"]) == 2 and o["threshold"] == 1'
json out 'o["notes"][1] == "precision is unknown: no row gets the predicted label 7"'
printf 'y,a,b\n0.1,1,2\n0.1,2,-1\n0.1,0,0\n' >level.csv
code 0 "$hawser" evaluate numbers level.csv --json
json out 'o["r2"] is None and o["notes"] == ["r2 is unknown: all targets are equal"]'

# Labels that are words are printed as words.
printf 'y,a\nspam,1\nham,2\nspam,1.5\nham,3\nham,1.2\n' >words.csv
code 0 "$hawser" train logistic words.csv --lambda 0.01 -q -o words
code 0 "$hawser" evaluate words words.csv --json
json out '[c["label"] for c in o["classes"]] == ["ham", "spam"] and o["calibration"][0]["label"] == "spam"'
json out '[c["support"] for c in o["classes"]] == [3, 2] and [sum(line) for line in o["confusion"]] == [3, 2]'
code 0 "$hawser" evaluate words words.csv
has out "^ +ham +spam$"
has out "^ +spam +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +2$"
printf 'y,a\nham,2\n' >ham.csv
code 0 "$hawser" evaluate words ham.csv
has out "^auc +unknown: all rows have the label ham$"

# Rows of many pieces: the same numbers for any number of threads, from a file, an archive, a pipe, a cache, and for data that are loaded as a whole;
# and those of the printed predictions.
python3 - <<'P'
import random
random.seed(5)
with open("long.csv", "w") as file, open("long.weights", "w") as weights:
    file.write("a,y,w,b,other\n")
    for _ in range(40000):
        a, b = random.gauss(0, 1), random.gauss(0, 1)
        w = random.choice([0, 0.5, 1, 2])
        file.write(f"{a},{2 * a - b + random.gauss(0, 1)},{w},{b},{random.random()}\n")
        weights.write(f"{w}\n")
P
gzip -k long.csv
code 0 "$hawser" train lasso long.csv --target y --ignore w,other --lambda 0.01 -q -o long
code 0 "$hawser" data convert long.csv --target y --weights w --ignore other -q -o long.hwc
code 0 "$hawser" evaluate long long.csv --weights w --threads 1 --json
cp out long.json
for words in "long.csv --weights w --threads 3" "long.csv.gz --weights w" "long.csv --weights long.weights" "long.hwc"; do
    # shellcheck disable=SC2086 # several words
    code 0 "$hawser" evaluate long $words --json
    python3 - "$words" <<'P' || complain "$words"
import json, sys
first, now = json.load(open("long.json")), json.load(open("out"))
for key in first.keys() - {"unseen_columns", "unseen_entries", "unseen_words"}:
    assert first[key] == now[key], (key, first[key], now[key])
P
done
code 0 "$hawser" evaluate long - --weights w --json <long.csv
cmp -s out long.json || complain "a pipe has other measures"
code 0 "$hawser" predict long long.csv -q
python3 - <<'P' || complain "the measures of many rows"
import csv, json, math
found, rows = json.load(open("long.json")), list(csv.DictReader(open("long.csv")))
errors = [(float(row["y"]) - float(p), float(row["w"])) for row, p in zip(rows, open("out"), strict=True)]
total = math.fsum(w for _, w in errors)
assert found["rows"] == 40000 and found["unseen_columns"] == 1 and found["unseen_entries"] == 40000, found
assert abs(found["mse"] - math.fsum(w * e * e for e, w in errors) / total) < 1e-9
assert abs(found["mae"] - math.fsum(w * abs(e) for e, w in errors) / total) < 1e-9
assert abs(found["max_error"] - max(abs(e) for e, w in errors if w > 0)) < 1e-9
P
# A bad row far behind the first piece: its line or number, and no measures.
sed '30001s/^[^,]*/oops/' long.csv >late.csv
code 3 "$hawser" evaluate long late.csv --weights w
says "late.csv:30001:1"
[[ -s out ]] && complain "measures of rows before a bad one"
awk -F, -v OFS=, 'NR == 30001 {$3 = -1} 1' long.csv >late.csv
code 3 "$hawser" evaluate long late.csv --weights w
says "late.csv: the weight of row 30000 is negative: -1"
code 5 "$hawser" evaluate long long.csv long.csv --weights w --memory-limit 1M
says "need [0-9]+ bytes, and --memory-limit allows"

# A threshold applies to labels; the environment may have one for other commands.
code 2 "$hawser" evaluate numbers numbers.csv --threshold 0.5
says "--threshold: a model of lasso predicts numbers, not labels"
code 0 env HAWSER_THRESHOLD=0.3 "$hawser" evaluate numbers numbers.csv --json
code 0 env HAWSER_THRESHOLD=0.3 "$hawser" evaluate classes classes.csv --json
json out 'o["threshold"] == 0.3'
for wrong in -0.1 1.1 nan half; do
    code 2 "$hawser" evaluate classes classes.csv --threshold $wrong
    says "threshold"
done

# Refused: no rows, no weight, no target, text in place of numbers, other labels, predictions that are not finite.
printf 'y,a,b\n' >empty.csv
printf 'y,a,b,w\n3,1,2,0\n7,2,1,0\n' >light.csv
printf 'y,a,b\n3,1,2\nnan,2,1\n' >nan.csv
printf 'y,a,b\n3,1,2\n5,2,1\n' >other.csv
printf 'y,a,b\n3,1,2\n7,1.7e308,-1.7e308\n' >large.csv
for model in classes numbers; do
    code 3 "$hawser" evaluate $model empty.csv
    code 3 "$hawser" evaluate $model light.csv --weights w
    says "nothing to evaluate: 2 rows with total weight 0"
    code 3 "$hawser" evaluate $model nan.csv
    says "nan.csv:3"
    code 3 "$hawser" evaluate $model one.csv --target none
done
code 3 "$hawser" evaluate classes other.csv
says "row 2: the label 5 is none of the model's \(3 and 7\)"
code 3 "$hawser" evaluate numbers large.csv
says "row 2: the prediction is inf"
code 3 "$hawser" evaluate classes large.csv
says "row 2: the margin is inf"
# A model of numbers reads no words, also where weights in a file of their own make it load the whole table.
printf '1 1:2 2:3\n0 1:1 2:5\n2 1:4 2:1\n' >plain.svm
printf '1,red,5\n0,red,4\n' >words.csv
printf '1\n1\n' >ones
code 0 "$hawser" train lasso plain.svm --lambda 0.1 -o plain
for weights in none ones; do
    code 3 "$hawser" evaluate plain words.csv --weights "$weights"
    says "words.csv:1:3: the value is not a number: \"red\""
done
finish

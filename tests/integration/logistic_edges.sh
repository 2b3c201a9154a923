#!/usr/bin/env bash
# Logistic regression with too little to learn or too much: one class, separable classes, huge margins, constant and equal
# columns, weights of zero; options with two spellings; the same bits for threads and processes.
source "$(dirname "$0")/cli.bash"

# Labels: any two values. The answer for one column of ones, without a penalty, is the log of the odds.
printf '3,1\n3,1\n3,1\n5,1\n' >odds.csv
code 0 "$hawser" train logistic odds.csv --header no --lambda 0 --no-intercept --tol 1e-9 --json -o odds
json out 'abs(o["objective"] - 0.5623351446188083) < 1e-8 and o["nonzeros"] == 1'
code 0 "$hawser" info odds
has out '^labels *3 5$'
code 0 "$hawser" info odds --coefficients
has out '\-1\.0986'
code 0 "$hawser" predict odds odds.csv --header no --labels
[[ $(sort -u out) == 3 ]] || complain "the more frequent label should be predicted"
printf '0.1,1\n0.1,1\n0.7,3\n' >tenths.csv
code 0 "$hawser" train logistic tenths.csv --header no -o tenths
code 0 "$hawser" predict tenths tenths.csv --header no --labels
equal "$(cat out)" $'0.1\n0.1\n0.7'
code 0 "$hawser" train logistic odds.csv --header no --lambda 0.1 --json
json out 'o["nonzeros"] == 0 and abs(o["intercept"] + 1.0986122886681098) < 1e-6 and o["stop_reason"] == "gap"'

printf '1,1\n1,2\n1,3\n' >one.csv
code 3 "$hawser" train logistic one.csv --header no
has err 'all 3 examples have the label 1: a classifier needs two'
printf '1,1\n2,2\n3,3\n' >three.csv
code 3 "$hawser" train logistic three.csv --header no
has err 'row 3: the label 3 is a third one beside 1 and 2; logistic regression tells two apart .--target says where labels are'
printf 'y,x,s\n1,1,0\n2,2,1\n2,3,1\n' >weightless.csv
code 3 "$hawser" train logistic weightless.csv --weights s
has err '^hawser: all examples with a weight above 0 have the label 2: a classifier needs two'
printf 'y,x,s\n1,1,0\n2,2,0\n' >nothing.csv
code 3 "$hawser" train logistic nothing.csv --weights s
has err '^hawser: all example weights are zero'
printf '1,1\n2,2\n2,3\n2,4\n2,5\n2,6\n' >rare.csv
code 3 "$hawser" train logistic rare.csv --header no --cv 3
has err '^hawser: no example with label 1 has any weight in a fold of --cv'

# Folds that a limit cut short have chosen nothing, and that is said; those that were done have.
for i in {1..40}; do echo "$((i % 3 == 0)),$((i % 7)),$((i * i % 11))"; done >folds.csv
for algorithm in logistic lasso; do
    folds=("$hawser" train $algorithm folds.csv --header no --cv 4 --path 5 --json)
    code 0 "${folds[@]}"
    json out '"leaves no column" in o["notes"][0] and len(o["notes"]) == 1 and o["cv_standard_error"] is not None'
    clocks=$(python3 -c 'import json; print(json.loads(open("out").readlines()[-1])["clocks"])')
    for most in $((clocks / 2)) $((clocks - 1)); do # half of it, and within the last fit of the last fold
        code 0 "${folds[@]}" --max-clocks $most
        json out 'o["stop_reason"] == "clocks" and o["notes"][0].startswith("--cv 4 did not finish: lambda %.6g is the last" % o["lambda"])'
        json out '"cv" not in o and "cv_standard_error" not in o'
    done
    json out 'o["cv_folds_finished"] == 3'
    code 0 "$hawser" train $algorithm folds.csv --header no --cv 4 --path 1e-4,1e-5 --tol 1e-12 --json --max-clocks 1
    json out 'o["cv_folds_finished"] == 0 and o["lambda"] == 1e-4 and "nor did the first lambda of the path, 0.0001" in o["notes"][0]'
done

# Classes that a column separates: without a penalty the objective has no minimum, only a bound of 0.
printf '0,-2,1\n0,-1,4\n1,1,2\n1,2,3\n' >apart.csv
for workers in 1 2; do
    code 0 timeout -s KILL 60 "$hawser" train logistic apart.csv --header no --lambda 0 --workers $workers --tol 1e-6 --json
    json out '0 <= o["objective"] <= 1e-6 and o["objective"] - o["gap"] <= 0 and o["stop_reason"] == "gap"'
    json out '"columns without a penalty separate the classes: the optimum is at infinity" in o["notes"][0] and len(o["notes"]) == 1'
    printf '0\n1\n' >first.free
    code 0 timeout -s KILL 60 "$hawser" train logistic apart.csv --header no --lambda 0.1 --penalty-factors first.free --workers $workers --json
    json out '0 <= o["objective"] <= 1e-6 and "at infinity" in o["notes"][0] and o["nonzeros"] == 1'
    printf '1\n0\n' >second.free
    code 0 timeout -s KILL 60 "$hawser" train logistic apart.csv --header no --lambda 0.1 --penalty-factors second.free --workers $workers --json
    json out 'o["objective"] > 0.1 and o["notes"] == []' # the other column does not separate them
    code 0 timeout -s KILL 60 "$hawser" train logistic apart.csv --header no --lambda 1e-7 --workers $workers --json
    json out 'o["gap"] <= 1e-6 and o["stop_reason"] == "gap"'
done
# Margins beyond what exp can hold.
printf '0,-2e8\n1,1e8\n0,1e8\n1,3e8\n' >huge.csv
for rho in 1 0.5 0; do
    code 0 timeout -s KILL 60 "$hawser" train logistic huge.csv --header no --lambda 1e-12 --l1-ratio $rho --json -o huge
    json out '0 < o["objective"] < 0.7 and o["stop_reason"] in ("gap", "precision")'
    code 0 "$hawser" evaluate huge huge.csv --header no --json
    json out 'o["log_loss"] < 0.7 and o["auc"] == 0.875'
done
printf '0,1\n1,2\n' >plain.csv
code 0 "$hawser" train logistic plain.csv --header no --lambda 1e-3 -o plain --no-intercept
printf '0,1e300\n1,-1e300\n' >far.csv
code 0 "$hawser" evaluate plain far.csv --header no --json
json out '"log_loss" in o'

# A constant column is the intercept's; two alike share.
printf '0,1,1,7\n1,2,2,7\n0,1.5,1.5,7\n1,1.2,1.2,7\n0,0.5,0.5,7\n1,3,3,7\n' >alike.csv
for rho in 1 0.5 0; do
    for workers in 1 3; do
        code 0 "$hawser" train logistic alike.csv --header no --lambda 0.02 --l1-ratio $rho --workers $workers --tol 1e-9 --json -o alike
        json out 'o["stop_reason"] == "gap" and o["nonzeros"] <= 2'
        objective=$(python3 -c 'import json; print(json.loads(open("out").read().splitlines()[-1])["objective"])')
        echo "$objective" >>alike.$rho
    done
    python3 -c 'import sys; v = [float(x) for x in open(sys.argv[1])]; assert max(v) - min(v) < 1e-8, v' alike.$rho || complain "alike $rho"
done

# --C and --lambda, --class-weight and weights: two spellings of one problem.
code 0 "$hawser" train logistic alike.csv --header no --C 5 --json --tol 1e-10
json out 'abs(o["lambda"] - 1 / 30) < 1e-15'
code 2 "$hawser" train logistic alike.csv --header no --C 5 --lambda 1
has err '\-\-lambda and --C both set lambda'
# 1 / (C n) must not be 0: the model of a larger penalty came out, as if it were the best.
code 0 "$hawser" train logistic alike.csv --header no --C 1e100 --json --max-clocks 3
json out 'o["lambda"] == 0' # below 1e-12 of lambda_max
code 2 "$hawser" train logistic alike.csv --header no --C 1e308
says "--C: '1e308' is not within"
code 2 "$hawser" train logistic alike.csv --header no --lambda-ratio 1e308
says "--lambda-ratio: '1e308' is not within"
code 2 "$hawser" train logistic alike.csv --header no --C 5 --path 10
code 2 "$hawser" train logistic alike.csv --header no --l1-ratio 0
code 0 "$hawser" train logistic alike.csv --header no --l1-ratio 0 --C 1
for bad in unbalanced 1 1: :1 0:1 1:-1 1:2:3 inf:1; do
    code 2 "$hawser" train logistic alike.csv --header no --class-weight "$bad"
    has err 'want balanced, LABEL=NUMBER,LABEL=NUMBER, or two numbers > 0'
done
code 2 "$hawser" train logistic alike.csv --header no --class-weight 0=1,7=2
has err "has the label '7'"
printf 'y,x,s\n0,1,2\n1,2,6\n0,1.5,2\n1,1.2,6\n0,0.5,2\n1,3,6\n0,2,2\n' >classes.csv
code 0 "$hawser" train logistic classes.csv --target y --weights s --C 0.1 --tol 1e-10 --json
json out 'open("first", "w").write(repr(o["objective"]))'
cut -d, -f1,2 classes.csv >bare.csv
code 0 "$hawser" train logistic bare.csv --target y --class-weight 2:6 --C 0.1 --tol 1e-10 --json
json out 'abs(o["objective"] - float(open("first").read())) < 1e-10 and open("second", "w").write(repr(o["objective"]))'
code 0 "$hawser" train logistic bare.csv --target y --class-weight 1=6,0=2 --C 0.1 --tol 1e-10 --json
json out 'o["objective"] == float(open("second").read())'
code 0 "$hawser" train logistic bare.csv --target y --positive '> 0' --class-weight 1=6,0=2 --C 0.1 --tol 1e-10 --json
json out 'o["objective"] == float(open("second").read())'

# Validation data must have the labels of the training data; the error is the mean log loss of predict's probabilities.
sed 's/^1/2/' alike.csv >other.csv
code 3 "$hawser" train logistic alike.csv --header no --lambda 0.02 --validation other.csv
has err 'row 2 of the validation data: the target 2 is not one of the training data'
code 0 "$hawser" train logistic alike.csv --header no --path 5 --validation alike.csv --json -o path
json out 'o["validation_log_loss"] > 0 and o["lambdas"] == 5'
code 0 "$hawser" evaluate path alike.csv --header no --json
json out 'o["log_loss"] > 0'
code 3 "$hawser" evaluate path other.csv --header no
has err 'the label 2 is none of the model.s \(0 and 1\)'
code 0 "$hawser" train lasso alike.csv --header no -o lasso
code 2 "$hawser" predict lasso alike.csv --header no --labels
has err 'a model of lasso predicts numbers, not labels'

# The same bits on one thread, on three, and in three processes.
code 0 "$hawser" data generate url --rows 400 --cols 600 --seed 3 -o raw.svm
awk '{ $1 = $1 > 0 ? 1 : 0; print }' raw.svm >url.svm
for what in "--l1-ratio 1" "--l1-ratio 1 --seed 2" "--l1-ratio 0" "--l1-ratio 0.5 --path 4" "--certify-every 5"; do
    lambda="--C 2"
    [[ $what == *path* ]] && lambda=
    for how in one three; do
        threads=$([[ $how == one ]] && echo 1 || echo 3)
        mkdir -p $how
        (cd $how && code 0 "$hawser" train logistic ../url.svm --index-base 1 $lambda $what --workers 3 --threads $threads -q -o model)
    done
    mkdir -p apart
    (cd apart && code 0 timeout -s KILL 120 "$hawser" run -n 3 -- train logistic ../url.svm --index-base 1 $lambda $what --workers 3 -q -o model)
    for other in three apart; do
        python3 - one/model $other/model <<'END' || complain "other bits: $what, $other"
import json, struct, sys
def tensors(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    return {k: v["data_offsets"] for k, v in json.loads(data[8:8 + length]).items() if k != "__metadata__"}, data[8 + length:]
assert tensors(sys.argv[1]) == tensors(sys.argv[2]) and len(tensors(sys.argv[1])[1]) > 16
END
    done
done
# Passes go in an order drawn by the seed.
for seed in 1 2; do
    code 0 "$hawser" train logistic url.svm --index-base 1 --C 2 --workers 1 --tol 0.01 --seed $seed -q -o drawn-$seed
done
python3 - drawn-1 drawn-2 <<'END' || complain "--seed does not change the order of passes"
import struct, sys
values = [open(path, "rb").read() for path in sys.argv[1:]]
first, second = (data[8 + struct.unpack("<Q", data[:8])[0]:] for data in values)
assert first != second and len(first) > 16
END

# A limit ends it early: the printed figures are true of the saved model.
code 0 "$hawser" train logistic url.svm --index-base 1 --lambda-ratio 0.001 --workers 2 --sync ssp:1 --max-clocks 3 --json -o early
json out 'o["gap"] > 0 and open("early.json", "w").write(json.dumps(o))'
code 0 "$hawser" evaluate early url.svm --index-base 1 --json
json out 'abs(o["objective"] - json.load(open("early.json"))["objective"]) < 1e-12'
finish

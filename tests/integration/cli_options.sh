#!/usr/bin/env bash
# The sources of options, their precedence, and refused values.
source "$(dirname "$0")/cli.bash"
small_problem
run() { "$hawser" train lasso small.svm --quiet --json "$@" >out 2>err; }

printf 'lambda = 0.2 # from the file\ntol = 1e-3\nseed = 7\n' >run.conf
run --lambda 0.1 || complain "$(cat err)"
json out 'o["options"]["lambda"] == {"value": "0.1", "source": "command line", "where": "--lambda"}'
json out 'o["options"]["tol"]["source"] == "default"'
HAWSER_TOL=1e-4 run --lambda=0.1 --config run.conf || complain "$(cat err)"
json out 'o["lambda"] == 0.1 and o["options"]["lambda"]["source"] == "command line"'
json out 'o["options"]["tol"] == {"value": "1e-4", "source": "environment", "where": "HAWSER_TOL"}'
json out 'o["options"]["seed"] == {"value": "7", "source": "file", "where": "run.conf:3"} and o["seed"] == 7'
HAWSER_CONFIG=run.conf run || complain "$(cat err)"
json out 'abs(o["lambda"] - 0.2) < 1e-12'
run --lambda 0.1 --no-intercept || complain "$(cat err)"
json out 'o["options"]["intercept"]["value"] == "no"'
# A variable of another command is ignored; a variable of no command is refused.
HAWSER_PARTS=3 HAWSER_LAMBDA=0.3 code 0 "$hawser" version
HAWSER_LAMDA=1 code 2 "$hawser" version
says "HAWSER_LAMDA; did you mean HAWSER_LAMBDA\?"
# Kubernetes sets such variables in every container of a namespace with a Service "hawser"; programs and nodes read the same.
export HAWSER_SERVICE_HOST=10.0.0.11 HAWSER_SERVICE_PORT=7000 HAWSER_PORT=tcp://10.0.0.11:7000
export HAWSER_PORT_7000_TCP=tcp://10.0.0.11:7000 HAWSER_STORE_PORT_7001_TCP_ADDR=10.0.0.12
run --lambda 0.1 || complain "$(cat err)"
code 0 "$hawser" run -n 2 -- train lasso small.svm --lambda 0.1 --quiet
HAWSER_LAMDA=1 code 2 "$hawser" version
HAWSER_PORT=7000 code 2 "$hawser" version
says "unknown environment variable HAWSER_PORT"
unset "${!HAWSER_@}"
HAWSER_TOL=no code 2 "$hawser" train lasso small.svm
says "HAWSER_TOL: 'no' is not a finite number"

code 2 "$hawser" trian
says "did you mean 'hawser train'"
code 2 "$hawser" train laso small.svm
says "did you mean 'lasso'"
code 2 "$hawser" train
code 2 "$hawser" train lasso
says "missing argument"
code 2 "$hawser" data
code 2 "$hawser" data conver small.svm
says "did you mean 'hawser data convert'"
code 2 "$hawser" version now
says "unexpected argument"
code 2 "$hawser" train lasso small.svm --lamda 1
says "unknown option --lamda; did you mean --lambda\?"
code 2 "$hawser" train lasso small.svm --frobnicate
says "unknown option --frobnicate; --help-all lists all"
code 2 "$hawser" plan lasso small.svm --trace t.csv
says "unknown option --trace; 'hawser train' has it, but a plan trains nothing: leave it out"
code 2 "$hawser" quux
says "there is no command 'quux'; 'hawser help' lists all"
code 2 "$hawser" train xgboost small.svm
says "there is no algorithm 'xgboost'; write hawser train"
code 2 "$hawser" help lamda
says "no help on 'lamda'; did you mean '--lambda'"
code 2 "$hawser" help xyzzy
says "no help on 'xyzzy'; 'hawser help' lists topics"
HAWSER_FROBNICATED=1 code 2 "$hawser" version
says "unknown environment variable HAWSER_FROBNICATED$"
code 2 "$hawser" train lasso small.svm --lambda
says "--lambda needs a value"
code 2 "$hawser" train lasso small.svm --path --cv 3
says "--path needs a value [(]N[|]LIST[)], but '--cv' behind it is an option; a value that begins so is written --path=--cv"
code 2 "$hawser" train lasso small.svm --lambda x
says "--lambda: 'x' is not a finite number"
code 2 "$hawser" train lasso small.svm --lambda -1
says "--lambda: '-1' is not within"
code 2 "$hawser" train lasso small.svm --workers 1.5
says "whole number"
code 2 "$hawser" train lasso small.svm --sync sspp:1
says "bsp\|ssp:N\|tap"
code 2 "$hawser" train lasso small.svm --quota 3parsec
says "a size such as"
for limit in 0 1k 1; do
    code 2 "$hawser" train lasso small.svm --memory-limit "$limit"
    says "--memory-limit: '$limit' is not within \[1M,8E\)"
done
code 0 "$hawser" data generate dense --rows 2000 --cols 300 -o dense.csv
code 0 "$hawser" data convert dense.csv -o dense.hwc
code 5 "$hawser" train lasso dense.csv --memory-limit 1M
says "the load needs about [0-9.]+ MiB of memory .*and 1.0 MiB may be taken"
code 5 "$hawser" train lasso dense.hwc --path 1000 --workers 1 --memory-limit 1M
says "needs about [0-9.]+ MiB for its data, its states and the work of 1 worker, but the limit is 1.0 MiB; raise --memory-limit"
code 2 "$hawser" train lasso small.svm --time-limit soon
says "a duration"
code 2 "$hawser" train lasso small.svm --json=perhaps
says "yes or no"
code 2 "$hawser" train lasso small.svm -Z
says "unknown option -Z"
code 2 "$hawser" train lasso small.svm --plot picture.jpg
says ".svg or .png"
printf 'tol 3\n' >bad.conf
code 2 "$hawser" train lasso small.svm --config bad.conf
says "bad.conf:1: 'tol 3' is not of the form key = value"
printf '\ntoll = 3\n' >bad.conf
code 2 "$hawser" train lasso small.svm --config bad.conf
says "bad.conf:2: unknown key 'toll'; did you mean 'tol'"
code 4 "$hawser" train lasso small.svm --config absent.conf
says "absent.conf"
code 2 "$hawser" data generate cubes -o x.svm
says "dense and url"
code 2 "$hawser" data generate url -o x.doc
says ".svm, .csv, .mtx, .npy or .hwc"
code 2 "$hawser" data generate url
code 2 "$hawser" data split small.svm -o part
says "either --parts N or --fraction F"
code 2 "$hawser" data split small.svm -o part --parts 2 --fraction 0.5
code 2 "$hawser" data split small.svm -o part --parts 1000
says "only 120 rows"

# An option without an effect is refused, or noted in a line if it has one with more nodes, or with more workers than the machine gives.
code 2 "$hawser" train lasso small.svm --cv-rule min
says "--cv-rule does nothing here: there is no --cv K"
code 2 "$hawser" train lasso small.svm --lambda-min-ratio 0.1
says "--lambda-min-ratio does nothing here: there is no --path N or --cv K"
code 2 "$hawser" train lasso small.svm --path 0.2,0.1 --lambda-min-ratio 0.1
code 2 "$hawser" train lasso small.svm --cv 3 --validation small.svm
says "--validation excludes --cv"
code 2 "$hawser" data split small.svm -o part --parts 2 --seed 3
says "--seed does nothing here"
code 2 "$hawser" data generate dense -o dense.csv --per-row 3
says "--per-row does nothing here"
idle() { # WORDS... -- OPTION [REASON]: checks that the training succeeds and prints the note
    local words=()
    while [[ $1 != -- ]]; do words+=("$1"); shift; done
    code 0 "$hawser" train lasso small.svm --lambda 0.1 "${words[@]}"
    says "$2 does nothing here${3-}"
    code 0 "$hawser" train lasso small.svm --lambda 0.1 "${words[@]}" --quiet
    lacks err "does nothing"
}
idle --workers 1 --sync tap -- --sync
idle --workers 1 --merge average -- --merge
idle --encoding bf16 -- --encoding
for words in "--topology tree" "--rate 1k" "--backlog 2k" "--transport tcp" "--trust-fabric" "--failure-timeout 3" \
    "--node-name ash" "--key-file small.csv"; do
    # shellcheck disable=SC2086
    idle $words -- "${words%% *}" ": the job has one node"
done
idle --listen 1 -- --listen ": a first node of one waits for no other"
refused() { # WORDS... -- PATTERN: checks that a training and a plan are refused
    local words=()
    while [[ $1 != -- ]]; do words+=("$1"); shift; done
    code 2 "$hawser" train lasso small.svm --lambda 0.1 "${words[@]}"
    says "$2"
    code 2 "$hawser" plan lasso small.svm --lambda 0.1 "${words[@]}"
    says "$2"
}
refused --workers 2 --quota 500 -- "--quota does nothing here: it needs a --filter"
refused --workers 2 --filter random -- "--filter does nothing here: without a --quota"
refused --workers 2 --filter random --max-held-clocks 3 -- "--filter does nothing here: without a --quota"
refused --workers 2 --max-held-clocks 3 -- "--max-held-clocks does nothing here: it needs"
refused --workers 1 --filter random --quota 500 -- "--filter does nothing here: one worker"
refused --workers 1 --encoding bf16 -- "--encoding does nothing here: one worker"
idle --missing mean -- --missing
idle --delimiter tab -- --delimiter
code 0 "$hawser" train lasso small.csv --lambda 0.1 --index-base 1
says "--index-base does nothing here: it is about svmlight input, and this is csv"
# What a file or the environment sets is never refused. It is noted, except if it is about nodes and there is one.
printf 'quota = 500\nencoding = exact\nrate = 1M\n' >idle.conf
HAWSER_ENCODING=int8 HAWSER_TOPOLOGY=tree code 0 "$hawser" train lasso small.svm --lambda 0.1 --workers 1 --config idle.conf
says "idle.conf:1: quota does nothing here"
says "HAWSER_ENCODING does nothing here"
lacks err "rate does nothing|TOPOLOGY does nothing"
printf 'cv-rule = min\n' >idle.conf
HAWSER_LAMBDA_MIN_RATIO=0.1 code 0 "$hawser" train lasso small.svm --lambda 0.1 --config idle.conf
says "idle.conf:1: cv-rule does nothing here: there is no --cv K"
says "HAWSER_LAMBDA_MIN_RATIO does nothing here: there is no --path N or --cv K"
# An option that outputs look at is not one that the program reads.
code 2 "$hawser" train kmeans small.csv --workers 1 --exchange-every 0.5 -o k.st --log-json k.jsonl
says "--exchange-every does nothing here: the program does not read it"
# No note for an option with an effect, a default that is spelt out, or input of another format in a file for all calls.
printf 'missing = mean\n' >idle.conf
code 0 "$hawser" train lasso small.svm --lambda 0.1 --workers 2 --filter random --quota 500 --sync tap --config idle.conf
lacks err "does nothing"
code 0 "$hawser" train lasso small.svm --lambda 0.1 --workers 1 --sync bsp --filter none --quota 0 --merge add --missing refuse
lacks err "does nothing"
# Wrong bounds are reported with their place, in one line.
printf '0\n0\nx1\n' >bounds
code 3 "$hawser" train lasso small.csv --lower bounds -q
equal "$(wc -l <err)" 1
says "bounds:3: 'x1' is not a number; the file has one a line"
printf '0\n-1\n0.5\n0\n0\n0\n' >bounds
code 3 "$hawser" train lasso small.csv --lower bounds -q
says "bounds:3: 0.5 for column 'c' excludes zero, where weights begin: --lower must be at most 0"
code 2 "$hawser" train lasso small.csv --upper -2 -q
says "--upper -2 excludes zero, where weights begin: it must be at least 0"
finish
